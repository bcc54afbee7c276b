"""The types that Kubernetes adds: quantities, versions, and named formats of strings.

``validate`` returns what is wrong with a string, worded as the API machinery words it, and none for a valid string.
URLs and dates are imported when a format needs them: their modules load slowly, and few expressions name formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ...models.kubernetes import meta
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.semver import Version
from ..declarations import Estimate, Function, Range
from ..errors import CelRuntimeError
from ..meter import check_size
from ..types import BOOL, DOUBLE, FORMAT, INT, QUANTITY, SEMVER, STRING, list_of, optional_of
from ..values import NONE, Optional, Value, register, size_of
from .declare import REGEX_FACTOR, STRING_FACTOR, CostRule, cost_per_length, function, is_read_by, method, scaled_cost


class ComputedQuantity(Quantity):
    """The result of adding or subtracting.

    Upstream holds it by reference, and its ``==`` fails when such a value stands on the right.
    """

    __slots__ = ()

    @classmethod
    def of(cls, value: Quantity) -> ComputedQuantity:
        """Mark a quantity as computed."""
        return cls(value.nano, value.format, value.scale, value.small)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    __hash__ = Quantity.__hash__


register(Quantity, QUANTITY)
register(ComputedQuantity, QUANTITY, by_reference=True)


def _parse_quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ValueError as error:
        raise CelRuntimeError(str(error)) from None


def _as_integer(quantity: Quantity) -> int:
    integer = quantity.integer
    if integer is None:
        raise CelRuntimeError("cannot convert value to integer")
    return integer


def _quantity_of_int(number: int) -> Quantity:
    return Quantity(number * NANO, scale=0, small=True)


_TWO_QUANTITIES = (QUANTITY, QUANTITY)
_WITH_INT = (QUANTITY, INT)
QUANTITY_FUNCTIONS: tuple[Function, ...] = (
    function("quantity", "string_to_quantity", (STRING,), QUANTITY, _parse_quantity, **cost_per_length()),
    function("isQuantity", "is_quantity_string", (STRING,), BOOL, is_read_by(Quantity.parse), **cost_per_length()),
    function("sign", "quantity_sign", (QUANTITY,), INT, lambda q: (q.nano > 0) - (q.nano < 0)),
    method("isGreaterThan", "quantity_is_greater_than", _TWO_QUANTITIES, BOOL, lambda a, b: a.nano > b.nano),
    method("isLessThan", "quantity_is_less_than", _TWO_QUANTITIES, BOOL, lambda a, b: a.nano < b.nano),
    method(
        "compareTo", "quantity_compare_to", _TWO_QUANTITIES, INT, lambda a, b: (a.nano > b.nano) - (a.nano < b.nano)
    ),
    method("asApproximateFloat", "quantity_get_float", (QUANTITY,), DOUBLE, float),
    method("asInteger", "quantity_get_int", (QUANTITY,), INT, _as_integer),
    method("isInteger", "quantity_is_integer", (QUANTITY,), BOOL, lambda q: q.integer is not None),
    method("add", "quantity_add", _TWO_QUANTITIES, QUANTITY, lambda a, b: ComputedQuantity.of(a + b)),
    method("add", "quantity_add_int", _WITH_INT, QUANTITY, lambda a, b: ComputedQuantity.of(a + _quantity_of_int(b))),
    method("sub", "quantity_sub", _TWO_QUANTITIES, QUANTITY, lambda a, b: ComputedQuantity.of(a - b)),
    method("sub", "quantity_sub_int", _WITH_INT, QUANTITY, lambda a, b: ComputedQuantity.of(a - _quantity_of_int(b))),
)
register(Version, SEMVER)


# Characters of a version that are read within a tenth of a second.
_MOST_OF_A_VERSION = 100_000


def _parse_semver(text: str, normalize: bool = False) -> Version:
    check_size(len(text), _MOST_OF_A_VERSION)
    try:
        return Version.parse_normalized(text) if normalize else Version.parse(text)
    except ValueError as error:
        raise CelRuntimeError(str(error)) from None


def _int64(number: int) -> int:
    """Upstream counts in uint64 and converts without a look."""
    return number if number < 2**63 else number - 2**64


_TWO_SEMVERS = (SEMVER, SEMVER)
SEMVER_FUNCTIONS: tuple[Function, ...] = (
    function("semver", "string_to_semver", (STRING,), SEMVER, _parse_semver, **cost_per_length()),
    function("semver", "string_bool_to_semver", (STRING, BOOL), SEMVER, _parse_semver, **cost_per_length()),
    function("isSemver", "is_semver_string", (STRING,), BOOL, is_read_by(_parse_semver), **cost_per_length()),
    function("isSemver", "is_semver_string_bool", (STRING, BOOL), BOOL, is_read_by(_parse_semver), **cost_per_length()),
    method("major", "semver_major", (SEMVER,), INT, lambda v: _int64(v.major)),
    method("minor", "semver_minor", (SEMVER,), INT, lambda v: _int64(v.minor)),
    method("patch", "semver_patch", (SEMVER,), INT, lambda v: _int64(v.patch)),
    method("isGreaterThan", "semver_is_greater_than", _TWO_SEMVERS, BOOL, lambda a, b: a.key > b.key),
    method("isLessThan", "semver_is_less_than", _TWO_SEMVERS, BOOL, lambda a, b: a.key < b.key),
    method("compareTo", "semver_compare_to", _TWO_SEMVERS, INT, lambda a, b: (a.key > b.key) - (a.key < b.key)),
)
# What the estimate takes for the longest pattern of any format.
_LONGEST_PATTERN = Range(128, 128)


Complaints: TypeAlias = list[str]
Check: TypeAlias = Callable[[str], Complaints]


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
    from .networks import parse_url
    from .strings import go_quote

    try:
        parse_url(text)
    except ValueError as error:
        return [f"parse {go_quote(text)}: {error}"]
    return []


def _is_date(year: int, month: int, day: int) -> bool:
    from .times import is_date

    return is_date(year, month, day)


def _date(text: str) -> Complaints:
    match = _DATE.fullmatch(text)
    return [] if match and _is_date(*map(int, match.groups())) else ["invalid date"]


def _datetime(text: str) -> Complaints:
    match = _DATETIME.fullmatch(text)
    if match:
        year, month, day, hour, minute, second = map(int, match.groups())
        if _is_date(year, month, day) and hour < 24 and minute < 60 and second < 60:
            return []
    return ["invalid datetime"]


def _validate(checked: NamedFormat, text: str) -> Optional:
    complaints = checked.check(text)
    return Optional(complaints) if complaints else NONE


def _validate_cost(args: tuple[Value, ...], result: Value) -> int:
    return scaled_cost(size_of(args[1]) + 1, STRING_FACTOR) * scaled_cost(args[0].pattern, REGEX_FACTOR)


_VALIDATE: CostRule = {
    "cost": _validate_cost,
    "estimate": lambda operands: Estimate(
        operands[1].size.scaled(STRING_FACTOR) * _LONGEST_PATTERN.scaled(REGEX_FACTOR)
    ),
}
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_is_old_label = re.compile(_OLD_LABEL).fullmatch
_OLD_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_OLD_LABEL}')"
)


def _listed(rule: Callable[[str], tuple[str, ...]]) -> Check:
    return lambda text: list(rule(text))


_dns1123_label, _dns1123_subdomain = _listed(meta.label_complaints), _listed(meta.subdomain_complaints)


def _dns1035_label(text: str) -> Complaints:
    """A label that starts with a letter."""
    complaints = list(meta.length_complaints(text, meta.LABEL_MAX, "characters"))
    return complaints if _is_old_label(text) else [*complaints, _OLD_LABEL_TEXT]


def _qualified_name(text: str) -> Complaints:
    """``name`` or ``prefix/name``; the length of a prefix hides what else is wrong with it."""
    complaints = list(meta.label_key_complaints(text))
    prefix, *rest = text.split("/")
    if len(rest) == 1 and meta.byte_length(prefix) > meta.SUBDOMAIN_MAX:
        return [complaint for complaint in complaints if complaint != f"prefix part {meta.SUBDOMAIN_TEXT}"]
    return complaints


def _prefix_of(check: Check) -> Check:
    """The check of what a name is generated from; that may end in a dash."""

    def checked(text: str) -> Complaints:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return checked


_FORMATS = {
    one.name: one
    for one in (
        NamedFormat("dns1123Label", _dns1123_label, 30),
        NamedFormat("dns1123Subdomain", _dns1123_subdomain, 60),
        NamedFormat("dns1035Label", _dns1035_label, 30),
        NamedFormat("qualifiedName", _qualified_name, 60),
        NamedFormat("dns1123LabelPrefix", _prefix_of(_dns1123_label), 30),
        NamedFormat("dns1123SubdomainPrefix", _prefix_of(_dns1123_subdomain), 60),
        NamedFormat("dns1035LabelPrefix", _prefix_of(_dns1035_label), 30),
        NamedFormat("labelValue", _listed(meta.label_value_complaints), 40),
        NamedFormat("uri", _uri, 1103),
        NamedFormat("uuid", lambda text: [] if _UUID.fullmatch(text) else ["does not match the UUID format"], 70),
        NamedFormat(
            "byte", lambda text: [] if len(text) % 4 == 0 and _BASE64.fullmatch(text) else ["invalid base64"], 84
        ),
        NamedFormat("date", _date, 71),
        NamedFormat("datetime", _datetime, 71),
    )
}
NAMED_FORMAT_FUNCTIONS: tuple[Function, ...] = (
    *(
        function(f"format.{name}", f"format_{name}", (), FORMAT, partial(_FORMATS.__getitem__, name))
        for name in _FORMATS
    ),
    function(
        "format.named",
        "format_named",
        (STRING,),
        optional_of(FORMAT),
        lambda name: Optional(_FORMATS[name]) if name in _FORMATS else NONE,
    ),
    method("validate", "format_validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate, **_VALIDATE),
)
