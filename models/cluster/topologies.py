"""The instances of a DeviceTopology: the devices among which its coordinates are unique (``scope``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..kubernetes.core import Node
from ..kubernetes.extensions import DeviceTopology
from ..kubernetes.gates import FeatureGates
from ..kubernetes.slices import DescribedDevice
from .cluster import Cluster
from .pools import PoolDevice

TopologyMembership = Callable[[DescribedDevice], bool]
"""Whether a device belongs to a topology."""


@dataclass(frozen=True, slots=True)
class TopologyInstance:
    """Devices of one node, of one pool (``DRIVER/POOL``) or of the whole cluster, whose name is empty."""

    scope: str
    name: str
    devices: tuple[PoolDevice, ...]

    @property
    def label(self) -> str:
        """The instance in a message."""
        return f"{self.scope.lower()} {self.name}".strip()


def driver_membership(topology: DeviceTopology) -> TopologyMembership:
    """Membership of a topology that names a driver; those that name a class need its selectors evaluated."""
    return lambda device: device.driver == topology.spec.driver


def topology_instances(
    topology: DeviceTopology,
    cluster: Cluster,
    gates: FeatureGates,
    belongs: TopologyMembership,
    node: str | None = None,
) -> Iterator[TopologyInstance]:
    """All instances that hold devices, in the order of the nodes' names, or of drivers and pools.

    With a node only its own one, or the pools, or the cluster, that it has devices of: these are as large as without.
    Raises ``SelectorError`` (NODE-2).
    """
    spec = topology.spec
    nodes = list(cluster.nodes.values())
    asked = nodes if node is None else [cluster.node(node)]
    if spec.scope == "Node":
        found = (
            TopologyInstance("Node", one.metadata.name, reachable_members(one, cluster, gates, belongs))
            for one in asked
        )
        yield from (instance for instance in found if instance.devices)
        return
    everywhere = _reachable_by_any(cluster, gates, belongs, nodes)
    groups: dict[str, list[PoolDevice]] = {}
    for device in everywhere:
        groups.setdefault("/".join(device.id[:2]) if spec.scope == "Pool" else "", []).append(device)
    near = None if node is None else {device.id for device in reachable_members(asked[0], cluster, gates, belongs)}
    for name, members in sorted(groups.items()):
        if near is None or any(member.id in near for member in members):
            yield TopologyInstance(spec.scope, name, tuple(members))


def reachable_members(
    node: Node, cluster: Cluster, gates: FeatureGates, belongs: TopologyMembership
) -> tuple[PoolDevice, ...]:
    """The devices of the topology that a node reaches, in visiting order (POOL-11)."""
    pools = cluster.pools(gates).pools_for(node)
    return tuple(device for pool in pools for device in pool.devices if device.reachable and belongs(device))


def _reachable_by_any(
    cluster: Cluster, gates: FeatureGates, belongs: TopologyMembership, nodes: Iterable[Node]
) -> Iterable[PoolDevice]:
    """What all nodes together reach, each device once."""
    return {device.id: device for node in nodes for device in reachable_members(node, cluster, gates, belongs)}.values()
