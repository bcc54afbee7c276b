"""Devices that contradict their topology: bad input, as the topologies themselves could be (TOPO-3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..models.cluster import Cluster
from ..models.gates import FeatureGates
from ..models.manifests import Manifest
from ..models.placed_devices import TopologyError
from ..models.problems import InputProblem
from ..models.selection import SelectorError
from ..models.topologies import DeviceTopology
from ..models.topology_graphs import placed
from ..models.topology_scopes import instances_of
from ..models.validation.references import input_problem
from ..problem.topology_members import membership


def misplaced(manifests: Sequence[Manifest], gates: FeatureGates) -> Iterator[InputProblem]:
    """Report the first contradiction of each topology; the topologies must be valid."""
    found = [(manifest, manifest.object) for manifest in manifests if manifest.kind == "DeviceTopology"]
    if not found:
        return
    cluster = Cluster.build(manifests)
    for manifest, topology in found:
        if isinstance(topology, DeviceTopology) and (detail := _contradiction(topology, cluster, gates)):
            field = "spec.links.id" if topology.spec.shape == "Links" else "spec.coordinates"
            yield input_problem(manifest, field, detail)


def _contradiction(topology: DeviceTopology, cluster: Cluster, gates: FeatureGates) -> str:
    try:
        for instance in instances_of(topology, cluster, gates, membership(topology, cluster.classes)):
            placed(topology, instance.devices, instance.where)
    except TopologyError as error:
        return str(error).removeprefix(f"DeviceTopology {topology.metadata.name}: ")
    except SelectorError:
        # Nodes cannot be told apart then; who asks about one is told so.
        return ""
    return ""
