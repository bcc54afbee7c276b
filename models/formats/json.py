"""Bytes to plain documents, JSON or YAML as they begin; items of long JSON lists are read one by one."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

import msgspec
import orjson

from .errors import NUMBER_TOO_LARGE, TOO_DEEP, Unreadable, child_path, position, unreadable_document
from .yaml import yaml_documents

_SPLITTER = msgspec.json.Decoder(msgspec.Raw)
_ENVELOPE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_KEY = re.compile(rb'[\s{,]*("(?:[^"\\]|\\.)*")\s*:\s*')
_BETWEEN = re.compile(rb"[\s,]*")
# Reads a text that has nothing wrong, or gives None and leaves it to ``read_json``.
Shortcut = Callable[[bytes], Any]


def split_documents(data: bytes) -> list[bytes] | Unreadable:
    """Split concatenated JSON texts, whatever white space stands between them."""
    try:
        parts = _SPLITTER.decode_lines(data)
    except RecursionError:
        return unreadable_document(TOO_DEEP)
    except msgspec.DecodeError as error:
        return _syntax_error(data, str(error))
    return [data] if len(parts) == 1 else [bytes(part) for part in parts]


def json_documents(data: bytes, parts: list[bytes], shortcut: Shortcut | None = None) -> Iterator[Any]:
    """Yield the value of each text, or ``Unreadable``; ``items`` of a list kind is a lazy ``JsonItems``."""
    offset = 0
    for part in parts:
        offset = _next_value(data, offset)
        yield _lazy_list(data, offset, part, shortcut) or read_json(data, offset, part, shortcut)
        offset += len(part)


def read_json(whole: bytes, offset: int, part: bytes, shortcut: Shortcut | None = None) -> Any:
    """Parse one JSON text that stands at an offset of a file; ``Unreadable`` with every reason if it is bad.

    Refused are NaN, numbers beyond float, bad UTF-8, lone surrogates, duplicate keys and deep nesting.
    """
    if shortcut is not None and (read := shortcut(part)) is not None:
        return read
    try:
        value = orjson.loads(part)
        written = orjson.dumps(value)
    except orjson.JSONDecodeError as error:
        return unreadable_document(_display_syntax_error(whole, offset, part, error))
    except TypeError:  # how the writer says that the nesting exceeds 254 levels
        return unreadable_document(TOO_DEEP)
    if may_drop_keys(part, written):
        tree = json.loads(part, object_pairs_hook=_ObjectPairs, parse_int=str, parse_float=str)
        if repeated := tuple(_search_repeated(tree, "")):
            return Unreadable(repeated)
    return value


class JsonItems:
    """The items of a list, each parsed on demand, so that they need not exist all at once."""

    def __init__(self, whole: bytes, offset: int, parts: list[msgspec.Raw], shortcut: Shortcut | None) -> None:
        self._whole = whole
        self._offset = offset
        self._parts = parts
        self._shortcut = shortcut

    def __iter__(self) -> Iterator[Any]:
        offset = self._offset
        for raw in self._parts:
            part = bytes(raw)
            offset = _next_value(self._whole, offset)
            yield read_json(self._whole, offset, part, self._shortcut)
            offset += len(part)


def _next_value(whole: bytes, offset: int) -> int:
    """Skip what may stand between two texts or two items of a list."""
    match = _BETWEEN.match(whole, offset)
    return match.end() if match else offset


def _lazy_list(data: bytes, offset: int, part: bytes, shortcut: Shortcut | None) -> dict[str, Any] | None:
    """Read a list's envelope and leave its items; None if this is no list or its keys need a closer look."""
    try:
        fields = _ENVELOPE.decode(part)
        if not bytes(fields["kind"]).endswith(b'List"'):
            return None
        items = _ITEMS.decode(fields["items"])
    except (msgspec.DecodeError, KeyError, RecursionError):
        return None
    starts = _value_offsets(part, fields)
    if starts is None:
        return None
    read = {key: read_json(data, offset + starts[key], bytes(raw)) for key, raw in fields.items() if key != "items"}
    if any(isinstance(value, Unreadable) for value in read.values()):
        return None
    return {**read, "items": JsonItems(data, offset + starts["items"] + 1, items, shortcut)}


