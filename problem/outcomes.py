"""How a question ends other than with an allocation or a plain no (section 16)."""

from __future__ import annotations

from .records import Failure


class FatalError(Exception):
    """The whole attempt is aborted; no other node is tried (SCHED-6).

    ``rule`` is the stable id of what went wrong. The message may contain ``{device}`` and ``{pool}``, which stand for
    the names of the numbers given here.
    """

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        claim: int | None = None,
        demand: int | None = None,
        device: int | None = None,
        pool: int | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.claim = claim
        self.demand = demand
        self.device = device
        self.pool = pool


class DeadlineExceededError(Exception):
    """The time limit passed before the question was decided (SRCH-10)."""


def trapped(failure: Failure, claim: int, device: int) -> FatalError:
    """The fatal error of visiting a device whose evaluation goes wrong (CEL-6)."""
    return FatalError(failure.filter, failure.error, claim=claim, device=device)
