"""Attribute bindings: devices of a node to be that have one unknown value of an attribute (karpenter-dra 2.3, 3.6).

Bindings of an attribute are symmetric and transitive. A group of one device says nothing. A device that has the
attribute keeps its value, and is equal to no unknown one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from ...models.cluster.node_fit import term_matches
from ...models.kubernetes.core import Node
from ...models.kubernetes.karpenter import AttributeBinding, BoundDevice, ResourceSliceTemplate
from ...models.kubernetes.meta import ObjectMeta
from ...models.kubernetes.node_templates import PooledSlice
from ...models.kubernetes.slices import Device, DeviceAttribute, UnknownValue

_Place = tuple[int, int]
"""The numbers of a slice and of a device in it."""


def with_unknown_values(
    slices: Sequence[ResourceSliceTemplate], bindings: Sequence[AttributeBinding]
) -> tuple[PooledSlice, ...]:
    """Slices of a node with the unknown values that bindings give to their devices."""
    groups = _groups(slices, bindings)
    made = []
    for number, one in enumerate(slices):
        devices = one.devices and tuple(
            _bound(one.driver, device, groups.get((number, place), {})) for place, device in enumerate(one.devices)
        )
        made.append(
            PooledSlice(
                driver=one.driver,
                devices=devices,
                shared_counters=one.shared_counters,
                partition_type_attribute=one.partition_type_attribute,
                skip_node_operations=one.skip_node_operations,
                pool=one.pool,
            )
        )
    return tuple(made)


def is_reached(one: ResourceSliceTemplate, labels: Mapping[str, str]) -> bool:
    """The node itself reaches the devices that its driver publishes (karpenter-dra 2.2)."""
    if one.node_selector is None:
        return True
    node = Node(metadata=ObjectMeta(labels=dict(labels)))
    return any(
        labels.keys() >= set(term.match_label_keys or ())
        and (term_matches(term, node) if term.match_expressions or term.match_fields else bool(term.match_label_keys))
        for term in one.node_selector.node_selector_terms or ()
    )


def _groups(
    slices: Sequence[ResourceSliceTemplate], bindings: Sequence[AttributeBinding]
) -> dict[_Place, dict[str, str]]:
    """For each device its attributes of which the value is that of others, with a name for the group."""
    leaders: dict[tuple[str, _Place], _Place] = {}

    def leader(attribute: str, place: _Place) -> _Place:
        while (above := leaders.setdefault((attribute, place), place)) != place:
            place = above
        return place

    for binding in bindings:
        places = sorted({place for bound in _devices_of(binding) for place in _places(slices, bound)})
        for attribute in dict.fromkeys(filter(None, (binding.attribute, *(binding.attributes or ())))):
            for place in places:
                leaders[attribute, leader(attribute, place)] = leader(attribute, places[0])
    members: defaultdict[tuple[str, _Place], list[_Place]] = defaultdict(list)
    for attribute, place in sorted(leaders):
        members[attribute, leader(attribute, place)].append(place)
    found: defaultdict[_Place, dict[str, str]] = defaultdict(dict)
    for number, ((attribute, _), group) in enumerate(members.items()):
        for place in group if len(group) > 1 else ():
            found[place][attribute] = str(number)
    return found


def _devices_of(binding: AttributeBinding) -> tuple[BoundDevice, ...]:
    return (*(binding.device_selectors or ()), *(binding.devices or ()))


def _places(slices: Sequence[ResourceSliceTemplate], bound: BoundDevice) -> Iterator[_Place]:
    """Where the device is: in the template of that name, or in the driver's pool."""
    for number, one in enumerate(slices):
        if bound.template:
            fits = one.metadata.name == bound.template and bound.driver in ("", one.driver)
        else:
            fits = one.driver == bound.driver and bound.pool in ("", one.pool)
        if fits:
            for place, device in enumerate(one.devices or ()):
                if device.name == bound.device:
                    yield number, place


def _bound(driver: str, device: Device, groups: dict[str, str]) -> Device:
    known = {_qualified(driver, name) for name in device.attributes or ()}
    unknown: dict[str, DeviceAttribute] = {
        name: UnknownValue(token=group) for name, group in groups.items() if _qualified(driver, name) not in known
    }
    return structs.replace(device, attributes={**(device.attributes or {}), **unknown}) if unknown else device


def _qualified(driver: str, name: str) -> str:
    return name if "/" in name else f"{driver}/{name}"
