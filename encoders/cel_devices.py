"""``cel``: an expression over all devices of an entry holds (KEP-5254, CELC-2 to CELC-10).

Three roads with one meaning. *Lower*: the expression becomes a formula over counts, and that becomes rows. *Tabulate*:
the vectors of counts are few, so that all are evaluated beforehand. *Lazy*: solutions are judged, and what fails is
forbidden. Without a wish the first of them that can be taken is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from ..problem.cel_condition import CelCondition
from ..problem.relations import Trouble
from .collapsed import MergedRelation
from .encoder import Encoder
from .lowering.formulas import Formulas
from .lowering.lower import NotLoweredError, lower
from .lowering.posting import Posting
from .lowering.sums import FALSE, TRUE, Handle, Sum
from .lowering.tables import count_vectors, post_table, vectors
from .model import AllocationModel, RoadError
from .related_items import RelatedItems, items_of
from .relation_signs import signature_of

CEL = "cel"

# Evaluations that a table may take beforehand, without a wish and where it is wished for.
MOST_VECTORS = 1_000
MOST_TABULATED = 20_000


def _post(model: AllocationModel) -> None:
    for relation in model.merged.relations:
        if relation.record.id == CEL:
            items = items_of(model, relation)
            if items.most_total < sum(items.most):
                # What formulas and tables say is said within these bounds only.
                model.rows.at_most([term for terms in items.counts for term in terms], items.most_total)
            model.roads.append(_ROADS[condition_of(relation).road](model, relation, items))


def condition_of(relation: MergedRelation) -> CelCondition:
    """Return the expression and its devices."""
    return cast("CelCondition", relation.record.condition)


def _auto(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    try:
        return _lower(model, relation, items)
    except NotLoweredError:
        few = count_vectors(items.most, items.least_total, items.most_total) <= MOST_VECTORS
        return (_tabulate if few else _lazy)(model, relation, items)


def lowered(relation: MergedRelation, items: RelatedItems) -> tuple[Formulas, Handle, Handle]:
    """Return what makes the expression true, and what makes it fail for an error. Raises ``NotLoweredError``."""
    condition = condition_of(relation)
    devices = [condition.prepared(device) for device in items.devices]
    if any(device.error for device in devices):
        raise NotLoweredError("a device cannot be read")
    formulas = Formulas(items.most, items.least_total, items.most_total)
    found = lower(condition.expression.program, [device.cel_value for device in devices], formulas)
    nothing = formulas.equal(_total(items), 0)
    return formulas, formulas.disj((found.true, nothing)), formulas.conj((found.error, ~nothing))


def _total(items: RelatedItems) -> Sum:
    return Sum.of_terms(0, [(item, TRUE, 1) for item in range(len(items.devices))])


def _lower(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    formulas, true, error = lowered(relation, items)
    if relation.record.tolerant:
        true = formulas.disj((true, error))
    model.troubled |= error != FALSE
    Posting(model.rows, formulas, items.counts).require(true, model.enforcement(relation))
    return "lower"


def _lower_or_refuse(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    try:
        return _lower(model, relation, items)
    except NotLoweredError as error:
        raise RoadError(f"{relation.record.label} cannot be lowered: {error}") from None


def _tabulate(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    allowed: list[tuple[int, ...]] = []
    forbidden: list[tuple[int, ...]] = []
    for vector, holds in _judged(model, relation, items):
        (allowed if holds else forbidden).append(vector)
    post_table(model.rows, items.counts, allowed, model.enforcement(relation), forbidden)
    return "tabulate"


def _judged(
    model: AllocationModel, relation: MergedRelation, items: RelatedItems
) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Evaluate the expression for all vectors of counts."""
    for vector in vectors(items.most, items.least_total, items.most_total):
        found = relation.record.verdict(items.members(vector))
        model.troubled |= isinstance(found, Trouble)
        yield vector, found is True


def _tabulate_or_refuse(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    number = count_vectors(items.most, items.least_total, items.most_total)
    if number > MOST_TABULATED:
        raise RoadError(f"{relation.record.label} cannot be tabulated: there are {number} combinations of devices")
    return _tabulate(model, relation, items)


def _lazy(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> str:
    few = count_vectors(items.most, items.least_total, items.most_total) <= MOST_TABULATED
    failing = partial(_failing, model, relation, items) if few else None
    model.judge(relation, items.counts, failing=failing)
    return "lazy"


def _failing(model: AllocationModel, relation: MergedRelation, items: RelatedItems) -> list[tuple[int, ...]]:
    return [vector for vector, holds in _judged(model, relation, items) if not holds]


_ROADS: dict[str, Callable[[AllocationModel, MergedRelation, RelatedItems], str]] = {
    "auto": _auto,
    "lower": _lower_or_refuse,
    "tabulate": _tabulate_or_refuse,
    "lazy": _lazy,
}

CEL_DEVICES = Encoder(
    "cel",
    "an expression over all devices of an entry holds (CELC-2, CELC-3)",
    _post,
    partial(signature_of, CEL),
    sees="what expressions over devices read of them; the device itself where order decides (CELC-7)",
)
