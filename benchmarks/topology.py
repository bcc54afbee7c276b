"""Shapes in topologies: ``topology.py [NAME ...]`` prints a table for the docs; names are parts of questions' names.

Times are CPU times with verification, each the median of a few, in this process; limits are by the clock.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import answering
from answering import ENGINES as ENGINES
from tables import machine, show

from drasat.scenarios.lattices import SHAPE_QUESTIONS

COLUMNS = (*answering.COLUMNS, "literals")


def rows(names: Sequence[str], limit: float) -> Iterator[tuple[str, ...]]:
    """Measure the questions whose names have one of these parts, all without any."""
    for row, solver in answering.answers(SHAPE_QUESTIONS, names, limit):
        yield *row, f"{solver.literals:,}"


def table(names: Sequence[str], limit: float) -> Iterator[tuple[str, ...]]:
    """Head the rows."""
    yield COLUMNS
    yield from rows(names, limit)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    options = answering.arguments_of(__doc__).parse_args(arguments)
    print(machine())
    show(table(options.names, options.limit))


if __name__ == "__main__":
    main(sys.argv[1:])
