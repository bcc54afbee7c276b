"""PLAN-CLAIM: which claims a plan allocates; how is a matter of the rules of allocation."""

from __future__ import annotations

from collections.abc import Iterator

from ...models.identity import ObjectKey
from .findings import Finding
from .placed_unit import PlacedUnit, label


def claim_findings(unit: PlacedUnit) -> Iterator[Finding]:
    """Claims that are allocated without reason, or twice, and placed units with claims that cannot be had."""
    name = label(unit)
    own = {ref.key for ref in unit.unit.claims}
    given = [ref.key for ref, _ in unit.allocations]
    if unit.node is None and given:
        yield Finding("PLAN-CLAIM", f"{name} is not placed, but claim {_text(given[0])} is allocated for it")
    for key in dict.fromkeys(given):
        if key not in own:
            yield Finding("PLAN-CLAIM", f"{name} has no claim {_text(key)}, which is allocated for it")
        if given.count(key) > 1:
            yield Finding("PLAN-CLAIM", f"{name}: claim {_text(key)} is allocated twice")
    if unit.node is not None:
        for problem in unit.unit.problems:
            yield Finding("PLAN-CLAIM", f"{name} is placed, but {problem}")


def _text(key: ObjectKey) -> str:
    return "/".join(key)
