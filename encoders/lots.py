"""Devices in lots: those that no rule can tell apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from .collapsed import Collapsed, Lot, Merged
from .encoder import Seeing


def collapse(merged: Merged, seeing: Sequence[Seeing], *, together: bool = True) -> Collapsed:
    """Put devices into lots by what all rules and objectives see of them; without ``together`` each device is alone.

    Devices that nothing could take are left out. Lots are in the order of their first devices.
    """
    takers: dict[int, list[int]] = defaultdict(list)
    for branch in merged.branches:
        for device in branch.candidates:
            takers[device].append(branch.index)
    signs = [sign for one in seeing if (sign := one.sign(merged)) is not None]
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for device in sorted(takers):
        key: Hashable = (tuple(takers[device]), *(sign(device) for sign in signs)) if together else device
        groups[key].append(device)
    lots = tuple(Lot(index, tuple(devices), tuple(takers[devices[0]])) for index, devices in enumerate(groups.values()))
    lots_of: list[list[int]] = [[] for _ in merged.branches]
    for lot in lots:
        for branch_index in lot.branches:
            lots_of[branch_index].append(lot.index)
    return Collapsed(merged, lots, tuple(map(tuple, lots_of)))
