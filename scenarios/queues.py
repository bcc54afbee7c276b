"""Clusters with a queue to plan: gangs for nodes of GPUs, fleets, and the workloads of scheduler_perf.

The queue of gangs asks for a tenth more GPUs than there are. The fleet has three SKUs with twelve devices a node, and a
queue of a tenth more than it has. scheduler_perf is kube-scheduler's own benchmark: what it measures of claims, with
nodes that have room for pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from . import objects
from .mig import MIG_CLASS, partitions, whole_gpu
from .node_shapes import (
    GPU_CLASS,
    GPU_DRIVER,
    GPU_MODELS,
    NIC_CLASS,
    NIC_DRIVER,
    PCIE_ROOT,
    combine,
    gpu,
    gpu_nodes,
    pcie_root,
    uuid,
)
from .objects import DRIVER, Mapped
from .one_node import LISTS_PER_SLICE, matching_pods, pods, selecting_pods, sliced


def with_room(node: Mapped, allocatable: Mapping[str, str]) -> Mapped:
    """The node with what its pods may take of each resource."""
    return {**node, "status": {"allocatable": dict(allocatable)}}


def pod_spec(requests: Mapping[str, str], claims: Sequence[Mapped] = (), **spec: Any) -> Mapped:
    """The spec of a pod with one container; ``claims`` are its entries, further fields in the API's spelling."""
    container: Mapped = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    container |= objects.present(resources=objects.present(requests=dict(requests)))
    return {"containers": [container], **objects.present(resourceClaims=list(claims)), **spec}


def pending_pod(
    name: str, spec: Mapped, namespace: str = "default", annotations: Mapping[str, str] | None = None
) -> Mapped:
    """A pod that waits."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name, namespace, annotations), "spec": spec}


def deployment(name: str, replicas: int, spec: Mapped, namespace: str = "default") -> Mapped:
    """A Deployment of equal pods."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(name, namespace), "spec": body}


def job(
    name: str, parallelism: int, spec: Mapped, namespace: str = "default", annotations: Mapping[str, str] | None = None
) -> Mapped:
    """A Job whose pods run at once."""
    template = {"spec": {"restartPolicy": "Never", **spec}}
    body = {"parallelism": parallelism, "completions": parallelism, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(name, namespace, annotations), "spec": body}


def _metadata(name: str, namespace: str, annotations: Mapping[str, str] | None = None) -> Mapped:
    return {"name": name, "namespace": namespace, **objects.present(annotations=dict(annotations or {}))}


GANG_NODES = 345
GPUS_PER_NODE = 8
GANG_MEMBERS = 8
OVERLOAD = 0.1
# GPUs of a pod, and which part of all pods asks for so many.
GANG_POD_SIZES = {1: 0.60, 2: 0.25, 4: 0.10, 8: 0.05}
_GANG_NODE_ROOM = {"cpu": "192", "memory": "2048Gi", "pods": "110"}
_GANG_ANNOTATION = "drasat.dev/gang"


def gang_queue(nodes: int = GANG_NODES, *, seed: int = 0) -> list[Mapped]:
    """Nodes of eight GPUs, and gangs of eight pods, each of 1, 2, 4 or 8 GPUs.

    There are so many gangs that their pods ask for a tenth more GPUs than there are: 200 for 345 nodes.
    """
    made = [
        with_room(item, _GANG_NODE_ROOM) if item["kind"] == "Node" else item
        for item in gpu_nodes(nodes, devices=GPUS_PER_NODE, seed=seed)
    ]
    for size in GANG_POD_SIZES:
        request = objects.exactly("gpus", objects.wanted("gpu", count=size))
        made.append(objects.template(_gang_template_name(size), objects.claim_spec([request])))
    return [*made, *_gang_pods(nodes, seed)]


def gang_count(nodes: int) -> int:
    """How many gangs so many nodes get."""
    mean = sum(size * part for size, part in GANG_POD_SIZES.items())
    return round(nodes * GPUS_PER_NODE * (1 + OVERLOAD) / (GANG_MEMBERS * mean))


def _gang_pods(nodes: int, seed: int) -> Iterator[Mapped]:
    number = gang_count(nodes)
    sizes = _random_pod_sizes(number * GANG_MEMBERS, seed)
    for place, size in enumerate(sizes):
        gang = place // GANG_MEMBERS
        spec = pod_spec(
            {"cpu": str(8 * size), "memory": f"{64 * size}Gi"}, [objects.by_template("gpus", _gang_template_name(size))]
        )
        yield pending_pod(
            f"gang-{gang:04d}-{place % GANG_MEMBERS}", spec, annotations={_GANG_ANNOTATION: f"gang-{gang:04d}"}
        )


