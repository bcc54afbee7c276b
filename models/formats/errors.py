"""What is wrong with the input: problems as values, each naming file, document, object and field.

A document that cannot be read is a value as well: the readers of JSON and YAML give ``Unreadable`` in its place.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import msgspec

Severity = Literal["error", "warning"]
# A kind, a namespace and a name as the API allows them are shorter.
_LONGEST_NAME = 400


def plural(number: int, noun: str) -> str:
    """Write a number and its noun: ``1 device``, ``2 devices``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Source(msgspec.Struct, frozen=True, order=True, gc=False):
    """Where an object was read: a document of a file, counted from 1; 0 means the file as a whole.

    ``items`` leads into a ``kind: List``, also counted from 1.
    """

    file: str
    document: int
    items: tuple[int, ...] = ()

    def item(self, number: int) -> Source:
        """Name an item of the list that stands here."""
        return Source(self.file, self.document, (*self.items, number))

    def __str__(self) -> str:
        document = [f"document {self.document}"] if self.document else []
        return " ".join([self.file, *document, *(f"item {number}" for number in self.items)])


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One thing that is wrong. ``name`` is ``namespace/name`` for an object in a namespace."""

    source: Source
    field: str
    message: str
    severity: Severity = "error"
    kind: str = ""
    name: str = ""

    def __str__(self) -> str:
        object_name = f"{self.kind} {self.name}".strip()
        if len(object_name) > _LONGEST_NAME:
            object_name = f"{object_name[: _LONGEST_NAME - 3]}..."
        warning = "warning" if self.severity == "warning" else ""
        # Messages of kubectl's hold the field.
        field = "" if f'"{self.field}"' in self.message else self.field
        return one_line(": ".join(filter(None, [str(self.source), object_name, warning, field, self.message])))


def merge_warnings(problems: Iterable[InputProblem]) -> list[InputProblem]:
    """The problems with one warning for all that say the same of objects of one kind: the first, and their number.

    Places in lists do not count.
    """
    merged: dict[Hashable, list[InputProblem]] = {}
    for problem in problems:
        same: Hashable = problem
        if problem.severity == "warning":
            file = "" if problem.kind else problem.source
            same = file, problem.kind, _INDEX.sub("[]", problem.field), _INDEX.sub("[]", problem.message)
        merged.setdefault(same, []).append(problem)
    return [
        replace(first, message=f"{first.message} ({1 + len(others)} times)") if others else first
        for first, *others in merged.values()
    ]


_INDEX = re.compile(r"\[[0-9]+\]")


class PeerError(RuntimeError):
    """A peer is missing or cannot be trusted: it crashed, hung, ran out of memory or talked nonsense. One line.

    Never means that something cannot be allocated: such an answer is a verdict.
    """


class InputError(Exception):
    """The input cannot be used; ``problems`` holds everything that was found, in reading order."""

    def __init__(self, problems: Iterable[InputProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def one_line(text: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Put the text on one line, without characters that move a terminal's cursor or change its colours.

    ``names`` are escapes of some characters that count before those of Python.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else names.get(c) or c.encode("unicode_escape").decode() for c in text)


def has_errors(problems: Iterable[InputProblem]) -> bool:
    """Whether any problem is more than a warning."""
    return any(problem.severity == "error" for problem in problems)


# Deeper documents are refused: no API object comes near, and every later step may then recurse.
MAX_DEPTH = 250
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
NUMBER_TOO_LARGE = "number too large"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in the place of a document that cannot be read: pairs of field path (may be empty) and reason."""

    reasons: tuple[tuple[str, str], ...]


def unreadable_document(reason: str) -> Unreadable:
    """Make the stand-in for a document with one thing wrong and no field to name."""
    return Unreadable((("", reason),))


def child_path(path: str, key: str) -> str:
    """Extend a field path by a field's name: ``spec`` and ``devices`` are ``spec.devices``."""
    return f"{path}.{key}" if path else key


def position(data: bytes, offset: int) -> str:
    """Name an offset of a text by line and column, both counted from 1, the column in bytes."""
    line = data.count(b"\n", 0, offset) + 1
    column = offset - data.rfind(b"\n", 0, offset)
    return f"line {line} column {column}"
