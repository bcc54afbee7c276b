"""What proofs count: requests, the devices that each may take as bit sets, and the plainest bounds on them.

A request or claim alone may need more devices than could be used, or more than a claim may get. Requests that
compete for the same devices are judged by Hall's theorem (P. Hall, On Representatives of Subsets, 1935): some set of
requests needs more devices than all of its devices together, or every request can be served. The maximum flow decides,
and its minimum cut is the set. Devices that the same requests may take are one cell of the flow.

The texts of proofs have numbers that can be checked against the manifests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from ...models.formats.errors import plural
from ...models.results.common import WitnessKind
from ...problem.messages import CountedSum, Justification
from ...problem.problem import RESULT_LIMIT, Demand, InUse, Problem, members_of_mask

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Need:
    """A request, and those of its demands that may serve it: several only if it is a list."""

    claim: int
    request: str
    options: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """A question, or one case of it. What is proven impossible here is impossible however the options are chosen.

    Everything in it is a relaxation: a device may be listed that cannot be taken, never the other way round.
    """

    problem: Problem
    in_use: InUse
    masks: tuple[int, ...]
    """Devices that each demand of the problem may take."""
    shared: int
    """Multi-allocatable devices: a request takes one once, others may take it as well."""
    needs: tuple[Need, ...]
    known: dict[str, Any] = field(default_factory=dict)
    """What was made of the problem and what is in use alone: all cases of a question have it in common."""

    @classmethod
    def of(cls, problem: Problem, in_use: InUse, candidates: tuple[tuple[int, ...], ...]) -> Tally:
        """Begin with the devices that each demand could take alone."""
        known: dict[tuple[int, ...], int] = {}
        masks = tuple([known.get(devices) or known.setdefault(devices, mask_of(devices)) for devices in candidates])
        needs = []
        for number, claim in enumerate(problem.claims):
            for request in claim.requests:
                options = request.demands
                if len(options) > 1:
                    # Alternatives without enough devices are left out, unless there are no others.
                    options = tuple([one for one in options if not _is_short(problem, masks, one)]) or options
                needs.append(Need(number, request.name, options))
        return cls(problem, in_use, masks, mask_of(problem.shared), tuple(needs))

    def once(self, name: str, make: Callable[[Tally], _Made]) -> _Made:
        """Return what is made for the question by this name; cases do not make it again."""
        if name not in self.known:
            self.known[name] = make(self)
        made: _Made = self.known[name]
        return made

    def demand(self, option: int) -> Demand:
        """Return the demand of this number."""
        return self.problem.demands[option]

    def least(self, need: Need) -> int:
        """Return how many devices the request takes at least."""
        demands, options = self.problem.demands, need.options
        return demands[options[0]].count if len(options) == 1 else min([demands[option].count for option in options])

    def is_short(self, option: int) -> bool:
        """Whether a demand lacks devices even if no other demand takes any."""
        return _is_short(self.problem, self.masks, option)

    def devices(self, need: Need) -> int:
        """Return all devices that some option may take."""
        return reduce(or_, [self.masks[option] for option in need.options])

    def competing(self) -> tuple[Need, ...]:
        """Return the requests that never take the same dedicated device.

        Admin access minds only what its own claim picked, so it is left out where there are several claims (DEV-1).
        """
        if self.one_claim(self.needs) is not None:
            return self.needs
        demands = self.problem.demands
        return tuple(need for need in self.needs if not demands[need.options[0]].admin)

    def one_claim(self, needs: Sequence[Need]) -> int | None:
        """Return the claim whose requests these are, None if there are several claims."""
        claims = {need.claim for need in needs}
        return claims.pop() if len(claims) == 1 else None

    def with_masks(self, masks: dict[int, int]) -> Tally:
        """Return the case in which these demands may take fewer devices."""
        changed = tuple([masks.get(option, mask) for option, mask in enumerate(self.masks)])
        return Tally(self.problem, self.in_use, changed, self.shared, self.needs, self.known)

    def with_option(self, position: int, option: int) -> Tally:
        """Return the case in which the request at this position is served by this option."""
        need = self.needs[position]
        chosen = Need(need.claim, need.request, (option,))
        return self.with_needs((*self.needs[:position], chosen, *self.needs[position + 1 :]))

    def with_needs(self, needs: tuple[Need, ...]) -> Tally:
        """Return the question about these requests alone."""
        return Tally(self.problem, self.in_use, self.masks, self.shared, needs, self.known)


def _is_short(problem: Problem, masks: Sequence[int], option: int) -> bool:
    demand = problem.demands[option]
    # All of nothing is no device too few, but fails as well (SRCH-6).
    return demand.count > masks[option].bit_count() or (demand.all_devices and not demand.count)


def mask_of(devices: Sequence[int] | frozenset[int]) -> int:
    """Write devices as a bit set."""
    return reduce(or_, map((1).__lshift__, devices), 0)


def competition(tally: Tally) -> Justification | None:
    """A set of requests needs more dedicated devices than there are for all of them (DEV-1, DEV-13)."""
    if len(tally.needs) < 2:
        return None
    own = [(need, *dedicated_devices(tally, need)) for need in tally.competing()]
    wanted: dict[int, int] = {}
    for _, count, mask in own:
        if count:
            wanted[mask] = wanted.get(mask, 0) + count
    sets = deficient_sets(wanted)
    if not sets:
        return None
    needs = [need for need, count, mask in own if count and mask in sets]
    needed = plural(sum(wanted[mask] for mask in sets), "device") + (" of their own" if tally.shared else "")
    there = union_of_masks(sets)
    text = f"{requests_need(tally, needs)} {needed}, {there.bit_count()} can be used"
    wanting = sum(wanted[mask] for mask in sets)
    return justification_for("devices", text, tally, needs, counted_sum("devices", needs, wanting, devices=there))


def deficient_sets(wanted: Mapping[int, int]) -> tuple[int, ...]:
    """Find sets (keys) whose wanted numbers are more in total than the members of their union; empty if none are."""
    for mask, count in wanted.items():
        if count > mask.bit_count():
            return (mask,)
    if len(wanted) < 2 or sum(wanted.values()) <= min(mask.bit_count() for mask in wanted):
        return ()
    return _Flow(wanted).run()


def union_of_masks(masks: Sequence[int]) -> int:
    """Unite bit sets."""
    found = 0
    for mask in masks:
        found |= mask
    return found


def dedicated_devices(tally: Tally, need: Need) -> tuple[int, int]:
    """Return how many dedicated devices the request takes at least, and which these may be."""
    if len(need.options) == 1:
        mask = tally.masks[need.options[0]]
        return max(0, tally.least(need) - (mask & tally.shared).bit_count()), mask & ~tally.shared
    counts = [
        tally.problem.demands[option].count - (tally.masks[option] & tally.shared).bit_count()
        for option in need.options
    ]
    return max(0, min(counts)), tally.devices(need) & ~tally.shared


class _Flow:
    """Members flow from cells to sets, along shortest augmenting paths."""

    def __init__(self, wanted: Mapping[int, int]) -> None:
        # Sets with few members first: fewer paths must be changed.
        self._sets = sorted(wanted, key=lambda mask: (mask.bit_count(), mask))
        self._missing = [wanted[mask] for mask in self._sets]
        # Members that are in the same sets are one cell; its key is the bit set of the sets' numbers.
        owners_of: dict[int, int] = {}
        for number, mask in enumerate(self._sets):
            for member in members_of_mask(mask):
                owners_of[member] = owners_of.get(member, 0) | 1 << number
        cells = Counter(owners_of.values())
        self._left = list(cells.values())
        self._reach: list[list[int]] = [[] for _ in self._sets]
        for cell, owners in enumerate(cells):
            for number in members_of_mask(owners):
                self._reach[number].append(cell)
        # What each cell gives to which set.
        self._given: list[dict[int, int]] = [{} for _ in cells]

    def run(self) -> tuple[int, ...]:
        """Serve one set after the other; the sets on the way to a dead end are deficient."""
        for start in range(len(self._sets)):
            while self._missing[start]:
                reached, cell = self._search(start)
                if cell is None:
                    return tuple(self._sets[number] for number in reached)
                self._augment(start, cell, reached)
        return ()

    def _search(self, start: int) -> tuple[dict[int, int], int | None]:
        """Find a cell with something left; also, for each set on the way, the cell it was reached by."""
        reached = {start: -1}
        self._source: dict[int, int] = {}
        queue = [start]
        for number in queue:
            for cell in self._reach[number]:
                if cell in self._source:
                    continue
                self._source[cell] = number
                if self._left[cell]:
                    return reached, cell
                for other in self._given[cell]:
                    if other not in reached:
                        reached[other] = cell
                        queue.append(other)
        return reached, None

    def _augment(self, start: int, end: int, reached: Mapping[int, int]) -> None:
        """Give along the path that ends at this cell, each set on it from another cell than before."""
        steps = []
        cell = end
        while cell >= 0:
            number = self._source[cell]
            steps.append((cell, number))
            cell = reached[number]
        replaced = [self._given[reached[number]][number] for _, number in steps if number != start]
        given = min(self._missing[start], self._left[end], *replaced)
        for cell, number in steps:
            self._move(cell, number, given)
            if number != start:
                self._move(reached[number], number, -given)
        self._left[end] -= given
        self._missing[start] -= given

    def _move(self, cell: int, number: int, given: int) -> None:
        gifts = self._given[cell]
        gifts[number] = gifts.get(number, 0) + given
        if not gifts[number]:
            del gifts[number]


def shortage(tally: Tally) -> Justification | None:
    """Every alternative of a request needs more devices than could be used."""
    for need in tally.needs:
        if all(tally.is_short(option) for option in need.options):
            text = "; ".join(_shortfall(tally, option) for option in need.options)
            each = [_counted_shortfall(tally, need, option) for option in need.options]
            counted = each[0] if len(each) == 1 else all_cases("firstAvailable", (need,), each)
            return justification_for("devices", text, tally, (need,), counted)
    return None


def result_limit(tally: Tally) -> Justification | None:
    """The requests of a claim take more devices than one result may have (SRCH-8)."""
    wanted: dict[int, int] = {}
    for need in tally.needs:
        wanted[need.claim] = wanted.get(need.claim, 0) + tally.least(need)
    for claim, count in wanted.items():
        if count > RESULT_LIMIT:
            needs = [need for need in tally.needs if need.claim == claim]
            wants = f"{display_requests(tally, needs)}: {plural(count, 'device')} at least"
            text = f"{wants}, one claim may get {RESULT_LIMIT}"
            counted = counted_sum("resultLimit", needs, count, RESULT_LIMIT)
            return justification_for("resultLimit", text, tally, needs, counted)
    return None


def _shortfall(tally: Tally, option: int) -> str:
    demand = tally.demand(option)
    name = f"request {demand.label}"
    if not demand.all_devices:
        return f"{name} needs {plural(demand.count, 'device')}, {tally.masks[option].bit_count()} can be used"
    if not demand.count:
        return f"{name} takes all devices that it selects, and there are none"
    return f"{name} takes all of the {plural(demand.count, 'device')} that it selects, not all of them can be used"


def _counted_shortfall(tally: Tally, need: Need, option: int) -> CountedSum:
    demand, mask = tally.demand(option), tally.masks[option]
    kind: WitnessKind = "allDevices" if demand.all_devices else "devices"
    name = need.request if len(need.options) == 1 else demand.label
    # All of nothing is no device too few, but fails as well (SRCH-6).
    needed = max(1, demand.count) if demand.all_devices else demand.count
    return counted_sum(kind, (Need(need.claim, name, (option,)),), needed, devices=mask)


def counted_sum(
    kind: WitnessKind,
    needs: Sequence[Need],
    needed: int,
    available: int | None = None,
    subject: str = "",
    devices: int = 0,
) -> CountedSum:
    """Make the sum of these requests; without ``available`` it counts the devices, a bit set."""
    there = devices.bit_count() if available is None else available
    requests = tuple([(need.claim, need.request) for need in needs])
    return CountedSum(kind, requests, needed, there, subject, tuple(members_of_mask(devices)))


def all_cases(
    kind: WitnessKind, needs: Sequence[Need], cases: Sequence[CountedSum | None], subject: str = ""
) -> CountedSum | None:
    """Make the sum of a choice: each case is refuted; of cases that are alike one is kept. None if one has no sum."""
    found = [one for one in cases if one is not None]
    if len(found) < len(cases):
        return None
    kept = {(one.kind, one.requests, one.subject, _shape(one)): one for one in reversed(found)}
    requests = tuple([(need.claim, need.request) for need in needs])
    return CountedSum(kind, requests, 1, 0, subject, cases=tuple(reversed(kept.values())))


def _shape(one: CountedSum) -> tuple[Hashable, ...]:
    return tuple((case.kind, case.requests, case.subject, _shape(case)) for case in one.cases)


# More names than these are only counted.
_MAX_REQUEST_NAMES = 4


def justification_for(
    id_: str, text: str, tally: Tally, needs: Sequence[Need], counted: CountedSum | None
) -> Justification:
    """Make a justification about these requests."""
    return Justification(id_, (text,), tally.one_claim(needs), counted=counted)


def display_requests(tally: Tally, needs: Sequence[Need]) -> str:
    """Name the requests, or say how many there are: ``requests a and b``, ``33 requests of 33 claims``."""
    claims = len({need.claim for need in needs})
    if claims > 1:
        return f"{len(needs)} requests of {claims} claims"
    names = [tally.demand(one.options[0]).label if len(one.options) == 1 else one.request for one in needs]
    if len(names) == 1:
        return f"request {names[0]}"
    if len(names) <= _MAX_REQUEST_NAMES:
        return f"requests {', '.join(names[:-1])} and {names[-1]}"
    return f"requests {', '.join(names[: _MAX_REQUEST_NAMES - 1])} and {len(names) - _MAX_REQUEST_NAMES + 1} more"


def requests_need(tally: Tally, needs: Sequence[Need]) -> str:
    """Name the requests, with the verb: ``request a needs``, ``requests a and b need``."""
    return f"{display_requests(tally, needs)} {verb(needs, 'needs', 'need')}"


def verb(needs: Sequence[Need], one: str, several: str) -> str:
    """Choose the form of the verb."""
    return one if len(needs) == 1 else several


def constraint_label(tally: Tally, number: int) -> str:
    """Name a constraint by its place in its claim and what it asks for."""
    constraints = tally.problem.constraints
    constraint = constraints[number]
    first = next(number for number, other in enumerate(constraints) if other.claim == constraint.claim)
    return f"constraint {number - first}, {constraint.kind} {constraint.attribute}"
