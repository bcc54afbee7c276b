"""At most 32 devices for one claim (SRCH-8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf

from ..problem.records import RESULT_LIMIT
from .encoder import Encoder
from .model import AllocationModel
from .wording import about_limit


def _post(model: AllocationModel) -> None:
    by_claim: dict[int, list[int]] = defaultdict(list)
    for branch in model.merged.branches:
        if branch.claims == 1:
            by_claim[model.merged.claim_of(branch)].append(branch.index)
    for claim, branches in by_claim.items():
        if _most(model, branches) <= RESULT_LIMIT:
            continue
        terms = [term for branch in branches for term in model.taken(branch)]
        model.rows.at_most(terms, RESULT_LIMIT, model.guard(about_limit(claim, RESULT_LIMIT)))


def _most(model: AllocationModel, branches: Iterable[int]) -> float:
    """Return how many devices these branches of one claim take at most, by what they ask for alone."""
    found: dict[int, int] = defaultdict(int)
    for branch in map(model.merged.branches.__getitem__, branches):
        if branch.all_devices or model.guarded:
            return inf
        found[branch.request] = max(found[branch.request], branch.copies * branch.count)
    return sum(found.values())


RESULT_LIMIT_ENCODER = Encoder("resultLimit", "a claim gets at most 32 devices (SRCH-8)", _post)
