"""Macros over lists and maps.

As in cel-go, an error in one iteration does not end the macro: what follows may still decide ``all`` and ``exists``,
and costs. The first error is the one raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from .closures import Closure, Frame, display_key, go_name
from .errors import CelCostError, CelRuntimeError
from .operators import no_overload_error
from .values import CelMap, Value, put_key, stored_key

Iterate: TypeAlias = Callable[[Frame], Iterator[None]]
"""Starts the iteration of a macro; each step has set the variables."""


def over_elements(source: Closure, slot: int) -> Iterate:
    """Iteration over the elements of a list or the keys of a map."""

    def iterate(frame: Frame) -> Iterator[None]:
        return _set_each(frame, slot, _elements(source(frame)))

    return iterate


def over_pairs(source: Closure, first: int, second: int) -> Iterate:
    """Iteration over indexes and elements of a list, or keys and values of a map."""

    def iterate(frame: Frame) -> Iterator[None]:
        return _set_both(frame, first, second, _pairs(source(frame)))

    return iterate


def _set_each(frame: Frame, slot: int, values: Iterable[Value]) -> Iterator[None]:
    for frame[slot] in values:
        yield


def _set_both(frame: Frame, first: int, second: int, pairs: Iterable[tuple[Value, Value]]) -> Iterator[None]:
    for frame[first], frame[second] in pairs:
        yield


def _elements(value: Value) -> Iterable[Value]:
    if type(value) in (list, tuple, CelMap):
        return value  # type: ignore[no-any-return]
    raise CelRuntimeError(f"got '{go_name(value)}', expected iterable type")


def _pairs(value: Value) -> Iterable[tuple[Value, Value]]:
    if type(value) is CelMap:
        return value.items()
    if type(value) in (list, tuple):
        return enumerate(value)
    raise CelRuntimeError(f"unsupported comprehension range type: {go_name(value)}")


class _HeldError:
    """The error that the accumulator of a macro holds.

    A quantifier keeps the first, as ``&&`` and ``||`` do. Where the predicate is the condition of a ``?:``, its error
    takes the place of what was accumulated, an older error too.
    """

    __slots__ = ("_latest", "kept")

    def __init__(self, *, latest: bool) -> None:
        self._latest = latest
        self.kept: CelRuntimeError | None = None

    def holds(self, predicate: Closure, frame: Frame) -> bool | None:
        """The predicate's verdict; None for an error, which is kept."""
        try:
            verdict = predicate(frame)
        except CelCostError:
            raise
        except CelRuntimeError as error:
            self._keep(error)
            return None
        if type(verdict) is bool:
            return verdict
        self._keep(CelRuntimeError("no such overload"))
        return None

    def check(self) -> None:
        """Raise what was kept."""
        if self.kept is not None:
            raise self.kept

    def _keep(self, error: CelRuntimeError) -> None:
        if self._latest or self.kept is None:
            self.kept = error


def quantifier(iterate: Iterate, predicate: Closure, decisive: bool) -> Closure:
    """``all`` (False decides) and ``exists`` (True decides)."""

    def run(frame: Frame) -> bool:
        errors = _HeldError(latest=False)
        items = iterate(frame)
        for _ in items:
            if errors.holds(predicate, frame) is decisive:
                # The condition of the loop is looked at once more where elements are left; that has a cost.
                next(items, None)
                return decisive
        errors.check()
        return not decisive

    return run


def exists_one(iterate: Iterate, predicate: Closure) -> Closure:
    """Whether the predicate holds exactly once."""

    def run(frame: Frame) -> bool:
        errors = _HeldError(latest=True)
        hits = sum(errors.holds(predicate, frame) is True for _ in iterate(frame))
        errors.check()
        return hits == 1

    return run


_Add: TypeAlias = Callable[[Frame, bool], None]
"""Adds to what is accumulated; told whether that is an error already."""


def _collect(iterate: Iterate, condition: Closure | None, add: _Add, frame: Frame) -> None:
    """Run ``add`` for each step where the condition holds."""
    errors = _HeldError(latest=True)
    for _ in iterate(frame):
        if condition is not None and errors.holds(condition, frame) is not True:
            continue
        try:
            add(frame, errors.kept is not None)
        except CelCostError:
            raise
        except CelRuntimeError as error:
            errors.kept = errors.kept or error
    errors.check()


def to_list(iterate: Iterate, condition: Closure | None, body: Closure) -> Closure:
    """``map``, ``filter`` and ``transformList``."""

    def run(frame: Frame) -> Value:
        made: list[Value] = []
        _collect(iterate, condition, lambda frame, _failed: made.append(body(frame)), frame)
        return made

    return run


def to_map(iterate: Iterate, condition: Closure | None, accumulator: Closure, key: Closure, body: Closure) -> Closure:
    """``transformMap``; ``accumulator`` is what reading the accumulator costs, all that is done after an error."""

    def run(frame: Frame) -> Value:
        made: dict[object, Value] = {}

        def add(frame: Frame, failed: bool) -> None:
            accumulator(frame)
            if not failed:
                put_key(made, key(frame), body(frame))

        _collect(iterate, condition, add, frame)
        return CelMap.of(made)

    return run


def to_entries(iterate: Iterate, condition: Closure | None, body: Closure) -> Closure:
    """``transformMapEntry``: the body gives a map whose entries are added; no key may come twice."""

    def run(frame: Frame) -> Value:
        made: dict[object, Value] = {}

        def add(frame: Frame, _failed: bool) -> None:
            entries = body(frame)
            if type(entries) is not CelMap:
                raise no_overload_error("cel.@mapInsert", (CelMap.of(made), entries))
            for key, value in entries.items():
                if stored_key(key) in made:
                    raise CelRuntimeError(f"insert failed: key {display_key(key)} already exists")
                put_key(made, key, value)

        _collect(iterate, condition, add, frame)
        return CelMap.of(made)

    return run
