"""A stage of an objective: what it minimises, in which order, and what it sees of a device.

Devices are held by requests without admin access only: admin access looks on (IN-3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...problem.problem import BoundedValue, Problem
from ..symmetry import MergedProblem, Signature, SymmetryClass, no_signature

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term

ChosenDevices = Sequence[tuple[int, int]]
"""Pairs of a demand and a device, by their numbers in the Problem."""


@dataclass(frozen=True, slots=True)
class AllocationStage:
    """A named objective; it is never negative, and 0 is the best there is.

    ``parts`` returns what to minimise, one after the other, and adds the variables and rows it needs for that; the
    stage's value is their sum. ``sign`` returns what the stage sees of a device, as for an encoder. ``is_free`` tells
    without a model that an answer costs nothing. ``comparable`` turns what the parts came to into numbers that mean
    the same on every node.
    """

    id: str
    description: str
    parts: Callable[[AllocationModel], Sequence[Sequence[Term]]]
    sign: Callable[[MergedProblem], Signature | None] = no_signature
    is_free: Callable[[Problem, ChosenDevices], bool] = lambda _problem, picked: not picked
    comparable: Callable[[AllocationModel, Sequence[BoundedValue]], Sequence[BoundedValue]] = lambda _model, parts: (
        parts
    )


def held_terms(model: AllocationModel, class_: SymmetryClass, coefficient: int = 1) -> list[Term]:
    """Terms for what is taken of a symmetry class so that it is in use afterwards."""
    alternatives = model.merged.alternatives
    return [
        (model.takes[index, class_.index], coefficient)
        for index in class_.alternatives
        if not alternatives[index].admin
    ]


Card = tuple[int, str]
"""A pool and one of its counter sets."""


def cards_of_device(problem: Problem, device: int) -> frozenset[Card]:
    """Find the cards that a device is a part of."""
    counters = problem.counters
    rows = (row for row, _ in counters.consumption.get(device, ()))
    return frozenset((counters.pool_of_row[row], counters.names[row][0]) for row in rows)
