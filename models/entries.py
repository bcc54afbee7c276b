"""Entries beyond the API: those of the annotation ``drasat.dev/constraints`` and of ConstraintGroups (SOFT-1, SOFT-2).

The annotation's text is YAML or JSON, written by anybody: it is read once, within bounds, and strictly, as a misspelt
``weight`` would turn a wish into a must.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from .base import Int64, Model
from .claims import DeviceConstraint
from .json_documents import read_json
from .meta import ObjectMeta
from .strict import unknown_fields
from .structure import FieldProblem, to_object
from .unreadable import Unreadable, child_path
from .yaml_documents import yaml_documents

ANNOTATION = "drasat.dev/constraints"
# What all annotations of an object may have together.
TEXT_MAX = 262144
# What aliases may repeat, in characters.
ALIASED_MAX = 262144


class TopologyAsk(Model):
    """The shape that the devices of an entry must have in a ``DeviceTopology`` (TOPO-1, TOPO-2)."""

    name: str = ""
    shape: str = ""
    size: tuple[Int64, ...] | None = None
    orientation: str = ""
    max_distance: Int64 | None = None
    level: str = ""


class Entry(DeviceConstraint):
    """A constraint with all that the API does not know; without a weight it must hold (SOFT-1, SOFT-2)."""

    name: str = ""
    weight: Int64 | None = None
    per: str = ""
    topology: TopologyAsk | None = None


class EntryError(ValueError):
    """An annotation that cannot be read: a line for the first thing that is wrong, with its field."""


def annotated_entries(metadata: ObjectMeta) -> tuple[Entry, ...]:
    """Read the entries of the annotation; none without it.

    Raises ``EntryError`` for objects made in Python only: others are refused when they are read (``entry_problems``).
    """
    text = (metadata.annotations or {}).get(ANNOTATION)
    if text is None:
        return ()
    entries, problems = _read(text)
    for field, message in problems:
        raise EntryError(f"{child_path('metadata', 'annotations')}[{ANNOTATION}]{field}: {message}")
    return entries


def with_entries(metadata: ObjectMeta, entries: Sequence[Entry]) -> ObjectMeta:
    """Return metadata whose annotation has these entries instead."""
    text = msgspec.json.encode(entries).decode()
    return msgspec.structs.replace(metadata, annotations={**(metadata.annotations or {}), ANNOTATION: text})


def carried(*places: ObjectMeta | None) -> dict[str, str]:
    """Return the annotation alone, of the last of these that has it; empty if none has."""
    for place in reversed(places):
        if place is not None and place.annotations and ANNOTATION in place.annotations:
            return {ANNOTATION: place.annotations[ANNOTATION]}
    return {}


def entry_problems(metadata: ObjectMeta, path: str) -> Iterator[FieldProblem]:
    """Yield what makes the annotation unreadable, with the fields it is about; ``path`` is that of the metadata."""
    text = (metadata.annotations or {}).get(ANNOTATION)
    if text is not None:
        start = f"{path}.annotations[{ANNOTATION}]"
        yield from (FieldProblem(start + field, message) for field, message in _read(text)[1])


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[tuple[Entry, ...], tuple[FieldProblem, ...]]:
    """Read a text once for all that carry it: claims of one template are many."""
    value = _value(text)
    if isinstance(value, Unreadable):
        return (), tuple(FieldProblem(_joined(field), reason) for field, reason in value.reasons)
    if not isinstance(value, list):
        return (), (FieldProblem("", "Invalid value: must be a list of entries"),)
    entries: list[Entry] = []
    problems: list[FieldProblem] = []
    for index, item in enumerate(value):
        entry, found = to_object(item, Entry)
        found += unknown_fields(item, Entry, "")
        problems += (FieldProblem(f"[{index}]{_joined(field)}", message) for field, message in found)
        entries += [entry] if entry else []
    return tuple(entries), tuple(problems)


def _joined(field: str) -> str:
    return f".{field}" if field else ""


def _value(text: str) -> Any:
    """Parse the text: one list, or nothing at all. What is no JSON may be YAML's flow style."""
    data = text.encode(errors="backslashreplace")
    if len(data) > TEXT_MAX:
        return Unreadable((("", f"Too long: may not be more than {TEXT_MAX} bytes"),))
    if data.lstrip().startswith(b"["):
        value = read_json(data, 0, data)
        if not isinstance(value, Unreadable):
            return value
    documents = list(islice(yaml_documents(data, ALIASED_MAX), 2))
    if len(documents) > 1:
        return Unreadable((("", "Invalid value: must be one document"),))
    return documents[0] if documents and documents[0] is not None else []
