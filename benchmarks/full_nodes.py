"""Random nodes that are full or nearly so: hard for a search, and no allocation is obvious.

A part of the devices is in use. For nearly all others there are claims: devices are chosen first and claims made
around them, so that what they ask for can be allocated. To most members a claim is added that may be one too many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from drasat.scenarios import mig, node_shapes, objects
from drasat.scenarios.node_shapes import combine, held_claim
from drasat.scenarios.objects import DraftClaim, Mapped
from drasat.scenarios.one_node import LISTS_PER_SLICE, NODE, of_profile, one_pod, sliced

# The attributes of a device by name: scalars, or lists of strings.
Facts = Mapping[str, int | str | list[str]]


class PlantedDevice(NamedTuple):
    """A device that a claim is to get; ``bodies`` are ways to ask for it, the one that it satisfies last."""

    facts: Facts
    bodies: Sequence[Mapped]


class PlantedConstraint(NamedTuple):
    """A constraint of a claim, and how many devices it is to hold for."""

    kind: str
    attribute: str
    size: tuple[int, int]


def claims_for(
    rng: Random,
    driver: str,
    devices: Sequence[PlantedDevice],
    bonds: Sequence[tuple[PlantedConstraint | None, float]],
    name: str,
) -> list[DraftClaim]:
    """Claims for all of the devices, each with one of the bonds (None: no constraint), drawn by weight."""
    left, claims = rng.sample(devices, len(devices)), list[DraftClaim]()
    kinds, weights = [bond for bond, _ in bonds], [weight for _, weight in bonds]
    while left:
        (bond,) = rng.choices(kinds, weights)
        size = rng.randint(*bond.size) if bond else rng.randint(1, 3)
        chosen = _CHOICES[bond.kind](left, bond.attribute, size) if bond else left[:size]
        left = [device for device in left if not any(device is other for other in chosen)]
        constraints = [{bond.kind: f"{driver}/{bond.attribute}"}] if bond and len(chosen) > 1 else []
        claims.append(DraftClaim(f"{name}-{len(claims):02d}", _planted_requests(rng, chosen), constraints))
    return claims


def _planted_requests(rng: Random, chosen: Sequence[PlantedDevice]) -> list[Mapped]:
    """Devices that are asked for alike are one request with a count; now and then with better alternatives."""
    alike: dict[str, list[PlantedDevice]] = defaultdict(list)
    for device in chosen:
        alike[repr(device.bodies[-1])].append(device)
    requests = []
    for number, members in enumerate(alike.values()):
        bodies, count = members[0].bodies, {"count": len(members)}
        if len(bodies) > 1 and rng.random() < 0.3:
            ways = [(f"s{way}", {**body, **count}) for way, body in enumerate(bodies)]
            requests.append(objects.first_available(f"r{number}", ways))
        else:
            requests.append(objects.exactly(f"r{number}", {**bodies[-1], **count}))
    return requests


def _values(device: PlantedDevice, attribute: str) -> set[int | str]:
    value = device.facts[attribute]
    return set(value) if isinstance(value, list) else {value}


def _matching(left: Sequence[PlantedDevice], attribute: str, size: int) -> list[PlantedDevice]:
    """Devices with a value in common: the smallest of the first one's, so that the same seed gives the same."""
    common = min(_values(left[0], attribute), key=str)
    return [device for device in left if common in _values(device, attribute)][:size]


def _distinct(left: Sequence[PlantedDevice], attribute: str, size: int) -> list[PlantedDevice]:
    chosen, seen = list[PlantedDevice](), set[int | str]()
    for device in left:
        values = _values(device, attribute)
        if len(chosen) < size and not values & seen:
            chosen.append(device)
            seen |= values
    return chosen


_CHOICES: dict[str, Callable[[Sequence[PlantedDevice], str, int], list[PlantedDevice]]] = {
    "matchAttribute": _matching,
    "distinctAttribute": _distinct,
}
DRIVER = "whole.example.com"
_DEVICE = f'device.attributes["{DRIVER}"]'
_WHOLE = objects.device_class("whole", f'device.driver == "{DRIVER}" && !device.allowMultipleAllocations')
_SHARED = objects.device_class("shared", f'device.driver == "{DRIVER}" && device.allowMultipleAllocations')
_PARTITION_BONDS = [
    (None, 3.0),
    (PlantedConstraint("matchAttribute", "parentIndex", (2, 4)), 2.0),
    (PlantedConstraint("distinctAttribute", "parentIndex", (2, 6)), 2.0),
]
_WHOLE_BONDS = [
    (PlantedConstraint("matchAttribute", "root", (2, 4)), 2.0),
    (PlantedConstraint("matchAttribute", "fabrics", (4, 12)), 3.0),
    (PlantedConstraint("distinctAttribute", "root", (4, 12)), 2.0),
    (PlantedConstraint("distinctAttribute", "fabrics", (2, 4)), 1.0),
]
# What a shared device has; a request may take any whole number of it.
_CORES = 12
_LARGER = {"1g.5gb": "2g.10gb", "1g.10gb": "2g.10gb", "2g.10gb": "3g.20gb", "3g.20gb": "4g.20gb"}


@dataclass(frozen=True, slots=True)
class FullNode:
    """A member: its objects, and whether all that is asked for was planted (then it can be allocated)."""

    objects: list[Mapped]
    planted: bool


@dataclass(frozen=True, slots=True)
class _NodePart:
    """Devices of one kind: the objects that are there, claims that fit together, and one claim more."""

    there: list[Mapped]
    claims: list[DraftClaim]
    extra: DraftClaim


