"""The claim's constraints while devices come and go (section 13).

Each entry keeps a stack, so that undoing restores exactly the state before (CON-10). An entry that several demands
share has one stack and one tracker a demand, because derived attributes give a device different values (CON-12).
"""

from __future__ import annotations

from ..problem.outcomes import trapped
from ..problem.records import Constraint


class ConstraintTracker:
    """One constraint as one demand sees it."""

    __slots__ = ("claim", "errors", "min_size", "stack", "tokens")
    fatal_under_all = True

    def __init__(self, stack: list[int], constraint: Constraint, demand: int) -> None:
        self.stack = stack
        self.tokens = constraint.tokens[demand]
        self.errors = constraint.errors.get(demand, {})
        self.claim = constraint.claim
        self.min_size = constraint.min_size

    def add(self, device: int) -> bool:
        """Take the device if the entry allows it beside those taken before."""
        token = self.tokens.get(device)
        if token is None:
            return self._missing(device)
        return self._admit(token)

    def undo(self, device: int) -> None:
        """Forget the device taken last."""
        self.stack.pop()

    def _missing(self, device: int) -> bool:
        """Without the attribute the device cannot be used (CON-3)."""
        if device in self.errors:
            raise trapped(self.errors[device], self.claim, device)
        return False

    def _admit(self, token: int) -> bool:
        raise NotImplementedError


class MatchScalar(ConstraintTracker):
    """All values equal the first one (CON-4)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        if stack and (stack[0] != token or token < 0):
            return False
        stack.append(token)
        return True


class DistinctScalar(ConstraintTracker):
    """No value twice (CON-5, CON-6)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        if token in stack or (stack and token < 0):
            return False
        stack.append(token)
        return True


class MatchSets(ConstraintTracker):
    """The intersection of all value sets stays non-empty (CON-7), or as large as is asked for (SEM-4)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        if stack:
            token &= stack[-1]
        if token.bit_count() < self.min_size:
            return False
        stack.append(token)
        return True


class DistinctSets(ConstraintTracker):
    """The value sets are pairwise disjoint, and none is empty (CON-7, CON-8)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        taken = stack[-1] if stack else 0
        if not token or token & taken:
            return False
        stack.append(token | taken)
        return True


_TRACKERS: dict[tuple[str, bool], type[ConstraintTracker]] = {
    ("matchAttribute", False): MatchScalar,
    ("matchAttribute", True): MatchSets,
    ("distinctAttribute", False): DistinctScalar,
    ("distinctAttribute", True): DistinctSets,
}


def track_constraint(constraint: Constraint) -> dict[int, ConstraintTracker]:
    """Trackers with a common stack, by demand."""
    tracker = _TRACKERS[constraint.kind, constraint.sets]
    stack: list[int] = []
    return {demand: tracker(stack, constraint, demand) for demand in constraint.tokens}
