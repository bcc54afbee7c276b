"""Devices that the rules cannot tell apart: what is found of one of them goes for all.

Published devices differ in names and serial numbers, which hardly any selector reads. What a selector reads is taken
from its text, and only where the text leaves no doubt: all that it says of ``device`` are its driver, whether it may be
shared, and single attributes and capacities with constant names. Every other selector is asked about each device. An
attribute that is not read counts nevertheless, unless it is a plain number, text or truth value: others may be
unreadable, which fails every expression (CEL-3).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from ...models.kubernetes.claims import DeviceClass, DeviceRequestAllocationResult, RequestSpec, ResourceClaim
from ...models.kubernetes.slices import DeviceAttribute
from .published import PublishedDevice
from .requests import all_requested, is_admin

# A name with an opening bracket behind it is a function. Domains have no character that could end a text.
_READ = re.compile(
    r"""\bdevice\.(?:driver\b|allowMultipleAllocations\b|(attributes|capacity)\["""
    r"""(?:"([A-Za-z0-9./_-]*)"|'([A-Za-z0-9./_-]*)')\]\.([A-Za-z_][A-Za-z0-9_]*)\b(?!\s*\())"""
)
AttributeName: TypeAlias = tuple[str, str]
"""Domain and identifier."""
_encode = msgspec.msgpack.Encoder().encode


def attributes_read(expression: str) -> frozenset[AttributeName] | None:
    """The attributes that a selector can read; None where its text does not tell."""
    if "\\" in expression or "`" in expression or "device" in _READ.sub(" ", expression):
        return None
    found = _READ.finditer(expression)
    return frozenset((one[2] or one[3] or "", one[4]) for one in found if one[1] == "attributes")


class EqualDevices:
    """Tells which devices are equal to some selectors, and to constraints on attributes of these full ``names``."""

    def __init__(self, expressions: Collection[str], names: Collection[str] = ()) -> None:
        read = [attributes_read(expression) for expression in expressions]
        self._read = None if None in read else frozenset[AttributeName]().union(*filter(None, read))
        self._names = names
        # By driver and names of attributes: a number, and the positions of those that are read and of all others.
        self._seen: dict[tuple[str, tuple[str, ...]], tuple[int, Sequence[int], Sequence[int]]] = {}

    def key(self, entry: PublishedDevice) -> Hashable | None:
        """The same for devices that are equal to the selectors and in all capacities; None: nothing is known."""
        if self._read is None:
            return None
        device = entry.device
        attributes = device.attributes or {}
        names, values = (entry.id[0], tuple(attributes)), [*attributes.values()]
        known = self._seen.get(names)
        if known is None:
            known = self._seen[names] = len(self._seen), *self._split(*names)
        number, seen, others = known
        unlike: tuple[int, ...] = ()
        # Nearly all are plain; this is asked of each allocated device.
        for value in [values[position] for position in others]:
            if value.string is None and not is_plain(value):
                unlike = tuple(position for position in others if not is_plain(values[position]))
                break
        counted = [values[position] for position in (*seen, *unlike)]
        # Written down, amounts of different spelling differ.
        content = counted, device.capacity, device.allow_multiple_allocations, device.binding_conditions
        return number, unlike, _encode(content)

    def _split(self, driver: str, names: Sequence[str]) -> tuple[list[int], list[int]]:
        """Positions of the attributes that are read, under whichever spelling (CON-2), and of all others."""
        read = self._read or frozenset()
        named = [one.partition("/")[::2] for one in self._names]
        either = [*read, *named]
        spelt = {f"{domain}/{name}" for domain, name in either} | {name for domain, name in either if domain == driver}
        places = range(len(names))
        return [one for one in places if names[one] in spelt], [one for one in places if names[one] not in spelt]


def is_plain(value: DeviceAttribute) -> bool:
    """Whether expressions can run on a device with this attribute, whatever the value is."""
    return value.string is not None or value.int_value is not None or value.bool_value is not None


def equal_to_claims(claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> EqualDevices | None:
    """What is equal to all requests and constraints of claims; None where their texts do not tell what they read."""
    requests = [requested for claim in claims for _, requested in all_requested(claim)]
    constraints = [one for claim in claims for one in claim.spec.devices.constraints or ()]
    if any(_reads_more(one) for one in requests) or any(one.cel for one in constraints):
        return None
    named = {one.match_attribute or one.distinct_attribute or "" for one in constraints}
    return EqualDevices({*_selectors(requests, classes)}, named)


def _selectors(requests: Iterable[RequestSpec], classes: Mapping[str, DeviceClass]) -> Iterator[str]:
    for requested in requests:
        known = classes.get(requested.device_class_name)
        for one in (*((known.spec.selectors if known else None) or ()), *(requested.selectors or ())):
            if one.cel is not None:
                yield one.cel.expression


def _reads_more(requested: RequestSpec) -> bool:
    """Whether more is read of devices than selectors and constraints name."""
    return is_admin(requested) or bool(requested.derived_attributes)


def is_plain_result(result: DeviceRequestAllocationResult) -> bool:
    """Whether a result says nothing but which device it is."""
    return (
        result.admin_access is None
        and result.share_id is None
        and result.consumed_capacity is None
        and not result.tolerations
        and not result.binding_conditions
        and not result.binding_failure_conditions
        and not result.skip_node_operations
    )
