"""Nodes of real shapes, and claims that hold some of their devices already.

Whole GPUs; GPUs with network interfaces near some of them; processors and memory shared by capacity; channels of
compute domains, over which the GPUs of several nodes share memory; accelerators whose slices reach over several hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple
from uuid import UUID

from . import objects
from .objects import Mapped

# Where the claims are that hold devices already.
RUNNING_NAMESPACE = "running"


@dataclass(frozen=True, slots=True)
class NodeShape:
    """A kind of node: the objects it has beside the Node itself, and the classes its devices are asked for by.

    ``build`` gets a random source, the node's name, and how full it is (0 to 1).
    """

    build: Callable[[Random, str, float], Iterable[Mapped]]
    classes: Sequence[Mapped]
    labels: Mapping[str, str]


def nodes_of(
    shapes: Sequence[tuple[NodeShape, float]], nodes: int, prefix: str, seed: int, fullness: float
) -> list[Mapped]:
    """Nodes, each of one shape drawn by weight, with their devices and the claims that hold some; classes first.

    Every node has a random source of its own, so a cluster with more nodes begins with the same ones.
    """
    if not 0 <= fullness <= 1:
        raise ValueError(f"fullness must be between 0 and 1, not {fullness}")
    made = [item for shape, _ in shapes for item in shape.classes]
    kinds, weights = [shape for shape, _ in shapes], [weight for _, weight in shapes]
    for number in range(nodes):
        rng, name = Random(f"{seed}/{prefix}/{number}"), f"{prefix}-{number:05d}"
        (shape,) = rng.choices(kinds, weights)
        made.append(objects.node(name, shape.labels))
        made += shape.build(rng, name, fullness)
    return combine(made)


def combine(*parts: Iterable[Mapped]) -> list[Mapped]:
    """All objects of the parts in order; of equal names of one kind (classes, namespaces) only the first."""
    kept: dict[tuple[str, str, str], Mapped] = {}
    for part in parts:
        for item in part:
            metadata = item["metadata"]
            kept.setdefault((item["kind"], metadata.get("namespace", ""), metadata["name"]), item)
    return list(kept.values())


def uuid(rng: Random) -> str:
    """A random UUID."""
    return str(UUID(int=rng.getrandbits(128), version=4))


def portion(rng: Random, whole: int, fullness: float) -> int:
    """How many of a whole are in use: the fullness on average, rounded at random."""
    amount = whole * fullness
    return min(whole, int(amount) + (rng.random() < amount % 1))


def held_claim(name: str, class_name: str, results: Sequence[Mapped], node: str | None) -> Mapped:
    """A claim that has been allocated these devices, all for one request named ``devices``."""
    body = objects.wanted(class_name, count=len(results))
    unallocated = objects.claim(name, objects.claim_spec([objects.exactly("devices", body)]), RUNNING_NAMESPACE)
    return objects.allocated(unallocated, results, node)


def hold_whole(
    rng: Random, driver: str, pool: str, class_name: str, devices: Sequence[Mapped], fullness: float
) -> Iterator[Mapped]:
    """Claims of one to four whole devices each that hold a part of a node's pool (named like the node)."""
    free = rng.sample(devices, portion(rng, len(devices), fullness))
    number = 0
    while free:
        size = min(len(free), rng.choice([1, 1, 2, 4]))
        chosen, free = free[:size], free[size:]
        results = [objects.result("devices", driver, pool, device["name"]) for device in chosen]
        yield held_claim(f"{pool}-{driver.split('.')[0]}-{number}", class_name, results, pool)
        number += 1


def driver_class(name: str, driver: str, test: str = "", config: Sequence[Mapped] = ()) -> Mapped:
    """A class of a driver's devices, perhaps only those whose attribute ``type`` is as given."""
    is_type = f' && device.attributes["{driver}"].type == "{test}"' if test else ""
    return objects.device_class(name, f'device.driver == "{driver}"{is_type}', config=config)


GPU_DRIVER = "gpu.example.com"
GPU_CLASS = driver_class("gpu", GPU_DRIVER, "gpu")
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


