"""What evaluating an expression over ``devices`` may cost at most (CELC-6)."""

from __future__ import annotations

from collections.abc import Sequence

from ...cel.cost_meter import COST_LIMIT
from ...cel.estimate_sizes import ITEMS, Path, device_sizes
from ...cel.library import Range
from ...cel.program import Program
from ...cel.values import CelMap, Value
from .formulas import Formulas
from .sums import TRUE, Sum
from .symbolic_values import NotLoweredError

_LISTS = frozenset({list, tuple})
# As declared for devices: characters and values of an attribute, entries of a map.
_MOST_SIZES: dict[type, int] = {str: 64, list: 64, tuple: 64, CelMap: 33}


def require_within_limit(program: Program, items: Sequence[Value], formulas: Formulas) -> None:
    """See that no evaluation can exceed the limit of costs, which would be an error; else ``NotLoweredError``.

    The static estimate is an upper bound for values as large as declared, and as many devices as may be chosen.
    """
    if not all(map(_is_small, items)):
        raise NotLoweredError("devices with larger values than the API allows")
    most = int(formulas.range_of(Sum.of_terms(0, [(item, TRUE, 1) for item in range(len(items))]))[1])

    def sizes(path: Path) -> Range | None:
        if path == ("devices",):
            return Range(0, most)
        return device_sizes(("device", *path[2:])) if path[:2] == ("devices", ITEMS) else None

    if program.estimate_with(sizes).max > COST_LIMIT:
        raise NotLoweredError("evaluating might exceed the limit of costs")


def _is_small(value: Value) -> bool:
    """No string, list or map is larger than declared."""
    pending = [value]
    while pending:
        one = pending.pop()
        most = _MOST_SIZES.get(type(one))
        if most is not None and len(one) > most:
            return False
        if type(one) is CelMap:
            pending.extend(one.values())
        elif type(one) in _LISTS:
            pending.extend(one)
    return True
