"""Objects with every field that the API's types declare, made of the declarations."""

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from .kinds import BY_MODEL

Path = tuple[str | int, ...]
# The key of every map.
KEY = "a-key"


def whole(kind: str) -> dict[str, Any]:
    """An object of the kind in which nothing is missing; values have the right types and mean nothing."""
    made = _filled(inspect.type_info(BY_MODEL[kind].model))
    return {**made, "apiVersion": BY_MODEL[kind].api_versions()[0], "kind": BY_MODEL[kind].name}


def _filled(declared: inspect.Type) -> Any:
    return _MAKERS[type(declared)](declared)


def _struct(declared: inspect.StructType) -> dict[str, Any]:
    return {field.encode_name: _filled(field.type) for field in declared.fields}


def _union(declared: inspect.UnionType) -> Any:
    return _filled(next(kind for kind in declared.types if not isinstance(kind, inspect.NoneType)))


_MAKERS = {
    inspect.StructType: _struct,
    inspect.VarTupleType: lambda declared: [_filled(declared.item_type)],
    inspect.DictType: lambda declared: {KEY: _filled(declared.value_type)},
    inspect.UnionType: _union,
    inspect.AnyType: lambda _: {},
    inspect.IntType: lambda _: 1,
    inspect.StrType: lambda _: "1",
    inspect.BoolType: lambda _: True,
}


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place in an object with what is there, from the outside in."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key), inner
        yield from places(inner, (*path, key))


def with_value(value: Any, path: Path, new: Any) -> Any:
    """A copy of the object with another value in one place."""
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = with_value(value[path[0]], path[1:], new)
    return copied


def spelt(path: Path) -> str:
    """The path as messages have it, up to the keys of maps."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) or part == KEY else f".{part}"
    return text.removeprefix(".")
