"""The cluster and the queue of the openb trace: counted into classes, and as the manifests of them.

Several claims may hold one GPU: it has a capacity ``share`` of 1000, of which a claim for whole GPUs takes all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from drasat.scenarios import objects
from drasat.scenarios.objects import Mapped
from drasat.scenarios.queues import deployment, pod_spec, with_room

QUEUES = {"plain": "pods", "models": "pods with models"}
WHOLE = 1000

_DATA = Path(__file__).parent / "data" / "openb-classes.json"
_DRIVER = "gpu.example.com"
_CLASS = "gpu"
# The trace says nothing about how many pods a node takes.
_ANY_PODS = "500"


@dataclass(frozen=True, slots=True)
class Nodes:
    """Equal nodes: milli-CPU and MiB of memory of each."""

    count: int
    model: str
    gpus: int
    cpu: int
    memory: int

    @property
    def room(self) -> dict[str, str]:
        """What one has for pods."""
        return {**_amounts(self.cpu, self.memory), "pods": _ANY_PODS}


@dataclass(frozen=True, slots=True)
class Pods:
    """Equal pods: ``share`` thousandths of each of some GPUs, of these ``models`` (none: of any)."""

    count: int
    gpus: int
    share: int
    cpu: int
    memory: int
    models: tuple[str, ...] = ()

    @property
    def takes(self) -> int:
        """Thousandths of GPUs that one asks for."""
        return self.gpus * self.share

    @property
    def requests(self) -> dict[str, str]:
        """What one asks of its node."""
        return _amounts(self.cpu, self.memory)

    @property
    def spec(self) -> Mapped:
        """The claim of one."""
        expressions = [f'device.attributes["{_DRIVER}"].model in {json.dumps(self.models)}'] if self.models else []
        capacity = {"requests": {"share": str(self.share)}}
        wanted = objects.wanted(_CLASS, *expressions, count=self.gpus, capacity=capacity)
        return objects.claim_spec([objects.exactly("gpu", wanted)])


@dataclass(frozen=True, slots=True)
class Openb:
    """The nodes, and a queue for them."""

    nodes: tuple[Nodes, ...]
    pods: tuple[Pods, ...]

    @property
    def gpus(self) -> int:
        """All GPUs, in thousandths."""
        return WHOLE * sum(node.count * node.gpus for node in self.nodes)

    @property
    def demand(self) -> int:
        """What all pods ask for, in thousandths of GPUs."""
        return sum(pod.count * pod.takes for pod in self.pods)


def openb(queue: str, load: float) -> Openb:
    """Scale the counts of a queue, each rounded, so that pods ask for ``load`` times the GPUs that there are."""
    data = json.loads(_DATA.read_text())
    nodes = tuple(Nodes(*node) for node in data["nodes"])
    whole = Openb(nodes, tuple(_pods(*pod) for pod in data[QUEUES[queue]]))
    times = load * whole.gpus / whole.demand
    return replace(whole, pods=tuple(replace(pod, count=round(pod.count * times)) for pod in whole.pods))


def _pods(count: int, gpus: int, share: int, cpu: int, memory: int, models: str = "") -> Pods:
    return Pods(count, gpus, share, cpu, memory, tuple(models.split("|")) if models else ())


def manifests(trace: Openb) -> list[Mapped]:
    """Nodes with their slices, and a Deployment for each class of pods, with a template for its claims."""
    made = [objects.device_class(_CLASS, f'device.driver == "{_DRIVER}"')]
    listed = [node for node in trace.nodes for _ in range(node.count)]
    for number, node in enumerate(listed):
        made += _node(f"node-{number:04d}", node)
    for number, pods in enumerate(trace.pods):
        made += _deployment(f"pods-{number:03d}", pods) if pods.count else ()
    return made


def _node(name: str, node: Nodes) -> Iterator[Mapped]:
    yield with_room(objects.node(name), node.room)
    if node.gpus:
        devices = [_gpu(number, node.model) for number in range(node.gpus)]
        yield objects.resource_slice(name, _DRIVER, name, objects.on_node(name), devices)


def _gpu(number: int, model: str) -> Mapped:
    return objects.device(f"gpu-{number}", {"model": model}, {"share": str(WHOLE)}, allowMultipleAllocations=True)


def _deployment(name: str, pods: Pods) -> Iterator[Mapped]:
    if pods.gpus:
        yield objects.template(name, pods.spec)
    claims = [objects.by_template("gpu", name)] if pods.gpus else []
    yield deployment(name, pods.count, pod_spec(pods.requests, claims))


def _amounts(cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
