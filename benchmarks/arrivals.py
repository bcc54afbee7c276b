"""Units of openb arrive one by one: first fit, best fit and the fragmentation gradient (FGD) on linear nodes.

Equal nodes in equal states are one, so that a policy looks at a state once for a unit class. A policy scores what a
placement makes of a node; the lowest score wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from drasat.solver.plan.master_problem import MasterNodeClass, MasterUnitClass
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit


@dataclass(frozen=True)
class LinearNodeState:
    """What is left of a node of some class: of its devices, in order, and of the node as a whole."""

    node_class: int
    free: tuple[int, ...]
    left: tuple[int, ...]
    capacity: int

    @cached_property
    def whole(self) -> int:
        """Devices that are free as a whole."""
        return sum(free == self.capacity for free in self.free)

    def fits(self, unit: LinearUnit) -> bool:
        """Whether a unit fits."""
        return (
            all(need <= left for need, left in zip(unit.needs, self.left, strict=True))
            and unit.devices <= self.whole
            and (not unit.share or unit.share <= max(self.free, default=0))
        )

    def placements(self, unit: LinearUnit) -> list[LinearNodeState]:
        """What may become of the state: a share may come from any device that has so much."""
        left = tuple(left - need for left, need in zip(self.left, unit.needs, strict=True))
        if unit.devices:
            return [self._with((0,) * unit.devices + self.free[unit.devices :], left)]
        if not unit.share:
            return [self._with(self.free, left)]
        choices = sorted({free for free in self.free if free >= unit.share})
        return [self._with(self._less(free, unit.share), left) for free in choices]

    def _less(self, free: int, share: int) -> tuple[int, ...]:
        place = self.free.index(free)
        return (*self.free[:place], free - share, *self.free[place + 1 :])

    def _with(self, free: Iterable[int], left: tuple[int, ...]) -> LinearNodeState:
        return LinearNodeState(self.node_class, tuple(sorted(free, reverse=True)), left, self.capacity)


def initial_state(node_class: int, node: LinearNode) -> LinearNodeState:
    """A node before anything is placed."""
    return LinearNodeState(node_class, tuple(sorted(node.free, reverse=True)), node.left, node.capacity)


Score: TypeAlias = tuple[float, ...]


class LinearPolicy(Protocol):
    """A scheduler's preference. Scores may depend on nothing but the two states and the unit class."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """How much a placement is disliked."""
        ...


@dataclass(frozen=True, slots=True)
class LinearFirstFit:
    """The first node in order, and there the fullest device."""

    name: str = "first fit"

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """The node's class, so that nodes are filled in order of classes, fuller ones first."""
        return (before.node_class, *sorted(before.free), *before.left, *sorted(after.free))


class LinearBestFit:
    """The node on which least is left, as a weighted sum of all resources (devices and node-wide ones).

    Each resource counts in parts of the largest that any node has of it.
    """

    name = "best fit"

    def __init__(self, nodes: Sequence[LinearNode]) -> None:
        resources = range(len(nodes[0].left)) if nodes else range(0)
        self._largest = [max(1, *(node.left[resource] for node in nodes)) for resource in resources]
        self._devices = max([1, *(sum(node.free) for node in nodes)])

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """What is left of the node; among its devices, the fullest one that has room."""
        rest = sum(left / largest for left, largest in zip(after.left, self._largest, strict=True))
        return (rest + sum(after.free) / self._devices, *sorted(after.free))


