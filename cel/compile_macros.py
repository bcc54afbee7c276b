"""Macros, and what their parts cost.

cel-go expands a macro to a loop over an accumulator; the costs here are those of that expansion: reading the
accumulator 1, a call 1, a list literal 10.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from . import closures_folds as folds
from .closures_base import Closure
from .closures_folds import Iterate
from .compile_code import UNKNOWN, Code, Variable, bounded, plain
from .syntax import Macro, Node
from .walk import Walk

if TYPE_CHECKING:
    from .compile_builder import Builder

_APPEND, _LIST = 1 + 1, 10
_Handler: TypeAlias = "Callable[[Builder, Macro, Code], Walk[Code]]"


class _Loop:
    """The iteration of a macro over a source, and the variables it sets."""

    def __init__(self, builder: Builder, names: tuple[str, ...], source: Code, step: int = 0, end: int = 1) -> None:
        self.variables = tuple(map(builder.scope.reserve, names))
        slots = [variable.slot for variable in self.variables]
        over = folds.over_elements if len(slots) == 1 else folds.over_pairs
        self.iterate: Iterate = builder.emit.iterate(over(source.run, *slots), step, end)

    def variable(self, builder: Builder, number: int) -> Code:
        """The code that reads one of the variables."""
        return builder.variable(self.variables[number])


def _visit(builder: Builder, variables: Sequence[Variable], node: Node | None) -> Generator[Node, Code, Code]:
    """The code of a part of a macro that there must be, with the variables in scope."""
    assert node is not None
    with builder.scope.bound(*variables):
        return (yield node)


def _visit_condition(
    builder: Builder, loop: _Loop, macro: Macro
) -> Generator[Node, Code, tuple[Closure | None, tuple[Code, ...]]]:
    """The filter of a macro, if it has one; as a closure, and as a part."""
    if macro.condition is None:
        return None, ()
    code = yield from _visit(builder, loop.variables, macro.condition)
    return code.run, (code,)


def _quantifier(decisive: bool, condition_cost: int) -> _Handler:
    def handle(builder: Builder, macro: Macro, source: Code) -> Walk[Code]:
        loop = _Loop(builder, macro.variables, source, condition_cost)
        predicate = yield from _visit(builder, loop.variables, macro.condition)
        # One unit for reading the accumulator beside the predicate.
        run = folds.quantifier(loop.iterate, builder.emit.part(predicate.run, 1), decisive)
        return bounded(plain(run, source, predicate))

    return handle


def _exists_one(builder: Builder, macro: Macro, source: Code) -> Walk[Code]:
    loop = _Loop(builder, macro.variables, source, end=2)
    predicate = yield from _visit(builder, loop.variables, macro.condition)
    return bounded(plain(folds.exists_one(loop.iterate, builder.emit.hit(predicate.run, 2)), source, predicate))


def _to_list(builder: Builder, macro: Macro, source: Code) -> Walk[Code]:
    loop = _Loop(builder, macro.variables, source)
    condition, parts = yield from _visit_condition(builder, loop, macro)
    if macro.body is None:
        body = loop.variable(builder, 0)
    else:
        body = yield from _visit(builder, loop.variables, macro.body)
    return bounded(plain(folds.to_list(loop.iterate, condition, _appended(builder, body)), source, body, *parts))


def _appended(builder: Builder, body: Code) -> Closure:
    """What a ``map`` collects: appended to the accumulator in a list of its own, which costs unless it is constant."""
    return builder.emit.part(body.run, _APPEND + (_LIST if body.constant is UNKNOWN else 0))


def _to_map(builder: Builder, macro: Macro, source: Code) -> Walk[Code]:
    loop = _Loop(builder, macro.variables, source)
    condition, parts = yield from _visit_condition(builder, loop, macro)
    body = yield from _visit(builder, loop.variables, macro.body)
    # Reading the accumulator 1, and the call 1.
    accumulator = builder.emit.part(builder.emit.constant(None), 1)
    key = builder.emit.part(loop.variable(builder, 0).run, 1)
    run = folds.to_map(loop.iterate, condition, accumulator, key, body.run)
    return bounded(plain(run, source, body, *parts))


def _to_entries(builder: Builder, macro: Macro, source: Code) -> Walk[Code]:
    loop = _Loop(builder, macro.variables, source)
    condition, parts = yield from _visit_condition(builder, loop, macro)
    body = yield from _visit(builder, loop.variables, macro.body)
    run = folds.to_entries(loop.iterate, condition, builder.emit.part(body.run, 2))
    return bounded(plain(run, source, body, *parts))


def _optional(wrap: bool) -> _Handler:
    """``optMap`` (``wrap``) and ``optFlatMap``: the target is evaluated for its presence, and for its value."""

    def handle(builder: Builder, macro: Macro, target: Code) -> Walk[Code]:
        variable = builder.scope.reserve(macro.variables[0], builder.function("value", [target], member=True))
        body = yield from _visit(builder, (variable,), macro.body)
        bound = builder.bind(variable, body)
        present = builder.function("hasValue", [target], member=True)
        result = builder.function("optional.of", [bound]) if wrap else bound
        return builder.conditional([(present, result)], builder.function("optional.none", []))

    return handle


def _sort_by(builder: Builder, macro: Macro, source: Code) -> Walk[Code]:
    """Elements sorted by keys that a ``map`` computes; the source is bound, as it is read twice."""
    bound = builder.scope.reserve("", source)
    elements = builder.variable(bound)
    loop = _Loop(builder, macro.variables, elements)
    body = yield from _visit(builder, loop.variables, macro.body)
    keys = plain(folds.to_list(loop.iterate, None, _appended(builder, body)), elements, body)
    return builder.bind(bound, builder.function("@sortByAssociatedKeys", [elements, keys], member=True, pos=macro.pos))


MACROS: dict[str, _Handler] = {
    "all": _quantifier(False, 2),
    "exists": _quantifier(True, 3),
    "exists_one": _exists_one,
    "map": _to_list,
    "filter": _to_list,
    "transformList": _to_list,
    "transformMap": _to_map,
    "transformMapEntry": _to_entries,
    "sortBy": _sort_by,
    "optMap": _optional(True),
    "optFlatMap": _optional(False),
}
