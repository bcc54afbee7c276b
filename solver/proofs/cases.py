"""Proofs by cases: whatever alternatives and values are chosen, a plain proof shows that nothing fits.

Cases are tried depth first and given up at the first one that is not refuted, so that this costs little where
something fits. Only so many cases are looked at: a problem whose proof needs more is left to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...problem.justification import Justification
from ...problem.messages import Message
from .matching import unmatched, value_cases
from .plain import refuted
from .tally import Tally

# Most cases, and most pairs of a request and a device in all of them.
_MOST_CASES = 64
_MOST_PAIRS = 4096


class _Choice(Protocol):
    """Something to be decided, one case for each way to decide it."""

    def cases(self, tally: Tally) -> list[Tally] | None:
        """List the cases; None if nothing is to be decided."""
        raise NotImplementedError

    def justify(self, tally: Tally, reasons: Sequence[Justification], nested: bool) -> Justification:
        """Say that every case was refuted."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Alternatives:
    """Which alternative serves a request."""

    position: int

    def cases(self, tally: Tally) -> list[Tally]:
        return [tally.with_option(self.position, option) for option in tally.needs[self.position].options]

    def justify(self, tally: Tally, reasons: Sequence[Justification], nested: bool) -> Justification:
        need = tally.needs[self.position]
        ids = {reason.id for reason in reasons}
        message: Message = (f"request {need.request}: no alternative is possible",)
        if not nested:
            for option, reason in zip(need.options, reasons, strict=True):
                message = (*message, f"; with {tally.demand(option).own_name}, ", *reason.message)
        return Justification(ids.pop() if len(ids) == 1 else "firstAvailable", message, tally.one_claim(tally.needs))


@dataclass(frozen=True, slots=True)
class _Value:
    """Which value serves a matchAttribute."""

    constraint: int

    def cases(self, tally: Tally) -> list[Tally] | None:
        return value_cases(tally, self.constraint)

    def justify(self, tally: Tally, reasons: Sequence[Justification], nested: bool) -> Justification:
        return unmatched(tally, self.constraint, reasons, nested)


def no_case(tally: Tally) -> Justification | None:
    """No choice of alternatives and of values for each matchAttribute is possible."""
    alternatives = [_Alternatives(position) for position, need in enumerate(tally.needs) if len(need.options) > 1]
    constraints = enumerate(tally.problem.constraints)
    values = [_Value(number) for number, constraint in constraints if constraint.kind == "matchAttribute"]
    # A single constraint is what another proof looks at.
    if not alternatives and len(values) < 2:
        return None
    pairs = sum(tally.masks[option].bit_count() for need in tally.needs for option in need.options)
    affordable = min(_MOST_CASES, _MOST_PAIRS // max(1, pairs))
    choices: list[_Choice] = [*alternatives, *values]
    return _Cases(affordable).refute(tally, choices) if affordable > len(choices) else None


class _Cases:
    """The cases of a question, as many as may be looked at."""

    def __init__(self, left: int) -> None:
        self._left = left

    def refute(self, tally: Tally, choices: Sequence[_Choice], nested: bool = False) -> Justification | None:
        """Refute every case of the first choice, by a plain proof or by the choices after it."""
        if not choices:
            return None
        cases = choices[0].cases(tally)
        if cases is None:
            return self.refute(tally, choices[1:], nested)
        reasons = []
        for case in cases:
            reason = self._refute_case(case, choices[1:])
            if reason is None:
                return None
            reasons.append(reason)
        return choices[0].justify(tally, reasons, nested)

    def _refute_case(self, case: Tally, choices: Sequence[_Choice]) -> Justification | None:
        self._left -= 1
        if self._left < 0:
            return None
        return refuted(case) or self.refute(case, choices, nested=True)
