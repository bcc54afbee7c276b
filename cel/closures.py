"""Closures that only compute; ``closures_metered`` has those that count as well.

An ``Emitter`` makes the closure of a node from those of its parts. Chains of any length are loops, so closures are
nested no deeper than the brackets of the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from .closures_base import ABSENT, Closure, Frame
from .closures_bind import bind_closure, lazy_closure
from .closures_fast import fast_binary, fast_path
from .closures_literals import list_closure, map_closure
from .closures_select import check_key, present, select, select_optional
from .compile_dispatch import Dispatcher
from .errors import CelCostError, CelRuntimeError
from .library import Overload
from .values import Optional, Value, stored_key

Step: TypeAlias = Callable[[Frame, Value], Value]
Cost: TypeAlias = Callable[[tuple[Value, ...], Value], int] | None


class Emitter:
    """Makes closures that do not count."""

    def constant(self, value: Value) -> Closure:
        """A value known beforehand."""
        return lambda frame: value

    def unknown(self, name: str) -> Closure:
        """A name that nothing declares."""

        def run(frame: Frame) -> Value:
            raise CelRuntimeError(f"no such attribute(s): {name}")

        return run

    def read(self, slot: int, name: str) -> Closure:
        """A variable, not yet observed."""
        unknown = self.unknown(name)

        def run(frame: Frame) -> Value:
            value = frame[slot]
            return unknown(frame) if value is ABSENT else value

        return run

    def read_lazy(self, slot: int) -> Closure:
        """A variable of ``cel.bind``, computed when first read."""
        return lazy_closure(slot)

    def observed(self, bare: Closure, own: int) -> Closure:
        """An attribute where its value is used; ``own`` is what that costs."""
        return bare

    def path(self, slot: int, keys: tuple[str, ...], name: str) -> Closure:
        """Constant fields of a variable, not yet observed."""
        steps = [self.constant_step(key, False) for key in keys]
        return fast_path(slot, keys, self.attribute(self.read(slot, name), steps))

    def attribute(self, base: Closure, steps: Sequence[Step]) -> Closure:
        """Selections one after the other."""
        if len(steps) == 1:
            only = steps[0]
            return lambda frame: only(frame, base(frame))

        def run(frame: Frame) -> Value:
            value = base(frame)
            for step in steps:
                value = step(frame, value)
            return value

        return run

    def constant_step(self, key: Value, optional: bool) -> Step:
        """``.key`` or ``.?key``."""
        if optional:
            return lambda frame, value: select_optional(value, key)
        return lambda frame, value: select(value, key)

    def computed_step(self, key: Closure, optional: bool) -> Step:
        """``[key]`` or ``[?key]``; nothing is computed for an optional that is empty."""
        choose = select_optional if optional else select

        def step(frame: Frame, value: Value) -> Value:
            if type(value) is Optional and not value.present:
                return value
            return choose(value, check_key(key(frame)))

        return step

    def test(self, operand: Closure, own: int, field: str) -> Closure:
        """``has(operand.field)``; ``own`` is what observing the operand would cost."""
        return lambda frame: present(operand(frame), field)

    def call(self, function: Dispatcher, operands: Sequence[Closure], static: Overload | None) -> Closure:
        """A strict function; ``static`` is its overload where the types tell it."""
        if len(operands) == 1:
            only, apply = operands[0], function.apply
            return lambda frame: apply((only(frame),))
        if len(operands) == 2:
            return self.binary(function, operands[0], operands[1], static)
        return lambda frame: function.apply([operand(frame) for operand in operands])

    def binary(self, function: Dispatcher, left: Closure, right: Closure, static: Overload | None) -> Closure:
        """A strict function of two arguments, or an operator."""
        fast = fast_binary(function.name, left, right)
        if fast is not None:
            return fast
        apply = function.binary
        return lambda frame: apply(left(frame), right(frame))

    def chain(self, first: Closure, rest: Sequence[tuple[Dispatcher, Closure, Overload | None]]) -> Closure:
        """Operators of one precedence, from the left."""
        calls = [(function.binary, operand) for function, operand, _ in rest]

        def run(frame: Frame) -> Value:
            value = first(frame)
            for apply, operand in calls:
                value = apply(value, operand(frame))
            return value

        return run

    def member(self, element: Closure, constants: frozenset[Any]) -> Closure:
        """``element in [...]`` where all elements are primitive constants, in their stored form."""

        def run(frame: Frame) -> bool:
            try:
                return stored_key(element(frame)) in constants
            except TypeError:  # A list or a map is none of them.
                return False

        return run

    def logical(self, operands: Sequence[Closure], decisive: bool) -> Closure:
        """``&&`` (False decides) or ``||`` (True decides): an error counts only where no operand decides."""

        def run(frame: Frame) -> Value:
            error: CelRuntimeError | None = None
            for operand in operands:
                try:
                    value = operand(frame)
                except CelCostError:
                    raise
                except CelRuntimeError as raised:
                    error = error or raised
                    continue
                if value is decisive:
                    return decisive
                if type(value) is not bool:
                    error = error or CelRuntimeError("no such overload")
            if error is not None:
                raise error
            return not decisive

        return run

    def conditional(self, branches: Sequence[tuple[Closure, Closure]], otherwise: Closure) -> Closure:
        """``c1 ? v1 : c2 ? v2 : otherwise``."""

        def run(frame: Frame) -> Value:
            for condition, value in branches:
                verdict = condition(frame)
                if verdict is True:
                    return value(frame)
                if verdict is not False:
                    raise CelRuntimeError("no such overload")
            return otherwise(frame)

        return run

    def list_literal(self, elements: Sequence[Closure], optional: frozenset[int]) -> Closure:
        """``[a, ?b]``."""
        return list_closure(elements, optional)

    def map_literal(self, entries: Sequence[tuple[Closure, Closure]], optional: frozenset[int]) -> Closure:
        """``{k: v, ?k: v}``."""
        return map_closure(entries, optional)

    def bind(self, slot: int, init: Closure, body: Closure) -> Closure:
        """``cel.bind``: ``init`` is computed when the variable is first read, once."""
        return bind_closure(slot, init, body)

    def fallback(self, operand: Closure, other: Closure, unwrap: bool) -> Closure:
        """``operand.or(other)``, or ``orValue`` with ``unwrap``: ``other`` only where there is no value."""

        def run(frame: Frame) -> Value:
            value = operand(frame)
            if type(value) is not Optional:
                raise CelRuntimeError("no such overload")
            if not value.present:
                return other(frame)
            return value.value if unwrap else value

        return run

    def iterate(
        self, ranged: Callable[[Frame], Iterator[None]], step: int, end: int
    ) -> Callable[[Frame], Iterator[None]]:
        """The iteration of a macro; each step costs ``step``, the result ``end``."""
        return ranged

    def part(self, run: Closure, cost: int) -> Closure:
        """A part of a macro that costs so much besides its own."""
        return run

    def hit(self, run: Closure, cost: int) -> Closure:
        """A predicate that costs so much more where it holds."""
        return run
