"""The largest number of copies that fit on one node together, between what was found and what is proven.

A number of copies fits if they can be placed one after the other. What the first of them took does not depend on the
last one, so that one copy fewer fits as well, whatever rules there are: the search may halve the range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ..problem.justification import Justification
from ..problem.order import giving_pools
from ..problem.outcomes import DeadlineExceededError
from ..problem.records import InUse, Problem
from ..problem.usable import usable
from .auto import Escalating
from .capacity_copies import has_admin, only_free, per_copy, restricted, side_by_side, without_admin
from .capacity_engine import Picks, slice_of
from .capacity_parts import parts
from .decision import Answer, Decision
from .proofs import witness

_UNDECIDED = Decision(Answer.UNKNOWN, message="not decided within the limit")


@dataclass(frozen=True, slots=True)
class Most:
    """How many copies fit: what each of them gets, and the proven bound, None if there is no finite one.

    ``refuted`` is the decision against one copy more than the bound.
    """

    copies: tuple[Picks, ...]
    bound: int | None = None
    refuted: Decision | None = None


class Together:
    """Asks whether a number of copies fit together beside what is in use."""

    def __init__(self, problem: Problem, in_use: InUse, decider: Escalating) -> None:
        self._problem = problem
        self._in_use = in_use
        self._decider = decider
        self._candidates = usable(problem, in_use)
        self._admin = has_admin(problem)
        # What copies before the last must fit at least, if they are to fit one after the other.
        self._least = without_admin(problem) if self._admin else problem
        self._least_candidates = usable(self._least, in_use)
        # Picks with admin access that make room for later ones are nothing that copies together can tell.
        self._opaque = self._admin and bool(giving_pools(problem))

    def endless(self, deadline: float | None) -> Decision:
        """Decide whether any number of copies fits; a yes has the picks of each."""
        return self._decide(only_free(self._problem), deadline)

    def decide(self, copies: int, deadline: float | None) -> Decision:
        """Decide whether so many copies fit; a yes has the picks of all of them."""
        if copies > 1 and self._opaque:
            return _UNDECIDED
        decision = self._decide(self._at_least(copies), deadline)
        if decision.answer is not Answer.YES or copies == 1 or not self._admin:
            return decision
        together = self._decide(side_by_side([self._problem] * copies), deadline)
        return together if together.answer is Answer.YES else _UNDECIDED

    def witness(self, copies: int) -> Justification | None:
        """Return a proof by counting that so many copies do not fit."""
        if copies > 1 and self._opaque:
            return None
        candidates = (*self._least_candidates * (copies - 1), *self._candidates)
        return witness(self._at_least(copies), self._in_use, candidates)

    def _at_least(self, copies: int) -> Problem:
        return side_by_side([*[self._least] * (copies - 1), self._problem])

    def apart(self) -> list[Together]:
        """Return the parts of this place that copies never cross; none if there is but one."""
        found = parts(self._problem, self._candidates)
        if len(found) < 2:
            return []
        return [self._only(devices) for devices in found]

    def _only(self, devices: frozenset[int]) -> Together:
        problem = restricted(self._problem, lambda _, device: device in devices)
        return Together(problem, self._in_use, self._decider)

    def tell_apart(self, picks: Picks, copies: int) -> list[Picks]:
        """Return the picks of each copy."""
        return per_copy(self._problem, picks, copies)

    def _decide(self, problem: Problem, deadline: float | None) -> Decision:
        try:
            return self._decider.decide(problem, self._in_use, deadline)
        except DeadlineExceededError:
            return _UNDECIDED


def most(together: Together, known: Sequence[Picks], limit: int, deadline: float | None) -> Most:
    """Find how many copies fit, at least the known ones and at most the limit, where counting ends without a bound."""
    found = Most(tuple(known))
    refuted = _refuted_by_counting(together, len(known), limit)
    top = limit
    if refuted is not None:
        copies, justification = refuted
        top = copies - 1
        found = replace(found, bound=top, refuted=Decision(Answer.NO, certified=True, witness=justification))
    apart = together.apart() if len(found.copies) < top else []
    if apart:
        return _most_by_part(apart, found, limit, deadline)
    asked = _next(found, top)
    while len(found.copies) < top:
        decision = together.decide(asked, slice_of(deadline, 2))
        if decision.answer is Answer.YES:
            found = replace(found, copies=tuple(together.tell_apart(decision.picks, asked)))
            asked = _next(found, top)
        else:
            top = asked - 1
            if decision.answer is Answer.NO:
                found = replace(found, bound=top, refuted=decision)
            asked = (len(found.copies) + top + 1) // 2
    return found


def _most_by_part(apart: Sequence[Together], found: Most, limit: int, deadline: float | None) -> Most:
    """Add up what fits on each part; each gets its share of the time."""
    each = [most(part, (), limit, slice_of(deadline, len(apart) - number)) for number, part in enumerate(apart)]
    copies = tuple(chain.from_iterable(one.copies for one in each))[:limit]
    bounds = [one.bound for one in each if one.bound is not None]
    if len(bounds) == len(each) and (found.bound is None or sum(bounds) < found.bound):
        rooms = ", ".join(f"{number} times {room}" for room, number in sorted(Counter(bounds).items(), reverse=True))
        text = f"{len(each)} groups of devices that have no counters in common have room for {rooms}"
        certified = all(one.refuted is not None and one.refuted.certified for one in each)
        against = Decision(Answer.NO, certified=certified, witness=Justification("parts", (text,)))
        found = replace(found, bound=sum(bounds), refuted=against)
    return replace(found, copies=max(copies, found.copies, key=len))


def ceiling(together: Together, fitting: int, bound: int, deadline: float | None) -> int:
    """Lower a bound where copies together are refuted; as many as fit are not asked about."""
    refuted = _refuted_by_counting(together, fitting, bound)
    if refuted is not None:
        bound = min(bound, refuted[0] - 1)
    low, asked = fitting, fitting + 1
    while low < bound:
        decision = together.decide(asked, slice_of(deadline, 2))
        if decision.answer is Answer.NO:
            bound = asked - 1
        else:
            low = asked
        asked = (low + bound + 1) // 2
    return bound


def _next(found: Most, top: int) -> int:
    """Ask for all that counting allows, as that is often what fits; where it does not end, go up in strides."""
    return top if found.bound is not None else min(top, 2 * len(found.copies) + 1)


def _refuted_by_counting(together: Together, fitting: int, limit: int) -> tuple[int, Justification] | None:
    """Find the least number of copies that counting refutes, beyond those that fit; None up to one above the limit."""
    low, step = fitting, 1
    while low <= limit:
        high = min(low + step, limit + 1)
        found = together.witness(high)
        if found is not None:
            return _least_refuted(together, low, high, found)
        low, step = high, 2 * step
    return None


def _least_refuted(together: Together, low: int, high: int, found: Justification) -> tuple[int, Justification]:
    """Halve the range between a number that is not refuted and one that is."""
    while high - low > 1:
        middle = (low + high) // 2
        less = together.witness(middle)
        if less is None:
            low = middle
        else:
            high, found = middle, less
    return high, found
