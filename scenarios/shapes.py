"""What the generators of real shapes have in common: nodes of a shape, and claims that hold devices already."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from uuid import UUID

from . import objects
from .objects import Mapped

# Where the claims are that hold devices already.
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of node: the objects it has beside the Node itself, and the classes its devices are asked for by.

    ``build`` gets a random source, the node's name, and how full it is (0 to 1).
    """

    build: Callable[[Random, str, float], Iterable[Mapped]]
    classes: Sequence[Mapped]
    labels: Mapping[str, str]


def nodes_of(
    shapes: Sequence[tuple[Shape, float]], nodes: int, prefix: str, seed: int, fullness: float
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
    unallocated = objects.claim(name, objects.claim_spec([objects.exactly("devices", body)]), RUNNING)
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
