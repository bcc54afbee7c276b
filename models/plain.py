"""Objects handed over in memory to plain data, as if they had been read from a file."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .unreadable import MAX_DEPTH, NUMBER_TOO_LARGE, TOO_DEEP, Unreadable, child_path


class _NotPlain(Exception):
    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(reason)


def plain_data(value: Any) -> Any:
    """Copy nested mappings and sequences to dicts and lists, or give ``Unreadable`` for what JSON cannot hold."""
    try:
        return _plain(value, "", 0)
    except _NotPlain as error:
        return Unreadable(((error.path, str(error)),))


def _plain(value: Any, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _NotPlain("", TOO_DEEP)
    read = _READERS.get(type(value)) or _reader_by_behaviour(value)
    if read is None:
        raise _NotPlain(path, f"Invalid value: a {type(value).__name__} is not data that JSON has")
    return read(value, path, depth)


def _reader_by_behaviour(value: Any) -> "Callable[[Any, str, int], Any] | None":
    """Find the reader for a subclass or another implementation of a container."""
    known = (str, bool, int, float, Mapping, Sequence)
    return next((_READERS[kind] for kind in known if isinstance(value, kind) and not isinstance(value, bytes)), None)


def _mapping(value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
    copied = {}
    for key, inner in value.items():
        if not isinstance(key, str):
            raise _NotPlain(path, f"Invalid value: a key must be a string, not {key!r:.40}")
        copied[_text(key, path, depth)] = _plain(inner, child_path(path, key), depth + 1)
    return copied


def _sequence(value: Sequence[Any], path: str, depth: int) -> list[Any]:
    return [_plain(inner, f"{path}[{index}]", depth + 1) for index, inner in enumerate(value)]


def _text(value: str, path: str, _depth: int) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _NotPlain(path, "Invalid value: not valid UTF-8") from None
    return str(value)


def _integer(value: int, path: str, _depth: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise _NotPlain(path, f"Invalid value: {NUMBER_TOO_LARGE}")
    return int(value)


def _number(value: float, path: str, _depth: int) -> float:
    if not math.isfinite(value):
        raise _NotPlain(path, f"Invalid value: {value} is not a finite number")
    return float(value)


def _same(value: Any, _path: str, _depth: int) -> Any:
    return value


_READERS: dict[type, Callable[[Any, str, int], Any]] = {
    dict: _mapping,
    list: _sequence,
    tuple: _sequence,
    str: _text,
    bool: _same,
    int: _integer,
    float: _number,
    type(None): _same,
    Mapping: _mapping,
    Sequence: _sequence,
}
