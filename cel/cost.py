"""Static cost estimate: the least and the most that evaluating an expression may cost (CLM-6, cel.md 1.5).

The estimator visits a checked tree once. A value's size is known from itself, from the declared sizes of the variable
it comes from, or from its type. ``macros`` has the rules of macros, function libraries those of their functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from . import syntax, types
from .checker import Checked
from .declarations import ONE_RANGE, UNBOUNDED, UNKNOWN_RANGE, ZERO_RANGE, Estimate, Operand, Overload, Range
from .syntax import Literal, Select, TreePass, Walk, visit_all, walk
from .types import DYN, Type

Path = tuple[str, ...]
SizeOf = Callable[[Path], Range | None]
"""Declared sizes: of a variable, a field, and of ``@items``, ``@keys``, ``@values`` below it."""
ITEMS, KEYS, VALUES = "@items", "@keys", "@values"
_SCALARS = frozenset({types.BOOL, types.INT, types.UINT, types.DOUBLE, types.NULL, types.DURATION, types.TIMESTAMP})


@dataclass(frozen=True, slots=True)
class NodeEstimate:
    """What is known of the value of a node.

    ``size`` is known of itself, else it follows from ``path`` or type. ``key`` and ``item`` are the sizes of what
    a literal list or map holds, one level deep as cel-go has it. ``literal`` is the node of a constant.
    """

    cost: Range
    type: Type
    size: Range | None = None
    path: Path | None = None
    key: Range | None = None
    item: Range | None = None
    literal: Literal | None = None


LIST_COST, MAP_COST, STRUCT_COST = Range.of(10), Range.of(30), Range.of(40)
_FIELDS = frozenset({"map", "kubernetes.DRADevice"})
_HOLDERS = frozenset({"list", "map", "optional_type"})


def estimate(checked: Checked, sizes: SizeOf, unknown: Range = UNKNOWN_RANGE) -> Range:
    """The estimated cost of a checked expression; ``sizes`` are those declared for its variables.

    ``unknown`` is for a caller who knows how large any value may become, whatever the declarations tell.
    """
    return walk(Estimator(checked, sizes, unknown).handlers, checked.tree).cost


def _union(sizes: list[Range]) -> Range:
    return reduce(or_, sizes) if sizes else ZERO_RANGE


class Estimator(TreePass[NodeEstimate]):
    """The state of estimating one expression; ``unknown`` is the size of what nothing else is known of."""

    def __init__(self, checked: Checked, sizes: SizeOf, unknown: Range) -> None:
        super().__init__()
        self.checked = checked
        self.sizes = sizes
        self._unknown = unknown

    def size(self, subject: NodeEstimate) -> Range:
        """How large a value may be."""
        return self.limited(
            subject.size if subject.size is not None else size_at(subject.path, subject.type, self.sizes)
        )

    def limited(self, size: Range) -> Range:
        """A size, or where it has no limit that of unknown values."""
        if size.max < UNBOUNDED or self._unknown.max == UNBOUNDED:
            return size
        return Range(min(size.min, self._unknown.max), self._unknown.max)

    def choose(self, pos: int, condition: Range, value: NodeEstimate, otherwise: NodeEstimate) -> NodeEstimate:
        """One of two values after a condition."""
        cost = condition + (value.cost | otherwise.cost)
        size = self.size(value) | self.size(otherwise)
        key, item = range_union_if_known(value.key, otherwise.key), range_union_if_known(value.item, otherwise.item)
        return NodeEstimate(cost, self.checked.types[pos], size, None, key, item)

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> NodeEstimate:
        value = node.value
        size = Range.of(len(value)) if isinstance(value, (str, bytes)) else None
        return NodeEstimate(ZERO_RANGE, self.checked.types[node.pos], size, literal=node)

    def _ident(self, node: syntax.Ident) -> NodeEstimate:
        type_ = self.checked.types[node.pos]
        bound = self._bound(node.name)
        if bound is None:
            return NodeEstimate(ONE_RANGE, type_, path=(node.name.removeprefix("."),))
        return NodeEstimate(ONE_RANGE, type_, bound.size, bound.path, bound.key, bound.item)

    def _list(self, node: syntax.ListLiteral) -> Walk[NodeEstimate]:
        cost, item = LIST_COST, None
        for number, element in enumerate(node.elements):
            subject = yield element
            cost = cost + subject.cost
            item = self.size(subject) if number == 0 else range_union_if_known(item, self.size(subject))
        count = Range.of(len(node.elements))
        return NodeEstimate(cost, self.checked.types[node.pos], count, item=item or ZERO_RANGE)

    def _map(self, node: syntax.MapLiteral) -> Walk[NodeEstimate]:
        cost, keys, values = MAP_COST, [], []
        for key, value in node.entries:
            key_subject = yield key
            value_subject = yield value
            cost = cost + key_subject.cost + value_subject.cost
            keys.append(self.size(key_subject))
            values.append(self.size(value_subject))
        count = Range.of(len(node.entries))
        return NodeEstimate(cost, self.checked.types[node.pos], count, None, _union(keys), _union(values))

    def _struct(self, node: syntax.Struct) -> Walk[NodeEstimate]:
        cost = STRUCT_COST
        for _, value in node.entries:
            subject = yield value
            cost = cost + subject.cost
        return NodeEstimate(cost, self.checked.types[node.pos])

    # --- operators

    def _unary(self, node: syntax.Unary) -> Walk[NodeEstimate]:
        operand = yield node.operand
        return self._apply(node.pos, [operand])

    def _chain(self, node: syntax.Chain) -> Walk[NodeEstimate]:
        left = yield node.first
        for _, operand, pos in node.rest:
            right = yield operand
            entries = range_union_if_known(left.item, right.item) if left.type.name == "list" else None
            joined = self._apply(pos, [left, right])
            left = NodeEstimate(joined.cost, joined.type, joined.size, item=entries)
        return left

    def _logical(self, node: syntax.Logical) -> Walk[NodeEstimate]:
        """At least the first operand is evaluated, at most all."""
        operands = yield from visit_all(node.operands)
        most = sum((operand.cost for operand in operands), ZERO_RANGE).max
        return NodeEstimate(Range(operands[0].cost.min, most), self.checked.types[node.pos])

    def _conditional(self, node: syntax.Conditional) -> Walk[NodeEstimate]:
        found = yield from visit_all(part for branch in node.branches for part in branch)
        result = yield node.otherwise
        for condition, value, pos in zip(found[-2::-2], found[::-2], reversed(node.positions), strict=True):
            result = self.choose(pos, condition.cost, value, result)
        return result

    # --- functions

    def _operand(self, subject: NodeEstimate) -> Operand:
        element = None
        if subject.type.name in _HOLDERS:
            # cel-go asks for the items of a map, too, which only devices answer.
            content = subject.type.params[0] if subject.type.name != "map" else DYN
            element = self.limited(size_at(child_path(subject.path, ITEMS), content, self.sizes))
        return Operand(subject.type, self.size(subject), subject.literal, element)

    def _apply(self, pos: int, args: list[NodeEstimate]) -> NodeEstimate:
        """A function on arguments: the union of the overloads it may turn out to be."""
        operands = tuple(self._operand(arg) for arg in args)
        found = [estimate_call(overload, operands) for overload in self.checked.overloads[pos]]
        own = reduce(or_, [one.cost for one in found])
        sizes = [one.result_size for one in found if one.result_size is not None]
        size = _union(sizes) if sizes else None
        return NodeEstimate(sum((arg.cost for arg in args), own), self.checked.types[pos], size)

    def _call(self, node: syntax.Call) -> Walk[NodeEstimate]:
        args = yield from visit_all(node.args)
        if node.function == "dyn":
            # The argument by another type: what is known of it stays known.
            (arg,) = args
            type_ = self.checked.types[node.pos]
            return NodeEstimate(arg.cost + ONE_RANGE, type_, self.size(arg), None, arg.key, arg.item)
        return self._apply(node.pos, args)

    def _bind(self, node: syntax.Bind) -> Walk[NodeEstimate]:
        """A loop over an empty list, as cel-go expands it.

        Of a result that is the variable itself cel-go forgets the size, unless a macro around has bound the same name:
        then it takes that for it.
        """
        init = yield node.init
        with self.scope({node.variable: init}):
            body = yield node.body
        cost = init.cost + LIST_COST + body.cost
        if type(node.body) is syntax.Ident and node.body.name == node.variable:
            body = self._bound(node.variable) or NodeEstimate(body.cost, body.type, path=body.path)
            if body.size is None and body.path is None:
                return NodeEstimate(cost, self.checked.types[node.pos])
        return NodeEstimate(cost, self.checked.types[node.pos], self.size(body), None, body.key, body.item)

    def _bound(self, name: str) -> NodeEstimate | None:
        """What a macro around has bound to a name."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    # --- postfix steps

    def _select(self, step: Select, target: NodeEstimate) -> Walk[NodeEstimate]:
        type_ = self.checked.types[step.pos]
        if step.optional:
            return NodeEstimate(target.cost + ONE_RANGE, type_)
        cost = ONE_RANGE if target.type.name in _FIELDS else ZERO_RANGE
        return NodeEstimate(target.cost + cost, type_, path=child_path(target.path, step.field))
        yield  # Steps are visited as generators.

    def _has(self, node: syntax.Has) -> Walk[NodeEstimate]:
        """Presence costs nothing beyond its operand: Kubernetes has it so."""
        target = yield node.operand
        return NodeEstimate(target.cost, self.checked.types[node.pos])

    def _index(self, step: syntax.Index, target: NodeEstimate) -> Walk[NodeEstimate]:
        key = yield step.key
        found = self._apply(step.pos, [target, key])
        if step.optional:
            return found
        path = child_path(target.path, VALUES if target.type.name == "map" else ITEMS)
        return NodeEstimate(found.cost, found.type, target.item, path)

    def _method(self, step: syntax.Method, target: NodeEstimate) -> Walk[NodeEstimate]:
        args = yield from visit_all(step.args)
        return self._apply(step.pos, [target, *args])

    def _macro(self, step: syntax.Macro, target: NodeEstimate) -> Walk[NodeEstimate]:
        found: NodeEstimate = yield from step.rules.estimate(self, step, target)
        return found


