"""The best fillings of one device, in order of what they lose against the best of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from .question import Offer, Question
from .relaxed import Relaxed


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one device takes, or several that one unit takes whole: offers in order, some of them several times."""

    offers: tuple[Offer, ...]
    worth: int


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns, the best first; whatever is not among them is worth at most ``missed``, None for nothing."""

    found: tuple[Pattern, ...]
    missed: int | None


def patterns(question: Question, relaxed: Relaxed, free: int, least: int, most: int) -> Patterns:
    """Find the fillings of a device with ``free`` left that are worth ``least`` or more, at most so many."""
    found: list[Pattern] = []
    for pattern in _in_order(question, relaxed, free, least):
        if len(found) == most:
            return Patterns(tuple(found), pattern.worth)
        found.append(pattern)
    return Patterns(tuple(found), None)


def _in_order(question: Question, relaxed: Relaxed, free: int, least: int) -> Iterator[Pattern]:
    """Search best first: a filling is extended by offers in their order, and what may still come is bounded."""
    capacity = question.node.capacity
    offers = [(offer, offer.size(capacity), relaxed.worth[offer.index]) for offer in question.single]
    offers = [
        (offer, size, worth)
        for offer, size, worth in offers
        if size <= free and worth + relaxed.device[question.steps(free - size)] >= least
    ]
    # Where most of the worth for each step comes first, bounds are the closest.
    offers.sort(key=lambda each: (-each[2] / each[1], each[0].index))
    tables = _suffixes(question, [(question.steps(size), worth) for _, size, worth in offers], question.steps(free))
    number = count()
    heap: list[tuple[int, int, int, int, int, tuple[int, ...]]] = []

    def push(first: int, left: int, worth: int, taken: tuple[int, ...]) -> None:
        bound = worth + tables[first][question.steps(left)]
        if bound >= least:
            heappush(heap, (-bound, -next(number), first, left, worth, taken))

    push(0, free, 0, ())
    while heap:
        _, _, first, left, worth, taken = heappop(heap)
        if first == len(offers):
            yield Pattern(tuple(offers[place][0] for place in taken), worth)
            continue
        # ``first`` once more, or never again; its worth is the bound's if either is.
        offer, size, gain = offers[first]
        if size <= left and taken.count(first) < offer.most:
            push(first, left - size, worth + gain, (*taken, first))
        push(first + 1, left, worth, taken)


def _suffixes(question: Question, offers: list[tuple[int, int]], steps: int) -> list[list[int]]:
    """For each offer, what a device of so many steps is worth at most with it and those after it."""
    tables = [[0] * (steps + 1)]
    for size, worth in reversed(offers):
        table = tables[-1].copy()
        for filled in range(size, steps + 1):
            if table[filled - size] + worth > table[filled]:
                table[filled] = table[filled - size] + worth
        tables.append(table)
    tables.reverse()
    return tables
