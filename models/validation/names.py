"""The rules of names (dra-semantics 2): each returns what is wrong with a text, nothing if it is fine.

Clusters repeat few names on many devices, so every check remembers its answers in a bounded cache.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from .findings import byte_length

Complaints = tuple[str, ...]

LABEL_MAX = 63
SUBDOMAIN_MAX = 253
DOMAIN_MAX = 63
IDENTIFIER_MAX = 32

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME_PART})?"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_name_part = re.compile(_NAME_PART).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_identifier = re.compile(_IDENTIFIER).fullmatch
_is_uuid = re.compile(_UUID).fullmatch

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_NAME_PART_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}')"
)
_KEY_TEXT = (
    f"a valid label key {_NAME_PART_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_LABEL_VALUE}')"
)
_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)

_remember = lru_cache(maxsize=16384)


def _too_long(text: str, limit: int, unit: str = "bytes") -> Complaints:
    """Bytes are counted, whatever the API server calls them."""
    return (f"must be no more than {limit} {unit}",) if byte_length(text) > limit else ()


def _shaped(fits: Callable[[str], object], text: str, complaint: str) -> Complaints:
    return () if fits(text) else (complaint,)


@_remember
def label(text: str) -> Complaints:
    """DNS-1123 label."""
    complaint = "must not contain dots" if _is_subdomain(text) else _LABEL_TEXT
    return _too_long(text, LABEL_MAX, "characters") + _shaped(_is_label, text, complaint)


@_remember
def subdomain(text: str) -> Complaints:
    """DNS-1123 subdomain."""
    return _too_long(text, SUBDOMAIN_MAX, "characters") + _shaped(_is_subdomain, text, _SUBDOMAIN_TEXT)


@_remember
def driver(text: str) -> Complaints:
    """Driver name: a subdomain in either case; its length (63) is checked apart, as Too long."""
    return _shaped(_is_subdomain, text.lower() if text.isascii() else text, _SUBDOMAIN_TEXT)


@_remember
def identifier(text: str) -> Complaints:
    """C identifier; its length (32) is checked apart, as Too long."""
    return _shaped(_is_identifier, text, _IDENTIFIER_TEXT)


@_remember
def label_value(text: str) -> Complaints:
    """Value of a label."""
    return _too_long(text, LABEL_MAX) + _shaped(_is_label_value, text, _LABEL_VALUE_TEXT)


def _prefix(text: str) -> Complaints:
    if not text:
        return ("prefix part must be non-empty",)
    complaints = _too_long(text, SUBDOMAIN_MAX) + _shaped(_is_subdomain, text, _SUBDOMAIN_TEXT)
    return tuple(f"prefix part {complaint}" for complaint in complaints)


def _name_part(text: str) -> Complaints:
    if not text:
        return ("name part must be non-empty", f"name part {_NAME_PART_TEXT}")
    complaints = _too_long(text, LABEL_MAX) + _shaped(_is_name_part, text, _NAME_PART_TEXT)
    return tuple(f"name part {complaint}" for complaint in complaints)


@_remember
def label_key(text: str) -> Complaints:
    """Key of a label, taint or condition: ``[subdomain/]name``."""
    head, *tail = text.split("/")
    if not tail:
        return _name_part(head)
    return _prefix(head) + _name_part(tail[0]) if len(tail) == 1 else (_KEY_TEXT,)


@_remember
def extended_resource(text: str) -> Complaints:
    """Name of an extended resource: a domain outside ``kubernetes.io``, fit for a quota (``requests.`` before it)."""
    if "/" not in text or "kubernetes.io/" in text or text.startswith("requests."):
        return ("must be an extended resource name: a name with a domain other than kubernetes.io",)
    return label_key(f"requests.{text}")


@_remember
def share_id(text: str) -> Complaints:
    """Share id of a device: a UUID in lower case."""
    return _shaped(_is_uuid, text, "must be a valid UUID in lower case")
