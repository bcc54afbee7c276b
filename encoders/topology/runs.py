"""A segment of any length, for explanations: requests that are let go may take as many devices as they like."""

from __future__ import annotations

from .covered import Covered


def post_run(covered: Covered) -> None:
    """Take devices of one Ring or Line of which at most one is the last: the next one is not taken, or is none."""
    rows, guard = covered.model.rows, covered.guard
    covered.allow_only(covered.taken)
    lasts: list[int] = []
    homes: list[int] = []
    for places, devices in covered.instances():
        homes.append(rows.boolean())
        for device in devices:
            terms = covered.taken[device]
            next_one = places.at.get(places.wrapped((places.cells[device][0] + 1,)) or ())
            follows = covered.taken.get(next_one, []) if next_one is not None else []
            lasts.append(rows.boolean())
            rows.at_most([*terms, *((variable, -1) for variable, _ in follows), (lasts[-1], -1)], 0, guard)
            rows.at_most([*terms, (homes[-1], -1)], 0, guard)
    rows.at_most([(literal, 1) for literal in lasts], 1)
    rows.at_most([(literal, 1) for literal in homes], 1)
