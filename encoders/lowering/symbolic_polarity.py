"""Whether more devices can make an expression true (CELC-10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from ...cel import syntax
from ...cel.program import Program
from ...cel.syntax import Literal, Macro, Method, Node, Postfix
from .symbolic_environment import DEVICES
from .symbolic_scopes import Scopes
from .symbolic_values import NotLoweredError


class Trend(Enum):
    """What becomes of a condition as devices are added; it fails in ``SHRINKS`` only by turning from true."""

    FIXED = "does not depend on them"
    SHRINKS = "once not true, never true again"
    GROWS = "once true, never not true again"
    UNKNOWN = "unknown"


class Extent(Enum):
    """What is known of a list as devices are added."""

    FIXED = "the same"
    GROWS = "keeps all its elements, unless it fails, and then for good"
    UNKNOWN = "unknown"


_Extents: TypeAlias = Mapping[str, Extent]
_Read: TypeAlias = "Callable[[_Polarity, Any, bool, _Extents], Trend]"


def is_antimonotone(program: Program) -> bool:
    """Whether more devices surely never turn the expression from anything else into true.

    Costs are left aside: that is for expressions which cannot exceed the limit.
    """
    try:
        polarity = _Polarity(program)
    except NotLoweredError:
        return False
    return polarity.trend(program.checked.tree, True, {DEVICES: Extent.GROWS}) in (Trend.FIXED, Trend.SHRINKS)


def _same(*trends: Trend) -> Trend:
    """The trend of several conditions together, or of any of them."""
    changing = {trend for trend in trends if trend is not Trend.FIXED}
    if not changing:
        return Trend.FIXED
    return changing.pop() if len(changing) == 1 else Trend.UNKNOWN


class _Polarity:
    """One pass over the tree; ``wanted`` says whether it is about a node being true, or being false.

    Names that stand for something else than lists and single elements are not followed.
    """

    def __init__(self, program: Program) -> None:
        self._scopes = Scopes(program.checked.tree, frozenset({DEVICES}))

    def trend(self, node: Node, wanted: bool, lists: _Extents) -> Trend:
        """When a node is true (or false)."""
        if not self._changes(node, lists):
            return Trend.FIXED
        read = _TRENDS.get(type(node))
        return Trend.UNKNOWN if read is None else read(self, node, wanted, lists)

    def _changes(self, node: Node, lists: _Extents) -> bool:
        return any(lists.get(name) is not Extent.FIXED for name in self._scopes.free(node))

    def logical(self, node: syntax.Logical, wanted: bool, lists: _Extents) -> Trend:
        """All are true, or any is; any is false, or all are."""
        return _same(*(self.trend(operand, wanted, lists) for operand in node.operands))

    def unary(self, node: syntax.Unary, wanted: bool, lists: _Extents) -> Trend:
        """``!``."""
        return self.trend(node.operand, not wanted, lists) if node.operator == "!" else Trend.UNKNOWN

    def conditional(self, node: syntax.Conditional, wanted: bool, lists: _Extents) -> Trend:
        """Only where the conditions stay as they are."""
        if any(self._changes(condition, lists) for condition, _ in node.branches):
            return Trend.UNKNOWN
        values = [value for _, value in node.branches]
        return _same(*(self.trend(value, wanted, lists) for value in (*values, node.otherwise)))

    def chain(self, node: syntax.Chain, wanted: bool, lists: _Extents) -> Trend:
        """``size(list) <= number`` and the like are over for good, once over."""
        if len(node.rest) != 1 or not wanted:
            return Trend.UNKNOWN
        operator, right, _ = node.rest[0]
        below = (node.first, right) if operator in ("<", "<=") else (right, node.first)
        if operator not in ("<", "<=", ">", ">=") or self._changes(below[1], lists):
            return Trend.UNKNOWN
        return Trend.SHRINKS if self._is_growing_size(below[0], lists) else Trend.UNKNOWN

    def _is_growing_size(self, node: Node, lists: _Extents) -> bool:
        if type(node) is syntax.Call and node.function == "size":
            return self._extent(node.args[0], _steps_of(node.args[0]), lists) is not Extent.UNKNOWN
        if type(node) is not Postfix:
            return False
        last = node.steps[-1]
        if type(last) is not Method or last.name != "size":
            return False
        return self._extent(node, len(node.steps) - 1, lists) is not Extent.UNKNOWN

    def postfix(self, node: Postfix, wanted: bool, lists: _Extents) -> Trend:
        """``all`` and ``exists`` over a list that grows or stays."""
        last = node.steps[-1]
        if type(last) is not Macro or last.name not in ("all", "exists") or last.condition is None:
            return Trend.UNKNOWN
        if self._extent(node, len(node.steps) - 1, lists) is Extent.UNKNOWN or len(last.variables) > 1:
            return Trend.UNKNOWN
        # True of all elements, or false of all: the more there are, the less likely.
        every = (last.name == "all") is wanted
        inner = self.trend(last.condition, wanted, {**lists, last.variables[0]: Extent.FIXED})
        return _same(inner, Trend.SHRINKS if every else Trend.GROWS)

    def _extent(self, node: Node, steps: int, lists: _Extents) -> Extent:
        """What becomes of a list: the operand of a node, after so many steps."""
        operand = node.operand if type(node) is Postfix else node
        if type(operand) is not syntax.Ident:
            return Extent.UNKNOWN
        extent = lists.get(operand.name, Extent.UNKNOWN)
        taken = node.steps[:steps] if type(node) is Postfix else ()
        return extent if all(self._keeps_growing(step, lists) for step in taken) else Extent.UNKNOWN

    def _keeps_growing(self, step: syntax.Step, lists: _Extents) -> bool:
        """Whether a list that grows is made into one that does."""
        if type(step) is Method:
            return step.name == "distinct"
        if type(step) is not Macro or step.name not in ("filter", "map") or len(step.variables) > 1:
            return False
        inside = {**lists, step.variables[0]: Extent.FIXED}
        return not any(self._changes(part, inside) for part in (step.condition, step.body) if part is not None)


def _steps_of(node: Node) -> int:
    """The number of steps of a node."""
    return len(node.steps) if type(node) is Postfix else 0


def _literal(_polarity: _Polarity, _node: Literal, _wanted: bool, _lists: _Extents) -> Trend:
    return Trend.FIXED


_TRENDS: dict[type, _Read] = {
    Literal: _literal,
    syntax.Logical: _Polarity.logical,
    syntax.Unary: _Polarity.unary,
    syntax.Conditional: _Polarity.conditional,
    syntax.Chain: _Polarity.chain,
    Postfix: _Polarity.postfix,
}
