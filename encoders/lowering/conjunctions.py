"""Conjunctions as simple as comparing their parts makes them."""

from __future__ import annotations

from collections.abc import Iterable

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
    """Parts of one conjunction: the greatest lower and the least upper bound of each sum, and other formulas."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._at_least: dict[int, int] = {}
        self._below: dict[int, int] = {}
        self._others: set[Handle] = set()

    def add(self, handle: Handle) -> bool:
        """Take a part in; False if the whole is thereby false."""
        nodes = self._nodes
        number = nodes.sum_of[handle if handle >= 0 else ~handle]
        if number != CONJUNCTION:
            return self._bound(handle, number)
        if handle >= 0 and len(nodes.children[handle]) <= _SMALL:
            # Parts of a conjunction are never small conjunctions themselves.
            return all(map(self._other, nodes.children[handle]))
        return self._other(handle)

    def _other(self, handle: Handle) -> bool:
        number = self._nodes.sum_of[handle if handle >= 0 else ~handle]
        if number != CONJUNCTION:
            return self._bound(handle, number)
        self._others.add(handle)
        return handle != FALSE and ~handle not in self._others

    def _bound(self, handle: Handle, number: int) -> bool:
        if handle >= 0:
            bound = self._nodes.bound_of[handle]
            self._at_least[number] = max(bound, self._at_least.get(number, bound))
        else:
            bound = self._nodes.bound_of[~handle]
            self._below[number] = min(bound, self._below.get(number, bound))
        return (
            number not in self._at_least or number not in self._below or (self._at_least[number] < self._below[number])
        )

    def join_absent(self) -> bool:
        """Make "none chosen" of several sets of items that of one set; False if the whole is thereby false."""
        nodes = self._nodes
        absent = [number for number, bound in self._below.items() if bound == 1 and nodes.counts_only[number]]
        if len(absent) < 2:
            return True
        terms = {term for number in absent for term in nodes.terms[number]}
        for number in absent:
            del self._below[number]
        joined = nodes.sum(tuple(sorted(terms)))
        least, most = nodes.ranges[joined]
        if most >= 1:
            self._below[joined] = 1
        if least >= 1:
            return False
        wanted = (number for number in self._at_least if nodes.counts_only[number])
        return not any(terms.issuperset(nodes.terms[number]) for number in wanted)

    def handles(self) -> list[Handle]:
        """Return the parts that are left."""
        threshold = self._nodes.threshold
        return [
            *(threshold(number, bound) for number, bound in self._at_least.items()),
            *(~threshold(number, bound) for number, bound in self._below.items()),
            *self._others,
        ]
