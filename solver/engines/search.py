"""The backtracking search: depth first, the first complete solution wins (section 14).

``bounded_search`` runs it; it is the decider of the engine ``backtracking``, and the first step of ``auto``.

The search is a stack machine instead of a recursion. Each turn of the loop is one *step*, the entry of what upstream
does recursively: choose the next device, start a request, start an alternative, start a claim, done. Steps are counted
exactly as upstream counts them. The points of the program are devices (SRCH-2, SRCH-3, SRCH-6), requests, alternatives,
checks of relations, claim ends, and the end of all (SRCH-1, 4, 8, 9; CELC-3); ``trackers`` has the state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import Enum
from time import monotonic
from typing import Protocol

from ...models.results.common import ProofKind, Status
from ...problem.messages import DeadlineExceededError, FatalError, Placeholder
from ...problem.problem import RESULT_LIMIT, Demand, InUse, Problem, Relation, RelationError, trap_error
from .engine import Counts, Decision, Pick
from .trackers import SearchState

# Steps between two looks at the clock (SRCH-10).
CHECK_INTERVAL = 256


class BudgetError(Exception):
    """The search has visited as many devices as it may, and a few more."""


def bounded_search(
    problem: Problem,
    in_use: InUse,
    counts: Counts,
    deadline: float | None,
    budget: int | None = None,
    budget_after_dead_end: int | None = None,
) -> Decision:
    """Search for the first solution in order, or through all combinations; ``BudgetError`` beyond the budget.

    ``budget_after_dead_end`` is the budget from the first dead end on, if that is to be smaller.
    """
    search = Search(problem, in_use, deadline=deadline, budget=budget, budget_after_dead_end=budget_after_dead_end)
    try:
        picks = search.run()
    finally:
        counts.steps += search.steps
    if picks is None:
        return Decision(
            Status.UNALLOCATABLE, proof_kind=ProofKind.EXHAUSTED, has_relation_error=search.has_relation_error
        )
    return Decision(Status.ALLOCATED, picks)


class DepthFirstDecider:
    """Searches until it finds a solution or has tried every combination."""

    in_order = True

    def __init__(self) -> None:
        self.counts = Counts()

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order."""
        return bounded_search(problem, in_use, self.counts, deadline)


