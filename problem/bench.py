"""Where devices are judged: each filter once for asks that look alike to it, and each profile once (section 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from .asks import Ask
from .capacity import CapacityError, Draw
from .filters import EXPRESSION_FILTERS, FILTERS, Candidate, Context, Filter, Inquiry, capacity_of, drawn
from .policies import KUBE
from .profiles import Profile
from .records import Amounts, Failure
from .shapes import Shape

Failures = tuple[Failure, ...]

Column = Mapping[int, Failure]
"""What one filter says of the kinds of devices of a shape: those that fail, by number."""

_CAPACITY = next(number for number, filter_ in enumerate(FILTERS) if filter_.reads is capacity_of)

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Sheet:
    """What filters make of all devices of a shape, for asks that are alike: one object for all of them."""

    failures: tuple[Failures, ...]
    passing: tuple[int, ...]
    traps: dict[int, Failure]
    amounts: dict[int, Amounts]


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The different devices of a shape: most devices of a node are like another one."""

    candidates: tuple[Candidate, ...]
    of_device: tuple[int, ...]


class Bench:
    """Judges all devices of a shape at once, and remembers what each filter said about each profile."""

    def __init__(self, context: Context, policy: str) -> None:
        self._context = context
        self._policy = policy
        self._parts: dict[Hashable, int] = {}
        self._kinds: dict[int, _Kinds] = {}
        self._candidates: dict[Hashable, Candidate] = {}
        self._sheets: dict[Hashable, Sheet] = {}
        self._columns: dict[Hashable, Column] = {}
        self._found: dict[int, dict[Candidate, Failure | None]] = defaultdict(dict)
        self._offers: dict[int, bytes] = {}
        self._drawn: dict[Hashable, Draw | CapacityError | None] = {}
        self._taken: dict[Hashable, dict[int, Amounts]] = {}

    def sheet(self, ask: Ask, shape: Shape) -> Sheet:
        """Judge all devices of the shape for the ask."""
        parts = [self._part(filter_.id, filter_.reads(ask)) for filter_ in FILTERS]
        # Errors of capacities name the request, and are kept for it alone.
        key = *parts, shape.index
        sheet = self._sheets.get(key) or self._sheets.get((ask.own_name, *key))
        if sheet is None:
            sheet = self._judged(ask, shape, parts)
            named = any(map(_names_request, chain.from_iterable(sheet.failures)))
            self._sheets[(ask.own_name, *key) if named else key] = sheet
        return sheet

    def is_fatal(self, failure: Failure) -> bool:
        """Tell whether meeting this failure aborts everything; the policy is about expressions only."""
        return bool(failure.error) and (self._policy == KUBE or failure.filter not in EXPRESSION_FILTERS)

    def _kinds_of(self, shape: Shape) -> _Kinds:
        kinds = self._kinds.get(shape.index)
        if kinds is None:
            seen = list(zip(shape.profiles, shape.reachable, strict=True))
            numbers = {device: number for number, device in enumerate(dict.fromkeys(seen))}
            candidates = tuple([self._candidate(*device, shape.node_skips) for device in numbers])
            kinds = self._kinds[shape.index] = _Kinds(candidates, tuple([numbers[device] for device in seen]))
        return kinds

    def _candidate(self, profile: Profile, reachable: bool, node_skips: bool) -> Candidate:
        key = profile.index, reachable, node_skips
        return self._candidates.get(key) or self._candidates.setdefault(key, Candidate(profile, reachable, node_skips))

    def _part(self, filter_: str, read: object) -> int:
        return self._parts.setdefault((filter_, _encode(read)), len(self._parts))

    def _judged(self, ask: Ask, shape: Shape, parts: Sequence[int]) -> Sheet:
        kinds = self._kinds_of(shape)
        failing: dict[int, Failures] = {}
        for filter_, part in zip(FILTERS, parts, strict=True):
            for kind, failure in self._column(filter_, part, ask, shape, kinds.candidates).items():
                failing[kind] = (*failing.get(kind, ()), failure)
        failures = tuple([failing.get(kind, ()) for kind in kinds.of_device])
        fatal = {kind for kind, failed in failing.items() if self.is_fatal(failed[0])}
        traps = {device: failures[device][0] for device, kind in enumerate(kinds.of_device) if kind in fatal}
        passing = tuple([device for device, failed in enumerate(failures) if not failed or device in traps])
        return Sheet(failures, passing, traps, self._amounts(ask, parts[_CAPACITY], shape))

    def _column(self, filter_: Filter, part: int, ask: Ask, shape: Shape, candidates: Sequence[Candidate]) -> Column:
        key = part, shape.index
        column = self._columns.get(key)
        if column is None:
            known = self._found[part]
            asked = [candidate for candidate in candidates if candidate not in known]
            failed = filter_(Inquiry(ask, self._context, asked, lambda profile: self._draw(profile, ask, part)))
            fresh = {candidate: failed.get(place) for place, candidate in enumerate(asked)}
            named = any(map(_names_request, failed.values()))
            if named:
                known = {**known, **fresh}
            else:
                known |= fresh
            column = {kind: one for kind, candidate in enumerate(candidates) if (one := known[candidate]) is not None}
            if not named:
                self._columns[key] = column
        return column

    def _amounts(self, ask: Ask, part: int, shape: Shape) -> dict[int, Amounts]:
        """List what the ask takes of each device's capacities, in the order of their names (CAP-3)."""
        known = self._taken.get((part, shape.index))
        if known is not None:
            return known
        amounts = self._taken[part, shape.index] = dict[int, Amounts]()
        for device, rows in shape.capacities.rows.items():
            result = self._draw(shape.profiles[device], ask, part)
            if isinstance(result, Draw) and result.amounts:
                taken = (result.amounts[name].nano for name in sorted(result.amounts))
                amounts[device] = tuple(zip(rows, taken, strict=True))
        return amounts

    def _draw(self, profile: Profile, ask: Ask, part: int) -> Draw | CapacityError | None:
        """Compute what the ask takes once for devices that have the same capacities."""
        offer = self._offers.get(profile.index)
        if offer is None:
            offer = self._offers[profile.index] = _encode(profile.device.capacity)
        key = part, offer
        result = self._drawn.get(key, _UNDRAWN)
        if result is _UNDRAWN:
            result = self._drawn[key] = drawn(profile, ask, self._context.gates)
        return result


def _names_request(failure: Failure) -> bool:
    return bool(failure.error) and failure.filter == FILTERS[_CAPACITY].id


_UNDRAWN = Draw({}, "unasked")
