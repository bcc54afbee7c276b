"""Requests and alternatives with a count (section 14)."""

from __future__ import annotations

from .encoder import Encoder
from .model import AllocationModel
from .wording import about_request


def _post(model: AllocationModel) -> None:
    for branch in model.merged.branches:
        if not branch.all_devices:
            guard = model.guard(about_request(model.merged, branch))
            model.times_chosen(branch, model.taken(branch.index), branch.count, guard)


EXACT_COUNT = Encoder("exactCount", "a request gets as many devices as it counts", _post)
