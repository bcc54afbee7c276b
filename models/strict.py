"""Fields that nobody knows: an error in our own language, where a misspelt one would change the meaning."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from msgspec import inspect

from .base import Model
from .structure import FieldProblem
from .unreadable import child_path

_Finder = Callable[[Any, str], Iterator[FieldProblem]]


def unknown_fields(value: Any, model: type[Model], path: str) -> Iterator[FieldProblem]:
    """Find the fields of a mapping that the model does not have, at any depth; of another type it has none."""
    return _finder_of(model)(value, path)


@cache
def _finder_of(model: type[Model]) -> _Finder:
    return _finder(inspect.type_info(model))


def _finder(declared: inspect.Type) -> _Finder:
    make = _MAKERS.get(type(declared))
    return make(declared) if make else _nothing


def _nothing(_value: Any, _path: str) -> Iterator[FieldProblem]:
    return iter(())


def _struct(declared: inspect.StructType) -> _Finder:
    fields = {field.encode_name: _finder(field.type) for field in declared.fields}

    def find(value: Any, path: str) -> Iterator[FieldProblem]:
        for key, inner in value.items() if isinstance(value, dict) else ():
            if key in fields:
                yield from fields[key](inner, child_path(path, key))
            else:
                yield FieldProblem(child_path(path, key), f"Forbidden: unknown field, known are: {', '.join(fields)}")

    return find


def _list(declared: inspect.VarTupleType) -> _Finder:
    item = _finder(declared.item_type)

    def find(value: Any, path: str) -> Iterator[FieldProblem]:
        for index, inner in enumerate(value) if isinstance(value, (list, tuple)) else ():
            yield from item(inner, f"{path}[{index}]")

    return find


def _map(declared: inspect.DictType) -> _Finder:
    item = _finder(declared.value_type)

    def find(value: Any, path: str) -> Iterator[FieldProblem]:
        for key, inner in value.items() if isinstance(value, dict) else ():
            yield from item(inner, f"{path}[{key}]")

    return find


def _optional(declared: inspect.UnionType) -> _Finder:
    """An optional type; a quantity is one of several, none of which has fields."""
    kinds = [kind for kind in declared.types if not isinstance(kind, inspect.NoneType)]
    return _finder(kinds[0]) if len(kinds) == 1 else _nothing


_MAKERS: dict[type, Callable[[Any], _Finder]] = {
    inspect.StructType: _struct,
    inspect.VarTupleType: _list,
    inspect.DictType: _map,
    inspect.UnionType: _optional,
}
