"""One device for several requests: never a dedicated one, and shareable ones as often as there are requests (DEV-1)."""

from __future__ import annotations

from .collapsed import Lot, Merged
from .encoder import Encoder, Signature
from .model import AllocationModel


def _sign(merged: Merged) -> Signature | None:
    shared = merged.problem.shared
    return (lambda device: device if device in shared else None) if shared else None


def _post(model: AllocationModel) -> None:
    for lot in model.collapsed.lots:
        if lot.first in model.merged.problem.shared:
            _once_for_each_copy(model, lot)
        else:
            _one_request(model, lot)


def _one_request(model: AllocationModel, lot: Lot) -> None:
    takers = [index for index in lot.branches if not model.merged.branches[index].admin]
    if takers:
        model.rows.at_most([(model.takes[index, lot.index], 1) for index in takers], lot.size)


def _once_for_each_copy(model: AllocationModel, lot: Lot) -> None:
    """A request takes a device once, so that only copies that are served, and by this alternative, take it (DEV-13)."""
    for index in lot.branches:
        branch = model.merged.branches[index]
        served = model.served(branch)
        if served.terms and branch.copies > 1:
            model.rows.at_most([(model.takes[index, lot.index], 1), *served.times(-1)], served.constant)


SHARING = Encoder(
    "sharing",
    "a dedicated device serves one request, a shareable one each request once (DEV-1, DEV-13)",
    _post,
    _sign,
    sees="the device itself, if it is shareable",
)
