"""Expressions over devices: ``related.py [NAME ...]`` prints tables for the docs.

Names are parts of questions' names, or ``growth``: how long it takes to lower story 2 of KEP-5254 on ever larger
squares. Times are CPU times with verification, each the median of a few, in this process; limits are by the clock.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from statistics import median

import solver_phases
from measuring import LIMIT, measure

from drasat.reports.comparison import duration
from drasat.scenarios.related import RELATED_QUESTIONS, in_a_square, related
from drasat.scenarios.wired import ShapeQuestion
from drasat.solver.load import load
from drasat.solver.outcome import ALLOCATED, UNALLOCATABLE, UNKNOWN

ENGINES = ("auto", "cp-sat", "backtracking")
COLUMNS = ("question", "outcome", "at most", *ENGINES, "proof", "literals", "no-goods")
SIDES = (4, 8, 16, 24)
REPEATS = 5


def questions(names: Sequence[str], limit: float) -> Iterator[tuple[str, ...]]:
    """Measure the questions whose names have one of these parts, all without any."""
    yield COLUMNS
    for name, question in RELATED_QUESTIONS.items():
        if not names or any(part in name for part in names):
            yield _row(name, question, limit)


def _row(name: str, question: ShapeQuestion, limit: float) -> tuple[str, ...]:
    cluster = load(question.objects())
    found = {engine: measure(cluster, engine, limit) for engine in ENGINES}
    expected = ALLOCATED if question.fits else UNALLOCATABLE
    wrong = [engine for engine, one in found.items() if one.outcome not in (expected, UNKNOWN)]
    outcome = found["auto"].outcome + (f", WRONG: {', '.join(wrong)}" if wrong else "")
    times = ["none in time" if one.outcome == UNKNOWN else duration(one.whole) for one in found.values()]
    solver = found["cp-sat"].statistics
    counted = [f"{number:,}" for number in (solver.literals, solver.no_goods)]
    return name, outcome, duration(question.target), *times, found["auto"].proof, *counted


def growth() -> Iterator[tuple[str, ...]]:
    """Lower story 2 on squares: its two neighbours in a row or column are what the expression compares."""
    yield "square", "devices", "pairs beside each other", "lowering", "for each pair"
    for side in SIDES:
        cluster = load(related((side, side), 4, in_a_square()))
        seconds = median(solver_phases.measure(cluster).seconds["encode"] for _ in range(REPEATS))
        pairs = 2 * side * (side - 1)
        yield f"{side}x{side}", f"{side * side}", f"{pairs:,}", duration(seconds), duration(seconds / pairs)


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each answer")
    options = parser.parse_args(arguments)
    print(f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}")
    words = [name for name in options.names if name != "growth"]
    if words or not options.names:
        _print(questions(words, options.limit))
    if not options.names or "growth" in options.names:
        _print(growth())


def _print(rows: Iterator[tuple[str, ...]]) -> None:
    head = next(rows)
    print(f"\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
