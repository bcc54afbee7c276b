"""``includes``: one test for attributes that may be lists or single values (CEL-4); ``include`` is the same (SEM-8)."""

from __future__ import annotations

from ..cost_meter import paced
from ..library import Function
from ..types import BOOL, DYN
from ..values import Value, surely_equal
from .costs import traversal
from .declare import method, only


def _includes(value: Value, wanted: Value) -> bool:
    values = value if type(value) in (list, tuple) else (value,)
    return any(surely_equal(one, wanted) for one in paced(values))


FUNCTIONS: tuple[Function, ...] = tuple(
    only(name, method(name, (DYN, DYN), BOOL, _includes, **traversal(whole=1.0))) for name in ("includes", "include")
)
