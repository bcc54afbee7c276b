"""Leave out nodes that make no difference: of nodes that are equal, as many as there are seats are enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import chain

from ...models.core import Node
from ...models.identity import DeviceId
from ...problem.shapes import NodeView


def thinned(
    nodes_of: Sequence[Sequence[Node]],
    views: Mapping[str, NodeView],
    state: Callable[[NodeView], Hashable],
    labels: Sequence[str],
    held: Collection[DeviceId],
) -> list[list[Node]]:
    """Keep the first of equal nodes that each seat may go to, as many as there are seats.

    Nodes are equal if exchanging them, with all that they alone see, changes nothing: the same seats may go there,
    their own devices look alike and are used alike (``state``), what others see too is the same, and so are the values
    of these labels. A ``held`` device is like no other.
    """
    open_to = [{node.metadata.name for node in own} for own in nodes_of]
    named = _Names(views, held)
    kept: Counter[Hashable] = Counter()
    left: set[str] = set()
    for name, node in {node.metadata.name: node for node in chain.from_iterable(nodes_of)}.items():
        view, own = views[name], node.metadata.labels or {}
        suits = tuple(name in others for others in open_to)
        key = view.shape.index, state(view), suits, tuple(map(own.get, labels)), named.of(view)
        kept[key] += 1
        if kept[key] > len(nodes_of):
            left.add(name)
    return [[node for node in own if node.metadata.name not in left] for own in nodes_of]


class _Names:
    """Names of what is not a node's own, by its place in the view."""

    def __init__(self, views: Mapping[str, NodeView], held: Collection[DeviceId]) -> None:
        devices = Counter(device.id for view in views.values() for device in view.devices)
        pools = Counter(pool.id for view in views.values() for pool in view.pools)
        self._devices = {id_ for id_, count in devices.items() if count > 1}.union(held)
        self._pools = {id_ for id_, count in pools.items() if count > 1}

    def of(self, view: NodeView) -> Hashable:
        """Return pools that others see too, whose counters they may share, and devices."""
        pools = tuple((place, pool.id) for place, pool in enumerate(view.pools) if pool.id in self._pools)
        devices = tuple((place, one.id) for place, one in enumerate(view.devices) if one.id in self._devices)
        return pools, devices
