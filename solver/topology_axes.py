"""The axes of topologies that are one for the whole cluster: a node may see a part of them only (TOPO-1)."""

from __future__ import annotations

from collections.abc import Mapping

from ..models.cluster import Cluster
from ..models.gates import FeatureGates
from ..models.placed_devices import Axis, TopologyError
from ..models.selection import SelectorError
from ..models.topologies import LATTICES, DeviceTopology
from ..models.topology_graphs import placed
from ..models.topology_scopes import instances_of
from ..problem.topology_members import membership

Axes = tuple[Axis, ...]


def cluster_axes(cluster: Cluster, gates: FeatureGates) -> Mapping[str, Axes]:
    """Find the axes of topologies of scope Cluster that give no size, by name; kept with the cluster."""
    return cluster.kept(("topology.axes", gates), lambda: _found(cluster, gates))


def _found(cluster: Cluster, gates: FeatureGates) -> dict[str, Axes]:
    spanning = (one for one in cluster.topologies.values() if _spans(one))
    axes = {one.metadata.name: _axes(one, cluster, gates) for one in spanning}
    return {name: found for name, found in axes.items() if found}


def _spans(topology: DeviceTopology) -> bool:
    spec = topology.spec
    return spec.scope == "Cluster" and spec.shape in LATTICES and spec.size is None


def _axes(topology: DeviceTopology, cluster: Cluster, gates: FeatureGates) -> Axes:
    """The axes of the only instance; none if there are no devices, or if they contradict the topology."""
    try:
        instances = instances_of(topology, cluster, gates, membership(topology, cluster.classes))
        return next((placed(topology, instance.devices).axes for instance in instances), ())
    except (TopologyError, SelectorError):
        return ()
