"""What devices publish: attributes (ATTR-1 to ATTR-3, CEL-10), counters (CNT-1) and capacities.

Request policies of capacities are checked in exact arithmetic (POL-1 to POL-3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import methodcaller
from typing import Any

import msgspec
from msgspec.structs import astuple

from ..formats.decode import INT64_MAX, QuantityText
from ..kubernetes import slices
from ..kubernetes.meta import byte_length, label_complaints
from ..kubernetes.semver import Version
from ..kubernetes.slices import CapacityRange, DeviceAttribute, DeviceCapacity
from .findings import STRUCTURE, FieldProblem, Findings, MapKey, Path, parse_nano

ATTRIBUTE_VALUE_MAX = 64
VALUES_PER_DEVICE = 48
ENTRIES_PER_DEVICE = 32
# In order of the fields of DeviceAttribute; the first four are scalars.
_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(DeviceAttribute))
_UNSET = len(_FIELDS) - 1
_LIST_FIELDS = _FIELDS[4:]
Attributes = dict[str, DeviceAttribute]


def _check_string(findings: Findings, path: Path, text: str) -> None:
    if byte_length(text) > ATTRIBUTE_VALUE_MAX:
        findings.too_long(path, ATTRIBUTE_VALUE_MAX)


def _is_version(text: str) -> bool:
    """ATTR-3."""
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


def _check_version(findings: Findings, path: Path, text: str) -> None:
    if not _is_version(text):
        findings.invalid(path, text, "must be a string compatible with semver.org spec 2.0.0")
    _check_string(findings, path, text)


def _accept_any(findings: Findings, path: Path, value: Any) -> None:
    """Integers and booleans have no rule beyond their type."""


_SCALAR_RULES: dict[str, Callable[[Findings, Path, Any], None]] = {
    "int": _accept_any,
    "bool": _accept_any,
    "string": _check_string,
    "version": _check_version,
}


def check_attribute(findings: Findings, path: Path, attribute: DeviceAttribute) -> None:
    """One attribute value (ATTR-2)."""
    values = dict(zip(_FIELDS, astuple(attribute), strict=True))
    fields = [name for name, value in values.items() if value is not None]
    if not fields:
        findings.required(path, "exactly one value must be specified")
    elif len(fields) > 1:
        findings.invalid(path, attribute, "exactly one value must be specified", STRUCTURE)
    for field in fields:
        rule, value = _SCALAR_RULES[field.removesuffix("s")], values[field]
        if field not in _LIST_FIELDS:
            rule(findings, (*path, field), value)
            continue
        if not value:
            findings.required((*path, field), "must not be empty")
        for index, item in enumerate(value):
            rule(findings, (*path, field, index), item)


@lru_cache(maxsize=16384)
def _version_fits(text: str) -> bool:
    return _is_version(text) and len(text) <= ATTRIBUTE_VALUE_MAX


# Values known to break no rule. Most are on many devices; the rest would only fill the memory.
_PLAIN_VALUES: set[DeviceAttribute | DeviceCapacity] = set()
_PLAIN_MAX = 16384
_VALUES = methodcaller("values")


def are_plain(published: Sequence[Mapping[str, DeviceAttribute | DeviceCapacity]], driver: str) -> bool:
    """Whether devices of ``driver`` publish nothing but scalars, or amounts without a policy, that break no rule.

    They are attributes or capacities by name, of all devices of a slice together: most names and values are repeated.
    """
    for names in {tuple(of_device) for of_device in published}:
        if len(names) > VALUES_PER_DEVICE or _name_problems(names, driver):
            return False
    return all(map(_is_plain, {*chain.from_iterable(map(_VALUES, published))} - _PLAIN_VALUES))


def _is_plain(value: DeviceAttribute | DeviceCapacity) -> bool:
    """Whether it is a scalar, or an amount without a policy, that breaks no rule."""
    if isinstance(value, DeviceAttribute):
        number, flag, text, version, *_ = values = astuple(value)
        if values.count(None) != _UNSET:
            plain = False
        elif text is not None:
            plain = (len(text) if text.isascii() else byte_length(text)) <= ATTRIBUTE_VALUE_MAX
        else:
            plain = _version_fits(version) if version is not None else number is not None or flag is not None
    else:
        plain = value.request_policy is None and parse_nano(value.value) is not None
    if plain and len(_PLAIN_VALUES) < _PLAIN_MAX:
        _PLAIN_VALUES.add(value)
    return plain


def has_list(attributes: Attributes | None) -> bool:
    """Whether some attribute is list-typed."""
    return any(_list_values(attribute) for attribute in (attributes or {}).values())


def _list_values(attribute: DeviceAttribute) -> list[Sequence[Any]]:
    return [items for items in astuple(attribute)[4:] if items is not None]


@lru_cache(maxsize=4096)
def _name_problems(names: tuple[str, ...], driver: str) -> tuple[FieldProblem, ...]:
    """Problems of the names a device of ``driver`` publishes. Most devices of a slice have the same: remembered."""
    findings, published = Findings(), set(names)
    for name in names:
        findings.check_qualified((MapKey(name),), name)
        if (full := f"{driver}/{name}") in published:
            findings.warning(
                (MapKey(name),), f"also published as {full}: which of them CEL sees is unspecified (CEL-10)"
            )
    return tuple(findings.problems)


def check_names(findings: Findings, path: Path, names: tuple[str, ...], driver: str) -> None:
    """Check the names of attributes or capacities."""
    if problems := _name_problems(names, driver):
        findings.nested(path, problems)


def check_attributes(findings: Findings, path: Path, attributes: Attributes, driver: str) -> bool:
    """Check all attributes of a device of ``driver``; says whether some value is a list (SLC-2)."""
    check_names(findings, path, tuple(attributes), driver)
    lists = []
    for name, attribute in attributes.items():
        if attribute not in _PLAIN_VALUES and not _is_plain(attribute):
            check_attribute(findings, (*path, MapKey(name)), attribute)
            lists += _list_values(attribute)
    total = len(attributes) + sum(map(len, lists)) - len(lists)
    if total > VALUES_PER_DEVICE:
        findings.invalid(path, total, f"the total number of attribute values must not exceed {VALUES_PER_DEVICE}")
    return bool(lists)


SETS_MAX = 8
COUNTERS_MAX = 32
CONSUMPTIONS_MAX = 2
# Counters known to be well written: partitions repeat few amounts.
_KNOWN_COUNTERS: set[slices.Counter] = set()
_KNOWN_COUNTERS_MAX = 16384


@lru_cache(maxsize=4096)
def bad_labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that are no labels. Those of counters, and of the devices of a slice, are often the same."""
    return tuple(name for name in names if label_complaints(name))


