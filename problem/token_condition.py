"""Match and distinct entries as conditions on complete sets: soft ones, and those that a search cannot prune with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from operator import and_, or_

from .constraints import ODD
from .messages import Blank
from .order import has_odd_firsts
from .records import Constraint
from .relations import Member, Relation, Trouble


@dataclass(frozen=True, slots=True)
class TokenCondition:
    """The condition of an entry; a device without a value violates it (CON-3)."""

    constraint: Constraint

    @property
    def ordered(self) -> bool:
        """Order matters where a list among scalars may only come first (CON-9)."""
        return has_odd_firsts(self.constraint)

    def sight(self, device: int) -> Hashable:
        """Return its value for each demand, and where it is an error."""
        values = tuple(tokens.get(device) for tokens in self.constraint.tokens.values())
        return values, tuple(demand for demand, failures in self.constraint.errors.items() if device in failures)

    def role(self, demand: int) -> Hashable:
        """Return all values as this demand has them: derived attributes are its own (CON-12)."""
        return tuple(self.constraint.tokens[demand].items()), frozenset(self.constraint.errors.get(demand, ()))

    def judge(self, members: Sequence[Member]) -> bool | Trouble:
        """Compare the values of all members; a derived attribute that cannot be computed is trouble (CON-12)."""
        trouble = next(self._troubles(members), None)
        if trouble is not None:
            return trouble
        values = self._values(members)
        found = [value for value in values if value is not None]
        return len(found) == len(values) and compare(self.constraint, found)

    def renumbered(self, demands: Mapping[int, int]) -> TokenCondition:
        """Return the condition on the same values under the new numbers."""
        tokens = {demands[demand]: values for demand, values in self.constraint.tokens.items()}
        errors = {demands[demand]: failures for demand, failures in self.constraint.errors.items()}
        return TokenCondition(replace(self.constraint, tokens=tokens, errors=errors))

    def _values(self, members: Sequence[Member]) -> list[int | None]:
        tokens = self.constraint.tokens
        return [tokens[demand].get(device) for demand, device in members]

    def _troubles(self, members: Sequence[Member]) -> Iterator[Trouble]:
        for demand, device in members:
            failure = self.constraint.errors.get(demand, {}).get(device)
            if failure is not None:
                yield Trouble(("claim ", Blank.CLAIM, f", {self.constraint.kind}: {failure.detail}"))


def _all_equal(values: Sequence[int], _least: int) -> bool:
    return len(values) == 1 or (len(set(values)) == 1 and values[0] != ODD)


def _all_distinct(values: Sequence[int], _least: int) -> bool:
    return len(set(values)) == len(values) and ODD not in values[1:]


def _in_common(values: Sequence[int], least: int) -> bool:
    return reduce(and_, values).bit_count() >= least


def _disjoint(values: Sequence[int], _least: int) -> bool:
    before = accumulate(values, or_)
    return all(values) and not any(taken & value for taken, value in zip(before, values[1:], strict=False))


def _nothing_in_all(values: Sequence[int], _least: int) -> bool:
    return not reduce(and_, values)


# By kind, sets and overlap of the entry.
_RULES: dict[tuple[str, bool, bool], Callable[[Sequence[int], int], bool]] = {
    ("matchAttribute", False, False): _all_equal,
    ("matchAttribute", True, False): _in_common,
    ("distinctAttribute", False, False): _all_distinct,
    ("distinctAttribute", True, False): _disjoint,
    ("distinctAttribute", True, True): _nothing_in_all,
}


def compare(constraint: Constraint, values: Sequence[int]) -> bool:
    """Tell whether these values, in result order and one at least, are what an entry asks for."""
    rule = _RULES[constraint.kind, constraint.sets, constraint.overlap]
    return rule(values, constraint.min_size)


def pruning(relation: Relation) -> Constraint | None:
    """Return the entry of a relation that a search can prune with: what fails for a set fails for all larger ones."""
    condition = relation.condition
    if not relation.hard or not isinstance(condition, TokenCondition):
        return None
    constraint = condition.constraint
    return None if constraint.overlap or any(constraint.errors.values()) else constraint
