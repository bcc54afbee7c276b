"""Karpenter's side of a cluster: a catalogue of instance types, NodePools, and pods that wait for nodes.

Types come in families as clouds have them: general ones, ones with much memory or little, with accelerators and with
network interfaces. Prices grow with what a type has, and differ by zone and capacity type.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from . import objects
from .objects import Mapped
from .queues import deployment, pod_spec

TYPES, PODS, KINDS = 400, 2000, 40
ZONES = ("zone-a", "zone-b", "zone-c")
CAPACITY_TYPES = ("reserved", "spot", "on-demand")
GPU_DRIVER, NIC_DRIVER = "gpu.example.com", "nic.example.com"
PCIE_ROOT = "resource.k8s.io/pcieRoot"
_ZONE, _CAPACITY_TYPE = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
_ARCH = "kubernetes.io/arch"
# What an hour of an accelerator costs, and how much memory it has.
_MODELS = {"t4": (0.35, 16), "l4": (0.6, 24), "a10": (0.9, 24), "a100": (3.2, 80), "h100": (7.5, 80)}
_GPU_TAINT = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
_CPU_PRICE, _MEMORY_PRICE, _NIC_PRICE = 0.03, 0.004, 0.25
_CHEAPER_GENERATIONS = 20
_SPOT, _RESERVED = (0.25, 0.55), (0.55, 0.7)


def machines(types: int = TYPES, pods: int = PODS, *, kinds: int = KINDS, seed: int = 0) -> list[Mapped]:
    """A catalogue, three NodePools, and pods of so many kinds that wait; each type has nine offerings."""
    made = [*islice(_instance_types(Random(f"{seed}/types")), types), *node_pools()]
    classes = [objects.device_class(name, f"device.driver == '{name}.example.com'") for name in ("gpu", "nic")]
    return [*made, *classes, *_pending(pods, kinds, Random(f"{seed}/pods"))]


def node_pools() -> list[Mapped]:
    """One for everything without accelerators, one for accelerators alone, and one of spot nodes with a limit."""
    return [
        _pool("general", [_one_of("example.com/family", "general", "compute", "memory", "network")], weight=10),
        _pool("accelerated", [_one_of("example.com/family", "gpu", "gpu-network")], taints=[_GPU_TAINT]),
        _pool("spot", [_one_of(_CAPACITY_TYPE, "spot")], taints=[_GPU_TAINT], limits={"cpu": "800"}),
    ]


def _pool(name: str, requirements: list[Mapped], taints: list[Mapped] | None = None, **spec: object) -> Mapped:
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    template = {"spec": objects.present(requirements=requirements, taints=taints, nodeClassRef=reference)}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def _one_of(label: str, *values: str) -> Mapped:
    return {"key": label, "operator": "In", "values": list(values)}


def _instance_types(rng: Random) -> Iterator[Mapped]:
    """Yield types in generations, the first of which has every family; later ones are a little cheaper, some time."""
    for generation in range(1, 1000):
        discount = 0.93 ** min(generation, _CHEAPER_GENERATIONS) * rng.uniform(0.95, 1.05)
        for size in (2, 4, 8, 16, 32, 64, 96):
            for family, memory in (("general", 4), ("compute", 2), ("memory", 8)):
                yield _instance_type(f"{family[0]}{generation}-{size}", family, size, size * memory, discount, rng)
        for model in _MODELS:
            for gpus in (1, 2, 4, 8):
                named = f"{model}-{generation}-{gpus}"
                yield _instance_type(named, "gpu", 8 * gpus, 64 * gpus, discount, rng, model=model, gpus=gpus)
        for number in (2, 4, 8):
            named = f"n{generation}-{number}"
            yield _instance_type(named, "network", 16 * number, 64 * number, discount, rng, nics=number)
            named = f"h100-net-{generation}-{number}"
            yield _instance_type(
                named, "gpu-network", 16 * number, 128 * number, discount, rng, model="h100", gpus=number, nics=number
            )


def _instance_type(
    name: str,
    family: str,
    cpus: int,
    memory: int,
    discount: float,
    rng: Random,
    *,
    model: str = "",
    gpus: int = 0,
    nics: int = 0,
) -> Mapped:
    price = cpus * _CPU_PRICE + memory * _MEMORY_PRICE + nics * _NIC_PRICE
    price = (price + (gpus * _MODELS[model][0] if model else 0)) * discount * rng.uniform(0.9, 1.1)
    requirements = [
        _one_of(_ARCH, "amd64"),
        _one_of("kubernetes.io/os", "linux"),
        _one_of("example.com/family", family),
        _one_of(_ZONE, *ZONES),
        _one_of(_CAPACITY_TYPE, *CAPACITY_TYPES),
    ]
    spec = objects.present(
        requirements=requirements,
        capacity={"cpu": str(cpus), "memory": f"{memory}Gi", "pods": "110"},
        overhead={"kubeReserved": {"cpu": "100m", "memory": "1Gi"}},
        offerings=list(_offerings(price, rng)),
        slices=[*_gpu_slices(model, gpus), *_nic_slices(nics)],
        attributeBindings=[_pair(number) for number in range(min(gpus, nics))],
    )
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "InstanceType", "metadata": {"name": name}, "spec": spec}


def _offerings(price: float, rng: Random) -> Iterator[Mapped]:
    for zone in ZONES:
        local = price * rng.uniform(0.98, 1.04)
        for kind in CAPACITY_TYPES:
            part = {"spot": rng.uniform(*_SPOT), "reserved": rng.uniform(*_RESERVED)}.get(kind, 1.0)
            offering: Mapped = {"requirements": [_one_of(_ZONE, zone), _one_of(_CAPACITY_TYPE, kind)]}
            offering["price"] = f"{local * part:.6f}"
            if kind == "reserved":
                offering["reservationCapacity"] = rng.choice((0, 0, 1, 3))
            yield offering


def _gpu_slices(model: str, gpus: int) -> Iterator[Mapped]:
    if gpus:
        memory = {"memory": f"{_MODELS[model][1]}Gi"}
        made = [objects.device(f"gpu-{number}", {"model": model}, memory) for number in range(gpus)]
        yield {"driver": GPU_DRIVER, "devices": made}


def _nic_slices(nics: int) -> Iterator[Mapped]:
    if nics:
        yield {"driver": NIC_DRIVER, "devices": [objects.device(f"nic-{n}", {"speed": 400}) for n in range(nics)]}


def _pair(number: int) -> Mapped:
    """The accelerator and the interface of a number hang on one root, the name of which nobody knows yet."""
    devices = [{"driver": GPU_DRIVER, "device": f"gpu-{number}"}, {"driver": NIC_DRIVER, "device": f"nic-{number}"}]
    return {"devices": devices, "attribute": PCIE_ROOT}


def _pending(pods: int, kinds: int, rng: Random) -> Iterator[Mapped]:
    """Yield deployments of about equal size, each with a template of its claims."""
    for kind in range(kinds):
        replicas = pods // kinds + (kind < pods % kinds)
        name = f"kind-{kind}"
        constraints: list[Mapped] = []
        requests: list[Mapped] = []
        spec: Mapped = {}
        draw = rng.random()
        if draw < 0.55:
            model, count = rng.choice(list(_MODELS)), rng.choice((1, 1, 1, 2, 4))
            selector = objects.selectors(f"device.attributes['{GPU_DRIVER}'].model == '{model}'")
            spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
            requests = [objects.exactly("gpu", {"deviceClassName": "gpu", "count": count, "selectors": selector})]
        elif draw < 0.7:
            memory = rng.choice((20, 40, 80))
            selector = objects.selectors(
                f"device.capacity['{GPU_DRIVER}'].memory.compareTo(quantity('{memory}Gi')) >= 0"
            )
            spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
            requests = [objects.exactly("gpu", {"deviceClassName": "gpu", "selectors": selector})]
        elif draw < 0.8:
            spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
            requests = [objects.exactly(name_, {"deviceClassName": name_}) for name_ in ("gpu", "nic")]
            constraints = [{"requests": ["gpu", "nic"], "matchAttribute": PCIE_ROOT}]
        elif draw < 0.9:
            requests = [objects.exactly("nic", {"deviceClassName": "nic", "count": rng.choice((1, 2))})]
        if rng.random() < 0.1:
            spec["nodeSelector"] = {_ZONE: rng.choice(ZONES)}
        asked = {"cpu": rng.choice(("500m", "1", "2", "4")), "memory": rng.choice(("2Gi", "4Gi", "8Gi", "16Gi"))}
        claims = []
        if requests:
            yield objects.template(name, objects.claim_spec(requests, constraints))
            claims = [objects.by_template("devices", name)]
        yield deployment(name, replicas, pod_spec(asked, claims, **spec))
