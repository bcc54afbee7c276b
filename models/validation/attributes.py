"""Attributes of a device: their names and values (ATTR-1 to ATTR-3, CEL-10)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import astuple

from ..slices import DeviceAttribute
from ..versions import Version
from .checked_names import check_qualified
from .findings import STRUCTURE, FieldProblem, Findings, Key, Path, byte_length

VALUE_MAX = 64
VALUES_PER_DEVICE = 48
ENTRIES_PER_DEVICE = 32

# In order of the fields of DeviceAttribute; the first four are scalars.
_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(DeviceAttribute))
_UNSET = len(_FIELDS) - 1
_LIST_FIELDS = _FIELDS[4:]

Attributes = dict[str, DeviceAttribute]


def _check_string(found: Findings, path: Path, text: str) -> None:
    if byte_length(text) > VALUE_MAX:
        found.too_long(path, VALUE_MAX)


def _is_version(text: str) -> bool:
    """ATTR-3."""
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


def _check_version(found: Findings, path: Path, text: str) -> None:
    if not _is_version(text):
        found.invalid(path, text, "must be a string compatible with semver.org spec 2.0.0")
    _check_string(found, path, text)


def _accept(found: Findings, path: Path, value: Any) -> None:
    """Integers and booleans have no rule beyond their type."""


_SCALAR_RULES: dict[str, Callable[[Findings, Path, Any], None]] = {
    "int": _accept,
    "bool": _accept,
    "string": _check_string,
    "version": _check_version,
}


def _check_list(found: Findings, path: Path, field: str, items: Sequence[Any]) -> None:
    if not items:
        found.required(path, "must not be empty")
    rule = _SCALAR_RULES[field.removesuffix("s")]
    for index, item in enumerate(items):
        rule(found, (*path, index), item)


def _check_union(found: Findings, path: Path, attribute: DeviceAttribute, fields: list[str]) -> None:
    if not fields:
        found.required(path, "exactly one value must be specified")
    elif len(fields) > 1:
        found.invalid(path, attribute, "exactly one value must be specified", STRUCTURE)


def check_attribute(found: Findings, path: Path, attribute: DeviceAttribute) -> None:
    """One attribute value (ATTR-2)."""
    values = dict(zip(_FIELDS, astuple(attribute), strict=True))
    fields = [name for name, value in values.items() if value is not None]
    _check_union(found, path, attribute, fields)
    for field in fields:
        if field in _LIST_FIELDS:
            _check_list(found, (*path, field), field, values[field])
        else:
            _SCALAR_RULES[field](found, (*path, field), values[field])


@lru_cache(maxsize=16384)
def _version_fits(text: str) -> bool:
    return _is_version(text) and len(text) <= VALUE_MAX


# Scalars known to break no rule. Most values are on many devices; the rest would only fill the memory.
_PLAIN: set[DeviceAttribute] = set()
_PLAIN_MAX = 16384


def _is_plain(attribute: DeviceAttribute) -> bool:
    """Whether the attribute is a scalar that breaks no rule."""
    plain = _fits(astuple(attribute))
    if plain and len(_PLAIN) < _PLAIN_MAX:
        _PLAIN.add(attribute)
    return plain


def _fits(values: tuple[Any, ...]) -> bool:
    if values.count(None) != _UNSET:
        return False
    number, flag, text, version = values[:4]
    if text is not None:
        # A character takes at most four bytes.
        return len(text) * 4 <= VALUE_MAX or byte_length(text) <= VALUE_MAX
    if version is not None:
        return _version_fits(version)
    return number is not None or flag is not None


def has_list(attributes: Attributes | None) -> bool:
    """Whether some attribute is list-typed."""
    return any(_lists(attribute) for attribute in (attributes or {}).values())


def _lists(attribute: DeviceAttribute) -> list[Sequence[Any]]:
    return [items for items in astuple(attribute)[4:] if items is not None]


@lru_cache(maxsize=4096)
def _name_problems(names: tuple[str, ...], driver: str) -> tuple[FieldProblem, ...]:
    """Problems of the names a device of ``driver`` publishes. Most devices of a slice have the same: remembered."""
    found, published = Findings(), set(names)
    for name in names:
        check_qualified(found, (Key(name),), name)
        if (full := f"{driver}/{name}") in published:
            found.warning((Key(name),), f"also published as {full}: which of them CEL sees is unspecified (CEL-10)")
    return tuple(found.problems)


def check_names(found: Findings, path: Path, names: tuple[str, ...], driver: str) -> None:
    """Check the names of attributes or capacities."""
    if problems := _name_problems(names, driver):
        found.nested(path, problems)


def check_attributes(found: Findings, path: Path, attributes: Attributes, driver: str) -> bool:
    """Check all attributes of a device of ``driver``; says whether some value is a list (SLC-2)."""
    check_names(found, path, tuple(attributes), driver)
    lists = [] if _PLAIN.issuperset(attributes.values()) else _check_values(found, path, attributes)
    total = len(attributes) + sum(map(len, lists)) - len(lists)
    if total > VALUES_PER_DEVICE:
        detail = f"the total number of attribute values must not exceed {VALUES_PER_DEVICE}"
        found.invalid(path, total, detail)
    return bool(lists)


def _check_values(found: Findings, path: Path, attributes: Attributes) -> list[Sequence[Any]]:
    """Check the values one by one; returns those that are lists."""
    lists = []
    for name, attribute in attributes.items():
        if attribute in _PLAIN or _is_plain(attribute):
            continue
        check_attribute(found, (*path, Key(name)), attribute)
        lists += _lists(attribute)
    return lists
