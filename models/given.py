"""Entries that a caller gives in Python, beside those of the claims."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from .entries import Entry
from .predicates import Predicate
from .strict import unknown_fields
from .structure import to_object
from .validation.entries import check_entries
from .validation.findings import Findings

Given: TypeAlias = Entry | Predicate


def given_entries(constraints: Iterable[Mapping[str, Any] | Predicate]) -> tuple[Given, ...]:
    """Read entries as the annotation ``drasat.dev/constraints`` has them; predicates stay what they are.

    Raises ``ValueError``, one line, for the first thing that is wrong.
    """
    found: list[Given] = []
    for index, item in enumerate(constraints):
        found.append(item if isinstance(item, Predicate) else _entry(index, item))
    findings = Findings()
    entries = tuple(one for one in found if isinstance(one, Entry))
    check_entries(findings, ("constraints",), entries, lambda _path, _entry: None)
    for problem in findings.problems:
        raise ValueError(str(problem))
    return tuple(found)


def _entry(index: int, item: Mapping[str, Any]) -> Entry:
    if not isinstance(item, Mapping):
        raise ValueError(f"constraints[{index}]: must be a mapping or a Predicate, not {type(item).__name__}")
    entry, problems = to_object(dict(item), Entry)
    for field, message in (*problems, *unknown_fields(dict(item), Entry, "")):
        raise ValueError(f"constraints[{index}]{'.' if field else ''}{field}: {message}")
    if entry is None:
        raise ValueError(f"constraints[{index}]: cannot be read")
    return entry