def full_node(seed: int, shrink: int = 1) -> FullNode:
    """The member of the set that belongs to the seed: partitions, whole and shared devices, or both, by turns.

    Nodes have 64 to 128 devices, or eight GPUs with 26 each, divided by ``shrink``.
    """
    rng = Random(f"full/{seed}")
    parts = [part(rng, shrink) for part in _KINDS[seed % len(_KINDS)]]
    claims = [claim for part in parts for claim in part.claims]
    planted = rng.random() < 0.15
    if not planted:
        claims.append(rng.choice(parts).extra)
    rng.shuffle(claims)
    there = combine([objects.node(NODE), _WHOLE, _SHARED], *(part.there for part in parts))
    return FullNode([*there, *one_pod(claims)], planted)


def _partitions(rng: Random, count: int) -> _NodePart:
    """GPUs with all their partitions as devices, each packed at random; some of that is in use, the rest planted."""
    shape, planted = mig.mig_shape(count), list[PlantedDevice]()
    there = [*shape.classes, *shape.build(rng, NODE, 0.0)]
    for index in range(count):
        for profile, start in mig.packed(rng):
            if rng.random() < 0.25:
                there.append(mig.held_partition(NODE, index, profile, start))
            else:
                bodies = [*([of_profile(_LARGER[profile])] if profile in _LARGER else []), of_profile(profile)]
                planted.append(PlantedDevice({"parentIndex": index}, bodies))
    claims = claims_for(rng, node_shapes.GPU_DRIVER, planted, _PARTITION_BONDS, "mig")
    body = of_profile(rng.choice(["1g.10gb", "2g.10gb", "3g.20gb"]))
    return _NodePart(there, claims, DraftClaim("mig-more", [objects.exactly("r0", body)]))


def _devices(rng: Random, count: int) -> _NodePart:
    """Whole devices on PCIe roots and fabrics, and a few that are shared."""
    shared, facts = max(1, count // 16), [_device_facts(rng, index, count) for index in range(count)]
    devices = [objects.device(f"gpu-{index:03d}", dict(each)) for index, each in enumerate(facts)]
    names = rng.sample(range(shared, count), count - shared)
    in_use, idle = rng.randint(0, count // 3), rng.randint(0, min(6, count // 4))
    held = [
        held_claim(f"held-{index}", "whole", [objects.result("devices", DRIVER, NODE, f"gpu-{index:03d}")], NODE)
        for index in names[:in_use]
    ]
    planted = [PlantedDevice(facts[index], _request_bodies(rng, facts[index])) for index in names[in_use + idle :]]
    for device in devices[:shared]:
        cores = {"value": str(_CORES), "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}}}
        device |= {"allowMultipleAllocations": True, "capacity": {"cores": cores}}
    claims = claims_for(rng, DRIVER, planted, _WHOLE_BONDS, "gpu")
    amounts, slack = _amounts(rng, shared)
    extra = rng.choice([_tied_claim(rng), DraftClaim("share-more", [_share(0, max(1, slack))])])
    return _NodePart([*sliced(devices, LISTS_PER_SLICE, DRIVER), *held], claims + list(_shares(amounts)), extra)


def _tied_claim(rng: Random) -> DraftClaim:
    """A claim for a whole root, or as many devices of one fabric."""
    tie: Mapped = {"matchAttribute": f"{DRIVER}/{rng.choice(['root', 'fabrics'])}"}
    return DraftClaim("gpu-more", [objects.exactly("r0", objects.wanted("whole", count=4))], [tie])


def _device_facts(rng: Random, index: int, count: int) -> dict[str, int | str | list[str]]:
    fabrics = sorted(rng.sample(range(max(3, count // 8)), rng.randint(1, 3)))
    return {
        "model": rng.choice("aabc"),
        "generation": rng.randint(1, 3),
        "root": index // 4,
        "fabrics": [f"fabric-{number}" for number in fabrics],
    }


def _request_bodies(rng: Random, facts: dict[str, int | str | list[str]]) -> list[Mapped]:
    """Ask for a device of any kind or by its model; better is one of the last generation."""
    tests = rng.choice([[], [f'{_DEVICE}.model == "{facts["model"]}"']])
    return [objects.wanted("whole", *tests, f"{_DEVICE}.generation == 3"), objects.wanted("whole", *tests)]


def _amounts(rng: Random, devices: int) -> tuple[list[int], int]:
    """Shares that fill the devices, and how many cores are left on all of them together."""
    amounts, slack = list[int](), 0
    for _ in range(devices):
        left = _CORES - rng.choice([0, 0, 1])
        slack += _CORES - left
        while left:
            amounts.append(min(left, rng.randint(2, 7)))
            left -= amounts[-1]
    rng.shuffle(amounts)
    return amounts, slack


def _shares(amounts: list[int]) -> Iterator[DraftClaim]:
    for number, first in enumerate(range(0, len(amounts), 3)):
        requested = [_share(place, amount) for place, amount in enumerate(amounts[first : first + 3])]
        yield DraftClaim(f"share-{number:02d}", requested)


def _share(number: int, cores: int) -> Mapped:
    return objects.exactly(f"r{number}", objects.wanted("shared", capacity={"requests": {"cores": str(cores)}}))


_KINDS: list[list[Callable[[Random, int], _NodePart]]] = [
    [lambda rng, shrink: _partitions(rng, max(1, rng.choice([4, 8]) // shrink))],
    [lambda rng, shrink: _devices(rng, rng.randint(64, 128) // shrink)],
    [
        lambda rng, shrink: _partitions(rng, max(1, 2 // shrink)),
        lambda rng, shrink: _devices(rng, rng.randint(32, 64) // shrink),
    ],
]
