"""The base of typed objects, and mappings to typed objects: quickly, or with everything that is wrong with them.

Objects handed over in memory become plain data first, as if they had been read from a file. Unknown fields are an error
in our own kinds, where a misspelt field would change the meaning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, NamedTuple, TypeVar, dataclass_transform

import msgspec
from msgspec import inspect

from .errors import MAX_DEPTH, NUMBER_TOO_LARGE, TOO_DEEP, Unreadable, child_path

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
Int64 = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)]
# A quantity as written in a manifest; the API accepts bare numbers beside strings.
QuantityText = str | int | float
# Names whose API spelling is neither their own nor its camel case.
_API_NAMES = {"int_value": "int", "bool_value": "bool", "share_id": "shareID"}


@lru_cache(maxsize=4096)
def api_name(field: str) -> str:
    """Spell a field of ours as the API does: ``binds_to_node`` is ``bindsToNode``."""
    first, *rest = field.split("_")
    return _API_NAMES.get(field) or first + "".join(word.capitalize() for word in rest)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Model(msgspec.Struct, frozen=True, rename=api_name, gc=False, omit_defaults=True):
    """An immutable API object or a part of one.

    Field names are the API's in snake case. ``None`` means absent (or ``null``), which the API
    tells apart from an empty list in a few places (PRE-2, PRE-5, POOL-11). Unknown fields are
    ignored; what is required is said by ``validation``, not by the types. Objects hold no cycles,
    so the garbage collector need not follow them (a cluster has millions).
    """


T = TypeVar("T", bound=Model)
_LONGEST_SHOWN = 60


class DecodeProblem(NamedTuple):
    """A field path of the document, and what is wrong there."""

    field: str
    message: str


def to_object_strictly(mapping: Any, model: type[T]) -> tuple[T | None, list[DecodeProblem]]:
    """Give the typed object of a mapping, and everything that has the wrong type or is no field of the model."""
    read, problems = to_object(mapping, model)
    return read, [*problems, *unknown_fields(mapping, model, "")]


def to_object(mapping: Any, model: type[T]) -> tuple[T | None, list[DecodeProblem]]:
    """Give the typed object of a mapping, or everything that has the wrong type.

    Types are strict: a boolean or 1.0 is no integer, an integer has 64 bits. As in the API
    an explicit null is an absent field, and a zero value in a list or map.
    """
    try:
        return msgspec.convert(mapping, model), []
    except msgspec.ValidationError:
        problems: list[DecodeProblem] = []
        cleaned = _declared_model(model).check(mapping, "", problems)
        return (None, problems) if problems else (msgspec.convert(cleaned, model), [])


# A part of a container: its key or index, its declared type (None for a field that is unknown), value and path.
_Part = tuple[Any, "_DeclaredType | None", Any, str]


class _DeclaredType(NamedTuple):
    """A declared type: its name in messages, the Python types that fit, and the parts of a value if it has any."""

    name: str
    types: tuple[type, ...]
    # What an explicit null stands for in a list or a map.
    zero: Any = None
    parts: Callable[[Any, str], Iterator[_Part]] | None = None
    # The names of a struct's fields; an explicit null is an absent field.
    fields: tuple[str, ...] | None = None

    def check(self, value: Any, path: str, problems: list[DecodeProblem]) -> Any:
        """Give the value without explicit nulls and unknown fields; add what has the wrong type to ``problems``."""
        if self.parts is None:
            if self.types and type(value) not in self.types:
                return _report_wrong_type(value, path, problems, self.name)
            if self.types == (int,) and not INT64_MIN <= value <= INT64_MAX:
                problems.append(DecodeProblem(path, f"Invalid value: {_display_value(value)}: must fit into 64 bits"))
            return value
        if not isinstance(value, self.types):
            return _report_wrong_type(value, path, problems, self.name)
        read = [
            (key, part.zero if inner is None else part.check(inner, place, problems))
            for key, part, inner, place in self.parts(value, path)
            if part is not None and not (inner is None and self.fields is not None)
        ]
        return dict(read) if dict in self.types else [inner for _, inner in read]

    def unknown_fields(self, value: Any, path: str) -> Iterator[DecodeProblem]:
        """Yield what a struct does not have, at any depth."""
        if self.parts is None or not isinstance(value, self.types):
            return
        for _, part, inner, place in self.parts(value, path):
            if part is not None:
                yield from part.unknown_fields(inner, place)
            else:
                yield DecodeProblem(place, f"Forbidden: unknown field, known are: {', '.join(self.fields or ())}")


def unknown_fields(value: Any, model: type[Model], path: str) -> Iterator[DecodeProblem]:
    """Find the fields of a mapping that the model does not have, at any depth; of another type it has none."""
    return _declared_model(model).unknown_fields(value, path)


@cache
def _declared_model(model: type[Model]) -> _DeclaredType:
    return _declared_type(inspect.type_info(model))


def _declared_type(declared: inspect.Type) -> _DeclaredType:
    return _DECLARED_TYPES[type(declared)](declared)


def _struct_type(declared: inspect.StructType) -> _DeclaredType:
    fields = {field.encode_name: _declared_type(field.type) for field in declared.fields}

    def parts(value: dict[str, Any], path: str) -> Iterator[_Part]:
        return ((key, fields.get(key), inner, child_path(path, key)) for key, inner in value.items())

    return _DeclaredType("an object", (dict,), {}, parts, tuple(fields))


def _list_type(declared: inspect.VarTupleType) -> _DeclaredType:
    item = _declared_type(declared.item_type)

    def parts(value: Sequence[Any], path: str) -> Iterator[_Part]:
        return ((index, item, inner, f"{path}[{index}]") for index, inner in enumerate(value))

    return _DeclaredType("a list", (list, tuple), [], parts)


def _map_type(declared: inspect.DictType) -> _DeclaredType:
    item = _declared_type(declared.value_type)

    def parts(value: dict[str, Any], path: str) -> Iterator[_Part]:
        return ((key, item, inner, f"{path}[{key}]") for key, inner in value.items())

    return _DeclaredType("an object", (dict,), {}, parts)


def _union_type(declared: inspect.UnionType) -> _DeclaredType:
    """Unions are an optional type or a quantity."""
    kinds = [kind for kind in declared.types if not isinstance(kind, inspect.NoneType)]
    return _declared_type(kinds[0]) if len(kinds) == 1 else _DeclaredType("a quantity", (str, int, float), "0")


_DECLARED_TYPES: dict[type, Callable[[Any], _DeclaredType]] = {
    inspect.StructType: _struct_type,
    inspect.VarTupleType: _list_type,
    inspect.DictType: _map_type,
    inspect.UnionType: _union_type,
    inspect.AnyType: lambda _: _DeclaredType("anything", ()),
    inspect.IntType: lambda _: _DeclaredType("an integer", (int,), 0),
    inspect.StrType: lambda _: _DeclaredType("a string", (str,), ""),
    inspect.BoolType: lambda _: _DeclaredType("a boolean", (bool,), False),
}
_TYPE_NAMES: dict[type, str] = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    tuple: "a list",
    dict: "an object",
}


def _report_wrong_type(value: Any, path: str, problems: list[DecodeProblem], wanted: str) -> None:
    found = _TYPE_NAMES.get(type(value), "null")
    problems.append(DecodeProblem(path, f"Invalid value: {_display_value(value)}: must be {wanted}, not {found}"))


def _display_value(value: Any) -> str:
    """Show a value on one short line."""
    if isinstance(value, (dict, list, tuple)):
        return "{...}" if isinstance(value, dict) else "[...]"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


class _NotBuiltin(Exception):
    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(reason)


def to_builtins(value: Any) -> Any:
    """Copy nested mappings and sequences to dicts and lists, or give ``Unreadable`` for what JSON cannot hold."""
    try:
        return _to_builtin(value, "", 0)
    except _NotBuiltin as error:
        return Unreadable(((error.path, str(error)),))


def _to_builtin(value: Any, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _NotBuiltin("", TOO_DEEP)
    read = _READERS.get(type(value)) or _reader_by_behaviour(value)
    if read is None:
        raise _NotBuiltin(path, f"Invalid value: a {type(value).__name__} is not data that JSON has")
    return read(value, path, depth)


def _reader_by_behaviour(value: Any) -> Callable[[Any, str, int], Any] | None:
    """Find the reader for a subclass or another implementation of a container."""
    known = (str, bool, int, float, Mapping, Sequence)
    return next((_READERS[kind] for kind in known if isinstance(value, kind) and not isinstance(value, bytes)), None)


def _copy_mapping(value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
    copied = {}
    for key, inner in value.items():
        if not isinstance(key, str):
            raise _NotBuiltin(path, f"Invalid value: a key must be a string, not {key!r:.40}")
        copied[_check_text(key, path, depth)] = _to_builtin(inner, child_path(path, key), depth + 1)
    return copied


def _copy_sequence(value: Sequence[Any], path: str, depth: int) -> list[Any]:
    return [_to_builtin(inner, f"{path}[{index}]", depth + 1) for index, inner in enumerate(value)]


def _check_text(value: str, path: str, _depth: int) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _NotBuiltin(path, "Invalid value: not valid UTF-8") from None
    return str(value)


def _check_integer_range(value: int, path: str, _depth: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise _NotBuiltin(path, f"Invalid value: {NUMBER_TOO_LARGE}")
    return int(value)


def _check_finite(value: float, path: str, _depth: int) -> float:
    if not math.isfinite(value):
        raise _NotBuiltin(path, f"Invalid value: {value} is not a finite number")
    return float(value)


_READERS: dict[type, Callable[[Any, str, int], Any]] = {
    dict: _copy_mapping,
    list: _copy_sequence,
    tuple: _copy_sequence,
    str: _check_text,
    bool: lambda value, _path, _depth: value,
    int: _check_integer_range,
    float: _check_finite,
    type(None): lambda _value, _path, _depth: None,
    Mapping: _copy_mapping,
    Sequence: _copy_sequence,
}
