"""Proofs about values of attributes under distinctAttribute (CON-5 to CON-7) and matchAttribute (CON-4, CON-7).

Under distinctAttribute each device needs a value that no other has. Values are assigned like devices, so that Hall's
theorem applies to them. Lists are counted in two ways: each takes at least so many values, and of all lists with a
value in common only one can be taken.

Under matchAttribute a claim gets all its devices from one value. A value has room for as many claims as its devices
suffice for, rounded down. Counting devices over all values misses that bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...models.formats.errors import plural
from ...models.results.common import WitnessKind
from ...problem.constraints import INCOMPARABLE
from ...problem.messages import Justification
from ...problem.problem import Constraint, members_of_mask
from . import counting
from .counting import constraint_label, requests_need


def tied_needs(tally: counting.Tally, number: int) -> tuple[counting.Need, ...]:
    """List the requests that take devices under a constraint whatever option serves them."""
    constraint = tally.problem.constraints[number]
    return tuple(
        need
        for need in tally.needs
        if need.claim == constraint.claim
        and all(option in constraint.tokens for option in need.options)
        and tally.least(need)
    )


def devices_by_value(constraint: Constraint, option: int, mask: int) -> dict[int, int]:
    """Return the devices of each value, of those in the mask. A device with a list has several values."""
    tokens = constraint.tokens[option]
    found: dict[int, int] = {}
    for device in members_of_mask(mask):
        token = tokens[device]
        for value in members_of_mask(token) if constraint.sets else (token,):
            found[value] = found.get(value, 0) | 1 << device
    return found


# Clustering takes the square of their number.
_MAX_LISTS = 512
_ValueCounter = Callable[[list[int]], tuple[int, int]]
"""From the tokens of devices to the values that they may use up, and how many one of them uses up at least."""


def too_few_values(tally: counting.Tally) -> Justification | None:
    """The requests under a distinctAttribute need more values than their devices have."""
    for number, constraint in enumerate(tally.problem.constraints):
        if constraint.kind == "distinctAttribute":
            found = _refute_distinct(tally, number, tied_needs(tally, number))
            if found is not None:
                return found
    return None


def _refute_distinct(tally: counting.Tally, number: int, needs: tuple[counting.Need, ...]) -> Justification | None:
    if not tally.problem.constraints[number].sets:
        return _compete_for_values(tally, number, needs, _scalar_values, "different value")
    found = _compete_for_values(tally, number, needs, _list_values, "different value")
    if found is not None or sum(map(tally.least, needs)) < 2:
        return found
    tokens = {token for need in needs for option in need.options for token in _tokens_of_option(tally, number, option)}
    if len(tokens) > _MAX_LISTS or all(token.bit_count() == 1 for token in tokens):
        # Clusters of single values say what the values said.
        return None
    cluster = _cluster_lists(tokens)
    return _compete_for_values(
        tally,
        number,
        needs,
        lambda lists: (counting.union_of_masks([1 << cluster[token] for token in lists]), 1),
        "disjoint list",
        "lists",
    )


def _compete_for_values(
    tally: counting.Tally,
    number: int,
    needs: tuple[counting.Need, ...],
    wanted_by: _ValueCounter,
    noun: str,
    kind: WitnessKind = "values",
) -> Justification | None:
    """Hand out values to the requests, as many as they want at least."""
    wants: list[tuple[counting.Need, int]] = []
    wanted: dict[int, int] = {}
    for need in needs:
        options = [
            (tally.demand(option).count, *wanted_by(_tokens_of_option(tally, number, option)))
            for option in need.options
        ]
        values = counting.union_of_masks([values for _, values, _ in options])
        wants.append((need, values))
        wanted[values] = wanted.get(values, 0) + min(count * least for count, _, least in options)
    sets = counting.deficient_sets(wanted)
    if not sets:
        return None
    lacking = [need for need, values in wants if values in sets]
    needed = sum(wanted[values] for values in sets)
    there = counting.union_of_masks(sets).bit_count()
    text = f"{requests_need(tally, lacking)} {plural(needed, noun)}, there are {there}"
    text = f"{constraint_label(tally, number)}: {text}"
    counted = counting.counted_sum(kind, lacking, needed, there, tally.problem.constraints[number].attribute)
    return counting.justification_for("distinctAttribute", text, tally, lacking, counted)


def _tokens_of_option(tally: counting.Tally, number: int, option: int) -> list[int]:
    tokens = tally.problem.constraints[number].tokens[option]
    return [tokens[device] for device in members_of_mask(tally.masks[option])]


def _scalar_values(tokens: list[int]) -> tuple[int, int]:
    """A list may come first, and only one may: all lists are one more value (CON-9)."""
    return counting.union_of_masks([1 << token - INCOMPARABLE for token in tokens]), 1


def _list_values(tokens: list[int]) -> tuple[int, int]:
    return counting.union_of_masks(tokens), min([token.bit_count() for token in tokens], default=1)


def _cluster_lists(tokens: Iterable[int]) -> dict[int, int]:
    """Put lists into clusters that each have a value in common, the most frequent value first."""
    frequency = Counter(value for token in tokens for value in members_of_mask(token))
    left, cluster = sorted(tokens), {}
    while left:
        value = max(frequency, key=lambda value: (frequency[value], -value))
        common = [token for token in left if token >> value & 1]
        cluster.update(dict.fromkeys(common, value))
        frequency.subtract(other for token in common for other in members_of_mask(token))
        left = [token for token in left if not token >> value & 1]
    return cluster


@dataclass(frozen=True, slots=True)
class _ValueDemand:
    """What a claim takes from one value: numbers of dedicated devices, by the devices that these may be."""

    wanted: tuple[tuple[int, int], ...]

    @property
    def devices(self) -> int:
        return counting.union_of_masks([mask for mask, _ in self.wanted])

    @property
    def count(self) -> int:
        return sum(count for _, count in self.wanted)


@dataclass(frozen=True, slots=True)
class _TiedClaims:
    """The bundles of claims whose constraints see the same value on every device.

    ``kind`` is what they see: the attribute, whether it has lists, and the values by device. ``counted`` are the needs
    that they are made of: what two constraints of a claim are about is wanted once.
    """

    constraint: Constraint
    kind: tuple[str, bool, Mapping[int, int]]
    bundles: list[_ValueDemand]
    counted: set[counting.Need]
    needs: list[tuple[counting.Need, ...]]
    """Of each bundle."""


def too_many_tied_claims(tally: counting.Tally) -> Justification | None:
    """More claims, each tied to one value of an attribute, than its values have room for."""
    if tally.one_claim(tally.needs) is not None:
        return None
    for peers in _tied_claims(tally):
        if len(peers.bundles) > 1:
            found = _refute_tied_claims(peers)
            if found is not None:
                return found
    return None


def _tied_claims(tally: counting.Tally) -> list[_TiedClaims]:
    found: list[_TiedClaims] = []
    for number, constraint in enumerate(tally.problem.constraints):
        bundle = _value_demand(tally, number) if constraint.kind == "matchAttribute" else None
        if bundle is None:
            continue
        kind = constraint.attribute, constraint.sets, next(iter(constraint.tokens.values()))
        peers = next((peers for peers in found if peers.kind == kind), None)
        if peers is None:
            found.append(peers := _TiedClaims(constraint, kind, [], set(), []))
        needs = tied_needs(tally, number)
        if peers.counted.isdisjoint(needs):
            peers.counted.update(needs)
            peers.bundles.append(bundle)
            peers.needs.append(needs)
    return found


def _value_demand(tally: counting.Tally, number: int) -> _ValueDemand | None:
    """Find what a claim takes under a constraint; None if nothing, or if it has values of its own (CON-12)."""
    maps = list(tally.problem.constraints[number].tokens.values())
    wanted: dict[int, int] = {}
    competing = tally.competing()
    for need in tied_needs(tally, number):
        count, mask = counting.dedicated_devices(tally, need)
        if count and need in competing:
            wanted[mask] = wanted.get(mask, 0) + count
    alike = all(tokens is maps[0] for tokens in maps)
    return _ValueDemand(tuple(sorted(wanted.items()))) if wanted and alike else None


def _refute_tied_claims(peers: _TiedClaims) -> Justification | None:
    """Look at claims that want the same, and at all that want so many devices or more."""
    option = next(iter(peers.constraint.tokens))
    everything = counting.union_of_masks([bundle.devices for bundle in peers.bundles])
    values = list(devices_by_value(peers.constraint, option, everything).values())
    kinds = list(dict.fromkeys(peers.bundles))
    samples = [[bundle for bundle in peers.bundles if bundle == kind] for kind in kinds]
    if len(kinds) > 1:
        sizes = {kind.count for kind in kinds}
        samples += [[bundle for bundle in peers.bundles if bundle.count >= size] for size in sorted(sizes)]
    for sample in samples:
        room = sum(_claims_per_value(value, sample) for value in values)
        if len(sample) > 1 and room < len(sample):
            sizes = {bundle.count for bundle in sample}
            count = plural(min(sizes), "device") + ("" if len(sizes) == 1 else " or more")
            wanted = f"{len(sample)} claims of {count} with one value of {peers.constraint.attribute} each"
            text = f"{wanted}: {plural(len(values), 'value')} have room for {room}"
            members = {id(bundle) for bundle in sample}
            pairs = zip(peers.bundles, peers.needs, strict=True)
            own = [need for bundle, needs in pairs if id(bundle) in members for need in needs]
            counted = counting.counted_sum("claims", own, len(sample), room, peers.constraint.attribute)
            return Justification("matchAttribute", (text,), counted=counted)
    return None


def _claims_per_value(value: int, sample: Sequence[_ValueDemand]) -> int:
    """Return how many of these claims the devices of one value suffice for at most."""
    first = sample[0]
    least = min(bundle.count for bundle in sample)
    room = (value & counting.union_of_masks([bundle.devices for bundle in sample])).bit_count() // least
    if all(bundle is first or bundle == first for bundle in sample):
        room = min(room, *((value & mask).bit_count() // count for mask, count in first.wanted))
    return room
