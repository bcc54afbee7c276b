"""Optional values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, list_of, optional_of, parameter
from ..values import NONE, Duration, Optional, Timestamp, Value
from ..values_time import TIMESTAMP_MIN
from .costs import nothing
from .declare import function, method, no_overload, only

_V = parameter("V")
_OPTIONAL = optional_of(_V)
_LIST = list_of(_V)
_OPTIONALS = list_of(_OPTIONAL)

_ZEROS: dict[type, Value] = {Timestamp: Timestamp(TIMESTAMP_MIN), Duration: Duration(0)}
# Objects without a zero are true in Python too.
_NEVER_ZERO = frozenset({Optional})


def _is_zero(value: Value) -> bool:
    kind = type(value)
    if kind in _ZEROS:
        return bool(value == _ZEROS[kind])
    return kind not in _NEVER_ZERO and not value


def _of_non_zero(value: Value) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _value(optional: Optional) -> Value:
    if not optional.present:
        raise CelRuntimeError("optional.none() dereference")
    return optional.value


def _first(values: Sequence[Value]) -> Optional:
    return Optional(values[0]) if values else NONE


def _last(values: Sequence[Value]) -> Optional:
    return Optional(values[-1]) if values else NONE


def _unwrap(name: str, optionals: Sequence[Optional]) -> list[Value]:
    if any(type(optional) is not Optional for optional in optionals):
        raise no_overload(name, "list")
    return [optional.value for optional in optionals if optional.present]


# The compiler evaluates the argument of or and orValue only where it is needed; these serve where both are at hand.
FUNCTIONS: tuple[Function, ...] = (
    only("optional.of", function("optional_of", (_V,), _OPTIONAL, Optional)),
    only("optional.none", function("optional_none", (), _OPTIONAL, lambda: NONE)),
    only("optional.ofNonZeroValue", function("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero)),
    only("hasValue", method("optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.present)),
    only("value", method("optional_value", (_OPTIONAL,), _V, _value)),
    only(
        "or",
        method(
            "optional_or_optional",
            (_OPTIONAL, _OPTIONAL),
            _OPTIONAL,
            lambda optional, other: optional if optional.present else other,
            **nothing(),
        ),
    ),
    only(
        "orValue",
        method(
            "optional_orValue_value",
            (_OPTIONAL, _V),
            _V,
            lambda optional, other: optional.value if optional.present else other,
            **nothing(),
        ),
    ),
    only("first", method("list_first", (_LIST,), _OPTIONAL, _first)),
    only("last", method("list_last", (_LIST,), _OPTIONAL, _last)),
    only("optional.unwrap", function("optional_unwrap", (_OPTIONALS,), _LIST, partial(_unwrap, "optional.unwrap"))),
    only("unwrapOpt", method("optional_unwrapOpt", (_OPTIONALS,), _LIST, partial(_unwrap, "unwrapOpt"))),
)
