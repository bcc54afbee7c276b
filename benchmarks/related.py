"""Expressions over devices: ``related.py [NAME ...]`` prints tables for the docs.

Names are parts of questions' names, or ``growth``: how long it takes to lower story 2 of KEP-5254 on ever larger
squares. Times are CPU times with verification, each the median of a few, in this process; limits are by the clock.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from statistics import median

import answering
import solver_phases
from answering import ENGINES as ENGINES
from tables import machine, show

from drasat.reports.comparison import display_duration
from drasat.scenarios.lattices import RELATED_QUESTIONS, in_a_square, related_node
from drasat.solver.allocate.load import load

COLUMNS = (*answering.COLUMNS, "literals", "no-goods")
SIDES = (4, 8, 16, 24)
REPEATS = 5


def questions(names: Sequence[str], limit: float) -> Iterator[tuple[str, ...]]:
    """Measure the questions whose names have one of these parts, all without any; the head comes first."""
    yield COLUMNS
    for row, solver in answering.answers(RELATED_QUESTIONS, names, limit):
        yield *row, f"{solver.literals:,}", f"{solver.no_goods:,}"


def growth(sides: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Lower story 2 on squares: its two neighbours in a row or column are what the expression compares."""
    yield "square", "devices", "pairs beside each other", "lowering", "for each pair"
    for side in sides:
        cluster = load(related_node((side, side), 4, in_a_square()))
        seconds = median(solver_phases.measure(cluster).seconds["encode"] for _ in range(REPEATS))
        pairs = 2 * side * (side - 1)
        yield (
            f"{side}x{side}",
            f"{side * side}",
            f"{pairs:,}",
            display_duration(seconds),
            display_duration(seconds / pairs),
        )


def main(arguments: Sequence[str], sides: Sequence[int] = SIDES) -> None:
    """Print the tables; ``sides`` are those of the squares that grow."""
    options = answering.arguments_of(__doc__).parse_args(arguments)
    print(machine())
    words = [name for name in options.names if name != "growth"]
    if words or not options.names:
        show(questions(words, options.limit))
    if not options.names or "growth" in options.names:
        show(growth(sides))


if __name__ == "__main__":
    main(sys.argv[1:])
