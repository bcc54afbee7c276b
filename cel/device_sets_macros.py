"""What macros do with parts of devices, and with the order of lists (CELC-7)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeAlias

from . import types
from .device_sets_flow import Flow, Order, strict, typed
from .syntax import Macro, Node
from .walk import Walk

if TYPE_CHECKING:
    from .device_sets_analysis import Analysis

_Handler: TypeAlias = "Callable[[Analysis, Macro, Flow], Walk[Flow]]"


def _names(step: Macro, source: Flow) -> dict[str, Flow]:
    """What the loop binds. Each element is one whatever the order, but its place in a list made of devices is not."""
    if len(step.variables) == 1:
        return {step.variables[0]: source.element()}
    key = Flow(rest=source.element().rest | {types.INT}, order=strict(source))
    return dict(zip(step.variables, (key, source.element(value=True)), strict=True))


def _visit(analysis: Analysis, step: Macro, source: Flow) -> Generator[Node, Flow, tuple[Order, Flow]]:
    """The order of what a loop decides at each step, and what its body gives: the first variable where it has none."""
    analysis.reads.touch(source)
    names = _names(step, source)
    decided, body = Order.FREE, names[step.variables[0]]
    with analysis.scope(names):
        if step.condition is not None:
            condition = yield step.condition
            analysis.reads.consume(condition)
            decided = strict(condition)
        if step.body is not None:
            body = yield step.body
    return decided, body


def _count(analysis: Analysis, step: Macro, source: Flow) -> Walk[Flow]:
    """``all``, ``exists``, ``exists_one``: an error of one element counts or not whatever comes first."""
    decided, _ = yield from _visit(analysis, step, source)
    return typed(types.BOOL, max(decided, strict(source, allowed=Order.BAG)))


def _to_list(analysis: Analysis, step: Macro, source: Flow) -> Walk[Flow]:
    decided, body = yield from _visit(analysis, step, source)
    order = max(decided, strict(body))
    if source.order is not Order.FREE:
        order = max(order, Order.BAG if source.order is Order.BAG else Order.ORDERED)
    return Flow(items=analysis.reads.shallow(body, Order.FREE), order=order)


def _to_map(analysis: Analysis, step: Macro, source: Flow) -> Walk[Flow]:
    decided, body = yield from _visit(analysis, step, source)
    analysis.reads.consume(body)
    return typed(analysis.checked.types[step.pos], max(decided, strict(source, body)))


def _sort_by(analysis: Analysis, step: Macro, source: Flow) -> Walk[Flow]:
    """Elements of equal keys keep their order."""
    _, body = yield from _visit(analysis, step, source)
    analysis.reads.consume(body)
    return Flow(items=source.element(), order=strict(source, body))


def _optional(analysis: Analysis, step: Macro, target: Flow) -> Walk[Flow]:
    """``optMap`` and ``optFlatMap``: the body on what is in an optional."""
    with analysis.scope({step.variables[0]: target}):
        assert step.body is not None
        body = yield step.body
    return analysis.reads.shallow(body, max(strict(target), body.order))


MACROS: dict[str, _Handler] = {
    **dict.fromkeys(("all", "exists", "exists_one"), _count),
    **dict.fromkeys(("map", "filter", "transformList"), _to_list),
    **dict.fromkeys(("transformMap", "transformMapEntry"), _to_map),
    "sortBy": _sort_by,
    **dict.fromkeys(("optMap", "optFlatMap"), _optional),
}
