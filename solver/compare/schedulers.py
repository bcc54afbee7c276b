"""Sequential schedulers: units arrive one by one, and each is placed for good on one node, or refused.

A ``SequentialScheduler`` (``solver.plan.first_fit``) has a policy, which scores what a unit makes of a node. The unit
goes to the node with the lowest score, among equal scores to the first by name. ``ORDERS`` are the orders in which
units arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

from ...models.workload.expansion import QueuedUnit
from ..plan.node_states import NodeState
from .figures import TargetWorkload


class BestFitPolicy:
    """Prefers the node on which the least is left, summed over free devices and the resources that the queue asks for.

    Each counts in parts of the most that any node has of it at the start. Of nodes of which no amounts are known,
    devices alone count.
    """

    takes_first = False

    def __init__(self, workload: TargetWorkload, states: Iterable[NodeState]) -> None:
        self._workload = workload
        self._most: dict[str, int] = {}
        self._devices = 1
        for state in states:
            self._devices = max(self._devices, sum(workload.free(state.devices).values()))
            for name, amount in (state.room or {}).items():
                self._most[name] = max(self._most.get(name, 1), amount)

    def score(self, before: NodeState, after: NodeState) -> float:
        """Score what is left."""
        room = sum(amount / self._most[name] for name, amount in (after.room or {}).items())
        return room + sum(self._workload.free(after.devices).values()) / self._devices


class FragmentationDescent:
    """Fragmentation gradient descent: prefers the node whose fragmentation for the workload grows the least."""

    takes_first = False

    def __init__(self, workload: TargetWorkload) -> None:
        self._workload = workload

    def score(self, before: NodeState, after: NodeState) -> float:
        """Score by how much it grows, for all units of the queue together."""
        return self._workload.wasted(after) - self._workload.wasted(before)


def _shuffled(units: Iterable[QueuedUnit], seed: int) -> list[QueuedUnit]:
    shuffled = list(units)
    Random(seed).shuffle(shuffled)
    return shuffled


ORDERS: dict[str, Callable[[Iterable[QueuedUnit], int], list[QueuedUnit]]] = {
    "given": lambda units, _: list(units),
    "random": _shuffled,
    "priority": lambda units, _: sorted(units, key=lambda unit: -unit.unit_set.shape.priority),
}


def arrival_order(units: Sequence[QueuedUnit], order: str, seed: int) -> list[QueuedUnit]:
    """Return the units in this order: as read, as the seed decides, or the highest priority first and else as read."""
    return ORDERS[order](units, seed)
