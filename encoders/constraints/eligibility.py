"""What keeps devices away one by one, as rows with guards: for explanations only.

Elsewhere such a device is no candidate in the first place (``problem.usable``).
"""

from __future__ import annotations

from collections import defaultdict

from ...problem.obstacles import Obstacles
from ...problem.problem import Justification
from ..classes import MergedProblem
from ..model import AllocationModel, Encoder, Signature, justify_obstacle
from ..rows import Term


def eligibility_encoder(obstacles: Obstacles) -> Encoder:
    """Make the encoder of these obstacles; devices stay together that have the same ones for every alternative."""

    def sign(merged: MergedProblem) -> Signature:
        firsts = [obstacles.of[alternative.demands[0]] for alternative in merged.alternatives]
        return lambda device: tuple(of_demand[device] for of_demand in firsts)

    def post(model: AllocationModel) -> None:
        rows: dict[Justification, list[Term]] = defaultdict(list)
        for (index, class_), variable in model.takes.items():
            alternative = model.merged.alternatives[index]
            for obstacle in obstacles.of[alternative.demands[0]][model.reduced.classes[class_].representative]:
                rows[justify_obstacle(model.merged, alternative, obstacle)].append((variable, 1))
        for justification, terms in rows.items():
            model.rows.at_most(terms, 0, model.guard(justification))

    return Encoder(
        "eligibility",
        "a request takes devices that pass its filters and are free",
        post,
        sign,
        sees="what keeps it away from each request",
    )
