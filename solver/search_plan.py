"""How a demand gets its devices: one choice a device, each can be taken back (SRCH-2, SRCH-3, SRCH-6)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from ..problem.messages import Blank
from ..problem.outcomes import FatalError, trapped
from ..problem.records import RESULT_LIMIT, Demand
from .search_state import State

if TYPE_CHECKING:
    from .search import Search


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
                if tracker.fatal_under_all and demand.all_devices and self.state.fatal_constraints:
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
                search.visits += position + 1 - self.position
                self.position = position + 1
                self.device = device
                search.k = self.k + 1
                search.plan = self.plan
                return None
        search.visits += len(self.candidates) - self.position
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
