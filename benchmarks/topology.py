"""Shapes in topologies: ``topology.py [NAME ...]`` prints a table for the docs; names are parts of questions' names.

Times are CPU times with verification, each the median of a few, in this process; limits are by the clock.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence

from measuring import LIMIT, measure

from drasat.reports.comparison import duration
from drasat.scenarios.wired import SHAPE_QUESTIONS, ShapeQuestion
from drasat.solver.load import load
from drasat.solver.outcome import ALLOCATED, UNALLOCATABLE, UNKNOWN

ENGINES = ("auto", "cp-sat", "backtracking")
COLUMNS = ("question", "outcome", "at most", *ENGINES, "proof", "literals")


def rows(names: Sequence[str], limit: float) -> Iterator[tuple[str, ...]]:
    """Measure the questions whose names have one of these parts, all without any."""
    for name, question in SHAPE_QUESTIONS.items():
        if not names or any(part in name for part in names):
            yield _row(name, question, limit)


def _row(name: str, question: ShapeQuestion, limit: float) -> tuple[str, ...]:
    cluster = load(question.objects())
    found = {engine: measure(cluster, engine, limit) for engine in ENGINES}
    expected = ALLOCATED if question.fits else UNALLOCATABLE
    wrong = [engine for engine, one in found.items() if one.outcome not in (expected, UNKNOWN)]
    outcome = found["auto"].outcome + (f", WRONG: {', '.join(wrong)}" if wrong else "")
    times = ["none in time" if one.outcome == UNKNOWN else duration(one.whole) for one in found.values()]
    literals = f"{found['cp-sat'].statistics.literals:,}"
    return name, outcome, duration(question.target), *times, found["auto"].proof, literals


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each answer")
    options = parser.parse_args(arguments)
    print(f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for row in rows(options.names, options.limit):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
