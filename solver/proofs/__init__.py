"""Proofs that need no search: bounds that anyone can check by counting.

A proof may only ever say too little. It is about all ways to choose alternatives and devices, and counts with more
than there is wherever it simplifies: every function here returns None if in doubt.
"""

from __future__ import annotations

from ...problem.justification import Justification
from ...problem.outcomes import check_deadline
from ...problem.records import InUse, Problem
from .cases import no_case
from .matching import no_value
from .plain import PLAIN, Proof
from .tally import Tally

PROOFS: tuple[Proof, ...] = (
    *PLAIN,
    Proof("values", "no value of a matchAttribute serves all requests that it ties together (CON-4)", no_value),
    Proof("cases", "no choice of alternatives and of values to match is possible", no_case),
)
"""All proofs, the cheapest first."""


def witness(
    problem: Problem, in_use: InUse, candidates: tuple[tuple[int, ...], ...], deadline: float | None = None
) -> Justification | None:
    """Return the first justification found that shows that no allocation exists; None leaves the question open.

    ``candidates`` are the usable devices of each demand (``problem.usable``), ``deadline`` is a reading of
    ``time.monotonic``. Raises ``DeadlineExceededError`` between two proofs once that has passed.
    """
    tally = Tally.of(problem, in_use, candidates)
    for proof in PROOFS:
        check_deadline(deadline)
        found = proof(tally)
        if found is not None:
            return found
    return None
