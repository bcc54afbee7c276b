"""Admin access minds only what its own claim picked, but is in the way of every normal request after it (DEV-1)."""

from __future__ import annotations

from itertools import combinations

from .collapsed import Lot, Merged
from .encoder import Encoder, Signature
from .model import AllocationModel


def _sign(merged: Merged) -> Signature | None:
    observed = {device for branch in merged.branches if branch.admin for device in branch.candidates}
    return (lambda device: device if device in observed else None) if observed else None


def _post(model: AllocationModel) -> None:
    branches, shared = model.merged.branches, model.merged.problem.shared
    for lot in model.collapsed.lots:
        if lot.first not in shared and any(branches[index].admin for index in lot.branches):
            _exclude(model, lot)


def _exclude(model: AllocationModel, lot: Lot) -> None:
    """Keep apart what the search would: branches are in the order in which it reaches them.

    What has admin access is in nobody's way once it is allocated (IN-3), so not in that of other units.
    """
    branches = model.merged.branches
    together = model.units.together
    for earlier, later in combinations((branches[index] for index in lot.branches), 2):
        claims = model.merged.claim_of(earlier), model.merged.claim_of(later)
        if claims[0] == claims[1] or (earlier.admin and not later.admin and together(*claims)):
            model.rows.at_most([(model.takes[one.index, lot.index], 1) for one in (earlier, later)], 1)


ADMIN_ACCESS = Encoder(
    "adminAccess",
    "admin access is asymmetric (DEV-1, DEV-15)",
    _post,
    _sign,
    sees="the device itself, if an admin request could take it",
)
