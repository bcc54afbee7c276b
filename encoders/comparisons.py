"""Match and distinct entries as rows see them: those that a search prunes with, and relations, in one form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ..problem.records import Constraint
from ..problem.token_condition import TokenCondition
from .collapsed import Merged, MergedConstraint, MergedRelation
from .common_value import Key
from .encoder import Signature
from .model import AllocationModel
from .wording import about_constraint


@dataclass(frozen=True, slots=True)
class Comparison:
    """An entry, the branches whose devices it compares, and the literal under which its rows hold; None: always.

    ``claims`` are equal claims, in each of which it holds alone. A relation holds over all of its branches together.
    """

    record: Constraint
    branches: tuple[int, ...]
    claims: int
    guard: Callable[[AllocationModel], int | None]
    per_pair: bool = False
    """Each pair that does not match costs something, and nothing is forbidden (SOFT-2)."""


def comparisons(merged: Merged, kind: str) -> list[Comparison]:
    """List the entries of a kind."""
    relations = (compared_by(relation) for relation in merged.relations)
    found = [*map(_own, merged.constraints), *(one for one in relations if one)]
    return [one for one in found if one.record.kind == kind]


def _own(constraint: MergedConstraint) -> Comparison:
    def guard(model: AllocationModel) -> int | None:
        return model.guard(about_constraint(constraint))

    return Comparison(constraint.record, constraint.branches, len(constraint.claims), guard)


def compared_by(relation: MergedRelation) -> Comparison | None:
    """Return what a relation compares, None if it is about something else."""
    condition = relation.record.condition
    if not isinstance(condition, TokenCondition):
        return None
    guard = partial(_enforced, relation, condition.constraint)
    return Comparison(condition.constraint, relation.branches, 1, guard, relation.record.per_pair)


def _enforced(relation: MergedRelation, record: Constraint, model: AllocationModel) -> int | None:
    """Where errors count as true, the rows hold unless a device is taken whose value is one (CON-12)."""
    guard = model.enforcement(relation)
    if not any(record.errors.values()):
        return guard
    if not relation.record.tolerant:
        model.troubled |= relation.record.hard
        return guard
    troubles = [(model.takes[key], 1) for key in _keys(model, relation.branches) if _is_error(model, record, key)]
    judged = model.rows.boolean()
    model.rows.between([*troubles, (judged, 1)], 1, None, guard)
    return judged


def _is_error(model: AllocationModel, record: Constraint, key: Key) -> bool:
    branch, lot = key
    demand = model.merged.branches[branch].demands[0]
    return model.collapsed.lots[lot].first in record.errors.get(demand, {})


def signature(kind: str, merged: Merged) -> Signature | None:
    """Sign devices with their values for the entries of this kind, as each branch that they cover sees them."""
    if not (found := comparisons(merged, kind)):
        return None
    # Demands that are alike share one table.
    seen: dict[int, Callable[[int], Hashable]] = {}
    for one in found:
        for demand in (merged.branches[branch].demands[0] for branch in one.branches):
            tokens, errors = one.record.tokens[demand], one.record.errors.get(demand, {})
            seen[id(tokens)] = tokens.get
            if errors:
                seen[id(errors)] = errors.__contains__
    return partial(_values, list(seen.values()))


def _values(seen: Iterable[Callable[[int], Hashable]], device: int) -> Hashable:
    return tuple([value(device) for value in seen])


def _keys(model: AllocationModel, branches: tuple[int, ...]) -> Iterator[Key]:
    return ((branch, lot) for branch in branches for lot in model.collapsed.lots_of[branch])


def values_of(model: AllocationModel, comparison: Comparison) -> dict[Key, int | None]:
    """Find the value of each lot that the entry covers; None where it lacks the attribute."""
    record, branches, lots = comparison.record, model.merged.branches, model.collapsed.lots
    return {
        (branch, lot): record.tokens[branches[branch].demands[0]].get(lots[lot].first)
        for branch, lot in _keys(model, comparison.branches)
    }
