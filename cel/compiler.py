"""From the syntax tree to closures.

``compile_tree`` visits a tree once. What compiling a node gives is a ``Code``: its closures, which an ``Emitter``
makes from those of its parts, and what is known of it beforehand. Deep expressions run on more than one stack: Python
counts the depth of calls for each thread, an expression may be nested deeper than that allows, and the caller may have
used some of it already. So every ``CLOSURE_LEVELS_PER_STACK`` levels an evaluation goes on in a new thread, which
leaves the interpreter's limit alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Thread
from typing import Any, Final, TypeVar

from . import syntax
from .closures import Closure, Emitter, Frame, Step, check_key
from .declarations import TYPE_NAMES, Overload
from .errors import CelCompileError, CelCostError, CelRuntimeError
from .meter import Meter, current_meter
from .operators import NAMES, UNARY_NAMES, Dispatcher
from .syntax import Walk, visit_all, walk
from .values import CelMap, TypeValue, UInt, Value, set_member, type_spelling

_PRIMITIVES = frozenset({bool, int, UInt, float, str})


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression as a closure, and how many items its frame has."""

    run: Closure
    frame_size: int

    def frame(self, meter: Meter | None, values: Sequence[Value]) -> Frame:
        """A frame for an evaluation; ``values`` are those of the variables, in their order."""
        return [meter, *values, *[None] * (self.frame_size - 1 - len(values))]


