"""The syntax tree: one small set of nodes that checker, cost model, compiler and lowering share.

Chains are flat. ``a + b - c``, ``x.y[z].f()``, ``a && b && c`` and ``p ? a : q ? b : c`` are one node
each, however long, so the depth of a tree is the depth of its brackets and no pass over it needs more
stack than that. Macros are kept as they were written; no pass needs them expanded.

``pos`` is an offset into the expression's text, in code points; ``errors.location`` makes line and column of it.
It is where cel-go reports an error of the node: the operator, the dot of a selection, the opening bracket of a call,
an index or a literal list. No two operations share one, so it also serves as their key; nodes that only hold
others together (``Postfix``, ``Chain``) have that of their first operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: null, bool, int, uint, double, string or bytes."""

    value: Value
    pos: int


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable, a type name, or the first part of a qualified name; a leading dot is kept in ``name``."""

    name: str
    pos: int


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, ?b]``; ``optional`` holds the indexes of elements marked with ``?``."""

    elements: tuple[Node, ...]
    optional: frozenset[int]
    pos: int


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """``{k: v, ?k: v}``; ``optional`` holds the indexes of entries marked with ``?``."""

    entries: tuple[tuple[Node, Node], ...]
    optional: frozenset[int]
    pos: int


@dataclass(frozen=True, slots=True)
class Struct:
    """``Type{field: value}``: parsed so that it can be refused by name; no message type is known here."""

    name: str
    entries: tuple[tuple[str, Node], ...]
    pos: int


@dataclass(frozen=True, slots=True)
class Unary:
    """``!a`` or ``-a``; runs of an operator are folded when parsed."""

    operator: str
    operand: Node
    pos: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Left-associative operators of one precedence: ``first op1 x1 op2 x2 ...``.

    ``rest`` holds (operator, operand, position of the operator); operators are the written ones:
    ``== != < <= > >= in``, ``+ -``, ``* / %``.
    """

    first: Node
    rest: tuple[tuple[str, Node, int], ...]
    pos: int


@dataclass(frozen=True, slots=True)
class Logical:
    """``a && b && ...`` or ``a || b || ...``, two operands or more; ``positions`` are those of the operators."""

    operator: str
    operands: tuple[Node, ...]
    pos: int
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditional:
    """``c1 ? v1 : c2 ? v2 : ... : otherwise``; ``positions`` are those of the question marks, ``pos`` of the first."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node
    pos: int
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A global function, e.g. ``size(x)``, or a qualified one, e.g. ``sets.contains(a, b)`` (``sets.contains``)."""

    function: str
    args: tuple[Node, ...]
    pos: int


@dataclass(frozen=True, slots=True)
class Has:
    """``has(operand.field)``."""

    operand: Node
    field: str
    pos: int


@dataclass(frozen=True, slots=True)
class Bind:
    """``cel.bind(variable, init, body)``."""

    variable: str
    init: Node
    body: Node
    pos: int


@dataclass(frozen=True, slots=True)
class Postfix:
    """``operand`` followed by selections, indexes, methods and macros, applied from left to right."""

    operand: Node
    steps: tuple[Step, ...]
    pos: int


@dataclass(frozen=True, slots=True)
class Select:
    """``.field`` or ``.?field``."""

    field: str
    optional: bool
    pos: int


@dataclass(frozen=True, slots=True)
class Index:
    """``[key]`` or ``[?key]``."""

    key: Node
    optional: bool
    pos: int


@dataclass(frozen=True, slots=True)
class Method:
    """``.name(args)`` on a receiver."""

    name: str
    args: tuple[Node, ...]
    pos: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro over the receiver.

    ``name`` is one of ``all exists exists_one map filter transformList transformMap transformMapEntry
    sortBy optMap optFlatMap`` (``existsOne`` is spelled ``exists_one`` here). ``variables`` holds one name, or two
    (index or key, then value). ``condition`` is the predicate of the macro, or the filter of a
    three-argument ``map`` and of the transforms; ``body`` is what is collected.
    """

    name: str
    variables: tuple[str, ...]
    condition: Node | None
    body: Node | None
    pos: int


Node: TypeAlias = (
    Literal
    | Ident
    | ListLiteral
    | MapLiteral
    | Struct
    | Unary
    | Chain
    | Logical
    | Conditional
    | Call
    | Has
    | Bind
    | Postfix
)
Step: TypeAlias = Select | Index | Method | Macro


def position(node: Node) -> int:
    """Where cel-go places a node: at its outermost operation."""
    place = _PLACES.get(type(node))
    return place(node) if place else node.pos


def _middle(node: Logical) -> int:
    """The outermost operator of the balanced tree that cel-go makes of ``&&`` and ``||`` in a row."""
    return node.positions[len(node.positions) // 2]


_PLACES: dict[type, Callable[[Any], int]] = {
    Postfix: lambda node: node.steps[-1].pos,
    Chain: lambda node: node.rest[-1][2],
    Logical: _middle,
}
