"""From a fractional plan to one in whole numbers: fix what is whole, price again for what is left, repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import floor

from .generation import Budget, Generator
from .instance import Column, Stage
from .master import WHOLE, Relaxation

# What part of the columns in question is rounded up at once where nothing is whole.
_ROUNDED = 0.1


class Dive:
    """One dive. The master is left with what was fixed, until it is released."""

    def __init__(self, generator: Generator, stage: Stage, budget: Budget) -> None:
        self._generator = generator
        self._master = generator.master
        self._instance = generator.instance
        self._stage = stage
        self._budget = budget
        self._fixed: Counter[int] = Counter()

    def run(self, relaxation: Relaxation) -> Iterator[tuple[Column, int]]:
        """Dive from a relaxation; what is found keeps to nodes, but may have room for more than is asked for.

        Ctrl-C ends it behind what it has found so far.
        """
        interrupted: KeyboardInterrupt | None = None
        try:
            self._dive(relaxation)
        except KeyboardInterrupt as stopped:
            interrupted = stopped
        self._master.release()
        for index, number in sorted(self._fixed.items()):
            yield self._master.columns[index], number
        if interrupted:
            raise interrupted

    def _dive(self, relaxation: Relaxation) -> None:
        found: Relaxation | None = relaxation
        while found is not None and not self._budget.is_over():
            if not self._fix(found):
                break
            left, nodes = self._left()
            classes = [node_class for node_class, number in nodes.items() if number]
            if not classes:
                break
            generated = self._generator.run(self._stage, self._budget, left, classes)
            found = generated.relaxation

    def _fix(self, found: Relaxation) -> bool:
        """Fix more nodes; False where the relaxation uses no more of them."""
        new = False
        for index, amount in enumerate(found.columns):
            whole = floor(amount + WHOLE)
            if whole > self._fixed[index]:
                self._set(index, whole)
                new = True
        return new or self._round_up(found)

    def _set(self, index: int, number: int) -> None:
        self._fixed[index] = number
        self._master.restrict(index, number)

    def _round_up(self, found: Relaxation) -> bool:
        """Round up the columns that are nearly taken; first those that are of use as a whole."""
        left, nodes = self._left()
        open_columns = []
        for index, amount in enumerate(found.columns):
            part = amount - self._fixed[index]
            if part > WHOLE:
                wasted = self._wasted(self._master.columns[index], left)
                open_columns.append((wasted > 0, -part, index))
        most = max(1, int(len(open_columns) * _ROUNDED))
        rounded = 0
        for _, _, index in sorted(open_columns):
            column = self._master.columns[index]
            if rounded and self._wasted(column, left):
                continue
            if not nodes[column.node_class]:
                continue
            self._set(index, self._fixed[index] + 1)
            nodes[column.node_class] -= 1
            for unit, amount in column.counts:
                left[unit] = max(0, left[unit] - amount)
            rounded += 1
            if rounded == most:
                break
        return rounded > 0

    def _wasted(self, column: Column, left: Sequence[int]) -> int:
        return sum(max(0, amount - left[unit]) for unit, amount in column.counts)

    def _left(self) -> tuple[list[int], dict[int, int]]:
        """Units that are asked for still, and nodes that are free, after what is fixed."""
        left = list(self._instance.most())
        nodes = {node.index: node.count for node in self._instance.nodes}
        for index, number in self._fixed.items():
            column = self._master.columns[index]
            nodes[column.node_class] -= number
            for unit, amount in column.counts:
                left[unit] = max(0, left[unit] - amount * number)
        return left, nodes
