"""Words of the proofs: sentences with numbers that can be checked against the manifests."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.quantity import BINARY_SI, DECIMAL_SI, NANO, Quantity
from ...problem.justification import Justification
from ...problem.records import Constraint
from .tally import Need, Tally

# More names than these are only counted.
_MOST_NAMES = 4


def justified(id_: str, text: str, tally: Tally, needs: Sequence[Need]) -> Justification:
    """Make a justification about these requests."""
    return Justification(id_, (text,), tally.one_claim(needs))


def who(tally: Tally, needs: Sequence[Need]) -> str:
    """Name the requests, or say how many there are: ``requests a and b``, ``33 requests of 33 claims``."""
    claims = len({need.claim for need in needs})
    if claims > 1:
        return f"{len(needs)} requests of {claims} claims"
    names = [_name(tally, need) for need in needs]
    if len(names) == 1:
        return f"request {names[0]}"
    if len(names) <= _MOST_NAMES:
        return f"requests {', '.join(names[:-1])} and {names[-1]}"
    return f"requests {', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"


def verb(needs: Sequence[Need], one: str, several: str) -> str:
    """Choose the form of the verb."""
    return one if len(needs) == 1 else several


def plural(number: int, noun: str) -> str:
    """Write a number and its noun: ``1 device``, ``2 devices``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def amount(nano: int) -> str:
    """Write an amount; the notation of the manifests is not known here, so the one that is shorter."""
    whole, rest = divmod(nano, NANO)
    binary = rest == 0 and whole % 1024 == 0
    return str(Quantity.from_nano(nano, BINARY_SI if binary else DECIMAL_SI))


def entry(tally: Tally, number: int) -> str:
    """Name a constraint by its place in its claim and what it asks for."""
    constraints = tally.problem.constraints
    constraint = constraints[number]
    return f"constraint {number - _first_of(constraints, constraint.claim)}, {constraint.kind} {constraint.attribute}"


def _first_of(constraints: Sequence[Constraint], claim: int) -> int:
    return next(number for number, constraint in enumerate(constraints) if constraint.claim == claim)


def _name(tally: Tally, need: Need) -> str:
    return tally.demand(need.options[0]).label if len(need.options) == 1 else need.request
