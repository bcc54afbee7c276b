"""From the bounds on rows of amounts to a sentence: what counters and capacities have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...problem.justification import Justification
from .rows import Overdraft, Rows, crowd, overdraft, profiles
from .tally import Need, Tally
from .wording import amount, justified, plural, verb, who


@dataclass(frozen=True, slots=True)
class Told:
    """How it is told: the encoder's id, what the rows are, and a phrase for those that are overdrawn."""

    id: str
    rows: str
    where: Callable[[Tally, Overdraft], str]


def exhausted(tally: Tally, rows: Rows, told: Told) -> Justification | None:
    """Find requests that need more of the rows than is left, or more devices than they have room for."""
    asked = profiles(tally, rows)
    drawn = overdraft(rows, asked)
    if drawn is not None:
        needed = f"{_wanting(tally, drawn.needs)} at least {amount(drawn.needed)}"
        text = f"{told.where(tally, drawn)}: {needed}, {amount(drawn.left)} left"
        return justified(told.id, text, tally, drawn.needs)
    found = crowd(tally, rows, asked)
    if found is None:
        return None
    needed = f"{_wanting(tally, found.needs)} {plural(found.needed, 'device')}"
    text = f"{needed}, what is left of the {told.rows} has room for {found.room}"
    return justified(told.id, text, tally, found.needs)


def _wanting(tally: Tally, needs: list[Need]) -> str:
    return f"{who(tally, needs)} {verb(needs, 'needs', 'need')}"