_OPAQUE = frozenset({types.QUANTITY, types.SEMVER, types.IP, types.CIDR})
_FORMATS = Range(1, 7)
_SIZED = ("string", "bytes")


def estimate_call(overload: Overload, operands: tuple[Operand, ...]) -> Estimate:
    """The cost of one overload without that of its operands, and the size of its result where that is known."""
    estimator = overload.estimate or _OPERATORS.get(overload.id)
    return estimator(operands) if estimator else Estimate(ONE_RANGE)


def _compare(operands: tuple[Operand, ...]) -> Estimate:
    """A tenth of the shorter side, but at least 1 unless a side cannot be anything but empty."""
    most = Range(0, min(operand.size.max for operand in operands)).scaled(0.1).max
    return Estimate(Range(min(1, most), most))


def _equal(operands: tuple[Operand, ...]) -> Estimate:
    if all(operand.type in _OPAQUE for operand in operands):
        return Estimate(ONE_RANGE)
    if all(operand.type is types.FORMAT for operand in operands):
        return Estimate(_FORMATS)
    return _compare(operands)


def _concatenate(operands: tuple[Operand, ...]) -> Estimate:
    size = operands[0].size + operands[1].size
    return Estimate(size.scaled(0.1), size)


_OPERATORS: dict[str, Callable[[tuple[Operand, ...]], Estimate]] = {
    "equals": _equal,
    "not_equals": _compare,
    "in_list": lambda operands: Estimate(operands[1].size),
    "add_list": lambda operands: Estimate(ONE_RANGE, operands[0].size + operands[1].size),
    **{f"add_{name}": _concatenate for name in _SIZED},
    **{
        f"{order}_{name}": _compare for order in ("less", "less_equals", "greater", "greater_equals") for name in _SIZED
    },
}


