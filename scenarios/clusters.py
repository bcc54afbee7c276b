"""Clusters with nodes of several shapes, taints on their devices, and pods and claims that ask for these devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from . import mig, node_shapes, objects
from .mig import mig_shape
from .node_shapes import NodeShape, channel_shape, combine, cpu_shape, gpu_shape, nic_shape, nodes_of
from .objects import Mapped

NODE_SHAPES: dict[str, Callable[[], NodeShape]] = {
    "a100": lambda: gpu_shape("A100-SXM4-40GB", 8),
    "h100": lambda: gpu_shape("H100-SXM5-80GB", 8),
    "l4": lambda: gpu_shape("L4", 4),
    "mig": lambda: mig_shape(4),
    "nic": lambda: nic_shape(8, 4),
    "cpu": lambda: cpu_shape(2, 32),
    "channel": lambda: channel_shape(16),
}
_DEFAULT_MIX = {"h100": 4, "a100": 3, "l4": 2, "mig": 2, "nic": 3, "cpu": 2}


def mixed_nodes(
    nodes: int = 10, *, seed: int = 0, fullness: float = 0.0, mix: Mapping[str, float] | None = None
) -> list[Mapped]:
    """Nodes each of one of SHAPES, drawn by the weights of ``mix``; ``fullness`` as in the shapes' own generators."""
    weights = mix or _DEFAULT_MIX
    for name in weights:
        if name not in NODE_SHAPES:
            raise ValueError(f"unknown shape {name!r}, known are: {', '.join(NODE_SHAPES)}")
    return nodes_of([(NODE_SHAPES[name](), weight) for name, weight in weights.items()], nodes, "node", seed, fullness)


# Devices that consume counters or carry a taint or a list make a slice a small one (SLC-2).
_SMALL_SLICE = 64


def with_taints(scenario: Iterable[Mapped], share: float = 0.1, rules: int = 1, *, seed: int = 0) -> list[Mapped]:
    """The scenario with a share of its devices tainted, and with rules that drain a pool each.

    Taints: ``example.com/degraded:NoSchedule`` and ``example.com/drained=maintenance:NoExecute``. Slices of more than
    64 devices are left without the first.
    """
    rng = Random(f"{seed}/taints")
    made = [_tainted(rng, item, share) if item["kind"] == "ResourceSlice" else item for item in scenario]
    specs = [item["spec"] for item in made if item["kind"] == "ResourceSlice" and item["spec"].get("devices")]
    pools = sorted({(spec["driver"], spec["pool"]["name"]) for spec in specs})
    drained = objects.taint("example.com/drained", "maintenance", "NoExecute")
    chosen = rng.sample(pools, min(rules, len(pools)))
    return made + [
        objects.taint_rule(f"drain-{number}", drained, driver=driver, pool=pool)
        for number, (driver, pool) in enumerate(chosen)
    ]


def _tainted(rng: Random, slice_: Mapped, share: float) -> Mapped:
    devices = slice_["spec"].get("devices", [])
    if len(devices) > _SMALL_SLICE:
        return slice_
    degraded = {"taints": [objects.taint("example.com/degraded")]}
    changed = [device | degraded if rng.random() < share else device for device in devices]
    return {**slice_, "spec": slice_["spec"] | objects.present(devices=changed)}


Form = Literal["templates", "claims", "loose"]


@dataclass(frozen=True, slots=True)
class ClaimKind:
    """A way to ask for devices: a name for its template, and the spec of the claim."""

    name: str
    spec: Mapped


def requests(
    count: int = 10,
    kinds: Mapping[str, float] | None = None,
    *,
    seed: int = 0,
    form: Form = "templates",
    namespace: str = "default",
) -> list[Mapped]:
    """So many things that ask for devices, with kinds (see KINDS) drawn by weight; default: only ``gpu``.

    As pods with claims from shared templates, as pods that name a claim each, or as loose claims. Classes come with the
    nodes. ``monitor`` needs a namespace with admin access.
    """
    weights = kinds or {"gpu": 1}
    for kind in weights:
        if kind not in CLAIM_KINDS:
            raise ValueError(f"unknown kind {kind!r}, known are: {', '.join(CLAIM_KINDS)}")
    rng = Random(f"{seed}/requests")
    asks = [CLAIM_KINDS[kind](rng) for kind in rng.choices(list(weights), list(weights.values()), k=count)]
    made = (
        item for number, ask in enumerate(asks) for item in _FORMS[form](ask, f"{ask.name}-{number:05d}", namespace)
    )
    return combine(made)


def _claims_from_templates(ask: ClaimKind, name: str, namespace: str) -> Iterator[Mapped]:
    yield objects.template(ask.name, ask.spec, namespace)
    yield objects.pod(name, [objects.by_template("devices", ask.name)], namespace)


