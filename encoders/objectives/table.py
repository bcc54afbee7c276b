"""The stages by name, in the order in which a reader would ask for them."""

from __future__ import annotations

from collections.abc import Iterable

from ...problem.conditions import soft_relations
from ...problem.problem import Problem
from .compact import COMPACT
from .fragmentation import FRAGMENTATION
from .simple import OPENED, PREFERENCE, SOFT
from .stage import AllocationStage

STAGES: dict[str, AllocationStage] = {stage.id: stage for stage in (PREFERENCE, SOFT, FRAGMENTATION, COMPACT, OPENED)}


def default_stages(problem: Problem) -> tuple[AllocationStage, ...]:
    """List the stages of who asks for none: the scheduler's preference, then what soft entries cost (SOFT-1)."""
    return (PREFERENCE, SOFT) if soft_relations(problem) else (PREFERENCE,)


def stages_named(names: str | Iterable[str]) -> tuple[AllocationStage, ...]:
    """Find stages by name; a string holds several, separated by commas. Raises ``ValueError``, one line."""
    parts = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    for number, name in enumerate(parts):
        if name not in STAGES:
            raise ValueError(f"unknown stage {name!r} of an objective, known are: {', '.join(STAGES)}")
        if name in parts[:number]:
            raise ValueError(f"stage {name!r} comes twice in the objective")
    return tuple(STAGES[name] for name in parts)
