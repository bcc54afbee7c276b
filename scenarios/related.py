"""Claims whose devices must go together by a CEL expression over all of them (KEP-5254), on one node.

The stories of the proposal on rows and squares of any size, and expressions that accept a given share of all the ways
to choose, without rhyme or reason.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement
from random import Random
from typing import Any

from . import objects
from .objects import Mapped
from .wired import DRIVER, ShapeQuestion, wired

_A = f"attributes['{DRIVER}']"

# Kinds of devices, and how many there are of each, where an expression accepts some of the ways to choose.
KINDS = 8
_SUM_LIMIT = 1_000_003


def in_a_row(count: int) -> str:
    """Story 1: consecutive positions."""
    places = f"devices.map(d, d.{_A}.x)"
    return f"size(devices) == {count} && {places}.max() - {places}.min() == {count - 1}"


def in_a_square() -> str:
    """Story 2: two by two."""
    beside = " || ".join(
        f"(d.{_A}.{one} == other.{_A}.{one} && "
        f"(d.{_A}.{two} == other.{_A}.{two} + 1 || d.{_A}.{two} == other.{_A}.{two} - 1))"
        for one, two in ("xy", "yx")
    )
    return f"size(devices) == 4 && devices.all(d, devices.filter(other, d != other && ({beside})).size() >= 2)"


def related(sizes: Sequence[int], count: int, expression: str, *, used: float = 0.0, seed: int = 0) -> list[Mapped]:
    """A line or grid with some devices in use, and a claim for so many of which the expression holds."""
    cluster = wired("Grid" if len(sizes) > 1 else "Line", sizes, (), used=used, seed=seed)
    return [*(item for item in cluster if item["kind"] != "Pod"), _claim(count, expression)]


def _claim(count: int, expression: str) -> Mapped:
    request = objects.exactly("chips", objects.wanted("chip", count=count))
    return objects.claim("related", objects.claim_spec([request], [{"cel": {"expression": expression}}]))


def some_ways(count: int, allowed: float, *, seed: int = 0) -> list[Mapped]:
    """``KINDS`` kinds of as many devices, and an expression that holds for a share of the vectors of counts.

    Whether it does depends on the sum of weights that have nothing to do with each other, so that it cannot be said in
    few rows, and says nothing about vectors that are near.
    """
    rng = Random(seed)
    weights = rng.sample(range(_SUM_LIMIT // 2), KINDS)
    chips = [objects.device(f"chip-{number:04d}", {"weight": weights[number % KINDS]}) for number in range(KINDS**2)]
    rng.shuffle(chips)
    node = "kinds-node"
    total = f"devices.map(d, d.{_A}.weight).sum()"
    return [
        objects.node(node),
        objects.device_class("chip", f"device.driver == '{DRIVER}'"),
        objects.resource_slice("kinds", DRIVER, node, objects.on_node(node), chips),
        _claim(count, f"{total} * {total} % {_SUM_LIMIT} < {_bound(weights, count, allowed)}"),
    ]


def _bound(weights: Sequence[int], count: int, allowed: float) -> int:
    """The bound below which the given share of all choices is."""
    sums = (sum(chosen) for chosen in combinations_with_replacement(weights, count))
    found = sorted(total * total % _SUM_LIMIT for total in sums)
    number = round(allowed * len(found))
    return found[number - 1] + 1 if number else 0


def _row(length: int, count: int, fits: bool, target: float, **fields: Any) -> ShapeQuestion:
    return ShapeQuestion(partial(related, (length,), count, in_a_row(count), **fields), fits, target)


def _square(side: int, fits: bool, target: float, **fields: Any) -> ShapeQuestion:
    return ShapeQuestion(partial(related, (side, side), 4, in_a_square(), **fields), fits, target)


# Questions about expressions over devices by name.
RELATED_QUESTIONS: dict[str, ShapeQuestion] = {
    "4 in a row of 64": _row(64, 4, True, 0.025, seed=1),
    "16 in a row of 128": _row(128, 16, True, 0.060),
    "16 in a row of 256, 40 % in use": _row(256, 16, False, 0.300, used=0.4),
    "2x2 of 4x4": _square(4, True, 0.015),
    "2x2 of 16x16": _square(16, True, 0.500),
    "2x2 of 16x16, 70 % in use": _square(16, False, 0.500, used=0.7, seed=2),
    "8 of 64 in 8 kinds, 10 % of the ways": ShapeQuestion(partial(some_ways, 8, 0.1), True, 0.200),
    "8 of 64 in 8 kinds, 0.5 % of the ways": ShapeQuestion(partial(some_ways, 8, 0.005), True, 2.0),
    "8 of 64 in 8 kinds, none of the ways": ShapeQuestion(partial(some_ways, 8, 0.0), False, 2.0),
}
