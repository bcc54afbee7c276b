"""What an expression over ``devices`` can depend on of each device, and whether their order matters (CELC-5, CELC-7).

One pass over the tree follows devices and their parts through variables, lists, functions and macros. Where it loses
track, everything counts as read and the order as mattering.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from . import order_flow, syntax, types
from .checker import Checked, result_position
from .devices import CAPACITY, shortest_paths
from .syntax import Macro, MacroResult, Node, Select, TreePass, Walk, children, visit_all, walk
from .types import Type


def analyse_dependence(checked: Checked) -> order_flow.Dependence:
    """Analyse a checked expression over ``devices``."""
    analysis = OrderAnalysis(checked)
    result = walk(analysis.handlers, checked.tree)
    reads = analysis.reads
    compares = reads.compares
    reads.consume(result)
    return order_flow.Dependence(
        shortest_paths(reads.paths), compares, result.order is not order_flow.OrderEffect.FREE, frozenset(reads.demands)
    )


class OrderAnalysis(TreePass[order_flow.Flow]):
    """The state of the pass: what has been read, and what the names in scope stand for."""

    def __init__(self, checked: Checked) -> None:
        super().__init__()
        self.checked = checked
        self.reads = order_flow.Reads()

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> order_flow.Flow:
        text = node.value if type(node.value) is str else None
        return order_flow.Flow(rest=frozenset({self.checked.types[node.pos]}), text=text)

    def _ident(self, node: syntax.Ident) -> order_flow.Flow:
        name = node.name.removeprefix(".")
        bound = [scope[name] for scope in reversed(self.scopes) if name in scope]
        if bound and name == node.name:
            return bound[0]
        own = order_flow.DEVICES if name == "devices" else order_flow.typed_flow(self.checked.types[node.pos])
        return order_flow.union_of_flows([own, *bound])

    def _list(self, node: syntax.ListLiteral) -> Walk[order_flow.Flow]:
        elements = yield from visit_all(node.elements)
        items = self.reads.shallow(order_flow.union_of_flows(elements), order_flow.OrderEffect.FREE)
        return order_flow.Flow(items=items, order=order_flow.order_if_within(*elements))

    # --- operators

    def _opaque(self, node: Node) -> Walk[order_flow.Flow]:
        flows = yield from visit_all(children(node))
        return opaque_function(self.reads, flows, self.checked.types[result_position(node)])

    _map = _struct = _unary = _logical = _opaque

    def _chain(self, node: syntax.Chain) -> Walk[order_flow.Flow]:
        left = yield node.first
        for operator, operand, pos in node.rest:
            right = yield operand
            left = _OPERATORS.get(operator, opaque_function)(self.reads, (left, right), self.checked.types[pos])
        return left

    def _conditional(self, node: syntax.Conditional) -> Walk[order_flow.Flow]:
        flows = yield from visit_all(part for branch in node.branches for part in branch)
        otherwise = yield node.otherwise
        conditions, values = flows[::2], [*flows[1::2], otherwise]
        self.reads.consume(*conditions)
        return self.reads.shallow(
            order_flow.union_of_flows(values),
            max(order_flow.order_if_within(*conditions), order_flow.worst_order(values)),
        )

    # --- functions

    def _call(self, node: syntax.Call) -> Walk[order_flow.Flow]:
        args = yield from visit_all(node.args)
        return apply_function_rule(node.function, self.reads, args, self.checked.types[node.pos])

    def _has(self, node: syntax.Has) -> Walk[order_flow.Flow]:
        target = yield node.operand
        self.reads.touch(order_flow.Flow(self.reads.select(target.parts, node.field)))
        return order_flow.typed_flow(self.checked.types[node.pos], order_flow.order_if_within(target))

    def _bind(self, node: syntax.Bind) -> Walk[order_flow.Flow]:
        init = yield node.init
        with self.scope({node.variable: init}):
            return (yield node.body)

    # --- postfix steps

    def _select(self, step: Select, target: order_flow.Flow) -> Walk[order_flow.Flow]:
        return self._selected(step, target, step.field)
        yield  # Steps are visited as generators.

    def _index(self, step: syntax.Index, target: order_flow.Flow) -> Walk[order_flow.Flow]:
        key = yield step.key
        if key.text is not None:
            return self._selected(step, target, key.text)
        self.reads.touch(target)
        self.reads.consume(key)
        found = order_flow.union_of_flows([target.element(value=True), order_flow.Flow(rest=self._open(step, target))])
        return self.reads.shallow(found, order_flow.order_if_within(target, key))

    def _selected(self, step: syntax.Select | syntax.Index, target: order_flow.Flow, name: str) -> order_flow.Flow:
        parts = self.reads.select(target.parts, name)
        return order_flow.Flow(parts, self._open(step, target), order=order_flow.order_if_within(target))

    def _open(self, step: syntax.Select | syntax.Index, target: order_flow.Flow) -> frozenset[Any]:
        """The type of what is selected from something that is no part of a device."""
        return frozenset({self.checked.types[step.pos]}) if target.rest else frozenset()

    def _method(self, step: syntax.Method, target: order_flow.Flow) -> Walk[order_flow.Flow]:
        args = yield from visit_all(step.args)
        return apply_function_rule(step.name, self.reads, [target, *args], self.checked.types[step.pos])

    def _macro(self, step: syntax.Macro, target: order_flow.Flow) -> Walk[order_flow.Flow]:
        return (yield from _MACRO_RULES[step.rules.result](self, step, target))


FlowRule: TypeAlias = Callable[[order_flow.Reads, Sequence[order_flow.Flow], Type], order_flow.Flow]
"""From the arguments, receiver first, and the type of the result."""
# Values of these types that are equal are the same; a double may be no number, or a zero with a sign.
_EXACT = {
    types.INT: "int", types.BOOL: "bool", types.STRING: "string",
    types.UINT: "uint", types.BYTES: "bytes", types.DURATION: "duration", types.TIMESTAMP: "timestamp",
}  # fmt: skip
_FIELD_PATHS = frozenset({("driver",), ("allowMultipleAllocations",)})


def apply_function_rule(
    name: str, reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type
) -> order_flow.Flow:
    """What a function gives; of one without a rule no more is known than its type."""
    return _RULES.get(name.removeprefix("."), opaque_function)(reads, args, type_)


def _order_free_function(allowed: order_flow.OrderEffect) -> FlowRule:
    """A function that takes lists in any order."""

    def rule(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
        reads.consume(*args)
        return order_flow.typed_flow(type_, order_flow.order_if_within(*args, allowed=allowed))

    return rule


opaque_function = _order_free_function(order_flow.OrderEffect.FREE)
"""Whatever its arguments are, they are read, and their order may matter."""


def _includes(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    reads.consume(*args)
    return order_flow.typed_flow(type_, max(_bag_order(args[0]), order_flow.order_if_within(*args[1:])))


def _size(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """The elements themselves do not count."""
    reads.touch(*args)
    return order_flow.typed_flow(type_, order_flow.order_if_within(*args, allowed=order_flow.OrderEffect.CLASSES))


def _fallback(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """``or`` and ``orValue``: one or the other."""
    either = order_flow.union_of_flows([_unwrap_optional(args[0]), args[1]])
    return reads.shallow(either, max(order_flow.order_if_within(args[0]), args[1].order))


def _unwrap_optional(flow: order_flow.Flow) -> order_flow.Flow:
    """What is in an optional."""
    inner = (type_.params[0] if type_.name == "optional_type" else type_ for type_ in flow.rest)
    return replace(flow, rest=frozenset(inner))


def _reorder_list(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """A list of the same elements, in another order."""
    reads.touch(args[0])
    return order_flow.Flow(items=args[0].element(), order=max(args[0].order, order_flow.order_if_within(*args[1:])))


def _flatten_list(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """Elements, and elements of elements."""
    levels = [args[0].element()]
    for _ in range(order_flow.MOST_LIST_NESTING):
        levels.append(levels[-1].element())
    reads.touch(args[0])
    reads.consume(*args[1:])
    return order_flow.Flow(
        items=reads.shallow(order_flow.union_of_flows(levels)),
        order=max(args[0].order, order_flow.order_if_within(*args[1:])),
    )


def _slice_list(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """``slice``: some of the elements, by their places."""
    reads.touch(args[0])
    reads.consume(*args[1:])
    return order_flow.Flow(items=args[0].element(), order=order_flow.order_if_within(*args))


def _first_or_last(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """``first`` and ``last``."""
    reads.touch(args[0])
    return reads.shallow(args[0].element(), order_flow.order_if_within(*args))


def _sum(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """Whole numbers add up in any order; several types are an error in any."""
    reads.consume(*args)
    return order_flow.typed_flow(
        type_, _bag_order(args[0]) if _is_exact(args[0].element()) else order_flow.order_if_within(*args)
    )


def _extreme(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """``min`` and ``max``: of values that cannot be compared, the first ones win."""
    reads.consume(*args)
    element = args[0].element()
    order = order_flow.order_if_within(*args)
    if args[0].order is order_flow.OrderEffect.BAG and _is_exact(element):
        order = (
            _bag_order(args[0])
            if reads.demand(element.parts, _value_kinds(element))
            else order_flow.OrderEffect.ORDERED
        )
    return order_flow.typed_flow(type_, order)


def _sort(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """Sorted, a list is the same whatever it came from; several types are an error in any order."""
    reads.consume(*args)
    element = args[0].element()
    return order_flow.Flow(
        items=element, order=_bag_order(args[0]) if _is_exact(element) else order_flow.order_if_within(*args)
    )


def _distinct(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """The first of each group of equal values; that it does not matter which rests on equality being mutual."""
    reads.consume(*args)
    element, order = args[0].element(), args[0].order
    leaves = element.leaves()
    if order is order_flow.OrderEffect.BAG:
        if not _is_plain(leaves) or not reads.demand(leaves.parts, _value_kinds(leaves)):
            order = order_flow.OrderEffect.ORDERED
        elif any(part[0] == CAPACITY for part in leaves.parts):
            # Equal amounts may be written differently.
            order = order_flow.OrderEffect.CLASSES
    return order_flow.Flow(items=element, order=order)


def _bag_order(bag: order_flow.Flow) -> order_flow.OrderEffect:
    """Of what is computed from all elements whatever their order."""
    return order_flow.order_if_within(bag, allowed=order_flow.OrderEffect.BAG)


def _is_exact(element: order_flow.Flow) -> bool:
    return element.items is None and _is_plain(element)


def _is_plain(element: order_flow.Flow) -> bool:
    """Whether only values of fields and of exact types are among these; attributes are never doubles (ATTR-2)."""
    are_values = all(len(part) >= order_flow.LONGEST_PATH or part in _FIELD_PATHS for part in element.parts)
    return are_values and element.rest <= _EXACT.keys()


def _value_kinds(element: order_flow.Flow) -> frozenset[str]:
    return frozenset(_EXACT[type_] for type_ in element.rest)


def concatenation_flow(reads: order_flow.Reads, args: Sequence[order_flow.Flow], type_: Type) -> order_flow.Flow:
    """``+``: of lists all their elements, of anything else something new."""
    if type_.name != "list":
        return opaque_function(reads, args, type_)
    reads.touch(*args)
    return order_flow.Flow(
        items=reads.shallow(order_flow.union_of_flows(one.element() for one in args)),
        order=order_flow.worst_order(args),
    )


_OPERATORS: dict[str, FlowRule] = {
    "+": concatenation_flow,
    "in": lambda reads, args, type_: _includes(reads, args[::-1], type_),
}
_RULES: dict[str, FlowRule] = {
    "size": _size,
    # Whether there is an attribute was read when it was selected; all else of a device is always there.
    "hasValue": lambda reads, args, type_: order_flow.typed_flow(type_, order_flow.order_if_within(*args)),
    **dict.fromkeys(("dyn", "optional.of"), lambda reads, args, type_: args[0]),
    "value": lambda reads, args, type_: _unwrap_optional(args[0]),
    **dict.fromkeys(("or", "orValue"), _fallback),
    "reverse": _reorder_list,
    "flatten": _flatten_list,
    "slice": _slice_list,
    **dict.fromkeys(("first", "last"), _first_or_last),
    "sum": _sum,
    **dict.fromkeys(("min", "max"), _extreme),
    "sort": _sort,
    "distinct": _distinct,
    **dict.fromkeys(("includes", "include"), _includes),
    **dict.fromkeys(
        ("sets.contains", "sets.intersects", "sets.equivalent"), _order_free_function(order_flow.OrderEffect.BAG)
    ),
}
_Handler: TypeAlias = "Callable[[OrderAnalysis, Macro, order_flow.Flow], Walk[order_flow.Flow]]"


def _visit(
    analysis: OrderAnalysis, step: Macro, source: order_flow.Flow
) -> Generator[Node, order_flow.Flow, tuple[order_flow.OrderEffect, order_flow.Flow]]:
    """The order of what a loop decides at each step, and what its body gives: the first variable where it has none."""
    analysis.reads.touch(source)
    names = {step.variables[0]: source.element()}
    if len(step.variables) > 1:
        # Each element is one whatever the order, but its place in a list made of devices is not.
        key = order_flow.Flow(rest=source.element().rest | {types.INT}, order=order_flow.order_if_within(source))
        names = dict(zip(step.variables, (key, source.element(value=True)), strict=True))
    decided, body = order_flow.OrderEffect.FREE, names[step.variables[0]]
    with analysis.scope(names):
        if step.condition is not None:
            condition = yield step.condition
            analysis.reads.consume(condition)
            decided = order_flow.order_if_within(condition)
        if step.body is not None:
            body = yield step.body
    return decided, body


def _count(analysis: OrderAnalysis, step: Macro, source: order_flow.Flow) -> Walk[order_flow.Flow]:
    """``all``, ``exists``, ``exists_one``: an error of one element counts or not whatever comes first."""
    decided, _ = yield from _visit(analysis, step, source)
    return order_flow.typed_flow(
        types.BOOL, max(decided, order_flow.order_if_within(source, allowed=order_flow.OrderEffect.BAG))
    )


def _to_list(analysis: OrderAnalysis, step: Macro, source: order_flow.Flow) -> Walk[order_flow.Flow]:
    decided, body = yield from _visit(analysis, step, source)
    order = max(decided, order_flow.order_if_within(body))
    if source.order is not order_flow.OrderEffect.FREE:
        order = max(
            order,
            order_flow.OrderEffect.BAG
            if source.order is order_flow.OrderEffect.BAG
            else order_flow.OrderEffect.ORDERED,
        )
    return order_flow.Flow(items=analysis.reads.shallow(body, order_flow.OrderEffect.FREE), order=order)


def _to_map(analysis: OrderAnalysis, step: Macro, source: order_flow.Flow) -> Walk[order_flow.Flow]:
    decided, body = yield from _visit(analysis, step, source)
    analysis.reads.consume(body)
    return order_flow.typed_flow(
        analysis.checked.types[step.pos], max(decided, order_flow.order_if_within(source, body))
    )


def _sort_by(analysis: OrderAnalysis, step: Macro, source: order_flow.Flow) -> Walk[order_flow.Flow]:
    """Elements of equal keys keep their order."""
    _, body = yield from _visit(analysis, step, source)
    analysis.reads.consume(body)
    return order_flow.Flow(items=source.element(), order=order_flow.order_if_within(source, body))


def _optional(analysis: OrderAnalysis, step: Macro, target: order_flow.Flow) -> Walk[order_flow.Flow]:
    """``optMap`` and ``optFlatMap``: the body on what is in an optional."""
    with analysis.scope({step.variables[0]: target}):
        assert step.body is not None
        body = yield step.body
    return analysis.reads.shallow(body, max(order_flow.order_if_within(target), body.order))


_MACRO_RULES: dict[MacroResult, _Handler] = {
    MacroResult.VERDICT: _count,
    MacroResult.LIST: _to_list,
    MacroResult.MAP: _to_map,
    MacroResult.SORTED: _sort_by,
    MacroResult.OPTIONAL: _optional,
}
