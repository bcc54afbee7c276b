"""At most 32 devices for one claim (SRCH-8)."""

from __future__ import annotations

from collections import defaultdict

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
        terms = [term for branch in branches for term in model.taken(branch)]
        model.rows.at_most(terms, RESULT_LIMIT, model.guard(about_limit(claim, RESULT_LIMIT)))


RESULT_LIMIT_ENCODER = Encoder("resultLimit", "a claim gets at most 32 devices (SRCH-8)", _post)
