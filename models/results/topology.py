"""The document of ``topology``."""

from __future__ import annotations

from typing import Literal

from ..formats.decode import Model
from ..kubernetes.extensions import TopologyScope, TopologyShape
from ..topology.free_shapes import FreeKind
from .common import API_VERSION

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