def _check_counters(findings: Findings, path: Path, counters: dict[str, slices.Counter] | None) -> None:
    if not counters:
        findings.required(path)
        return
    if len(counters) > COUNTERS_MAX:
        findings.too_many(path, len(counters), COUNTERS_MAX)
    for name in bad_labels(tuple(counters)):
        findings.each_invalid((*path, MapKey(name)), name, label_complaints(name))
    if _KNOWN_COUNTERS.issuperset(counters.values()):
        return
    for name, counter in counters.items():
        if parse_nano(counter.value) is None:
            findings.check_quantity((*path, MapKey(name), "value"), counter.value)
        elif len(_KNOWN_COUNTERS) < _KNOWN_COUNTERS_MAX:
            _KNOWN_COUNTERS.add(counter)


def check_counter_sets(findings: Findings, path: Path, sets: tuple[slices.CounterSet, ...]) -> None:
    """``sharedCounters`` of a slice."""
    findings.at_most(path, sets, SETS_MAX)
    findings.unique(path, (counter_set.name for counter_set in sets), ("name",))
    for index, counter_set in enumerate(sets):
        findings.check_label((*path, index, "name"), counter_set.name)
        _check_counters(findings, (*path, index, "counters"), counter_set.counters)


def check_consumption(findings: Findings, path: Path, consumed: tuple[slices.DeviceCounterConsumption, ...]) -> None:
    """``consumesCounters`` of a device."""
    if len(consumed) > 1:
        findings.at_most(path, consumed, CONSUMPTIONS_MAX)
        findings.unique(path, (entry.counter_set for entry in consumed), ("counterSet",))
    for index, entry in enumerate(consumed):
        findings.check_label((*path, index, "counterSet"), entry.counter_set)
        _check_counters(findings, (*path, index, "counters"), entry.counters)


VALID_VALUES_MAX = 10
_NANO = 10**9
_NANO_PER_MILLI = 10**6
_ABOVE_CAPACITY = "must be less than or equal to the capacity value"


def check_policy(
    findings: Findings, path: Path, policy: slices.CapacityRequestPolicy, capacity: QuantityText, fractional: bool
) -> None:
    """Check a policy of a capacity of ``capacity`` in total.

    ``fractional`` lets ranges with steps work in thousandths (DRAFractionalCapacityRange).
    """
    values, bounds = policy.valid_values or (), policy.valid_range
    if values and bounds is not None:
        findings.forbidden(path, "`validValues` and `validRange` exclude each other", STRUCTURE)
    if policy.default is None and (values or bounds is not None):
        findings.required((*path, "default"), "required with `validValues` or `validRange`")
    if bounds is not None and bounds.min is None:
        findings.required((*path, "validRange", "min"), category=STRUCTURE)
    problems = len(findings.problems)
    _check_spelling(findings, path, policy)
    total = parse_nano(capacity)
    if total is None or len(findings.problems) > problems:
        return
    _check_default(findings, path, policy, total)
    _check_valid_values(findings, (*path, "validValues"), values, policy.default, total)
    if bounds is not None and bounds.min is not None:
        _check_range(findings, path, bounds, policy.default, total, fractional)


