"""Pools of devices as one node sees them (dra-semantics section 5)."""

from collections.abc import Iterable
from dataclasses import dataclass

from .core import Node
from .gates import FeatureGates
from .identity import DeviceId, PoolId
from .slices import CounterSet, Device, ResourceSlice
from .taints import DeviceTaintRule


@dataclass(frozen=True, slots=True, eq=False)
class PoolDevice:
    """A device of a pool; taints of rules are merged into ``device`` (TNT-5)."""

    device: Device
    slice: ResourceSlice
    id: DeviceId
    # Whether the asking node is one the device names, under perDeviceNodeSelection (DEV-4); else True.
    reachable: bool = True

    @property
    def driver(self) -> str:
        """The driver's name."""
        return self.id[0]

    @property
    def pool_name(self) -> str:
        """The pool's name, unique with the driver's only."""
        return self.id[1]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A pool as a node sees it. Compare by identity: nodes that see the same share one object.

    ``status`` is ``complete``, ``incomplete`` (POOL-6) or ``invalid`` (POOL-9); only a complete pool has devices.
    """

    driver: str
    name: str
    generation: int
    status: str
    reason: str
    # The devices of node-relevant slices in POOL-11 order, also those not reachable themselves (DEV-4).
    devices: tuple[PoolDevice, ...]
    # Counter sets of the whole generation (POOL-8).
    counter_sets: tuple[CounterSet, ...]
    # Some node-relevant device has binding conditions, so the pool comes last (POOL-11).
    binds: bool

    @property
    def id(self) -> PoolId:
        """Driver and name (CTR-5)."""
        return self.driver, self.name

    @property
    def other_devices(self) -> tuple[PoolDevice, ...]:
        """Devices of slices that are not relevant for the node: they matter for counters only (POOL-8, CTR-1)."""
        raise NotImplementedError


class PoolIndex:
    """All slices of a cluster, ready to be asked what one node sees. Built once per cluster and gates."""

    def __init__(
        self, slices: Iterable[ResourceSlice], gates: FeatureGates, rules: Iterable[DeviceTaintRule] = ()
    ) -> None:
        raise NotImplementedError

    def pools_for(self, node: Node) -> tuple[Pool, ...]:
        """The pools the node sees, in POOL-11 order (POOL-1 to POOL-14).

        Raises ``SelectorError`` if a slice or device has a node selector that cannot be parsed (NODE-2).
        """
        raise NotImplementedError
