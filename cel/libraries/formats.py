"""Named formats of strings, and ``validate``, which gives none for a valid string, else what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..estimate_sizes import scaled, times
from ..library import Estimate, Function, Range
from ..types import FORMAT, STRING, list_of, optional_of
from ..values import NONE, Optional, Value, register, size_of
from .costs import REGEX_FACTOR, STRING_FACTOR, Rule, part
from .declare import function, method, only
from .name_rules import (
    Check,
    Complaints,
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    label_value,
    prefix_of,
    qualified_name,
)
from .quoting import go_quote
from .time_text import is_date
from .urls import parse_url

# What the estimate takes for the longest pattern of any format.
_LONGEST_PATTERN = Range(128, 128)


@dataclass(frozen=True, slots=True, eq=False)
class NamedFormat:
    """A format: its name, its check, and the length of the pattern that its cost is counted by."""

    name: str
    check: Check
    pattern: int


register(NamedFormat, FORMAT)

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
# The offset is not looked at, as upstream does not.
_DATETIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def _uri(text: str) -> Complaints:
    try:
        parse_url(text)
    except ValueError as error:
        return [f"parse {go_quote(text)}: {error}"]
    return []


def _uuid(text: str) -> Complaints:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> Complaints:
    return [] if len(text) % 4 == 0 and _BASE64.fullmatch(text) else ["invalid base64"]


def _date(text: str) -> Complaints:
    match = _DATE.fullmatch(text)
    return [] if match and is_date(*map(int, match.groups())) else ["invalid date"]


def _datetime(text: str) -> Complaints:
    match = _DATETIME.fullmatch(text)
    if match:
        year, month, day, hour, minute, second = map(int, match.groups())
        if is_date(year, month, day) and hour < 24 and minute < 60 and second < 60:
            return []
    return ["invalid datetime"]


_FORMATS = {
    one.name: one
    for one in (
        NamedFormat("dns1123Label", dns1123_label, 30),
        NamedFormat("dns1123Subdomain", dns1123_subdomain, 60),
        NamedFormat("dns1035Label", dns1035_label, 30),
        NamedFormat("qualifiedName", qualified_name, 60),
        NamedFormat("dns1123LabelPrefix", prefix_of(dns1123_label), 30),
        NamedFormat("dns1123SubdomainPrefix", prefix_of(dns1123_subdomain), 60),
        NamedFormat("dns1035LabelPrefix", prefix_of(dns1035_label), 30),
        NamedFormat("labelValue", label_value, 40),
        NamedFormat("uri", _uri, 1103),
        NamedFormat("uuid", _uuid, 70),
        NamedFormat("byte", _byte, 84),
        NamedFormat("date", _date, 71),
        NamedFormat("datetime", _datetime, 71),
    )
}


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(checked: NamedFormat, text: str) -> Optional:
    complaints = checked.check(text)
    return Optional(complaints) if complaints else NONE


def _constant(one: NamedFormat) -> Function:
    return only(f"format.{one.name}", function(f"format_{one.name}", (), FORMAT, lambda: one))


def _validate_cost(args: tuple[Value, ...], result: Value) -> int:
    return part(size_of(args[1]) + 1, STRING_FACTOR) * part(args[0].pattern, REGEX_FACTOR)


_VALIDATE: Rule = {
    "cost": _validate_cost,
    "estimate": lambda operands: Estimate(
        times(scaled(operands[1].size, STRING_FACTOR), scaled(_LONGEST_PATTERN, REGEX_FACTOR))
    ),
}

FUNCTIONS: tuple[Function, ...] = (
    *map(_constant, _FORMATS.values()),
    only("format.named", function("format_named", (STRING,), optional_of(FORMAT), _named)),
    only(
        "validate",
        method("format_validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate, **_VALIDATE),
    ),
)
