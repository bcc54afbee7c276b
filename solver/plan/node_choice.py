"""Which node a unit goes to, for schedulers that place units one by one: the first that fits, or the best by a score.

Units alike ask once about each state of a node. The first node that fits is looked for where the last such search
ended, and on nodes that changed since: what failed does so again as long as nothing changes there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...models.results.common import Status
from ...models.workload.node_room import has_room
from .master_problem import is_past
from .node_states import AllocationTrials, NodeState, NodeStates, TimeOverError, TrialAbortedError, UnitRequirements
from .pod_ledger import PodLedger


class PlacementPolicy(Protocol):
    """A preference between nodes. Scores depend on nothing but the two states."""

    @property
    def takes_first(self) -> bool:
        """Whether the first node that fits is taken, without a score."""

    def score(self, before: NodeState, after: NodeState) -> float:
        """Score the change of a node's state; the lowest score wins. Raises ``TimeOverError``."""


class FirstFitPolicy:
    """Takes the first node by name that fits."""

    takes_first = True

    def score(self, before: NodeState, after: NodeState) -> float:
        """Score all nodes alike."""
        return 0.0


@dataclass(slots=True)
class _FirstFitSearch:
    """Where units alike may fit: on nodes ``again``, ascending, and from ``end`` on; so many changes were noted."""

    end: int = 0
    again: list[int] = field(default_factory=list)
    noted: int = 0

    @property
    def position(self) -> int:
        """The first of these nodes."""
        return self.again[0] if self.again else self.end

    def drop(self) -> None:
        """Go past the first of these nodes: it does not fit as it is."""
        if self.again:
            del self.again[0]
        else:
            self.end += 1

    def note(self, changes: Sequence[int]) -> None:
        """Look again at nodes that changed; these are the positions of all that ever did."""
        changed = {position for position in changes[self.noted :] if position < self.end}
        self.noted = len(changes)
        if changed:
            self.again = sorted(changed.union(self.again))


class NodeChooser:
    """Finds the node that is preferred of those that suit, have room, and have the devices."""

    def __init__(
        self,
        node_states: NodeStates,
        policy: PlacementPolicy,
        trials: AllocationTrials,
        ledger: PodLedger | None = None,
    ) -> None:
        self._ledger = ledger
        self._node_states = node_states
        self._policy = policy
        self._trials = trials
        # None: units like this do not fit there.
        self._scores: dict[UnitRequirements, dict[NodeState, float | None]] = defaultdict(dict)
        self._searches: dict[UnitRequirements, _FirstFitSearch] = defaultdict(_FirstFitSearch)

    def position(self, requirements: UnitRequirements, excluded: Container[int] = ()) -> int | None:
        """Find the position of the node for a unit, which is none of the excluded ones; None: no node fits.

        Raises ``TrialAbortedError`` and ``TimeOverError``.
        """
        if is_past(self._trials.deadline):
            raise TimeOverError
        if self._policy.takes_first:
            return self._first(requirements, excluded)
        known = self._scores[requirements]
        best: tuple[float, int] | None = None
        for position, state in self._open(requirements, known, excluded):
            if state not in known:
                known[state] = self._score(requirements, state)
            score = known[state]
            if score is not None and (best is None or score < best[0]):
                best = score, position
        return best[1] if best else None

    def _first(self, requirements: UnitRequirements, excluded: Container[int]) -> int | None:
        """Find the first node that fits; a node that failed is not looked at before it changes."""
        known, search = self._scores[requirements], self._searches[requirements]
        search.note(self._node_states.changes)
        passed = list[int]()
        while (position := search.position) < self._node_states.size:
            state = self._node_states.state(position)
            if not self._suits(requirements, state, position):
                search.drop()
            elif position in excluded or self._is_forbidden(requirements, position):
                passed.append(position)
                search.drop()
            else:
                if state not in known:
                    known[state] = self._score(requirements, state)
                if known[state] is not None:
                    break
                search.drop()
        search.again[:0] = passed
        return position if position < self._node_states.size else None

    def _open(
        self, requirements: UnitRequirements, known: Mapping[NodeState, float | None], excluded: Container[int]
    ) -> list[tuple[int, NodeState]]:
        """List the states in which the unit may fit, each with the first suitable node in it."""
        found = []
        for state, positions in self._node_states.groups.items():
            if known.get(state, 0.0) is not None:
                open_ones = (position for position in positions if position not in excluded)
                first = next(self._suitable(requirements, state, open_ones), None)
                if first is not None:
                    found.append((first, state))
        return sorted(found, key=lambda pair: pair[0])

    def _suitable(self, requirements: UnitRequirements, state: NodeState, positions: Iterable[int]) -> Iterator[int]:
        """Yield those of these nodes, which are in one state, that suit and that no rule of pods forbids."""
        return (
            position
            for position in positions
            if self._suits(requirements, state, position) and not self._is_forbidden(requirements, position)
        )

    def _suits(self, requirements: UnitRequirements, state: NodeState, position: int) -> bool:
        """Whether a node suits; all in a state do or none, unless the set was met after the state was made."""
        suitable = requirements.suitable
        return state.suits[suitable.number] if suitable.number < len(state.suits) else position in suitable.members

    def _is_forbidden(self, requirements: UnitRequirements, position: int) -> bool:
        """Whether a rule of pods forbids a node."""
        rules = requirements.rules
        if self._ledger is None or rules is None:
            return False
        return self._ledger.refusal(rules, self._node_states.node(position).metadata.name) is not None

    def _score(self, requirements: UnitRequirements, state: NodeState) -> float | None:
        """Score a node in this state; None: the unit does not fit. Raises as ``position``."""
        if not has_room(requirements.requests, state.room):
            return None
        trial = self._trials.of(requirements, state)
        if trial.status is Status.ERROR:
            raise TrialAbortedError(state.devices.view.node, trial)
        if not trial.fits:
            return None
        if self._policy.takes_first:
            return 0.0
        return self._policy.score(state, self._node_states.state_with(state, requirements.requests, trial))
