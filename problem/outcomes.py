"""How a question ends other than with an allocation or a plain no (section 16)."""

from __future__ import annotations

from time import monotonic

from .messages import Message
from .records import Failure


class FatalError(Exception):
    """Everything about the attempt is given up; no other node is tried (SCHED-6).

    ``rule`` is the stable id of what went wrong; the numbers fill the blanks of the message.
    """

    def __init__(
        self,
        rule: str,
        message: Message,
        *,
        claim: int | None = None,
        device: int | None = None,
        pool: int | None = None,
    ) -> None:
        super().__init__("".join(part if isinstance(part, str) else part.name for part in message))
        self.rule = rule
        self.message = message
        self.claim = claim
        self.device = device
        self.pool = pool


class DeadlineExceededError(Exception):
    """The time limit passed before the question was decided (SRCH-10)."""


def check_deadline(deadline: float | None) -> None:
    """Raise ``DeadlineExceededError`` if it has passed; a reading of ``time.monotonic``, None: no limit (SRCH-10)."""
    if deadline is not None and monotonic() >= deadline:
        raise DeadlineExceededError("filter operation aborted: the time limit passed")


def trapped(failure: Failure, claim: int, device: int) -> FatalError:
    """Return the fatal error of visiting a device whose evaluation goes wrong (CEL-6)."""
    return FatalError(failure.filter, failure.error, claim=claim, device=device)
