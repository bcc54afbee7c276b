"""Devices that several nodes reach: what all nodes together take of them is counted by meters of the instance.

Devices that nothing planned can tell apart, and that the same nodes reach, are one class with one meter; so is each
counter of their pools. What cannot be counted so, devices that several claims may hold at once and those with
compatibility groups, is left to one node of those that reach it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import gcd

from ....models.identity import DeviceId, PoolId
from ....problem.records import InUse
from ....problem.shapes import NodeView, Shape
from ..instance import Row, Terms
from .node_kinds import NodeKind


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """Devices of pools that several nodes reach, of which any may stand for any other; they are free."""

    devices: tuple[DeviceId, ...]


@dataclass
class SharedDevices:
    """The meters: ``classes`` of devices come first, then counters, each with what there is of it."""

    classes: list[DeviceClass] = field(default_factory=list)
    counters: list[tuple[PoolId, str, str]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    _metered: dict[int, list[dict[int, int]]] = field(default_factory=dict)
    _steps: dict[tuple[PoolId, str, str], int] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """No more is taken of anything than there is."""
        return [Row(Terms(usage={meter: 1}), upper=limit) for meter, limit in enumerate(self.limits)]

    def of(self, node: NodeKind) -> tuple[Mapping[int, int], ...]:
        """For each meter what each device of such a node counts."""
        empty: list[dict[int, int]] = [{} for _ in self.limits]
        return tuple(self._metered.get(node.index, empty))


def shared_devices(nodes: Sequence[NodeKind], states: Mapping[int, tuple[Sequence[NodeView], InUse]]) -> SharedDevices:
    """Find the meters. ``states`` holds for each node kind its view for every kind of unit, and what is in use."""
    found = SharedDevices()
    left_alone = {pool for node in nodes for pool in node.foreign}
    reaching: dict[DeviceId, dict[int, tuple[int, Hashable]]] = defaultdict(dict)
    for node in nodes:
        views, in_use = states[node.index]
        pools = {pool.id for pool in node.shared} - left_alone
        for number, device in enumerate(views[0].devices if views and pools else ()):
            if device.id[:2] in pools and device.reachable and number not in in_use.dedicated:
                seen = tuple(view.shape.profiles[number].index for view in views)
                reaching[device.id][node.index] = number, seen
    classes: dict[Hashable, list[DeviceId]] = defaultdict(list)
    for id_, places in sorted(reaching.items()):
        classes[id_[:2], tuple((node, seen) for node, (_, seen) in sorted(places.items()))].append(id_)
    for ids in classes.values():
        found.classes.append(DeviceClass(tuple(ids)))
        found.limits.append(len(ids))
    _meter_counters(found, nodes, states, left_alone)
    for node in nodes:
        if node.shared:
            found._metered[node.index] = _metered(found, node, *states[node.index], reaching)  # noqa: SLF001 - its maker
    return found


def _meter_counters(
    found: SharedDevices,
    nodes: Iterable[NodeKind],
    states: Mapping[int, tuple[Sequence[NodeView], InUse]],
    left_alone: AbstractSet[PoolId],
) -> None:
    """Add a meter for each counter of a shared pool, in steps of what devices draw from it."""
    amounts: dict[tuple[PoolId, str, str], list[int]] = defaultdict(list)
    left: dict[tuple[PoolId, str, str], int] = {}
    for node in nodes:
        views, in_use = states[node.index]
        if not node.shared or not views:
            continue
        names = _rows(views[0])
        shared = {pool.id for pool in node.shared} - left_alone
        for row, available in enumerate(in_use.available):
            if names[row][0] in shared:
                left[names[row]] = available
        for device, drawn in views[0].shape.counters.consumption.items():
            if device not in in_use.dedicated:
                for row, amount in drawn:
                    if names[row][0] in shared:
                        amounts[names[row]].append(amount)
    for name in sorted(left):
        step = gcd(*amounts[name]) or 1
        found._steps[name] = step  # noqa: SLF001 - its maker
        found.counters.append(name)
        found.limits.append(max(0, left[name]) // step)


def _rows(view: NodeView) -> list[tuple[PoolId, str, str]]:
    """Pool, set and name of each counter row of a view."""
    counters = view.shape.counters
    return [(view.pools[pool].id, *name) for pool, name in zip(counters.pool_of_row, counters.names, strict=True)]


def _metered(
    found: SharedDevices,
    node: NodeKind,
    views: Sequence[NodeView],
    in_use: InUse,
    reaching: Mapping[DeviceId, Mapping[int, tuple[int, Hashable]]],
) -> list[dict[int, int]]:
    meters: list[dict[int, int]] = []
    for own in found.classes:
        places = (reaching[id_].get(node.index) for id_ in own.devices)
        meters.append({place[0]: 1 for place in places if place is not None})
    drawn = _drawn(views[0].shape, _rows(views[0])) if views else {}
    for name in found.counters:
        step = found._steps[name]  # noqa: SLF001 - its maker
        meters.append({device: amount // step for device, amount in drawn.get(name, {}).items()})
    return meters


def _drawn(shape: Shape, names: Sequence[tuple[PoolId, str, str]]) -> dict[tuple[PoolId, str, str], dict[int, int]]:
    found: dict[tuple[PoolId, str, str], dict[int, int]] = defaultdict(dict)
    for device, drawn in shape.counters.consumption.items():
        for row, amount in drawn:
            found[names[row]][device] = amount
    return found