def range_union_if_known(one: Range | None, other: Range | None) -> Range | None:
    """The union where both are known."""
    return one | other if one is not None and other is not None else None


def size_at(path: Path | None, type_: Type, declared: SizeOf) -> Range:
    """The size of what stands at a path, from its declaration or its type."""
    found = declared(path) if path else None
    return size_by_type(type_) if found is None else found


def size_by_type(type_: Type) -> Range:
    """The size of what is known by its type alone; an optional is as large as its value."""
    while type_.name == "optional_type":
        type_ = type_.params[0]
    return ONE_RANGE if type_ in _SCALARS else UNKNOWN_RANGE


def child_path(path: Path | None, name: str) -> Path | None:
    """A path one step longer."""
    return (*path, name) if path is not None else None


_DEVICE: dict[Path, int] = {
    (): 0, ("driver",): 63, ("attributes",): 32, ("capacity",): 32, ("allowMultipleAllocations",): 1,
    ("capacity", VALUES, VALUES): 0,
}  # fmt: skip
_DOMAINS: dict[Path, int] = {(KEYS,): 63, (VALUES,): 32, (VALUES, KEYS): 32}
_ATTRIBUTE = 64


def device_sizes(path: Path) -> Range | None:
    """The sizes of the variable ``device`` (cel.md 1.1): 32 domains of 63, 32 names of 32, attribute values of 64."""
    if path[0] != "device":
        return None
    path = tuple(VALUES if part == ITEMS else part for part in path)
    limit = _DEVICE.get(path[1:])
    if limit is None and path[1] in ("attributes", "capacity"):
        limit = _DOMAINS.get(path[2:])
    if limit is None and len(path) == 4 and path[1:3] == ("attributes", VALUES):
        limit = _ATTRIBUTE
    return None if limit is None else Range(0, limit)


def device_set_sizes(most: int) -> SizeOf:
    """The sizes of the variable ``devices``: at most so many, each as ``device``, but of size 1 itself (CELC-6)."""

    def sizes(path: Path) -> Range | None:
        if path[0] != "devices":
            return None
        if len(path) <= 2:
            return Range(0, most if len(path) == 1 else 1)
        return device_sizes(("device", *path[2:]))

    return sizes