def _random_pod_sizes(pods: int, seed: int) -> list[int]:
    """Sizes of the pods: all parts as nearly as whole numbers are, in random order; the smallest fill up."""
    large = [size for size, part in GANG_POD_SIZES.items() if size > 1 for _ in range(round(part * pods))]
    sizes = [1] * (pods - len(large)) + large
    Random(f"{seed}/gangs").shuffle(sizes)
    return sizes


def _gang_template_name(size: int) -> str:
    return f"gpus-{size}"


PERF_NODES = 500
_PERF_NODE_ROOM = {"cpu": "64", "memory": "512Gi", "pods": "110"}
_LINKS_ATTRIBUTE = f"{DRIVER}/links"


@dataclass(frozen=True, slots=True)
class PerfWorkload:
    """Equal nodes, and pods of which so many fill a node; ``on`` makes it for some number of nodes."""

    on: Callable[[int], list[Mapped]]
    pods_a_node: int

    def objects(self, nodes: int = PERF_NODES, *, told: bool = False) -> list[Mapped]:
        """Nodes and pods. ``told``: each pod says by a selector where it goes, the first pods to the first node."""
        made = [with_room(item, _PERF_NODE_ROOM) if item["kind"] == "Node" else item for item in self.on(nodes)]
        return list(_with_pods_per_node(made, self.pods_a_node)) if told else made


def _with_pods_per_node(made: Sequence[Mapped], pods_a_node: int) -> Iterator[Mapped]:
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
    nodes: int = PERF_NODES, *, devices: int = 64, useless: int = 32, requests: int = 32, values: int = 47
) -> list[Mapped]:
    """A pod for each node, with requests of one device each that share a value of a list.

    ``useless`` devices are listed first, of which no two share any value; the others have the values of one list.
    """
    gpus = [_list_device(index, f"own-{index}" if index < useless else "all", values) for index in range(devices)]
    requested = [objects.exactly(f"r{number:02d}", objects.wanted("gpu", count=1)) for number in range(requests)]
    spec = objects.claim_spec(requested, [{"matchAttribute": _LINKS_ATTRIBUTE}])
    made = [objects.device_class("gpu", f'device.driver == "{DRIVER}"')]
    for number in range(nodes):
        name = f"node-{number:04d}"
        made += [objects.node(name), *sliced(gpus, LISTS_PER_SLICE, node=name)]
    for number in range(nodes):
        name = f"pod-{number:05d}"
        made += [objects.claim(name, spec), objects.pod(name, [objects.by_claim("devices", name)])]
    return made


def _list_device(index: int, prefix: str, values: int) -> Mapped:
    return objects.device(f"gpu-{index:03d}", {"links": [f"{prefix}-{number}" for number in range(values)]})


WORKLOADS: Mapping[str, PerfWorkload] = {
    "pods": PerfWorkload(lambda nodes: pods(10 * nodes), 10),
    "pods, a selector": PerfWorkload(lambda nodes: selecting_pods(10 * nodes), 10),
    "two requests, matchAttribute": PerfWorkload(lambda nodes: matching_pods(10 * nodes), 5),
    "32 requests, lists": PerfWorkload(list_attributes, 1),
}
DEVICES_PER_NODE = 12
SKU_LABEL = "example.com/sku"
_PAIRS = 4
_CARDS = 2
# GPUs of a plain node with more memory than the others.
_LARGE = 4
# Of a MIG card these are published, beside the whole.
_PROFILES = {"3g.20gb", "2g.10gb"}
_HOPPER, _CARD = "H100-SXM5-80GB", "A100-SXM4-40GB"
# Replicas of one Deployment or parallelism of one Job at most, and what part of the queue is pods of nobody.
_REPLICAS = 64
_PLAIN = 0.3


@dataclass(frozen=True, slots=True)
class SkuClaimKind:
    """A kind of claim: its part of the SKU's claims, how much of the node it takes, and what its pod takes.

    ``takes`` is in the SKU's own unit: whole GPUs, or memory slices of MIG cards.
    """

    name: str
    part: float
    takes: int
    requests: Sequence[Mapped]
    cpu: int
    memory: int
    constraints: Sequence[Mapped] = ()

    @property
    def spec(self) -> Mapped:
        """The spec of the claim."""
        return objects.claim_spec(self.requests, self.constraints)

    @property
    def room(self) -> dict[str, str]:
        """What the pod requests of the node."""
        return {"cpu": str(self.cpu), "memory": f"{self.memory}Gi"}


@dataclass(frozen=True, slots=True)
class Sku:
    """A kind of node: ``gives`` is what it has of the unit that its asks take."""

    name: str
    gives: int
    allocatable: Mapping[str, str]
    slices: Callable[[Random, str], Iterator[Mapped]]
    asks: Sequence[SkuClaimKind]