class FragmentationGradient:
    """Fragmentation gradient descent (FGD; Weng and others, USENIX ATC 2023).

    A node is fragmented, for one unit class, by what is free of its devices where that unit cannot use it. The
    expectation over the queue's mix is what a placement should raise the least.
    """

    name = "FGD"

    def __init__(self, units: Sequence[LinearUnit], demands: Sequence[int], nodes: Sequence[LinearNode]) -> None:
        self._nodes = nodes
        self._demands = np.array(demands, dtype=np.int64)
        self._needs = np.array([unit.needs for unit in units], dtype=np.int64)
        self._devices = np.array([unit.devices for unit in units], dtype=np.int64)
        self._shares = np.array([unit.share for unit in units], dtype=np.int64)
        self._allowed = [_mask(node, len(units)) for node in nodes]
        self._fragmentation = cache(self._of)

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """How much fragmentation grows; then what is left of the devices."""
        return (self._fragmentation(after) - self._fragmentation(before), *sorted(after.free))

    def fragmentation(self, states: Iterable[tuple[LinearNodeState, int]]) -> float:
        """The expected capacity of devices that a unit of the mix cannot use, over nodes in these states."""
        wasted = sum(self._fragmentation(state) * nodes for state, nodes in states)
        return wasted / max(1, int(self._demands.sum()))

    def _of(self, state: LinearNodeState) -> int:
        """Fragmentation times the size of the queue: all that is free where a unit does not fit or needs no device.

        Where it fits, what is free of devices that have too little for it.
        """
        free = np.array(state.free, dtype=np.int64)
        least = np.where(self._devices > 0, state.capacity, self._shares)
        fits = (self._needs <= np.array(state.left, dtype=np.int64)).all(axis=1) & (self._devices <= state.whole)
        fits &= (least > 0) & (least <= free.max(initial=0)) & self._allowed[state.node_class]
        too_little = np.where(free[None, :] < least[:, None], free[None, :], 0).sum(axis=1)
        return int((self._demands * np.where(fits, too_little, free.sum())).sum())


def _mask(node: LinearNode, units: int) -> NDArray[np.bool_]:
    """Which unit classes may run on a node."""
    return np.array([node.takes is None or index in node.takes for index in range(units)], dtype=bool)


@dataclass(frozen=True, slots=True)
class ArrivalResult:
    """How many units of each class were placed, and how many nodes end in which state."""

    placed: tuple[int, ...]
    states: tuple[tuple[LinearNodeState, int], ...]


class Arrivals:
    """A cluster that fills up by a policy. States are kept with the number of nodes in them."""

    def __init__(
        self,
        units: Sequence[LinearUnit],
        nodes: Sequence[LinearNode],
        classes: Sequence[MasterNodeClass],
        policy: LinearPolicy,
    ) -> None:
        self._units = units
        self._nodes = nodes
        self._policy = policy
        starts = {node.index: initial_state(node.index, nodes[node.index]) for node in classes}
        self._states: Counter[LinearNodeState] = Counter()
        for node in classes:
            self._states[starts[node.index]] += node.count
        self._states = +self._states
        # The best placement of each unit class in each state; None where it does not fit.
        self._best: list[dict[LinearNodeState, tuple[Score, LinearNodeState] | None]] = [{} for _ in units]

    def place(self, unit: int) -> LinearNodeState | None:
        """Place a unit; returns what the node becomes, None if it fits nowhere."""
        known = self._best[unit]
        best: tuple[Score, LinearNodeState] | None = None
        chosen: LinearNodeState | None = None
        for state in self._states:
            if state not in known:
                known[state] = self._best_in(unit, state)
            found = known[state]
            if found is not None and (best is None or found[0] < best[0]):
                best, chosen = found, state
        if best is None or chosen is None:
            return None
        self._states[chosen] -= 1
        if not self._states[chosen]:
            del self._states[chosen]
        self._states[best[1]] += 1
        return best[1]

    def _best_in(self, unit: int, state: LinearNodeState) -> tuple[Score, LinearNodeState] | None:
        node, needed = self._nodes[state.node_class], self._units[unit]
        if (node.takes is not None and unit not in node.takes) or not state.fits(needed):
            return None
        after = state.placements(needed)
        return min(((self._policy.score(unit, state, one), one) for one in after), key=lambda pair: pair[0])

    def run(self, arriving: Iterable[int]) -> ArrivalResult:
        """Place all that arrive; what does not fit is left out, and those after it are tried."""
        placed = [0] * len(self._units)
        full: set[int] = set()
        for unit in arriving:
            # Room only shrinks: where one unit of a class did not fit, no other will.
            if unit in full:
                continue
            if self.place(unit) is None:
                full.add(unit)
            else:
                placed[unit] += 1
        return ArrivalResult(tuple(placed), tuple(self._states.items()))


def in_random_order(units: Sequence[MasterUnitClass], seed: int) -> list[int]:
    """All units, in an order that the seed decides."""
    queue = [unit.index for unit in units for _ in range(unit.demand)]
    Random(seed).shuffle(queue)
    return queue
