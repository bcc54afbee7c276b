"""From the syntax tree to closures."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .closures import Emitter, Step
from .closures_base import Closure, Frame
from .closures_select import check_key
from .compile_builder import Builder, folded
from .compile_code import UNKNOWN, Code, bounded, plain
from .compile_dispatch import Dispatcher
from .compile_macros import MACROS
from .cost_meter import Meter
from .declarations import TYPE_NAMES
from .errors import CelCompileError
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
    Struct,
    Unary,
)
from .syntax import Step as SyntaxStep
from .values import CelMap, TypeValue, UInt, Value, stored_key, type_spelling
from .walk import Walk, walk

_PRIMITIVES = frozenset({bool, int, UInt, float, str, bytes})


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression as a closure, and how many items its frame has."""

    run: Closure
    frame_size: int

    def frame(self, meter: Meter | None, values: Sequence[Value]) -> Frame:
        """A frame for an evaluation; ``values`` are those of the variables, in their order."""
        return [meter, *values, *[None] * (self.frame_size - 1 - len(values))]


def compile_tree(
    tree: Node,
    variables: Sequence[str],
    functions: Mapping[str, Sequence[Overload]],
    overloads: Mapping[int, Sequence[Overload]],
    emitter: Emitter,
) -> Compiled:
    """Compile a tree.

    ``variables`` take the first slots of the frame, in this order; ``functions`` are all that may be called, and
    ``overloads`` what the type checker left of them at each place. Raises CelCompileError where a constant cannot
    be converted.
    """
    compiler = _Compiler(variables, functions, overloads, emitter)
    code = walk(compiler.handlers, tree)
    return Compiled(code.run, compiler.scope.size)


