"""A fleet of three SKUs with twelve devices a node, and a queue of a tenth more than it has."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from . import objects
from .gpus import DRIVER, GPU_CLASS, MODELS, PCIE_ROOT, gpu, pcie_root
from .mig import MIG_CLASS, partitions, whole
from .nics import DRIVER as NIC_DRIVER
from .nics import NIC_CLASS
from .objects import Mapped
from .shapes import combine, uuid
from .workloads import deployment, job, pod, pod_spec, with_room

DEVICES = 12
OVERLOAD = 0.1
SKU = "example.com/sku"

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
class Ask:
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
    asks: Sequence[Ask]


def fleet(nodes: int = 100, *, seed: int = 0) -> list[Mapped]:
    """The classes, the nodes with their devices, and the queue, which says by devices where it can go.

    Of five nodes two are of the SKU ``paired`` (eight GPUs and four interfaces, one for each PCIe root with two GPUs),
    two ``plain`` (GPUs of two models and sizes), and one ``mig`` (two cards, whole or in parts). Devices have UUIDs.
    """
    return combine([GPU_CLASS, NIC_CLASS, MIG_CLASS], _nodes(nodes, seed), _queue(nodes, seed))


def _nodes(nodes: int, seed: int) -> Iterator[Mapped]:
    for number in range(nodes):
        sku, name = _sku_of(number), f"node-{number:05d}"
        yield with_room(objects.node(name, {SKU: sku.name}), sku.allocatable)
        yield from sku.slices(Random(f"{seed}/fleet/{number}"), name)


def _sku_of(number: int) -> Sku:
    return SKUS[_PATTERN[number % len(_PATTERN)]]


def _paired(rng: Random, node: str) -> Iterator[Mapped]:
    cards = [gpu(rng, _HOPPER, index, index // 2, index // _PAIRS) for index in range(2 * _PAIRS)]
    interfaces = [_interface(rng, index) for index in range(_PAIRS)]
    for driver, devices in ((DRIVER, cards), (NIC_DRIVER, interfaces)):
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
    cards = [_known(rng, _as_published(index)) for index in range(_CARDS)]
    # What a card has is what the whole of it consumes.
    sets = [
        {"name": f"gpu-{index}", "counters": whole(index)["consumesCounters"][0]["counters"]} for index in range(_CARDS)
    ]
    name, where = f"{node}-{DRIVER}", objects.on_node(node)
    yield objects.resource_slice(f"{name}-counters", DRIVER, node, where, count=2, shared_counters=sets)
    devices = [device for card in cards for device in card]
    yield objects.resource_slice(f"{name}-devices", DRIVER, node, where, devices, count=2)


def _as_published(index: int) -> Iterator[Mapped]:
    yield whole(index)
    for device in partitions(index):
        if device["attributes"]["profile"]["string"] in _PROFILES:
            yield device


def _known(rng: Random, devices: Iterator[Mapped]) -> list[Mapped]:
    """The devices with what drivers say of a card and its parts alike, and UUIDs."""
    facts = MODELS[_CARD]
    about = {
        "architecture": objects.attribute(facts.architecture),
        "cudaComputeCapability": objects.version(facts.compute_capability),
    }
    return [
        {**device, "attributes": {**device["attributes"], **about, "uuid": objects.attribute(uuid(rng))}}
        for device in devices
    ]


def _plain(rng: Random, node: str) -> Iterator[Mapped]:
    models = ["L4"] * (DEVICES - _LARGE) + [_CARD] * _LARGE
    devices = [gpu(rng, model, index, index, index * 2 // DEVICES) for index, model in enumerate(models)]
    yield objects.resource_slice(f"{node}-{DRIVER}", DRIVER, node, objects.on_node(node), devices)


def _gpus(count: int, *expressions: str) -> Mapped:
    return objects.exactly("gpus", objects.wanted("gpu", *expressions, count=count))


def _profile(name: str) -> Sequence[Mapped]:
    chosen = f'device.attributes["{DRIVER}"].profile == "{name}"'
    return [objects.exactly("part", objects.wanted("mig", chosen, count=1))]


def _near(gpus: int) -> Sequence[Mapped]:
    return [_gpus(gpus), objects.exactly("nic", objects.wanted("rdma-nic", count=1))]


_ONE_ROOT: Sequence[Mapped] = [{"matchAttribute": PCIE_ROOT}]
_AT_LEAST_40 = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
_IS_HOPPER = f'device.attributes["{DRIVER}"].productName.startsWith("H100")'
_IS_CARD = f'device.attributes["{DRIVER}"].productName == "{_CARD}"'
_IS_ADA = f'device.attributes["{DRIVER}"].architecture == "Ada Lovelace"'
_IS_RECENT = f'device.attributes["{DRIVER}"].cudaComputeCapability.isGreaterThan(semver("8.5.0"))'

SKUS = {
    sku.name: sku
    for sku in (
        Sku(
            "paired",
            2 * _PAIRS,
            {"cpu": "192", "memory": "2048Gi", "pods": "110"},
            _paired,
            [
                Ask("near", 0.34, 1, _near(1), 16, 128, _ONE_ROOT),
                Ask("near-two", 0.10, 2, _near(2), 40, 300, _ONE_ROOT),
                Ask("hopper", 0.36, 1, [_gpus(1, _IS_HOPPER)], 12, 96),
                Ask("four-hopper", 0.16, 4, [_gpus(4, _IS_HOPPER)], 64, 512),
                Ask("eight", 0.04, 8, [_gpus(8)], 160, 1600),
            ],
        ),
        Sku(
            "mig",
            8 * _CARDS,
            {"cpu": "64", "memory": "512Gi", "pods": "110"},
            _mig,
            [
                Ask("small-part", 0.50, 2, _profile("2g.10gb"), 4, 32),
                Ask("large-part", 0.37, 4, _profile("3g.20gb"), 8, 48),
                Ask("card", 0.13, 8, [_gpus(1, _IS_CARD)], 16, 128),
            ],
        ),
        Sku(
            "plain",
            DEVICES,
            {"cpu": "96", "memory": "768Gi", "pods": "110"},
            _plain,
            [
                Ask("large", 0.17, 1, [_gpus(1, _AT_LEAST_40)], 10, 96),
                Ask("two-large", 0.10, 2, [_gpus(2, _AT_LEAST_40)], 16, 128),
                Ask("ada", 0.30, 2, [_gpus(2, _IS_ADA)], 12, 64),
                Ask("recent", 0.10, 1, [_gpus(1, _IS_RECENT)], 24, 48),
                Ask("some", 0.33, 5, [_gpus(5)], 30, 240),
            ],
        ),
    )
}
_PATTERN = ("paired", "plain", "mig", "paired", "plain")


def demand(nodes: int) -> dict[str, dict[str, int]]:
    """How many claims of each kind the queue has, by SKU: together they take a tenth more than the SKU gives."""
    counts = dict.fromkeys(SKUS, 0)
    for number in range(nodes):
        counts[_sku_of(number).name] += 1
    return {name: _asked(sku, counts[name]) for name, sku in SKUS.items()}


def _asked(sku: Sku, nodes: int) -> dict[str, int]:
    claims = nodes * sku.gives * (1 + OVERLOAD) / sum(ask.part * ask.takes for ask in sku.asks)
    return {ask.name: round(claims * ask.part) for ask in sku.asks}


def _queue(nodes: int, seed: int) -> Iterator[Mapped]:
    """Deployments and Jobs, and behind them pods of nobody, all of them in random order."""
    rng, asked = Random(f"{seed}/fleet/queue"), demand(nodes)
    made: list[Mapped] = []
    pods: list[tuple[Sku, Ask]] = []
    for sku in SKUS.values():
        for ask in sku.asks:
            yield objects.template(_template(sku, ask), ask.spec)
            plain = round(asked[sku.name][ask.name] * _PLAIN)
            pods += [(sku, ask)] * plain
            made += _makers(rng, sku, ask, asked[sku.name][ask.name] - plain)
    rng.shuffle(made)
    rng.shuffle(pods)
    yield from made
    for number, (sku, ask) in enumerate(pods):
        yield pod(f"pod-{number:05d}", _pod_spec(sku, ask))


def _makers(rng: Random, sku: Sku, ask: Ask, pods: int) -> Iterator[Mapped]:
    number = 0
    while pods:
        size = min(pods, rng.randint(1, _REPLICAS))
        make = deployment if rng.random() < 0.5 else job
        yield make(f"{_template(sku, ask)}-{number:04d}", size, _pod_spec(sku, ask))
        pods -= size
        number += 1


def _template(sku: Sku, ask: Ask) -> str:
    return f"{sku.name}-{ask.name}"


def _pod_spec(sku: Sku, ask: Ask) -> Mapped:
    entry = objects.by_template("devices", _template(sku, ask))
    return pod_spec(ask.room, [entry])
