"""The public function ``topology`` and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..models.cluster.cluster import Cluster
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.meta import DeviceId
from ..models.results import inventory as records
from ..solver.allocate.topology import topology as survey
from . import Result
from .allocate import AllocationResult

if TYPE_CHECKING:
    import networkx
    import pandas


class TopologyResult(Result[records.TopologyDocument]):
    """The answer of ``topology``."""

    @property
    def topologies(self) -> tuple[records.TopologyAnswer, ...]:
        """The topologies by name, each with its instances."""
        return self.document.topologies

    def to_frame(self) -> pandas.DataFrame:
        """One row a device, those without coordinates left out."""
        from ..reports import topology as report

        return self._frame(report.device_rows(self.document), report.DEVICE_COLUMNS)

    def to_dot(self) -> str:
        """One graph for each instance, for Graphviz."""
        from ..reports.topology import topology_dot

        return topology_dot(self.document)

    def graphs(self) -> dict[tuple[str, str], networkx.Graph[DeviceId]]:
        """A graph for each topology and instance, by their names; nodes carry ``coordinates`` and ``state``."""
        from ..reports.topology import to_networkx

        return {
            (one.name, instance.name): to_networkx(instance) for one in self.topologies for instance in one.instances
        }

    def summary(self) -> str:
        """How many topologies and instances there are."""
        instances = sum(len(one.instances) for one in self.topologies)
        return f"{len(self.topologies)} topologies, {instances} instances"


def topology(
    cluster: Cluster,
    *,
    names: Sequence[str] = (),
    node: str | None = None,
    chosen: AllocationResult | Sequence[DeviceId] = (),
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
) -> TopologyResult:
    """Put the devices of each DeviceTopology in their places: used and free, and the largest free shape.

    Parameters
    ----------
    cluster
        What there is; see ``load``.
    names
        Only these topologies.
    node
        Only what this node reaches devices of.
    chosen
        An allocation that is not in the cluster yet, or devices by driver, pool and name, to be told apart: the
        largest free shape is then given before and after.
    feature_gates
        Switches by upstream name; what is not named is on.

    Raises
    ------
    ValueError
        One line, for an unknown gate or topology, or devices that contradict their topology.

    """
    devices = chosen_devices(chosen) if isinstance(chosen, AllocationResult) else tuple(chosen)
    found = survey(cluster, names=names, node=node, chosen=devices, feature_gates=feature_gates)
    return TopologyResult(found.document(), cluster)


def chosen_devices(result: AllocationResult) -> tuple[DeviceId, ...]:
    """The devices that an allocation chose, those with admin access left out (IN-3)."""
    return tuple(
        (one.driver, one.pool, one.device)
        for unit in result.units
        for claim in unit.claims
        if claim.allocation is not None
        for one in claim.allocation.devices.results or ()
        if not one.admin_access
    )
