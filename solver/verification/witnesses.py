"""Witnesses of a no: sums that a document gives, derived again from the manifests.

A witness says which requests need more of what than there is. What the requests need, and what there is for them, is
counted here with the rules of finished allocations, beside what is in use. Each kind of sum is one entry of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from ...models.kubernetes import extensions
from ...models.kubernetes.claims import DeviceConstraint, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId
from ...models.results.common import DEVICES_NAMED, CountedWitness, WitnessKind
from .constraints import ConstraintRules, Relation, covers
from .devices import DeviceRules, VerificationContext
from .offers import (
    Amounts,
    Bundle,
    CapacityAmounts,
    ClaimOffers,
    CounterAmounts,
    DeviceOption,
    NodeOffers,
    RequestOffer,
    cluster_number,
    compatible_room,
    least_draw,
    room_of_places,
    room_of_values,
)
from .requests import MAX_RESULTS, is_admin


@dataclass(frozen=True, slots=True)
class Derived:
    """What a sum comes to; ``devices`` are those that it counts, None: it counts something else."""

    needed: int
    available: int
    devices: Collection[DeviceId] | None = None

    @property
    def proves(self) -> bool:
        """Whether there is too little."""
        return self.needed > self.available


class _WitnessError(Exception):
    """A witness that does not hold; the text says why."""


WitnessDepth = Literal["argument", "bound", "exact"]


class NodeWitnesses:
    """Judges witnesses about claims on one node, beside what the context says is held.

    ``names`` are those of the claims in documents, ``entries`` constraints of every claim beside its own. ``rules`` may
    know devices from other nodes. ``left`` is below zero where the last witness had too many sums to derive.
    """

    def __init__(
        self,
        context: VerificationContext,
        claims: Sequence[ResourceClaim],
        names: Sequence[str],
        node: Node,
        entries: Sequence[extensions.CallerConstraint] = (),
        rules: DeviceRules | None = None,
    ) -> None:
        self.context = context
        self.claims = claims
        self.names = names
        self.offers = NodeOffers(context, node, rules)
        self._values = ConstraintRules(context.gates, context.expressions)
        self._asked = ClaimOffers(self.offers, claims, self._values, entries)
        self.left = 0
        self.depth: WitnessDepth = "exact"

    @property
    def refused(self) -> bool:
        """Whether no allocator takes one of the claims here, whatever devices there are."""
        return any(map(self.offers.refuses, self.claims))

    def flaw(self, witness: CountedWitness, depth: WitnessDepth) -> str:
        """Say why a witness does not prove that the claims have no allocation; empty if it does.

        ``argument``: with what is derived there is too little. ``bound``: the numbers are bounds of it, too, that prove
        the no. ``exact``: the numbers and devices are those that are derived. Raises ``ExpressionTimeoutError``.
        """
        self.left, self.depth = _MOST_SUMS, depth
        if witness.subject and witness.kind in _WITHOUT_SUBJECT:
            return f"a witness of kind {witness.kind} is about nothing else, and not about {witness.subject}"
        try:
            found = _Question(self, self._asked.needs).derive(witness)
        except _WitnessError as error:
            return str(error)
        return _flaw_of_numbers(witness, found, depth)

    def entries(
        self, claim: int, attribute: str, needs: Sequence[RequestOffer], *, matching: bool
    ) -> Iterator[_TiedOptions]:
        """The hard entries of a claim on an attribute that cover requests whatever serves them, as tokens."""
        for entry in self._asked.hard_entries(claim):
            # With both kinds of attribute given only the match counts (CLM-2).
            named = entry.match_attribute if matching else entry.match_attribute is None and entry.distinct_attribute
            if named == attribute and all(covers(entry, option.name) for need in needs for option in need.options):
                yield _TiedOptions(self._values, entry)


_WITHOUT_SUBJECT = ("devices", "allDevices", "resultLimit", "firstAvailable")
# Of one witness with all its cases.
_MOST_SUMS = 20_000


class _TiedOptions:
    """The tokens of an entry on the devices of options."""

    def __init__(self, values: ConstraintRules, entry: DeviceConstraint) -> None:
        self._values = values
        self.entry = entry

    def covers(self, option: DeviceOption) -> bool:
        """CON-1."""
        return covers(self.entry, option.name)

    def of(self, option: DeviceOption, relation: Relation) -> dict[DeviceId, frozenset[object]]:
        """The tokens of the option's devices, without those that the entry refuses. Raises ``_WitnessError``."""
        if self._values.relation(self.entry) != relation:
            raise _WitnessError("the entry is not one that compares the values of devices two by two")
        pairs = ((entry.id, self._values.tokens(self.entry, entry, option.requested)) for entry, _ in option.devices)
        return {device: tokens for device, tokens in pairs if tokens is not None}


