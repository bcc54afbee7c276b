"""Disjunctions that only say in which ranges one sum lies, as ``devices.size() in [1, 2, 4]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .nodes import CONJUNCTION, Nodes
from .sums import Handle

Range: TypeAlias = tuple[int, int]
"""Least and greatest value."""


def ranges_of(nodes: Nodes, handles: Sequence[Handle]) -> tuple[int, list[Range]] | None:
    """Return the number of the one sum that all these formulas bound and where it may lie by any of them, else None."""
    number = _sum_of(nodes, handles[0]) if len(handles) > 1 else None
    if number is None or any(_sum_of(nodes, handle) != number for handle in handles):
        return None
    return number, _united(_range(nodes, number, _bounds(nodes, handle)) for handle in handles)


def _bounds(nodes: Nodes, handle: Handle) -> Sequence[Handle]:
    """Return the thresholds that a formula consists of; empty if there is more to it."""
    if nodes.sum_of[handle if handle >= 0 else ~handle] != CONJUNCTION:
        return (handle,)
    children = nodes.children[handle] if handle >= 0 else ()
    return children if len(children) == 2 else ()


def _sum_of(nodes: Nodes, handle: Handle) -> int | None:
    """Return the number of the sum if the formula bounds that alone."""
    numbers = {nodes.sum_of[one if one >= 0 else ~one] for one in _bounds(nodes, handle)}
    return numbers.pop() if len(numbers) == 1 and CONJUNCTION not in numbers else None


def _range(nodes: Nodes, number: int, bounds: Iterable[Handle]) -> Range:
    least, most = nodes.ranges[number]
    for handle in bounds:
        if handle >= 0:
            least = max(least, nodes.bound_of[handle])
        else:
            most = min(most, nodes.bound_of[~handle] - 1)
    return least, most


def _united(ranges: Iterable[Range]) -> list[Range]:
    united: list[Range] = []
    for least, most in sorted(ranges):
        if united and least <= united[-1][1] + 1:
            united[-1] = united[-1][0], max(most, united[-1][1])
        else:
            united.append((least, most))
    return united
