"""Constraints between the devices of a claim, judged on the finished set (section 13, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ...models.claims import DeviceConstraint
from ...models.gates import FeatureGates
from ...models.slices import DeviceAttribute
from .published import Published

# The base type and the elements; scalar values are told from lists by the third part.
Typed: TypeAlias = tuple[str, tuple[bool | int | str, ...], bool]
Member: TypeAlias = tuple[Published, Mapping[str, Typed]]

_SCALARS = {"int_value": "int", "bool_value": "bool", "string": "string", "version": "version"}
_LISTS = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}


def typed(attribute: DeviceAttribute) -> Typed:
    """The value of an attribute with its base type; base type "" for none."""
    for field, kind in _SCALARS.items():
        value = getattr(attribute, field)
        if value is not None:
            return kind, (value,), False
    for field, kind in _LISTS.items():
        values = getattr(attribute, field)
        if values is not None:
            return kind, tuple(values), True
    return "", (), False


def covers(constraint: DeviceConstraint, request: str) -> bool:
    """CON-1: whether the constraint applies to results of ``request`` (``name`` or ``name/sub``)."""
    named = constraint.requests or ()
    return not named or request in named or request.split("/")[0] in named


def violations(constraint: DeviceConstraint, members: Sequence[Member], gates: FeatureGates) -> Iterator[str]:
    """What is wrong with the devices under one constraint, each as ``RULE: text``."""
    matching = constraint.match_attribute is not None
    attribute = constraint.match_attribute or constraint.distinct_attribute
    if attribute is None or (not matching and gates.variant == "stable"):
        yield "PRE-12: the constraint has no type"
        return
    values = [_lookup(attribute, *member) for member in members]
    for (entry, _), value in zip(members, values, strict=True):
        if value is None:
            yield f"CON-3: device {entry.device.name} has no attribute {attribute}"
    found = [value for value in values if value is not None]
    if gates.list_attributes:
        yield from _as_sets(attribute, found, matching)
    else:
        yield from _as_scalars(attribute, found, matching)


def _lookup(attribute: str, entry: Published, derived: Mapping[str, Typed]) -> Typed | None:
    """CON-2, CON-12."""
    domain, _, name = attribute.partition("/")
    published = entry.device.attributes or {}
    spellings = [attribute, name] if domain == entry.driver else [attribute]
    for spelling in spellings:
        if spelling in derived:
            return derived[spelling]
    for spelling in spellings:
        if spelling in published:
            return typed(published[spelling])
    return None


def _as_sets(attribute: str, values: Sequence[Typed], matching: bool) -> Iterator[str]:
    """CON-7, CON-8."""
    sets = [{(kind, value) for value in elements} for kind, elements, _ in values]
    if matching:
        if sets and not set.intersection(*sets):
            yield f"CON-7: the devices have no value of {attribute} in common"
        return
    if any(not elements for elements in sets[1:]):
        yield f"CON-8: a device has no value of {attribute}"
    if sum(map(len, sets)) != len(set().union(*sets)):
        yield f"CON-7: two devices share a value of {attribute}"


def _as_scalars(attribute: str, values: Sequence[Typed], matching: bool) -> Iterator[str]:
    """CON-4, CON-5, CON-9."""
    if len(values) > 1 and any(is_list for _, _, is_list in values):
        yield f"CON-9: {attribute} is a list, and list attributes are off"
        return
    distinct = len({(kind, elements) for kind, elements, _ in values})
    if matching and distinct > 1:
        yield f"CON-4: the devices differ in {attribute}"
    if not matching and distinct < len(values):
        yield f"CON-5: two devices have the same {attribute}"
