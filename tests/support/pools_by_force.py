"""Small random pools, types and pods, and the least cost of placing them, found by trying everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import Any

from support.pools import ZONE, claim, devices, machine, node_pool, offering, requesting, requirement, waiting

PCIE = "resource.k8s.io/pcieRoot"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"


@dataclass(frozen=True)
class TinyOffering:
    zone: str
    kind: str
    price: Fraction
    reserved: int | None = None


@dataclass(frozen=True)
class TinyType:
    name: str
    cpus: int
    gpus: int
    pairs: int
    offerings: tuple[TinyOffering, ...]


@dataclass(frozen=True)
class TinyPool:
    name: str
    types: tuple[str, ...]
    limits: tuple[tuple[str, int], ...]
    least_types: int = 0
    """``minValues`` of the type; 0: there are none."""


@dataclass(frozen=True)
class TinyPod:
    cpus: int
    gpus: int
    is_aligned: bool
    zone: str
    choices: tuple[int, ...] = ()
    """Alternatives of one request: so many accelerators, beside ``gpus``."""

    def variants(self) -> Iterator[tuple[TinyPod, int]]:
        """The pod with each of its alternatives, and the rank of that."""
        if not self.choices:
            yield self, 0
        for rank, count in enumerate(self.choices):
            yield replace(self, gpus=self.gpus + count, choices=()), rank


@dataclass(frozen=True)
class TinyCase:
    types: tuple[TinyType, ...]
    pools: tuple[TinyPool, ...]
    pods: tuple[TinyPod, ...]

    def objects(self) -> list[dict[str, Any]]:
        """The case as manifests."""
        made = [*map(_machine, self.types)]
        for one in self.pools:
            limits = {resource: str(amount) for resource, amount in one.limits}
            several = {"minValues": one.least_types} if one.least_types else {}
            allowed = {**requirement(INSTANCE_TYPE, *one.types), **several}
            made.append(node_pool(one.name, allowed, **({"limits": limits} if limits else {})))
        for number, pod in enumerate(self.pods):
            claims = list(_claims(number, pod))
            selector = {"nodeSelector": {ZONE: pod.zone}} if pod.zone else {}
            names = [one["metadata"]["name"] for one in claims]
            made += [*claims, waiting(f"pod-{number}", *names, cpu=str(pod.cpus), **selector)]
        return made


def _machine(one: TinyType) -> dict[str, Any]:
    offerings = [
        offering(
            str(float(way.price)),
            way.zone,
            way.kind,
            **({} if way.reserved is None else {"reservationCapacity": way.reserved}),
        )
        for way in one.offerings
    ]
    slices = [devices(*(f"g{number}" for number in range(one.gpus)))] if one.gpus else []
    slices += [devices(*(f"n{number}" for number in range(one.pairs)), driver="nic")] if one.pairs else []
    bindings = [
        {
            "devices": [
                {"driver": "gpu.example.com", "device": f"g{number}"},
                {"driver": "nic.example.com", "device": f"n{number}"},
            ],
            "attribute": PCIE,
        }
        for number in range(one.pairs)
    ]
    return machine(one.name, *offerings, slices=slices, cpu=str(one.cpus), attributeBindings=bindings)


def _claims(number: int, pod: TinyPod) -> Iterator[dict[str, Any]]:
    if pod.is_aligned:
        constraints = [{"requests": ["g", "n"], "matchAttribute": PCIE}]
        requests = requesting("gpu", name="g"), requesting("nic", name="n")
        yield claim(f"aligned-{number}", *requests, constraints=constraints)
    if pod.gpus:
        yield claim(f"gpus-{number}", requesting("gpu", count=pod.gpus))
    if pod.choices:
        listed = [
            {"name": f"a{rank}", "deviceClassName": "gpu", "count": count} for rank, count in enumerate(pod.choices)
        ]
        yield claim(f"choice-{number}", {"name": "r", "firstAvailable": listed})


def random_case(seed: int) -> TinyCase:
    rng = Random(seed)
    types = []
    for number in range(rng.randint(2, 3)):
        gpus = rng.choice((0, 1, 2, 4))
        offerings = []
        for zone in ("z1", "z2"):
            for kind in ("on-demand", "reserved"):
                if rng.random() < 0.6:
                    reserved = rng.randint(0, 2) if kind == "reserved" else None
                    offerings.append(TinyOffering(zone, kind, Fraction(rng.randint(1, 40), 4), reserved))
        offerings = offerings or [TinyOffering("z1", "on-demand", Fraction(rng.randint(1, 40), 4))]
        pairs = rng.randint(0, gpus)
        types.append(TinyType(f"t{number}", rng.choice((2, 4, 8)), gpus, pairs, tuple(offerings)))
    names = [one.name for one in types]
    pools = []
    for number in range(rng.randint(1, 2)):
        own = tuple(rng.sample(names, rng.randint(1, len(names))))
        limit = rng.choice(((), (), (("cpu", rng.choice((4, 8, 12))),), (("nodes", rng.randint(1, 2)),)))
        pools.append(TinyPool(f"p{number}", own, limit, rng.choice((0, 0, *range(1, len(own) + 1)))))
    pods = tuple(
        TinyPod(
            rng.randint(1, 3),
            rng.choice((0, 0, 1, 1, 2)),
            rng.random() < 0.25,
            rng.choice(("", "", "", "z1", "z2")),
            rng.choice(((), (), (2, 1), (1, 2), (3, 1))),
        )
        for _ in range(rng.randint(1, 4))
    )
    return TinyCase(tuple(types), tuple(pools), pods)


@dataclass(frozen=True)
class Way:
    """A node that can be had: its pool, type, and the number of the offering."""

    pool: TinyPool
    type: TinyType
    number: int

    @property
    def offering(self) -> TinyOffering:
        return self.type.offerings[self.number]

    def takes(self, pods: tuple[TinyPod, ...]) -> bool:
        """An accelerator of a pair serves alone, too, so that sums and pairs are all that counts."""
        aligned = sum(pod.is_aligned for pod in pods)
        return (
            sum(pod.cpus for pod in pods) <= self.type.cpus
            and aligned <= self.type.pairs
            and aligned + sum(pod.gpus for pod in pods) <= self.type.gpus
            and all(pod.zone in ("", self.offering.zone) for pod in pods)
        )


def best_by_force(case: TinyCase, *, in_order: bool = False) -> tuple[int, Fraction, int]:
    """How many pods are placed at most, the least price for that, and with how many nodes.

    ``in_order``: the rank of alternatives counts more than the price (R9).
    """
    ways = ways_of(case)
    for placed in range(len(case.pods), 0, -1):
        found = [
            ((rank, price, nodes) if in_order else (price, nodes, rank), (price, nodes))
            for chosen in combinations(case.pods, placed)
            for variants in product(*(pod.variants() for pod in chosen))
            for rank in (sum(rank for _, rank in variants),)
            for groups in _partitions(tuple(pod for pod, _ in variants))
            for price, nodes in _cheapest([[way for way in ways if way.takes(group)] for group in groups], [])
        ]
        if found:
            return placed, *min(found)[1]
    return 0, Fraction(0), 0


def ways_of(case: TinyCase) -> list[Way]:
    """All nodes that can be had."""
    return [
        Way(pool, one, number)
        for pool in case.pools
        for one in case.types
        if one.name in pool.types
        for number, way in enumerate(one.offerings)
        if way.reserved != 0
    ]


def types_for(case: TinyCase, pool: str, pods: tuple[TinyPod, ...]) -> set[str]:
    """The types of a pool that take these pods, with any of their alternatives (R18)."""
    return {
        way.type.name
        for way in ways_of(case)
        if way.pool.name == pool
        for variants in product(*(pod.variants() for pod in pods))
        if way.takes(tuple(pod for pod, _ in variants))
    }


def _partitions(pods: tuple[TinyPod, ...]) -> Iterator[list[tuple[TinyPod, ...]]]:
    if not pods:
        yield []
        return
    first, rest = pods[0], pods[1:]
    for size in range(len(rest) + 1):
        for places in combinations(range(len(rest)), size):
            left = tuple(pod for place, pod in enumerate(rest) if place not in places)
            for others in _partitions(left):
                yield [(first, *(rest[place] for place in places)), *others]


def _cheapest(options: list[list[Way]], taken: list[Way]) -> Iterator[tuple[Fraction, int]]:
    """Yield price and number of nodes of each choice that keeps limits and reservations."""
    if not _is_allowed(taken):
        return
    if len(taken) == len(options):
        yield sum((way.offering.price for way in taken), Fraction(0)), len(taken)
        return
    for way in options[len(taken)]:
        yield from _cheapest(options, [*taken, way])


def _is_allowed(taken: list[Way]) -> bool:
    for way in taken:
        reserved = way.offering.reserved
        same = sum(other.type is way.type and other.number == way.number for other in taken)
        if reserved is not None and same > reserved:
            return False
        own = [other for other in taken if other.pool is way.pool]
        counts = {"cpu": sum(other.type.cpus for other in own), "nodes": len(own)}
        if any(counts[resource] > most for resource, most in way.pool.limits):
            return False
    return True
