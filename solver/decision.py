"""What a decider says to one Problem: yes with devices, no with a proof, or that it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from ..problem.justification import Justification
from ..problem.records import InUse, Problem
from .attempts import Counts
from .search import Pick

if TYPE_CHECKING:
    from .stage_values import Objective


class Answer(Enum):
    """Whether the claims can be allocated."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer with what belongs to it.

    ``picks`` are the devices of a yes. A no is ``certified`` if it does not rest on one run of a solver: ``witness`` is
    a bound that anyone can check, all combinations were tried, or a second configuration came to the same result.
    ``message`` says why it is not known; ``retry``: another way may know, as it is not for lack of time.
    ``objective`` is what the stages came to, if any were asked for; ``interrupted``: Ctrl-C came meanwhile.
    ``troubled``: a relation may have failed for an error only (CELC-4).
    """

    answer: Answer
    picks: tuple[Pick, ...] = ()
    certified: bool = False
    witness: Justification | None = None
    message: str = ""
    retry: bool = False
    objective: Objective = ()
    interrupted: bool = False
    troubled: bool = False


class Decider(Protocol):
    """A way to answer; ``counts`` is the work done so far."""

    counts: Counts

    @property
    def in_order(self) -> bool:
        """Whether it meets devices in the scheduler's order, so that errors on the way are fatal (CEL-7, SRCH-7)."""
        raise NotImplementedError

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Answer for one node. Raises ``FatalError`` and ``DeadlineExceededError``."""
        raise NotImplementedError


class BestDecider(Decider, Protocol):
    """A way to the best answer."""

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Answer for one node. Raises ``FatalError`` and ``DeadlineExceededError``."""
        raise NotImplementedError
