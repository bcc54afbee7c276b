"""Operators and their operands between two brackets, folded into flat nodes as they arrive."""

from __future__ import annotations

from .syntax import Chain, Conditional, Ident, Logical, Node, Postfix, Select, Step, Unary

LEVELS = {
    **dict.fromkeys(("*", "/", "%"), 0),
    **dict.fromkeys(("+", "-"), 1),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 2),
    "&&": 3,
    "||": 4,
}
_LOGICAL = 3
_ABOVE_ALL = 5

MAX_DEPTH = 250
"""How many binary operators, selections, indexes, methods and conditionals cel-go lets stand inside one another."""

_Pending = tuple[Node, int, str, int]


class Misplaced(Exception):
    """A token that cannot stand here; the parser knows which."""


class TooDeep(Exception):
    """More operations inside one another than cel-go takes, be it in a row."""


class Expression:
    """One expression under construction: prefixes, an operand with its postfix steps, and what waits to the left."""

    __slots__ = ("_branches", "_condition", "_depth", "_names", "_operand", "_pending", "_prefixes", "_steps", "depth")

    def __init__(self, names: frozenset[str]) -> None:
        """``names`` are the dotted names that stand for one identifier."""
        self._names = names
        self._pending: tuple[list[_Pending], ...] = ([], [], [], [], [])
        self._prefixes: list[tuple[str, int]] = []
        self._operand: Node | None = None
        self._steps: list[Step] = []
        self._condition: tuple[Node, int, int] | None = None
        self._branches: list[tuple[Node, Node, int, int]] = []
        self._depth = 0
        self.depth = 0
        """How many operations stand inside one another, once finished."""

    @property
    def complete(self) -> bool:
        """Whether an operand has been read, so that an operator or the end may follow."""
        return self._operand is not None

    @property
    def begun(self) -> bool:
        """Whether anything has been read."""
        return bool(self._prefixes or self._branches or self._condition or any(self._pending)) or self.complete

    @property
    def minus_pending(self) -> bool:
        """Whether a minus has been read and its operand not."""
        return bool(self._prefixes) and self._prefixes[0][0] == "-"

    @property
    def not_pending(self) -> bool:
        """Whether an exclamation mark has been read and its operand not."""
        return bool(self._prefixes) and self._prefixes[0][0] == "!"

    @property
    def awaits_colon(self) -> bool:
        """Whether a question mark is still without its colon."""
        return self._condition is not None

    def prefix(self, operator: str, pos: int) -> None:
        """``!`` or ``-`` before an operand; the grammar does not mix them."""
        if self._prefixes and self._prefixes[0][0] != operator:
            raise Misplaced
        self._prefixes.append((operator, pos))

    def begin(self, operand: Node, depth: int = 0) -> None:
        """The operand; a bracketed chain of selections goes on as if it had no brackets."""
        self._operand, self._depth = operand, depth
        if type(operand) is Postfix:
            self._operand, self._steps = operand.operand, list(operand.steps)

    def step(self, step: Step, depth: int = 0) -> None:
        """A selection, index, method or macro on what has been read; ``depth`` is that of its arguments."""
        self._steps.append(step)
        self._depth = _deeper(self._depth, depth)

    def replace(self, operand: Node, depth: int) -> None:
        """Put one operand in place of what has been read since the last operator."""
        self._operand, self._steps, self._depth = operand, [], depth

    @property
    def receiver(self) -> Node:
        """What has been read since the last operator, without prefixes."""
        assert self._operand is not None
        if not self._steps:
            return self._operand
        return self._named() or Postfix(self._operand, tuple(self._steps), self._operand.pos)

    def qualified(self, name: str) -> str | None:
        """``a.b.name`` where what has been read is ``a.b``, else None."""
        parts = self._name_parts()
        if len(parts) != len(self._steps) + 1:
            return None
        return ".".join([*parts, name])

    def infix(self, operator: str, pos: int) -> None:
        """A binary operator: what binds tighter to its left is folded."""
        level = LEVELS[operator]
        node, depth = self._fold(level)
        self._pending[level].append((node, depth, operator, pos))

    def question(self, pos: int) -> None:
        """The question mark of a conditional; in its middle another needs brackets."""
        if self._condition is not None:
            raise Misplaced
        self._condition = *self._fold(_ABOVE_ALL), pos

    def colon(self) -> None:
        """The colon of a conditional."""
        assert self._condition is not None
        condition, condition_depth, pos = self._condition
        value, depth = self._fold(_ABOVE_ALL)
        self._branches.append((condition, value, max(depth, condition_depth), pos))
        self._condition = None

    def finish(self) -> Node:
        """The node of the whole expression."""
        if self._condition is not None:
            raise Misplaced
        last, self.depth = self._fold(_ABOVE_ALL)
        if not self._branches:
            return last
        for _, _, depth, _ in reversed(self._branches):
            self.depth = _deeper(self.depth, depth)
        pairs = tuple((condition, value) for condition, value, _, _ in self._branches)
        positions = tuple(pos for _, _, _, pos in self._branches)
        return Conditional(pairs, last, positions[0], positions)

    def _fold(self, below: int) -> tuple[Node, int]:
        node, depth = self._take()
        for level in range(below):
            pending = self._pending[level]
            if pending:
                node, depth = (_logical if level >= _LOGICAL else _chain)(pending, node, depth)
                pending.clear()
        return node, depth

    def _take(self) -> tuple[Node, int]:
        if self._operand is None:
            raise Misplaced
        node = self.receiver
        if len(self._prefixes) % 2:
            operator, pos = self._prefixes[0]
            node = Unary(operator, node, pos)
        self._operand, self._steps, self._prefixes = None, [], []
        return node, self._depth

    def _named(self) -> Node | None:
        """The longest dotted name at the start that stands for one identifier."""
        parts = self._name_parts() if self._names else []
        for length in range(len(parts), 1, -1):
            name = ".".join(parts[:length])
            if name.lstrip(".") in self._names:
                assert self._operand is not None
                ident = Ident(name, self._operand.pos)
                rest = tuple(self._steps[length - 1 :])
                return Postfix(ident, rest, ident.pos) if rest else ident
        return None

    def _name_parts(self) -> list[str]:
        if type(self._operand) is not Ident:
            return []
        parts = [self._operand.name]
        for step in self._steps:
            if type(step) is not Select or step.optional:
                break
            parts.append(step.field)
        return parts


def _chain(pending: list[_Pending], last: Node, last_depth: int) -> tuple[Node, int]:
    first, depth, _, _ = pending[0]
    rest = []
    following = [(node, node_depth) for node, node_depth, _, _ in pending[1:]] + [(last, last_depth)]
    for (_, _, operator, pos), (node, node_depth) in zip(pending, following, strict=True):
        rest.append((operator, node, pos))
        depth = _deeper(depth, node_depth)
    return Chain(first, tuple(rest), first.pos), depth


def _logical(pending: list[_Pending], last: Node, last_depth: int) -> tuple[Node, int]:
    """``&&`` and ``||`` do not count as depth: cel-go balances them."""
    operands = (*(node for node, _, _, _ in pending), last)
    positions = tuple(pos for _, _, _, pos in pending)
    depth = max(last_depth, *(depth for _, depth, _, _ in pending))
    return Logical(pending[0][2], operands, positions[0], positions), depth


def _deeper(one: int, other: int) -> int:
    depth = max(one, other) + 1
    if depth > MAX_DEPTH:
        raise TooDeep
    return depth
