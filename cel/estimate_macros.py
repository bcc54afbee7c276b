"""Estimated costs of macros: what cel-go's loops for them cost, step by step."""

from __future__ import annotations

from collections.abc import Callable

from . import types
from .estimate_base import EstimatorBase
from .estimate_sizes import FREE, ITEMS, KEYS, ONE, VALUES, Path, Subject, below, either, fixed, plus, scaled, times
from .library import Range
from .syntax import Macro
from .types import DYN, Type
from .walk import Walk

_TWO, _THREE = fixed(2), fixed(3)
_LIST, _MAP = fixed(10), fixed(30)
# Appending to a list: the accumulator, a list of one, and the addition.
_APPEND = fixed(12)
_WITH_LENGTH = frozenset({types.STRING, types.BYTES, DYN})


def _names(step: Macro, target: Subject) -> dict[str, Subject]:
    """What the loop binds, with all that is known of it; the costs are left to the reader."""
    mapping = target.type.name == "map"
    params = target.type.params or (DYN,)
    value = Subject(ONE, params[-1], target.item, below(target.path, VALUES if mapping else ITEMS))
    key = value
    if mapping:
        key = Subject(ONE, params[0], target.key, below(target.path, KEYS))
    elif len(step.variables) == 2:
        key = Subject(ONE, types.INT)
    if len(step.variables) == 1:
        return {step.variables[0]: key}
    if mapping and _shares_end(target.path):
        key = Subject(ONE, params[0], target.key, value.path)
    return dict(zip(step.variables, (key, value), strict=True))


def _shares_end(path: Path | None) -> bool:
    """Whether cel-go takes the key of a two-variable macro to be as large as the value.

    It appends to one Go slice twice, and where that has room to spare the second overwrites the first.
    """
    return path is not None and len(path) not in (1, 2, 4, 8)


def _predicate(test: Range) -> Callable[[EstimatorBase, Macro, Subject], Walk[Subject]]:
    """``all`` and ``exists``: ``test`` is the cost of asking whether to go on, before each step."""

    def estimate(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
        assert step.condition is not None
        with estimator.scope(_names(step, target)):
            condition = yield step.condition
        each = plus(test, Range(1, plus(ONE, condition.cost).max))
        cost = plus(target.cost, times(estimator.size(target), each), ONE)
        return Subject(cost, estimator.result_type(step.pos))

    return estimate


def _exists_one(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
    assert step.condition is not None
    with estimator.scope(_names(step, target)):
        condition = yield step.condition
    each = plus(condition.cost, Range(1, 2))
    cost = plus(target.cost, times(estimator.size(target), each), _TWO)
    return Subject(cost, estimator.result_type(step.pos))


def _collect(estimator: EstimatorBase, step: Macro, target: Subject, start: Range, insert: Range) -> Walk[Subject]:
    """A macro that fills a list or map: its body, then ``insert``; where a condition fails, only the look at it."""
    names = _names(step, target)
    body = names[step.variables[-1]]
    condition = FREE
    with estimator.scope(names):
        if step.condition is not None:
            condition = (yield step.condition).cost
        if step.body is not None:
            body = yield step.body
    each = plus(insert, body.cost)
    if step.condition is not None:
        each = plus(condition, either(each, ONE))
    cost = plus(target.cost, start, times(estimator.size(target), each), ONE)
    item = either(FREE, estimator.size(body)) if start is _LIST else None
    return Subject(cost, estimator.result_type(step.pos), estimator.size(target), item=item)


def _to_list(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
    return _collect(estimator, step, target, _LIST, _APPEND)


def _to_map(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
    return _collect(estimator, step, target, _MAP, _THREE)


def _to_entries(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
    return _collect(estimator, step, target, _MAP, _TWO)


def _sort_by(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
    """The list bound to a name, mapped to its keys, then sorted by them."""
    bound = Subject(ONE, target.type, target.size, target.path, target.key, target.item)
    with estimator.scope(_names(step, bound)):
        assert step.body is not None
        key = yield step.body
    count = estimator.size(target)
    mapped = plus(ONE, _LIST, times(count, plus(_APPEND, key.cost)), ONE)
    compared = plus(times(count, count), times(count, count))
    if key.type in _WITH_LENGTH:
        longer = plus(compared, scaled(times(count, count), 0.1))
        compared = either(compared, longer) if key.type is DYN else longer
    cost = plus(target.cost, _LIST, ONE, mapped, fixed(11), compared)
    return Subject(cost, estimator.result_type(step.pos), times(count, count))


def _optional(wrap: Range) -> Callable[[EstimatorBase, Macro, Subject], Walk[Subject]]:
    """``optMap`` and ``optFlatMap``: ``wrap`` is the cost of making the result an optional."""

    def estimate(estimator: EstimatorBase, step: Macro, target: Subject) -> Walk[Subject]:
        present = plus(target.cost, ONE)
        with estimator.scope({step.variables[0]: Subject(ONE, _content(target.type))}):
            assert step.body is not None
            body = yield step.body
        type_ = estimator.result_type(step.pos)
        some = Subject(plus(present, _LIST, body.cost, wrap), type_)
        return estimator.choose(step.pos, present, some, Subject(ONE, type_))

    return estimate


def _content(type_: Type) -> Type:
    return type_.params[0] if type_.name == "optional_type" else DYN


MACROS: dict[str, Callable[[EstimatorBase, Macro, Subject], Walk[Subject]]] = {
    "all": _predicate(_TWO),
    "exists": _predicate(_THREE),
    "exists_one": _exists_one,
    "map": _to_list,
    "filter": _to_list,
    "transformList": _to_list,
    "transformMap": _to_map,
    "transformMapEntry": _to_entries,
    "sortBy": _sort_by,
    "optMap": _optional(ONE),
    "optFlatMap": _optional(FREE),
}
