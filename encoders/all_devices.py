"""Requests and alternatives for all devices: every one of the list or none (SRCH-6)."""

from __future__ import annotations

from .collapsed import Branch
from .encoder import Encoder
from .model import AllocationModel
from .wording import about_request


def _post(model: AllocationModel) -> None:
    for branch in model.merged.branches:
        if branch.all_devices:
            _take_all(model, branch)


def _take_all(model: AllocationModel, branch: Branch) -> None:
    guard = model.guard(about_request(model.merged, branch))
    if not branch.count or len(branch.candidates) < branch.count:
        # Nothing to take, or not everything can be taken.
        model.times_chosen(branch, [], 1, guard)
        return
    for lot in model.collapsed.lots_of[branch.index]:
        model.times_chosen(branch, [(model.takes[branch.index, lot], 1)], model.collapsed.lots[lot].size, guard)


ALL = Encoder("all", "a request for all devices gets every one that matches", _post)
