"""Types of macros: what their loops bind, what their bodies must be, what they give."""

from __future__ import annotations

from collections.abc import Callable, Generator

from .checker_base import CheckerBase
from .syntax import Macro, Node, position
from .types import BOOL, DYN, ERROR, INT, Type, list_of, map_of, optional_of, parameter
from .walk import Walk

_A, _K, _V = parameter("A"), parameter("K"), parameter("V")
_INSERT = [((map_of(_K, _V), _K, _V), map_of(_K, _V)), ((map_of(_K, _V), map_of(_K, _V)), map_of(_K, _V))]
_HAS_VALUE = [((optional_of(_A),), BOOL)]
_VALUE = [((optional_of(_A),), _A)]


def _loop(checker: CheckerBase, step: Macro, target: Type, place: int) -> tuple[Type, Type]:
    """The types of what a loop over ``target`` binds: key or index, and value."""
    target = checker.known.resolve(target)
    if target.param:
        checker.known.assignable([DYN], [target])
        return DYN, DYN
    if target.name == "list":
        return INT, target.params[0]
    if target.name == "map":
        key, value = target.params
        return key, value
    if target not in (DYN, ERROR):
        message = f"expression of type '{target}' cannot be range of a comprehension (must be list, map, or dynamic)"
        return (checker.report(place, message),) * 2
    return DYN, DYN


def _names(checker: CheckerBase, step: Macro, target: Type, place: int) -> dict[str, Type]:
    key, value = _loop(checker, step, target, place)
    if len(step.variables) == 2:
        return dict(zip(step.variables, (key, value), strict=True))
    return {step.variables[0]: key if checker.known.resolve(target).name == "map" else value}


def _predicate(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    assert step.condition is not None
    with checker.scope(_names(checker, step, target, place)):
        found = yield step.condition
    checker.expect(position(step.condition), BOOL, found)
    return BOOL


def _exists_one(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    assert step.condition is not None
    with checker.scope(_names(checker, step, target, place)):
        found = yield step.condition
    checker.choose(step.pos, found, INT, INT)
    return BOOL


def _collected(
    checker: CheckerBase, step: Macro, target: Type, place: int
) -> Generator[Node, Type, tuple[Type, Type, Type]]:
    """The types of the condition and body of a macro that collects, and of its first variable."""
    names = _names(checker, step, target, place)
    condition: Type = BOOL
    body: Type = DYN
    with checker.scope(names):
        if step.condition is not None:
            condition = yield step.condition
        if step.body is not None:
            body = yield step.body
    return condition, body, names[step.variables[0]]


def _gather(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    """``map``, ``filter`` and ``transformList``: a list of the body, or of the variable itself."""
    condition, body, variable = yield from _collected(checker, step, target, place)
    result = list_of(variable if step.body is None else body)
    if step.condition is not None:
        checker.choose(step.pos, condition, result, result)
    return result


def _transform_map(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    condition, body, key = yield from _collected(checker, step, target, place)
    result = map_of(key, body)
    if step.condition is not None:
        checker.choose(step.pos, condition, result, result)
    return result


def _transform_entries(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    condition, body, _ = yield from _collected(checker, step, target, place)
    entries = map_of(checker.known.fresh(), checker.known.fresh())
    result, fitting = checker.apply("cel.@mapInsert", step.pos, [entries, body], _INSERT)
    if not fitting:
        result = entries
    if step.condition is not None:
        checker.choose(step.pos, condition, result, result)
    return result


def _sort_by(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    _, key, _ = yield from _collected(checker, step, target, step.pos)
    return checker.function("@sortByAssociatedKeys", step.pos, [target, list_of(key)], member=True)


def _optional(checker: CheckerBase, step: Macro, target: Type, place: int) -> Walk[Type]:
    """``optMap`` and ``optFlatMap``: the body on the value of an optional, as an optional."""
    assert step.body is not None
    present, _ = checker.apply("hasValue", step.pos, [target], _HAS_VALUE, member=True)
    value, _ = checker.apply("value", step.pos, [target], _VALUE, member=True)
    with checker.scope({step.variables[0]: value}):
        body = yield step.body
    nothing = optional_of(checker.known.fresh())
    return checker.choose(step.pos, present, optional_of(body) if step.name == "optMap" else body, nothing)


REPEATING = frozenset({"optMap", "optFlatMap"})
MACROS: dict[str, Callable[[CheckerBase, Macro, Type, int], Walk[Type]]] = {
    "all": _predicate,
    "exists": _predicate,
    "exists_one": _exists_one,
    "map": _gather,
    "filter": _gather,
    "transformList": _gather,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
    "sortBy": _sort_by,
    "optMap": _optional,
    "optFlatMap": _optional,
}