@dataclass(frozen=True, slots=True)
class _Question:
    """The claims on the node, or one case of that: some alternatives and values are chosen."""

    node: NodeWitnesses
    needs: tuple[RequestOffer, ...]

    def derive(self, witness: CountedWitness) -> Derived:
        """Derive a sum, and that it proves the no. Raises ``_WitnessError``."""
        self.node.left -= 1
        if self.node.left < 0:
            raise _WitnessError(f"it has more than {_MOST_SUMS} sums")
        needs = self._named(witness)
        if self.node.depth != "exact" and witness.kind not in _OF_DEVICES and any(need.is_short for need in needs):
            # Nothing serves one of the requests, so that they need more than anything that is there.
            return Derived(max(witness.needed, witness.available + 1), 0)
        found = _SUMS[witness.kind](self, witness, needs)
        if not found.proves:
            sums = f"{found.needed} needed, {found.available} available"
            raise _WitnessError(f"{_label(witness)}: {sums}: there is enough")
        return found

    def _named(self, witness: CountedWitness) -> list[RequestOffer]:
        """Find the requests that a witness names. Raises ``_WitnessError``."""
        found: list[RequestOffer] = []
        for one in witness.requests:
            own = [
                need
                for need in self.needs
                if self.node.names[need.claim] == one.claim and one.request in (need.request, _only_name(need))
            ]
            if not 0 < one.many <= len(own):
                raise _WitnessError(f"{one.claim} has {len(own)} requests {one.request}, not {one.many}")
            found += own[: one.many]
        if not found or len({(need.claim, need.request) for need in found}) < len(found):
            raise _WitnessError("it names no request, or one twice")
        return found

    def restricted(self, change: Callable[[DeviceOption], DeviceOption | None]) -> _Question:
        """The case in which options have fewer devices, or are not chosen (None)."""
        needs = []
        for need in self.needs:
            options = tuple(filter(None, map(change, need.options)))
            needs.append(replace(need, options=options) if options else need)
        return replace(self, needs=tuple(needs))

    def refuted_by(self, cases: _Cases) -> str:
        """Say why no case refutes the question; empty if one does."""
        last, refuted = "it has no case for that", False
        for number, case in enumerate(cases.given):
            if refuted and number in cases.right:
                continue
            try:
                found = self.derive(case)
            except _WitnessError as error:
                last = str(error)
                continue
            refuted = True
            flaw = _flaw_of_numbers(case, found, self.node.depth)
            if not flaw:
                cases.right.add(number)
            cases.flaws.setdefault(number, flaw)
        return "" if refuted else last

    def dedicated(self, need: RequestOffer) -> tuple[int, frozenset[DeviceId]]:
        """How many devices of its own a request takes at least, and which these may be."""
        least = min(
            option.count - sum(self.node.offers.is_shared(entry) for entry, _ in option.devices)
            for option in need.options
        )
        own = (entry for option in need.options for entry, _ in option.devices)
        return max(0, least), frozenset(entry.id for entry in own if not self.node.offers.is_shared(entry))


