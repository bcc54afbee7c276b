"""Relations whose condition is an expression or a Python predicate over all devices of an entry.

``cel``: the expression holds (KEP-5254, CELC-2 to CELC-10). Its three encodings have one meaning. *lower*: the
expression becomes a formula over counts, and that becomes rows. *table*: the vectors of counts are few, so that all are
evaluated beforehand. *lazy*: complete solutions are evaluated, and what fails is forbidden. *auto* takes the first of
them that is possible. ``predicate``: the function accepts the devices; no rows can say what it does, so that it is
lazy.

``RelatedItems`` are what a relation counts: devices that it cannot tell apart, over all alternatives that it covers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

from ...problem.conditions import CelCondition, NodeLimitCondition, PredicateCondition
from ...problem.problem import RESULT_LIMIT, RelationError
from ..expressions.formula_nodes import FALSE, TRUE, GatedSum, Handle
from ..expressions.formulas import Formulas
from ..expressions.lowering import lower_expression
from ..expressions.posting import FormulaPosting, count_vectors, post_table, vectors
from ..expressions.values import NotLoweredError
from ..model import AllocationModel, Encoder, EncodingError
from ..rows import Term
from ..symmetry import MergedProblem, MergedRelation, Signature

CEL = "cel"
# Evaluations that a table may take beforehand, without a wish and where it is wished for.
MOST_AUTO_VECTORS = 1_000
MOST_TABLE_VECTORS = 20_000


def _post_cel_devices(model: AllocationModel) -> None:
    for relation in model.merged.relations:
        if relation.record.id == CEL:
            items = related_items(model, relation)
            if items.most_total < sum(items.most):
                # What formulas and tables say is said within these bounds only.
                model.rows.at_most([term for terms in items.counts for term in terms], items.most_total)
            model.cel_encodings.append(_CEL_ENCODINGS[cel_condition_of(relation).encoding](model, relation, items))


def cel_condition_of(relation: MergedRelation) -> CelCondition:
    """Return the expression and its devices."""
    return cast("CelCondition", relation.record.condition)


def _encode_automatically(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    try:
        return _encode_by_lowering(model, relation, items)
    except NotLoweredError:
        few = count_vectors(items.most, items.least_total, items.most_total) <= MOST_AUTO_VECTORS
        return (_encode_as_table if few else _encode_lazily)(model, relation, items)


def lower_relation(
    relation: MergedRelation, items: RelatedItems, deadline: float | None = None
) -> tuple[Formulas, Handle, Handle]:
    """Return what makes the expression true, and what makes it fail for an error.

    Raises ``NotLoweredError``, and ``DeadlineExceededError`` once ``deadline`` is over.
    """
    condition = cel_condition_of(relation)
    devices = [condition.prepared(device) for device in items.devices]
    if any(device.error for device in devices):
        raise NotLoweredError("a device cannot be read")
    formulas = Formulas(items.most, items.least_total, items.most_total)
    values = [device.cel_value for device in devices]
    found = lower_expression(condition.expression.program, values, formulas, deadline=deadline)
    nothing = formulas.equal(GatedSum.of_terms(0, [(item, TRUE, 1) for item in range(len(items.devices))]), 0)
    return formulas, formulas.disj((found.true, nothing)), formulas.conj((found.error, ~nothing))


def _encode_by_lowering(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    formulas, true, error = lower_relation(relation, items, model.rows.deadline)
    if relation.record.errors_count_as_true:
        true = formulas.disj((true, error))
    model.excludes_errors |= error != FALSE
    FormulaPosting(model.rows, formulas, items.counts).require(true, model.enforcement_literal(relation))
    return "lower"


def _lower_or_raise(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    try:
        return _encode_by_lowering(model, relation, items)
    except NotLoweredError as error:
        raise EncodingError(f"{relation.record.label} cannot be lowered: {error}") from None


def _encode_as_table(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    allowed: list[tuple[int, ...]] = []
    forbidden: list[tuple[int, ...]] = []
    for vector, holds in _evaluated_vectors(model, relation, items):
        (allowed if holds else forbidden).append(vector)
    post_table(model.rows, items.counts, allowed, model.enforcement_literal(relation), forbidden)
    return "table"


def _evaluated_vectors(
    model: AllocationModel, relation: MergedRelation, items: RelatedItems
) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Evaluate the expression for all vectors of counts."""
    for vector in vectors(items.most, items.least_total, items.most_total):
        found = relation.record.verdict(items.members(vector))
        model.excludes_errors |= isinstance(found, RelationError)
        yield vector, found is True


