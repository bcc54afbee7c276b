"""Where a search passes: requests, alternatives, judgements, claim ends, the end of all (SRCH-1, 4, 8, 9; CELC-3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..problem.outcomes import FatalError
from ..problem.records import Problem
from ..problem.relations import Relation, Trouble
from .search_plan import CAPPED, FAILED, SOLVED, Ending, Node, Plan
from .search_state import State

if TYPE_CHECKING:
    from .search import Search

# Judging a set takes about as long as visiting so many devices.
JUDGEMENT_VISITS = 64


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


class Judgement:
    """All requests that some relations cover have their devices: they are judged, once and for the set (CELC-3)."""

    __slots__ = ("following", "relations")

    def __init__(self, relations: Sequence[Relation], following: Node) -> None:
        self.relations = relations
        self.following = following

    def start(self, search: Search) -> Ending | None:
        """Go on if all hold. Raises ``FatalError`` where errors abort the allocation (CELC-4)."""
        members = [(pick.demand, pick.device) for pick in search.picks()]
        for relation in self.relations:
            search.visits += JUDGEMENT_VISITS
            found = relation.verdict(members)
            if isinstance(found, Trouble):
                search.troubled = True
                if relation.fatal:
                    raise FatalError(relation.id, found.message, claim=relation.claims[0])
            if found is not True:
                return FAILED
        search.node = self.following
        return None


class Done:
    """Behind the last claim (SRCH-9)."""

    __slots__ = ()

    def start(self, search: Search) -> Ending:
        """End: the search has a solution."""
        return SOLVED


def program(problem: Problem, state: State) -> Node:
    """Return the first point of the search, linked to all that follow."""
    judged = _judged(problem)
    node: Node = Done()
    for claim in reversed(problem.claims):
        node = ClaimEnd(node)
        for request in reversed(claim.requests):
            due = judged[request.demands[0]]
            if due:
                node = Judgement(due, node)
            plans = tuple(Plan(problem.demands[index], state, node) for index in request.demands)
            node = ListRequest(plans) if request.listed else ExactRequest(plans[0])
    return node


def _judged(problem: Problem) -> dict[int, list[Relation]]:
    """Find the relations that must hold by each request, in their order; requests are known by their first demand."""
    request_of = {
        demand: request.demands[0]
        for claim in problem.claims
        for request in claim.requests
        for demand in request.demands
    }
    found: dict[int, list[Relation]] = defaultdict(list)
    for relation in problem.relations:
        if relation.hard and relation.demands:
            found[request_of[max(relation.demands)]].append(relation)
    return found
