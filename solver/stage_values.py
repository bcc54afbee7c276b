"""What the stages of an objective came to, on one node and over many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..encoders.stages.stage import Reached, Stage


@dataclass(frozen=True, slots=True)
class StageValue:
    """A stage with what its parts came to, in numbers that mean the same on every node."""

    stage: str
    parts: tuple[Reached, ...]

    @property
    def value(self) -> int:
        """The sum of the parts' values."""
        return sum(part.value for part in self.parts)

    @property
    def bound(self) -> int:
        """A number that no answer gets below that is no worse in the stages and parts before."""
        return sum(part.bound for part in self.parts)

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return all(part.proven for part in self.parts)


Objective = tuple[StageValue, ...]


def costless(stages: Iterable[Stage]) -> Objective:
    """List the values of an answer that nothing beats in any stage."""
    return tuple(StageValue(stage.id, ()) for stage in stages)


def vector(objective: Objective) -> tuple[tuple[int, ...], ...]:
    """Return what to compare answers by: stage by stage, part by part; parts at the end may be left out if 0."""
    return tuple(_trimmed([part.value for part in stage.parts]) for stage in objective)


def _trimmed(values: list[int]) -> tuple[int, ...]:
    while values and not values[-1]:
        values.pop()
    return tuple(values)


def is_costless(objective: Objective) -> bool:
    """Tell whether nothing can be better."""
    return not any(stage.value for stage in objective)


def over_nodes(best: Objective, others: Sequence[Objective | None]) -> Objective:
    """Bound the best answer by what other nodes could still come to; None for a node about which nothing is known.

    A part's bound on a node holds for answers that are no worse there in all parts before. It may be used as long as
    these were no better than the best answer's, which such an answer could then be as well.
    """
    rivals = [_Rival(other) for other in others]
    return tuple(_bounded(stage, number, rivals) for number, stage in enumerate(best))


class _Rival:
    """What another node can still do to the best answer."""

    def __init__(self, objective: Objective | None) -> None:
        self._objective = objective
        self.beaten = False

    def meet(self, stage: int, part: int, value: int) -> int:
        """Return its bound for a part, and note what follows from that for the parts to come."""
        if self._objective is None:
            return 0
        own = _part(self._objective[stage], part)
        self.beaten = own.bound > value
        if own.value < value:
            # From here on its bounds are about better answers only.
            self._objective = None
        return own.bound


def _part(stage: StageValue, number: int) -> Reached:
    """An answer that costs nothing has no parts."""
    return stage.parts[number] if number < len(stage.parts) else Reached(0, 0)


def _bounded(stage: StageValue, number: int, rivals: Sequence[_Rival]) -> StageValue:
    parts = []
    for position, part in enumerate(stage.parts):
        met = [rival.meet(number, position, part.value) for rival in rivals if not rival.beaten]
        parts.append(Reached(part.value, min([part.bound, *met])))
    return StageValue(stage.stage, tuple(parts))
