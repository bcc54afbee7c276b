"""One node, one pool, one pod: for questions about a single node."""

from collections.abc import Sequence

from . import objects
from .drafts import DraftClaim
from .objects import Mapped

NODE = "node-0"
DRIVER = "gpu.example.com"
DEVICES_PER_SLICE = 128
# Of devices with taints, counters or attributes that are lists (SLC-2).
LISTS_PER_SLICE = 64

_CLASS = objects.device_class("gpu", f'device.driver == "{DRIVER}"')


def single_node(
    devices: Sequence[Mapped], claims: Sequence[DraftClaim], *, per_slice: int = DEVICES_PER_SLICE
) -> list[Mapped]:
    """The class ``gpu``, a node with these devices in their order, and a pod with these claims in their order."""
    return [_CLASS, objects.node(NODE), *sliced(devices, per_slice), *one_pod(claims)]


def sliced(devices: Sequence[Mapped], per_slice: int, driver: str = DRIVER, node: str = NODE) -> list[Mapped]:
    """The slices of a node's pool, so many devices in each; a search visits the devices in this order (POOL-11)."""
    chunks = [devices[first : first + per_slice] for first in range(0, len(devices), per_slice)]
    where = objects.on_node(node)
    return [
        objects.resource_slice(f"{node}-{driver}-{number:02d}", driver, node, where, chunk, count=len(chunks))
        for number, chunk in enumerate(chunks)
    ]


def one_pod(claims: Sequence[DraftClaim]) -> list[Mapped]:
    """The claims, and a pod that names all of them: a pod may have any number of claims."""
    entries = [objects.by_claim(claim.name, claim.name) for claim in claims]
    return [*(objects.claim(claim.name, claim.spec()) for claim in claims), objects.pod("pod", entries)]