class Search:
    """One search.

    ``steps`` may be read at any time. ``has_relation_error`` may be read at the end: a relation failed for an error
    (CELC-4). The points of the program use the other attributes.

    ``deadline`` is a reading of ``clock``, in seconds, and ``budget`` a number of devices visited; None: no limit.
    ``budget_after_dead_end`` is the budget from the first dead end on, if that is to be smaller.
    """

    def __init__(
        self,
        problem: Problem,
        in_use: InUse,
        *,
        deadline: float | None = None,
        budget: int | None = None,
        budget_after_dead_end: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.steps = 0
        self.visits = 0
        self.has_relation_error = False
        self.frames: list[SearchFrame] = []
        self.node: SearchPoint = build_search_program(problem, SearchState(problem, in_use))
        self.plan: DemandSearch | None = None
        self.k = 0
        self._deadline = deadline
        self._budget = budget
        self._budget_after_dead_end = budget if budget_after_dead_end is None else budget_after_dead_end
        # A step may visit many devices.
        self._interval = CHECK_INTERVAL if budget is None else 1
        self._clock = clock
        self._next_check = 0

    def run(self) -> tuple[Pick, ...] | None:
        """Return the first solution in search order, or None if there is none.

        Raises ``FatalError`` (CEL-7, SRCH-7, CON-12), ``DeadlineExceededError`` and ``BudgetError``.
        """
        frames = self.frames
        while True:
            self.steps += 1
            if self.steps > self._next_check:
                if self._budget is not None and self.visits > self._budget:
                    raise BudgetError
                self._next_check = self.steps + self._interval
                if self._deadline is not None and self._clock() >= self._deadline:
                    raise DeadlineExceededError("filter operation aborted: the time limit passed")
            plan = self.plan
            ending = self.node.start(self) if plan is None else plan.enter(self, self.k)
            while ending is not None:
                if ending is SOLVED:
                    return self.picks()
                self._budget = self._budget_after_dead_end
                if not frames:
                    return None
                ending = frames[-1].resume(self, ending)

    def picks(self) -> tuple[Pick, ...]:
        """List what is taken now, in order."""
        choices = (frame for frame in self.frames if isinstance(frame, (DeviceChoice, ForcedChoice)))
        return tuple(Pick(choice.plan.demand.index, choice.device) for choice in choices)


class BranchStatus(Enum):
    """How a branch of the search ended."""

    FAILED = "failed"
    CAPPED = "capped"  # too many devices for one claim, whatever else is chosen (SRCH-8)
    SOLVED = "solved"


FAILED, CAPPED, SOLVED = BranchStatus.FAILED, BranchStatus.CAPPED, BranchStatus.SOLVED


class SearchFrame(Protocol):
    """A decision on the stack that can be taken back."""

    def resume(self, search: Search, ending: BranchStatus) -> BranchStatus | None:
        """Decide otherwise, as what followed failed (None), or leave the stack and pass an ending on."""
        raise NotImplementedError


class SearchPoint(Protocol):
    """A point of the program; ``start`` is its entry."""

    def start(self, search: Search) -> BranchStatus | None:
        """Begin here: None to go on with another step, or how the branch ended."""
        raise NotImplementedError


class DemandSearch:
    """A demand in a search: its candidates, the rules that apply, and a choice for each device it needs."""

    __slots__ = ("bit", "choices", "demand", "following", "held", "mask", "state", "taken", "trackers")

    def __init__(self, demand: Demand, state: SearchState, following: SearchPoint) -> None:
        self.demand = demand
        self.state = state
        self.following = following
        self.held = state.held
        self.taken = state.taken
        self.bit = 1 << demand.claim
        # Admin access minds only what its own claim picked (DEV-1, DEV-15).
        self.mask = self.bit if demand.admin else -1
        self.trackers = state.trackers(demand)
        choice = ForcedChoice if demand.all_devices else DeviceChoice
        # No choice is reached beyond the cap, however large the count.
        self.choices: list[DeviceChoice | ForcedChoice] = [
            choice(self, k) for k in range(min(demand.count, RESULT_LIMIT))
        ]

    def enter(self, search: Search, k: int) -> BranchStatus | None:
        """Choose device ``k``, or go on with the next request when none is missing."""
        missing = self.demand.count - k
        if not missing:
            if self.demand.all_devices and not k:
                return FAILED
            search.plan = None
            search.node = self.following
            return None
        if self.taken[self.demand.claim] + missing > RESULT_LIMIT:
            return CAPPED
        return self.choices[k].begin(search)

    def take(self, device: int) -> bool:
        """Take the device if every rule allows it (DEV-6 to DEV-12); it is known to be free."""
        demand = self.demand
        if device in demand.error_devices:
            raise trap_error(demand.error_devices[device], demand.claim, device)
        for position, tracker in enumerate(self.trackers):
            if not tracker.add(device):
                if tracker.fatal_under_all and demand.all_devices and self.state.fatal_constraints:
                    reason = f", request {demand.own_name}: cannot add device "
                    unsatisfied = " because a claim constraint would not be satisfied"
                    message = ("claim ", Placeholder.CLAIM, reason, Placeholder.DEVICE, unsatisfied)
                    raise FatalError("constraints", message, claim=demand.claim, device=device)
                for earlier in reversed(self.trackers[:position]):
                    earlier.undo(device)
                return False
        if device in self.state.shared:
            self.state.shares[device] += 1
        else:
            self.held[device] |= self.bit
        self.taken[demand.claim] += 1
        return True

    def release(self, device: int) -> None:
        """Give the device back: the exact reverse of ``take``."""
        self.taken[self.demand.claim] -= 1
        if device in self.state.shared:
            self.state.shares[device] -= 1
        else:
            self.held[device] &= ~self.bit
        for tracker in reversed(self.trackers):
            tracker.undo(device)


class DeviceChoice:
    """Which device is the k-th one of an ExactCount demand: later than the one before (SRCH-2, DEV-13)."""

    __slots__ = ("candidates", "device", "held", "k", "mask", "plan", "position")

    def __init__(self, plan: DemandSearch, k: int) -> None:
        self.plan = plan
        self.k = k
        self.candidates = plan.demand.candidates
        self.held = plan.held
        self.mask = plan.mask
        self.position = 0
        self.device = -1

    def begin(self, search: Search) -> BranchStatus | None:
        """Try the first candidate behind the device before."""
        combine = self.k and not self.plan.state.permutations
        self.position = self.plan.choices[self.k - 1].position if combine else 0
        search.frames.append(self)
        return self._seek(search)

    def resume(self, search: Search, ending: BranchStatus) -> BranchStatus | None:
        """Try the next candidate; no other one helps against the cap (SRCH-8)."""
        self.plan.release(self.device)
        if ending is CAPPED:
            search.frames.pop()
            return CAPPED
        return self._seek(search)

    def _seek(self, search: Search) -> BranchStatus | None:
        held, mask, take = self.held, self.mask, self.plan.take
        for position in range(self.position, len(self.candidates)):
            device = self.candidates[position]
            if not held[device] & mask and take(device):
                search.visits += position + 1 - self.position
                self.position = position + 1
                self.device = device
                search.k = self.k + 1
                search.plan = self.plan
                return None
        search.visits += len(self.candidates) - self.position
        search.frames.pop()
        return FAILED


class ForcedChoice:
    """The k-th device of an All demand; there is only one choice (SRCH-6)."""

    __slots__ = ("device", "k", "plan", "position")

    def __init__(self, plan: DemandSearch, k: int) -> None:
        self.plan = plan
        self.k = k
        self.position = k
        self.device = plan.demand.candidates[k]

    def begin(self, search: Search) -> BranchStatus | None:
        """Take the device, or fail the (sub)request."""
        plan, device = self.plan, self.device
        if plan.held[device] & plan.mask or device in plan.demand.untakeable or not plan.take(device):
            return FAILED
        search.frames.append(self)
        search.k = self.k + 1
        search.plan = plan
        return None

    def resume(self, search: Search, ending: BranchStatus) -> BranchStatus:
        """Give the device back and pass the ending on."""
        self.plan.release(self.device)
        search.frames.pop()
        return ending


# Judging a set takes about as long as visiting so many devices.
RELATION_CHECK_VISITS = 64


class ExactRequest:
    """An exact request; its entry is that of its first device."""

    __slots__ = ("plan",)

    def __init__(self, plan: DemandSearch) -> None:
        self.plan = plan

    def start(self, search: Search) -> BranchStatus | None:
        """Choose the first device."""
        search.plan = self.plan
        return self.plan.enter(search, 0)


class ListRequest:
    """A list request: the first alternative with which everything that follows can be solved (SRCH-4)."""

    __slots__ = ("all_capped", "alternative", "plans")

    def __init__(self, plans: tuple[DemandSearch, ...]) -> None:
        self.plans = plans
        self.alternative = 0
        self.all_capped = True

    def start(self, search: Search) -> BranchStatus | None:
        """Begin with the first alternative."""
        self.alternative = 0
        self.all_capped = True
        search.frames.append(self)
        self._try(search)
        return None

    def resume(self, search: Search, ending: BranchStatus) -> BranchStatus | None:
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

    def __init__(self, following: SearchPoint) -> None:
        self.following = following

    def start(self, search: Search) -> None:
        """Go on with the next claim."""
        search.frames.append(self)
        search.node = self.following

    def resume(self, search: Search, ending: BranchStatus) -> BranchStatus:
        """There is nothing to decide here."""
        search.frames.pop()
        return FAILED


class RelationCheck:
    """All requests that some relations cover have their devices: they are judged, once and for the set (CELC-3)."""

    __slots__ = ("following", "relations")

    def __init__(self, relations: Sequence[Relation], following: SearchPoint) -> None:
        self.relations = relations
        self.following = following

    def start(self, search: Search) -> BranchStatus | None:
        """Go on if all hold. Raises ``FatalError`` where errors abort the allocation (CELC-4)."""
        members = [(pick.demand, pick.device) for pick in search.picks()]
        for relation in self.relations:
            search.visits += RELATION_CHECK_VISITS
            found = relation.verdict(members)
            if isinstance(found, RelationError):
                search.has_relation_error = True
                if relation.fatal:
                    raise FatalError(relation.id, found.message, claim=relation.claims[0])
            if found is not True:
                return FAILED
        search.node = self.following
        return None


class SearchEnd:
    """Behind the last claim (SRCH-9)."""

    __slots__ = ()

    def start(self, search: Search) -> BranchStatus:
        """End: the search has a solution."""
        return SOLVED


def build_search_program(problem: Problem, state: SearchState) -> SearchPoint:
    """Return the first point of the search, linked to all that follow."""
    requests = [request for claim in problem.claims for request in claim.requests]
    first_demand = {demand: request.demands[0] for request in requests for demand in request.demands}
    # What must hold when a request has its devices; requests are known by their first demand.
    judged: dict[int, list[Relation]] = defaultdict(list)
    for relation in problem.relations:
        if relation.hard and relation.demands:
            judged[first_demand[max(relation.demands)]].append(relation)
    node: SearchPoint = SearchEnd()
    for claim in reversed(problem.claims):
        node = ClaimEnd(node)
        for request in reversed(claim.requests):
            due = judged[request.demands[0]]
            if due:
                node = RelationCheck(due, node)
            plans = tuple(DemandSearch(problem.demands[index], state, node) for index in request.demands)
            node = ListRequest(plans) if request.listed else ExactRequest(plans[0])
    return node