def compile_tree(
    tree: syntax.Node,
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
    compiler = ExpressionCompiler(variables, functions, overloads, emitter)
    code = walk(compiler.handlers, tree)
    return Compiled(code.run, compiler.scope.size)


def _constant_key(key: Code) -> tuple[Value, Code | None]:
    if key.constant is UNKNOWN:
        return None, key
    return fold_constant(lambda: check_key(key.constant)), None


# Applied to constants, these are computed beforehand and cost nothing.
_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
# These take whatever value can do it; of all others the overload that the type checker left is the only one tried.
_FOR_ANY_VALUE = frozenset({"!_", "-_", "@sortByAssociatedKeys", "dyn", "matches", "size", "sort", "type"})
# Their second argument is a regular expression.
PATTERNS = frozenset({"find", "findAll", "matches"})


class ExpressionCompiler:
    """Makes the codes of nodes from those of their parts, with the variables in scope."""

    def __init__(
        self,
        variables: Sequence[str],
        functions: Mapping[str, Sequence[Overload]],
        overloads: Mapping[int, Sequence[Overload]],
        emitter: Emitter,
    ) -> None:
        self.scope = Scope(variables)
        self.emit = emitter
        self._functions = functions
        self._overloads = overloads
        self._dispatchers: dict[tuple[str, int, bool, bool], Dispatcher] = {}

    def constant(self, value: Value) -> Code:
        """A value known beforehand."""
        return code_from_parts(self.emit.constant(value), constant=value)

    def attribute(
        self, bare: Closure, own: int, *parts: Code, path: tuple[int, str, tuple[str, ...]] | None = None
    ) -> Code:
        """The code of an attribute."""
        return Code(self.emit.observed(bare, own), bare, own, True, path=path, depth=depth_above(parts))

    def variable(self, variable: Variable) -> Code:
        """A variable of the expression, or one that a macro binds."""
        if variable.init is not None:
            return depth_bounded(self.attribute(self.emit.read_lazy(variable.slot), 1, variable.init))
        bare = self.emit.read(variable.slot, variable.name)
        return self.attribute(bare, 1, path=(variable.slot, variable.name, ()))

    def function(self, name: str, args: Sequence[Code], *, member: bool = False, pos: int = -1) -> Code:
        """A call of a strict function."""
        prepared = name in PATTERNS and len(args) > 1 and type(args[1].constant) is str
        dispatcher, static = self.dispatcher(name, len(args), member=member, prepared=prepared), self.static(pos)
        if static is not None and len(dispatcher.overloads) > 1 and name not in _FOR_ANY_VALUE:
            dispatcher = dispatcher.restricted(static)
        code = code_from_parts(self.emit.call(dispatcher, [arg.run for arg in args], static), *args)
        if name in _CONVERSIONS and len(args) == 1 and args[0].constant is not UNKNOWN:
            return self.constant(fold_constant(lambda: dispatcher.apply([args[0].constant])))
        return depth_bounded(code)

    def conditional(self, branches: Sequence[tuple[Code, Code]], otherwise: Code) -> Code:
        """``c1 ? v1 : c2 ? v2 : otherwise``."""
        parts = [part for branch in branches for part in branch]
        closures = [(condition.run, value.uncharged) for condition, value in branches]
        return depth_bounded(self.attribute(self.emit.conditional(closures, otherwise.uncharged), 0, *parts, otherwise))

    def bind(self, variable: Variable, body: Code) -> Code:
        """A body with a variable that is computed when first read."""
        assert variable.init is not None
        return bounded_code(self.emit.bind(variable.slot, variable.init.run, body.run), variable.init, body)

    def dispatcher(self, name: str, arity: int, *, member: bool = False, prepared: bool = False) -> Dispatcher:
        """Find the overloads of a function for so many arguments; see ``Dispatcher``."""
        plain_name = name.removeprefix(".")
        key = (plain_name, arity, member, prepared)
        found = self._dispatchers.get(key)
        if found is None:
            overloads = self._functions.get(plain_name, ())
            found = self._dispatchers[key] = Dispatcher(plain_name, overloads, arity, member=member, prepared=prepared)
        return found

    def static(self, pos: int) -> Overload | None:
        """The overload at a place, where the types leave only one."""
        left = self._overloads.get(pos, ())
        return left[0] if len(left) == 1 else None

    @cached_property
    def handlers(self) -> dict[type, Callable[[Any], Walk[Code] | Code]]:
        """What visits the nodes of each class."""
        return syntax.methods_of(self)

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> Code:
        return self.constant(node.value)

    def _ident(self, node: syntax.Ident) -> Code:
        name = node.name.removeprefix(".")
        found = self.scope.find(node.name) or self.scope.find(name)
        if found is not None:
            return self.variable(found)
        if name in TYPE_NAMES:
            return self.constant(TypeValue(type_spelling(TYPE_NAMES[name])))
        # Only where nothing has been type-checked.
        return code_from_parts(self.emit.unknown(name))

    def _list(self, node: syntax.ListLiteral) -> Walk[Code]:
        codes = yield from visit_all(node.elements)
        if not node.optional and all(code.constant is not UNKNOWN for code in codes):
            return self.constant([code.constant for code in codes])
        return bounded_code(self.emit.list_literal([code.run for code in codes], node.optional), *codes)

    def _map(self, node: syntax.MapLiteral) -> Walk[Code]:
        codes = yield from visit_all([part for entry in node.entries for part in entry])
        entries = list(zip(codes[::2], codes[1::2], strict=True))
        if not node.optional and all(code.constant is not UNKNOWN for code in codes):
            pairs = [(key.constant, value.constant) for key, value in entries]
            return self.constant(fold_constant(lambda: CelMap(pairs)))
        literal = self.emit.map_literal([(key.run, value.run) for key, value in entries], node.optional)
        return bounded_code(literal, *codes)

    def _struct(self, node: syntax.Struct) -> Code:
        raise CelCompileError(f"undeclared reference to '{node.name}' (in container '')")

    # --- operators

    def _unary(self, node: syntax.Unary) -> Walk[Code]:
        operand = yield node.operand
        return self.function(UNARY_NAMES[node.operator], [operand], pos=node.pos)

    def _chain(self, node: syntax.Chain) -> Walk[Code]:
        left = yield node.first
        pending: list[tuple[Dispatcher, Code, Overload | None]] = []
        for operator, operand, pos in node.rest:
            right = yield operand
            known = right.constant if operator == "in" and isinstance(operand, syntax.ListLiteral) else None
            if type(known) is list and all(type(element) in _PRIMITIVES for element in known):
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
            return bounded_code(self.emit.binary(dispatcher, left.run, right.run, static), *parts)
        chain = [(dispatcher, right.run, static) for dispatcher, right, static in rest]
        return bounded_code(self.emit.chain(left.run, chain), *parts)

    def _member(self, element: Code, constants: list[Value]) -> Code:
        if not constants:
            # Known beforehand: the element is not even looked at.
            return code_from_parts(self.emit.constant(False))
        return bounded_code(self.emit.member(element.run, frozenset(map(set_member, constants))), element)

    def _logical(self, node: syntax.Logical) -> Walk[Code]:
        codes = yield from visit_all(node.operands)
        run = self.emit.logical([code.run for code in codes], node.operator == "||")
        return bounded_code(run, *codes)

    def _conditional(self, node: syntax.Conditional) -> Walk[Code]:
        codes = yield from visit_all([part for branch in node.branches for part in branch])
        otherwise = yield node.otherwise
        return self.conditional(list(zip(codes[::2], codes[1::2], strict=True)), otherwise)

    def _call(self, node: syntax.Call) -> Walk[Code]:
        args = yield from visit_all(node.args)
        return self.function(node.function, args, pos=node.pos)

    def _has(self, node: syntax.Has) -> Walk[Code]:
        operand = yield node.operand
        base, own = (operand.uncharged, operand.own_cost) if operand.attribute else (operand.run, 1)
        return bounded_code(self.emit.test(base, own, node.field), operand)

    def _bind(self, node: syntax.Bind) -> Walk[Code]:
        init = yield node.init
        variable = self.scope.reserve(node.variable, init)
        with self.scope.bound(variable):
            body = yield node.body
        return self.bind(variable, body)

    # --- postfix steps

    def _postfix(self, node: syntax.Postfix) -> Walk[Code]:
        code = yield node.operand
        pending: list[tuple[Value, Code | None, bool]] = []
        for step in node.steps:
            if isinstance(step, syntax.Select):
                pending.append((step.field, None, step.optional))
            elif isinstance(step, syntax.Index):
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
        base, own = (code.uncharged, code.own_cost) if code.attribute else (code.run, 1)
        keys = tuple(key for key, computed, optional in steps if type(key) is str and not computed and not optional)
        if code.path is not None and len(keys) == len(steps):
            slot, name, before = code.path
            path = (slot, name, before + keys)
            return self.attribute(self.emit.path(slot, path[2], name), own, path=path)
        made: list[Step] = [
            self.emit.constant_step(key, optional)
            if computed is None
            else self.emit.computed_step(computed.uncharged, optional)
            for key, computed, optional in steps
        ]
        parts = [code, *(computed for _, computed, _ in steps if computed is not None)]
        return depth_bounded(self.attribute(self.emit.attribute(base, made), own, *parts))

    def _applied(self, receiver: Code, step: syntax.Step) -> Walk[Code]:
        """A method or a macro."""
        if isinstance(step, syntax.Macro):
            code: Code = yield from step.rules.compile(self, step, receiver)
            return code
        assert isinstance(step, syntax.Method)
        args = yield from visit_all(step.args)
        if step.name in ("or", "orValue") and len(args) == 1:
            run = self.emit.fallback(receiver.run, args[0].run, step.name == "orValue")
            return bounded_code(run, receiver, args[0])
        return self.function(step.name, [receiver, *args], member=True, pos=step.pos)


def fold_constant(compute: Callable[[], Value]) -> Value:
    """A constant computed beforehand; its error is one of compilation."""
    try:
        return compute()
    except CelCostError:
        raise
    except CelRuntimeError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None
    except TypeError:
        raise CelCompileError("program instantiation failed: unsupported key type") from None


UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class Code:
    """The closures of a node.

    An *attribute* is a variable, a conditional, or selections from something. Its evaluation costs ``own_cost`` units
    where its value is used (``run``). Where it is only a part of another attribute (``uncharged``), it costs nothing:
    a key, a branch of a conditional, the operand of more selections. For all other nodes the two closures are the same.
    ``path`` says that an attribute is constant fields of the variable in a slot: slot, name, fields.
    """

    run: Closure
    uncharged: Closure
    own_cost: int = 0
    attribute: bool = False
    constant: Value = UNKNOWN
    path: tuple[int, str, tuple[str, ...]] | None = None
    depth: int = 1
    """Levels of closures since the last fresh stack."""


def code_from_parts(run: Closure, *parts: Code, constant: Value = UNKNOWN) -> Code:
    """The code of a node that is no attribute, made of these parts."""
    return Code(run, run, constant=constant, depth=depth_above(parts))


def bounded_code(run: Closure, *parts: Code) -> Code:
    """As ``code_from_parts``, moved to a fresh stack where it is too deep."""
    return depth_bounded(code_from_parts(run, *parts))


def depth_above(parts: Sequence[Code]) -> int:
    """The depth of what is made of these parts."""
    return 1 + max((part.depth for part in parts), default=0)


def depth_bounded(code: Code) -> Code:
    """The code, moved to a fresh stack where it is too deep for the one it would share."""
    if code.depth < CLOSURE_LEVELS_PER_STACK:
        return code
    return replace(
        code, run=on_fresh_stack_closure(code.run), uncharged=on_fresh_stack_closure(code.uncharged), path=None, depth=1
    )


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in scope and its slot; ``init`` is set where it is computed when first read."""

    name: str
    slot: int
    init: Code | None = None


class Scope:
    """Variables by name; each has a slot of the frame for itself."""

    def __init__(self, names: Sequence[str]) -> None:
        self._variables = {name: Variable(name, slot) for slot, name in enumerate(names, 1)}
        self.size = 1 + len(names)

    def reserve(self, name: str, init: Code | None = None) -> Variable:
        """A variable that a macro binds, not in scope yet."""
        self.size += 1
        return Variable(name, self.size - 1, init)

    def find(self, name: str) -> Variable | None:
        """The variable of a name."""
        return self._variables.get(name)

    @contextmanager
    def bound(self, *variables: Variable) -> Iterator[None]:
        """The scope of a macro."""
        hidden = self._variables
        self._variables = hidden | {variable.name: variable for variable in variables}
        yield
        self._variables = hidden


R = TypeVar("R")
# Levels of closures upon one stack; a level takes up to five Python frames.
CLOSURE_LEVELS_PER_STACK = 120


def on_fresh_stack(run: Callable[[], R]) -> R:
    """Run a function in a thread of its own and wait for it; its errors are raised here."""
    results: list[R] = []
    errors: list[BaseException] = []
    meter = current_meter.meter

    def target() -> None:
        current_meter.meter = meter
        try:
            results.append(run())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=target, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def on_fresh_stack_closure(run: Closure) -> Closure:
    """The closure, run upon a fresh stack."""

    def deep(frame: Frame) -> Value:
        return on_fresh_stack(lambda: run(frame))

    return deep