class _Compiler(Builder):
    """One pass over a tree."""

    @cached_property
    def handlers(self) -> dict[type, Callable[[Any], Walk[Code] | Code]]:
        """What visits the nodes of each class."""
        return {
            Literal: self._literal, Ident: self._ident, ListLiteral: self._list, MapLiteral: self._map,
            Struct: self._struct, Unary: self._unary, Chain: self._chain, Logical: self._logical,
            Conditional: self._conditional, Call: self._call, Has: self._has, Bind: self._bind,
            Postfix: self._postfix,
        }  # fmt: skip

    # --- leaves and literals

    def _literal(self, node: Literal) -> Code:
        return self.constant(node.value)

    def _ident(self, node: Ident) -> Code:
        name = node.name.removeprefix(".")
        found = self.scope.find(node.name) or self.scope.find(name)
        if found is not None:
            return self.variable(found)
        if name in TYPE_NAMES:
            return self.constant(TypeValue(type_spelling(TYPE_NAMES[name])))
        # Only where nothing has been type-checked.
        return plain(self.emit.unknown(name))

    def _list(self, node: ListLiteral) -> Walk[Code]:
        codes = yield from _visit_all(node.elements)
        if not node.optional and all(code.constant is not UNKNOWN for code in codes):
            return self.constant([code.constant for code in codes])
        return bounded(plain(self.emit.list_literal([code.run for code in codes], node.optional), *codes))

    def _map(self, node: MapLiteral) -> Walk[Code]:
        codes = yield from _visit_all([part for entry in node.entries for part in entry])
        entries = list(zip(codes[::2], codes[1::2], strict=True))
        if not node.optional and all(code.constant is not UNKNOWN for code in codes):
            pairs = [(key.constant, value.constant) for key, value in entries]
            return self.constant(folded(lambda: CelMap(pairs)))
        literal = self.emit.map_literal([(key.run, value.run) for key, value in entries], node.optional)
        return bounded(plain(literal, *codes))

    def _struct(self, node: Struct) -> Code:
        raise CelCompileError(f"undeclared reference to '{node.name}' (in container '')")

    # --- operators

    def _unary(self, node: Unary) -> Walk[Code]:
        operand = yield node.operand
        return self.function(UNARY_NAMES[node.operator], [operand], pos=node.pos)

    def _chain(self, node: Chain) -> Walk[Code]:
        left = yield node.first
        pending: list[tuple[Dispatcher, Code, Overload | None]] = []
        for operator, operand, pos in node.rest:
            right = yield operand
            if operator == "in" and isinstance(operand, ListLiteral) and _primitives(right.constant):
                left, pending = self._member(self._joined(left, pending), right.constant), []
            else:
                pending.append((self.dispatcher(NAMES[operator], 2), right, self.static(pos)))
        return self._joined(left, pending)

    def _joined(self, left: Code, rest: Sequence[tuple[Dispatcher, Code, Overload | None]]) -> Code:
        if not rest:
            return left
        parts = [left, *(right for _, right, _ in rest)]
        if len(rest) == 1:
            dispatcher, right, static = rest[0]
            return bounded(plain(self.emit.binary(dispatcher, left.run, right.run, static), *parts))
        chain = [(dispatcher, right.run, static) for dispatcher, right, static in rest]
        return bounded(plain(self.emit.chain(left.run, chain), *parts))

    def _member(self, element: Code, constants: list[Value]) -> Code:
        if not constants:
            # Known beforehand: the element is not even looked at.
            return plain(self.emit.constant(False))
        return bounded(plain(self.emit.member(element.run, frozenset(map(stored_key, constants))), element))

    def _logical(self, node: Logical) -> Walk[Code]:
        codes = yield from _visit_all(node.operands)
        run = self.emit.logical([code.run for code in codes], node.operator == "||")
        return bounded(plain(run, *codes))

    def _conditional(self, node: Conditional) -> Walk[Code]:
        codes = yield from _visit_all([part for branch in node.branches for part in branch])
        otherwise = yield node.otherwise
        return self.conditional(list(zip(codes[::2], codes[1::2], strict=True)), otherwise)

    def _call(self, node: Call) -> Walk[Code]:
        args = yield from _visit_all(node.args)
        return self.function(node.function, args, pos=node.pos)

    def _has(self, node: Has) -> Walk[Code]:
        operand = yield node.operand
        base, own = (operand.bare, operand.own) if operand.attribute else (operand.run, 1)
        return bounded(plain(self.emit.test(base, own, node.field), operand))

    def _bind(self, node: Bind) -> Walk[Code]:
        init = yield node.init
        variable = self.scope.reserve(node.variable, init)
        with self.scope.bound(variable):
            body = yield node.body
        return self.bind(variable, body)

    # --- postfix steps

    def _postfix(self, node: Postfix) -> Walk[Code]:
        code = yield node.operand
        pending: list[tuple[Value, Code | None, bool]] = []
        for step in node.steps:
            if isinstance(step, Select):
                pending.append((step.field, None, step.optional))
            elif isinstance(step, Index):
                key = yield step.key
                pending.append((*_constant_key(key), step.optional))
            else:
                code, pending = self._selected(code, pending), []
                code = yield from self._applied(code, step)
        return self._selected(code, pending)

    def _selected(self, code: Code, steps: Sequence[tuple[Value, Code | None, bool]]) -> Code:
        """Selections from a value, or more selections from an attribute."""
        if not steps:
            return code
        base, own = (code.bare, code.own) if code.attribute else (code.run, 1)
        keys = tuple(key for key, computed, optional in steps if type(key) is str and not computed and not optional)
        if code.path is not None and len(keys) == len(steps):
            slot, name, before = code.path
            path = (slot, name, before + keys)
            return self.attribute(self.emit.path(slot, path[2], name), own, path=path)
        made: list[Step] = [
            self.emit.constant_step(key, optional)
            if computed is None
            else self.emit.computed_step(computed.bare, optional)
            for key, computed, optional in steps
        ]
        parts = [code, *(computed for _, computed, _ in steps if computed is not None)]
        return bounded(self.attribute(self.emit.attribute(base, made), own, *parts))

    def _applied(self, receiver: Code, step: SyntaxStep) -> Walk[Code]:
        """A method or a macro."""
        if isinstance(step, Macro):
            return (yield from MACROS[step.name](self, step, receiver))
        assert isinstance(step, Method)
        args = yield from _visit_all(step.args)
        if step.name in ("or", "orValue") and len(args) == 1:
            run = self.emit.fallback(receiver.run, args[0].run, step.name == "orValue")
            return bounded(plain(run, receiver, args[0]))
        return self.function(step.name, [receiver, *args], member=True, pos=step.pos)


def _visit_all(nodes: Sequence[Node]) -> Generator[Node, Code, list[Code]]:
    codes = []
    for node in nodes:
        code = yield node
        codes.append(code)
    return codes


def _constant_key(key: Code) -> tuple[Value, Code | None]:
    if key.constant is UNKNOWN:
        return None, key
    return folded(lambda: check_key(key.constant)), None


def _primitives(constant: Value) -> bool:
    return type(constant) is list and all(type(element) in _PRIMITIVES for element in constant)