def fleet(nodes: int = 100, *, seed: int = 0) -> list[Mapped]:
    """The classes, the nodes with their devices, and the queue, which says by devices where it can go.

    Of five nodes two are of the SKU ``paired`` (eight GPUs and four interfaces, one for each PCIe root with two GPUs),
    two ``plain`` (GPUs of two models and sizes), and one ``mig`` (two cards, whole or in parts). Devices have UUIDs.
    """
    return combine([GPU_CLASS, NIC_CLASS, MIG_CLASS], _fleet_nodes(nodes, seed), _fleet_queue(nodes, seed))


def _fleet_nodes(nodes: int, seed: int) -> Iterator[Mapped]:
    for number in range(nodes):
        sku, name = _sku_of(number), f"node-{number:05d}"
        yield with_room(objects.node(name, {SKU_LABEL: sku.name}), sku.allocatable)
        yield from sku.slices(Random(f"{seed}/fleet/{number}"), name)


def _sku_of(number: int) -> Sku:
    return SKUS[_PATTERN[number % len(_PATTERN)]]


def _paired(rng: Random, node: str) -> Iterator[Mapped]:
    cards = [gpu(rng, _HOPPER, index, index // 2, index // _PAIRS) for index in range(2 * _PAIRS)]
    interfaces = [_interface(rng, index) for index in range(_PAIRS)]
    for driver, devices in ((GPU_DRIVER, cards), (NIC_DRIVER, interfaces)):
        yield objects.resource_slice(f"{node}-{driver}", driver, node, objects.on_node(node), devices)


def _interface(rng: Random, index: int) -> Mapped:
    attributes: dict[str, objects.AttributeValue] = {
        "rdma": True,
        "index": index,
        "uuid": uuid(rng),
        PCIE_ROOT: pcie_root(index),
    }
    return objects.device(f"nic-{index}", attributes, {"bandwidth": "400G"})


def _mig(rng: Random, node: str) -> Iterator[Mapped]:
    cards = [_with_common_attributes(rng, _as_published(index)) for index in range(_CARDS)]
    # What a card has is what the whole of it consumes.
    sets = [
        {"name": f"gpu-{index}", "counters": whole_gpu(index)["consumesCounters"][0]["counters"]}
        for index in range(_CARDS)
    ]
    name, where = f"{node}-{GPU_DRIVER}", objects.on_node(node)
    yield objects.resource_slice(f"{name}-counters", GPU_DRIVER, node, where, count=2, shared_counters=sets)
    devices = [device for card in cards for device in card]
    yield objects.resource_slice(f"{name}-devices", GPU_DRIVER, node, where, devices, count=2)


def _as_published(index: int) -> Iterator[Mapped]:
    yield whole_gpu(index)
    for device in partitions(index):
        if device["attributes"]["profile"]["string"] in _PROFILES:
            yield device


def _with_common_attributes(rng: Random, devices: Iterator[Mapped]) -> list[Mapped]:
    """The devices with what drivers say of a card and its parts alike, and UUIDs."""
    facts = GPU_MODELS[_CARD]
    about = {
        "architecture": objects.attribute(facts.architecture),
        "cudaComputeCapability": objects.version(facts.compute_capability),
    }
    return [
        {**device, "attributes": {**device["attributes"], **about, "uuid": objects.attribute(uuid(rng))}}
        for device in devices
    ]


def _plain(rng: Random, node: str) -> Iterator[Mapped]:
    models = ["L4"] * (DEVICES_PER_NODE - _LARGE) + [_CARD] * _LARGE
    devices = [gpu(rng, model, index, index, index * 2 // DEVICES_PER_NODE) for index, model in enumerate(models)]
    yield objects.resource_slice(f"{node}-{GPU_DRIVER}", GPU_DRIVER, node, objects.on_node(node), devices)


def _gpus(count: int, *expressions: str) -> Mapped:
    return objects.exactly("gpus", objects.wanted("gpu", *expressions, count=count))


def _profile(name: str) -> Sequence[Mapped]:
    chosen = f'device.attributes["{GPU_DRIVER}"].profile == "{name}"'
    return [objects.exactly("part", objects.wanted("mig", chosen, count=1))]


def _near(gpus: int) -> Sequence[Mapped]:
    return [_gpus(gpus), objects.exactly("nic", objects.wanted("rdma-nic", count=1))]


_ONE_ROOT: Sequence[Mapped] = [{"matchAttribute": PCIE_ROOT}]
_AT_LEAST_40 = f'device.capacity["{GPU_DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
_IS_HOPPER = f'device.attributes["{GPU_DRIVER}"].productName.startsWith("H100")'
_IS_CARD = f'device.attributes["{GPU_DRIVER}"].productName == "{_CARD}"'
_IS_ADA = f'device.attributes["{GPU_DRIVER}"].architecture == "Ada Lovelace"'
_IS_RECENT = f'device.attributes["{GPU_DRIVER}"].cudaComputeCapability.isGreaterThan(semver("8.5.0"))'
SKUS = {
    sku.name: sku
    for sku in (
        Sku(
            "paired",
            2 * _PAIRS,
            {"cpu": "192", "memory": "2048Gi", "pods": "110"},
            _paired,
            [
                SkuClaimKind("near", 0.34, 1, _near(1), 16, 128, _ONE_ROOT),
                SkuClaimKind("near-two", 0.10, 2, _near(2), 40, 300, _ONE_ROOT),
                SkuClaimKind("hopper", 0.36, 1, [_gpus(1, _IS_HOPPER)], 12, 96),
                SkuClaimKind("four-hopper", 0.16, 4, [_gpus(4, _IS_HOPPER)], 64, 512),
                SkuClaimKind("eight", 0.04, 8, [_gpus(8)], 160, 1600),
            ],
        ),
        Sku(
            "mig",
            8 * _CARDS,
            {"cpu": "64", "memory": "512Gi", "pods": "110"},
            _mig,
            [
                SkuClaimKind("small-part", 0.50, 2, _profile("2g.10gb"), 4, 32),
                SkuClaimKind("large-part", 0.37, 4, _profile("3g.20gb"), 8, 48),
                SkuClaimKind("card", 0.13, 8, [_gpus(1, _IS_CARD)], 16, 128),
            ],
        ),
        Sku(
            "plain",
            DEVICES_PER_NODE,
            {"cpu": "96", "memory": "768Gi", "pods": "110"},
            _plain,
            [
                SkuClaimKind("large", 0.17, 1, [_gpus(1, _AT_LEAST_40)], 10, 96),
                SkuClaimKind("two-large", 0.10, 2, [_gpus(2, _AT_LEAST_40)], 16, 128),
                SkuClaimKind("ada", 0.30, 2, [_gpus(2, _IS_ADA)], 12, 64),
                SkuClaimKind("recent", 0.10, 1, [_gpus(1, _IS_RECENT)], 24, 48),
                SkuClaimKind("some", 0.33, 5, [_gpus(5)], 30, 240),
            ],
        ),
    )
}
_PATTERN = ("paired", "plain", "mig", "paired", "plain")


def fleet_demand(nodes: int) -> dict[str, dict[str, int]]:
    """How many claims of each kind the queue has, by SKU: together they take a tenth more than the SKU gives."""
    counts = dict.fromkeys(SKUS, 0)
    for number in range(nodes):
        counts[_sku_of(number).name] += 1
    found = {}
    for name, sku in SKUS.items():
        claims = counts[name] * sku.gives * (1 + OVERLOAD) / sum(ask.part * ask.takes for ask in sku.asks)
        found[name] = {ask.name: round(claims * ask.part) for ask in sku.asks}
    return found


def _fleet_queue(nodes: int, seed: int) -> Iterator[Mapped]:
    """Deployments and Jobs, and behind them pods of nobody, all of them in random order."""
    rng, requested = Random(f"{seed}/fleet/queue"), fleet_demand(nodes)
    made: list[Mapped] = []
    pods: list[tuple[Sku, SkuClaimKind]] = []
    for sku in SKUS.values():
        for ask in sku.asks:
            yield objects.template(_sku_claim_template(sku, ask), ask.spec)
            plain = round(requested[sku.name][ask.name] * _PLAIN)
            pods += [(sku, ask)] * plain
            left, number = requested[sku.name][ask.name] - plain, 0
            while left:
                size = min(left, rng.randint(1, _REPLICAS))
                make = deployment if rng.random() < 0.5 else job
                made.append(make(f"{_sku_claim_template(sku, ask)}-{number:04d}", size, _sku_pod_spec(sku, ask)))
                left -= size
                number += 1
    rng.shuffle(made)
    rng.shuffle(pods)
    yield from made
    for number, (sku, ask) in enumerate(pods):
        yield pending_pod(f"pod-{number:05d}", _sku_pod_spec(sku, ask))


def _sku_claim_template(sku: Sku, ask: SkuClaimKind) -> str:
    return f"{sku.name}-{ask.name}"


def _sku_pod_spec(sku: Sku, ask: SkuClaimKind) -> Mapped:
    entry = objects.by_template("devices", _sku_claim_template(sku, ask))
    return pod_spec(ask.room, [entry])
