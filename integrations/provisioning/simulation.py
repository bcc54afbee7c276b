"""The machine together with a scheduler: events of the user, of the autoscaler, and what the scheduler decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeAlias

from .checks import Backoff
from .machine import AdvanceClock, ProvisioningEvent, SchedulerEvent, next_wakeup, step
from .state import Occurrence, ProvisioningState

Scheduler: TypeAlias = Callable[[ProvisioningState], Sequence[SchedulerEvent]]
"""One scheduling cycle: what the scheduler decides in a state; nothing once it has no more to decide."""
# Decisions that come back so often will come back for ever.
_REPEATED = 5


def no_scheduler(_state: ProvisioningState) -> Sequence[SchedulerEvent]:
    """Decide nothing: quota is given by events alone."""
    return ()


class ProvisioningSimulation:
    """A state, the scheduler that gives quota in it, and everything that was noted.

    ``deadline`` is a reading of the clock after which no cycle of the scheduler begins. ``repeating`` says that the
    scheduler went round in circles, so that it was not asked further.
    """

    def __init__(
        self,
        state: ProvisioningState,
        scheduler: Scheduler = no_scheduler,
        backoff: Backoff = "as-coded",
        *,
        deadline: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.state = state
        self.log: list[Occurrence] = []
        self.repeating = False
        self._scheduler = scheduler
        self._backoff = backoff
        self._deadline = deadline
        self._clock = clock

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self._deadline is not None and self._clock() >= self._deadline

    def run(self, *events: ProvisioningEvent) -> list[Occurrence]:
        """Let events happen together, then the clock move; give what was noted."""
        began = len(self.log)
        self._happen(*(event for event in events if not isinstance(event, AdvanceClock)))
        end = self.state.now + sum(event.seconds for event in events if isinstance(event, AdvanceClock))
        while self.state.now < end:
            due = next_wakeup(self.state)
            self._happen(AdvanceClock((end if due is None else min(due, end)) - self.state.now))
        return self.log[began:]

    def _happen(self, *events: ProvisioningEvent) -> None:
        """Let events happen, and the scheduler decide until it has nothing more to decide."""
        self._take(*events)
        seen: Counter[str] = Counter()
        while not self.state.looping and not self.expired:
            decided = self._scheduler(self.state)
            if not decided:
                return
            self._take(*decided)
            made = repr(decided)
            seen[made] += 1
            if seen[made] == _REPEATED:
                self.repeating = True
                return

    def _take(self, *events: ProvisioningEvent) -> None:
        result = step(self.state, *events, backoff=self._backoff)
        self.state = result.state
        self.log += result.log
