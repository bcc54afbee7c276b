"""The points a search can be at: requests, alternatives, devices, claim ends (SRCH-1 to SRCH-8)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from ..problem.messages import Blank
from ..problem.outcomes import FatalError, trapped
from ..problem.records import Demand, Problem
from .search_state import State

if TYPE_CHECKING:
    from .search import Search

# Most devices in one claim's result (SRCH-8).
RESULT_LIMIT = 32


class Ending(Enum):
    """How a branch of the search ended."""

    FAILED = "failed"
    CAPPED = "capped"  # too many devices for one claim, whatever else is chosen (SRCH-8)
    SOLVED = "solved"


FAILED, CAPPED, SOLVED = Ending.FAILED, Ending.CAPPED, Ending.SOLVED


class Frame(Protocol):
    """A decision on the stack that can be taken back."""

    def resume(self, search: Search, ending: Ending) -> Ending | None:
        """Decide otherwise, as what followed failed (None), or leave the stack and pass an ending on."""
        raise NotImplementedError


class Node(Protocol):
    """A point of the program; ``start`` is its entry."""

    def start(self, search: Search) -> Ending | None:
        """Begin here: None to go on with another step, or how the branch ended."""
        raise NotImplementedError


class Plan:
    """A demand in a search: its candidates, the rules that apply, and a choice for each device it needs."""

    __slots__ = ("bit", "choices", "demand", "following", "held", "mask", "state", "taken", "trackers")

    def __init__(self, demand: Demand, state: State, following: Node) -> None:
        self.demand = demand
        self.state = state
        self.following = following
        self.held = state.held
        self.taken = state.taken
        self.bit = 1 << demand.claim
        # Admin access minds only what its own claim picked (DEV-1, DEV-15).
        self.mask = self.bit if demand.admin else -1
        self.trackers = state.trackers(demand)
        choice = MustTake if demand.all_devices else Choice
        # No choice is reached beyond the cap, however large the count.
        self.choices: list[Choice | MustTake] = [choice(self, k) for k in range(min(demand.count, RESULT_LIMIT))]

    def enter(self, search: Search, k: int) -> Ending | None:
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
        if device in demand.traps:
            raise trapped(demand.traps[device], demand.claim, device)
        for position, tracker in enumerate(self.trackers):
            if not tracker.add(device):
                if tracker.fatal_under_all and demand.all_devices:
                    raise _unsatisfied(demand, device)
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


def _unsatisfied(demand: Demand, device: int) -> FatalError:
    reason = " because a claim constraint would not be satisfied"
    message = (Blank.CLAIM, f", request {demand.own_name}: cannot add device ", Blank.DEVICE, reason)
    return FatalError("constraints", ("claim ", *message), claim=demand.claim, device=device)


class Choice:
    """Which device is the k-th one of an ExactCount demand: later than the one before (SRCH-2, DEV-13)."""

    __slots__ = ("candidates", "device", "held", "k", "mask", "plan", "position")

    def __init__(self, plan: Plan, k: int) -> None:
        self.plan = plan
        self.k = k
        self.candidates = plan.demand.candidates
        self.held = plan.held
        self.mask = plan.mask
        self.position = 0
        self.device = -1

    def begin(self, search: Search) -> Ending | None:
        """Try the first candidate behind the device before."""
        combine = self.k and not self.plan.state.permutations
        self.position = self.plan.choices[self.k - 1].position if combine else 0
        search.frames.append(self)
        return self._seek(search)

    def resume(self, search: Search, ending: Ending) -> Ending | None:
        """Try the next candidate; no other one helps against the cap (SRCH-8)."""
        self.plan.release(self.device)
        if ending is CAPPED:
            search.frames.pop()
            return CAPPED
        return self._seek(search)

    def _seek(self, search: Search) -> Ending | None:
        held, mask, take = self.held, self.mask, self.plan.take
        for position in range(self.position, len(self.candidates)):
            device = self.candidates[position]
            if not held[device] & mask and take(device):
                self.position = position + 1
                self.device = device
                search.k = self.k + 1
                search.plan = self.plan
                return None
        search.frames.pop()
        return FAILED


class MustTake:
    """The k-th device of an All demand; there is only one choice (SRCH-6)."""

    __slots__ = ("device", "k", "plan", "position")

    def __init__(self, plan: Plan, k: int) -> None:
        self.plan = plan
        self.k = k
        self.position = k
        self.device = plan.demand.candidates[k]

    def begin(self, search: Search) -> Ending | None:
        """Take the device, or fail the (sub)request."""
        plan, device = self.plan, self.device
        if plan.held[device] & plan.mask or device in plan.demand.barred or not plan.take(device):
            return FAILED
        search.frames.append(self)
        search.k = self.k + 1
        search.plan = plan
        return None

    def resume(self, search: Search, ending: Ending) -> Ending:
        """Give the device back and pass the ending on."""
        self.plan.release(self.device)
        search.frames.pop()
        return ending


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
