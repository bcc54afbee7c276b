"""``includes``: one test for attributes that may be lists or single values (CEL-4)."""

from __future__ import annotations

from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, DYN
from ..values import Value, equal
from .costs import traversal
from .declare import method, only


def _includes(value: Value, wanted: Value) -> bool:
    values = value if type(value) in (list, tuple) else (value,)
    return any(_equal(one, wanted) for one in values)


def _equal(a: Value, b: Value) -> bool:
    """A comparison that is not defined finds nothing."""
    try:
        return equal(a, b)
    except CelRuntimeError:
        return False


FUNCTIONS: tuple[Function, ...] = (
    only("includes", method("includes", (DYN, DYN), BOOL, _includes, **traversal(whole=1.0))),
)
