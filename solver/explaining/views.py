"""A node's devices as the requests among the reasons see them: how many match, and what becomes of those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...encoders.collapsed import Branch
from ...problem.messages import claim_text
from ...problem.obstacles import Obstacle
from ..tables import Fallen
from .records import RequestView
from .sentences import Sentences

# Who reads about a device wants to know first that somebody has it.
_FIRST = "inUse"


def request_views(words: Sentences) -> tuple[RequestView, ...]:
    """List the requests among the reasons; of equal ones the first."""
    return tuple(_view(words, branch) for branch in words.requested)


def _view(words: Sentences, branch: Branch) -> RequestView:
    case, number = words.case, branch.demands[0]
    demand = case.problem.demands[number]
    matching = words.meant(branch)
    of_device = case.obstacles.of[number]
    firsts = Counter(_first(of_device[device]) for device in matching)
    free = firsts.pop(None, 0)
    fallen = sorted((Fallen(one.filter, one.name, count) for one, count in _counted(firsts)), key=_rank)
    return RequestView(
        claim_text(case.names.claims[demand.claim]),
        demand.label,
        demand.class_name,
        max(demand.count, 1),
        case.problem.size,
        len(matching),
        free,
        tuple(fallen),
    )


def _first(found: tuple[Obstacle, ...]) -> Obstacle | None:
    return next((one for one in found if one.filter == _FIRST), found[0] if found else None)


def _counted(firsts: Counter[Obstacle | None]) -> Iterator[tuple[Obstacle, int]]:
    return ((one, count) for one, count in firsts.items() if one is not None)


def _rank(row: Fallen) -> tuple[int, str, str]:
    return -row.devices, row.filter, row.detail
