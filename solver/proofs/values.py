"""Values of an attribute as a constraint sees them: which devices have which (CON-2, CON-7)."""

from __future__ import annotations

from ...problem.records import Constraint
from .tally import Need, Tally, members


def tied(tally: Tally, number: int) -> tuple[Need, ...]:
    """List the requests that take devices under a constraint whatever option serves them."""
    constraint = tally.problem.constraints[number]
    return tuple(
        need
        for need in tally.needs
        if need.claim == constraint.claim
        and all(option in constraint.tokens for option in need.options)
        and tally.least(need)
    )


def devices_of_values(constraint: Constraint, option: int, mask: int) -> dict[int, int]:
    """Return the devices of each value, of those in the mask. A device with a list has several values."""
    tokens = constraint.tokens[option]
    found: dict[int, int] = {}
    for device in members(mask):
        token = tokens[device]
        for value in members(token) if constraint.sets else (token,):
            found[value] = found.get(value, 0) | 1 << device
    return found
