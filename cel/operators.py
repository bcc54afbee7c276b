"""The operators, as functions under cel-go's names, and how the overload of a function is chosen at run time.

``&&``, ``||``, ``?:`` and the selections are declared here for the checker only: they are not strict, so closures
carry them out. Overload ids are cel-go's. Integers have 64 bits and overflow loudly, doubles are those of IEEE. A
``Dispatcher`` finds the overload of a function by the types that values turn out to have.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .declarations import Function, Overload
from .errors import CelRuntimeError
from .meter import check_size, tick, ticking
from .types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of, map_of, optional_of
from .types import parameter as type_parameter
from .values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    CelMap,
    Duration,
    Timestamp,
    UInt,
    Value,
    compare,
    equal,
    inner_size,
    is_measured,
    runtime_type,
    surely_equal,
    type_name,
    unequal,
)

_A, _K, _V = type_parameter("A"), type_parameter("K"), type_parameter("V")
_Cost = Callable[[tuple[Value, ...], Value], int]
_Operation = Callable[[Value, Value], Value]
_NUMBERS = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))
_ORDERED = (
    ("bool", BOOL), *_NUMBERS, ("string", STRING), ("bytes", BYTES), ("timestamp", TIMESTAMP), ("duration", DURATION),
)  # fmt: skip


def _traverse_both(args: tuple[Value, ...], _result: Value) -> int:
    return math.ceil(min(inner_size(args[0]), inner_size(args[1])) * 0.1)


def _traverse_equal(args: tuple[Value, ...], result: Value) -> int:
    """Addresses and networks have a size, but to ``==`` they are as one."""
    return 1 if all(map(is_measured, args)) else _traverse_both(args, result)


def _concatenation_cost(args: tuple[Value, ...], _result: Value) -> int:
    return math.ceil((inner_size(args[0]) + inner_size(args[1])) * 0.1)


def _not_applied(*_args: Value) -> Value:
    raise AssertionError("closures carry this operator out")


def _binary(
    id_: str, left: Type, right: Type, result: Type, apply: Callable[..., Value], cost: _Cost | None = None
) -> Overload:
    return Overload(id_, (left, right), result, apply, cost=cost)


def _comparison(name: str, prefix: str, apply: Callable[[Value, Value], bool]) -> Function:
    """One of the four orders: within each ordered type, and between the types of numbers."""
    sized = {"string": _traverse_both, "bytes": _traverse_both}
    same = [_binary(f"{prefix}_{id_}", type_, type_, BOOL, apply, sized.get(id_)) for id_, type_ in _ORDERED]
    crossed = [
        _binary(f"{prefix}_{left_id}_{right_id}", left, right, BOOL, apply)
        for left_id, left in _NUMBERS
        for right_id, right in _NUMBERS
        if left is not right
    ]
    return Function(name, (*same, *crossed))


def _numeric(name: str, prefix: str, whole: _Operation, double: _Operation | None, *more: Overload) -> Function:
    """Arithmetic on two numbers of a type; ``more`` are overloads for other types."""
    numbers = [
        _binary(f"{prefix}_int64", INT, INT, INT, lambda a, b: checked_int(whole(a, b))),
        _binary(f"{prefix}_uint64", UINT, UINT, UINT, lambda a, b: checked_uint(whole(a, b))),
    ]
    if double is not None:
        numbers.append(_binary(f"{prefix}_double", DOUBLE, DOUBLE, DOUBLE, double))
    return Function(name, (*numbers, *more))


def _unchecked(name: str, *signatures: tuple[str, tuple[Type, ...], Type]) -> Function:
    return Function(name, tuple(Overload(id_, args, result, _not_applied) for id_, args, result in signatures))


def _selections() -> Iterator[Function]:
    lists, maps = list_of(_V), map_of(_K, _V)
    one = optional_of(_V)
    yield _unchecked(
        "_[_]",
        ("index_list", (lists, INT), _V),
        ("index_map", (maps, _K), _V),
        ("optional_list_index_int", (optional_of(lists), INT), one),
        ("optional_map_index_value", (optional_of(maps), _K), one),
    )
    yield _unchecked(
        "_[?_]",
        ("list_optindex_optional_int", (lists, INT), one),
        ("optional_list_optindex_optional_int", (optional_of(lists), INT), one),
        ("map_optindex_optional_value", (maps, _K), one),
        ("optional_map_optindex_optional_value", (optional_of(maps), _K), one),
    )
    yield _unchecked("_?._", ("select_optional_field", (DYN, STRING), optional_of(DYN)))


def _functions() -> Iterator[Function]:
    yield Function("_==_", (_binary("equals", _A, _A, BOOL, equal, _traverse_equal),))
    yield Function("_!=_", (_binary("not_equals", _A, _A, BOOL, unequal, _traverse_both),))
    yield _comparison("_<_", "less", lambda a, b: compare(a, b) < 0)
    yield _comparison("_<=_", "less_equals", lambda a, b: compare(a, b) <= 0)
    yield _comparison("_>_", "greater", lambda a, b: compare(a, b) > 0)
    yield _comparison("_>=_", "greater_equals", lambda a, b: compare(a, b) >= 0)
    lists = list_of(_A)
    yield _numeric(
        "_+_", "add", operator.add, operator.add,
        _binary("add_string", STRING, STRING, STRING, _concatenate, _concatenation_cost),
        _binary("add_bytes", BYTES, BYTES, BYTES, _concatenate, _concatenation_cost),
        _binary("add_list", lists, lists, lists, _join_lists),
        _binary("add_duration_duration", DURATION, DURATION, DURATION, lambda a, b: Duration.checked(a.ns + b.ns)),
        _binary("add_duration_timestamp", DURATION, TIMESTAMP, TIMESTAMP, lambda a, b: Timestamp.checked(a.ns + b.ns)),
        _binary("add_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP, lambda a, b: Timestamp.checked(a.ns + b.ns)),
    )  # fmt: skip
    yield _numeric(
        "_-_", "subtract", operator.sub, operator.sub,
        _binary("subtract_timestamp_timestamp", TIMESTAMP, TIMESTAMP, DURATION, _subtract_to_duration),
        _binary(
            "subtract_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP, lambda a, b: Timestamp.checked(a.ns - b.ns)
        ),
        _binary("subtract_duration_duration", DURATION, DURATION, DURATION, _subtract_to_duration),
    )  # fmt: skip
    yield _numeric("_*_", "multiply", operator.mul, operator.mul)
    yield _numeric("_/_", "divide", _quotient, _divide_doubles)
    yield _numeric("_%_", "modulo", _remainder, None)
    yield Function("!_", (Overload("logical_not", (BOOL,), BOOL, lambda a: not a),))
    negated_int = Overload("negate_int64", (INT,), INT, lambda a: checked_int(-a))
    yield Function("-_", (negated_int, Overload("negate_double", (DOUBLE,), DOUBLE, lambda a: -a)))
    yield Function(
        "@in",
        (
            _binary("in_list", _A, list_of(_A), BOOL, _contains, lambda args, _result: inner_size(args[1])),
            _binary("in_map", _K, map_of(_K, _V), BOOL, _contains),
        ),
    )
    yield from _selections()
    yield _unchecked("_&&_", ("logical_and", (BOOL, BOOL), BOOL))
    yield _unchecked("_||_", ("logical_or", (BOOL, BOOL), BOOL))
    yield _unchecked("_?_:_", ("conditional", (BOOL, _A, _A), _A))


# The written form of the binary operators.
NAMES: dict[str, str] = {"in": "@in"} | {
    sign: f"_{sign}_" for sign in ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
}
UNARY_NAMES: dict[str, str] = {"!": "!_", "-": "-_"}
# A chain of concatenations doubles its result at every step; what outgrows this costs more than any budget to look at.
# Elements copied in the time of a step.
_QUICK = 64
_MOST_CHARACTERS, _MOST_ELEMENTS = 10_000_000, 1_000_000


def checked_int(number: int) -> int:
    """The number, or ``CelRuntimeError`` when it is out of int64."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise CelRuntimeError("integer overflow")


