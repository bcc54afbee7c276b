"""The documents of ``show``, devices and what holds them by class, node, pool and claim, and of ``topology``."""

from __future__ import annotations

from typing import Literal

from ..formats.decode import Model, QuantityText
from ..kubernetes.extensions import TopologyScope, TopologyShape
from ..topology.free_shapes import FreeKind
from .common import API_VERSION

Availability = Literal["free", "inUse", "tainted", "blocked", "unavailable", "unknown"]
PoolState = Literal["complete", "incomplete", "invalid", "unreachable"]
ClaimState = Literal["orphaned", "pending", "allocated"]
AmountKind = Literal["capacity", "counter"]


class DeviceCounts(Model, omit_defaults=False):
    """Numbers of devices by availability; ``shared`` of the free ones are held by claims and take more.

    Each device counts once: as free if it could be allocated now, else as in use if a claim holds it, else as tainted
    (TNT-1), else as blocked if the counters or the compatibility groups of what is in use leave no room for it, else as
    unavailable. ``unknown`` could not be decided within the time limit.
    """

    free: int = 0
    shared: int = 0
    in_use: int = 0
    tainted: int = 0
    blocked: int = 0
    unavailable: int = 0
    unknown: int = 0
    total: int = 0


class AmountCounts(Model, omit_defaults=False):
    """A capacity of the devices of a class, or a counter that they draw from, in quantities, summed over devices.

    Amounts count as their devices do. Of a device that is shared, what claims consumed is in use, and the rest free.
    """

    kind: AmountKind
    name: str
    free: QuantityText
    in_use: QuantityText
    tainted: QuantityText
    blocked: QuantityText
    unavailable: QuantityText
    total: QuantityText


class ClassInventory(Model, omit_defaults=False):
    """A DeviceClass and the devices that all its selectors match.

    ``undecided`` devices are in no count: a selector failed on them, or the time limit passed; ``errors`` says why.
    Devices that draw from counters overlap, so that their capacities are not summed: their counters are.
    """

    name: str
    devices: DeviceCounts
    amounts: tuple[AmountCounts, ...]
    undecided: int
    errors: tuple[str, ...]


class AmountUse(Model, kw_only=True, omit_defaults=False):
    """An amount in all, and how much of it is in use; ``counter_set`` is empty for what is no counter."""

    name: str
    counter_set: str = ""
    in_use: QuantityText
    total: QuantityText


class NodeInventory(Model, omit_defaults=False):
    """A node with the devices that no other node reaches, and its resources as requested by running pods.

    ``resources`` is empty if nothing is known of the node's allocatable.
    """

    name: str
    unschedulable: bool
    taints: tuple[str, ...]
    devices: DeviceCounts
    resources: tuple[AmountUse, ...]


class PoolInventory(Model, omit_defaults=False):
    """A pool: ``reason`` says why it is not complete (POOL-6, POOL-9); ``nodes`` see it, a few by name."""

    driver: str
    name: str
    generation: int
    state: PoolState
    reason: str
    nodes: int
    node_names: tuple[str, ...]
    devices: DeviceCounts
    counters: tuple[AmountUse, ...]


class DeviceInventory(Model, omit_defaults=False):
    """A device; ``node`` is the only one that reaches it, null for none or several, ``nodes`` their number.

    ``reason`` says why it is tainted, blocked or unavailable. ``claims`` hold it, those with admin access not counted.
    ``classes`` match it.
    """

    driver: str
    pool: str
    device: str
    node: str | None
    nodes: int
    state: Availability
    reason: str
    shared: bool
    taints: tuple[str, ...]
    classes: tuple[str, ...]
    capacity: tuple[AmountUse, ...]
    claims: tuple[str, ...]


class HeldDevice(Model, omit_defaults=False):
    """A device of an allocation; ``exists``: some slice still publishes it."""

    driver: str
    pool: str
    device: str
    request: str
    admin_access: bool
    share_id: str
    consumed: dict[str, QuantityText]
    exists: bool


