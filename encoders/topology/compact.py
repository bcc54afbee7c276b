"""``Compact``: no two devices are farther from each other than a given distance."""

from __future__ import annotations

from .covered import Covered
from .trees import post_common_node


def post_compact(covered: Covered) -> None:
    """Post for each device that nothing far from it is taken with it; without a distance, that all are of one instance.

    Devices near which there are not enough others for the shape are left out.
    """
    if covered.condition.spreads:
        post_common_node(covered)
        return
    kept = _with_enough_near(covered)
    covered.allow_only(kept)
    rows, guard, most = covered.model.rows, covered.guard, max(covered.sizes)
    for device in sorted(kept):
        near = covered.condition.near(device)
        far = [term for other in kept if other > device and other not in near for term in covered.taken[other]]
        if far:
            room = min(len(far), most)
            rows.at_most([*far, *((variable, room) for variable, _ in covered.taken[device])], room, guard)


def _with_enough_near(covered: Covered) -> set[int]:
    kept, least = set(covered.taken), min((size for size in covered.sizes if size), default=0)
    while True:
        lonely = {device for device in kept if len(covered.condition.near(device) & kept) < least}
        if not lonely:
            return kept
        kept -= lonely
