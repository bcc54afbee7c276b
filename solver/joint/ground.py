"""What several nodes see together: one view of all their devices, and where each device is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...models.cluster import Cluster
from ...models.identity import DeviceId, PoolId
from ...models.pools import Pool, united
from ...problem.shapes import NodeView, Views
from ...problem.visible import Visible
from .held import held_pool, published_devices, stand_in


class UndecidedError(Exception):
    """A question about several nodes that cannot be posed as one; one line says why."""


@dataclass(frozen=True)
class Ground:
    """The devices of all nodes together and stand-ins for ``held`` ones, and each node's own view of its devices."""

    whole: NodeView
    views: Mapping[str, NodeView]
    held: frozenset[DeviceId]
    elsewhere: frozenset[PoolId]
    """Pools of which devices are published that none of these nodes sees."""

    @cached_property
    def number_of(self) -> Mapping[DeviceId, int]:
        """Numbers of the devices in the whole."""
        return {device.id: number for number, device in enumerate(self.whole.devices)}

    @cached_property
    def replaced(self) -> frozenset[int]:
        """Devices for which there is a stand-in: what holds them takes that instead."""
        originals = (id_ for id_ in self.held if stand_in(id_) in self.number_of)
        return frozenset(self.number_of[id_] for id_ in originals if id_ in self.number_of)

    @cached_property
    def nodes_of(self) -> Mapping[DeviceId, tuple[int, ...]]:
        """By device the numbers of the nodes that reach it."""
        found: dict[DeviceId, list[int]] = defaultdict(list)
        for number, view in enumerate(self.views.values()):
            for device in view.devices:
                if device.reachable:
                    found[device.id].append(number)
        return {id_: tuple(nodes) for id_, nodes in found.items()}

    @cached_property
    def homes(self) -> Sequence[tuple[Hashable, ...]]:
        """For each device the nodes that reach it; what no node of the question sees is at a place of its own."""
        return [self.nodes_of.get(id_) or ("/".join(id_),) for id_ in self._ids]

    @cached_property
    def pools(self) -> Sequence[PoolId]:
        """For each device the pool that publishes it."""
        return [id_[:2] for id_ in self._ids]

    @cached_property
    def sites(self) -> Mapping[str, Sequence[Hashable]]:
        """By scope of topologies what tells instances apart, for each device; those replaced are in none."""
        found: dict[str, Sequence[Hashable]] = {
            "Node": self.homes,
            "Pool": self.pools,
            "Cluster": [""] * len(self._ids),
        }
        return {
            scope: [None if number in self.replaced else site for number, site in enumerate(own)]
            for scope, own in found.items()
        }

    @cached_property
    def _ids(self) -> Sequence[DeviceId]:
        """Names of the devices, of stand-ins those that they stand for."""
        originals = {stand_in(id_): id_ for id_ in self.held}
        return [originals.get(device.id, device.id) for device in self.whole.devices]


def ground_of(
    views: Mapping[str, NodeView],
    all_views: Views,
    cluster: Cluster,
    held: Collection[DeviceId],
    visible: Visible,
) -> Ground:
    """Put together what these views see. Raises ``UndecidedError`` where they contradict each other."""
    seen: dict[PoolId, list[Pool]] = defaultdict(list)
    for pool in dict.fromkeys(pool for view in views.values() for pool in view.pools):
        seen[pool.id].append(pool)
    pools = [_united(own) for own in seen.values()]
    there = {device.id for pool in pools for device in pool.devices}
    published = published_devices(cluster)
    stand_ins = held_pool(published, held)
    pools += [stand_ins] if stand_ins else []
    able = next((view for view in views.values() if view.shape.node_skips), next(iter(views.values())))
    whole = all_views.of_pools(able.node, pools, visible)
    return Ground(whole, views, frozenset(held), frozenset(id_[:2] for id_ in published.keys() - there))


def _united(views: Sequence[Pool]) -> Pool:
    whole = united(views)
    if whole is None:
        raise UndecidedError(f"nodes see different generations or counters of resource pool {'/'.join(views[0].id)}")
    return whole
