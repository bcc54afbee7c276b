"""Accelerators wired in a lattice on one node, and claims for shapes in it or for sets that an expression accepts.

Names say nothing about places: devices are visited in another order than they are wired in. Expressions over all
devices of a claim (KEP-5254) are the stories of the proposal on rows and squares of any size, and random ones that
accept a given share of all the ways to choose.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, product
from math import prod
from random import Random
from typing import Any

from . import objects
from .objects import Mapped

CHIP_DRIVER = "chip.example.com"
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


def wired_node(
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
    chips = [
        objects.device(f"chip-{number:04d}", dict(zip(AXES, cell, strict=False)))
        for number, cell in enumerate(cells[gone:])
    ]
    names = [chip["name"] for chip in chips[:held]]
    claims = [_shape_claim(f"shape-{number:02d}", *ask) for number, ask in enumerate(asks)]
    entries = [objects.by_claim(claim["metadata"]["name"], claim["metadata"]["name"]) for claim in claims]
    coordinates = [f"{CHIP_DRIVER}/{axis}" for axis in AXES[: len(sizes)]]
    spec = {"driver": CHIP_DRIVER, "shape": shape, "coordinates": coordinates, "size": list(sizes)}
    return [
        objects.node(_NODE),
        objects.device_class("chip", f"device.driver == '{CHIP_DRIVER}'"),
        {"apiVersion": "drasat.dev/v1alpha1", "kind": "DeviceTopology", "metadata": {"name": TOPOLOGY}, "spec": spec},
        *_slices(chips),
        *_holding_claims(names),
        *claims,
        objects.pod("job", entries),
    ]


def _slices(chips: Sequence[Mapped]) -> list[Mapped]:
    parts = [chips[first : first + _SLICE_DEVICES] for first in range(0, len(chips), _SLICE_DEVICES)]
    where = objects.on_node(_NODE)
    return [
        objects.resource_slice(f"fabric-{number}", CHIP_DRIVER, _NODE, where, part, count=len(parts))
        for number, part in enumerate(parts)
    ]


def _holding_claims(names: Sequence[str]) -> list[Mapped]:
    """Claims that hold devices, as many as one may (PRE-11)."""
    parts = [names[first : first + _HOLDER_DEVICES] for first in range(0, len(names), _HOLDER_DEVICES)]
    return [
        objects.allocated(
            objects.claim(f"holder-{number}", _claim_spec(len(part))),
            [objects.result("chips", CHIP_DRIVER, _NODE, name) for name in part],
        )
        for number, part in enumerate(parts)
    ]


def _claim_spec(count: int) -> Mapped:
    return objects.claim_spec([objects.exactly("chips", objects.wanted("chip", count=count))])


def _shape_claim(name: str, count: int, ask: Mapped) -> Mapped:
    made = objects.claim(name, _claim_spec(count))
    entries = [{"topology": {"name": TOPOLOGY, **ask}}]
    return {**made, "metadata": {**made["metadata"], "annotations": {"drasat.dev/constraints": json.dumps(entries)}}}


@dataclass(frozen=True, slots=True)
class LatticeQuestion:
    """What makes the objects, whether all that is asked for fits, and in how many seconds that should be known."""

    objects: Callable[[], list[Mapped]]
    fits: bool
    target: float


def _shape_question(fits: bool, target: float, *args: object, **fields: object) -> LatticeQuestion:
    return LatticeQuestion(partial(wired_node, *args, **fields), fits, target)  # type: ignore[arg-type]


_SIX = [(8, box(2, 2, 2))] * 4 + [(8, box(1, 2, 4))] * 2
# Questions about shapes by name.
SHAPE_QUESTIONS: dict[str, LatticeQuestion] = {
    "4 in a row on a ring of 64": _shape_question(True, 0.025 / 3, "Ring", (64,), [(4, segment())]),
    "16 in a row on a ring of 128": _shape_question(True, 0.060 / 3, "Ring", (128,), [(16, segment())]),
    "16 in a row on a ring of 256, 40 % in use": _shape_question(
        False, 0.300 / 3, "Ring", (256,), [(16, segment())], used=0.4
    ),
    "2x2 of a grid of 4x4": _shape_question(True, 0.015 / 3, "Grid", (4, 4), [(4, box(2, 2))]),
    "2x2 of a grid of 16x16": _shape_question(True, 0.500 / 3, "Grid", (16, 16), [(4, box(2, 2))]),
    "4 of 2x2x2 and 2 of 1x2x4 in a torus of 4x4x4, 10 % broken": _shape_question(
        True, 0.200, "Torus", (4, 4, 4), _SIX, broken=0.1, seed=2
    ),
    "the same, broken elsewhere": _shape_question(False, 0.200, "Torus", (4, 4, 4), _SIX, broken=0.1, seed=1),
    "24 of 2x2x2 in a torus of 8x8x8, 5 % broken": _shape_question(
        True, 2.0, "Torus", (8, 8, 8), [(8, box(2, 2, 2))] * 24, broken=0.05
    ),
}
_ATTRIBUTES = f"attributes['{CHIP_DRIVER}']"
# Kinds of devices, and how many there are of each, where an expression accepts some of the ways to choose.
DEVICE_KINDS = 8
_SUM_LIMIT = 1_000_003


def in_a_row(count: int) -> str:
    """Story 1: consecutive positions."""
    places = f"devices.map(d, d.{_ATTRIBUTES}.x)"
    return f"size(devices) == {count} && {places}.max() - {places}.min() == {count - 1}"


def in_a_square() -> str:
    """Story 2: two by two."""
    beside = " || ".join(
        f"(d.{_ATTRIBUTES}.{one} == other.{_ATTRIBUTES}.{one} && "
        f"(d.{_ATTRIBUTES}.{two} == other.{_ATTRIBUTES}.{two} + 1 || "
        f"d.{_ATTRIBUTES}.{two} == other.{_ATTRIBUTES}.{two} - 1))"
        for one, two in ("xy", "yx")
    )
    return f"size(devices) == 4 && devices.all(d, devices.filter(other, d != other && ({beside})).size() >= 2)"


def related_node(
    sizes: Sequence[int], count: int, expression: str, *, used: float = 0.0, seed: int = 0
) -> list[Mapped]:
    """A line or grid with some devices in use, and a claim for so many of which the expression holds."""
    cluster = wired_node("Grid" if len(sizes) > 1 else "Line", sizes, (), used=used, seed=seed)
    return [*(item for item in cluster if item["kind"] != "Pod"), _expression_claim(count, expression)]


def _expression_claim(count: int, expression: str) -> Mapped:
    request = objects.exactly("chips", objects.wanted("chip", count=count))
    return objects.claim("related", objects.claim_spec([request], [{"cel": {"expression": expression}}]))


def some_ways(count: int, allowed: float, *, seed: int = 0) -> list[Mapped]:
    """``DEVICE_KINDS`` kinds of as many devices, and an expression that holds for a share of the vectors of counts.

    Whether it does depends on the sum of weights that have nothing to do with each other, so that it cannot be said in
    few rows, and says nothing about vectors that are near.
    """
    rng = Random(seed)
    weights = rng.sample(range(_SUM_LIMIT // 2), DEVICE_KINDS)
    chips = [
        objects.device(f"chip-{number:04d}", {"weight": weights[number % DEVICE_KINDS]})
        for number in range(DEVICE_KINDS**2)
    ]
    rng.shuffle(chips)
    node = "kinds-node"
    total = f"devices.map(d, d.{_ATTRIBUTES}.weight).sum()"
    return [
        objects.node(node),
        objects.device_class("chip", f"device.driver == '{CHIP_DRIVER}'"),
        objects.resource_slice("kinds", CHIP_DRIVER, node, objects.on_node(node), chips),
        _expression_claim(count, f"{total} * {total} % {_SUM_LIMIT} < {_sum_bound(weights, count, allowed)}"),
    ]


def _sum_bound(weights: Sequence[int], count: int, allowed: float) -> int:
    """The bound below which the given share of all choices is."""
    sums = (sum(chosen) for chosen in combinations_with_replacement(weights, count))
    found = sorted(total * total % _SUM_LIMIT for total in sums)
    number = round(allowed * len(found))
    return found[number - 1] + 1 if number else 0


def _row_question(length: int, count: int, fits: bool, target: float, **fields: Any) -> LatticeQuestion:
    return LatticeQuestion(partial(related_node, (length,), count, in_a_row(count), **fields), fits, target)


def _square_question(side: int, fits: bool, target: float, **fields: Any) -> LatticeQuestion:
    return LatticeQuestion(partial(related_node, (side, side), 4, in_a_square(), **fields), fits, target)


# Questions about expressions over devices by name.
RELATED_QUESTIONS: dict[str, LatticeQuestion] = {
    "4 in a row of 64": _row_question(64, 4, True, 0.025, seed=1),
    "16 in a row of 128": _row_question(128, 16, True, 0.060),
    "16 in a row of 256, 40 % in use": _row_question(256, 16, False, 0.300, used=0.4),
    "2x2 of 4x4": _square_question(4, True, 0.015),
    "2x2 of 16x16": _square_question(16, True, 0.500),
    "2x2 of 16x16, 70 % in use": _square_question(16, False, 0.500, used=0.7, seed=2),
    "8 of 64 in 8 kinds, 10 % of the ways": LatticeQuestion(partial(some_ways, 8, 0.1), True, 0.200),
    "8 of 64 in 8 kinds, 0.5 % of the ways": LatticeQuestion(partial(some_ways, 8, 0.005), True, 2.0),
    "8 of 64 in 8 kinds, none of the ways": LatticeQuestion(partial(some_ways, 8, 0.0), False, 2.0),
}
