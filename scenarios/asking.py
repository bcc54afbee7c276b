"""Pods and claims that ask for the devices of the scenarios."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from . import gpus, hosts, mig, objects
from .objects import Mapped
from .shapes import combine

Form = Literal["templates", "claims", "loose"]


@dataclass(frozen=True, slots=True)
class Ask:
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
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}, known are: {', '.join(KINDS)}")
    rng = Random(f"{seed}/requests")
    asks = [KINDS[kind](rng) for kind in rng.choices(list(weights), list(weights.values()), k=count)]
    made = (
        item for number, ask in enumerate(asks) for item in _FORMS[form](ask, f"{ask.name}-{number:05d}", namespace)
    )
    return combine(made)


def _templates(ask: Ask, name: str, namespace: str) -> Iterator[Mapped]:
    yield objects.template(ask.name, ask.spec, namespace)
    yield objects.pod(name, [objects.by_template("devices", ask.name)], namespace)


def _claims(ask: Ask, name: str, namespace: str) -> Iterator[Mapped]:
    yield objects.claim(name, ask.spec, namespace)
    yield objects.pod(name, [objects.by_claim("devices", name)], namespace)


def _loose(ask: Ask, name: str, namespace: str) -> Iterator[Mapped]:
    yield objects.claim(name, ask.spec, namespace)


_FORMS: dict[str, Callable[[Ask, str, str], Iterator[Mapped]]] = {
    "templates": _templates,
    "claims": _claims,
    "loose": _loose,
}


def _one(body: Mapped, *constraints: Mapped) -> Mapped:
    return objects.claim_spec([objects.exactly("devices", body)], constraints)


def _whole_gpus(rng: Random) -> Ask:
    (size,) = rng.choices([1, 2, 4, 8], [6, 3, 2, 1])
    return Ask(f"gpu-{size}", _one(objects.wanted("gpu", count=size)))


def _near_gpus(rng: Random) -> Ask:
    (size,) = rng.choices([2, 4], [3, 1])
    constraint = {"matchAttribute": f"{gpus.DRIVER}/numaNode"}
    return Ask(f"near-gpus-{size}", _one(objects.wanted("gpu", count=size), constraint))


def _either_gpu(rng: Random) -> Ask:
    size, product = rng.choice([1, 2]), f'device.attributes["{gpus.DRIVER}"].productName'
    bodies = [
        ("large", objects.wanted("gpu", f'{product} == "H100-SXM5-80GB"', count=size)),
        ("many", objects.wanted("gpu", f'{product} == "A100-SXM4-40GB"', count=2 * size)),
        ("any", objects.wanted("gpu", count=4 * size)),
    ]
    return Ask(f"either-gpu-{size}", objects.claim_spec([objects.first_available("devices", bodies)]))


def _partition(rng: Random) -> Ask:
    (profile,) = rng.choices(list(mig.PROFILES), [6, 1, 2, 4, 3, 1, 1])
    test = f'device.attributes["{gpus.DRIVER}"].profile == "{profile}"'
    name = profile.replace(".", "-").replace("+", "-")
    return Ask(f"mig-{name}", _one(objects.wanted("mig", test)))


def _gpu_with_nic(rng: Random) -> Ask:
    """Pairs of a GPU and an interface near it."""
    pairs = rng.choice([1, 1, 2])
    asked = [
        objects.exactly(f"{name}-{number}", objects.wanted(class_name))
        for number in range(pairs)
        for name, class_name in (("gpu", "gpu"), ("nic", "rdma-nic"))
    ]
    near = [
        {"requests": [f"gpu-{number}", f"nic-{number}"], "matchAttribute": gpus.PCIE_ROOT} for number in range(pairs)
    ]
    return Ask(f"gpu-nic-{pairs}", objects.claim_spec(asked, near))


def _processors(rng: Random) -> Ask:
    amount, memory = rng.choice([1, 2, 4, 7, 16]), rng.choice(["1Gi", "3Gi", "16Gi"])
    asked = {"requests": {"cpus": str(amount), "memory": memory}}
    return Ask(f"cpus-{amount}-{memory.lower()}", _one(objects.wanted("shared-cpu", capacity=asked)))


def _channel(_: Random) -> Ask:
    return Ask("channel", _one(objects.wanted("channel")))


def _monitor(_: Random) -> Ask:
    return Ask("monitor", _one(objects.wanted("channel", allocationMode="All", adminAccess=True)))


def _slice(rng: Random) -> Ask:
    (size,) = rng.choices([1, 2, 4], [4, 2, 1])
    test = f'device.attributes["{hosts.DRIVER}"].topology == "{hosts.TOPOLOGIES[size]}"'
    return Ask(f"tpu-{size}", _one(objects.wanted("tpu", test)))


# What can be asked, and by which scenario it is offered.
KINDS: dict[str, Callable[[Random], Ask]] = {
    "gpu": _whole_gpus,  # gpu_nodes, nic_nodes, mig_nodes
    "near-gpus": _near_gpus,  # gpu_nodes, nic_nodes
    "either-gpu": _either_gpu,  # gpu_nodes
    "mig": _partition,  # mig_nodes
    "gpu-with-nic": _gpu_with_nic,  # nic_nodes
    "cpus": _processors,  # cpu_nodes
    "channel": _channel,  # channel_nodes
    "monitor": _monitor,  # channel_nodes, in the namespace "monitoring"
    "tpu": _slice,  # multi_host_nodes
}
