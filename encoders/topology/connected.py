"""``Connected``: enumerated where there are few such sets, else reached step by step from one device in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from ..rows import Term
from .covered import Covered
from .placements import Placement
from .placing import post_placements
from .subgraphs import Neighbours, components, connected_sets

FEW = 2_000
"""So many sets of devices are written down one by one."""


def post_connected(covered: Covered) -> None:
    """Demand that devices hang together in the graph of those that are taken."""
    neighbours = _neighbours(covered)
    sets = _few(neighbours, covered)
    if sets is not None:
        post_placements(covered, sets)
        return
    covered.allow_only(neighbours)
    _reach(covered, neighbours)


def _neighbours(covered: Covered) -> Neighbours:
    """List who is next to whom among the devices that can be taken, of components that are large enough."""
    beside: dict[int, tuple[int, ...]] = {}
    for places, devices in covered.instances():
        there = frozenset(devices)
        beside |= {device: tuple(one for one in places.neighbours[device] if one in there) for device in devices}
    least = min((size for size in covered.sizes if size), default=0)
    kept = chain.from_iterable(part for part in components(beside) if len(part) >= least)
    return {device: beside[device] for device in sorted(kept)}


def _few(neighbours: Neighbours, covered: Covered) -> list[Placement] | None:
    found: list[Placement] = []
    for size in sorted(covered.sizes - {0}):
        for devices in connected_sets(neighbours, size, FEW * 8):
            if devices is None or len(found) == FEW:
                return None
            found.append(devices)
    return found


def _reach(covered: Covered, neighbours: Neighbours) -> None:
    """Reach every device from the middle one: in a connected set of n there is one at most n // 2 steps from all."""
    rows = covered.model.rows
    reached = {device: rows.boolean() for device in neighbours}
    rows.at_most([(literal, 1) for literal in reached.values()], 1)
    for device, literal in reached.items():
        _implies(covered, literal, covered.taken[device])
    for _ in range(max(covered.sizes) // 2):
        reached = _next(covered, neighbours, reached)
    for device, literal in reached.items():
        rows.at_most([*covered.taken[device], (literal, -1)], 0, covered.guard)


def _next(covered: Covered, neighbours: Neighbours, before: Mapping[int, int]) -> dict[int, int]:
    """Reach what is taken and next to what is reached."""
    rows = covered.model.rows
    reached = {device: rows.boolean() for device in neighbours}
    for device, literal in reached.items():
        _implies(covered, literal, covered.taken[device])
        beside = [(before[one], -1) for one in (device, *neighbours[device])]
        rows.at_most([(literal, 1), *beside], 0)
    return reached


def _implies(covered: Covered, literal: int, terms: Sequence[Term]) -> None:
    covered.model.rows.at_most([(literal, 1), *((variable, -1) for variable, _ in terms)], 0)
