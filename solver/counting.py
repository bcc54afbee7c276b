"""What engines without an order ask first: what each demand could take, and whether counting is enough for a no."""

from __future__ import annotations

from ..problem.records import InUse, Problem
from ..problem.usable import usable
from .decision import Answer, Decision
from .proofs import witness


def by_counting(
    problem: Problem, in_use: InUse, deadline: float | None
) -> tuple[tuple[tuple[int, ...], ...], Decision | None]:
    """Return the usable devices of each demand, and the decision if there is a witness.

    ``deadline`` is a reading of ``time.monotonic``. Raises ``DeadlineExceededError``.
    """
    candidates = usable(problem, in_use)
    found = witness(problem, in_use, candidates, deadline)
    return candidates, None if found is None else Decision(Answer.NO, certified=True, witness=found)
