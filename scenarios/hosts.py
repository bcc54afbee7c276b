"""Accelerators whose slices reach over several hosts."""

from collections.abc import Iterator
from random import Random

from . import objects
from .objects import Mapped
from .shapes import combine, driver_class, held_claim

DRIVER = "tpu.example.com"
TPU_CLASS = driver_class("tpu", DRIVER)
RACK = "example.com/rack"

_CHIPS = 4
# Hosts of a slice to its topology, and the other way.
TOPOLOGIES = {1: "2x2x1", 2: "2x2x2", 4: "2x2x4", 8: "2x4x4", 16: "4x4x4"}


def multi_host_nodes(racks: int = 2, hosts: int = 4, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Racks of hosts with four chips each; slices of 1, 2, 4 ... neighbouring hosts, up to the rack, as devices.

    A rack is one pool over its hosts. Each device names its hosts (perDeviceNodeSelection) and consumes their chips,
    so that slices which overlap exclude each other on whatever node they are asked for. ``fullness`` is the
    probability that a host is in use. ``hosts`` is 1, 2, 4, 8 or 16. The class is ``tpu``.
    """
    if hosts not in TOPOLOGIES:
        raise ValueError(f"hosts must be one of {', '.join(map(str, TOPOLOGIES))}, not {hosts}")
    made = [TPU_CLASS]
    for number in range(racks):
        made += _rack(Random(f"{seed}/rack/{number}"), f"rack-{number:04d}", hosts, fullness)
    return combine(made)


def _rack(rng: Random, rack: str, hosts: int, fullness: float) -> Iterator[Mapped]:
    names = [f"{rack}-host-{number:02d}" for number in range(hosts)]
    yield from (objects.node(name, {RACK: rack}) for name in names)
    pool, here = f"racks/{rack}", objects.on_nodes_with(RACK, rack)
    chips = objects.counter_set("chips", {f"host-{number}": _CHIPS for number in range(hosts)})
    yield objects.resource_slice(f"{rack}-{DRIVER}-chips", DRIVER, pool, here, count=2, shared_counters=[chips])
    each = {"perDeviceNodeSelection": True}
    yield objects.resource_slice(f"{rack}-{DRIVER}-slices", DRIVER, pool, each, list(_slices(names)), count=2)
    for number, name in enumerate(names):
        if rng.random() < fullness:
            yield held_claim(name, "tpu", [objects.result("devices", DRIVER, pool, f"slice-1-{number}")], name)


def _slices(names: list[str]) -> Iterator[Mapped]:
    """All slices of the rack, the smallest first: 2 * hosts - 1 of them."""
    for size, topology in TOPOLOGIES.items():
        for first in range(0, len(names) - size + 1, size):
            chosen = names[first : first + size]
            where = objects.on_node(chosen[0]) if size == 1 else objects.on_nodes_with(objects.HOSTNAME, *chosen)
            used = {f"host-{number}": _CHIPS for number in range(first, first + size)}
            yield objects.device(
                f"slice-{size}-{first}",
                {"topology": topology, "hosts": size, "chips": size * _CHIPS},
                {"tpus": str(size * _CHIPS)},
                consumesCounters=[objects.consumption("chips", used)],
                **where,
            )
