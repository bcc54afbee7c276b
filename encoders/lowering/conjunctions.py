"""Conjunctions as simple as comparing their parts makes them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from .nodes import CONJUNCTION, Nodes
from .sums import FALSE, TRUE, Handle

# Conjunctions of up to so many parts dissolve in one that contains them; beyond, chains would cost their square.
_SMALL = 16


def conjunction(nodes: Nodes, handles: Iterable[Handle]) -> Handle:
    """Return the formula that all hold: flat, without repetitions, ``FALSE`` if two parts contradict each other.

    Of thresholds on one sum the sharpest are kept. "None of these" and "none of those" become one sum that is zero.
    """
    parts = _Parts(nodes)
    if not all(map(parts.add, handles)) or not parts.join_absent():
        return FALSE
    children = parts.handles()
    if len(children) < 2:
        return children[0] if children else TRUE
    return nodes.conjunction(tuple(sorted(children)))


class _Parts:
    """Parts of one conjunction: the sharpest threshold below and above of each sum, and other formulas."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._at_least: dict[int, Handle] = {}
        self._below: dict[int, Handle] = {}
        self._others: set[Handle] = set()
        self._dissolved: set[Handle] = set()

    def add(self, handle: Handle) -> bool:
        """Take a part in; False if the whole is thereby false."""
        if handle >= 0 and self._nodes.sum_of[handle] == CONJUNCTION and len(self._nodes.children[handle]) <= _SMALL:
            # Parts of a conjunction are never small conjunctions themselves.
            self._dissolved.add(handle)
            return ~handle not in self._others and all(map(self._take, self._nodes.children[handle]))
        return self._take(handle)

    def _take(self, handle: Handle) -> bool:
        node = handle if handle >= 0 else ~handle
        number = self._nodes.sum_of[node]
        if number != CONJUNCTION:
            return self._bound(handle, node, number)
        self._others.add(handle)
        return handle != FALSE and ~handle not in self._others and ~handle not in self._dissolved

    def _bound(self, handle: Handle, node: int, number: int) -> bool:
        bounds = self._nodes.bound_of
        if handle >= 0:
            least = self._at_least.get(number)
            if least is None or bounds[node] > bounds[least]:
                self._at_least[number] = handle
        else:
            below = self._below.get(number)
            if below is None or bounds[node] < bounds[~below]:
                self._below[number] = handle
        least, below = self._at_least.get(number), self._below.get(number)
        return least is None or below is None or bounds[least] < bounds[~below]

    def join_absent(self) -> bool:
        """Make "none chosen" of several sets of items that of one set; False if the whole is thereby false."""
        if len(self._below) < 2:
            return True
        nodes = self._nodes
        bounds, counts_only = nodes.bound_of, nodes.counts_only
        absent = [number for number, below in self._below.items() if bounds[~below] == 1 and counts_only[number]]
        if len(absent) < 2:
            return True
        # Terms of a sum are sorted, so that sorting those of several merges them.
        terms = dict.fromkeys(sorted(chain.from_iterable(map(nodes.terms.__getitem__, absent))))
        for number in absent:
            del self._below[number]
        joined = nodes.sum(tuple(terms), counts_only=True)
        least, most = nodes.ranges[joined]
        if most >= 1:
            self._below[joined] = ~nodes.threshold(joined, 1)
        wanted = (number for number in self._at_least if counts_only[number])
        return least < 1 and not any(terms.keys() >= set(nodes.terms[number]) for number in wanted)

    def handles(self) -> list[Handle]:
        """Return the parts that are left."""
        return [*self._at_least.values(), *self._below.values(), *self._others]
