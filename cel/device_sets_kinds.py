"""Whether devices agree in the kinds of values that an expression takes for alike (CELC-7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .device_sets_reads import Demand
from .devices import CAPACITY, PreparedDevice, Shape
from .devices_projection import Path

_FIELDS = {"driver": "string", "allowMultipleAllocations": "bool"}


def agree(demands: Iterable[Demand], devices: Iterable[PreparedDevice]) -> bool:
    """Whether all values that a demand is about are of one kind."""
    demands = list(demands)
    if not demands:
        return True
    shapes = {device.shape for device in devices}
    return all(len(kinds.union(_kinds(parts, shapes))) <= 1 for parts, kinds in demands)


def _kinds(parts: Iterable[Path], shapes: Iterable[Shape]) -> Iterator[str]:
    for part in parts:
        if part[0] in _FIELDS:
            yield _FIELDS[part[0]]
        elif part[0] == CAPACITY:
            yield "quantity"
        else:
            yield from (shape.fields[position].kind for shape in shapes for position in shape.positions(part))
