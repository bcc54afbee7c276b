"""The best allocation over all nodes: every node is asked, and of equally good ones the first by name is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..models.claims import ResourceClaim
from ..models.core import Node
from ..problem.in_use import Ledger
from .attempts import Attempt, Ending, Optimizer
from .first_node import PASSING, Placed, Walked
from .stage_values import Objective, is_costless, over_nodes, vector


@dataclass(frozen=True, slots=True)
class BestFit:
    """Takes the best of all nodes; ``deadline`` is a reading of ``time.monotonic``.

    ``work`` is what the solver may do for one unit, in its own units: a node may use its share of what is left. An
    interrupt or the time limit ends the walk: what was found by then counts, and nodes that were not asked could be
    better. A fatal error decides as long as nothing was found, as it does for who takes the first node (SCHED-6).
    """

    engine: Optimizer
    nodes: Sequence[Node]
    ledger: Ledger
    deadline: float | None
    work: float | None

    def walk(self, claims: Sequence[ResourceClaim], positions: Iterable[int]) -> Walked:
        """Ask all nodes, unless one has an answer that nothing can beat."""
        asked, search = list(positions), _Search()
        begun = self.engine.counts.work
        for number, position in enumerate(asked):
            share = None
            if self.work is not None:
                share = max(0.0, self.work - self.engine.counts.work + begun) / (len(asked) - number)
            try:
                attempt = self.engine.best(self.nodes[position], claims, self.ledger, self.deadline, share)
            except KeyboardInterrupt:
                if search.best is None:
                    raise
                return search.walked(complete=False, interrupted=True)
            if search.note(position, attempt):
                complete = attempt.ending is not Ending.TIMEOUT and number + 1 == len(asked)
                return search.walked(complete=complete, interrupted=attempt.interrupted)
        return search.walked(complete=True)


@dataclass
class _Search:
    """The best so far; of the others what they came to, None where they could come to anything."""

    best: Placed | None = None
    decisive: Placed | None = None
    failed: list[Placed] = field(default_factory=list)
    others: list[Objective | None] = field(default_factory=list)

    def note(self, position: int, attempt: Attempt) -> bool:
        """Take an attempt into account, and tell whether the walk is over."""
        if attempt.ending is Ending.ALLOCATED:
            self._compare(position, attempt)
            return attempt.interrupted or is_costless(attempt.objective)
        if attempt.ending in PASSING:
            self.failed.append((position, attempt))
            if attempt.ending is Ending.UNKNOWN:
                self.others.append(None)
            return False
        if self.best is None:
            self.decisive = position, attempt
        return self.best is None or attempt.ending is Ending.TIMEOUT

    def _compare(self, position: int, attempt: Attempt) -> None:
        if self.best is None:
            self.best = position, attempt
        elif vector(attempt.objective) < vector(self.best[1].objective):
            self.others.append(self.best[1].objective)
            self.best = position, attempt
        else:
            self.others.append(attempt.objective)

    def walked(self, *, complete: bool, interrupted: bool = False) -> Walked:
        """Conclude, with bounds that hold over all nodes."""
        if self.best is None:
            return Walked(self.decisive, self.failed, interrupted)
        position, attempt = self.best
        others = self.others if complete else [*self.others, None]
        best = replace(attempt, objective=over_nodes(attempt.objective, others))
        return Walked((position, best), self.failed, interrupted)
