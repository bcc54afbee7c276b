"""What the rivals prefer: each scores what a placement makes of a node, and the lowest score wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..linear.resources import LinearNode, LinearUnit
from .states import State

Score: TypeAlias = tuple[float, ...]


class Policy(Protocol):
    """A scheduler's preference. Scores may depend on nothing but the two states and the unit class."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def score(self, unit: int, before: State, after: State) -> Score:
        """How much a placement is disliked."""
        ...


@dataclass(frozen=True, slots=True)
class FirstFit:
    """The first node in order, and there the fullest device."""

    name: str = "first fit"

    def score(self, unit: int, before: State, after: State) -> Score:
        """The node's class, so that nodes are filled in order of classes, fuller ones first."""
        return (before.node_class, *sorted(before.free), *before.left, *sorted(after.free))


class BestFit:
    """The node on which least is left, as a weighted sum of all resources (devices and node-wide ones).

    Each resource counts in parts of the largest that any node has of it.
    """

    name = "best fit"

    def __init__(self, nodes: Sequence[LinearNode]) -> None:
        resources = range(len(nodes[0].left)) if nodes else range(0)
        self._largest = [max(1, *(node.left[resource] for node in nodes)) for resource in resources]
        self._devices = max([1, *(sum(node.free) for node in nodes)])

    def score(self, unit: int, before: State, after: State) -> Score:
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

    def score(self, unit: int, before: State, after: State) -> Score:
        """How much fragmentation grows; then what is left of the devices."""
        return (self._fragmentation(after) - self._fragmentation(before), *sorted(after.free))

    def fragmentation(self, states: Iterable[tuple[State, int]]) -> float:
        """The expected capacity of devices that a unit of the mix cannot use, over nodes in these states."""
        wasted = sum(self._fragmentation(state) * nodes for state, nodes in states)
        return wasted / max(1, int(self._demands.sum()))

    def _of(self, state: State) -> int:
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
