"""YAML documents to plain mappings, built from the C parser's events.

Scalars mean what they mean for kubectl's reader (sigs.k8s.io/yaml on go-yaml v2). That is YAML 1.1 with corrections:
yes, no, on, off, y and n are booleans, numbers may hold underscores, timestamps and sexagesimal numbers stay strings.
Stricter here: infinities, NaN, integers beyond float and unknown tags are refused.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml._yaml import CParser

from .errors import MAX_DEPTH, NUMBER_TOO_LARGE, TOO_DEEP, Unreadable, unreadable_document

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
        yield unreadable_document(f"more than {MAX_YAML_BYTES >> 20} MiB of YAML; write it as JSON")
        return
    start = 0
    for _ in range(_MAX_BAD_DOCUMENTS):
        builder = _YamlBuilder(data[start:], data.count(b"\n", 0, start), max_aliased)
        try:
            yield from builder.documents()
        except _DocumentRefused as error:
            yield unreadable_document(error.reason)
            offset = start + builder.byte_offset(error.index)
            found = re.compile(rb"^---", re.MULTILINE).search(data, offset)
        else:
            return
        if found is None:
            return
        start = found.start()
    yield unreadable_document(f"not read further after {_MAX_BAD_DOCUMENTS} bad documents")


class _DocumentRefused(Exception):
    """The document at hand cannot be read; ``index`` counts characters of the builder's text."""

    def __init__(self, reason: str, index: int) -> None:
        self.reason = reason
        self.index = index


class _YamlBuilder:
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
        """Yield each document. Raises ``_DocumentRefused`` for what ends the reading of this text."""
        try:
            while not isinstance(event := self._next_event(), yaml.StreamEndEvent):
                if isinstance(event, yaml.DocumentStartEvent):
                    self._start_document()
                    value = self._node(self._next_event())
                    yield Unreadable(tuple(self._duplicates)) if self._duplicates else value
        except yaml.MarkedYAMLError as error:
            # The scanner reads ahead, and has a limit of its own from libyaml 0.2.6 on.
            too_deep = "nesting depth" in (error.problem or "")
            reason = TOO_DEEP if too_deep else f"invalid YAML: {self._display_error(error)}"
            raise self._refused(reason, error.problem_mark) from None
        except yaml.reader.ReaderError as error:
            line = self._first_line + self._text.count(b"\n", 0, error.position) + 1
            raise _DocumentRefused(f"invalid YAML: {error.reason} at line {line}", len(self._text)) from None
        except RecursionError:
            raise _DocumentRefused(TOO_DEEP, len(self._text)) from None

    def byte_offset(self, index: int) -> int:
        """Turn a count of characters into one of bytes."""
        return index if self._text.isascii() else len(self._text.decode()[:index].encode())

    def _refused(self, reason: str, mark: Any) -> _DocumentRefused:
        if mark is None:
            return _DocumentRefused(reason, len(self._text))
        return _DocumentRefused(f"{reason} at line {self._line(mark)} column {mark.column + 1}", mark.index)

    def _display_error(self, error: yaml.MarkedYAMLError) -> str:
        """Word a syntax error, with the line of the construct that it breaks."""
        broken = f"{error.context} of line {self._line(error.context_mark)}" if error.context_mark else error.context
        return ", ".join(filter(None, [broken, error.problem]))

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
            reason = "holds itself" if event.anchor in self._anchors else "is not defined"
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
            if type(event) is _Scalar and event.value == _MERGE and event.implicit[0] and event.tag is None:
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


_MAPS: dict[Any, str] = {
    None: "~ null Null NULL",
    True: "y Y yes Yes YES true True TRUE on On ON",
    False: "n N no No NO false False FALSE off Off OFF",
}
_WORDS: dict[str, Any] = {"": None, **{word: value for value, words in _MAPS.items() for word in words.split()}}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_FRACTION = re.compile(r"\._.*|\..*_")  # oddities of go-yaml's
_DIGITS = re.compile(r"[-+]?[0-9]+")
_LONGEST_INTEGER = 70  # a sign, 0b and 64 digits, with some room
_BASES = {"x": 16, "o": 8, "b": 2}


