"""What a stage of an objective is: what it minimises, in which order, and what it sees of a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...problem.records import Problem
from ..collapsed import Merged
from ..encoder import Signature, sees_nothing

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term

Picked = Sequence[tuple[int, int]]
"""Pairs of a demand and a device, by their numbers in the Problem."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What one part of a stage came to: its value, and a bound that no choice gets below.

    The bound holds for choices that are no worse in all parts before it.
    """

    value: int
    bound: int

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.bound >= self.value


def _as_they_are(_model: AllocationModel, parts: Sequence[Reached]) -> Sequence[Reached]:
    return parts


def _without_devices(_problem: Problem, picked: Picked) -> bool:
    return not picked


@dataclass(frozen=True, slots=True)
class Stage:
    """A named objective; it is never negative, and 0 is the best there is.

    ``parts`` returns what to minimise, one after the other, and adds the variables and rows it needs for that; the
    stage's value is their sum. ``sign`` returns what the stage sees of a device, as for an encoder. ``is_free`` tells
    without a model that an answer costs nothing. ``comparable`` turns what the parts came to into numbers that mean
    the same on every node.
    """

    id: str
    description: str
    parts: Callable[[AllocationModel], Sequence[Sequence[Term]]]
    sign: Callable[[Merged], Signature | None] = sees_nothing
    is_free: Callable[[Problem, Picked], bool] = _without_devices
    comparable: Callable[[AllocationModel, Sequence[Reached]], Sequence[Reached]] = _as_they_are
