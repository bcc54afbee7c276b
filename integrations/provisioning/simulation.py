"""The machine together with a scheduler: events of the user, of the autoscaler, and what the scheduler decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .checks import Backoff
from .machine import AdvanceClock, ProvisioningEvent, SchedulerEvent, next_wakeup, step
from .state import Occurrence, ProvisioningState

Scheduler: TypeAlias = Callable[[ProvisioningState], Sequence[SchedulerEvent]]
"""One scheduling cycle: what the scheduler decides in a state; nothing once it has no more to decide."""
# More cycles than this without rest are a circle.
_MOST_CYCLES = 1000


def no_scheduler(_state: ProvisioningState) -> Sequence[SchedulerEvent]:
    """Decide nothing: quota is given by events alone."""
    return ()


class ProvisioningSimulation:
    """A state, the scheduler that gives quota in it, and everything that was noted."""

    def __init__(
        self, state: ProvisioningState, scheduler: Scheduler = no_scheduler, backoff: Backoff = "as-coded"
    ) -> None:
        self.state = state
        self.log: list[Occurrence] = []
        self._scheduler = scheduler
        self._backoff = backoff

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
        for _ in range(_MOST_CYCLES):
            decided = self._scheduler(self.state)
            if not decided or self.state.looping:
                return
            self._take(*decided)

    def _take(self, *events: ProvisioningEvent) -> None:
        result = step(self.state, *events, backoff=self._backoff)
        self.state = result.state
        self.log += result.log
