"""DeviceTopology: which attributes of devices say where they stand (TOPO-1 to TOPO-3).

A kind of our own, ``drasat.dev/v1alpha1``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .base import Int64, Model
from .meta import ObjectMeta

TopologyShape = Literal["Ring", "Line", "Grid", "Torus", "Tree", "Links"]
TopologyScope = Literal["Node", "Pool", "Cluster"]

SCOPES: tuple[TopologyScope, ...] = ("Node", "Pool", "Cluster")
SHAPES: tuple[TopologyShape, ...] = ("Ring", "Line", "Grid", "Torus", "Tree", "Links")

STRAIGHT = frozenset({"Ring", "Line"})
"""Shapes of one axis, on which there are segments."""
LATTICES = frozenset({"Ring", "Line", "Grid", "Torus"})
"""Shapes whose coordinates are integers, one an axis."""
WRAPPED = frozenset({"Ring", "Torus"})
"""Shapes of which every axis wraps around."""


class TopologyLinks(Model):
    """For ``Links``: the attribute with a device's own id, and the one that lists its neighbours' ids."""

    id: str = ""
    peers: str = ""


class DeviceTopologySpec(Model):
    """``spec`` of a DeviceTopology.

    ``coordinates`` are names of attributes: one for a Ring or Line, one an axis for a Grid or Torus, one a level for a
    Tree, from the root. ``size`` is the number of places along each axis, counted from 0; absent, it spans what is
    present. ``periodic`` says which axes of a Grid wrap.
    """

    driver: str | None = None
    device_class_name: str | None = None
    scope: str = "Node"
    shape: str = ""
    coordinates: tuple[str, ...] | None = None
    size: tuple[Int64, ...] | None = None
    periodic: tuple[bool, ...] | None = None
    links: TopologyLinks | None = None


class DeviceTopology(Model):
    """Where devices of a driver or a class stand; coordinates are unique within one node, pool or the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTopologySpec = DeviceTopologySpec()

    @property
    def known_shape(self) -> TopologyShape:
        """The shape, of a valid topology."""
        shape: TopologyShape = msgspec.convert(self.spec.shape, TopologyShape)
        return shape