def _check_spelling(findings: Findings, path: Path, policy: slices.CapacityRequestPolicy) -> None:
    bounds = policy.valid_range or CapacityRange()
    named: list[tuple[Path, QuantityText | None]] = [
        (("default",), policy.default),
        (("validRange", "min"), bounds.min),
        (("validRange", "max"), bounds.max),
        (("validRange", "step"), bounds.step),
    ]
    named += [(("validValues", index), value) for index, value in enumerate(policy.valid_values or ())]
    for field, text in named:
        if text is not None:
            findings.check_quantity((*path, *field), text)


def _check_default(findings: Findings, path: Path, policy: slices.CapacityRequestPolicy, total: int) -> None:
    default = parse_nano(policy.default)
    if default is None:
        return
    if default > total:
        findings.warning(
            (*path, "default"), "above the capacity value: requests that do not name the capacity never fit"
        )
    allowed = [parse_nano(value) for value in policy.valid_values or ()]
    if allowed and default not in allowed:
        findings.invalid((*path, "default"), policy.default, "must be one of `validValues`")


def _check_valid_values(
    findings: Findings, path: Path, values: tuple[QuantityText, ...], default: QuantityText | None, total: int
) -> None:
    """POL-2."""
    findings.at_most(path, values, VALID_VALUES_MAX)
    previous: int | None = None
    for index, text in enumerate(values):
        amount = parse_nano(text) or 0
        if amount > total:
            findings.invalid((*path, index), text, _ABOVE_CAPACITY)
        if previous is not None and amount == previous:
            findings.duplicate((*path, index), text)
        elif previous is not None and amount < previous:
            findings.invalid((*path, index), text, "values must be sorted in ascending order")
        previous = amount


def _check_range(
    findings: Findings, path: Path, bounds: CapacityRange, default: QuantityText | None, total: int, fractional: bool
) -> None:
    """POL-3, for a range with a minimum."""
    where = (*path, "validRange")
    low, high, usual = parse_nano(bounds.min or 0) or 0, parse_nano(bounds.max), parse_nano(default)
    for name, text in (("min", bounds.min), ("max", bounds.max)):
        amount = parse_nano(text)
        if amount is not None and amount > total:
            findings.invalid((*where, name), text, _ABOVE_CAPACITY)
        if amount is not None and (amount < 0 or _round_up(amount) > INT64_MAX):
            findings.invalid((*where, name), text, f"must be between 0 and {INT64_MAX}")
    if usual is not None and low > usual:
        findings.invalid((*path, "default"), default, "must be greater than or equal to `validRange.min`")
    if usual is not None and high is not None and high < usual:
        findings.invalid((*path, "default"), default, "must be less than or equal to `validRange.max`")
    if high is not None and high < low:
        findings.invalid((*where, "max"), bounds.max, "must be greater than or equal to `validRange.min`")
    if bounds.step is not None:
        _check_step(findings, path, bounds, default, total, fractional)


def _round_up(amount: int) -> int:
    """Round up to the integer value of a quantity."""
    return -(-amount // _NANO)


def _check_step(
    findings: Findings, path: Path, bounds: CapacityRange, default: QuantityText | None, total: int, fractional: bool
) -> None:
    step, low, high = parse_nano(bounds.step or 0) or 0, parse_nano(bounds.min or 0) or 0, parse_nano(bounds.max)
    where = (*path, "validRange", "step")
    if step <= 0:
        # Rounding to steps divides by it, so there is nothing to lift.
        findings.invalid(where, bounds.step, "must be greater than zero", STRUCTURE)
        return
    known = [amount for amount in (low, high, step) if amount is not None]
    # Whole thousandths that fit 64 bits (CAP-4).
    milli = all(amount % _NANO_PER_MILLI == 0 and amount // _NANO_PER_MILLI <= INT64_MAX for amount in known)
    scale: Callable[[int], int] = int if fractional and milli else _round_up
    if scale(low) + scale(step) > scale(total):
        findings.invalid(where, bounds.step, "`validRange.min` plus the step must not exceed the capacity value")
    _check_multiple(findings, (*path, "default"), default, bounds, scale)
    _check_multiple(findings, (*path, "validRange", "max"), bounds.max, bounds, scale)


def _check_multiple(
    findings: Findings, path: Path, text: QuantityText | None, bounds: CapacityRange, scale: Callable[[int], int]
) -> None:
    amount, low, step = parse_nano(text), parse_nano(bounds.min), parse_nano(bounds.step)
    if amount is None or low is None or step is None or not (scale(amount) - scale(low)) % scale(step):
        return
    findings.invalid(path, text, f"must be a multiple of the step {bounds.step} from `validRange.min` {bounds.min}")
