"""Metadata of objects: their names and labels, the rules of these (dra-semantics 1 and 2), and label selectors.

The rules of names word what is wrong as the API server does. Clusters repeat few names on many devices, so every rule
remembers its answers to short texts in a bounded cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from ..formats.decode import INT64_MAX, INT64_MIN, Int64, Model


class OwnerReference(Model):
    """The object that made this one, e.g. the pod of a generated claim (SCHED-1)."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Model):
    """``metadata`` of any object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: Int64 | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class KubernetesObject(Model):
    """An object with a name, or a template of one."""

    metadata: ObjectMeta = ObjectMeta()


class Condition(Model):
    """An entry of ``status.conditions``: one thing that is so, or not, with the reason."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: Int64 | None = None


class NameReference(Model):
    """What a field refers to, of the kind that the field is for, by its name alone."""

    name: str = ""


class KindReference(Model):
    """An object by its kind and its name."""

    group: str = ""
    kind: str = ""
    name: str = ""


class StatedCondition(Model):
    """Whether a condition holds, and nothing else of it."""

    type: str = ""
    status: str = ""


# Driver and pool name; the name alone is not unique (CTR-5).
PoolId: TypeAlias = tuple[str, str]
# Driver, pool and device name.
DeviceId: TypeAlias = tuple[str, str, str]
# Namespace and name of a claim, pod or template.
ObjectKey: TypeAlias = tuple[str, str]
# What objects without a namespace belong to.
DEFAULT_NAMESPACE = "default"


def key_of(metadata: ObjectMeta) -> ObjectKey:
    """Namespace and name of a namespaced object."""
    return metadata.namespace or DEFAULT_NAMESPACE, metadata.name


