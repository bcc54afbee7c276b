"""Accelerators on one node that are wired in a lattice, and claims that ask for shapes in it.

Names say nothing about places: devices are visited in another order than they are wired in.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from random import Random

from . import objects
from .objects import Mapped

DRIVER = "chip.example.com"
TOPOLOGY = "fabric"
AXES = ("x", "y", "z")
_NODE = "fabric-node"
_SLICE_DEVICES = 128
_HOLDER_DEVICES = 32


def segment() -> Mapped:
    """Ask for consecutive devices."""
    return {"shape": "Segment"}


def box(*size: int) -> Mapped:
    """Ask for a box in any orientation."""
    return {"shape": "Box", "size": list(size)}


def wired(
    shape: str,
    sizes: Sequence[int],
    asks: Sequence[tuple[int, Mapped]],
    *,
    broken: float = 0.0,
    used: float = 0.0,
    seed: int = 0,
) -> list[Mapped]:
    """A lattice with parts of its devices broken (not published) and in use, and claims that one pod needs at once.

    ``asks`` are the number of devices and the shape of each claim.
    """
    rng = Random(seed)
    cells = rng.sample(list(product(*map(range, sizes))), prod(sizes))
    gone, held = round(broken * len(cells)), round(used * len(cells))
    chips = [_chip(number, cell) for number, cell in enumerate(cells[gone:])]
    names = [chip["name"] for chip in chips[:held]]
    claims = [_claim(f"shape-{number:02d}", *ask) for number, ask in enumerate(asks)]
    entries = [objects.by_claim(claim["metadata"]["name"], claim["metadata"]["name"]) for claim in claims]
    return [
        objects.node(_NODE),
        objects.device_class("chip", f"device.driver == '{DRIVER}'"),
        _topology(shape, sizes),
        *_slices(chips),
        *_holders(names),
        *claims,
        objects.pod("job", entries),
    ]


def _chip(number: int, cell: Sequence[int]) -> Mapped:
    return objects.device(f"chip-{number:04d}", dict(zip(AXES, cell, strict=False)))


def _topology(shape: str, sizes: Sequence[int]) -> Mapped:
    coordinates = [f"{DRIVER}/{axis}" for axis in AXES[: len(sizes)]]
    spec = {"driver": DRIVER, "shape": shape, "coordinates": coordinates, "size": list(sizes)}
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "DeviceTopology", "metadata": {"name": TOPOLOGY}, "spec": spec}


def _slices(chips: Sequence[Mapped]) -> list[Mapped]:
    parts = [chips[first : first + _SLICE_DEVICES] for first in range(0, len(chips), _SLICE_DEVICES)]
    where = objects.on_node(_NODE)
    return [
        objects.resource_slice(f"fabric-{number}", DRIVER, _NODE, where, part, count=len(parts))
        for number, part in enumerate(parts)
    ]


def _holders(names: Sequence[str]) -> list[Mapped]:
    """Claims that hold devices, as many as one may (PRE-11)."""
    parts = [names[first : first + _HOLDER_DEVICES] for first in range(0, len(names), _HOLDER_DEVICES)]
    return [
        objects.allocated(
            objects.claim(f"holder-{number}", _spec(len(part))),
            [objects.result("chips", DRIVER, _NODE, name) for name in part],
        )
        for number, part in enumerate(parts)
    ]


def _spec(count: int) -> Mapped:
    return objects.claim_spec([objects.exactly("chips", objects.wanted("chip", count=count))])


def _claim(name: str, count: int, ask: Mapped) -> Mapped:
    made = objects.claim(name, _spec(count))
    entries = [{"topology": {"name": TOPOLOGY, **ask}}]
    return {**made, "metadata": {**made["metadata"], "annotations": {"drasat.dev/constraints": json.dumps(entries)}}}


@dataclass(frozen=True, slots=True)
class ShapeQuestion:
    """What makes the objects, whether all that is asked for fits, and in how many seconds that should be known."""

    objects: Callable[[], list[Mapped]]
    fits: bool
    target: float


def _question(fits: bool, target: float, *args: object, **fields: object) -> ShapeQuestion:
    return ShapeQuestion(partial(wired, *args, **fields), fits, target)  # type: ignore[arg-type]


_SIX = [(8, box(2, 2, 2))] * 4 + [(8, box(1, 2, 4))] * 2

# Questions about shapes by name.
SHAPE_QUESTIONS: dict[str, ShapeQuestion] = {
    "4 in a row on a ring of 64": _question(True, 0.025 / 3, "Ring", (64,), [(4, segment())]),
    "16 in a row on a ring of 128": _question(True, 0.060 / 3, "Ring", (128,), [(16, segment())]),
    "16 in a row on a ring of 256, 40 % in use": _question(
        False, 0.300 / 3, "Ring", (256,), [(16, segment())], used=0.4
    ),
    "2x2 of a grid of 4x4": _question(True, 0.015 / 3, "Grid", (4, 4), [(4, box(2, 2))]),
    "2x2 of a grid of 16x16": _question(True, 0.500 / 3, "Grid", (16, 16), [(4, box(2, 2))]),
    "4 of 2x2x2 and 2 of 1x2x4 in a torus of 4x4x4, 10 % broken": _question(
        True, 0.200, "Torus", (4, 4, 4), _SIX, broken=0.1, seed=2
    ),
    "the same, broken elsewhere": _question(False, 0.200, "Torus", (4, 4, 4), _SIX, broken=0.1, seed=1),
    "24 of 2x2x2 in a torus of 8x8x8, 5 % broken": _question(
        True, 2.0, "Torus", (8, 8, 8), [(8, box(2, 2, 2))] * 24, broken=0.05
    ),
}