@dataclass(slots=True)
class _Cases:
    """The cases of a choice: those with numbers that are derived, and what is wrong with those of others."""

    given: Sequence[CountedWitness]
    right: set[int] = field(default_factory=set)
    flaws: dict[int, str] = field(default_factory=dict)


def _only_name(need: RequestOffer) -> str:
    return need.options[0].name if len(need.options) == 1 else need.request


def _label(witness: CountedWitness) -> str:
    named = [f"{one.claim} {one.request}" for one in witness.requests]
    left = len(named) - _NAMES_SHOWN
    shown = ", ".join(named[:_NAMES_SHOWN]) + (f" and {left} more" if left > 0 else "")
    return f"{witness.kind}{f' {witness.subject}' if witness.subject else ''} for {shown}"


_NAMES_SHOWN = 3


def _flaw_of_numbers(witness: CountedWitness, found: Derived, depth: WitnessDepth) -> str:
    """What a witness says that is not derived."""
    said = f"it says {witness.needed} needed and {witness.available} available"
    told = f"{_label(witness)}: {said}, the manifests {found.needed} and {found.available}"
    if depth == "exact" and witness.kind not in _BOUNDS:
        if (witness.needed, witness.available) != (found.needed, found.available):
            return told
    elif depth != "argument" and not found.available <= witness.available < witness.needed <= found.needed:
        return told
    there = {"/".join(one) for one in found.devices or ()}
    if depth == "exact" and found.devices is not None:
        # Of very many some are named.
        wrong = set(witness.devices) ^ there if len(there) <= DEVICES_NAMED else set(witness.devices) - there
        for name in sorted(wrong):
            return f"{_label(witness)}: device {name} is {'not ' if name in witness.devices else ''}among those counted"
    return ""


# Sums that a request that nothing serves has as well.
_OF_DEVICES: frozenset[WitnessKind] = frozenset({"devices", "allDevices", "resultLimit"})
# Where there are several ways to count, of which none is the best one.
_BOUNDS: frozenset[WitnessKind] = frozenset({"lists"})


def _compete(needs: Sequence[RequestOffer]) -> None:
    """DEV-1: admin access minds only what its own claim has. Raises ``_WitnessError``."""
    if len({need.claim for need in needs}) > 1 and any(is_admin(need.options[0].requested) for need in needs):
        raise _WitnessError("a request with admin access does not compete with other claims")


def _one_claim(needs: Sequence[RequestOffer]) -> int:
    if len({need.claim for need in needs}) > 1:
        raise _WitnessError("its requests are of several claims")
    return needs[0].claim


