"""Closures that only compute; ``metering`` has those that count as well.

A closure computes one node of the syntax tree from a *frame*: a list whose first item is the meter of the evaluation,
or None where nothing is counted, and whose others hold the variables, each in a slot of its own. An ``Emitter`` makes
the closure of a node from those of its parts. Chains of any length are loops, so closures are nested no deeper than
the brackets of the expression. Fields, keys and indexes are selected as cel-go's attributes select them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from . import values
from .declarations import Overload
from .errors import CelCostError, CelRuntimeError
from .operators import Dispatcher
from .values import runtime_type

Frame: TypeAlias = list[Any]
Step: TypeAlias = Callable[[Frame, values.Value], values.Value]
Closure: TypeAlias = Callable[[Frame], values.Value]
Iterate: TypeAlias = Callable[[Frame], Iterator[None]]
"""Starts the iteration of a macro; each step has set the variables."""
ABSENT: Final = object()
"""Stands in a frame for a variable that got no value."""


class Emitter:
    """Makes closures that do not count."""

    def constant(self, value: values.Value) -> Closure:
        """A value known beforehand."""
        return lambda frame: value

    def unknown(self, name: str) -> Closure:
        """A name that nothing declares."""

        def run(frame: Frame) -> values.Value:
            raise CelRuntimeError(f"no such attribute(s): {name}")

        return run

    def read(self, slot: int, name: str) -> Closure:
        """A variable, not yet observed."""
        unknown = self.unknown(name)

        def run(frame: Frame) -> values.Value:
            value = frame[slot]
            return unknown(frame) if value is ABSENT else value

        return run

    def read_lazy(self, slot: int) -> Closure:
        """A variable of ``cel.bind``, computed when first read, once; errors too."""

        def run(frame: Frame) -> values.Value:
            value = frame[slot]
            if type(value) is _UnreadVariable:
                value = frame[slot] = value.settle(frame)
            if type(value) is _FailedVariable:
                raise value.error
            return value

        return run

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

        def run(frame: Frame) -> values.Value:
            value = base(frame)
            for step in steps:
                value = step(frame, value)
            return value

        return run

    def constant_step(self, key: values.Value, optional: bool) -> Step:
        """``.key`` or ``.?key``."""
        if optional:
            return lambda frame, value: select_optional(value, key)
        return lambda frame, value: select(value, key)

    def computed_step(self, key: Closure, optional: bool) -> Step:
        """``[key]`` or ``[?key]``; nothing is computed for an optional that is empty."""
        choose = select_optional if optional else select

        def step(frame: Frame, value: values.Value) -> values.Value:
            if type(value) is values.Optional and not value.present:
                return value
            return choose(value, check_key(key(frame)))

        return step

    def test(self, operand: Closure, own: int, field: str) -> Closure:
        """``has(operand.field)``; ``own`` is what observing the operand would cost."""
        return lambda frame: has_field(operand(frame), field)

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

        def run(frame: Frame) -> values.Value:
            value = first(frame)
            for apply, operand in calls:
                value = apply(value, operand(frame))
            return value

        return run

    def member(self, element: Closure, constants: frozenset[Any]) -> Closure:
        """``element in [...]`` where all elements are primitive constants, as members of a set."""

        def run(frame: Frame) -> bool:
            try:
                return values.set_member(element(frame)) in constants
            except TypeError:  # A list or a map is none of them.
                return False

        return run

    def logical(self, operands: Sequence[Closure], decisive: bool) -> Closure:
        """``&&`` (False decides) or ``||`` (True decides): an error counts only where no operand decides."""

        def run(frame: Frame) -> values.Value:
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

        def run(frame: Frame) -> values.Value:
            for condition, value in branches:
                verdict = condition(frame)
                if verdict is True:
                    return value(frame)
                if verdict is not False:
                    raise CelRuntimeError("no such overload")
            return otherwise(frame)

        return run

    def list_literal(self, elements: Sequence[Closure], optional: frozenset[int]) -> Closure:
        """``[a, ?b]``: an empty optional adds nothing."""
        if not optional:
            return lambda frame: [element(frame) for element in elements]

        def run(frame: Frame) -> values.Value:
            made = []
            for index, element in enumerate(elements):
                value = element(frame)
                if index not in optional:
                    made.append(value)
                elif _require_optional(value, "list element").present:
                    made.append(value.value)
            return made

        return run

    def map_literal(self, entries: Sequence[tuple[Closure, Closure]], optional: frozenset[int]) -> Closure:
        """``{k: v, ?k: v}``: an empty optional adds nothing; of equal keys the last wins."""

        def run(frame: Frame) -> values.Value:
            made: dict[object, values.Value] = {}
            for index, (key, value) in enumerate(entries):
                name, found = key(frame), value(frame)
                if index in optional:
                    if not _require_optional(found, f"entry '{name}'").present:
                        continue
                    found = found.value
                values.put_key(made, name, found)
            return values.CelMap.of(made)

        return run

    def bind(self, slot: int, init: Closure, body: Closure) -> Closure:
        """``cel.bind``: ``init`` is computed when the variable is first read, once."""

        def run(frame: Frame) -> values.Value:
            frame[slot] = _UnreadVariable(init)
            return body(frame)

        return run

    def fallback(self, operand: Closure, other: Closure, unwrap: bool) -> Closure:
        """``operand.or(other)``, or ``orValue`` with ``unwrap``: ``other`` only where there is no value."""

        def run(frame: Frame) -> values.Value:
            value = operand(frame)
            if type(value) is not values.Optional:
                raise CelRuntimeError("no such overload")
            if not value.present:
                return other(frame)
            return value.value if unwrap else value

        return run

    def iterate(self, ranged: Iterate, step: int, end: int) -> Iterate:
        """The iteration of a macro; each step costs ``step``, the result ``end``."""
        return ranged

    def part(self, run: Closure, cost: int) -> Closure:
        """A part of a macro that costs so much besides its own."""
        return run

    def hit(self, run: Closure, cost: int) -> Closure:
        """A predicate that costs so much more where it holds."""
        return run


class _UnreadVariable:
    """A variable that nothing has read."""

    __slots__ = ("init",)

    def __init__(self, init: Closure) -> None:
        self.init = init

    def settle(self, frame: Frame) -> values.Value:
        """The value, or what stands for its error."""
        try:
            return self.init(frame)
        except CelCostError:
            raise
        except CelRuntimeError as error:
            return _FailedVariable(error)


class _FailedVariable:
    """A variable whose value is an error."""

    __slots__ = ("error",)

    def __init__(self, error: CelRuntimeError) -> None:
        self.error = error


def _require_optional(value: values.Value, place: str) -> values.Optional:
    if type(value) is not values.Optional:
        raise CelRuntimeError(f"cannot initialize optional {place} from non-optional value {go_name(value)}")
    return value


# --- shorter ways for what selectors are mostly made of: fields of the device, compared with a constant


def fast_path(slot: int, keys: tuple[str, ...], slow: Closure) -> Closure:
    """``variable.k1.k2...`` through maps only; everything else, errors too, is left to ``slow``.

    Values but maps have no ``entries``; an absent variable has none either.
    """
    if not 1 <= len(keys) <= 3:
        return slow
    first, second, third = (*keys, "", "")[:3]

    def run_one(frame: Frame) -> values.Value:
        try:
            return frame[slot].entries[first]
        except (KeyError, AttributeError):
            return slow(frame)

    def run_two(frame: Frame) -> values.Value:
        try:
            return frame[slot].entries[first].entries[second]
        except (KeyError, AttributeError):
            return slow(frame)

    def run_three(frame: Frame) -> values.Value:
        try:
            return frame[slot].entries[first].entries[second].entries[third]
        except (KeyError, AttributeError):
            return slow(frame)

    return (run_one, run_two, run_three)[len(keys) - 1]


def fast_binary(name: str, left: Closure, right: Closure) -> Closure | None:
    """The closure of an operator that has a shorter way; None where it has not."""

    def run_equal(frame: Frame) -> values.Value:
        a, b = left(frame), right(frame)
        return a == b if type(a) is str and type(b) is str else values.equal(a, b)

    if name == "_==_":
        return run_equal
    return (lambda frame: values.unequal(left(frame), right(frame))) if name == "_!=_" else None


# --- selection: what selects from a map selects from every other value but lists too, and then finds no key; once a
# step is optional, or the value it starts from is an optional, all later ones are

_GO_NAMES = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    values.UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    values.Timestamp: "types.Timestamp",
    values.Duration: "types.Duration",
    values.TypeValue: "*types.Type",
    values.Optional: "*types.Optional",
    list: "*types.baseList",
    tuple: "*types.baseList",
    values.CelMap: "*types.baseMap",
}
_KEYS = frozenset({bool, int, values.UInt, float, str})


def go_name(value: values.Value) -> str:
    """The name of a value's Go type, which some of cel-go's texts show."""
    return _GO_NAMES.get(type(value)) or f"cel.{runtime_type(type(value)).name.rpartition('.')[2]}"


def display_key(key: values.Value) -> str:
    """A key as ``no such key`` spells it; a double as Go's ``%v``: whole without a point, an exponent from 1e21 on."""
    if type(key) is float:
        return str(int(key)) if key.is_integer() and abs(key) < 1e21 else repr(key)
    return str(key).lower() if type(key) is bool else str(key)