def _value_offsets(part: bytes, fields: dict[str, msgspec.Raw]) -> dict[str, int] | None:
    """Find where each field's value starts; None unless the fields, in this order, are all there is.

    A repeated key leaves a value in the text that the decoder dropped, and so cannot pass.
    """
    starts = {}
    end = 0
    for key, raw in fields.items():
        match = _KEY.match(part, end)
        if match is None or match[1] != orjson.dumps(key):
            return None
        starts[key] = match.end()
        end = match.end() + len(memoryview(raw))
    return starts if part[end:].strip() == b"}" else None


def may_drop_keys(part: bytes, written: bytes) -> bool:
    """Say whether reading may have dropped keys, such as repeated ones, from the number of colons.

    Strings hold as many colons in the text as in what was written again, unless the text hides some
    in escapes; each key adds one. So without such escapes a dropped key is a colon less.
    """
    # One byte is found much faster than two.
    return part.count(b":") != written.count(b":") or (b"\\" in part and b"\\u" in part)


class _ObjectPairs(list[tuple[str, Any]]):
    """A JSON object with all its keys, repeated ones too."""


def _search_repeated(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, _ObjectPairs):
        seen = set()
        for key, inner in value:
            if key in seen:
                yield path, f'duplicate key "{key}"'
            seen.add(key)
            yield from _search_repeated(inner, child_path(path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _search_repeated(inner, f"{path}[{index}]")


def _syntax_error(data: bytes, message: str) -> Unreadable:
    """Word a syntax error: by the parser with the better messages, else by the splitter."""
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if not error.msg.startswith("unexpected content"):
            return unreadable_document(_display_syntax_error(data, 0, data, error))
    found = re.search(r"\(byte (\d+)\)", message)
    offset = int(found[1]) if found else len(data)
    return unreadable_document(f"invalid JSON at {position(data, offset)}: {message.partition(' (byte')[0]}")


def _display_syntax_error(whole: bytes, offset: int, part: bytes, error: orjson.JSONDecodeError) -> str:
    if error.msg.startswith("depth limit"):
        return TOO_DEEP
    reason = NUMBER_TOO_LARGE if "infinity" in error.msg else f"invalid JSON: {error.msg}"
    before = part.decode(errors="replace")[: error.pos].encode()
    return f"{reason} at {position(whole, offset + len(before))}"


_JSON_START = re.compile(rb"\s*[\[{]")


def read_documents(data: bytes, name: str = "", shortcut: Shortcut | None = None) -> Iterator[Any]:
    """Yield what each document of a file holds, or ``Unreadable``; lists may yield their items lazily.

    What begins with a brace or a bracket is JSON, as for kubectl, unless it proves to be YAML's flow
    style in a file that may be YAML. A file named ``.json`` is never read as YAML.
    """
    text = _utf8(data)
    if isinstance(text, Unreadable):
        return iter([text])
    extension = PurePath(name.lower().removesuffix(".gz")).suffix
    if extension != ".json" and not _JSON_START.match(text):
        return yaml_documents(text)
    if (whole := _lazy_list(text, 0, text, shortcut)) is not None:
        return iter([whole])
    parts = split_documents(text)
    if isinstance(parts, Unreadable):
        may_be_yaml = extension in {".yaml", ".yml"} or (extension != ".json" and b"\n---" in text)
        return yaml_documents(text) if may_be_yaml else iter([parts])
    return json_documents(text, parts, shortcut)


def _utf8(data: bytes) -> bytes | Unreadable:
    """Drop the byte order mark, and bring UTF-16 to UTF-8."""
    encoding = "utf-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        if encoding == "utf-16":
            return data.decode(encoding).encode()
        if not data.isascii():
            data.decode(encoding)
    except UnicodeDecodeError as error:
        return unreadable_document(f"not valid {encoding.upper()} at {position(data, error.start)}")
    return data.removeprefix(codecs.BOM_UTF8)
