"""``soft``: penalties of soft constraints. No constraint can be made soft yet, so that it is always 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...problem.records import Problem
from .stage import Picked, Stage

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


def _parts(_model: AllocationModel) -> list[list[Term]]:
    return []


def _is_free(_problem: Problem, _picked: Picked) -> bool:
    return True


SOFT = Stage("soft", "penalties of soft constraints; there are none yet", _parts, is_free=_is_free)
