"""Mappings to typed objects: the fast road, and the slow one that finds everything that is wrong."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from .base import INT64_MAX, INT64_MIN, Model
from .unreadable import child_path

T = TypeVar("T", bound=Model)
_LONGEST_SHOWN = 60


class FieldProblem(NamedTuple):
    """A field path of the document, and what is wrong there."""

    field: str
    message: str


def to_object(mapping: Any, model: type[T]) -> tuple[T | None, list[FieldProblem]]:
    """Give the typed object of a mapping, or everything that has the wrong type.

    Types are strict: a boolean or 1.0 is no integer, an integer has 64 bits. As in the API
    an explicit null is an absent field, and a zero value in a list or map.
    """
    try:
        return msgspec.convert(mapping, model), []
    except msgspec.ValidationError:
        problems: list[FieldProblem] = []
        cleaned = _model_checker(model).check(mapping, "", problems)
        return (None, problems) if problems else (msgspec.convert(cleaned, model), [])


_Check = Callable[[Any, str, list[FieldProblem]], Any]


class _Checker(NamedTuple):
    """Tests values of one declared type; ``check`` gives the value without explicit nulls."""

    check: _Check
    zero: Any = None


@cache
def _model_checker(model: type[Model]) -> _Checker:
    """Derive the test of a model from its declaration."""
    return _checker(inspect.type_info(model))


def _checker(declared: inspect.Type) -> _Checker:
    return _MAKERS[type(declared)](declared)


def _struct(declared: inspect.StructType) -> _Checker:
    fields = {field.encode_name: _checker(field.type) for field in declared.fields}

    def check(value: Any, path: str, problems: list[FieldProblem]) -> Any:
        if not isinstance(value, dict):
            return _refuse(value, path, problems, "an object")
        return {
            key: fields[key].check(inner, child_path(path, key), problems)
            for key, inner in value.items()
            if key in fields and inner is not None
        }

    return _Checker(check, zero={})


def _list(declared: inspect.VarTupleType) -> _Checker:
    item = _checker(declared.item_type)

    def check(value: Any, path: str, problems: list[FieldProblem]) -> Any:
        if not isinstance(value, (list, tuple)):
            return _refuse(value, path, problems, "a list")
        return [
            item.zero if inner is None else item.check(inner, f"{path}[{index}]", problems)
            for index, inner in enumerate(value)
        ]

    return _Checker(check)


def _map(declared: inspect.DictType) -> _Checker:
    item = _checker(declared.value_type)

    def check(value: Any, path: str, problems: list[FieldProblem]) -> Any:
        if not isinstance(value, dict):
            return _refuse(value, path, problems, "an object")
        return {
            key: item.zero if inner is None else item.check(inner, f"{path}[{key}]", problems)
            for key, inner in value.items()
        }

    return _Checker(check)


def _union(declared: inspect.UnionType) -> _Checker:
    """Unions are an optional type or a quantity."""
    kinds = [kind for kind in declared.types if not isinstance(kind, inspect.NoneType)]
    return _checker(kinds[0]) if len(kinds) == 1 else _QUANTITY


def _scalar(name: str, zero: Any, *types: type) -> _Checker:
    def check(value: Any, path: str, problems: list[FieldProblem]) -> Any:
        return value if type(value) in types else _refuse(value, path, problems, name)

    return _Checker(check, zero)


def _check_integer(value: Any, path: str, problems: list[FieldProblem]) -> Any:
    if type(value) is not int:
        return _refuse(value, path, problems, "an integer")
    if not INT64_MIN <= value <= INT64_MAX:
        problems.append(FieldProblem(path, f"Invalid value: {_shown(value)}: must fit into 64 bits"))
    return value


_ANYTHING = _Checker(lambda value, _path, _problems: value)
_QUANTITY = _scalar("a quantity", "0", str, int, float)
_INTEGER = _Checker(_check_integer, 0)
_STRING = _scalar("a string", "", str)
_BOOLEAN = _scalar("a boolean", False, bool)
_MAKERS: dict[type, Callable[[Any], _Checker]] = {
    inspect.StructType: _struct,
    inspect.VarTupleType: _list,
    inspect.DictType: _map,
    inspect.UnionType: _union,
    inspect.AnyType: lambda _: _ANYTHING,
    inspect.IntType: lambda _: _INTEGER,
    inspect.StrType: lambda _: _STRING,
    inspect.BoolType: lambda _: _BOOLEAN,
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


def _refuse(value: Any, path: str, problems: list[FieldProblem], wanted: str) -> None:
    found = _TYPE_NAMES.get(type(value), "null")
    problems.append(FieldProblem(path, f"Invalid value: {_shown(value)}: must be {wanted}, not {found}"))


def _shown(value: Any) -> str:
    """Show a value on one short line."""
    if isinstance(value, (dict, list, tuple)):
        return "{...}" if isinstance(value, dict) else "[...]"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