def _table_or_raise(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    number = count_vectors(items.most, items.least_total, items.most_total)
    if number > MOST_TABLE_VECTORS:
        raise EncodingError(f"{relation.record.label} cannot be tabulated: there are {number} combinations of devices")
    return _encode_as_table(model, relation, items)


def _encode_lazily(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    few = count_vectors(items.most, items.least_total, items.most_total) <= MOST_TABLE_VECTORS
    failing = partial(_failing_vectors, model, relation, items) if few else None
    model.add_lazy_constraint(relation, items.counts, failing=failing)
    return "lazy"


def _failing_vectors(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> list[tuple[int, ...]]:
    return [vector for vector, holds in _evaluated_vectors(model, relation, items) if not holds]


PREDICATE_ID = "predicate"


def _post_predicate(model: AllocationModel) -> None:
    for relation in model.merged.relations:
        condition = relation.record.condition
        if isinstance(condition, PredicateCondition):
            model.add_lazy_constraint(
                relation, related_items(model, relation).counts, antimonotone=condition.predicate.antimonotone
            )
        elif isinstance(condition, NodeLimitCondition):
            _encode_lazily(model, relation, related_items(model, relation))


@dataclass(frozen=True, slots=True)
class RelatedItems:
    """The items of a relation: a device that stands for each, terms for how many are taken, and the bounds of that.

    Items are in result order, which is exact where the relation minds it (CELC-7); ``demands`` are those that take them
    then, else any one.
    """

    devices: tuple[int, ...]
    demands: tuple[int, ...]
    counts: tuple[tuple[Term, ...], ...]
    most: tuple[int, ...]
    least_total: int
    most_total: int

    def members(self, vector: tuple[int, ...]) -> list[tuple[int, int]]:
        """List as many devices of each item as the vector says, with their demands."""
        items = zip(self.demands, self.devices, vector, strict=True)
        return [(demand, device) for demand, device, count in items for _ in range(count)]


_CEL_ENCODINGS: dict[str, Callable[[AllocationModel, MergedRelation, RelatedItems], str]] = {
    "auto": _encode_automatically,
    "lower": _lower_or_raise,
    "table": _table_or_raise,
    "lazy": _encode_lazily,
}


def related_items(model: AllocationModel, relation: MergedRelation) -> RelatedItems:
    """Put the symmetry classes that a relation can take from into items."""
    condition = relation.record.condition
    counts: dict[Hashable, list[Term]] = defaultdict(list)
    members: dict[Hashable, tuple[int, int]] = {}
    for alternative in relation.alternatives:
        demand = model.merged.alternatives[alternative].demands[0]
        for class_ in model.reduced.classes_of[alternative]:
            device = model.reduced.classes[class_].representative
            item: Hashable = (alternative, class_) if condition.ordered else condition.visible_key(device)
            members.setdefault(item, (demand, device))
            counts[item].append((model.takes[alternative, class_], 1))
    most = tuple(sum(model.rows.range_of(variable)[1] for variable, _ in terms) for terms in counts.values())
    least_total = sum(map(model.certain_count, relation.alternatives))
    alternatives = (model.merged.alternatives[alternative] for alternative in relation.alternatives)
    # With guards no request is sure to be served, nor to take no more than it needs; but a claim has its limit.
    limit = RESULT_LIMIT * len(relation.record.claims)
    most_total = min(sum(most), limit) if model.guarded else sum(one.copies * one.count for one in alternatives)
    demands, devices = zip(*members.values(), strict=True) if members else ((), ())
    return RelatedItems(devices, demands, tuple(map(tuple, counts.values())), most, least_total, most_total)


def relation_signature(id_: str, merged: MergedProblem) -> Signature | None:
    """Sign devices with what the relations of this kind see of them; None if there are none."""
    conditions = list(dict.fromkeys(one.record.condition for one in merged.relations if one.record.id == id_))
    if any(condition.ordered for condition in conditions):
        # Which device comes first matters, so that every device is spoken of alone.
        return lambda device: device
    if not conditions:
        return None
    return lambda device: tuple([condition.visible_key(device) for condition in conditions])


CEL_DEVICES = Encoder(
    "cel",
    "an expression over all devices of an entry holds (CELC-2, CELC-3)",
    _post_cel_devices,
    partial(relation_signature, CEL),
    sees="what expressions over devices read of them; the device itself where order decides (CELC-7)",
)
PREDICATE = Encoder(
    PREDICATE_ID,
    "a Python function over all devices of an entry accepts them (CELC-10)",
    _post_predicate,
    partial(relation_signature, PREDICATE_ID),
    sees="all that is published of the devices",
)