def check_key(key: values.Value) -> values.Value:
    """The key, or ``CelRuntimeError`` when values of its type select nothing."""
    if type(key) in _KEYS:
        return key
    raise CelRuntimeError(f"invalid qualifier type: {go_name(key)}")


def _position(elements: Sequence[values.Value], key: values.Value) -> values.Value:
    """The element at an index, ``MISSING`` beyond the ends; doubles without a fraction are indexes too."""
    if type(key) is float:
        if not key.is_integer() or not -(2.0**63) <= key < 2.0**63:
            raise CelRuntimeError(f"unsupported index value {display_key(key)} in list")
        key = int(key)
    elif type(key) not in (int, values.UInt):
        raise CelRuntimeError(f"unsupported index type '{runtime_type(type(key)).name}' in list")
    return elements[key] if 0 <= key < len(elements) else values.MISSING


def lookup(value: values.Value, key: values.Value) -> values.Value:
    """What ``key`` selects in ``value``, or ``MISSING``."""
    if type(value) is values.CelMap:
        try:
            return value.entries[values.stored_key(key)]
        except KeyError:
            return values.find_entry(value.entries, key)
    if type(value) is list or type(value) is tuple:
        return _position(value, key)
    return values.MISSING


def select(value: values.Value, key: values.Value) -> values.Value:
    """``value[key]``; ``CelRuntimeError`` where there is nothing."""
    if type(value) is values.Optional:
        return select_optional(value, key)
    found = lookup(value, key)
    if found is not values.MISSING:
        return found
    if type(value) is list or type(value) is tuple:
        raise CelRuntimeError(f"index out of bounds: {int(key)}")
    raise CelRuntimeError(f"no such key: {display_key(key)}")


def select_optional(value: values.Value, key: values.Value) -> values.Optional:
    """``value[?key]``."""
    if type(value) is values.Optional:
        if not value.present:
            return values.NONE
        value = value.value
    found = lookup(value, key)
    return values.NONE if found is values.MISSING else values.Optional(found)


def has_field(value: values.Value, key: values.Value) -> bool:
    """``has(value.key)``."""
    if type(value) is values.Optional:
        return value.present and lookup(value.value, key) is not values.MISSING
    return lookup(value, key) is not values.MISSING
