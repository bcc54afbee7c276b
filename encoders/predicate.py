"""``predicate``: a Python function over the devices of an entry accepts them; no rows can say what it does."""

from __future__ import annotations

from functools import partial

from ..problem.predicate_condition import PredicateCondition
from .encoder import Encoder
from .model import AllocationModel
from .related_items import items_of
from .relation_signs import signature_of

PREDICATE_ID = "predicate"


def _post(model: AllocationModel) -> None:
    for relation in model.merged.relations:
        condition = relation.record.condition
        if isinstance(condition, PredicateCondition):
            model.judge(relation, items_of(model, relation).counts, antimonotone=condition.predicate.antimonotone)


PREDICATE = Encoder(
    PREDICATE_ID,
    "a Python function over all devices of an entry accepts them (CELC-10)",
    _post,
    partial(signature_of, PREDICATE_ID),
    sees="all that is published of the devices",
)
