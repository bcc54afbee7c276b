"""Parts of an expression that do not depend on the counts, evaluated by the language's own closures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...cel.closures_base import Closure, Frame
from ...cel.cost_meter import Meter, current
from ...cel.errors import CelCostError, CelRuntimeError
from ...cel.program import Program
from ...cel.syntax import Node
from ...cel.values import Value
from .symbolic_values import FAILED, Budget, NotLoweredError, Symbol, known


class Evaluator:
    """A closure over some variables; the last of them may be set time and again."""

    def __init__(self, run: Closure, frame: Frame, budget: Budget, slot: int) -> None:
        self._run = run
        self._frame = frame
        self._budget = budget
        self._slot = slot

    def of(self, value: Value) -> Symbol:
        """Evaluate with this value of the last variable."""
        self._frame[self._slot] = value
        return self.symbol()

    def symbol(self) -> Symbol:
        """Evaluate; an error becomes that of a symbol, and ``NotLoweredError`` is too much work."""
        self._budget.spend(1)
        try:
            value = self._run(self._frame)
        except CelCostError as error:
            raise NotLoweredError(str(error)) from None
        except CelRuntimeError:
            return FAILED
        return known(value)


class Closures:
    """Compiles parts when they are first evaluated."""

    def __init__(self, program: Program, budget: Budget) -> None:
        self._program = program
        self._budget = budget
        self._compiled: dict[tuple[int, tuple[str, ...]], tuple[Node, Callable[[Sequence[Value]], Evaluator]]] = {}

    def evaluator(self, node: Node, names: Sequence[str], values: Sequence[Value]) -> Evaluator:
        """Prepare to evaluate a node with these variables."""
        key = (id(node), tuple(names))
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = (node, self._compile(node, names))
        return found[1](values)

    def _compile(self, node: Node, names: Sequence[str]) -> Callable[[Sequence[Value]], Evaluator]:
        compiled = self._program.part(node, names)
        budget, slot = self._budget, len(names)
        return lambda values: Evaluator(compiled.run, compiled.frame(None, values), budget, slot)


@contextmanager
def limited_work() -> Iterator[None]:
    """Let functions count the work that the number of evaluations does not show."""
    outer, current.meter = current.meter, Meter()
    try:
        yield
    finally:
        current.meter = outer
