"""What Kubernetes finds wrong with names, worded as its API machinery does; nothing for a good one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

Complaints: TypeAlias = list[str]
Check: TypeAlias = Callable[[str], Complaints]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"

_is_label = re.compile(_LABEL).fullmatch
_is_old_label = re.compile(_OLD_LABEL).fullmatch
_is_name = re.compile(_NAME).fullmatch
_is_value = re.compile(_VALUE).fullmatch


def _hint(pattern: str, *examples: str) -> str:
    listed = ",  or ".join(f"'{example}'" for example in examples)
    return f"(e.g. {listed}, regex used for validation is '{pattern}')"


_ENDS = "must start and end with an alphanumeric character"
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    f"{_ENDS} {_hint(_LABEL, 'my-name', '123-abc')}"
)
_OLD_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    f"and end with an alphanumeric character {_hint(_OLD_LABEL, 'my-name', 'abc-123')}"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    f"{_ENDS} {_hint(_SUBDOMAIN, 'example.com')}"
)
_NAME_TEXT = (
    f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS} "
    f"{_hint(_NAME, 'MyName', 'my.name', '123-abc')}"
)
_KEY_TEXT = f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_VALUE_TEXT = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ENDS} "
    f"{_hint(_VALUE, 'MyValue', 'my_value', '12345')}"
)


def _is_subdomain(text: str) -> bool:
    """Label by label: the one pattern for all takes much memory on long texts."""
    return all(map(_is_label, text.split(".")))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _limit(text: str, most: int, unit: str = "characters") -> Complaints:
    return [f"must be no more than {most} {unit}"] if _bytes(text) > most else []


def dns1123_label(text: str) -> Complaints:
    """A label: no dots, 63 characters."""
    complaints = _limit(text, 63)
    if not _is_label(text):
        complaints.append("must not contain dots" if _is_subdomain(text) else _LABEL_TEXT)
    return complaints


def dns1123_subdomain(text: str) -> Complaints:
    """Labels with dots between, 253 characters together."""
    return _limit(text, 253) + ([] if _is_subdomain(text) else [_SUBDOMAIN_TEXT])


def dns1035_label(text: str) -> Complaints:
    """A label that starts with a letter."""
    return _limit(text, 63) + ([] if _is_old_label(text) else [_OLD_LABEL_TEXT])


def label_value(text: str) -> Complaints:
    """The value of a label."""
    return _limit(text, 63, "bytes") + ([] if _is_value(text) else [_VALUE_TEXT])


def qualified_name(text: str) -> Complaints:
    """``name`` or ``prefix/name``."""
    first, *rest = text.split("/", 2)
    if len(rest) > 1:
        return [_KEY_TEXT]
    complaints = [f"prefix part {complaint}" for complaint in _prefix(first)] if rest else []
    return complaints + [f"name part {complaint}" for complaint in _name(rest[0] if rest else first)]


def _prefix(text: str) -> Complaints:
    if not text:
        return ["must be non-empty"]
    return _limit(text, 253, "bytes") if _bytes(text) > 253 else dns1123_subdomain(text)


def _name(text: str) -> Complaints:
    complaints = _limit(text, 63, "bytes") if text else ["must be non-empty"]
    return complaints if _is_name(text) else [*complaints, _NAME_TEXT]


def prefix_of(check: Check) -> Check:
    """The check of what a name is generated from; that may end in a dash."""

    def checked(text: str) -> Complaints:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return checked
