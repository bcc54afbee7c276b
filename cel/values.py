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

Opaque Kubernetes types are objects of their own: ``models.quantity.Quantity``, ``models.versions.Version`` (Semver), and the
url, ip, cidr and format values of ``cel/libraries``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = Any
