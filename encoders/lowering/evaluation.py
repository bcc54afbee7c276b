"""What a formula says of given counts."""

from __future__ import annotations

from collections.abc import Sequence

from .nodes import CONJUNCTION, Nodes
from .sums import FALSE, ONE, TRUE, Handle


class Evaluator:
    """Evaluates one formula for many vectors of counts."""

    def __init__(self, nodes: Nodes, handle: Handle) -> None:
        self._nodes = nodes
        self._handle = handle
        self._order = [node for node in nodes.below(handle) if node != TRUE]

    def holds(self, counts: Sequence[int]) -> bool:
        """Tell whether the formula holds when ``counts[item]`` devices are chosen of each item."""
        nodes = self._nodes
        truth = {TRUE: True, FALSE: False}
        for node in self._order:
            number = nodes.sum_of[node]
            if number == CONJUNCTION:
                value = all(map(truth.__getitem__, nodes.children[node]))
            else:
                value = self._sum(number, counts, truth) >= nodes.bound_of[node]
            truth[node], truth[~node] = value, not value
        return truth[self._handle]

    def _sum(self, number: int, counts: Sequence[int], truth: dict[Handle, bool]) -> int:
        return sum(
            coefficient if item == ONE else coefficient * counts[item]
            for item, gate, coefficient in self._nodes.terms[number]
            if truth[gate]
        )
