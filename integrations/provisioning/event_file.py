"""Files of events for the simulation: YAML or JSON lines, each event with the time at which it happens.

An event has ``time`` and one other field, which says what happens. What is wrong with an event has its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ...models.formats.errors import InputError, InputProblem, Source, Unreadable, has_errors
from ...models.formats.json import read_documents
from ...models.manifests.sources import InputSource, open_sources
from .event_forms import EVENT_FORMS, EventError
from .machine import ProvisioningEvent
from .state import ProvisioningState

_MOST_EVENTS = 100_000
_LONGEST_TIME = 10**9
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:[0-9]+[smhd])+", re.ASCII)


@dataclass(frozen=True, slots=True)
class FileEvent:
    """An event of a file: its place, when it happens, and what it says."""

    source: Source
    line: int | None
    time: int
    name: str
    value: Any

    def __str__(self) -> str:
        return EVENT_FORMS[self.name].describe(self.value)

    def problem(self, message: str) -> InputProblem:
        """Say what is wrong with the event."""
        where = self.source if self.line is None else f"{self.source.file} line {self.line}"
        return InputProblem(Source(str(where), 0), self.name, message)

    def resolve(self, state: ProvisioningState) -> list[ProvisioningEvent]:
        """Give what happens in a state; raises ``EventError`` if it cannot happen there."""
        return EVENT_FORMS[self.name].resolve(self.value, state)


def read_events(source: InputSource, max_input_size: int | str | None = None) -> list[FileEvent]:
    """Read a file of events, standard input for ``-``, or events given as mappings.

    Raises
    ------
    InputError
        With every event that is malformed, unknown, or earlier than the one before it, and its line.

    """
    problems: list[InputProblem] = []
    events: list[FileEvent] = []
    for read in open_sources([source], max_input_size=max_input_size):
        if read.failure:
            raise InputError([InputProblem(Source(read.name, 0), "", read.failure)])
        items = _mappings(read.objects) if read.objects is not None else _items(read.name, read.data, problems)
        for place, line, item in items:
            if len(events) == _MOST_EVENTS:
                raise InputError([InputProblem(place, "", f"more than {_MOST_EVENTS} events")])
            event = _read_event(place, line, item, problems)
            if event is not None:
                if events and event.time < events[-1].time:
                    earlier = f"is out of order: the event before it is at {events[-1].time} s"
                    problems.append(event.problem(f"at {event.time} s {earlier}"))
                events.append(event)
    if has_errors(problems):
        raise InputError(problems)
    return events


_Item = tuple[Source, int | None, Any]


def _mappings(objects: Iterable[Any]) -> Iterator[_Item]:
    return ((Source("(events)", number), None, item) for number, item in enumerate(objects, 1))


def _items(name: str, data: bytes, problems: list[InputProblem]) -> Iterator[_Item]:
    """Yield the events of a text with their lines: a document is an event or a list of events."""
    if not data or data.isspace():
        problems.append(InputProblem(Source(name, 0), "", "holds no events"))
        return
    lines = _item_lines(data)
    for number, document in enumerate(read_documents(data, name), 1):
        place = Source(name, number)
        if isinstance(document, Unreadable):
            problems.extend(InputProblem(place, field, reason) for field, reason in document.reasons)
        else:
            items = document if isinstance(document, list) else [document]
            for index, item in enumerate(items):
                yield place, lines.get((number, index)), item


def _item_lines(data: bytes) -> dict[tuple[int, int], int]:
    """Lines of the items of each document, by its number and theirs."""
    lines: dict[tuple[int, int], int] = {}
    document, depth, index, listed = 0, 0, 0, False
    try:
        for event in yaml.parse(data, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentStartEvent):
                document, depth, index, listed = document + 1, 0, 0, False
            elif isinstance(event, yaml.NodeEvent):
                if depth == 0 or (depth == 1 and listed):
                    lines[document, index] = event.start_mark.line + 1 if event.start_mark else 0
                    index += depth
                if isinstance(event, yaml.CollectionStartEvent):
                    listed = listed or (depth == 0 and isinstance(event, yaml.SequenceStartEvent))
                    depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except (yaml.YAMLError, ValueError):
        # JSON lines are no YAML: each line that is not blank is a document.
        filled = (number for number, text in enumerate(data.splitlines(), 1) if text.strip())
        return {(document, 0): number for document, number in enumerate(filled, 1)}
    return lines


def _read_event(place: Source, line: int | None, item: Any, problems: list[InputProblem]) -> FileEvent | None:
    def refuse(field: str, message: str) -> None:
        problems.append(FileEvent(place, line, 0, field, None).problem(message))

    if not isinstance(item, Mapping):
        refuse("", "an event is an object with time and what happens")
        return None
    names = [name for name in item if name != "time"]
    if len(names) != 1 or names[0] not in EVENT_FORMS:
        unknown = [str(name) for name in names if name not in EVENT_FORMS]
        said = f"unknown event {unknown[0]!r}" if unknown else f"has {len(names)} events"
        refuse("", f"{said}: an event has time and one of {', '.join(EVENT_FORMS)}")
        return None
    [name] = names
    time = read_seconds(item.get("time"))
    if time is None:
        refuse("time", "must be whole seconds, or a duration such as 1m30s, from 0 to 1e9 s")
        return None
    try:
        value = EVENT_FORMS[name].read(item[name])
    except EventError as error:
        refuse(name, str(error))
        return None
    return FileEvent(place, line, time, name, value)


def read_seconds(value: Any) -> int | None:
    """Read seconds, or a duration such as ``1m30s``; None for anything else."""
    if isinstance(value, str) and len(value) < 40 and _DURATION.fullmatch(value):
        value = sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"([0-9]+)([smhd])", value))
    known = isinstance(value, int) and not isinstance(value, bool)
    return value if known and 0 <= value <= _LONGEST_TIME else None
