"""Questions with a known answer and a target, put to engines side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from measuring import LIMIT, measure

from drasat.models.results.common import Status
from drasat.reports.comparison import display_duration
from drasat.scenarios.lattices import LatticeQuestion
from drasat.solver.allocate.load import load
from drasat.solver.engines.outcome import Statistics

ENGINES = ("auto", "cp-sat", "backtracking")
COLUMNS = ("question", "outcome", "at most", *ENGINES, "proof")


def arguments_of(description: str | None) -> argparse.ArgumentParser:
    """Understand parts of names, and a limit."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each answer")
    return parser


def answers(
    questions: Mapping[str, LatticeQuestion], names: Sequence[str], limit: float
) -> Iterator[tuple[tuple[str, ...], Statistics]]:
    """Measure the questions whose names have one of these parts, all without any: a row, and what the solver did."""
    for name, question in questions.items():
        if not names or any(part in name for part in names):
            yield _answer(name, question, limit)


def _answer(name: str, question: LatticeQuestion, limit: float) -> tuple[tuple[str, ...], Statistics]:
    cluster = load(question.objects())
    found = {engine: measure(cluster, engine, limit) for engine in ENGINES}
    expected = Status.ALLOCATED if question.fits else Status.UNALLOCATABLE
    wrong = [engine for engine, one in found.items() if one.outcome not in (expected, Status.UNKNOWN)]
    outcome = found["auto"].outcome + (f", WRONG: {', '.join(wrong)}" if wrong else "")
    times = ["none in time" if one.outcome == Status.UNKNOWN else display_duration(one.whole) for one in found.values()]
    row = name, outcome, display_duration(question.target), *times, found["auto"].proof
    return row, found["cp-sat"].statistics
