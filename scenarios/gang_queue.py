"""A queue of gangs for nodes of GPUs, a tenth more than there are."""

from collections.abc import Iterator
from random import Random

from . import objects
from .gpus import gpu_nodes
from .objects import Mapped
from .workloads import pod, pod_spec, with_room

NODES = 345
GPUS = 8
MEMBERS = 8
OVERLOAD = 0.1
# GPUs of a pod, and which part of all pods asks for so many.
SIZES = {1: 0.60, 2: 0.25, 4: 0.10, 8: 0.05}

_ROOM = {"cpu": "192", "memory": "2048Gi", "pods": "110"}
_GANG = "drasat.dev/gang"


def gang_queue(nodes: int = NODES, *, seed: int = 0) -> list[Mapped]:
    """Nodes of eight GPUs, and gangs of eight pods, each of 1, 2, 4 or 8 GPUs.

    There are so many gangs that their pods ask for a tenth more GPUs than there are: 200 for 345 nodes.
    """
    made = [
        with_room(item, _ROOM) if item["kind"] == "Node" else item for item in gpu_nodes(nodes, devices=GPUS, seed=seed)
    ]
    return [*made, *(_template(size) for size in SIZES), *_pods(nodes, seed)]


def gangs(nodes: int) -> int:
    """How many gangs so many nodes get."""
    mean = sum(size * part for size, part in SIZES.items())
    return round(nodes * GPUS * (1 + OVERLOAD) / (MEMBERS * mean))


def _pods(nodes: int, seed: int) -> Iterator[Mapped]:
    number = gangs(nodes)
    sizes = _dealt(number * MEMBERS, seed)
    for place, size in enumerate(sizes):
        gang = place // MEMBERS
        spec = pod_spec({"cpu": str(8 * size), "memory": f"{64 * size}Gi"}, [objects.by_template("gpus", _name(size))])
        yield pod(f"gang-{gang:04d}-{place % MEMBERS}", spec, annotations={_GANG: f"gang-{gang:04d}"})


def _dealt(pods: int, seed: int) -> list[int]:
    """Sizes of the pods: all parts as nearly as whole numbers are, in random order; the smallest fill up."""
    large = [size for size, part in SIZES.items() if size > 1 for _ in range(round(part * pods))]
    sizes = [1] * (pods - len(large)) + large
    Random(f"{seed}/gangs").shuffle(sizes)
    return sizes


def _template(size: int) -> Mapped:
    request = objects.exactly("gpus", objects.wanted("gpu", count=size))
    return objects.template(_name(size), objects.claim_spec([request]))


def _name(size: int) -> str:
    return f"gpus-{size}"
