"""What objectives see of a node: which devices lie close together, how large they are, what a card has in all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..models.cluster.cluster import Cluster
from ..models.cluster.pools import COMPLETE
from ..models.kubernetes.quantity import Quantity
from ..models.kubernetes.slices import published_value
from .asks import VisibleAttributes
from .problem import NodeContext
from .shapes import NodeView

# Attributes that every driver gives one meaning; a claim adds those that its constraints compare.
STANDARD_GROUPINGS = ("resource.kubernetes.io/pcieRoot",)
# The size of the largest device there could be.
FULL_SIZE = 1_000_000
CapacityName = tuple[str, str]
"""Driver and name."""


class NodeContextBuilder:
    """Makes landscapes of one cluster; equal ones are one object."""

    def __init__(self, cluster: Cluster) -> None:
        self._largest = cluster.memo("largest capacities", lambda: _largest_capacities(cluster))
        self._names: dict[str, int] = defaultdict(int)
        for driver, _ in self._largest:
            self._names[driver] += 1
        self._known: dict[NodeContext, NodeContext] = {}
        self._surveyed: dict[tuple[str, tuple[str, ...]], tuple[NodeView, NodeContext]] = {}

    def survey(self, view: NodeView, visible: VisibleAttributes) -> NodeContext:
        """Describe a node for questions whose constraints look at these attributes."""
        names = (*STANDARD_GROUPINGS, *sorted(visible.names.difference(STANDARD_GROUPINGS)))
        key = view.node.metadata.name, names
        found = self._surveyed.get(key)
        if found is None or found[0] is not view:
            made = self._survey(view, names)
            found = self._surveyed[key] = view, self._known.setdefault(made, made)
        return found[1]

    def _survey(self, view: NodeView, names: Iterable[str]) -> NodeContext:
        pools = [number for number, pool in enumerate(view.pools) for _ in pool.devices]
        drivers = {driver: number for number, driver in enumerate(sorted({pool.driver for pool in view.pools}))}
        return NodeContext(
            tuple(pools),
            tuple(drivers[view.pools[pool].driver] for pool in pools),
            tuple(
                device.reachable and view.pools[pool].status == COMPLETE
                for device, pool in zip(view.devices, pools, strict=True)
            ),
            tuple(_grouping(view, name) for name in names),
            tuple(self._weights(view)),
            tuple(_counter_totals(view)),
        )

    def _weights(self, view: NodeView) -> Iterator[int]:
        """Weigh each row of capacity; a driver's names count alike."""
        for device in view.devices:
            capacity = device.device.capacity or {}
            for name in sorted(capacity):
                largest = self._largest[device.driver, name] * self._names[device.driver]
                total = Quantity.parse(capacity[name].value).nano
                yield total * FULL_SIZE // largest if total > 0 else 0


def _largest_capacities(cluster: Cluster) -> Mapping[CapacityName, int]:
    """Find the greatest total of each capacity."""
    found: dict[CapacityName, int] = defaultdict(int)
    for slice_ in cluster.slices:
        for device in slice_.spec.devices or ():
            for name, capacity in (device.capacity or {}).items():
                key = slice_.spec.driver, name
                found[key] = max(found[key], Quantity.parse(capacity.value).nano)
    return found


def _grouping(view: NodeView, name: str) -> tuple[int, ...]:
    """Number the values of an attribute in the order of the devices."""
    values = [published_value(device, name) for device in view.devices]
    there = dict.fromkeys(value for value in values if value is not None)
    numbers = {value: number for number, value in enumerate(there, 1)}
    return tuple(0 if value is None else numbers[value] for value in values)


def _counter_totals(view: NodeView) -> Sequence[int]:
    return [
        Quantity.parse(counter.value).nano
        for pool in view.pools
        for set_ in pool.counter_sets
        for counter in (set_.counters or {}).values()
    ]
