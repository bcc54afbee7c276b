"""Requirements on labels, and kubectl's syntax for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..formats.model import INT64_MAX, INT64_MIN

_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


class LabelError(ValueError):
    """A requirement or a label selector that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A test of one label. Operators as in node selectors: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise ``LabelError`` unless the API could parse the requirement."""
        if self.operator not in _OPERATORS:
            raise LabelError(f"{self.operator!r} is not a valid label selector operator")
        _check_key(self.key)
        _OPERATORS[self.operator].check(self)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels pass; only for requirements that pass ``check``."""
        return _OPERATORS[self.operator].matches(self, labels.get(self.key))


@dataclass(frozen=True, slots=True)
class _Operator:
    """What a requirement's operator demands of the requirement itself, and of a label."""

    check: Callable[[Requirement], None]
    # The second argument is the label's value, None without the label.
    matches: Callable[[Requirement, str | None], bool]


def parse_int64(text: str) -> int | None:
    """An integer as the API reads it: decimal, optional sign, 64 bits; None if it is none."""
    if not _INTEGER.fullmatch(text) or len(text) > 100:
        return None
    number = int(text)
    return number if INT64_MIN <= number <= INT64_MAX else None


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if not name or not _LABEL_VALUE.fullmatch(name):
        raise LabelError(f"{key!r} is not a valid label key")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        raise LabelError(f"{key!r} is not a valid label key")


def _check_values(requirement: Requirement) -> None:
    for value in requirement.values:
        if not _LABEL_VALUE.fullmatch(value):
            raise LabelError(f"{value!r} is not a valid label value")


def _check_some(requirement: Requirement) -> None:
    if not requirement.values:
        raise LabelError(f"{requirement.operator} of label {requirement.key} needs values")
    _check_values(requirement)


def _check_none(requirement: Requirement) -> None:
    if requirement.values:
        raise LabelError(f"{requirement.operator} of label {requirement.key} must not have values")


def _check_number(requirement: Requirement) -> None:
    if len(requirement.values) != 1 or parse_int64(requirement.values[0]) is None:
        raise LabelError(f"{requirement.operator} of label {requirement.key} needs exactly one integer")
    _check_values(requirement)


def _number_test(compare: Callable[[int, int], bool]) -> Callable[[Requirement, str | None], bool]:
    def matches(requirement: Requirement, value: str | None) -> bool:
        number, bound = parse_int64(value or ""), parse_int64(requirement.values[0])
        return number is not None and bound is not None and compare(number, bound)

    return matches


_OPERATORS = {
    "In": _Operator(_check_some, lambda requirement, value: value in requirement.values),
    "NotIn": _Operator(_check_some, lambda requirement, value: value not in requirement.values),
    "Exists": _Operator(_check_none, lambda _, value: value is not None),
    "DoesNotExist": _Operator(_check_none, lambda _, value: value is None),
    "Gt": _Operator(_check_number, _number_test(lambda number, bound: number > bound)),
    "Lt": _Operator(_check_number, _number_test(lambda number, bound: number < bound)),
}
_SET_CLAUSE = re.compile(r"(?P<key>[^\s!=<>,()]+)\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)")
_COMPARISON = re.compile(r"(?P<key>[^\s!=<>,()]+)\s*(?P<sign>==|!=|=|>|<)\s*(?P<value>[^\s!=<>,()]*)")
_EXISTENCE = re.compile(r"(?P<absent>!?)\s*(?P<key>[^\s!=<>,()]+)")
_SIGNS = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}
_WORDS = {"in": "In", "notin": "NotIn"}


def _set_clause(match: re.Match[str]) -> Requirement:
    values = tuple(value.strip() for value in match["values"].split(","))
    return Requirement(match["key"], _WORDS[match["word"]], values)


def _comparison(match: re.Match[str]) -> Requirement:
    return Requirement(match["key"], _SIGNS[match["sign"]], (match["value"],))


def _existence(match: re.Match[str]) -> Requirement:
    return Requirement(match["key"], "DoesNotExist" if match["absent"] else "Exists")


_CLAUSES = ((_SET_CLAUSE, _set_clause), (_COMPARISON, _comparison), (_EXISTENCE, _existence))


def parse_label_selector(text: str) -> tuple[Requirement, ...]:
    """Read kubectl's label selector syntax: ``a=b,c!=d,e in (x,y),f notin (z),g,!h,i>3``.

    An empty text selects everything. Raises ``LabelError``, one line, if it cannot be parsed.
    """
    return tuple(_parse_clause(clause) for clause in _split(text)) if text.strip() else ()


def matches_labels(requirements: Sequence[Requirement], labels: Mapping[str, str] | None) -> bool:
    """Whether the labels pass all requirements."""
    return all(requirement.matches(labels or {}) for requirement in requirements)


def _split(text: str) -> list[str]:
    """Split at the commas outside parentheses."""
    return [clause.strip() for clause in re.split(r",(?![^(]*\))", text)]


def _parse_clause(clause: str) -> Requirement:
    for pattern, make in _CLAUSES:
        if match := pattern.fullmatch(clause):
            requirement = make(match)
            requirement.check()
            return requirement
    raise LabelError(f"cannot parse {clause!r} in the label selector")
