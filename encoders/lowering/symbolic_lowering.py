"""A partial evaluator: goes over the syntax tree as an evaluation does, with symbols in place of values.

What does not depend on the counts is evaluated by the language's own closures.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from ...cel.program import Program
from ...cel.syntax import Macro, Node, Postfix
from ...cel.values import Value
from .formulas import Formulas
from .symbolic_cases import Cases
from .symbolic_closures import Closures
from .symbolic_environment import DEVICES, Environment
from .symbolic_functions import Functions
from .symbolic_groups import Paths, paths
from .symbolic_joins import Plan, Planner
from .symbolic_nodes import NODES, STEPS
from .symbolic_operations import Operation
from .symbolic_scopes import Scopes
from .symbolic_values import Budget, Known, NotLoweredError, Symbol

# Levels of the tree; each takes about ten of Python's frames.
_MOST_DEPTH = 50


class Lowering:
    """The evaluation of one expression, and what it remembers."""

    def __init__(self, program: Program, formulas: Formulas, budget: Budget) -> None:
        self.formulas = formulas
        self.budget = budget
        self.cases = Cases(formulas, budget)
        self.scopes = Scopes(program.checked.tree, frozenset({DEVICES}))
        self.closures = Closures(program, budget)
        self._functions = Functions(self.cases, self.closures)
        self._operations: dict[Hashable, Operation] = {}
        self._prefixes: dict[tuple[int, int], Postfix] = {}
        self._paths: dict[int, Paths] = {}
        self._plans: dict[tuple[int, bool], Plan | None] = {}
        self._values: dict[Hashable, tuple[Symbol, list[Symbol]]] = {}
        self._depth = 0

    def value(self, node: Node, environment: Environment) -> Symbol:
        """The symbol of a node."""
        names = self.scopes.ordered(node)
        values = self.known_values(names, environment)
        if values is not None:
            return self.closures.evaluator(node, names, values).symbol()
        key = (id(node), -1)
        return self._remembered(key, names, environment, lambda: NODES[type(node)](self, node, environment))

    def _remembered(
        self, key: tuple[int, int], names: Iterable[str], environment: Environment, compute: Callable[[], Symbol]
    ) -> Symbol:
        """What was found for the same values of the variables, which are kept so that none takes the place of one."""
        read = [environment.symbol(name) for name in names]
        whole = (key, *map(id, read))
        found = self._values.get(whole)
        if found is None:
            self.budget.spend(1)
            if self._depth >= _MOST_DEPTH:
                raise NotLoweredError("nested too deeply")
            self._depth += 1
            found = self._values[whole] = (compute(), read)
            self._depth -= 1
        return found[0]

    def known_values(self, names: Sequence[str], environment: Environment) -> list[Value] | None:
        """The values of variables, unless one of them depends on the counts or fails."""
        leaves = [environment.symbol(name).only for name in names]
        values = [leaf.value for leaf in leaves if type(leaf) is Known]
        return values if len(values) == len(leaves) else None

    def apply(self, key: Hashable, make: Callable[[], Operation], symbols: Sequence[Symbol]) -> Symbol:
        """A strict function; ``make`` makes the operation of a place in the tree, once."""
        found = self._operations.get(key)
        if found is None:
            found = self._operations[key] = make()
        return self._functions.apply(found, symbols)

    # --- chains of steps

    def prefix(self, node: Postfix, length: int) -> Node:
        """The operand with the first steps."""
        if length == 0:
            return node.operand
        found = self._prefixes.get((id(node), length))
        if found is None:
            found = self._prefixes[id(node), length] = Postfix(node.operand, node.steps[:length], node.pos)
            self.scopes.add(found, self.scopes.prefixes(node)[length])
        return found

    def step(self, node: Postfix, place: int, receiver: Symbol, environment: Environment) -> Symbol:
        """One step on what those before it gave."""
        step = node.steps[place]
        names = sorted(self.scopes.prefixes(node)[place + 1])
        compute = STEPS[type(step)]
        return self._remembered(
            (id(node), place), names, environment, lambda: compute(self, step, receiver, environment)
        )

    # --- macros

    def paths(self, step: Macro, nodes: Sequence[Node]) -> Paths:
        """What a macro reads of its elements."""
        found = self._paths.get(id(step))
        if found is None:
            found = self._paths[id(step)] = paths(nodes, step.variables[-1])
        return found

    def plan(self, step: Macro, condition: Node, skipped: bool) -> Plan | None:
        """The plan of a macro's condition."""
        key = (id(step), skipped)
        if key not in self._plans:
            self._plans[key] = Planner(self.scopes, step.variables[-1]).plan(condition, skipped)
        return self._plans[key]
