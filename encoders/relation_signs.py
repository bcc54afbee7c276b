"""What relations see of devices: part of what makes a lot."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from .collapsed import Merged, MergedRelation
from .encoder import Signature


def signature_of(id_: str, merged: Merged) -> Signature | None:
    """Sign devices with what the relations of this kind see of them; None if there are none."""
    relations = [one for one in merged.relations if one.record.id == id_]
    if any(one.record.condition.ordered for one in relations):
        # Which device comes first matters, so that every device is spoken of alone.
        return lambda device: device
    return partial(_sights, relations) if relations else None


def _sights(relations: list[MergedRelation], device: int) -> Hashable:
    return tuple(one.record.condition.sight(device) for one in relations)
