"""The bodies of macros, evaluated for the elements of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ...cel.syntax import Macro, Node
from .symbolic_groups import Group, Grouping, grouping
from .symbolic_joins import Join, Lookup, Plan, Together
from .symbolic_values import FAILED, Bag, Cell, Known, NotLoweredError, Symbol

if TYPE_CHECKING:
    from .symbolic_environment import Environment
    from .symbolic_lowering import Lowering

_Body: TypeAlias = Callable[[Group], Symbol]


@dataclass(frozen=True, slots=True)
class Source:
    """What a macro goes over: elements, and the keys or indexes beside them where they are known."""

    bag: Bag
    keys: Sequence[Symbol] | None = None


class Loop:
    """One macro over one list: evaluates nodes for each group of elements."""

    def __init__(self, lowering: Lowering, step: Macro, source: Source, environment: Environment) -> None:
        self._lowering = lowering
        self._step = step
        self._environment = environment
        self._nodes = [node for node in (step.condition, step.body) if node is not None]
        self._variable = step.variables[-1]
        self._keys = self._keys_read(source)
        self._grouping = self._grouped(source.bag)

    def _keys_read(self, source: Source) -> Sequence[Symbol] | None:
        """The keys, where the body looks at them."""
        first = self._step.variables[0]
        if len(self._step.variables) == 1 or not any(first in self._lowering.scopes.free(node) for node in self._nodes):
            return None
        if source.keys is None:
            raise NotLoweredError("the index of an element in a list whose length depends on the counts")
        return source.keys

    def _grouped(self, bag: Bag) -> Grouping:
        if self._keys is None:
            read = self._lowering.paths(self._step, self._nodes)
            return grouping(self._lowering.cases, bag, read)
        # Each element by itself, as each has another key.
        return Grouping([_single(cell, place) for place, cell in enumerate(bag.cells)])

    def elements(self, skipped: bool) -> Iterator[tuple[Group, Symbol]]:
        """The condition for each group, but some for which it gives the ``skipped`` verdict."""
        assert self._step.condition is not None
        body = self.body(self._step.condition)
        for group in self._chosen(skipped):
            yield group, body(group)

    @property
    def groups(self) -> Sequence[Group]:
        """All groups."""
        return self._grouping.groups

    def body(self, node: Node) -> _Body:
        """What evaluates a node for a group."""
        if self._keys is not None:
            return lambda group: self._lowering.value(node, self._bound(group))
        names = sorted(self._lowering.scopes.free(node) - {self._variable})
        outer = self._lowering.known_values(names, self._environment)
        if outer is None:
            return lambda group: self._lowering.value(node, self._bound(group))
        evaluator = self._lowering.closures.evaluator(node, (*names, self._variable), (*outer, None))

        def evaluate(group: Group) -> Symbol:
            leaf = group.symbol.only
            if type(leaf) is Known:
                return evaluator.of(leaf.value)
            return self._lowering.value(node, self._bound(group))

        return evaluate

    def _bound(self, group: Group) -> Environment:
        bound: Mapping[str, Symbol] = {self._variable: group.symbol}
        if self._keys is not None:
            bound = {self._step.variables[0]: self._keys[group.places[0]], **bound}
        return self._environment.with_(bound)

    # --- joins

    def _chosen(self, skipped: bool) -> Sequence[Group]:
        plan = self._plan(skipped) if self._keys is None and len(self.groups) > 1 else None
        if plan is None:
            return self.groups
        join = Join(plan, self._grouping)
        return [self.groups[place] for place in join.choose(self._outer, self._inner)]

    def _plan(self, skipped: bool) -> Plan | None:
        """The plan of the condition, if it looks anything up that changes from one outer element to the next."""
        assert self._step.condition is not None
        plan = self._lowering.plan(self._step, self._step.condition, skipped)
        return plan if plan is not None and self._is_join(plan) else None

    def _is_join(self, plan: Plan) -> bool:
        if type(plan) is Together:
            return any(map(self._is_join, plan.plans))
        assert type(plan) is Lookup
        return bool(self._lowering.scopes.free(plan.outer))

    def _outer(self, node: Node) -> Symbol:
        names = sorted(self._lowering.scopes.free(node))
        values = self._lowering.known_values(names, self._environment)
        return FAILED if values is None else self._lowering.closures.evaluator(node, names, values).symbol()

    def _inner(self, node: Node) -> Sequence[Symbol]:
        evaluator = self._lowering.closures.evaluator(node, (self._variable,), (None,))
        leaves = [group.symbol.only for group in self.groups]
        return [evaluator.of(leaf.value) if type(leaf) is Known else FAILED for leaf in leaves]


def _single(cell: Cell, place: int) -> Group:
    group = Group(cell.value)
    group.cells.append(cell)
    group.places.append(place)
    return group