def _shared_claims(ask: ClaimKind, name: str, namespace: str) -> Iterator[Mapped]:
    yield objects.claim(name, ask.spec, namespace)
    yield objects.pod(name, [objects.by_claim("devices", name)], namespace)


def _claims_without_pods(ask: ClaimKind, name: str, namespace: str) -> Iterator[Mapped]:
    yield objects.claim(name, ask.spec, namespace)


_FORMS: dict[str, Callable[[ClaimKind, str, str], Iterator[Mapped]]] = {
    "templates": _claims_from_templates,
    "claims": _shared_claims,
    "loose": _claims_without_pods,
}


def _single_request(body: Mapped, *constraints: Mapped) -> Mapped:
    return objects.claim_spec([objects.exactly("devices", body)], constraints)


def _whole_gpus(rng: Random) -> ClaimKind:
    (size,) = rng.choices([1, 2, 4, 8], [6, 3, 2, 1])
    return ClaimKind(f"gpu-{size}", _single_request(objects.wanted("gpu", count=size)))


def _near_gpus(rng: Random) -> ClaimKind:
    (size,) = rng.choices([2, 4], [3, 1])
    constraint = {"matchAttribute": f"{node_shapes.GPU_DRIVER}/numaNode"}
    return ClaimKind(f"near-gpus-{size}", _single_request(objects.wanted("gpu", count=size), constraint))


def _either_gpu(rng: Random) -> ClaimKind:
    size, product = rng.choice([1, 2]), f'device.attributes["{node_shapes.GPU_DRIVER}"].productName'
    bodies = [
        ("large", objects.wanted("gpu", f'{product} == "H100-SXM5-80GB"', count=size)),
        ("many", objects.wanted("gpu", f'{product} == "A100-SXM4-40GB"', count=2 * size)),
        ("any", objects.wanted("gpu", count=4 * size)),
    ]
    return ClaimKind(f"either-gpu-{size}", objects.claim_spec([objects.first_available("devices", bodies)]))


def _partition(rng: Random) -> ClaimKind:
    (profile,) = rng.choices(list(mig.MIG_PROFILES), [6, 1, 2, 4, 3, 1, 1])
    test = f'device.attributes["{node_shapes.GPU_DRIVER}"].profile == "{profile}"'
    name = profile.replace(".", "-").replace("+", "-")
    return ClaimKind(f"mig-{name}", _single_request(objects.wanted("mig", test)))


def _gpu_with_nic(rng: Random) -> ClaimKind:
    """Pairs of a GPU and an interface near it."""
    pairs = rng.choice([1, 1, 2])
    requested = [
        objects.exactly(f"{name}-{number}", objects.wanted(class_name))
        for number in range(pairs)
        for name, class_name in (("gpu", "gpu"), ("nic", "rdma-nic"))
    ]
    near = [
        {"requests": [f"gpu-{number}", f"nic-{number}"], "matchAttribute": node_shapes.PCIE_ROOT}
        for number in range(pairs)
    ]
    return ClaimKind(f"gpu-nic-{pairs}", objects.claim_spec(requested, near))


def _processors(rng: Random) -> ClaimKind:
    amount, memory = rng.choice([1, 2, 4, 7, 16]), rng.choice(["1Gi", "3Gi", "16Gi"])
    requested = {"requests": {"cpus": str(amount), "memory": memory}}
    return ClaimKind(
        f"cpus-{amount}-{memory.lower()}", _single_request(objects.wanted("shared-cpu", capacity=requested))
    )


def _slice(rng: Random) -> ClaimKind:
    (size,) = rng.choices([1, 2, 4], [4, 2, 1])
    test = f'device.attributes["{node_shapes.TPU_DRIVER}"].topology == "{node_shapes.TPU_TOPOLOGIES[size]}"'
    return ClaimKind(f"tpu-{size}", _single_request(objects.wanted("tpu", test)))


# What can be asked, and by which scenario it is offered.
CLAIM_KINDS: dict[str, Callable[[Random], ClaimKind]] = {
    "gpu": _whole_gpus,  # gpu_nodes, nic_nodes, mig_nodes
    "near-gpus": _near_gpus,  # gpu_nodes, nic_nodes
    "either-gpu": _either_gpu,  # gpu_nodes
    "mig": _partition,  # mig_nodes
    "gpu-with-nic": _gpu_with_nic,  # nic_nodes
    "cpus": _processors,  # cpu_nodes
    "channel": lambda _: ClaimKind("channel", _single_request(objects.wanted("channel"))),  # channel_nodes
    "monitor": lambda _: ClaimKind(  # channel_nodes, in the namespace "monitoring"
        "monitor", _single_request(objects.wanted("channel", allocationMode="All", adminAccess=True))
    ),
    "tpu": _slice,  # multi_host_nodes
}
