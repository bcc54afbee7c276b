"""Static cost estimate: the least and the most that evaluating an expression may cost (CLM-6, cel.md 1.5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from . import syntax
from .checker import Checked
from .estimate_base import EstimatorBase
from .estimate_macros import MACROS
from .estimate_operators import estimate_call
from .estimate_sizes import (
    FREE,
    ITEMS,
    ONE,
    UNKNOWN,
    VALUES,
    SizeOf,
    Subject,
    below,
    both,
    either,
    fixed,
    plus,
    size_at,
)
from .library import Operand, Range
from .syntax import Postfix, Select
from .types import DYN
from .walk import Walk, walk

COST_LIMIT = 1_000_000
"""What evaluating a selector may cost (CLM-6)."""

LIST_COST, MAP_COST, STRUCT_COST = fixed(10), fixed(30), fixed(40)
_FIELDS = frozenset({"map", "kubernetes.DRADevice"})
_HOLDERS = frozenset({"list", "map", "optional_type"})


def estimate(checked: Checked, sizes: SizeOf, unknown: Range = UNKNOWN) -> Range:
    """The estimated cost of a checked expression; ``sizes`` are those declared for its variables.

    ``unknown`` is for a caller who knows how large any value may become, whatever the declarations tell.
    """
    return walk(_Estimator(checked, sizes, unknown).handlers, checked.tree).cost


class _Estimator(EstimatorBase):
    def __init__(self, checked: Checked, sizes: SizeOf, unknown: Range) -> None:
        super().__init__(checked, sizes, unknown)
        self.handlers: dict[type, Callable[[Any], Walk[Subject] | Subject]] = {
            syntax.Literal: self._literal,
            syntax.Ident: self._ident,
            syntax.ListLiteral: self._list,
            syntax.MapLiteral: self._map,
            syntax.Struct: self._struct,
            syntax.Unary: self._unary,
            syntax.Chain: self._chain,
            syntax.Logical: self._logical,
            syntax.Conditional: self._conditional,
            syntax.Call: self._call,
            syntax.Has: self._has,
            syntax.Bind: self._bind,
            Postfix: self._postfix,
        }
        self._steps: dict[type, Callable[[Any, Subject], Walk[Subject]]] = {
            Select: self._select,
            syntax.Index: self._index,
            syntax.Method: self._method,
            syntax.Macro: self._macro,
        }

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> Subject:
        value = node.value
        size = fixed(len(value)) if isinstance(value, (str, bytes)) else None
        return Subject(FREE, self.result_type(node.pos), size, literal=node)

    def _ident(self, node: syntax.Ident) -> Subject:
        type_ = self.result_type(node.pos)
        bound = self._bound(node.name)
        if bound is None:
            return Subject(ONE, type_, path=(node.name.removeprefix("."),))
        return Subject(ONE, type_, bound.size, bound.path, bound.key, bound.item)

    def _list(self, node: syntax.ListLiteral) -> Walk[Subject]:
        cost, item = LIST_COST, None
        for number, element in enumerate(node.elements):
            subject = yield element
            cost = plus(cost, subject.cost)
            item = self.size(subject) if number == 0 else both(item, self.size(subject))
        count = fixed(len(node.elements))
        return Subject(cost, self.result_type(node.pos), count, item=item or FREE)

    def _map(self, node: syntax.MapLiteral) -> Walk[Subject]:
        cost, keys, values = MAP_COST, [], []
        for key, value in node.entries:
            key_subject = yield key
            value_subject = yield value
            cost = plus(cost, key_subject.cost, value_subject.cost)
            keys.append(self.size(key_subject))
            values.append(self.size(value_subject))
        count = fixed(len(node.entries))
        return Subject(cost, self.result_type(node.pos), count, None, _union(keys), _union(values))

    def _struct(self, node: syntax.Struct) -> Walk[Subject]:
        cost = STRUCT_COST
        for _, value in node.entries:
            subject = yield value
            cost = plus(cost, subject.cost)
        return Subject(cost, self.result_type(node.pos))

    # --- operators

    def _unary(self, node: syntax.Unary) -> Walk[Subject]:
        operand = yield node.operand
        return self._apply(node.pos, [operand])

    def _chain(self, node: syntax.Chain) -> Walk[Subject]:
        left = yield node.first
        for _, operand, pos in node.rest:
            right = yield operand
            entries = both(left.item, right.item) if left.type.name == "list" else None
            joined = self._apply(pos, [left, right])
            left = Subject(joined.cost, joined.type, joined.size, item=entries)
        return left

    def _logical(self, node: syntax.Logical) -> Walk[Subject]:
        """At least the first operand is evaluated, at most all."""
        costs = []
        for operand in node.operands:
            subject = yield operand
            costs.append(subject.cost)
        return Subject(Range(costs[0].min, plus(*costs).max), self.result_type(node.pos))

    def _conditional(self, node: syntax.Conditional) -> Walk[Subject]:
        branches = []
        for condition, value in node.branches:
            condition_subject = yield condition
            value_subject = yield value
            branches.append((condition_subject, value_subject))
        result = yield node.otherwise
        for (condition_subject, value_subject), pos in zip(reversed(branches), reversed(node.positions), strict=True):
            result = self.choose(pos, condition_subject.cost, value_subject, result)
        return result

    # --- functions

    def _operand(self, subject: Subject) -> Operand:
        element = None
        if subject.type.name in _HOLDERS:
            # cel-go asks for the items of a map, too, which only devices answer.
            content = subject.type.params[0] if subject.type.name != "map" else DYN
            element = self.limited(size_at(below(subject.path, ITEMS), content, self.sizes))
        return Operand(subject.type, self.size(subject), subject.literal, element)

    def _apply(self, pos: int, args: list[Subject]) -> Subject:
        """A function on arguments: the union of the overloads it may turn out to be."""
        operands = tuple(self._operand(arg) for arg in args)
        found = [estimate_call(overload, operands) for overload in self.checked.overloads[pos]]
        own = reduce(either, [one.cost for one in found])
        sizes = [one.result_size for one in found if one.result_size is not None]
        size = _union(sizes) if sizes else None
        return Subject(plus(own, *(arg.cost for arg in args)), self.result_type(pos), size)

    def _call(self, node: syntax.Call) -> Walk[Subject]:
        args = []
        for arg in node.args:
            subject = yield arg
            args.append(subject)
        return self._apply(node.pos, args)

    def _bind(self, node: syntax.Bind) -> Walk[Subject]:
        """A loop over an empty list, as cel-go expands it.

        Of a result that is the variable itself cel-go forgets the size, unless a macro around has bound the same name:
        then it takes that for it.
        """
        init = yield node.init
        with self.scope({node.variable: init}):
            body = yield node.body
        cost = plus(init.cost, LIST_COST, body.cost)
        if type(node.body) is syntax.Ident and node.body.name == node.variable:
            body = self._bound(node.variable) or Subject(body.cost, body.type, path=body.path)
            if body.size is None and body.path is None:
                return Subject(cost, self.result_type(node.pos))
        return Subject(cost, self.result_type(node.pos), self.size(body), None, body.key, body.item)

    def _bound(self, name: str) -> Subject | None:
        """What a macro around has bound to a name."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    # --- postfix steps

    def _postfix(self, node: Postfix) -> Walk[Subject]:
        subject = yield node.operand
        for step in node.steps:
            subject = yield from self._steps[type(step)](step, subject)
        return subject

    def _select(self, step: Select, target: Subject) -> Walk[Subject]:
        type_ = self.result_type(step.pos)
        if step.optional:
            return Subject(plus(target.cost, ONE), type_)
        cost = ONE if target.type.name in _FIELDS else FREE
        return Subject(plus(target.cost, cost), type_, path=below(target.path, step.field))
        yield  # Steps are visited as generators.

    def _has(self, node: syntax.Has) -> Walk[Subject]:
        """Presence costs nothing beyond its operand: Kubernetes has it so."""
        target = yield node.operand
        return Subject(target.cost, self.result_type(node.pos))

    def _index(self, step: syntax.Index, target: Subject) -> Walk[Subject]:
        key = yield step.key
        found = self._apply(step.pos, [target, key])
        if step.optional:
            return found
        path = below(target.path, VALUES if target.type.name == "map" else ITEMS)
        return Subject(found.cost, found.type, target.item, path)

    def _method(self, step: syntax.Method, target: Subject) -> Walk[Subject]:
        args = [target]
        for arg in step.args:
            subject = yield arg
            args.append(subject)
        return self._apply(step.pos, args)

    def _macro(self, step: syntax.Macro, target: Subject) -> Walk[Subject]:
        return (yield from MACROS[step.name](self, step, target))


def _union(sizes: list[Range]) -> Range:
    return reduce(either, sizes) if sizes else FREE
