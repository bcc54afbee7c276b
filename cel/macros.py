"""The macros of CEL: calls that bind names, recognized by name and number of arguments while parsing.

``MACROS`` has an entry for each: how it is written, how it is type-checked, what it may cost, how it is compiled and
what it makes of its receiver. A new macro is a new entry. ``has`` and ``cel.bind`` are nodes of their own. Errors are
worded and placed as cel-go does; costs are those of the loop over an accumulator that cel-go expands a macro to
(cel.md 1.3, 1.5).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from . import comprehensions, syntax, types
from .checker import TypeChecker
from .cost import ITEMS, KEYS, VALUES, Estimator, NodeEstimate, Path, child_path
from .declarations import ONE_RANGE, ZERO_RANGE, Range
from .errors import Issue
from .syntax import Bind, Has, Ident, Macro, MacroResult, MacroRules, Node, Postfix, Select, Walk, position
from .types import BOOL, DYN, ERROR, INT, Type, list_of, map_of, optional_of, parameter

Report: TypeAlias = Callable[[Issue], None]

# --- how calls are written


def is_macro(name: str, count: int) -> bool:
    """Whether a method call with so many arguments is a macro."""
    return (name, count) in _CALLS


def make_macro(name: str, receiver: Node, args: list[Node], pos: int, report: Report) -> Macro:
    """The macro step for a method call that ``is_macro``; a wrong argument is reported, and ``_`` put in its place."""
    rules, form = _CALLS[name, len(args)]
    refused, complaint = rules.refused_receivers
    if type(receiver) in refused:
        report(Issue(position(receiver), complaint))
    variables = tuple(_variable(arg, rules.complaint, report) for arg in args[: form.count("v")])
    if len(variables) == 2 and variables[0] == variables[1]:
        report(Issue(args[1].pos, f"duplicate variable name: {variables[1]}"))
    rest = args[len(variables) :]
    return Macro(rules, variables, rest[0] if "c" in form else None, rest[-1] if "b" in form else None, pos)


def make_has(args: list[Node], pos: int, report: Report) -> Node:
    """``has(e.f)``."""
    arg = args[0]
    if type(arg) is Postfix:
        *steps, last = arg.steps
        if type(last) is Select and not last.optional:
            operand = Postfix(arg.operand, tuple(steps), arg.pos) if steps else arg.operand
            return Has(operand, last.field, pos)
    elif type(arg) is Ident and "." in arg.name[1:]:
        # A dotted name that stands for one identifier elsewhere.
        name, _, field = arg.name.rpartition(".")
        return Has(Ident(name, arg.pos), field, pos)
    report(Issue(position(arg), "invalid argument to has() macro"))
    return arg


def make_bind(args: list[Node], pos: int, report: Report) -> Node:
    """``cel.bind(variable, init, body)``."""
    name = _variable(args[0], "cel.bind() variable names must be simple identifiers", report)
    return Bind(name, args[1], args[2], pos)


def _variable(arg: Node, complaint: str, report: Report) -> str:
    if type(arg) is not Ident or arg.name.startswith("."):
        report(Issue(position(arg), complaint))
        return "_"
    if arg.name == "__result__":
        report(Issue(arg.pos, "iteration variable overwrites accumulator variable"))
    return arg.name


# --- types: what loops bind, what bodies must be, what is the result

_A, _K, _V = parameter("A"), parameter("K"), parameter("V")
_INSERT = [((map_of(_K, _V), _K, _V), map_of(_K, _V)), ((map_of(_K, _V), map_of(_K, _V)), map_of(_K, _V))]
_HAS_VALUE = [((optional_of(_A),), BOOL)]
_VALUE = [((optional_of(_A),), _A)]


def _visit_parts(scope: AbstractContextManager[None], step: Macro) -> Generator[Node, Any, tuple[Any, Any]]:
    """What a pass finds of condition and body, with the names of the macro in scope; None where there is none."""
    condition = body = None
    with scope:
        if step.condition is not None:
            condition = yield step.condition
        if step.body is not None:
            body = yield step.body
    return condition, body


def _loop_types(checker: TypeChecker, step: Macro, target: Type, place: int) -> dict[str, Type]:
    """The types of the names that a loop over ``target`` binds."""
    target = checker.known.resolve(target)
    key = value = DYN
    if target.param:
        checker.known.assignable([DYN], [target])
    elif target.name == "list":
        key, value = INT, target.params[0]
    elif target.name == "map":
        key, value = target.params
    elif target not in (DYN, ERROR):
        message = f"expression of type '{target}' cannot be range of a comprehension (must be list, map, or dynamic)"
        key = value = checker.report(place, message)
    if len(step.variables) == 2:
        return dict(zip(step.variables, (key, value), strict=True))
    return {step.variables[0]: key if target.name == "map" else value}


def _check_filter(checker: TypeChecker, step: Macro, condition: Type | None, result: Type) -> Type:
    """The result, after a look at the condition, which cel-go expands to one of ``?:``."""
    if condition is not None:
        checker.choose(step.pos, condition, result, result)
    return result


def _check_predicate(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    condition, _ = yield from _visit_parts(checker.scope(_loop_types(checker, step, target, place)), step)
    assert step.condition is not None
    checker.expect(position(step.condition), BOOL, condition)
    return BOOL


def _check_exists_one(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    condition, _ = yield from _visit_parts(checker.scope(_loop_types(checker, step, target, place)), step)
    checker.choose(step.pos, condition, INT, INT)
    return BOOL


def _check_list(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    names = _loop_types(checker, step, target, place)
    condition, body = yield from _visit_parts(checker.scope(names), step)
    return _check_filter(checker, step, condition, list_of(body or names[step.variables[0]]))


def _check_map(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    names = _loop_types(checker, step, target, place)
    condition, body = yield from _visit_parts(checker.scope(names), step)
    return _check_filter(checker, step, condition, map_of(names[step.variables[0]], body))


def _check_entries(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    condition, body = yield from _visit_parts(checker.scope(_loop_types(checker, step, target, place)), step)
    entries = map_of(checker.known.fresh(), checker.known.fresh())
    result, fitting = checker.apply("cel.@mapInsert", step.pos, [entries, body], _INSERT)
    return _check_filter(checker, step, condition, result if fitting else entries)


def _check_sort(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    _, key = yield from _visit_parts(checker.scope(_loop_types(checker, step, target, step.pos)), step)
    return checker.function("@sortByAssociatedKeys", step.pos, [target, list_of(key)], member=True)


def _check_optional(checker: TypeChecker, step: Macro, target: Type, place: int) -> Walk[Type]:
    """The body on the value of an optional, as an optional."""
    present, _ = checker.apply("hasValue", step.pos, [target], _HAS_VALUE, member=True)
    value, _ = checker.apply("value", step.pos, [target], _VALUE, member=True)
    _, body = yield from _visit_parts(checker.scope({step.variables[0]: value}), step)
    nothing = optional_of(checker.known.fresh())
    return checker.choose(step.pos, present, optional_of(body) if step.name == "optMap" else body, nothing)


# --- estimated costs

_TWO, _THREE, _LIST, _MAP = Range.of(2), Range.of(3), Range.of(10), Range.of(30)
# Appending to a list: the accumulator, a list of one, and the addition.
_APPEND = Range.of(12)
_WITH_LENGTH = frozenset({types.STRING, types.BYTES, DYN})
_EstimateRule: TypeAlias = Callable[[Estimator, Macro, NodeEstimate], Walk[NodeEstimate]]


def _loop_estimates(step: Macro, target: NodeEstimate) -> dict[str, NodeEstimate]:
    """What the loop binds, with all that is known of it; reading a name costs 1."""
    # Of a literal the kind is known whatever its type: ``dyn([1, 2])`` is a list.
    mapping = target.key is not None or (target.item is None and target.type.name == "map")
    params = target.type.params or (DYN,)
    value = NodeEstimate(ONE_RANGE, params[-1], target.item, child_path(target.path, VALUES if mapping else ITEMS))
    key = value
    if mapping:
        key = NodeEstimate(ONE_RANGE, params[0], target.key, child_path(target.path, KEYS))
    elif len(step.variables) == 2:
        key = NodeEstimate(ONE_RANGE, INT)
    if len(step.variables) == 1:
        return {step.variables[0]: key}
    if mapping and _shares_end(target.path):
        key = NodeEstimate(ONE_RANGE, params[0], target.key, value.path)
    return dict(zip(step.variables, (key, value), strict=True))


def _shares_end(path: Path | None) -> bool:
    """Whether cel-go takes the key of a two-variable macro to be as large as the value.

    It appends to one Go slice twice, and where that has room to spare the second overwrites the first.
    """
    return path is not None and len(path) not in (1, 2, 4, 8)


def _estimate_predicate(test: Range) -> _EstimateRule:
    """``all`` and ``exists``: ``test`` is the cost of asking whether to go on, before each step."""

    def estimate(estimator: Estimator, step: Macro, target: NodeEstimate) -> Walk[NodeEstimate]:
        condition, _ = yield from _visit_parts(estimator.scope(_loop_estimates(step, target)), step)
        each = test + Range(1, (ONE_RANGE + condition.cost).max)
        return NodeEstimate(target.cost + estimator.size(target) * each + ONE_RANGE, estimator.checked.types[step.pos])

    return estimate


def _estimate_exists_one(estimator: Estimator, step: Macro, target: NodeEstimate) -> Walk[NodeEstimate]:
    condition, _ = yield from _visit_parts(estimator.scope(_loop_estimates(step, target)), step)
    each = condition.cost + Range(1, 2)
    return NodeEstimate(target.cost + estimator.size(target) * each + _TWO, estimator.checked.types[step.pos])


def _estimate_collection(start: Range, insert: Range) -> _EstimateRule:
    """A macro that fills a list or map: its body, then ``insert``; where a condition fails, only the look at it."""

    def estimate(estimator: Estimator, step: Macro, target: NodeEstimate) -> Walk[NodeEstimate]:
        names = _loop_estimates(step, target)
        condition, body = yield from _visit_parts(estimator.scope(names), step)
        body = body or names[step.variables[-1]]
        each = insert + body.cost
        if condition is not None:
            each = condition.cost + (each | ONE_RANGE)
        cost = target.cost + start + estimator.size(target) * each + ONE_RANGE
        item = ZERO_RANGE | estimator.size(body) if start is _LIST else None
        return NodeEstimate(cost, estimator.checked.types[step.pos], estimator.size(target), item=item)

    return estimate


def _estimate_sort(estimator: Estimator, step: Macro, target: NodeEstimate) -> Walk[NodeEstimate]:
    """The list bound to a name, mapped to its keys, then sorted by them."""
    bound = NodeEstimate(ONE_RANGE, target.type, target.size, target.path, target.key, target.item)
    _, key = yield from _visit_parts(estimator.scope(_loop_estimates(step, bound)), step)
    count = estimator.size(target)
    mapped = ONE_RANGE + _LIST + count * (_APPEND + key.cost) + ONE_RANGE
    compared = count * count + count * count
    if key.type in _WITH_LENGTH:
        longer = compared + (count * count).scaled(0.1)
        compared = compared | longer if key.type is DYN else longer
    cost = target.cost + _LIST + ONE_RANGE + mapped + Range.of(11) + compared
    return NodeEstimate(cost, estimator.checked.types[step.pos], count * count)


def _estimate_optional(wrap: Range) -> _EstimateRule:
    """``optMap`` and ``optFlatMap``: ``wrap`` is the cost of making the result an optional."""

    def estimate(estimator: Estimator, step: Macro, target: NodeEstimate) -> Walk[NodeEstimate]:
        present = target.cost + ONE_RANGE
        content = target.type.params[0] if target.type.name == "optional_type" else DYN
        _, body = yield from _visit_parts(estimator.scope({step.variables[0]: NodeEstimate(ONE_RANGE, content)}), step)
        type_ = estimator.checked.types[step.pos]
        some = NodeEstimate(present + _LIST + body.cost + wrap, type_)
        return estimator.choose(step.pos, present, some, NodeEstimate(ONE_RANGE, type_))

    return estimate


# --- the table

_NO_IDENTIFIER = "argument is not an identifier"
_UNSORTABLE = (
    (syntax.Literal, syntax.MapLiteral, syntax.Struct),
    "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
)


def _predicate(
    name: str, check: Callable[..., Walk[Type]], estimate: _EstimateRule, compile_: comprehensions.CompileRule
) -> MacroRules:
    return MacroRules(name, ("vc", "vvc"), MacroResult.VERDICT, check, estimate, compile_)


def _optional(name: str, wrap: bool) -> MacroRules:
    return MacroRules(
        name, ("vb",), MacroResult.OPTIONAL,
        _check_optional, _estimate_optional(ONE_RANGE if wrap else ZERO_RANGE), comprehensions.compile_optional(wrap),
        complaint=f"{name}() variable name must be a simple identifier", checked_twice=True,
    )  # fmt: skip


_TO_LIST = _check_list, _estimate_collection(_LIST, _APPEND), comprehensions.compile_list
MACROS: tuple[MacroRules, ...] = (
    _predicate("all", _check_predicate, _estimate_predicate(_TWO), comprehensions.compile_quantifier(False, 2)),
    _predicate("exists", _check_predicate, _estimate_predicate(_THREE), comprehensions.compile_quantifier(True, 3)),
    _predicate("exists_one", _check_exists_one, _estimate_exists_one, comprehensions.compile_exists_one),
    MacroRules("filter", ("vc",), MacroResult.LIST, *_TO_LIST, _NO_IDENTIFIER),
    MacroRules("map", ("vb", "vcb"), MacroResult.LIST, *_TO_LIST, _NO_IDENTIFIER),
    MacroRules("transformList", ("vvb", "vvcb"), MacroResult.LIST, *_TO_LIST),
    MacroRules(
        "transformMap", ("vvb", "vvcb"), MacroResult.MAP,
        _check_map, _estimate_collection(_MAP, _THREE), comprehensions.compile_map,
    ),
    MacroRules(
        "transformMapEntry", ("vvb", "vvcb"), MacroResult.MAP,
        _check_entries, _estimate_collection(_MAP, _TWO), comprehensions.compile_entries,
    ),
    MacroRules(
        "sortBy", ("vb",), MacroResult.SORTED, _check_sort, _estimate_sort, comprehensions.compile_sort,
        _NO_IDENTIFIER, _UNSORTABLE,
    ),
    _optional("optMap", wrap=True),
    _optional("optFlatMap", wrap=False),
)  # fmt: skip
_CALLS = {(rules.name, len(form)): (rules, form) for rules in MACROS for form in rules.forms}
# With two names it has this spelling too.
_CALLS["existsOne", 3] = _CALLS["exists_one", 3]
