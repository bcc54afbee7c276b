"""What kube-scheduler's own benchmark, scheduler_perf, measures of claims, with nodes that have room for pods."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from . import objects
from .objects import Mapped
from .single import DRIVER, LISTS_PER_SLICE, sliced
from .sweeps import matching_pods, pods, selecting_pods
from .workloads import with_room

NODES = 500
_ROOM = {"cpu": "64", "memory": "512Gi", "pods": "110"}
_LINKS = f"{DRIVER}/links"


@dataclass(frozen=True, slots=True)
class Workload:
    """Equal nodes, and pods of which so many fill a node; ``on`` makes it for some number of nodes."""

    on: Callable[[int], list[Mapped]]
    pods_a_node: int

    def objects(self, nodes: int = NODES, *, told: bool = False) -> list[Mapped]:
        """Nodes and pods. ``told``: each pod says by a selector where it goes, the first pods to the first node."""
        made = [with_room(item, _ROOM) if item["kind"] == "Node" else item for item in self.on(nodes)]
        return list(_told(made, self.pods_a_node)) if told else made


def _told(made: Sequence[Mapped], pods_a_node: int) -> Iterator[Mapped]:
    names = [item["metadata"]["name"] for item in made if item["kind"] == "Node"]
    number = 0
    for item in made:
        if item["kind"] != "Pod":
            yield item
            continue
        host = {objects.HOSTNAME: names[number // pods_a_node]}
        yield {**item, "spec": {**item["spec"], "nodeSelector": host}}
        number += 1


def list_attributes(
    nodes: int = NODES, *, devices: int = 64, useless: int = 32, requests: int = 32, values: int = 47
) -> list[Mapped]:
    """A pod for each node, with requests of one device each that share a value of a list.

    ``useless`` devices are listed first, of which no two share any value; the others have the values of one list.
    """
    gpus = [_device(index, f"own-{index}" if index < useless else "all", values) for index in range(devices)]
    asked = [objects.exactly(f"r{number:02d}", objects.wanted("gpu", count=1)) for number in range(requests)]
    spec = objects.claim_spec(asked, [{"matchAttribute": _LINKS}])
    made = [objects.device_class("gpu", f'device.driver == "{DRIVER}"')]
    for number in range(nodes):
        name = f"node-{number:04d}"
        made += [objects.node(name), *sliced(gpus, LISTS_PER_SLICE, node=name)]
    for number in range(nodes):
        name = f"pod-{number:05d}"
        made += [objects.claim(name, spec), objects.pod(name, [objects.by_claim("devices", name)])]
    return made


def _device(index: int, prefix: str, values: int) -> Mapped:
    return objects.device(f"gpu-{index:03d}", {"links": [f"{prefix}-{number}" for number in range(values)]})


WORKLOADS: Mapping[str, Workload] = {
    "pods": Workload(lambda nodes: pods(10 * nodes), 10),
    "pods, a selector": Workload(lambda nodes: selecting_pods(10 * nodes), 10),
    "two requests, matchAttribute": Workload(lambda nodes: matching_pods(10 * nodes), 5),
    "32 requests, lists": Workload(list_attributes, 1),
}
