"""Where the order in which devices are taken decides: what a count of equal devices cannot say.

Nearly every rule is about the set of devices that is taken. Two corners are not, and both are legal manifests: a
device that draws a negative amount makes room for those after it, and a list value may come first under a scalar
``distinctAttribute`` and not later (CON-9).
"""

from __future__ import annotations

from .constraints import ODD
from .records import Constraint, InUse, Problem


def draws_anew(problem: Problem, in_use: InUse, device: int) -> bool:
    """Tell whether taking the device draws its counters: not if it is a further share of one in use (CTR-3)."""
    return not (device in problem.shared and in_use.shares.get(device))


def giving_pools(problem: Problem) -> frozenset[int]:
    """Find the pools where some device draws a negative amount of a counter."""
    counters = problem.counters
    return frozenset(
        counters.pool_of_row[row] for amounts in counters.consumption.values() for row, amount in amounts if amount < 0
    )


def has_odd_firsts(constraint: Constraint) -> bool:
    """Tell whether some value may only come first: a list where lists are not compared as sets."""
    if constraint.kind != "distinctAttribute" or constraint.sets:
        return False
    return any(ODD in tokens.values() for tokens in constraint.tokens.values())
