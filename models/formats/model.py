"""What every API model has in common."""

from __future__ import annotations

from typing import Annotated, dataclass_transform

import msgspec

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
Int64 = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)]
# A quantity as written in a manifest; the API accepts bare numbers beside strings.
QuantityText = str | int | float
# Names whose API spelling is neither their own nor its camel case.
_API_NAMES = {"int_value": "int", "bool_value": "bool", "share_id": "shareID"}


def api_name(field: str) -> str:
    """Spell a field of ours as the API does: ``binds_to_node`` is ``bindsToNode``."""
    first, *rest = field.split("_")
    return _API_NAMES.get(field) or first + "".join(word.capitalize() for word in rest)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Model(msgspec.Struct, frozen=True, rename=api_name, gc=False, omit_defaults=True):
    """An immutable API object or a part of one.

    Field names are the API's in snake case. ``None`` means absent (or ``null``), which the API
    tells apart from an empty list in a few places (PRE-2, PRE-5, POOL-11). Unknown fields are
    ignored; what is required is said by ``validation``, not by the types. Objects hold no cycles,
    so the garbage collector need not follow them (a cluster has millions).
    """
