"""The syntax tree: one small set of nodes that checker, cost model, compiler and lowering share, and walks over it.

Chains are flat. ``a + b - c``, ``x.y[z].f()``, ``a && b && c`` and ``p ? a : q ? b : c`` are one node
each, however long, so the depth of a tree is the depth of its brackets and no pass over it needs more
stack than that. A macro stands as it was written, with
its rules (``macros``); no pass needs it expanded, and passes visit trees without recursion.

``pos`` is an offset into the expression's text, in code points; ``errors.location`` makes line and column of it.
It is where cel-go reports an error of the node: the operator, the dot of a selection, the opening bracket of a call,
an index or a literal list. No two operations share one, so it also serves as their key; nodes that only hold
others together (``Postfix``, ``Chain``) have that of their first operand.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import GeneratorType
from typing import Any, Generic, TypeAlias, TypeVar, cast

from .meter import tick
from .types import Type
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


class MacroResult(Enum):
    """What a macro makes of its receiver."""

    VERDICT = "a bool that depends on all elements"
    LIST = "a list of bodies, or of the elements themselves"
    MAP = "a map"
    SORTED = "the elements in another order"
    OPTIONAL = "the body on the value of an optional"


@dataclass(frozen=True, slots=True, eq=False)
class MacroRules:
    """One macro: how its calls are written, and what every pass over the tree does with them.

    ``forms`` are the arguments that it takes, a letter for each: ``v`` for a name that the macro binds, ``c`` for a
    condition, ``b`` for a body. ``complaint`` is the error for an argument that should be a name.
    ``refused_receivers`` are classes of nodes that the macro cannot follow, with the error for it.

    Each rule is a visit to the macro's condition and body, given the state of the pass, the macro and what the pass
    knows of the receiver: ``check`` returns the type (and is given the receiver's position last), ``estimate`` the
    estimate of the cost, ``compile`` the code. With ``checked_twice`` the complaints about the receiver are repeated,
    because cel-go's expansion contains it twice.
    """

    name: str
    forms: tuple[str, ...]
    result: MacroResult
    check: Callable[[Any, Macro, Type, int], Walk[Type]]
    estimate: Callable[[Any, Macro, Any], Walk[Any]]
    compile: Callable[[Any, Macro, Any], Walk[Any]]
    complaint: str = "argument must be a simple name"
    refused_receivers: tuple[tuple[type, ...], str] = ((), "")
    checked_twice: bool = False


@dataclass(frozen=True, slots=True)
class Macro:
    """A call of a macro on the receiver.

    ``variables`` holds one name, or two (index or key, then value). ``condition`` is the predicate of the macro, or
    the filter of a three-argument ``map`` and of the transforms; ``body`` is what is collected.
    """

    rules: MacroRules
    variables: tuple[str, ...]
    condition: Node | None
    body: Node | None
    pos: int

    @property
    def name(self) -> str:
        """The name of the macro: its spelling, but ``exists_one`` for ``existsOne``."""
        return self.rules.name


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


_PLACES: dict[type, Callable[[Any], int]] = {
    Postfix: lambda node: node.steps[-1].pos,
    Chain: lambda node: node.rest[-1][2],
    # The outermost operator of the balanced tree that cel-go makes of && and || in a row.
    Logical: lambda node: node.positions[len(node.positions) // 2],
}
# Visits between two ticks, which may take milliseconds where types are deep, and the steps that one mostly takes.
_PACE, _STEPS_OF_A_VISIT = 16, 5
R = TypeVar("R")
Walk: TypeAlias = Generator[Node, R, R]
"""A visit that yields the nodes it wants visited, is sent their results, and returns its own."""


def walk(handlers: Mapping[type, Callable[[Any], Walk[R] | R]], root: Node) -> R:
    """Visit a tree: the handler of a node's class gives a result at once, or a ``Walk`` to it.

    Trees may be as deep as brackets nest times the levels of precedence; this takes one Python frame.
    """
    stack: list[Walk[R]] = []
    visited: Any = handlers[type(root)](root)
    steps = 0
    while True:
        steps += 1
        if steps % _PACE == 0:
            tick(_STEPS_OF_A_VISIT * _PACE)
        sent: Any = None
        if type(visited) is GeneratorType:
            stack.append(visited)
        elif stack:
            sent = visited
        else:
            return cast("R", visited)
        try:
            node = stack[-1].send(sent)
        except StopIteration as stop:
            stack.pop()
            visited = stop.value
        else:
            visited = handlers[type(node)](node)


_METHODS: dict[type, str] = {
    Literal: "_literal", Ident: "_ident", ListLiteral: "_list", MapLiteral: "_map", Struct: "_struct",
    Unary: "_unary", Chain: "_chain", Logical: "_logical", Conditional: "_conditional", Call: "_call", Has: "_has",
    Bind: "_bind", Postfix: "_postfix",
}  # fmt: skip
_STEP_METHODS: dict[type, str] = {Select: "_select", Index: "_index", Method: "_method", Macro: "_macro"}


def methods_of(visitor: object) -> dict[type, Callable[[Any], Any]]:
    """The handlers of a visitor that has a method for each class of nodes, ``_literal`` for ``Literal``."""
    return {kind: getattr(visitor, name) for kind, name in _METHODS.items()}


class TreePass(Generic[R]):
    """A pass over a tree with a method for each class of nodes and of steps, and the names that macros bind."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, R]] = []
        self.handlers: dict[type, Callable[[Any], Walk[R] | R]] = methods_of(self)
        self._steps: dict[type, Callable[..., Walk[R]]] = {
            kind: getattr(self, name) for kind, name in _STEP_METHODS.items()
        }

    @contextmanager
    def scope(self, names: dict[str, R]) -> Iterator[None]:
        """The names that a macro binds."""
        self.scopes.append(names)
        yield
        self.scopes.pop()

    def _postfix(self, node: Postfix) -> Walk[R]:
        subject = yield node.operand
        for step in node.steps:
            subject = yield from self._steps[type(step)](step, subject)
        return subject


def visit_all(nodes: Iterable[Node]) -> Generator[Node, Any, list[Any]]:
    """Part of a visit: the results of several nodes, in their order."""
    results = []
    for node in nodes:
        result = yield node
        results.append(result)
    return results


def children(node: Node | Step) -> Iterator[Node]:
    """The nodes directly below a node or step, in the order they are written."""
    below = _CHILDREN.get(type(node))
    return below(node) if below else iter(())


def _of_postfix(node: Postfix) -> Iterator[Node]:
    yield node.operand
    for step in node.steps:
        yield from children(step)


def _of_conditional(node: Conditional) -> Iterator[Node]:
    for branch in node.branches:
        yield from branch
    yield node.otherwise


def _of_chain(node: Chain) -> Iterator[Node]:
    yield node.first
    yield from (operand for _, operand, _ in node.rest)


_CHILDREN: dict[type, Callable[[Any], Iterator[Node]]] = {
    ListLiteral: lambda node: iter(node.elements),
    MapLiteral: lambda node: (part for entry in node.entries for part in entry),
    Struct: lambda node: (value for _, value in node.entries),
    Unary: lambda node: iter((node.operand,)),
    Chain: _of_chain,
    Logical: lambda node: iter(node.operands),
    Conditional: _of_conditional,
    Call: lambda node: iter(node.args),
    Has: lambda node: iter((node.operand,)),
    Bind: lambda node: iter((node.init, node.body)),
    Postfix: _of_postfix,
    Index: lambda node: iter((node.key,)),
    Method: lambda node: iter(node.args),
    Macro: lambda node: (part for part in (node.condition, node.body) if part is not None),
}