def byte_length(text: str) -> int:
    """Length in UTF-8; the API's string limits count bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


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
_is_name_part = re.compile(_NAME_PART).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_identifier = re.compile(_IDENTIFIER).fullmatch
_is_uuid = re.compile(_UUID).fullmatch
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
SUBDOMAIN_TEXT = (
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
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 16384, 256


def _remember(rule: Callable[[str], Complaints]) -> Callable[[str], Complaints]:
    remembered = lru_cache(maxsize=_MOST_REMEMBERED)(rule)
    return lambda text: remembered(text) if len(text) <= _LONGEST_REMEMBERED else rule(text)


def _is_subdomain(text: str) -> bool:
    """Label by label: one pattern for all of them takes much memory on long texts."""
    return all(map(_is_label, text.split(".")))


def length_complaints(text: str, limit: int, unit: str = "bytes") -> Complaints:
    """What is wrong with the length of a text; bytes are counted, whatever the API server calls them (``unit``)."""
    return (f"must be no more than {limit} {unit}",) if byte_length(text) > limit else ()


def _complain_unless(fits: Callable[[str], object], text: str, complaint: str) -> Complaints:
    return () if fits(text) else (complaint,)


@_remember
def label_complaints(text: str) -> Complaints:
    """DNS-1123 label."""
    complaint = "must not contain dots" if _is_subdomain(text) else _LABEL_TEXT
    return length_complaints(text, LABEL_MAX, "characters") + _complain_unless(_is_label, text, complaint)


@_remember
def subdomain_complaints(text: str) -> Complaints:
    """DNS-1123 subdomain."""
    return length_complaints(text, SUBDOMAIN_MAX, "characters") + _complain_unless(_is_subdomain, text, SUBDOMAIN_TEXT)


@_remember
def driver_complaints(text: str) -> Complaints:
    """Driver name: a subdomain in either case; its length (63) is checked apart, as Too long."""
    return _complain_unless(_is_subdomain, text.lower() if text.isascii() else text, SUBDOMAIN_TEXT)


@_remember
def identifier_complaints(text: str) -> Complaints:
    """C identifier; its length (32) is checked apart, as Too long."""
    return _complain_unless(_is_identifier, text, _IDENTIFIER_TEXT)


@_remember
def label_value_complaints(text: str) -> Complaints:
    """Value of a label."""
    return length_complaints(text, LABEL_MAX) + _complain_unless(_is_label_value, text, _LABEL_VALUE_TEXT)


def _prefix_complaints(text: str) -> Complaints:
    if not text:
        return ("prefix part must be non-empty",)
    complaints = length_complaints(text, SUBDOMAIN_MAX) + _complain_unless(_is_subdomain, text, SUBDOMAIN_TEXT)
    return tuple(f"prefix part {complaint}" for complaint in complaints)


def _name_part_complaints(text: str) -> Complaints:
    if not text:
        return ("name part must be non-empty", f"name part {_NAME_PART_TEXT}")
    complaints = length_complaints(text, LABEL_MAX) + _complain_unless(_is_name_part, text, _NAME_PART_TEXT)
    return tuple(f"name part {complaint}" for complaint in complaints)


@_remember
def label_key_complaints(text: str) -> Complaints:
    """Key of a label, taint or condition: ``[subdomain/]name``."""
    head, *tail = text.split("/")
    if not tail:
        return _name_part_complaints(head)
    return _prefix_complaints(head) + _name_part_complaints(tail[0]) if len(tail) == 1 else (_KEY_TEXT,)


@_remember
def extended_resource_complaints(text: str) -> Complaints:
    """Name of an extended resource: a domain outside ``kubernetes.io``, fit for a quota (``requests.`` before it)."""
    if "/" not in text or "kubernetes.io/" in text or text.startswith("requests."):
        return ("must be an extended resource name: a name with a domain other than kubernetes.io",)
    return label_key_complaints(f"requests.{text}")


@_remember
def share_id_complaints(text: str) -> Complaints:
    """Share id of a device: a UUID in lower case."""
    return _complain_unless(_is_uuid, text, "must be a valid UUID in lower case")


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
        if label_key_complaints(self.key):
            raise LabelError(f"{self.key!r} is not a valid label key")
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


def _check_values(requirement: Requirement) -> None:
    for value in requirement.values:
        if label_value_complaints(value):
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
_SIGNS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}
_CLAUSES: tuple[tuple[re.Pattern[str], Callable[[str, str, str], Requirement]], ...] = (
    (
        re.compile(r"([^\s!=<>,()]+)\s+(in|notin)\s*\(([^()]*)\)"),
        lambda key, word, values: Requirement(key, _SIGNS[word], tuple(value.strip() for value in values.split(","))),
    ),
    (
        re.compile(r"([^\s!=<>,()]+)\s*(==|!=|=|>|<)\s*([^\s!=<>,()]*)"),
        lambda key, sign, value: Requirement(key, _SIGNS[sign], (value,)),
    ),
    (
        re.compile(r"(!?)\s*([^\s!=<>,()]+)()"),
        lambda absent, key, _: Requirement(key, "DoesNotExist" if absent else "Exists"),
    ),
)


def parse_label_selector(text: str) -> tuple[Requirement, ...]:
    """Read kubectl's label selector syntax: ``a=b,c!=d,e in (x,y),f notin (z),g,!h,i>3``.

    An empty text selects everything. Raises ``LabelError``, one line, if it cannot be parsed.
    """
    clauses = re.split(r",(?![^(]*\))", text) if text.strip() else []  # at the commas outside parentheses
    return tuple(_parse_clause(clause.strip()) for clause in clauses)


def matches_labels(requirements: Sequence[Requirement], labels: Mapping[str, str] | None) -> bool:
    """Whether the labels pass all requirements."""
    return all(requirement.matches(labels or {}) for requirement in requirements)


def _parse_clause(clause: str) -> Requirement:
    for pattern, make in _CLAUSES:
        if match := pattern.fullmatch(clause):
            requirement = make(*match.groups())
            requirement.check()
            return requirement
    raise LabelError(f"cannot parse {clause!r} in the label selector")