def _devices(question: _Question, _: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    if len(needs) == 1:
        if len(needs[0].options) > 1:
            raise _WitnessError(f"request {needs[0].request} has several alternatives")
        option = needs[0].options[0]
        # Of all where there are none, one is missing (SRCH-6).
        least = max(option.count, int(option.whole))
        return Derived(least, len(option.devices), [entry.id for entry, _ in option.devices])
    _compete(needs)
    parts = [question.dedicated(need) for need in needs]
    there = frozenset[DeviceId]().union(*(devices for _, devices in parts))
    return Derived(sum(least for least, _ in parts), len(there), there)


def _all_devices(_: _Question, __: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    option = needs[0].options[0]
    if len(needs) > 1 or len(needs[0].options) > 1 or not option.whole:
        raise _WitnessError("it is not about one request for all devices")
    # All of nothing is no device too few, but fails as well (SRCH-6).
    return Derived(max(1, option.selected), 0 if option.is_short else option.selected)


def _result_limit(_: _Question, __: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    _one_claim(needs)
    return Derived(sum(need.least for need in needs), MAX_RESULTS)


def _best(found: Iterator[Derived]) -> Derived:
    """The sum of the first entry that proves the no, or of the first. Raises ``_WitnessError`` where there is none."""
    every = list(found)
    if not every:
        raise _WitnessError("the claim has no such entry for these requests")
    return next((one for one in every if one.proves), every[0])


def _tokens(
    tied: _TiedOptions, needs: Sequence[RequestOffer], relation: Relation
) -> list[list[tuple[DeviceOption, list[frozenset[object]]]]]:
    return [[(option, list(tied.of(option, relation).values())) for option in need.options] for need in needs]


def _values(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    """CON-5, CON-7: each device has values that no other has."""

    def derive(tied: _TiedOptions) -> Derived:
        read = _tokens(tied, needs, "distinct")
        needed = sum(
            min(option.count * min(map(len, tokens), default=1) for option, tokens in options) for options in read
        )
        values = {_as_value(one) for options in read for _, tokens in options for token in tokens for one in token}
        return Derived(needed, len(values))

    entries = question.node.entries(_one_claim(needs), witness.subject, needs, matching=False)
    return _best(map(derive, entries))


def _as_value(token: object) -> object:
    """Of lists where they are no sets only one may be there (CON-9)."""
    return "list" if isinstance(token, tuple) and isinstance(token[1], tuple) and len(token[1]) != 1 else token


def _lists(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    """CON-7: of lists with a value in common only one is taken."""

    def derive(tied: _TiedOptions) -> Derived:
        read = _tokens(tied, needs, "distinct")
        lists = {token for options in read for _, tokens in options for token in tokens}
        return Derived(sum(need.least for need in needs), cluster_number(lists))

    entries = question.node.entries(_one_claim(needs), witness.subject, needs, matching=False)
    return _best(map(derive, entries))


def _claims(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    """CON-4, CON-7: a value has room for as many claims as its devices suffice for, rounded down."""
    _compete(needs)
    of_entries: dict[Hashable, tuple[_TiedOptions, list[RequestOffer]]] = {}
    for need in needs:
        tied = next(question.node.entries(need.claim, witness.subject, [need], matching=True), None)
        if tied is None:
            raise _WitnessError(f"{question.node.names[need.claim]} has no entry on equal {witness.subject}")
        # Requests of different entries need no value in common.
        of_entries.setdefault((need.claim, tied.entry.requests), (tied, []))[1].append(need)
    bundles: list[Bundle] = []
    values: dict[DeviceId, frozenset[object]] = {}
    for tied, own in of_entries.values():
        for option in (option for need in own for option in need.options):
            for device, token in tied.of(option, "match").items():
                if values.setdefault(device, token) != token:
                    raise _WitnessError(f"device {'/'.join(device)} has several values of {witness.subject}")
        bundles.append(Counter())
        for count, devices in map(question.dedicated, own):
            bundles[-1][devices] += count
    if not all(sum(bundle.values()) for bundle in bundles):
        raise _WitnessError("a claim needs no device of its own")
    return Derived(len(bundles), room_of_values(bundles, values))


def _drawn(amounts: Callable[[NodeOffers], Amounts]) -> _Sum:
    """CTR-2, CAP-6: the least amounts of all requests, and what is left of all that they may draw from."""

    def derive(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
        rows = amounts(question.node.offers)
        drawn = [least_draw(rows, need.options, witness.subject) for need in needs]
        touched = set().union(*(own for _, own in drawn))
        return Derived(sum(needed for needed, _ in drawn), sum(max(0, rows.left(row)) for row in touched))

    return derive


def _rooms(amounts: Callable[[NodeOffers], Amounts]) -> _Sum:
    """CTR-2, CAP-6: the number of devices for which each place has room, by their smallest amounts."""

    def derive(question: _Question, _: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
        _compete(needs)
        rows = amounts(question.node.offers)
        room = room_of_places(rows, [need.options for need in needs], question.node.offers.is_shared)
        return Derived(sum(need.least for need in needs), room)

    return derive


def _groups(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    _compete(needs)
    room = compatible_room(question.node.offers, [need.options for need in needs], witness.subject.split(","))
    return Derived(sum(need.least for need in needs), room)


def _match(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    """CON-4, CON-7: whatever value the devices have in common, a case refutes it."""
    cases = _Cases(witness.cases)
    claim, last = _one_claim(needs), "the claim has no such entry for these requests"
    for tied in question.node.entries(claim, witness.subject, needs, matching=True):
        last = _unrefuted(question, needs, tied, cases)
        if not last:
            return _cases_derived(question, witness, cases)
    raise _WitnessError(f"{_label(witness)}: {last}")


def _unrefuted(question: _Question, needs: Sequence[RequestOffer], tied: _TiedOptions, cases: _Cases) -> str:
    """Say why a value may serve the requests; empty if each is refuted."""
    claim = needs[0].claim
    mine = [option for need in question.needs if need.claim == claim for option in need.options if tied.covers(option)]
    tokens: Mapping[int, Mapping[DeviceId, frozenset[object]]] = {id(one): tied.of(one, "match") for one in mine}
    own = [
        frozenset[object]().union(*(token for option in need.options for token in tokens[id(option)].values()))
        for need in needs
        if need.least
    ]
    seen: set[Hashable] = set()
    for value in frozenset.intersection(*own) if own else ():
        kept = {
            number: frozenset(device for device, token in found.items() if value in token)
            for number, found in tokens.items()
        }
        # Values that the same devices have are one case.
        if (key := tuple(kept.values())) in seen:
            continue
        seen.add(key)
        case = question.restricted(partial(_only, kept))
        reason = case.refuted_by(cases)
        if reason:
            return f"value {_display(value)}: {reason}"
    return "" if own else "it names no request that needs devices"


def _only(kept: Mapping[int, frozenset[DeviceId]], option: DeviceOption) -> DeviceOption:
    """The option with the devices that are kept for it; the others stay selected."""
    devices = kept.get(id(option))
    if devices is None:
        return option
    return replace(option, devices=tuple(pair for pair in option.devices if pair[0].id in devices))


def _display(token: object) -> str:
    """A value in words."""
    found = token[1] if isinstance(token, tuple) else token
    return str(found[0]) if isinstance(found, tuple) and len(found) == 1 else str(found)


def _first_available(question: _Question, witness: CountedWitness, needs: Sequence[RequestOffer]) -> Derived:
    """SRCH-4: whichever alternative serves the request, a case refutes it."""
    if len(needs) > 1:
        raise _WitnessError("it is about several requests")
    cases = _Cases(witness.cases)
    for chosen in needs[0].options:
        case = question.restricted(partial(_chosen, chosen))
        reason = case.refuted_by(cases)
        if reason:
            raise _WitnessError(f"{_label(witness)}: alternative {chosen.name}: {reason}")
    return _cases_derived(question, witness, cases)


def _chosen(chosen: DeviceOption, option: DeviceOption) -> DeviceOption | None:
    same = (option.claim, option.request) == (chosen.claim, chosen.request)
    return None if same and option.name != chosen.name else option


def _cases_derived(question: _Question, witness: CountedWitness, cases: _Cases) -> Derived:
    """The sum of a choice: none is left, one is needed; unless the numbers of a case are derived nowhere."""
    for number, case in enumerate(cases.given):
        # What counts with more than there is may have cases that are not needed.
        needed = question.node.depth == "exact" or number in cases.flaws
        if question.node.depth != "argument" and needed and number not in cases.right:
            flaw = cases.flaws.get(number) or f"{_label(case)}: nothing needs this case"
            raise _WitnessError(f"{_label(witness)}: {flaw}")
    return Derived(1, 0)


_Sum = Callable[[_Question, CountedWitness, Sequence[RequestOffer]], Derived]
_SUMS: dict[WitnessKind, _Sum] = {
    "devices": _devices,
    "allDevices": _all_devices,
    "resultLimit": _result_limit,
    "values": _values,
    "lists": _lists,
    "claims": _claims,
    "counters": _drawn(CounterAmounts),
    "counterRoom": _rooms(CounterAmounts),
    "capacity": _drawn(CapacityAmounts),
    "capacityRoom": _rooms(CapacityAmounts),
    "groups": _groups,
    "matchAttribute": _match,
    "firstAvailable": _first_available,
}