class ClaimInventory(Model, omit_defaults=False):
    """A claim: ``orphaned`` holds a device that exists no more; ``pending`` has no allocation.

    ``generated``: it is yet to be made from a template for a pod. ``pods`` refer to it and have not finished;
    ``reserved_for`` is ``status.reservedFor``, as RESOURCE/NAME.
    """

    namespace: str
    name: str
    state: ClaimState
    generated: bool
    pods: tuple[str, ...]
    reserved_for: tuple[str, ...]
    devices: tuple[HeldDevice, ...]


class InventoryDocument(Model, kw_only=True, omit_defaults=False):
    """What ``show -o json`` prints; ``devices`` are all that were selected. Everything is sorted by name.

    ``unclassified`` are devices that no class matches. ``complete``: everything was decided within the time limit.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["InventoryResult"] = "InventoryResult"
    total: DeviceCounts
    classes: tuple[ClassInventory, ...]
    unclassified: DeviceCounts
    nodes: tuple[NodeInventory, ...]
    pools: tuple[PoolInventory, ...]
    devices: tuple[DeviceInventory, ...]
    claims: tuple[ClaimInventory, ...]
    feature_gates: dict[str, bool]
    complete: bool
    notices: tuple[str, ...] = ()


DeviceState = Literal["free", "used", "chosen"]


class AxisAnswer(Model, omit_defaults=False):
    """An axis of a Ring, Line, Grid or Torus: its lowest coordinate, how many places it has, and whether it wraps."""

    attribute: str
    first: int
    size: int
    periodic: bool


class PlacedDevice(Model, omit_defaults=False):
    """A device in its place: coordinates by axis, tree nodes by level, or its own id; ``used`` means by a claim."""

    driver: str
    pool: str
    device: str
    coordinates: tuple[int | str | bool, ...]
    state: DeviceState


class UnplacedDevice(Model, omit_defaults=False):
    """A device without coordinates, which is never part of a shape."""

    driver: str
    pool: str
    device: str


class FreeShapeAnswer(Model, omit_defaults=False):
    """A shape of free devices, given by their numbers in the list of devices.

    ``first`` are the coordinates from which a segment or a box of this ``size`` goes up each axis; ``level`` is that
    of a subtree.
    """

    kind: FreeKind
    count: int
    size: tuple[int, ...]
    first: tuple[int, ...]
    level: str
    devices: tuple[int, ...]


class InstanceAnswer(Model, kw_only=True, omit_defaults=False):
    """The devices of one node, of one pool (``DRIVER/POOL``), or of the cluster (no name), and how they hang together.

    ``links`` are pairs of neighbours, by their numbers in the list of devices. ``largest`` is the largest free shape
    before the chosen devices are taken, ``left`` the one after; ``levels`` the most free devices under one tree node,
    for each level of a Tree from the root, ``levelsLeft`` those after.
    """

    name: str
    axes: tuple[AxisAnswer, ...]
    levels: tuple[FreeShapeAnswer, ...]
    levels_left: tuple[FreeShapeAnswer, ...]
    free: int
    used: int
    chosen: int
    largest: FreeShapeAnswer
    left: FreeShapeAnswer
    devices: tuple[PlacedDevice, ...]
    unplaced: tuple[UnplacedDevice, ...]
    links: tuple[tuple[int, int], ...]


class TopologyAnswer(Model, kw_only=True, omit_defaults=False):
    """A DeviceTopology and its instances that hold devices."""

    name: str
    driver: str | None
    device_class_name: str | None
    scope: TopologyScope
    shape: TopologyShape
    coordinates: tuple[str, ...]
    instances: tuple[InstanceAnswer, ...]


class TopologyDocument(Model, kw_only=True, omit_defaults=False):
    """What ``topology -o json`` prints."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["TopologyResult"] = "TopologyResult"
    topologies: tuple[TopologyAnswer, ...]
    feature_gates: dict[str, bool]
