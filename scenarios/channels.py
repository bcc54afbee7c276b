"""Nodes of compute domains: channels over which the GPUs of several nodes share memory."""

from collections.abc import Iterator
from functools import partial
from random import Random

from . import objects
from .objects import Mapped
from .shapes import Shape, driver_class, hold_whole, nodes_of

DRIVER = "compute-domain.example.com"
# Its claims may ask for admin access.
MONITORING = "monitoring"

_CONFIG = objects.opaque(DRIVER, {"apiVersion": "resource.example.com/v1", "kind": "ChannelConfig"})
CHANNEL_CLASS = driver_class("channel", DRIVER, "channel", config=[_CONFIG])
DAEMON_CLASS = driver_class("domain-daemon", DRIVER, "daemon")


def channel_nodes(nodes: int = 4, channels: int = 16, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Nodes with a daemon and channels (at most 127), and a namespace ``monitoring`` with admin access.

    ``fullness`` is the part of the channels in use. Classes: ``channel`` and ``domain-daemon``.
    """
    return nodes_of([(channel_shape(channels), 1)], nodes, "domain", seed, fullness)


def channel_shape(channels: int) -> Shape:
    """A node of compute domains."""
    shared = [CHANNEL_CLASS, DAEMON_CLASS, objects.namespace(MONITORING, admin=True)]
    return Shape(partial(_build, channels), shared, {"example.com/fabric": "yes"})


def _build(channels: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    made = [_device("channel", number) for number in range(channels)]
    devices = [_device("daemon", 0), *made]
    yield objects.resource_slice(f"{node}-{DRIVER}", DRIVER, node, objects.on_node(node), devices)
    yield from hold_whole(rng, DRIVER, node, "channel", made, fullness)


def _device(kind: str, number: int) -> Mapped:
    return objects.device(f"{kind}-{number}", {"type": kind, "id": number})
