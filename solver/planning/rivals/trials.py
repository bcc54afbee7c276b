"""Whether claims fit on devices in some state: asked once, however many nodes are like that."""

from __future__ import annotations

from dataclasses import dataclass

from ....models.claims import AllocationResult
from ....models.core import Node
from ....problem.in_use import Ledger
from ...attempts import Attempt, Ending, Engine
from .cases import Case
from .device_states import DeviceState


class TimeOverError(Exception):
    """The time limit passed before the engine was done."""


class AbortedError(Exception):
    """An error ends the attempt for a unit; no other node is tried (SCHED-6)."""

    def __init__(self, node: Node, trial: Trial) -> None:
        super().__init__(f"node {node.metadata.name}: {trial.message}")


@dataclass(frozen=True, slots=True)
class Trial:
    """How an attempt ends in some state, and what is made there."""

    ending: Ending
    made: tuple[AllocationResult, ...] = ()
    message: str = ""

    @property
    def fits(self) -> bool:
        """There is an allocation."""
        return self.ending is Ending.ALLOCATED


_NOTHING_ASKED = Trial(Ending.ALLOCATED)


class Trials:
    """Asks an engine; ``deadline`` is a reading of ``time.monotonic``, None for none."""

    def __init__(self, engine: Engine, deadline: float | None) -> None:
        self.engine = engine
        self.deadline = deadline
        self._known: dict[tuple[int, DeviceState], Trial] = {}

    def of(self, case: Case, devices: DeviceState) -> Trial:
        """Try the claims of a case on devices in this state. Raises ``TimeOverError``."""
        if not case.claims:
            return _NOTHING_ASKED
        key = case.question.index, devices
        if key not in self._known:
            attempt = self.engine.attempt(devices.view.node, case.claims, Ledger(devices.usage), self.deadline)
            self._known[key] = trial_of(attempt)
        return self._known[key]


def trial_of(attempt: Attempt) -> Trial:
    """Shorten an attempt. Raises ``TimeOverError``."""
    if attempt.ending is Ending.TIMEOUT:
        raise TimeOverError(attempt.message)
    return Trial(attempt.ending, attempt.allocations, attempt.message)
