"""Closures that count what an evaluation costs, unit for unit as cel-go does (cel.md 1.5).

Costs are those of what is carried out, errors or not: the operands of a function of two are both evaluated though
the first fails, later steps of a selection that failed are not. ``program`` imports this module when an evaluation is
counted, because most are known beforehand to cost little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .closures import Closure, Emitter, Frame, Iterate, Step, has_field
from .declarations import Overload
from .errors import CelCostError, CelRuntimeError
from .meter import Meter
from .operators import BY_NAME, Dispatcher
from .values import Optional, Value

# The cost of these goes by the overload the type checker found, and is 1 where it left several; that of all other
# functions goes by the values, or by the first overload where they fit none.
_STATIC = frozenset(BY_NAME) | {
    "@sortByAssociatedKeys", "bytes", "contains", "endsWith", "matches", "sort", "startsWith", "string",
}  # fmt: skip
# These go by the overload the type checker found too, but by the last, which parses nothing, where it left several.
_LAST = frozenset({"containsCIDR", "containsIP"})


class _FailedOperand:
    """Stands for an operand that failed; its size is 1."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Value]:
        return iter(())


_FAILED_OPERAND = _FailedOperand()


def charge(frame: Frame, units: int) -> None:
    """Spend cost units; ``CelCostError`` or ``CelDeadlineError`` when there are no more."""
    meter: Meter = frame[0]
    meter.cost += units
    if meter.cost > meter.checkpoint:
        meter.check()


def charged_closure(run: Closure, units: int) -> Closure:
    """The closure, spending units also when it fails."""

    def charged_run(frame: Frame) -> Value:
        charge(frame, units)
        return run(frame)

    return charged_run


class MeteredEmitter(Emitter):
    """Makes closures that count."""

    def observed(self, bare: Closure, own: int) -> Closure:
        """See ``Emitter``."""
        return charged_closure(bare, own) if own else bare

    def path(self, slot: int, keys: tuple[str, ...], name: str) -> Closure:
        """See ``Emitter``."""
        return self.attribute(self.read(slot, name), [self.constant_step(key, False) for key in keys])

    def constant_step(self, key: Value, optional: bool) -> Step:
        """See ``Emitter``."""
        return _metered_step(super().constant_step(key, optional), optional)

    def computed_step(self, key: Closure, optional: bool) -> Step:
        """See ``Emitter``."""
        return _metered_step(super().computed_step(key, optional), optional)

    def test(self, operand: Closure, own: int, field: str) -> Closure:
        """See ``Emitter``: costs its operand; on an optional it is one less where the field is missing."""

        def run(frame: Frame) -> bool:
            charge(frame, own - 1)
            value = operand(frame)
            if type(value) is not Optional:
                charge(frame, 1)
                return has_field(value, field)
            found = has_field(value, field)
            charge(frame, int(found))
            return found

        return run

    def call(self, function: Dispatcher, operands: Sequence[Closure], static: Overload | None) -> Closure:
        """See ``Emitter``."""
        last = len(operands) - 1
        # Functions of three and more give up at the first failure, and then cost nothing; as do those whose
        # pattern is compiled beforehand, and where the types leave several overloads that are no operator's.
        dispatched = static is None and len(function.overloads) > 1 and function.name not in BY_NAME
        lenient = len(operands) <= 2 and not function.prepared and not dispatched

        def run(frame: Frame) -> Value:
            args: list[Value] = []
            error: CelRuntimeError | None = None
            for index, operand in enumerate(operands):
                try:
                    args.append(operand(frame))
                except CelCostError:
                    raise
                except CelRuntimeError as raised:
                    if not lenient and index < last:
                        raise
                    error = error or raised
                    args.append(_FAILED_OPERAND)
            return _finish(frame, function, static, args, error)

        return run

    def binary(self, function: Dispatcher, left: Closure, right: Closure, static: Overload | None) -> Closure:
        """See ``Emitter``."""
        return self.call(function, (left, right), static)

    def chain(self, first: Closure, rest: Sequence[tuple[Dispatcher, Closure, Overload | None]]) -> Closure:
        """See ``Emitter``."""

        def run(frame: Frame) -> Value:
            value, error = _attempt(first, frame)
            for function, operand, static in rest:
                right, raised = _attempt(operand, frame)
                try:
                    value = _finish(frame, function, static, [value, right], error or raised)
                    error = None
                except CelCostError:
                    raise
                except CelRuntimeError as failed:
                    value, error = _FAILED_OPERAND, failed
            if error is not None:
                raise error
            return value

        return run

    def list_literal(self, elements: Sequence[Closure], optional: frozenset[int]) -> Closure:
        """See ``Emitter``."""
        return charged_closure(super().list_literal(elements, optional), 10)

    def map_literal(self, entries: Sequence[tuple[Closure, Closure]], optional: frozenset[int]) -> Closure:
        """See ``Emitter``."""
        return charged_closure(super().map_literal(entries, optional), 30)

    def iterate(self, ranged: Iterate, step: int, end: int) -> Iterate:
        """See ``Emitter``."""

        def run(frame: Frame) -> Iterator[None]:
            items = ranged(frame)
            charge(frame, end)
            return _charged_steps(frame, items, step)

        return run

    def part(self, run: Closure, cost: int) -> Closure:
        """See ``Emitter``."""
        return charged_closure(run, cost)

    def hit(self, run: Closure, cost: int) -> Closure:
        """See ``Emitter``."""

        def charged_run(frame: Frame) -> Value:
            value = run(frame)
            if value is True:
                charge(frame, cost)
            return value

        return charged_run


def _charged_steps(frame: Frame, items: Iterator[None], step: int) -> Iterator[None]:
    for _ in items:
        charge(frame, step)
        yield


def _metered_step(step: Step, optional: bool) -> Step:
    def run(frame: Frame, value: Value) -> Value:
        if optional or type(value) is Optional:
            found = step(frame, value)
            charge(frame, int(found.present))
            return found
        charge(frame, 1)
        return step(frame, value)

    return run


def _attempt(run: Closure, frame: Frame) -> tuple[Value, CelRuntimeError | None]:
    try:
        return run(frame), None
    except CelCostError:
        raise
    except CelRuntimeError as error:
        return _FAILED_OPERAND, error


def _finish(
    frame: Frame, function: Dispatcher, static: Overload | None, args: list[Value], error: CelRuntimeError | None
) -> Value:
    """Call the function, unless an operand failed, and charge for it either way."""
    result: Value = _FAILED_OPERAND
    overload = static or (None if function.name in _STATIC else function.first)
    if static is None and function.name in _LAST:
        overload = function.overloads[-1]
    try:
        if error is not None:
            raise error
        chosen = function.overload(args)
        if function.name not in _STATIC and function.name not in _LAST:
            overload = chosen
        result = chosen.apply(*args)
        return result
    finally:
        charge(frame, _cost(overload, tuple(args), result))


def _cost(overload: Overload | None, args: tuple[Value, ...], result: Value) -> int:
    if overload is None or overload.cost is None:
        return 1
    try:
        return overload.cost(args, result)
    except (TypeError, AttributeError, ValueError, LookupError):
        # A cost that needs the value of an operand that failed or is of another type.
        return 1
