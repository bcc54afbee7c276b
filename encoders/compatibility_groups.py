"""Compatibility groups: devices drawn from one counter set have a group in common, or none has any (section 12)."""

from __future__ import annotations

from collections import defaultdict

from ..problem.order import draws_anew
from .collapsed import Merged
from .common_value import Key, post_common_value
from .encoder import Encoder, Signature
from .model import AllocationModel
from .wording import about_groups

# Bit 0 says "grouped" in the Problem; as a value in common it must not count, and "no groups" is one.
_UNGROUPED = 1


def _sign(merged: Merged) -> Signature | None:
    membership = merged.problem.groups.membership
    if not membership:
        return None
    return lambda device: membership.get(device) if draws_anew(merged.problem, merged.in_use, device) else None


def _post(model: AllocationModel) -> None:
    problem, in_use = model.merged.problem, model.merged.in_use
    values: dict[int, dict[Key, int]] = defaultdict(dict)
    for lot in model.collapsed.lots:
        if draws_anew(problem, in_use, lot.first):
            for place, groups in problem.groups.membership.get(lot.first, ()):
                for branch in lot.branches:
                    values[place][branch, lot.index] = _value(groups, in_use.groups[place])
    for place, found in values.items():
        post_common_value(model, found, model.guard(about_groups(problem, place)))


def _value(groups: int, state: int | None) -> int:
    """Write the groups as values in common, as far as devices in use leave them (GRP-3)."""
    own = groups & ~1 or _UNGROUPED
    if state is None:
        return own
    return own & (state & ~1 if state else _UNGROUPED)


COMPATIBILITY_GROUPS = Encoder(
    "compatibilityGroups",
    "devices of a counter set have a group in common (GRP-3)",
    _post,
    _sign,
    sees="the groups on each counter set, nothing of a shareable device in use (GRP-4)",
)
