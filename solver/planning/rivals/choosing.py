"""Which node a unit goes to: states of nodes are looked at, not nodes, and each but once for equal units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ....models.running_pods import lacking
from ...attempts import Ending
from ..limits import is_past
from .cases import Case
from .choices import Choice
from .floor import Floor, NodeState
from .trials import AbortedError, TimeOverError, Trials


class Choosing:
    """Finds the node that is preferred of those that suit, have room, and have the devices."""

    def __init__(self, floor: Floor, choice: Choice, trials: Trials) -> None:
        self._floor = floor
        self._choice = choice
        self._trials = trials
        # None: units like this do not fit there.
        self._scores: dict[Case, dict[NodeState, float | None]] = defaultdict(dict)

    def position(self, case: Case) -> int | None:
        """Find its position; None if no node fits. Raises ``AbortedError`` and ``TimeOverError``."""
        if is_past(self._trials.deadline):
            raise TimeOverError
        known = self._scores[case]
        best: tuple[float, int] | None = None
        for position, state in self._open(case, known):
            if state not in known:
                known[state] = self._score(case, state)
            score = known[state]
            if score is not None and (best is None or score < best[0]):
                best = score, position
                if self._choice.takes_first:
                    break
        return best[1] if best else None

    def _open(self, case: Case, known: Mapping[NodeState, float | None]) -> list[tuple[int, NodeState]]:
        """States in which the unit may fit, each with the first such node that suits, in the order of these nodes."""
        found = []
        for state, positions in self._floor.groups.items():
            if known.get(state, 0.0) is not None:
                first = _first(case, state, positions)
                if first is not None:
                    found.append((first, state))
        return sorted(found, key=lambda pair: pair[0])

    def _score(self, case: Case, state: NodeState) -> float | None:
        """How much the node would be disliked; None: the unit does not fit. Raises as ``position``."""
        if lacking(case.requests, state.room):
            return None
        trial = self._trials.of(case, state.devices)
        if trial.ending is Ending.FATAL:
            raise AbortedError(state.devices.view.node, trial)
        if not trial.fits:
            return None
        if self._choice.takes_first:
            return 0.0
        return self._choice.score(state, self._floor.imagined(state, case.requests, trial.made))


def _first(case: Case, state: NodeState, positions: list[int]) -> int | None:
    """The first of these nodes that suits; all do or none, but where an allocated claim has a say."""
    if case.place.number < len(state.takes):
        return positions[0] if state.takes[case.place.number] else None
    return next((position for position in positions if position in case.place.members), None)
