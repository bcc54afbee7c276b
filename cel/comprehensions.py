"""Macros compiled: their closures, and how these are made from the codes of condition and body.

As in cel-go, an error in one iteration does not end the macro: what follows may still decide ``all`` and ``exists``,
and costs. The first error is the one raised. cel-go expands a macro to a loop over an accumulator; the costs here are
those of that expansion: reading the accumulator 1, a call 1, a list literal 10.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeAlias

from .closures import Closure, Frame, Iterate, display_key, go_name
from .compiler import UNKNOWN, Code, ExpressionCompiler, bounded_code, code_from_parts
from .errors import CelCostError, CelRuntimeError
from .meter import tick, ticking
from .operators import no_overload_error
from .syntax import Macro, Node, Walk
from .values import MISSING, CelMap, Value, find_entry, put_key

CompileRule: TypeAlias = Callable[[ExpressionCompiler, Macro, Code], Walk[Code]]
_APPEND_COST, _LIST_COST = 1 + 1, 10


class _MacroLoop:
    """The iteration of a macro over a source, and the variables it sets."""

    def __init__(self, compiler: ExpressionCompiler, macro: Macro, source: Code, step: int = 0, end: int = 1) -> None:
        """``step`` is the cost of a step beside its parts, ``end`` that of the result."""
        self._compiler = compiler
        self._variables = tuple(map(compiler.scope.reserve, macro.variables))
        slots = [variable.slot for variable in self._variables]
        self.iterate: Iterate = compiler.emit.iterate(_iteration(source.run, slots), step, end)

    def first_variable(self) -> Code:
        """The code that reads the first variable."""
        return self._compiler.variable(self._variables[0])

    def visit(self, node: Node | None) -> Generator[Node, Code, Code]:
        """The code of a part that the macro has, with the variables in scope."""
        assert node is not None
        with self._compiler.scope.bound(*self._variables):
            return (yield node)

    def visit_filter(self, macro: Macro) -> Generator[Node, Code, tuple[Closure | None, tuple[Code, ...]]]:
        """The filter of a macro, if it has one; as a closure, and as a part."""
        if macro.condition is None:
            return None, ()
        code = yield from self.visit(macro.condition)
        return code.run, (code,)


def compile_quantifier(decisive: bool, condition_cost: int) -> CompileRule:
    """The rule of ``all`` (False decides) or ``exists`` (True decides)."""

    def compile_(compiler: ExpressionCompiler, macro: Macro, source: Code) -> Walk[Code]:
        loop = _MacroLoop(compiler, macro, source, condition_cost)
        predicate = yield from loop.visit(macro.condition)
        # One unit for reading the accumulator beside the predicate.
        iterate, holds = loop.iterate, compiler.emit.part(predicate.run, 1)

        def run(frame: Frame) -> bool:
            errors = _HeldError(latest=False)
            items = iterate(frame)
            for _ in items:
                if errors.holds(holds, frame) is decisive:
                    # The condition of the loop is looked at once more where elements are left; that has a cost.
                    next(items, None)
                    return decisive
            errors.check()
            return not decisive

        return bounded_code(run, source, predicate)

    return compile_


def compile_exists_one(compiler: ExpressionCompiler, macro: Macro, source: Code) -> Walk[Code]:
    """The code of ``exists_one``."""
    loop = _MacroLoop(compiler, macro, source, end=2)
    predicate = yield from loop.visit(macro.condition)
    iterate, holds = loop.iterate, compiler.emit.hit(predicate.run, 2)

    def run(frame: Frame) -> bool:
        errors = _HeldError(latest=True)
        hits = sum(errors.holds(holds, frame) is True for _ in iterate(frame))
        errors.check()
        return hits == 1

    return bounded_code(run, source, predicate)


def compile_list(compiler: ExpressionCompiler, macro: Macro, source: Code) -> Walk[Code]:
    """The code of ``map``, ``filter`` and ``transformList``; without a body the elements themselves are collected."""
    loop = _MacroLoop(compiler, macro, source)
    condition, parts = yield from loop.visit_filter(macro)
    body = loop.first_variable() if macro.body is None else (yield from loop.visit(macro.body))
    run = _collect_list(loop.iterate, condition, _appended(compiler, body))
    return bounded_code(run, source, body, *parts)


def _appended(compiler: ExpressionCompiler, body: Code) -> Closure:
    """What a ``map`` collects: appended to the accumulator in a list of its own, which costs unless it is constant."""
    return compiler.emit.part(body.run, _APPEND_COST + (_LIST_COST if body.constant is UNKNOWN else 0))


def compile_map(compiler: ExpressionCompiler, macro: Macro, source: Code) -> Walk[Code]:
    """The code of ``transformMap``."""
    loop = _MacroLoop(compiler, macro, source)
    condition, parts = yield from loop.visit_filter(macro)
    body = yield from loop.visit(macro.body)
    # Reading the accumulator 1, which is all that is done after an error, and the call 1.
    accumulator = compiler.emit.part(compiler.emit.constant(None), 1)
    iterate, key, value = loop.iterate, compiler.emit.part(loop.first_variable().run, 1), body.run

    def run(frame: Frame) -> Value:
        made: dict[object, Value] = {}

        def add(frame: Frame, failed: bool) -> None:
            accumulator(frame)
            if not failed:
                put_key(made, key(frame), value(frame))

        _collect(iterate, condition, add, frame)
        return CelMap.of(made)

    return bounded_code(run, source, body, *parts)


def compile_entries(compiler: ExpressionCompiler, macro: Macro, source: Code) -> Walk[Code]:
    """The code of ``transformMapEntry``: the body gives a map whose entries are added; no key may come twice."""
    loop = _MacroLoop(compiler, macro, source)
    condition, parts = yield from loop.visit_filter(macro)
    body = yield from loop.visit(macro.body)
    iterate, added = loop.iterate, compiler.emit.part(body.run, 2)

    def run(frame: Frame) -> Value:
        made: dict[object, Value] = {}

        def add(frame: Frame, _failed: bool) -> None:
            entries = added(frame)
            if type(entries) is not CelMap:
                raise no_overload_error("cel.@mapInsert", (CelMap.of(made), entries))
            for key, value in entries.items():
                if find_entry(made, key) is not MISSING:
                    raise CelRuntimeError(f"insert failed: key {display_key(key)} already exists")
                put_key(made, key, value)

        _collect(iterate, condition, add, frame)
        return CelMap.of(made)

    return bounded_code(run, source, body, *parts)


def compile_sort(compiler: ExpressionCompiler, macro: Macro, source: Code) -> Walk[Code]:
    """The code of ``sortBy``: keys that a ``map`` computes; the source is bound, as it is read twice."""
    bound = compiler.scope.reserve("", source)
    elements = compiler.variable(bound)
    loop = _MacroLoop(compiler, macro, elements)
    body = yield from loop.visit(macro.body)
    keys = code_from_parts(_collect_list(loop.iterate, None, _appended(compiler, body)), elements, body)
    return compiler.bind(
        bound, compiler.function("@sortByAssociatedKeys", [elements, keys], member=True, pos=macro.pos)
    )


def compile_optional(wrap: bool) -> CompileRule:
    """The rule of ``optMap`` (``wrap``) or ``optFlatMap``: the target is evaluated for its presence and its value."""

    def compile_(compiler: ExpressionCompiler, macro: Macro, target: Code) -> Walk[Code]:
        variable = compiler.scope.reserve(macro.variables[0], compiler.function("value", [target], member=True))
        assert macro.body is not None
        with compiler.scope.bound(variable):
            body = yield macro.body
        bound = compiler.bind(variable, body)
        present = compiler.function("hasValue", [target], member=True)
        result = compiler.function("optional.of", [bound]) if wrap else bound
        return compiler.conditional([(present, result)], compiler.function("optional.none", []))

    return compile_


# --- closures


def _iteration(source: Closure, slots: list[int]) -> Iterate:
    """Iteration over elements of a list or keys of a map; with two slots, over indexes or keys and what is there."""
    if len(slots) == 1:
        slot = slots[0]
        return lambda frame: _set_each(frame, slot, _elements(source(frame)))
    first, second = slots
    return lambda frame: _set_both(frame, first, second, _pairs(source(frame)))


# Steps of a loop between two ticks: one may take a few milliseconds, whatever it costs.
_PACE = 8


def _set_each(frame: Frame, slot: int, values: Iterable[Value]) -> Iterator[None]:
    tick(1)
    for frame[slot] in ticking(values, _PACE):
        yield


def _set_both(frame: Frame, first: int, second: int, pairs: Iterable[tuple[Value, Value]]) -> Iterator[None]:
    tick(1)
    for frame[first], frame[second] in ticking(pairs, _PACE):
        yield


def _elements(value: Value) -> Iterable[Value]:
    if type(value) in (list, tuple, CelMap):
        return value  # type: ignore[no-any-return]
    raise CelRuntimeError(f"got '{go_name(value)}', expected iterable type")


def _pairs(value: Value) -> Iterable[tuple[Value, Value]]:
    if type(value) is CelMap:
        return value.items()
    if type(value) in (list, tuple):
        return enumerate(value)
    raise CelRuntimeError(f"unsupported comprehension range type: {go_name(value)}")


class _HeldError:
    """The error that the accumulator of a macro holds.

    A quantifier keeps the first, as ``&&`` and ``||`` do. Where the predicate is the condition of a ``?:``, its error
    takes the place of what was accumulated, an older error too.
    """

    __slots__ = ("_latest", "kept")

    def __init__(self, *, latest: bool) -> None:
        self._latest = latest
        self.kept: CelRuntimeError | None = None

    def holds(self, predicate: Closure, frame: Frame) -> bool | None:
        """The predicate's verdict; None for an error, which is kept."""
        try:
            verdict = predicate(frame)
        except CelCostError:
            raise
        except CelRuntimeError as error:
            self._keep(error)
            return None
        if type(verdict) is bool:
            return verdict
        self._keep(CelRuntimeError("no such overload"))
        return None

    def check(self) -> None:
        """Raise what was kept."""
        if self.kept is not None:
            raise self.kept

    def _keep(self, error: CelRuntimeError) -> None:
        if self._latest or self.kept is None:
            self.kept = error


_Add: TypeAlias = Callable[[Frame, bool], None]
"""Adds to what is accumulated; its second argument says whether that is an error already."""


def _collect(iterate: Iterate, condition: Closure | None, add: _Add, frame: Frame) -> None:
    """Run ``add`` for each step where the condition holds."""
    errors = _HeldError(latest=True)
    for _ in iterate(frame):
        if condition is not None and errors.holds(condition, frame) is not True:
            continue
        try:
            add(frame, errors.kept is not None)
        except CelCostError:
            raise
        except CelRuntimeError as error:
            errors.kept = errors.kept or error
    errors.check()


def _collect_list(iterate: Iterate, condition: Closure | None, body: Closure) -> Closure:
    """``map``, ``filter`` and ``transformList``."""

    def run(frame: Frame) -> Value:
        made: list[Value] = []
        _collect(iterate, condition, lambda frame, _failed: made.append(body(frame)), frame)
        return made

    return run
