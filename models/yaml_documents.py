"""YAML documents to plain mappings, built from the C parser's events."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml._yaml import CParser

from .unreadable import MAX_DEPTH, TOO_DEEP, Unreadable, unreadable
from .yaml_scalars import COLLECTION_TAGS, ScalarError, key_text, resolve, resolve_tagged, unknown_tag

MAX_YAML_BYTES = 128 * 2**20
# What aliases may repeat in one document, in characters of the text they stand for.
MAX_ALIASED = 16 * 2**20
_MAX_BAD_DOCUMENTS = 20
_MAX_REMEMBERED = 200_000

_Scalar, _Alias = yaml.ScalarEvent, yaml.AliasEvent
_Mapping, _MappingEnd = yaml.MappingStartEvent, yaml.MappingEndEvent
_Sequence, _SequenceEnd = yaml.SequenceStartEvent, yaml.SequenceEndEvent
_MERGE = "<<"
_UNFINISHED = object()


def yaml_documents(data: bytes, max_aliased: int = MAX_ALIASED) -> Iterator[Any]:
    """Yield the value of each document, or ``Unreadable``; reading goes on at the next ``---``.

    Refused are duplicate keys, deep nesting, unknown tags, aliases that grow beyond
    ``max_aliased`` characters or hold themselves, and files above ``MAX_YAML_BYTES``.
    """
    if len(data) > MAX_YAML_BYTES:
        yield unreadable(f"more than {MAX_YAML_BYTES >> 20} MiB of YAML; write it as JSON")
        return
    start: int | None = 0
    for _ in range(_MAX_BAD_DOCUMENTS):
        builder = _Builder(data[start:], data.count(b"\n", 0, start), max_aliased)
        try:
            yield from builder.documents()
        except _Refused as error:
            yield unreadable(error.reason)
            start = _next_document(data, (start or 0) + builder.byte_offset(error.index))
        else:
            return
        if start is None:
            return
    yield unreadable(f"not read further after {_MAX_BAD_DOCUMENTS} bad documents")


def _next_document(data: bytes, offset: int) -> int | None:
    found = re.compile(rb"^---", re.MULTILINE).search(data, offset)
    return found.start() if found else None


class _Refused(Exception):
    """The document at hand cannot be read; ``index`` counts characters of the builder's text."""

    def __init__(self, reason: str, index: int) -> None:
        self.reason = reason
        self.index = index


