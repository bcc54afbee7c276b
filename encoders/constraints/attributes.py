"""``matchAttribute`` and ``distinctAttribute`` as rows.

Match: all chosen devices have one value, or have members in common (CON-4, CON-7, SEM-3, SEM-4). Distinct: no value
twice, disjoint sets, or no value that all have (CON-5 to CON-7, SEM-5, SEM-6). An ``AttributeComparison`` is an entry
that a search prunes with, or a relation, in one form.

``pair_costs`` are the pairs of devices without a value in common, as terms of a cost (SOFT-2): all pairs less those
that match. Counts are written in steps, literals of which the first ``n`` are true: ``n`` devices of one value are ``0
+ 1 + ... + (n - 1)`` matching pairs, one number a step. Every term is thus exact whatever is chosen, or, for the pairs
of two values that match, as soon as the cost is minimised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import TypeAlias

from ...problem.conditions import TokenCondition, values_satisfy
from ...problem.constraints import INCOMPARABLE, has_first_only_values
from ...problem.problem import Constraint
from ..model import AllocationModel, CountExpression, Encoder, TakeKey, justify_constraint
from ..rows import Term
from ..symmetry import MergedAlternative, MergedConstraint, MergedProblem, MergedRelation, Signature
from .common_value import any_taken, post_common_value

MATCH = "matchAttribute"


def _post_match_attribute(model: AllocationModel) -> None:
    for comparison in attribute_comparisons(model.merged, MATCH):
        if not comparison.per_pair:
            _MATCH_ENCODINGS[comparison.claims > 1](model, comparison)


def _post_match_of_one_claim(model: AllocationModel, comparison: AttributeComparison) -> None:
    found, guard = values_by_key(model, comparison), comparison.guard(model)
    if comparison.record.sets:
        members = {key: value or 0 for key, value in found.items()}
        post_common_value(model, members, guard, covers_all=True, least=comparison.record.min_size)
        return
    # A scalar is the only member of its set; bit 0 stands for the odd one.
    members = {key: 0 if value is None else 1 << (value - INCOMPARABLE) for key, value in found.items()}
    post_common_value(model, members, guard, covers_all=True)
    odd = [(model.takes[key], 1) for key, value in found.items() if value == INCOMPARABLE]
    if odd:
        # A value that equals nothing, not even itself, stands alone (CON-9).
        model.rows.at_most(odd, 1, guard)


def _post_match_of_equal_claims(model: AllocationModel, comparison: AttributeComparison) -> None:
    """Count the claims by value: each of them takes all it needs from the devices of one value.

    That is why equal claims with one such entry may be merged: whoever counts on a value gets its share of it.
    """
    rows, copies, guard = model.rows, comparison.claims, comparison.guard(model)
    by_value: dict[int, list[TakeKey]] = defaultdict(list)
    for key, value in values_by_key(model, comparison).items():
        if value is not None:
            by_value[value].append(key)
    claims = {value: rows.integer(0, copies) for value in sorted(by_value)}
    served = model.claims_served(model.merged.alternatives[comparison.alternatives[0]])
    terms = [*((variable, 1) for variable in claims.values()), *served.times(-1)]
    # Where requests may be let go (with guards), so may claims; otherwise all that are served count.
    rows.between(terms, served.constant if guard is None else None, served.constant)
    for value, variable in claims.items():
        for number in comparison.alternatives:
            _post_claims_by_value(model, model.merged.alternatives[number], by_value[value], variable, guard)


def _post_claims_by_value(
    model: AllocationModel, alternative: MergedAlternative, keys: list[TakeKey], claims: int, guard: int | None
) -> None:
    own = [key for key in keys if key[0] == alternative.index]
    terms = [(model.takes[key], 1) for key in own]
    terms.append((claims, -alternative.count * alternative.per_claim))
    model.rows.between(terms, 0 if guard is None else None, 0, guard)
    for key in own:
        if model.reduced.classes[key[1]].representative in model.merged.problem.shared:
            # Each request of these claims may take a shareable device once (DEV-13).
            model.rows.at_most([(model.takes[key], 1), (claims, -alternative.per_claim)], 0, guard)


DISTINCT = "distinctAttribute"
_ValueByKey: TypeAlias = Mapping[TakeKey, int | None]


def _sign_distinct_attribute(merged: MergedProblem) -> Signature | None:
    if any(has_first_only_values(one.record) for one in attribute_comparisons(merged, DISTINCT)):
        # Who comes first matters, so that every device is spoken of alone.
        return lambda device: device
    return attribute_signature(DISTINCT, merged)


def _post_distinct_attribute(model: AllocationModel) -> None:
    for comparison in attribute_comparisons(model.merged, DISTINCT):
        found, guard = values_by_key(model, comparison), comparison.guard(model)
        if comparison.record.overlap:
            _post_no_common_value(model, comparison, found, guard)
        else:
            _post_all_different(model, comparison, found, guard)
        if has_first_only_values(comparison.record):
            # A list among scalars is accepted as the first device only (CON-9). Branches are in the order in which the
            # search reaches them, symmetry classes of one device in visiting order.
            ordered = sorted(found)
            for position, key in enumerate(ordered):
                before = ordered[:position]
                if found[key] == INCOMPARABLE and before:
                    earlier = [(model.takes[one], 1) for one in before]
                    model.rows.at_most([*earlier, (model.takes[key], len(before))], len(before), guard)


def _post_all_different(
    model: AllocationModel, comparison: AttributeComparison, found: _ValueByKey, guard: int | None
) -> None:
    """Take each value at most once for each claim."""
    takers: dict[int, list[Term]] = defaultdict(list)
    worthless: list[Term] = []
    for key, value in found.items():
        term = (model.takes[key], 1)
        members = _members_of_value(value, comparison.record.sets)
        for member in members:
            takers[member].append(term)
        if not members:
            worthless.append(term)
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    # The claims in each of which the entry holds alone.
    claims = CountExpression(1)
    if comparison.claims > 1:
        claims = model.claims_served(model.merged.alternatives[comparison.alternatives[0]])
    for terms in takers.values():
        model.rows.at_most([*terms, *claims.times(-1)], claims.constant, guard)


def _post_no_common_value(
    model: AllocationModel, comparison: AttributeComparison, found: _ValueByKey, guard: int | None
) -> None:
    """For each value take a device that lacks it, if any is taken at all (SEM-0, SEM-6)."""
    worthless = [(model.takes[key], 1) for key, value in found.items() if not value]
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    kept = {key: value for key, value in found.items() if value}
    holders: dict[int, set[TakeKey]] = defaultdict(set)
    for key, value in kept.items():
        for member in _members_of_value(value, sets=True):
            holders[member].add(key)
    taking = any_taken(model, comparison.alternatives)
    for having in dict.fromkeys(map(frozenset, holders.values())):
        lacking = [(model.takes[key], 1) for key in kept if key not in having]
        model.rows.between([*lacking, (taking, -1)], 0, None, guard)


def _members_of_value(value: int | None, sets: bool) -> list[int]:
    """List what may not come twice; nothing for a device that cannot be taken (CON-3, CON-8)."""
    if value is None:
        return []
    if not sets:
        return [value]
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]


@dataclass(frozen=True, slots=True)
class AttributeComparison:
    """An entry, the alternatives whose devices it compares, and the literal under which its rows hold; None: always.

    ``claims`` are equal claims, in each of which it holds alone. A relation holds over all of its alternatives
    together.
    """

    record: Constraint
    alternatives: tuple[int, ...]
    claims: int
    guard: Callable[[AllocationModel], int | None]
    per_pair: bool = False
    """Each pair that does not match costs something, and nothing is forbidden (SOFT-2)."""


def attribute_comparisons(merged: MergedProblem, kind: str) -> list[AttributeComparison]:
    """List the entries of a kind."""
    relations = (comparison_of_relation(relation) for relation in merged.relations)
    found = [*map(_comparison_of_constraint, merged.constraints), *(one for one in relations if one)]
    return [one for one in found if one.record.kind == kind]


def _comparison_of_constraint(constraint: MergedConstraint) -> AttributeComparison:
    def guard(model: AllocationModel) -> int | None:
        return model.guard(justify_constraint(constraint))

    return AttributeComparison(constraint.record, constraint.alternatives, len(constraint.claims), guard)


def comparison_of_relation(relation: MergedRelation) -> AttributeComparison | None:
    """Return what a relation compares, None if it is about something else."""
    condition = relation.record.condition
    if not isinstance(condition, TokenCondition):
        return None
    guard = partial(_relation_guard, relation, condition.constraint)
    return AttributeComparison(condition.constraint, relation.alternatives, 1, guard, relation.record.per_pair)


def _relation_guard(relation: MergedRelation, record: Constraint, model: AllocationModel) -> int | None:
    """Where errors count as true, the rows hold unless a device is taken whose value is one (CON-12)."""
    guard = model.enforcement_literal(relation)
    if not any(record.errors.values()):
        return guard
    if not relation.record.errors_count_as_true:
        model.excludes_errors |= relation.record.hard
        return guard
    troubles = [
        (model.takes[key], 1) for key in _take_keys(model, relation.alternatives) if _is_error(model, record, key)
    ]
    judged = model.rows.boolean()
    model.rows.between([*troubles, (judged, 1)], 1, None, guard)
    return judged


def _is_error(model: AllocationModel, record: Constraint, key: TakeKey) -> bool:
    alternative, class_ = key
    demand = model.merged.alternatives[alternative].demands[0]
    return model.reduced.classes[class_].representative in record.errors.get(demand, {})


def attribute_signature(kind: str, merged: MergedProblem) -> Signature | None:
    """Sign devices with their values for the entries of this kind, as each alternative that they cover sees them."""
    if not (found := attribute_comparisons(merged, kind)):
        return None
    # Demands that are alike share one table.
    seen: dict[int, Callable[[int], Hashable]] = {}
    for one in found:
        for demand in (merged.alternatives[alternative].demands[0] for alternative in one.alternatives):
            tokens, errors = one.record.tokens[demand], one.record.errors.get(demand, {})
            seen[id(tokens)] = tokens.get
            if errors:
                seen[id(errors)] = errors.__contains__
    values = list(seen.values())
    return lambda device: tuple([value(device) for value in values])


def _take_keys(model: AllocationModel, alternatives: tuple[int, ...]) -> Iterator[TakeKey]:
    return ((alternative, class_) for alternative in alternatives for class_ in model.reduced.classes_of[alternative])


def values_by_key(model: AllocationModel, comparison: AttributeComparison) -> dict[TakeKey, int | None]:
    """Find the value of each symmetry class that the entry covers; None where it lacks the attribute."""
    record, alternatives, classes = comparison.record, model.merged.alternatives, model.reduced.classes
    return {
        (alternative, class_): record.tokens[alternatives[alternative].demands[0]].get(classes[class_].representative)
        for alternative, class_ in _take_keys(model, comparison.alternatives)
    }


_MATCH_ENCODINGS = {False: _post_match_of_one_claim, True: _post_match_of_equal_claims}
MATCH_ATTRIBUTE = Encoder(
    "matchAttribute",
    "chosen devices have a value in common (CON-4, CON-7, SEM-3, SEM-4)",
    _post_match_attribute,
    partial(attribute_signature, MATCH),
    sees="the values of compared attributes, as each request has them",
)
DISTINCT_ATTRIBUTE = Encoder(
    "distinctAttribute",
    "no value is chosen twice, or none is on all devices (CON-5, CON-7, SEM-5, SEM-6)",
    _post_distinct_attribute,
    _sign_distinct_attribute,
    sees="the values of compared attributes, as each request has them; the device itself where order decides (CON-9)",
)


@dataclass(frozen=True, slots=True)
class _ValueClass:
    """What is taken of one value, and literals for 1, 2, ... devices of it."""

    counted: list[Term]
    steps: Sequence[int]


def pair_costs(model: AllocationModel, relation: MergedRelation) -> list[Term]:
    """Return terms whose sum, if it is minimised, is the number of unordered pairs that do not match.

    Raises ``TypeError`` for a relation that compares nothing.
    """
    comparison = comparison_of_relation(relation)
    if comparison is None:
        raise TypeError(f"no pairs are compared by {relation.record.id}")
    record, alternatives = comparison.record, [model.merged.alternatives[number] for number in comparison.alternatives]
    takers: dict[int, list[Term]] = defaultdict(list)
    for key, value in values_by_key(model, comparison).items():
        if value is not None:
            takers[value].append((model.takes[key], 1))
    most = sum(alternative.copies * alternative.count for alternative in alternatives)
    classes = {value: _ValueClass(terms, _unary_literals(model, terms, most)) for value, terms in takers.items()}
    costs = [*_all_pair_terms(model, comparison.alternatives, most)]
    for value, one in classes.items():
        if values_satisfy(record, (value, value)):
            costs += _pairs_by_step(one.steps, -1)
    for (value, one), (other_value, other) in combinations(classes.items(), 2):
        if values_satisfy(record, (value, other_value)):
            costs += ((product, -1) for product in _product_bounds(model, one, other))
    return costs


def _all_pair_terms(model: AllocationModel, alternatives: Sequence[int], most: int) -> Iterator[Term]:
    """Count all pairs: a number, unless it depends on alternatives."""
    if all(map(model.certain_count, alternatives)):
        yield model.rows.integer(1, 1), most * (most - 1) // 2
    else:
        taken = [term for alternative in alternatives for term in model.taken(alternative)]
        yield from _pairs_by_step(_unary_literals(model, taken, most), 1)


def _pairs_by_step(steps: Sequence[int], sign: int) -> Iterator[Term]:
    """With each device come as many pairs as there were devices before."""
    return ((step, sign * before) for before, step in enumerate(steps) if before)


def _unary_literals(model: AllocationModel, terms: list[Term], most: int) -> Sequence[int]:
    """Return literals of which the first so many are true as these terms sum up to."""
    rows = model.rows
    most = min(most, sum(rows.range_of(variable)[1] for variable, _ in terms))
    if len(terms) == most == 1:
        return [terms[0][0]]
    steps = [rows.boolean() for _ in range(most)]
    rows.equal([*terms, *((step, -1) for step in steps)], 0)
    for step, following in pairwise(steps):
        rows.at_most([(following, 1), (step, -1)], 0)
    return steps


def _product_bounds(model: AllocationModel, one: _ValueClass, other: _ValueClass) -> Iterator[int]:
    """Yield variables that sum up to the product of two counts, if they are made as large as they can be."""
    few, many = sorted((one, other), key=lambda kind: len(kind.steps))
    for step in few.steps:
        product = model.rows.integer(0, len(many.steps))
        model.rows.at_most([(product, 1), *((variable, -factor) for variable, factor in many.counted)], 0)
        model.rows.at_most([(product, 1), (step, -len(many.steps))], 0)
        yield product
