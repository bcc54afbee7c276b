"""``Connected``: enumerated where there are few such sets, else reached step by step from one device in the middle."""

from __future__ import annotations

from itertools import chain, pairwise

from .covered import Covered
from .placements import Placement
from .placing import post_placements
from .subgraphs import Neighbours, components, connected_sets

FEW = 500
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
    # The newest variables are tried first: the middle, then what is next to it, and so on outwards.
    steps = [_literals(covered, neighbours) for _ in range(max(covered.sizes) // 2 + 1)]
    for device, terms in covered.taken.items():
        if device in neighbours:
            rows.at_most([*terms, (steps[0][device], -1)], 0, covered.guard)
    for after, before in pairwise(steps):
        for device, literal in after.items():
            beside = [(before[one], -1) for one in (device, *neighbours[device])]
            rows.at_most([(literal, 1), *beside], 0)
    rows.at_most([(literal, 1) for literal in steps[-1].values()], 1)


def _literals(covered: Covered, neighbours: Neighbours) -> dict[int, int]:
    """A literal for each device, under which it is taken."""
    rows = covered.model.rows
    found = {device: rows.boolean() for device in neighbours}
    for device, literal in found.items():
        rows.at_most([(literal, 1), *((variable, -1) for variable, _ in covered.taken[device])], 0)
    return found