class _Builder:
    """Builds values from events. A file is read by one builder, or by several if it holds errors."""

    def __init__(self, text: bytes, first_line: int, max_aliased: int) -> None:
        self._text = text
        self._first_line = first_line
        self._max_aliased = max_aliased
        self._next_event = CParser(text).get_event
        self._builders: dict[type, Callable[[Any], Any]] = {
            _Scalar: self._scalar,
            _Mapping: self._mapping,
            _Sequence: self._sequence,
            _Alias: self._alias,
        }
        self._values: dict[str, Any] = {}
        self._keys: dict[str, str] = {}
        self._depth = 0
        self._start_document()

    def _start_document(self) -> None:
        self._anchors: dict[str, Any] = {}
        self._weights: dict[str, int] = {}
        self._aliased = 0
        self._duplicates: list[tuple[str, str]] = []

    def documents(self) -> Iterator[Any]:
        """Yield each document. Raises ``_Refused`` for what ends the reading of this text."""
        try:
            while not isinstance(event := self._next_event(), yaml.StreamEndEvent):
                if isinstance(event, yaml.DocumentStartEvent):
                    self._start_document()
                    value = self._node(self._next_event())
                    yield Unreadable(tuple(self._duplicates)) if self._duplicates else value
        except yaml.MarkedYAMLError as error:
            raise self._refused(f"invalid YAML: {self._told(error)}", error.problem_mark) from None
        except yaml.reader.ReaderError as error:
            raise self._bad_character(error) from None
        except RecursionError:
            raise _Refused(TOO_DEEP, len(self._text)) from None

    def byte_offset(self, index: int) -> int:
        """Turn a count of characters into one of bytes."""
        return index if self._text.isascii() else len(self._text.decode()[:index].encode())

    def _refused(self, reason: str, mark: Any) -> _Refused:
        if mark is None:
            return _Refused(reason, len(self._text))
        return _Refused(f"{reason} at line {self._line(mark)} column {mark.column + 1}", mark.index)

    def _told(self, error: yaml.MarkedYAMLError) -> str:
        """Word a syntax error, with the line of the construct that it breaks."""
        broken = f"{error.context} of line {self._line(error.context_mark)}" if error.context_mark else error.context
        return ", ".join(filter(None, [broken, error.problem]))

    def _bad_character(self, error: yaml.reader.ReaderError) -> _Refused:
        line = self._first_line + self._text.count(b"\n", 0, error.position) + 1
        return _Refused(f"invalid YAML: {error.reason} at line {line}", len(self._text))

    def _line(self, mark: Any) -> int:
        return int(self._first_line + mark.line + 1)

    def _node(self, event: Any) -> Any:
        build = self._builders[type(event)]
        if event.anchor is None or build == self._alias:
            return build(event)
        return self._anchored(event, build)

    def _anchored(self, event: Any, build: Callable[[Any], Any]) -> Any:
        """Build a node that aliases may repeat, and remember what a repetition weighs."""
        name = event.anchor
        aliased_before = self._aliased
        self._anchors[name] = _UNFINISHED
        value = self._anchors[name] = build(event)
        length = self._end.index - event.start_mark.index if build != self._scalar else len(event.value)
        self._weights[name] = max(length, 1) + self._aliased - aliased_before
        return value

    def _alias(self, event: Any) -> Any:
        value = self._anchors.get(event.anchor, _UNFINISHED)
        if value is _UNFINISHED:
            known = event.anchor in self._anchors
            reason = "holds itself" if known else "is not defined"
            raise self._refused(f"anchor {event.anchor} {reason}", event.start_mark)
        self._aliased += self._weights[event.anchor]
        if self._aliased > self._max_aliased:
            raise self._refused("aliases repeat too much", event.start_mark)
        return value

    def _scalar(self, event: Any) -> Any:
        if event.tag is None and not event.implicit[0]:
            return event.value
        text = event.value
        try:
            if event.tag is not None:
                return resolve_tagged(text, event.tag)
            return self._plain(text)
        except ScalarError as error:
            raise self._refused(str(error), event.start_mark) from None

    def _plain(self, text: str) -> Any:
        """Resolve a plain scalar once for all its occurrences, which then share one object."""
        try:
            return self._values[text]
        except KeyError:
            if len(self._values) >= _MAX_REMEMBERED:
                self._values.clear()
            value = self._values[text] = resolve(text)
            return value

    def _sequence(self, event: Any) -> list[Any]:
        self._enter(event, "seq")
        next_event, node = self._next_event, self._node
        values = []
        while type(event := next_event()) is not _SequenceEnd:
            values.append(node(event))
        self._leave(event)
        return values

    def _mapping(self, event: Any) -> dict[str, Any]:
        self._enter(event, "map")
        next_event, node = self._next_event, self._node
        values: dict[str, Any] = {}
        merged: set[str] = set()
        while type(event := next_event()) is not _MappingEnd:
            if _is_merge(event):
                self._merge(values, merged, event)
                continue
            key = self._key(event)
            if key in values and key not in merged:
                self._duplicates.append(("", f'duplicate key "{key}" at line {self._line(event.start_mark)}'))
            merged.discard(key)
            values[key] = node(next_event())
        self._leave(event)
        return values

    def _enter(self, event: Any, kind: str) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refused(TOO_DEEP, event.start_mark)
        if event.tag not in COLLECTION_TAGS[kind]:
            raise self._refused(unknown_tag(event.tag), event.start_mark)

    def _leave(self, event: Any) -> None:
        self._depth -= 1
        self._end = event.end_mark

    def _key(self, event: Any) -> str:
        """Give the text of a key, the same object for all its occurrences."""
        if type(event) is _Scalar and event.implicit[0] and event.anchor is None:
            known = self._keys.get(event.value)
            if known is not None:
                return known
        value = self._node(event)
        try:
            key = key_text(value)
        except ScalarError as error:
            raise self._refused(str(error), event.start_mark) from None
        if type(event) is _Scalar and event.implicit[0] and len(self._keys) < _MAX_REMEMBERED:
            self._keys[event.value] = key
        return key

    def _merge(self, values: dict[str, Any], merged: set[str], event: Any) -> None:
        """Take over the entries of other mappings (``<<``); as for kubectl, what stands later wins."""
        value = self._node(self._next_event())
        mappings = value if isinstance(value, list) else [value]
        if not all(isinstance(mapping, dict) for mapping in mappings):
            raise self._refused("<< needs a mapping or a list of mappings", event.start_mark)
        for mapping in reversed(mappings):
            values.update(mapping)
            merged.update(mapping)


def _is_merge(event: Any) -> bool:
    return type(event) is _Scalar and event.value == _MERGE and event.implicit[0] and event.tag is None