class GpuModel(NamedTuple):
    """What the devices of a model say of themselves."""

    architecture: str
    compute_capability: str
    memory: str


GPU_MODELS = {
    "L4": GpuModel("Ada Lovelace", "8.9.0", "23034Mi"),
    "A100-SXM4-40GB": GpuModel("Ampere", "8.0.0", "40960Mi"),
    "H100-SXM5-80GB": GpuModel("Hopper", "9.0.0", "81559Mi"),
    "B200": GpuModel("Blackwell", "10.0.0", "183359Mi"),
}


def gpu_nodes(
    nodes: int = 4, devices: int = 8, *, seed: int = 0, fullness: float = 0.0, mix: Mapping[str, float] | None = None
) -> list[Mapped]:
    """Nodes with whole GPUs, two to a PCIe root, half of them on each NUMA node.

    ``mix`` gives weights to the MODELS (default: only H100); all GPUs of a node are of one model. ``fullness`` is
    the part of the devices that claims hold already. The class is ``gpu``.
    """
    weights = mix or {"H100-SXM5-80GB": 1}
    return nodes_of(
        [(gpu_shape(model, devices), weight) for model, weight in weights.items()], nodes, "gpu", seed, fullness
    )


def gpu_shape(model: str, devices: int) -> NodeShape:
    """A node with GPUs of a model."""
    return NodeShape(partial(_build_gpu_node, model, devices), [GPU_CLASS], {"example.com/gpu": model})


