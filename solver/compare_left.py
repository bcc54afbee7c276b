"""What an answer leaves free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ..models.cluster import Cluster
from ..models.identity import DeviceId
from ..models.reach import per_device
from .outcome import AllocationOutcome


@dataclass(frozen=True, slots=True)
class LeftOver:
    """How many devices there are, how many nobody holds in any way, and how many nodes have all of theirs free.

    Only devices that belong to a node by name make it such a node. Counters are not looked at: a free partition may be
    one that its neighbours make impossible.
    """

    devices: int
    free: int
    whole_nodes: int


def left_over(cluster: Cluster, answer: AllocationOutcome) -> LeftOver:
    """Count what is left when everything of the answer is in use beside what was."""
    made = [(ref.key, allocation) for unit in answer.units for ref, allocation in unit.allocations]
    usage = cluster.usage(answer.gates).plus(made)
    homes = dict(_homes(cluster))
    free = {device for device in homes if not usage.in_use(device)}
    of_node: dict[str, list[bool]] = defaultdict(list)
    for device, node in homes.items():
        if node:
            of_node[node].append(device in free)
    return LeftOver(len(homes), len(free), sum(all(states) for states in of_node.values()))


def _homes(cluster: Cluster) -> Iterator[tuple[DeviceId, str]]:
    """Yield every device with the name of its node, empty if it has none."""
    for slice_ in cluster.slices:
        spec = slice_.spec
        for device in spec.devices or ():
            home = device.node_name if per_device(slice_) else spec.node_name
            yield (spec.driver, spec.pool.name, device.name), home or ""
