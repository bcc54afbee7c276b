"""Where devices are judged: each filter once for asks that look alike to it, and each profile once (section 7)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from .asks import Ask
from .capacity import CapacityError, Draw
from .filters import EXPRESSION_FILTERS, FILTERS, Candidate, Context, Filter, capacity_of, drawn
from .policies import KUBE
from .profiles import Profile
from .records import Amounts, Failure
from .shapes import Shape

Failures = tuple[Failure, ...]
Kind = tuple[Profile, bool]
"""A device as filters see it: its profile, and whether the node reaches it."""

Column = Mapping[Kind, Failure | None]
"""What one filter says of each kind of device of a shape."""

_CAPACITY = next(number for number, filter_ in enumerate(FILTERS) if filter_.reads is capacity_of)

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Sheet:
    """What filters make of all devices of a shape, for asks that are alike: one object for all of them."""

    failures: tuple[Failures, ...]
    passing: tuple[int, ...]
    traps: dict[int, Failure]
    amounts: dict[int, Amounts]


class Bench:
    """Judges all devices of a shape at once, and remembers what each filter said about each profile."""

    def __init__(self, context: Context, policy: str) -> None:
        self._context = context
        self._policy = policy
        self._parts: dict[Hashable, int] = {}
        self._sheets: dict[Hashable, Sheet] = {}
        self._columns: dict[Hashable, Column] = {}
        self._found: dict[Hashable, Failure | None] = {}
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

    def _part(self, filter_: str, read: object) -> int:
        return self._parts.setdefault((filter_, _encode(read)), len(self._parts))

    def _judged(self, ask: Ask, shape: Shape, parts: Sequence[int]) -> Sheet:
        devices = list(zip(shape.profiles, shape.reachable, strict=True))
        # Most devices of a node are like another one.
        kinds = dict.fromkeys(devices)
        columns = [self._column(filter_, part, ask, kinds, shape) for filter_, part in zip(FILTERS, parts, strict=True)]
        failing = [column for column in columns if any(column.values())]
        rows = {kind: tuple(failure for column in failing if (failure := column[kind])) for kind in kinds}
        failures = tuple(rows[kind] for kind in devices)
        traps = {device: failed[0] for device, failed in enumerate(failures) if failed and self.is_fatal(failed[0])}
        passing = tuple(device for device, failed in enumerate(failures) if not failed or device in traps)
        return Sheet(failures, passing, traps, self._amounts(ask, parts[_CAPACITY], shape))

    def _column(self, filter_: Filter, part: int, ask: Ask, kinds: Iterable[Kind], shape: Shape) -> Column:
        key = part, shape.index
        column = self._columns.get(key)
        if column is None:
            column = {kind: self._failure(filter_, part, ask, *kind, shape.node_skips) for kind in kinds}
            if not any(map(_names_request, column.values())):
                self._columns[key] = column
        return column

    def _failure(
        self, filter_: Filter, part: int, ask: Ask, profile: Profile, reachable: bool, node_skips: bool
    ) -> Failure | None:
        key = part, profile.index, reachable, node_skips
        found = self._found.get(key, _UNASKED)
        if found is _UNASKED:
            taken = self._draw(profile, ask, part) if filter_ is FILTERS[_CAPACITY] else None
            found = filter_(Candidate(profile, reachable, node_skips, ask, self._context, taken))
            if not _names_request(found):
                self._found[key] = found
        return found

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
        key = part, profile.index
        result = self._drawn.get(key, _UNDRAWN)
        if result is _UNDRAWN:
            result = self._drawn[key] = drawn(profile, ask, self._context.gates)
        return result


def _names_request(failure: Failure | None) -> bool:
    return failure is not None and bool(failure.error) and failure.filter == FILTERS[_CAPACITY].id


_UNASKED = Failure("unasked")
_UNDRAWN = Draw({}, "unasked")
