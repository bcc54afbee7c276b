"""One device for several requests: never a dedicated one, and shareable ones as often as there are requests (DEV-1)."""

from __future__ import annotations

from .collapsed import Merged
from .encoder import Encoder, Signature
from .model import AllocationModel


def _sign(merged: Merged) -> Signature | None:
    shared = merged.problem.shared
    return (lambda device: device if device in shared else None) if shared else None


def _post(model: AllocationModel) -> None:
    branches = model.merged.branches
    for lot in model.collapsed.lots:
        takers = [index for index in lot.branches if not branches[index].admin]
        if lot.first not in model.merged.problem.shared and takers:
            model.rows.at_most([(model.takes[index, lot.index], 1) for index in takers], lot.size)


SHARING = Encoder("sharing", "a dedicated device serves one request (DEV-1)", _post, _sign)