def _build_gpu_node(model: str, devices: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    gpus = [gpu(rng, model, index, index // 2, index * 2 // devices) for index in range(devices)]
    yield objects.resource_slice(f"{node}-{GPU_DRIVER}", GPU_DRIVER, node, objects.on_node(node), gpus)
    yield from hold_whole(rng, GPU_DRIVER, node, "gpu", gpus, fullness)


def gpu(rng: Random, model: str, index: int, root: int, numa: int) -> Mapped:
    """A whole GPU on a PCIe root and a NUMA node."""
    facts = GPU_MODELS[model]
    attributes: dict[str, objects.AttributeValue] = {
        "type": "gpu",
        "index": index,
        "uuid": f"GPU-{uuid(rng)}",
        "productName": model,
        "architecture": facts.architecture,
        "cudaComputeCapability": objects.version(facts.compute_capability),
        "numaNode": numa,
        PCIE_ROOT: pcie_root(root),
    }
    return objects.device(f"gpu-{index}", attributes, {"memory": facts.memory})


def pcie_root(number: int) -> str:
    """The name of a PCIe root."""
    return f"pci0000:{16 * number + 1:02x}"


NIC_DRIVER = "nic.example.com"
NIC_CLASS = objects.device_class(
    "rdma-nic", f'device.driver == "{NIC_DRIVER}"', f'device.attributes["{NIC_DRIVER}"].rdma'
)


def nic_nodes(nodes: int = 4, gpus: int = 8, nics: int = 4, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Nodes where each GPU has a PCIe root of its own and each interface sits on a switch over several roots.

    The interfaces publish their roots as a list, so that matchAttribute finds pairs that are near (needs list
    attributes). Classes: ``gpu`` and ``rdma-nic``.
    """
    return nodes_of([(nic_shape(gpus, nics), 1)], nodes, "rail", seed, fullness)


def nic_shape(gpus: int, nics: int) -> NodeShape:
    """A node with GPUs and interfaces."""
    return NodeShape(partial(_build_nic_node, gpus, nics), [GPU_CLASS, NIC_CLASS], {"example.com/network": "rdma"})


def _build_nic_node(gpus: int, nics: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    cards = [gpu(rng, "H100-SXM5-80GB", index, index, index * 2 // gpus) for index in range(gpus)]
    interfaces = [_nic(index, gpus, nics) for index in range(nics)]
    for driver, devices, class_name in ((GPU_DRIVER, cards, "gpu"), (NIC_DRIVER, interfaces, "rdma-nic")):
        yield objects.resource_slice(f"{node}-{driver}", driver, node, objects.on_node(node), devices)
        yield from hold_whole(rng, driver, node, class_name, devices, fullness)


def _nic(index: int, gpus: int, nics: int) -> Mapped:
    roots = [pcie_root(root) for root in range(gpus) if root * nics // gpus == index]
    attributes: dict[str, objects.AttributeValue] = {"rdma": True, "index": index, "ifName": f"eth{index}"}
    if roots:
        attributes[PCIE_ROOT] = roots
    return objects.device(f"nic-{index}", attributes, {"bandwidth": "400G"})


CPU_DRIVER = "cpu.example.com"
CPU_CLASS = driver_class("shared-cpu", CPU_DRIVER)
_STEP = 2


def cpu_nodes(
    nodes: int = 4, sockets: int = 2, cpus: int = 32, *, seed: int = 0, fullness: float = 0.0
) -> list[Mapped]:
    """Nodes with one shared device for each socket, and with every form of request policy.

    ``cpus`` are shared by a range with a step, ``memory`` by listed values, ``bandwidth`` has nothing but a default.
    ``fullness`` is the part of the cpus in use. The class is ``shared-cpu``.
    """
    return nodes_of([(cpu_shape(sockets, cpus), 1)], nodes, "cpu", seed, fullness)


def cpu_shape(sockets: int, cpus: int) -> NodeShape:
    """A node with shared processors."""
    return NodeShape(partial(_build_cpu_node, sockets, cpus), [CPU_CLASS], {"example.com/cpus": str(sockets * cpus)})


def _build_cpu_node(sockets: int, cpus: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    devices = [_socket_device(number, cpus) for number in range(sockets)]
    yield objects.resource_slice(f"{node}-{CPU_DRIVER}", CPU_DRIVER, node, objects.on_node(node), devices)
    for number in range(sockets):
        yield from _held_cpus(rng, node, number, portion(rng, cpus, fullness))


def _socket_device(number: int, cpus: int) -> Mapped:
    most = cpus // _STEP * _STEP
    capacity = {
        "cpus": _shared_capacity(
            str(cpus), default=str(_STEP), validRange={"min": str(_STEP), "max": str(most), "step": str(_STEP)}
        ),
        "memory": _shared_capacity("128Gi", default="1Gi", validValues=["1Gi", "4Gi", "16Gi", "64Gi"]),
        "bandwidth": _shared_capacity("100G", default="1G"),
    }
    attributes: dict[str, objects.AttributeValue] = {"numaNode": number, "smt": True}
    return objects.device(f"socket-{number}", attributes, capacity, allowMultipleAllocations=True)


def _shared_capacity(value: str, **policy: object) -> Mapped:
    return {"value": value, "requestPolicy": policy}


def _held_cpus(rng: Random, node: str, socket: int, used: int) -> Iterator[Mapped]:
    number = 0
    while used >= _STEP:
        amount = min(rng.choice([2, 4, 8]), used // _STEP * _STEP)
        consumed = {"cpus": str(amount), "memory": rng.choice(["1Gi", "4Gi"]), "bandwidth": "1G"}
        result = objects.result(
            "devices", CPU_DRIVER, node, f"socket-{socket}", shareID=uuid(rng), consumedCapacity=consumed
        )
        yield held_claim(f"{node}-socket-{socket}-{number}", "shared-cpu", [result], node)
        used, number = used - amount, number + 1


CHANNEL_DRIVER = "compute-domain.example.com"
# Its claims may ask for admin access.
MONITORING = "monitoring"
_CHANNEL_CONFIG = objects.opaque(CHANNEL_DRIVER, {"apiVersion": "resource.example.com/v1", "kind": "ChannelConfig"})
CHANNEL_CLASS = driver_class("channel", CHANNEL_DRIVER, "channel", config=[_CHANNEL_CONFIG])
DAEMON_CLASS = driver_class("domain-daemon", CHANNEL_DRIVER, "daemon")


def channel_nodes(nodes: int = 4, channels: int = 16, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Nodes with a daemon and channels (at most 127), and a namespace ``monitoring`` with admin access.

    ``fullness`` is the part of the channels in use. Classes: ``channel`` and ``domain-daemon``.
    """
    return nodes_of([(channel_shape(channels), 1)], nodes, "domain", seed, fullness)


def channel_shape(channels: int) -> NodeShape:
    """A node of compute domains."""
    shared = [CHANNEL_CLASS, DAEMON_CLASS, objects.namespace(MONITORING, admin=True)]
    return NodeShape(partial(_build_channel_node, channels), shared, {"example.com/fabric": "yes"})


def _build_channel_node(channels: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    made = [_channel_device("channel", number) for number in range(channels)]
    devices = [_channel_device("daemon", 0), *made]
    yield objects.resource_slice(f"{node}-{CHANNEL_DRIVER}", CHANNEL_DRIVER, node, objects.on_node(node), devices)
    yield from hold_whole(rng, CHANNEL_DRIVER, node, "channel", made, fullness)


def _channel_device(kind: str, number: int) -> Mapped:
    return objects.device(f"{kind}-{number}", {"type": kind, "id": number})


TPU_DRIVER = "tpu.example.com"
TPU_CLASS = driver_class("tpu", TPU_DRIVER)
RACK_LABEL = "example.com/rack"
_CHIPS_PER_HOST = 4
# Hosts of a slice to its topology, and the other way.
TPU_TOPOLOGIES = {1: "2x2x1", 2: "2x2x2", 4: "2x2x4", 8: "2x4x4", 16: "4x4x4"}


def multi_host_nodes(racks: int = 2, hosts: int = 4, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Racks of hosts with four chips each; slices of 1, 2, 4 ... neighbouring hosts, up to the rack, as devices.

    A rack is one pool over its hosts. Each device names its hosts (perDeviceNodeSelection) and consumes their chips,
    so that slices which overlap exclude each other on whatever node they are asked for. ``fullness`` is the
    probability that a host is in use. ``hosts`` is 1, 2, 4, 8 or 16. The class is ``tpu``.
    """
    if hosts not in TPU_TOPOLOGIES:
        raise ValueError(f"hosts must be one of {', '.join(map(str, TPU_TOPOLOGIES))}, not {hosts}")
    made = [TPU_CLASS]
    for number in range(racks):
        made += _rack(Random(f"{seed}/rack/{number}"), f"rack-{number:04d}", hosts, fullness)
    return combine(made)


def _rack(rng: Random, rack: str, hosts: int, fullness: float) -> Iterator[Mapped]:
    names = [f"{rack}-host-{number:02d}" for number in range(hosts)]
    yield from (objects.node(name, {RACK_LABEL: rack}) for name in names)
    pool, here = f"racks/{rack}", objects.on_nodes_with(RACK_LABEL, rack)
    chips = objects.counter_set("chips", {f"host-{number}": _CHIPS_PER_HOST for number in range(hosts)})
    yield objects.resource_slice(f"{rack}-{TPU_DRIVER}-chips", TPU_DRIVER, pool, here, count=2, shared_counters=[chips])
    each = {"perDeviceNodeSelection": True}
    yield objects.resource_slice(
        f"{rack}-{TPU_DRIVER}-slices", TPU_DRIVER, pool, each, list(_host_slices(names)), count=2
    )
    for number, name in enumerate(names):
        if rng.random() < fullness:
            yield held_claim(name, "tpu", [objects.result("devices", TPU_DRIVER, pool, f"slice-1-{number}")], name)


def _host_slices(names: list[str]) -> Iterator[Mapped]:
    """All slices of the rack, the smallest first: 2 * hosts - 1 of them."""
    for size, topology in TPU_TOPOLOGIES.items():
        for first in range(0, len(names) - size + 1, size):
            chosen = names[first : first + size]
            where = objects.on_node(chosen[0]) if size == 1 else objects.on_nodes_with(objects.HOSTNAME, *chosen)
            used = {f"host-{number}": _CHIPS_PER_HOST for number in range(first, first + size)}
            yield objects.device(
                f"slice-{size}-{first}",
                {"topology": topology, "hosts": size, "chips": size * _CHIPS_PER_HOST},
                {"tpus": str(size * _CHIPS_PER_HOST)},
                consumesCounters=[objects.consumption("chips", used)],
                **where,
            )