class ScalarError(ValueError):
    """A scalar without a value in JSON."""


def resolve(text: str) -> Any:
    """Give the value of a plain scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _NUMBER_STARTS else text


def _number(text: str) -> Any:
    """Read a number, or give back the text if it is none."""
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is not a finite number")
    plain = text if _NO_FRACTION.fullmatch(text) else text.replace("_", "")
    if len(plain) <= _LONGEST_INTEGER and _INTEGER.fullmatch(plain):
        value = _integer(plain)
        if -(2**63) <= value < 2**64:
            return value
    return _float(plain, text) if _FLOAT.fullmatch(plain) else text


def _integer(plain: str) -> int:
    digits = plain.lstrip("+-")
    base = 10
    if digits[0] == "0" and len(digits) > 1:
        base = _BASES.get(digits[1].lower(), 8)
    value = int(digits, base)
    return -value if plain[0] == "-" else value


def _float(plain: str, text: str) -> str | int | float:
    value = float(plain)
    digits = _DIGITS.fullmatch(plain)
    if math.isinf(value):
        if digits:
            raise ScalarError(f"{NUMBER_TOO_LARGE}: {plain[:20]}...")
        return text  # more likely a part of a hash than a number
    # Digits that are no integer above are like 08, or have more than 64 bits.
    return int(value) if digits and abs(value) < 2**53 else value


def _typed(*types: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = resolve(text)
        if type(value) not in types:
            raise ScalarError(f'"{text}" does not fit its tag')
        return value

    return read


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True).decode()
    except ValueError:
        raise ScalarError("!!binary holds no base64 of UTF-8 text") from None


_TAG = "tag:yaml.org,2002:"
_READERS: dict[str, Callable[[str], Any]] = {
    "!": str,
    _TAG + "str": str,
    _TAG + "timestamp": str,
    _TAG + "int": _typed(int),
    _TAG + "float": _typed(int, float),
    _TAG + "bool": _typed(bool),
    _TAG + "null": _typed(type(None)),
    _TAG + "binary": _decoded,
}
COLLECTION_TAGS = {"map": frozenset({None, "!", _TAG + "map"}), "seq": frozenset({None, "!", _TAG + "seq"})}


def resolve_tagged(text: str, tag: str) -> Any:
    """Give the value of a scalar with a tag."""
    if tag not in _READERS:
        raise ScalarError(unknown_tag(tag))
    return _READERS[tag](text)


def unknown_tag(tag: str) -> str:
    """Word the reason for refusing a tag."""
    return f"unknown tag {tag.replace(_TAG, '!!')}"


def key_text(value: Any) -> str:
    """Turn a key that is no string into one, as JSON needs it: ``1`` to "1", ``yes`` to "true"."""
    writer = _KEY_WRITERS.get(type(value))
    if writer is None:
        raise ScalarError("a key must be a string, a number or a boolean")
    return writer(value)


def _float_key(value: float) -> str:
    """Write a float as go-yaml's users see it: the fewest digits that single precision needs."""
    try:
        single = struct.pack("<f", value)
    except OverflowError:
        raise ScalarError(NUMBER_TOO_LARGE) from None
    texts = (f"{value:.{digits}e}" for digits in range(17))
    shortest = next(text for text in texts if struct.pack("<f", float(text)) == single)
    mantissa, _, exponent = shortest.partition("e")
    if not -4 <= int(exponent) < 6:
        return shortest
    return f"{value:.{max(len(mantissa.lstrip('-').replace('.', '')) - 1 - int(exponent), 0)}f}"


_KEY_WRITERS: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: str(value).lower(),
    int: str,
    float: _float_key,
}
