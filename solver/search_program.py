"""Where a search passes: requests, alternatives, claim ends, the end of all (SRCH-1, SRCH-4, SRCH-8, SRCH-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..problem.records import Problem
from .search_plan import CAPPED, FAILED, SOLVED, Ending, Node, Plan
from .search_state import State

if TYPE_CHECKING:
    from .search import Search


class ExactRequest:
    """An exact request; its entry is that of its first device."""

    __slots__ = ("plan",)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def start(self, search: Search) -> Ending | None:
        """Choose the first device."""
        search.plan = self.plan
        return self.plan.enter(search, 0)


class ListRequest:
    """A list request: the first alternative with which everything that follows can be solved (SRCH-4)."""

    __slots__ = ("all_capped", "alternative", "plans")

    def __init__(self, plans: tuple[Plan, ...]) -> None:
        self.plans = plans
        self.alternative = 0
        self.all_capped = True

    def start(self, search: Search) -> Ending | None:
        """Begin with the first alternative."""
        self.alternative = 0
        self.all_capped = True
        search.frames.append(self)
        self._try(search)
        return None

    def resume(self, search: Search, ending: Ending) -> Ending | None:
        """Try the next alternative; capped only if all of them were (SRCH-8)."""
        self.all_capped = self.all_capped and ending is CAPPED
        self.alternative += 1
        if self.alternative == len(self.plans):
            search.frames.pop()
            return CAPPED if self.all_capped else FAILED
        self._try(search)
        return None

    def _try(self, search: Search) -> None:
        search.plan = self.plans[self.alternative]
        search.k = 0


class ClaimEnd:
    """All requests of a claim are served; beyond it the cap is an ordinary failure (SRCH-8)."""

    __slots__ = ("following",)

    def __init__(self, following: Node) -> None:
        self.following = following

    def start(self, search: Search) -> None:
        """Go on with the next claim."""
        search.frames.append(self)
        search.node = self.following

    def resume(self, search: Search, ending: Ending) -> Ending:
        """There is nothing to decide here."""
        search.frames.pop()
        return FAILED


class Done:
    """Behind the last claim (SRCH-9)."""

    __slots__ = ()

    def start(self, search: Search) -> Ending:
        """End: the search has a solution."""
        return SOLVED


def program(problem: Problem, state: State) -> Node:
    """Return the first point of the search, linked to all that follow."""
    node: Node = Done()
    for claim in reversed(problem.claims):
        node = ClaimEnd(node)
        for request in reversed(claim.requests):
            plans = tuple(Plan(problem.demands[index], state, node) for index in request.demands)
            node = ListRequest(plans) if request.listed else ExactRequest(plans[0])
    return node