def checked_uint(number: int) -> UInt:
    """The number as a uint, or ``CelRuntimeError`` when it is out of uint64."""
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise CelRuntimeError("unsigned integer overflow")


def _quotient(a: int, b: int) -> int:
    """Division rounding towards zero."""
    if b == 0:
        raise CelRuntimeError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    """What ``_quotient`` leaves; it has the sign of ``a``."""
    if b == 0:
        raise CelRuntimeError("modulus by zero")
    if b == -1 and a == INT_MIN:
        raise CelRuntimeError("integer overflow")
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def _divide_doubles(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _concatenate(a: Value, b: Value) -> Value:
    """Two strings, or two bytes, one after the other."""
    check_size(len(a) + len(b), _MOST_CHARACTERS)
    return a + b


def _join_lists(a: Value, b: Value) -> Value:
    """The elements of two lists."""
    size = len(a) + len(b)
    check_size(size, _MOST_ELEMENTS)
    tick(size // _QUICK)
    return [*a, *b]


def _subtract_to_duration(a: Timestamp | Duration, b: Timestamp | Duration) -> Duration:
    return Duration.checked(a.ns - b.ns)


def _contains(element: Value, container: Value) -> bool:
    """``in``: a list or a map can be no key; in a list, what cannot be compared is not equal."""
    if type(container) is not CelMap:
        return any(surely_equal(element, other) for other in ticking(container))
    try:
        return element in container
    except TypeError:
        return False


OPERATORS: tuple[Function, ...] = tuple(_functions())
BY_NAME: dict[str, Function] = {function.name: function for function in OPERATORS}

# What a type can do decides how cel-go words a refusal: types with the operator's trait, or with
# methods of their own, say just "no such overload".
_RECEIVERS = frozenset({"string", "timestamp", "duration"})
_SCALARS = frozenset({"int", "uint", "double"})
_TRAITS: dict[str, frozenset[str]] = {
    "_+_": _SCALARS | _RECEIVERS | {"bytes", "list"},
    "_-_": _SCALARS | _RECEIVERS,
    "_*_": _SCALARS | _RECEIVERS,
    "_/_": _SCALARS | _RECEIVERS,
    "_%_": frozenset({"int", "uint"}) | _RECEIVERS,
    "-_": frozenset({"int", "double", "bool"}) | _RECEIVERS,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _SCALARS | _RECEIVERS | {"bool", "bytes"}),
    **dict.fromkeys(("size", "sort", "@sortByAssociatedKeys"), _RECEIVERS),
    "matches": _RECEIVERS,
}
_QUALIFIED = frozenset({"flatten"})
_SIMPLE_NAMES = frozenset({"!_", "@in", "_==_", "_!=_", "startsWith", "endsWith", "contains"})
# What cel-go can do, but declares to no type checker.
_UNDECLARED = {"-_": (Overload("negate_duration", (DURATION,), DURATION, lambda span: Duration.checked(-span.ns)),)}


def no_overload_error(name: str, args: Sequence[Value]) -> CelRuntimeError:
    """The error of a function that has no overload for the arguments, worded as cel-go does."""
    able = _TRAITS.get(name)
    if name in _SIMPLE_NAMES or (able is not None and runtime_type(type(args[0])).name in able):
        return CelRuntimeError("no such overload")
    if able is not None:
        return CelRuntimeError(f"no such overload: {name}")
    types = [type_name(arg) for arg in args]
    receiver = f"{types.pop(0)}." if name in _QUALIFIED else ""
    return CelRuntimeError(f"no such overload: {receiver}{name}({', '.join(types)})")


class Dispatcher:
    """The overloads of a function that take so many arguments, by the Python types of those."""

    __slots__ = ("_found", "name", "overloads", "prepared")

    def __init__(self, name: str, overloads: Sequence[Overload], arity: int, *, member: bool, prepared: bool) -> None:
        self.name = name
        self.prepared = prepared
        """Whether cel-go compiles a constant argument, a pattern, beforehand; it then calls in another way."""
        declared = (*overloads, *_UNDECLARED.get(name, ()))
        self.overloads = tuple(o for o in declared if len(o.args) == arity and o.member == member)
        self._found: dict[tuple[type, ...], Overload | None] = {}

    def restricted(self, overload: Overload) -> Dispatcher:
        """The dispatcher of this overload alone, which refuses lists by the type of their first element."""
        wanted = [(place, arg.params[0].name) for place, arg in enumerate(overload.args) if _has_known_elements(arg)]

        def apply(*args: Value) -> Value:
            for place, element in wanted:
                if args[place] and runtime_type(type(args[place][0])).name != element:
                    raise no_overload_error(self.name, args)
            return overload.apply(*args)

        only = replace(overload, apply=apply) if wanted else overload
        return Dispatcher(self.name, (only,), len(only.args), member=only.member, prepared=self.prepared)

    @property
    def first(self) -> Overload | None:
        """The overload declared first."""
        return self.overloads[0] if self.overloads else None

    def overload(self, args: Sequence[Value]) -> Overload:
        """The overload for the arguments; ``CelRuntimeError`` (no such overload) when there is none."""
        types = tuple(map(type, args))
        try:
            found = self._found[types]
        except KeyError:
            found = self._found[types] = self._search(types)
        if found is None:
            raise CelRuntimeError("no such overload") if self.prepared else no_overload_error(self.name, args)
        return found

    def binary(self, a: Value, b: Value) -> Value:
        """The function of two arguments."""
        found = self._found.get((type(a), type(b))) or self.overload((a, b))
        return found.apply(a, b)

    def apply(self, args: Sequence[Value]) -> Value:
        """The function of any number of arguments."""
        return self.overload(args).apply(*args)

    def _search(self, types: tuple[type, ...]) -> Overload | None:
        values = [runtime_type(one) for one in types]
        return next((overload for overload in self.overloads if all(map(_accepts, overload.args, values))), None)


def _accepts(wanted: Type, value: Type) -> bool:
    return wanted.param or wanted.name == "dyn" or wanted.name == value.name


def _has_known_elements(wanted: Type) -> bool:
    return wanted.name == "list" and not wanted.params[0].param and wanted.params[0].name != "dyn"
