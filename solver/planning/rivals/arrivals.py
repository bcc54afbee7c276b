"""Units arrive one by one and stay where they are put."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from ..instance import NodeClass, UnitClass
from ..linear.resources import LinearNode, LinearUnit
from .scores import Policy, Score
from .states import State, state_of


@dataclass(frozen=True, slots=True)
class Arrived:
    """How many units of each class were placed, and how many nodes end in which state."""

    placed: tuple[int, ...]
    states: tuple[tuple[State, int], ...]


class Arrivals:
    """A cluster that fills up by a policy. States are kept with the number of nodes in them."""

    def __init__(
        self, units: Sequence[LinearUnit], nodes: Sequence[LinearNode], classes: Sequence[NodeClass], policy: Policy
    ) -> None:
        self._units = units
        self._nodes = nodes
        self._policy = policy
        starts = {node.index: state_of(node.index, nodes[node.index]) for node in classes}
        self._states: Counter[State] = Counter()
        for node in classes:
            self._states[starts[node.index]] += node.count
        self._states = +self._states
        # The best placement of each unit class in each state; None where it does not fit.
        self._best: list[dict[State, tuple[Score, State] | None]] = [{} for _ in units]

    def place(self, unit: int) -> State | None:
        """Place a unit; returns what the node becomes, None if it fits nowhere."""
        known = self._best[unit]
        best: tuple[Score, State] | None = None
        chosen: State | None = None
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

    def _best_in(self, unit: int, state: State) -> tuple[Score, State] | None:
        node, needed = self._nodes[state.node_class], self._units[unit]
        if (node.takes is not None and unit not in node.takes) or not state.fits(needed):
            return None
        after = state.placements(needed)
        return min(((self._policy.score(unit, state, one), one) for one in after), key=lambda pair: pair[0])

    def run(self, arriving: Iterable[int]) -> Arrived:
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
        return Arrived(tuple(placed), tuple(self._states.items()))


def in_random_order(units: Sequence[UnitClass], seed: int) -> list[int]:
    """All units, in an order that the seed decides."""
    queue = [unit.index for unit in units for _ in range(unit.demand)]
    Random(seed).shuffle(queue)
    return queue
