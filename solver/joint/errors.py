"""Errors that are the end of it for all coupled units, with names filled in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...problem.messages import Names, claim_text
from ...problem.outcomes import FatalError
from ..outcome import Reason


class AbortedError(Exception):
    """A fatal error in words."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


def reason_of(error: FatalError, names: Names, where: str = "") -> Reason:
    """Write an error down; ``where`` comes before it."""
    claim = "" if error.claim is None else claim_text(names.claims[error.claim])
    text = names.fill(error.message, claim=error.claim, device=error.device, pool=error.pool)
    return Reason(error.rule, claim, f"{where}{text}")


@contextmanager
def told(names: Names) -> Iterator[None]:
    """Fill names into fatal errors. Raises ``AbortedError`` instead of them."""
    try:
        yield
    except FatalError as error:
        raise AbortedError(reason_of(error, names)) from None
