"""Bounds from an instance that demands less: what it cannot do, no plan of the question can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .generation import Budget, Generator
from .instance import Instance, Row, Stage
from .limits import PlanLimits
from .master import Master
from .pricing import Pricer


def bounds(
    instance: Instance, stages: Sequence[tuple[Stage, int]], pricer: Pricer, limits: PlanLimits
) -> Iterator[int | None]:
    """Bound each stage for plans that are as good as these values in the stages before; None for unknown."""
    master = Master(instance)
    generator = Generator(instance, master, pricer)
    for stage, value in stages:
        master.aim(stage)
        generated = generator.run(stage, Budget(limits.rounds, limits.gap, limits.deadline), instance.most())
        yield generated.rounded(instance, stage)
        master.add_row(Row(stage.terms, lower=value) if stage.maximise else Row(stage.terms, upper=value))
