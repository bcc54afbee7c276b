"""Which nodes are still worth a try for equal units, placed one after the other."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator

from ..models.identity import PoolId
from ..problem.in_use import Ledger
from .attempts import Attempt
from .failed_nodes import FailedNodes


class OpenNodes:
    """Nodes in order, less those where an equal unit failed and no pool that the node sees has changed since.

    ``positions`` are ascending; they are read no further than anybody walks.
    """

    def __init__(self, positions: Iterable[int], failed: FailedNodes, ledger: Ledger) -> None:
        self.failed = failed
        self._ledger = ledger
        # Negative, so that the first nodes are last: those fail most, and the end of a list is where to take from.
        self._open: list[int] = []
        self._unread = iter(positions)
        self._watchers: dict[PoolId, set[int]] = defaultdict(set)
        self._seen = ledger.changes

    def __iter__(self) -> Iterator[int]:
        """Yield the nodes to try; ``fail`` may be called meanwhile for those that were yielded."""
        self._reopen()
        index = len(self._open)
        while index:
            last = self._open[index - 1]
            yield -last
            index = bisect_left(self._open, last)
        for position in self._unread:
            self._open.insert(0, -position)
            yield position

    def fail(self, positions: Iterable[tuple[int, Attempt, Iterable[PoolId]]]) -> None:
        """Leave nodes out until one of their pools changes."""
        for position, attempt, pools in positions:
            self.failed.add(position, attempt)
            for pool in pools:
                self._watchers[pool].add(position)
            del self._open[bisect_left(self._open, -position)]

    def _reopen(self) -> None:
        for pool in self._ledger.changed_since(self._seen):
            for position in self._watchers.pop(pool, ()):
                if position in self.failed:
                    self.failed.remove(position)
                    insort(self._open, -position)
        self._seen = self._ledger.changes
