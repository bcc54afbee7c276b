"""The public function ``show`` and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from ..models.cluster.cluster import Cluster
from ..models.kubernetes.gates import FeatureGates
from ..models.results import inventory as records
from ..reports import inventory as report
from ..solver.allocate.inventory import InventorySelection, take_inventory
from . import Result

if TYPE_CHECKING:
    import pandas


class InventoryResult(Result[records.InventoryDocument]):
    """The answer of ``show``."""

    @property
    def classes(self) -> tuple[records.ClassInventory, ...]:
        """Device classes by name, with the devices that they match."""
        return self.document.classes

    @property
    def nodes(self) -> tuple[records.NodeInventory, ...]:
        """Nodes by name, with their own devices and their resources."""
        return self.document.nodes

    @property
    def pools(self) -> tuple[records.PoolInventory, ...]:
        """Pools by driver and name, with their counters."""
        return self.document.pools

    @property
    def devices(self) -> tuple[records.DeviceInventory, ...]:
        """Devices by driver, pool and name, each with its state and the claims that hold it."""
        return self.document.devices

    @property
    def claims(self) -> tuple[records.ClaimInventory, ...]:
        """Claims by namespace and name, with the devices that they hold."""
        return self.document.claims

    def to_frame(
        self, table: Literal["devices", "classes", "nodes", "pools", "claims"] = "devices"
    ) -> pandas.DataFrame:
        """One row a device; or an amount of a class, a node, a pool, or a claim."""
        columns, rows = report.FRAMES[table]
        return self._frame(rows(self.document), columns)

    def summary(self) -> str:
        """One line: how many devices there are, and how many of them are free."""
        return report.summary(self.document)

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        return (self.to_frame("classes"), self.to_frame("claims"))


def show(
    cluster: Cluster,
    *,
    node: str | None = None,
    device_class: str | None = None,
    driver: str | None = None,
    namespace: str | None = None,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = 60.0,
) -> InventoryResult:
    """Show what there is, how much of it is free, and who holds the rest.

    A device is free if a claim that asks for nothing but this device can have it now. Devices are counted by class,
    node and pool, with their capacities and counters; claims are listed with the devices that they hold.

    Parameters
    ----------
    cluster
        What there is; see ``load``.
    node
        Only this node, and devices that it reaches.
    device_class
        Only devices that this DeviceClass matches.
    driver
        Only devices of this driver.
    namespace
        Only claims of this namespace; devices are listed whoever holds them.
    feature_gates
        Switches by upstream name; what is not named is on.
    time_limit
        Seconds for everything; None for no limit. Devices not judged in time are ``unknown``, and those that no class
        was asked about are counted as undecided.

    Raises
    ------
    ValueError
        One line, for an unknown gate, node or class, or a node selector of a slice that cannot be parsed.

    """
    selection = InventorySelection(node, device_class, driver, namespace)
    return InventoryResult(take_inventory(cluster, selection, feature_gates, time_limit), cluster)
