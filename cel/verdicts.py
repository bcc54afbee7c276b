"""How results and errors of selectors and of constraints are told (CEL-5, CEL-6)."""

from __future__ import annotations

from .errors import CelCompileError, CelRuntimeError
from .values import Optional, Value, type_name

HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


def prefixed(error: CelCompileError) -> CelCompileError:
    """What upstream says of an expression that does not parse or type-check."""
    if not error.issues:
        return error
    told = CelCompileError(f"compilation failed: {error}")
    told.issues = error.issues
    return told


def verdict(value: Value) -> bool:
    """The result, which must be a bool (CEL-5); ``CelRuntimeError``."""
    if value is True or value is False:
        return value
    kind, reason = type_name(value), _refusal(value)
    raise CelRuntimeError(f"CEL result of type {kind} could not be converted to bool: {reason}")


def _refusal(value: Value) -> str:
    """Why a value is no bool, as cel-go words it for its type."""
    while type(value) is Optional and value.present:
        value = value.value
    kind = type_name(value)
    if kind in ("int", "uint"):
        return f"unsupported type conversion from '{kind}' to bool"
    if kind == "string":
        return "unsupported native conversion from string to 'bool'"
    if kind == "type":
        return "type conversion not supported for 'type'"
    return f"type conversion error from {_SOURCES.get(kind) or repr(kind.rpartition('.')[2])} to 'bool'"


_SOURCES = {"list": "list", "map": "map", "double": "Double", "bytes": "Bytes"}


def hinted(error: CelRuntimeError) -> CelRuntimeError:
    """The error, with advice where a key was missing (CEL-6)."""
    text = str(error)
    if "no such key" not in text:
        return error
    return type(error)(f"{text}. {HINT}")
