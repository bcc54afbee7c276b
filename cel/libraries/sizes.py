"""``size`` of strings, bytes, lists and maps."""

from __future__ import annotations

from ..library import Function
from ..types import BYTES, INT, STRING, list_of, map_of, parameter
from .declare import function, method

_SIZED = (
    ("string", STRING),
    ("bytes", BYTES),
    ("list", list_of(parameter("A"))),
    ("map", map_of(parameter("A"), parameter("B"))),
)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "size",
        tuple(function(f"size_{name}", (type_,), INT, len) for name, type_ in _SIZED)
        + tuple(method(f"{name}_size", (type_,), INT, len) for name, type_ in _SIZED),
    ),
)
