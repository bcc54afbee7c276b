"""Match and distinct entries as conditions on complete sets: soft ones, and those that a search cannot prune with.

Expressions over ``devices`` as conditions (KEP-5254, CELC-2 to CELC-4).

Python predicates as conditions.

Soft relations: what a choice of devices costs by them (SOFT-1, SOFT-2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate, combinations
from operator import and_, or_
from typing import TYPE_CHECKING

from ..models.kubernetes.extensions import Predicate, chosen_device
from .constraints import INCOMPARABLE, has_first_only_values
from .problem import Constraint, Member, Message, Placeholder, Problem, Relation, RelationError
from .selectors import ExpressionError, ExpressionEvaluator
from .shapes import Profile

if TYPE_CHECKING:
    from ..cel.devices import PreparedDevice
    from ..cel.selector import DeviceSetExpression


@dataclass(frozen=True, slots=True)
class TokenCondition:
    """The condition of an entry; a device without a value violates it (CON-3)."""

    constraint: Constraint

    @property
    def ordered(self) -> bool:
        """Order matters where a list among scalars may only come first (CON-9)."""
        return has_first_only_values(self.constraint)

    def visible_key(self, device: int) -> Hashable:
        """Return its value for each demand, and where it is an error."""
        values = tuple(tokens.get(device) for tokens in self.constraint.tokens.values())
        return values, tuple(demand for demand, failures in self.constraint.errors.items() if device in failures)

    def demand_key(self, demand: int) -> Hashable:
        """Return all values as this demand has them: derived attributes are its own (CON-12)."""
        return tuple(self.constraint.tokens[demand].items()), frozenset(self.constraint.errors.get(demand, ()))

    def evaluate(self, members: Sequence[Member]) -> bool | RelationError:
        """Compare the values of all members; a derived attribute that cannot be computed is trouble (CON-12)."""
        trouble = next(self._troubles(members), None)
        if trouble is not None:
            return trouble
        values = self._values(members)
        found = [value for value in values if value is not None]
        return len(found) == len(values) and values_satisfy(self.constraint, found)

    def renumbered(self, demands: Mapping[int, int]) -> TokenCondition:
        """Return the condition on the same values under the new numbers."""
        tokens = {demands[demand]: values for demand, values in self.constraint.tokens.items()}
        errors = {demands[demand]: failures for demand, failures in self.constraint.errors.items()}
        return TokenCondition(replace(self.constraint, tokens=tokens, errors=errors))

    def _values(self, members: Sequence[Member]) -> list[int | None]:
        tokens = self.constraint.tokens
        return [tokens[demand].get(device) for demand, device in members]

    def _troubles(self, members: Sequence[Member]) -> Iterator[RelationError]:
        for demand, device in members:
            failure = self.constraint.errors.get(demand, {}).get(device)
            if failure is not None:
                yield RelationError(("claim ", Placeholder.CLAIM, f", {self.constraint.kind}: {failure.detail}"))


def _all_equal(values: Sequence[int], _least: int) -> bool:
    return len(values) == 1 or (len(set(values)) == 1 and values[0] != INCOMPARABLE)


def _all_distinct(values: Sequence[int], _least: int) -> bool:
    return len(set(values)) == len(values) and INCOMPARABLE not in values[1:]


def _have_common_members(values: Sequence[int], least: int) -> bool:
    return reduce(and_, values).bit_count() >= least


def _disjoint(values: Sequence[int], _least: int) -> bool:
    before = accumulate(values, or_)
    return all(values) and not any(taken & value for taken, value in zip(before, values[1:], strict=False))


def _no_common_member(values: Sequence[int], _least: int) -> bool:
    return not reduce(and_, values)


# By kind, sets and overlap of the entry.
_VALUE_RULES: dict[tuple[str, bool, bool], Callable[[Sequence[int], int], bool]] = {
    ("matchAttribute", False, False): _all_equal,
    ("matchAttribute", True, False): _have_common_members,
    ("distinctAttribute", False, False): _all_distinct,
    ("distinctAttribute", True, False): _disjoint,
    ("distinctAttribute", True, True): _no_common_member,
}


def values_satisfy(constraint: Constraint, values: Sequence[int]) -> bool:
    """Tell whether these values, in result order and one at least, are what an entry asks for."""
    rule = _VALUE_RULES[constraint.kind, constraint.sets, constraint.overlap]
    return rule(values, constraint.min_size)


def pruning_constraint(relation: Relation) -> Constraint | None:
    """Return the entry of a relation that a search can prune with: what fails for a set fails for all larger ones."""
    condition = relation.condition
    if not relation.hard or not isinstance(condition, TokenCondition):
        return None
    constraint = condition.constraint
    return None if constraint.overlap or any(constraint.errors.values()) else constraint


@dataclass(frozen=True, slots=True, eq=False)
class CelCondition:
    """An expression, and what each device of the Problem looks like to it.

    ``ordered``: the order of devices can matter, as to some expressions always, and to others where devices do not
    agree in the types of what is read (CELC-7). ``encoding`` is how a model is to take it: ``auto``, ``lower``,
    ``table`` or ``lazy`` (CELC-9). ``subject`` begins the text of an error.
    """

    expression: DeviceSetExpression
    profiles: tuple[Profile, ...]
    expressions: ExpressionEvaluator
    ordered: bool
    encoding: str
    subject: Message

    def prepared(self, device: int) -> PreparedDevice:
        """Return the device as expressions see it."""
        return self.expressions.prepared(self.profiles[device])

    def visible_key(self, device: int) -> Hashable:
        """Return what the expression reads of a device, all of it if it compares devices."""
        return self.expressions.device_set_key(self.expression, self.profiles[device])

    def demand_key(self, demand: int) -> Hashable:
        """Return nothing: an expression does not know which request a device is for."""
        return None

    def evaluate(self, members: Sequence[Member]) -> bool | RelationError:
        """Evaluate the expression on the devices, in result order."""
        profiles = [self.profiles[device] for _, device in members]
        found = self.expressions.evaluate_device_set(self.expression, profiles, ordered=self.ordered)
        if isinstance(found, ExpressionError):
            return RelationError((*self.subject, f": CEL runtime error: {found.text}"))
        return found

    def renumbered(self, demands: Mapping[int, int]) -> CelCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class PredicateCondition:
    """A predicate, and what each device of the Problem looks like to it."""

    predicate: Predicate
    profiles: tuple[Profile, ...]
    ordered: bool = False
    _known: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def visible_key(self, device: int) -> Hashable:
        """Return all that is published of the device."""
        return self.profiles[device].index

    def demand_key(self, demand: int) -> Hashable:
        """Return nothing: a predicate does not know which request a device is for."""
        return None

    def evaluate(self, members: Sequence[Member]) -> bool:
        """Ask the predicate, once for devices that look alike; what it raises is its author's affair."""
        profiles = [self.profiles[device] for _, device in members]
        key = tuple(sorted(profile.index for profile in profiles))
        if key not in self._known:
            devices = [chosen_device(profile.driver, profile.device) for profile in profiles]
            self._known[key] = bool(self.predicate.function(devices))
        return self._known[key]

    def renumbered(self, demands: Mapping[int, int]) -> PredicateCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self


def soft_relations(problem: Problem) -> tuple[Relation, ...]:
    """List the relations that need not hold."""
    return tuple(relation for relation in problem.relations if not relation.hard)


def without_soft(problem: Problem) -> Problem:
    """Leave out the relations that need not hold: whether claims fit never depends on them (SOFT-1)."""
    if not soft_relations(problem):
        return problem
    return replace(problem, relations=tuple(relation for relation in problem.relations if relation.hard))


def penalty(relation: Relation, members: Sequence[Member]) -> int:
    """Return what a soft relation costs: its weight if it does not hold, or its weight for each pair that fails it.

    What cannot be judged for an error does not hold. ``members`` are all devices that were chosen.
    """
    weight = relation.weight or 0
    if not relation.per_pair:
        return 0 if relation.verdict(members) is True else weight
    covered = sorted(member for member in members if member[0] in relation.demands)
    return weight * sum(relation.condition.evaluate(pair) is not True for pair in combinations(covered, 2))


def has_no_penalty(problem: Problem, members: Sequence[Member]) -> bool:
    """Tell whether nothing is to be paid at all."""
    return not any(penalty(relation, members) for relation in soft_relations(problem))
