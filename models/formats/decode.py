"""The base of typed objects, and mappings to typed objects: quickly, or with everything that is wrong with them.

Objects handed over in memory become plain data first, as if they had been read from a file. Unknown fields are an error
in our own kinds, where a misspelt field would change the meaning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
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


def to_object(mapping: Any, model: type[T]) -> tuple[T | None, list[DecodeProblem]]:
    """Give the typed object of a mapping, or everything that has the wrong type.

    Types are strict: a boolean or 1.0 is no integer, an integer has 64 bits. As in the API
    an explicit null is an absent field, and a zero value in a list or map.
    """
    try:
        return msgspec.convert(mapping, model), []
    except msgspec.ValidationError:
        problems: list[DecodeProblem] = []
        cleaned = _model_checker(model).check(mapping, "", problems)
        return (None, problems) if problems else (msgspec.convert(cleaned, model), [])


_CheckFunction = Callable[[Any, str, list[DecodeProblem]], Any]


class _ValueChecker(NamedTuple):
    """Tests values of one declared type; ``check`` gives the value without explicit nulls."""

    check: _CheckFunction
    zero: Any = None


@cache
def _model_checker(model: type[Model]) -> _ValueChecker:
    """Derive the test of a model from its declaration."""
    return _checker_of(inspect.type_info(model))


def _checker_of(declared: inspect.Type) -> _ValueChecker:
    return _CHECKER_MAKERS[type(declared)](declared)


def _struct_checker(declared: inspect.StructType) -> _ValueChecker:
    fields = {field.encode_name: _checker_of(field.type) for field in declared.fields}

    def check(value: Any, path: str, problems: list[DecodeProblem]) -> Any:
        if not isinstance(value, dict):
            return _report_wrong_type(value, path, problems, "an object")
        return {
            key: fields[key].check(inner, child_path(path, key), problems)
            for key, inner in value.items()
            if key in fields and inner is not None
        }

    return _ValueChecker(check, zero={})


def _list_checker(declared: inspect.VarTupleType) -> _ValueChecker:
    item = _checker_of(declared.item_type)

    def check(value: Any, path: str, problems: list[DecodeProblem]) -> Any:
        if not isinstance(value, (list, tuple)):
            return _report_wrong_type(value, path, problems, "a list")
        return [
            item.zero if inner is None else item.check(inner, f"{path}[{index}]", problems)
            for index, inner in enumerate(value)
        ]

    return _ValueChecker(check)


def _map_checker(declared: inspect.DictType) -> _ValueChecker:
    item = _checker_of(declared.value_type)

    def check(value: Any, path: str, problems: list[DecodeProblem]) -> Any:
        if not isinstance(value, dict):
            return _report_wrong_type(value, path, problems, "an object")
        return {
            key: item.zero if inner is None else item.check(inner, f"{path}[{key}]", problems)
            for key, inner in value.items()
        }

    return _ValueChecker(check)


def _union_checker(declared: inspect.UnionType) -> _ValueChecker:
    """Unions are an optional type or a quantity."""
    kinds = [kind for kind in declared.types if not isinstance(kind, inspect.NoneType)]
    return _checker_of(kinds[0]) if len(kinds) == 1 else _QUANTITY


def _scalar_checker(name: str, zero: Any, *types: type) -> _ValueChecker:
    def check(value: Any, path: str, problems: list[DecodeProblem]) -> Any:
        return value if type(value) in types else _report_wrong_type(value, path, problems, name)

    return _ValueChecker(check, zero)


def _check_integer(value: Any, path: str, problems: list[DecodeProblem]) -> Any:
    if type(value) is not int:
        return _report_wrong_type(value, path, problems, "an integer")
    if not INT64_MIN <= value <= INT64_MAX:
        problems.append(DecodeProblem(path, f"Invalid value: {_display_value(value)}: must fit into 64 bits"))
    return value


_ANYTHING = _ValueChecker(lambda value, _path, _problems: value)
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


_QUANTITY = _scalar_checker("a quantity", "0", str, int, float)
_INTEGER = _ValueChecker(_check_integer, 0)
_STRING = _scalar_checker("a string", "", str)
_BOOLEAN = _scalar_checker("a boolean", False, bool)
_CHECKER_MAKERS: dict[type, Callable[[Any], _ValueChecker]] = {
    inspect.StructType: _struct_checker,
    inspect.VarTupleType: _list_checker,
    inspect.DictType: _map_checker,
    inspect.UnionType: _union_checker,
    inspect.AnyType: lambda _: _ANYTHING,
    inspect.IntType: lambda _: _INTEGER,
    inspect.StrType: lambda _: _STRING,
    inspect.BoolType: lambda _: _BOOLEAN,
}
_UnknownFieldFinder = Callable[[Any, str], Iterator[DecodeProblem]]


def unknown_fields(value: Any, model: type[Model], path: str) -> Iterator[DecodeProblem]:
    """Find the fields of a mapping that the model does not have, at any depth; of another type it has none."""
    return _finder_of_model(model)(value, path)


@cache
def _finder_of_model(model: type[Model]) -> _UnknownFieldFinder:
    return _finder_of_type(inspect.type_info(model))


def _finder_of_type(declared: inspect.Type) -> _UnknownFieldFinder:
    make = _FINDER_MAKERS.get(type(declared))
    return make(declared) if make else _no_unknown_fields


def _no_unknown_fields(_value: Any, _path: str) -> Iterator[DecodeProblem]:
    return iter(())


def _struct_finder(declared: inspect.StructType) -> _UnknownFieldFinder:
    fields = {field.encode_name: _finder_of_type(field.type) for field in declared.fields}

    def find(value: Any, path: str) -> Iterator[DecodeProblem]:
        for key, inner in value.items() if isinstance(value, dict) else ():
            if key in fields:
                yield from fields[key](inner, child_path(path, key))
            else:
                yield DecodeProblem(child_path(path, key), f"Forbidden: unknown field, known are: {', '.join(fields)}")

    return find


def _list_finder(declared: inspect.VarTupleType) -> _UnknownFieldFinder:
    item = _finder_of_type(declared.item_type)

    def find(value: Any, path: str) -> Iterator[DecodeProblem]:
        for index, inner in enumerate(value) if isinstance(value, (list, tuple)) else ():
            yield from item(inner, f"{path}[{index}]")

    return find


def _map_finder(declared: inspect.DictType) -> _UnknownFieldFinder:
    item = _finder_of_type(declared.value_type)

    def find(value: Any, path: str) -> Iterator[DecodeProblem]:
        for key, inner in value.items() if isinstance(value, dict) else ():
            yield from item(inner, f"{path}[{key}]")

    return find


def _optional_finder(declared: inspect.UnionType) -> _UnknownFieldFinder:
    """An optional type; a quantity is one of several, none of which has fields."""
    kinds = [kind for kind in declared.types if not isinstance(kind, inspect.NoneType)]
    return _finder_of_type(kinds[0]) if len(kinds) == 1 else _no_unknown_fields


_FINDER_MAKERS: dict[type, Callable[[Any], _UnknownFieldFinder]] = {
    inspect.StructType: _struct_finder,
    inspect.VarTupleType: _list_finder,
    inspect.DictType: _map_finder,
    inspect.UnionType: _optional_finder,
}


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


def _unchanged(value: Any, _path: str, _depth: int) -> Any:
    return value


_READERS: dict[type, Callable[[Any, str, int], Any]] = {
    dict: _copy_mapping,
    list: _copy_sequence,
    tuple: _copy_sequence,
    str: _check_text,
    bool: _unchanged,
    int: _check_integer_range,
    float: _check_finite,
    type(None): _unchanged,
    Mapping: _copy_mapping,
    Sequence: _copy_sequence,
}
