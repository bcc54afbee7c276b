"""Match and distinct entries as conditions on complete sets: soft ones, and those that a search cannot prune with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from operator import and_, or_

from .constraints import ODD
from .records import Constraint
from .relations import Member, Trouble


@dataclass(frozen=True, slots=True)
class TokenCondition:
    """The condition of an entry; a device without a value violates it (CON-3)."""

    constraint: Constraint
    ordered: bool = False

    def sight(self, device: int) -> Hashable:
        """Return its value, for each demand."""
        return tuple(tokens.get(device) for tokens in self.constraint.tokens.values())

    def role(self, demand: int) -> Hashable:
        """Return all values as this demand has them: derived attributes are its own (CON-12)."""
        return tuple(self.constraint.tokens[demand].items())

    def judge(self, members: Sequence[Member]) -> bool | Trouble:
        """Compare the values of all members."""
        tokens = self.constraint.tokens
        values = [tokens[demand].get(device) for demand, device in members]
        found = [value for value in values if value is not None]
        if len(found) < len(values):
            return False
        return _JUDGES[self.constraint.kind, self.constraint.sets](found)

    def renumbered(self, demands: Mapping[int, int]) -> TokenCondition:
        """Return the condition on the same values under the new numbers."""
        tokens = {demands[demand]: values for demand, values in self.constraint.tokens.items()}
        return replace(self, constraint=replace(self.constraint, tokens=tokens, errors={}))


def _all_equal(values: Sequence[int]) -> bool:
    return len(values) == 1 or (len(set(values)) == 1 and values[0] != ODD)


def _all_distinct(values: Sequence[int]) -> bool:
    return len(set(values)) == len(values) and ODD not in values[1:]


def _in_common(values: Sequence[int]) -> bool:
    return bool(reduce(and_, values))


def _disjoint(values: Sequence[int]) -> bool:
    before = accumulate(values, or_)
    return all(values) and not any(taken & value for taken, value in zip(before, values[1:], strict=False))


_JUDGES: dict[tuple[str, bool], Callable[[Sequence[int]], bool]] = {
    ("matchAttribute", False): _all_equal,
    ("matchAttribute", True): _in_common,
    ("distinctAttribute", False): _all_distinct,
    ("distinctAttribute", True): _disjoint,
}
