"""Type checking (cel.md 1.3): every complaint of an expression at once, worded and placed as cel-go does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from .checker_macros import MACROS, MacroChecker
from .declarations import Declarations
from .errors import CelCompileError, Issue
from .library import Overload
from .operators import NAMES, UNARY_NAMES
from .syntax import (
    Bind,
    Call,
    Chain,
    Conditional,
    Has,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Logical,
    Macro,
    MapLiteral,
    Method,
    Node,
    Postfix,
    Select,
    Step,
    Struct,
    Unary,
    position,
)
from .types import (
    BOOL, BYTES, DOUBLE, DYN, ERROR, INT, NULL, STRING, UINT, Type, TypeTooLarge, list_of, map_of, optional_of, parameter,
)  # fmt: skip
from .unify import Substitution
from .values import UInt
from .walk import Walk, walk

_CONSTANTS: dict[type, Type] = {
    type(None): NULL, bool: BOOL, int: INT, UInt: UINT, float: DOUBLE, str: STRING, bytes: BYTES,
}  # fmt: skip
_A = parameter("A")
_CONDITIONAL = (BOOL, _A, _A), _A


@dataclass(frozen=True, slots=True)
class Checked:
    """A tree that type-checks, and what is known of it.

    ``types`` holds the type of each operation and leaf by its ``pos``, ``overloads`` the overloads that each operator,
    function and index may turn out to be, by ``pos`` too. Macros and conditionals have no overloads.
    """

    text: str
    tree: Node
    type: Type
    types: dict[int, Type]
    overloads: dict[int, tuple[Overload, ...]]

    def type_of(self, node: Node) -> Type:
        """The type of a node."""
        return self.types[result_position(node)]


def result_position(node: Node) -> int:
    """The key of a node in ``Checked.types``."""
    return node.pos if type(node) is Logical else position(node)


def check(text: str, tree: Node, declarations: Declarations) -> Checked:
    """Check a tree of ``text``; CelCompileError with all complaints."""
    checker = _Checker(declarations)
    try:
        result = walk(checker.handlers, tree)
        types = {pos: checker.known.resolve(type_, DYN) for pos, type_ in checker.types.items()}
        result = checker.known.resolve(result, DYN)
    except TypeTooLarge:
        raise CelCompileError.at(text, [Issue(-1, "type of expression too large")]) from None
    if checker.issues:
        raise CelCompileError.at(text, checker.issues)
    return Checked(text, tree, result, types, checker.overloads)


class _Checker(MacroChecker):
    def __init__(self, declarations: Declarations) -> None:
        self.issues: list[Issue] = []
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[Overload, ...]] = {}
        self.known = Substitution()
        self._declarations = declarations
        self._scopes: list[dict[str, Type]] = []
        self.handlers = {
            Literal: self._literal, Ident: self._ident, ListLiteral: self._list, MapLiteral: self._map,
            Struct: self._struct, Unary: self._unary, Chain: self._chain, Logical: self._logical,
            Conditional: self._conditional, Call: self._call, Has: self._has, Bind: self._bind,
            Postfix: self._postfix,
        }  # fmt: skip
        self._steps = {Select: self._select, Index: self._index, Method: self._method, Macro: self._macro}

    # --- what the macros need too

    def report(self, pos: int, message: str) -> Type:
        """A complaint; the type of what it is about is then unknown."""
        self.issues.append(Issue(pos, message))
        return ERROR

    def keep(self, pos: int, type_: Type) -> Type:
        """Remember the type of an operation or leaf."""
        self.types[pos] = type_
        return type_

    def expect(self, pos: int, wanted: Type, found: Type) -> None:
        """Complain where a type does not fit the one that is needed."""
        if not self.known.assignable([wanted], [found]):
            self.report(pos, f"expected type '{self._shown(wanted)}' but found '{self._shown(found)}'")

    def apply(
        self, name: str, pos: int, args: Sequence[Type], signatures: Sequence[tuple[tuple[Type, ...], Type]], *,
        member: bool = False,
    ) -> tuple[Type, list[int]]:  # fmt: skip
        """The result of a function on arguments, and the numbers of the signatures that fit them."""
        result: Type | None = None
        fitting = []
        for number, (wanted, gives) in enumerate(signatures):
            if len(wanted) != len(args):
                continue
            names: dict[Type, Type] = {}
            if self.known.assignable([self.known.instance(one, names) for one in wanted], list(args)):
                fitting.append(number)
                given = self.known.resolve(self.known.instance(gives, names))
                result = given if result is None or result is given else DYN
        if result is None:
            self.report(pos, f"found no matching overload for '{name}' applied to '{self._applied(args, member)}'")
            return ERROR, fitting
        return result, fitting

    @contextmanager
    def scope(self, names: dict[str, Type]) -> Iterator[None]:
        """The names that a macro binds."""
        self._scopes.append(names)
        yield
        self._scopes.pop()

    def _shown(self, type_: Type) -> Type:
        return self.known.resolve(type_, DYN)

    def _applied(self, args: Sequence[Type], member: bool) -> str:
        shown = [str(self._shown(arg)) for arg in args]
        receiver = f"{shown.pop(0)}." if member else ""
        return f"{receiver}({', '.join(shown)})"

    # --- leaves and literals

    def _literal(self, node: Literal) -> Type:
        return self.keep(node.pos, _CONSTANTS[type(node.value)])

    def _ident(self, node: Ident) -> Type:
        for scope in reversed(self._scopes):
            if node.name in scope:
                return self.keep(node.pos, scope[node.name])
        declared = self._declarations.ident(node.name)
        if declared is None:
            declared = self.report(node.pos, _undeclared(node.name))
        return self.keep(node.pos, declared)

    def _list(self, node: ListLiteral) -> Walk[Type]:
        joined: Type | None = None
        for number, element in enumerate(node.elements):
            found = yield element
            joined = self.known.join(joined, self._item(element, found, number in node.optional))
        return self.keep(node.pos, list_of(joined or self.known.fresh()))

    def _map(self, node: MapLiteral) -> Walk[Type]:
        keys: Type | None = None
        values: Type | None = None
        for number, (key, value) in enumerate(node.entries):
            keys = self.known.join(keys, (yield key))
            found = yield value
            values = self.known.join(values, self._item(value, found, number in node.optional))
        return self.keep(node.pos, map_of(keys or self.known.fresh(), values or self.known.fresh()))

    def _item(self, node: Node, found: Type, optional: bool) -> Type:
        """The type an element or entry adds to its literal."""
        found = self.known.resolve(found)
        if not optional or found in (DYN, ERROR):
            return found
        if found.name == "optional_type":
            return found.params[0]
        self.expect(position(node), optional_of(found), found)
        return found

    def _struct(self, node: Struct) -> Walk[Type]:
        for _, value in node.entries:
            yield value
        return self.keep(node.pos, self.report(node.pos, _undeclared(node.name)))

    # --- operators

    def _unary(self, node: Unary) -> Walk[Type]:
        operand = yield node.operand
        return self._function(UNARY_NAMES[node.operator], node.pos, [operand])

    def _chain(self, node: Chain) -> Walk[Type]:
        left = yield node.first
        for operator, operand, pos in node.rest:
            right = yield operand
            left = self._function(NAMES[operator], pos, [left, right])
        return left

    def _logical(self, node: Logical) -> Walk[Type]:
        for operand in node.operands:
            found = yield operand
            self.expect(position(operand), BOOL, found)
        return self.keep(node.pos, BOOL)

    def _conditional(self, node: Conditional) -> Walk[Type]:
        found = []
        for condition, value in node.branches:
            condition_type = yield condition
            value_type = yield value
            found.append((condition_type, value_type))
        result = yield node.otherwise
        for (condition_type, value_type), pos in zip(reversed(found), reversed(node.positions), strict=True):
            result = self.choose(pos, condition_type, value_type, result)
        return result

    def choose(self, pos: int, condition: Type, value: Type, otherwise: Type) -> Type:
        """``condition ? value : otherwise``."""
        result, _ = self.apply("_?_:_", pos, [condition, value, otherwise], [_CONDITIONAL])
        return self.keep(pos, result)

    # --- functions

    def _function(self, name: str, pos: int, args: list[Type], *, member: bool = False) -> Type:
        declared = self._declarations.functions.get(name.removeprefix("."))
        if declared is None:
            return self.keep(pos, self.report(pos, _undeclared(name)))
        usable = [overload for overload in declared if overload.member == member]
        signatures = [(overload.args, overload.result) for overload in usable]
        result, fitting = self.apply(name, pos, args, signatures, member=member)
        self.overloads[pos] = tuple(usable[number] for number in fitting)
        return self.keep(pos, result)

    def _call(self, node: Call) -> Walk[Type]:
        args = []
        for arg in node.args:
            found = yield arg
            args.append(found)
        return self._function(node.function, node.pos, args)

    def _bind(self, node: Bind) -> Walk[Type]:
        bound = yield node.init
        with self.scope({node.variable: bound}):
            body = yield node.body
        return self.keep(node.pos, body)

    # --- postfix steps

    def _postfix(self, node: Postfix) -> Walk[Type]:
        found = yield node.operand
        before: Node | Step = node.operand
        for step in node.steps:
            # A macro complains of its range where the range stands.
            place = before.pos if before is not node.operand else position(node.operand)
            found = yield from self._steps[type(step)](step, found, place)
            before = step
        return found

    def _select(self, step: Select, target: Type, place: int) -> Walk[Type]:
        return self.keep(step.pos, self._field(step.pos, target, step.field, step.optional))
        yield

    def _has(self, node: Has) -> Walk[Type]:
        target = yield node.operand
        self._field(node.pos, target, node.field, False)
        return self.keep(node.pos, BOOL)

    def _field(self, pos: int, target: Type, field: str, optional: bool) -> Type:
        target = self.known.resolve(target)
        if target.name == "optional_type":
            target, optional = self.known.resolve(target.params[0]), True
        found = self._plain_field(pos, target, field)
        return optional_of(found) if optional and found is not ERROR else found

    def _plain_field(self, pos: int, target: Type, field: str) -> Type:
        if target.param:
            self.known.assignable([DYN], [target])
            return DYN
        if target in (DYN, ERROR):
            return target
        if target.name == "map":
            return target.params[1]
        if target not in self._declarations.fields:
            return self.report(pos, f"type '{self._shown(target)}' does not support field selection")
        fields = self._declarations.fields[target]
        if fields is None:
            return self.report(pos, f"unexpected failed resolution of '{target}'")
        return fields.get(field) or self.report(pos, f"undefined field '{field}'")

    def _index(self, step: Index, target: Type, place: int) -> Walk[Type]:
        key = yield step.key
        return self._function("_[?_]" if step.optional else "_[_]", step.pos, [target, key])

    def _method(self, step: Method, target: Type, place: int) -> Walk[Type]:
        args = [target]
        for arg in step.args:
            found = yield arg
            args.append(found)
        return self._function(step.name, step.pos, args, member=True)

    def _macro(self, step: Macro, target: Type, place: int) -> Walk[Type]:
        result = yield from MACROS[step.name](self, step, target, place)
        return self.keep(step.pos, result)


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"
