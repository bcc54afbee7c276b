"""Claims that each get all their devices from one value of an attribute (CON-4, CON-7).

A value has room for as many claims as its devices suffice for, rounded down. The sum of that is what is missed by
counting devices over all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...problem.justification import Justification
from ...problem.records import Constraint
from .hall import own_devices, union
from .tally import Need, Tally
from .values import devices_of_values, tied
from .wording import plural


@dataclass(frozen=True, slots=True)
class _Bundle:
    """What a claim takes from one value: numbers of dedicated devices, by the devices that these may be."""

    wanted: tuple[tuple[int, int], ...]

    @property
    def devices(self) -> int:
        return union([mask for mask, _ in self.wanted])

    @property
    def count(self) -> int:
        return sum(count for _, count in self.wanted)


@dataclass(frozen=True, slots=True)
class _Peers:
    """The bundles of claims whose constraints see the same value on every device.

    ``counted`` are the needs that they are made of: what two constraints of a claim are about is wanted once.
    """

    constraint: Constraint
    bundles: list[_Bundle]
    counted: set[Need]


def too_few_groups(tally: Tally) -> Justification | None:
    """More claims, each tied to one value of an attribute, than its values have room for."""
    if tally.one_claim(tally.needs) is not None:
        return None
    for peers in _peers(tally):
        if len(peers.bundles) > 1:
            found = _examine(peers)
            if found is not None:
                return found
    return None


def _peers(tally: Tally) -> list[_Peers]:
    found: list[_Peers] = []
    for number, constraint in enumerate(tally.problem.constraints):
        bundle = _bundle(tally, number) if constraint.kind == "matchAttribute" else None
        if bundle is None:
            continue
        peers = next((peers for peers in found if _sees_the_same(constraint, peers.constraint)), None)
        if peers is None:
            found.append(peers := _Peers(constraint, [], set()))
        needs = tied(tally, number)
        if peers.counted.isdisjoint(needs):
            peers.counted.update(needs)
            peers.bundles.append(bundle)
    return found


def _bundle(tally: Tally, number: int) -> _Bundle | None:
    """Find what a claim takes under a constraint; None if nothing, or if it has values of its own (CON-12)."""
    maps = list(tally.problem.constraints[number].tokens.values())
    wanted: dict[int, int] = {}
    competing = tally.competing()
    for need in tied(tally, number):
        count, mask = own_devices(tally, need)
        if count and need in competing:
            wanted[mask] = wanted.get(mask, 0) + count
    alike = all(tokens is maps[0] for tokens in maps)
    return _Bundle(tuple(sorted(wanted.items()))) if wanted and alike else None


def _sees_the_same(constraint: Constraint, other: Constraint) -> bool:
    if (constraint.attribute, constraint.sets) != (other.attribute, other.sets):
        return False
    tokens, others = (next(iter(one.tokens.values())) for one in (constraint, other))
    return tokens is others or tokens == others


def _examine(peers: _Peers) -> Justification | None:
    """Look at claims that want the same, and at all that want so many devices or more."""
    option = next(iter(peers.constraint.tokens))
    everything = union([bundle.devices for bundle in peers.bundles])
    values = list(devices_of_values(peers.constraint, option, everything).values())
    kinds = list(dict.fromkeys(peers.bundles))
    samples = [[bundle for bundle in peers.bundles if bundle == kind] for kind in kinds]
    if len(kinds) > 1:
        sizes = {kind.count for kind in kinds}
        samples += [[bundle for bundle in peers.bundles if bundle.count >= size] for size in sorted(sizes)]
    for sample in samples:
        room = sum(_room(value, sample) for value in values)
        if len(sample) > 1 and room < len(sample):
            return _justification(peers.constraint, sample, len(values), room)
    return None


def _room(value: int, sample: Sequence[_Bundle]) -> int:
    """Return how many of these claims the devices of one value suffice for at most."""
    first = sample[0]
    least = min(bundle.count for bundle in sample)
    room = (value & union([bundle.devices for bundle in sample])).bit_count() // least
    if all(bundle is first or bundle == first for bundle in sample):
        room = min(room, *((value & mask).bit_count() // count for mask, count in first.wanted))
    return room


def _justification(constraint: Constraint, sample: Sequence[_Bundle], values: int, room: int) -> Justification:
    sizes = {bundle.count for bundle in sample}
    count = plural(min(sizes), "device") + ("" if len(sizes) == 1 else " or more")
    wanted = f"{len(sample)} claims of {count} with one value of {constraint.attribute} each"
    return Justification("matchAttribute", (f"{wanted}: {plural(values, 'value')} have room for {room}",))
