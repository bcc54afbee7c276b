"""Type checking (cel.md 1.3): every complaint of an expression at once, worded and placed as cel-go does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import syntax, types
from .checker_base import CheckerBase, undeclared
from .checker_fields import field_type
from .checker_macros import MACROS, REPEATING
from .declarations import Declarations
from .errors import CelCompileError, Issue
from .library import Overload
from .operators import NAMES, UNARY_NAMES
from .syntax import Node, Postfix, Select, Step, position
from .types import BOOL, DYN, ERROR, Type, TypeTooLarge, list_of, map_of, optional_of
from .values import UInt
from .walk import Walk, walk

_CONSTANTS: dict[type, Type] = {
    type(None): types.NULL,
    bool: BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
}


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
    return node.pos if type(node) is syntax.Logical else position(node)


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


class _Checker(CheckerBase):
    def __init__(self, declarations: Declarations) -> None:
        super().__init__(declarations)
        self.handlers: dict[type, Callable[[Any], Walk[Type] | Type]] = {
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
        self._steps: dict[type, Callable[[Any, Type, int], Walk[Type]]] = {
            Select: self._select,
            syntax.Index: self._index,
            syntax.Method: self._method,
            syntax.Macro: self._macro,
        }

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> Type:
        return self.keep(node.pos, _CONSTANTS[type(node.value)])

    def _ident(self, node: syntax.Ident) -> Type:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return self.keep(node.pos, scope[node.name])
        declared = self.declarations.ident(node.name)
        if declared is None:
            declared = self.report(node.pos, undeclared(node.name))
        return self.keep(node.pos, declared)

    def _list(self, node: syntax.ListLiteral) -> Walk[Type]:
        joined: Type | None = None
        for number, element in enumerate(node.elements):
            found = yield element
            joined = self.known.join(joined, self._item(element, found, number in node.optional))
        return self.keep(node.pos, list_of(joined or self.known.fresh()))

    def _map(self, node: syntax.MapLiteral) -> Walk[Type]:
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

    def _struct(self, node: syntax.Struct) -> Walk[Type]:
        for _, value in node.entries:
            yield value
        return self.keep(node.pos, self.report(node.pos, undeclared(node.name)))

    # --- operators

    def _unary(self, node: syntax.Unary) -> Walk[Type]:
        operand = yield node.operand
        return self.function(UNARY_NAMES[node.operator], node.pos, [operand])

    def _chain(self, node: syntax.Chain) -> Walk[Type]:
        left = yield node.first
        for operator, operand, pos in node.rest:
            right = yield operand
            left = self.function(NAMES[operator], pos, [left, right])
        return left

    def _logical(self, node: syntax.Logical) -> Walk[Type]:
        result = BOOL
        for operand in node.operands:
            found = yield operand
            if not self.expect(position(operand), BOOL, found):
                result = ERROR
        return self.keep(node.pos, result)

    def _conditional(self, node: syntax.Conditional) -> Walk[Type]:
        found = []
        for condition, value in node.branches:
            condition_type = yield condition
            value_type = yield value
            found.append((condition_type, value_type))
        result = yield node.otherwise
        for (condition_type, value_type), pos in zip(reversed(found), reversed(node.positions), strict=True):
            result = self.choose(pos, condition_type, value_type, result)
        return result

    # --- functions

    def _call(self, node: syntax.Call) -> Walk[Type]:
        args = []
        for arg in node.args:
            found = yield arg
            args.append(found)
        return self.function(node.function, node.pos, args)

    def _bind(self, node: syntax.Bind) -> Walk[Type]:
        bound = yield node.init
        with self.scope({node.variable: bound}):
            body = yield node.body
        return self.keep(node.pos, body)

    # --- postfix steps

    def _postfix(self, node: Postfix) -> Walk[Type]:
        begun = len(self.issues)
        found = yield node.operand
        before: Node | Step = node.operand
        for step in node.steps:
            if type(step) is syntax.Macro and step.name in REPEATING:
                self.repeat(begun)
            # A macro complains of its range where the range stands.
            place = before.pos if before is not node.operand else position(node.operand)
            found = yield from self._steps[type(step)](step, found, place)
            before = step
        return found

    def _select(self, step: Select, target: Type, place: int) -> Walk[Type]:
        return self.keep(step.pos, field_type(self, step.pos, target, step.field, step.optional))
        yield  # Steps are visited as generators.

    def _has(self, node: syntax.Has) -> Walk[Type]:
        target = yield node.operand
        field_type(self, node.pos, target, node.field, False)
        return self.keep(node.pos, BOOL)

    def _index(self, step: syntax.Index, target: Type, place: int) -> Walk[Type]:
        key = yield step.key
        return self.function("_[?_]" if step.optional else "_[_]", step.pos, [target, key])

    def _method(self, step: syntax.Method, target: Type, place: int) -> Walk[Type]:
        args = [target]
        for arg in step.args:
            found = yield arg
            args.append(found)
        return self.function(step.name, step.pos, args, member=True)

    def _macro(self, step: syntax.Macro, target: Type, place: int) -> Walk[Type]:
        result = yield from MACROS[step.name](self, step, target, place)
        return self.keep(step.pos, result)
