"""How values look in Python while an expression runs.

=============  ==========================================================
CEL            Python
=============  ==========================================================
null           ``None``
bool           ``bool``
int            ``int`` (never ``bool``), within int64
uint           ``UInt``
double         ``float``
string         ``str``
bytes          ``bytes``
list           ``list`` or ``tuple``
map            ``CelMap``
timestamp      ``Timestamp``
duration       ``Duration``
type           ``TypeValue``
optional       ``Optional``
=============  ==========================================================

Opaque Kubernetes types are objects of their own: ``models.quantity.Quantity``, ``models.versions.Version`` (Semver),
and the url, ip, cidr and format values of ``cel/libraries``. They are made values by ``register``.
"""

from __future__ import annotations

from .values_core import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    CelMap,
    Optional,
    TypeValue,
    UInt,
    Value,
    inner_size,
    is_measured,
    put_key,
    register,
    runtime_type,
    size_of,
    stored_key,
    type_name,
    type_spelling,
)
from .values_equality import comparable, compare, equal, surely_equal, unequal
from .values_time import NANOS, Duration, Timestamp

__all__ = [
    "INT_MAX", "INT_MIN", "NANOS", "NONE", "UINT_MAX", "CelMap", "Duration", "Optional", "Timestamp", "TypeValue",
    "UInt", "Value", "comparable", "compare", "equal", "inner_size", "is_measured", "put_key", "register",
    "runtime_type", "size_of", "stored_key", "surely_equal", "type_name", "type_spelling", "unequal",
]  # fmt: skip
