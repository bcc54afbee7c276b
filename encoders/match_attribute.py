"""``matchAttribute``: all chosen devices have one value, or have members in common (CON-4, CON-7, SEM-3, SEM-4)."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from ..problem.constraints import ODD
from .collapsed import Branch
from .common_value import Key, post_common_value
from .comparisons import Comparison, comparisons, signature, values_of
from .encoder import Encoder
from .model import AllocationModel

MATCH = "matchAttribute"


def _post(model: AllocationModel) -> None:
    for comparison in comparisons(model.merged, MATCH):
        if not comparison.per_pair:
            _ENCODINGS[comparison.claims > 1](model, comparison)


def _one_claim(model: AllocationModel, comparison: Comparison) -> None:
    found, guard = values_of(model, comparison), comparison.guard(model)
    if comparison.record.sets:
        members = {key: value or 0 for key, value in found.items()}
        post_common_value(model, members, guard, whole=True, least=comparison.record.min_size)
        return
    post_common_value(model, {key: _as_set(value) for key, value in found.items()}, guard, whole=True)
    odd = [(model.takes[key], 1) for key, value in found.items() if value == ODD]
    if odd:
        # A value that equals nothing, not even itself, stands alone (CON-9).
        model.rows.at_most(odd, 1, guard)


def _as_set(value: int | None) -> int:
    """A scalar is the only member of its set; bit 0 stands for the odd one."""
    return 0 if value is None else 1 << (value - ODD)


def _equal_claims(model: AllocationModel, comparison: Comparison) -> None:
    """Count the claims by value: each of them takes all it needs from the devices of one value.

    That is why equal claims with one such entry may be merged: whoever counts on a value gets its share of it.
    """
    rows, copies, guard = model.rows, comparison.claims, comparison.guard(model)
    by_value: dict[int, list[Key]] = defaultdict(list)
    for key, value in values_of(model, comparison).items():
        if value is not None:
            by_value[value].append(key)
    claims = {value: rows.integer(0, copies) for value in sorted(by_value)}
    served = model.claims_served(model.merged.branches[comparison.branches[0]])
    terms = [*((variable, 1) for variable in claims.values()), *served.times(-1)]
    # Where requests may be let go (with guards), so may claims; otherwise all that are served count.
    rows.between(terms, served.constant if guard is None else None, served.constant)
    for value, variable in claims.items():
        for number in comparison.branches:
            _serve(model, model.merged.branches[number], by_value[value], variable, guard)


def _serve(model: AllocationModel, branch: Branch, keys: list[Key], claims: int, guard: int | None) -> None:
    own = [key for key in keys if key[0] == branch.index]
    terms = [(model.takes[key], 1) for key in own]
    terms.append((claims, -branch.count * branch.per_claim))
    model.rows.between(terms, 0 if guard is None else None, 0, guard)
    for key in own:
        if model.collapsed.lots[key[1]].first in model.merged.problem.shared:
            # Each request of these claims may take a shareable device once (DEV-13).
            model.rows.at_most([(model.takes[key], 1), (claims, -branch.per_claim)], 0, guard)


_ENCODINGS = {False: _one_claim, True: _equal_claims}

MATCH_ATTRIBUTE = Encoder(
    "matchAttribute",
    "chosen devices have a value in common (CON-4, CON-7, SEM-3, SEM-4)",
    _post,
    partial(signature, MATCH),
    sees="the values of compared attributes, as each request has them",
)
