"""Units that look at devices in use: which claims come with a request that has admin access."""

from __future__ import annotations

from collections.abc import Sequence

from ..problem.records import Problem
from .collapsed import UnitCopies


def with_admin(problem: Problem, units: Sequence[UnitCopies]) -> frozenset[int]:
    """List the claims of units with an admin request; claims of none of ``units`` are one unit.

    What it leaves to the other claims depends on which of them come before it (DEV-1).
    """
    optional = [claims for unit in units for claims in unit.claims]
    rest = set(range(len(problem.claims))).difference(*optional)
    admin = {demand.claim for demand in problem.demands if demand.admin}
    return frozenset(claim for claims in (*optional, rest) if not admin.isdisjoint(claims) for claim in claims)
