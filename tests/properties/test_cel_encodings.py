"""Every encoding of expressions over devices, and every engine, decides as evaluating them on all choices does.

``PYTHONPATH=tests python tests/properties/test_cel_encodings.py FIRST COUNT`` tries so many cases and tells
what came of them.
"""

import os
import sys
from collections import Counter
from functools import partial

import pytest
from support.cel_cases import Expected, case

from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import VerificationError

ENCODINGS = ("auto", "lower", "table", "lazy")
FACTOR = int(os.environ.get("DRASAT_PROPERTY_FACTOR", "1"))
OFFSET = int(os.environ.get("DRASAT_PROPERTY_OFFSET", "0"))
PART = 125 * FACTOR


def questions(asked):
    """How to ask each engine, and the solver with each encoding, by name."""
    ask = partial(allocate, asked.cluster(), cel_errors=asked.policy)
    encodings = {f"cp-sat, {encoding}": partial(ask, engine="cp-sat", cel_encoding=encoding) for encoding in ENCODINGS}
    return encodings | {engine: partial(ask, engine=engine) for engine in ("auto", "backtracking")}


def disagreements(seed, seen):
    """What is wrong about the answers to a case; ``seen`` counts what came of it."""
    asked = case(seed)
    expected = Expected(asked)
    wanted = expected.outcome()
    seen[wanted] += 1
    for name, ask in questions(asked).items():
        try:
            answer = ask()
        except VerificationError as error:
            yield f"case {seed}, {name}: {error}: {asked}"
            continue
        reasons = [failure.message for unit in answer.units for failure in unit.failures]
        refused = [way for way in ("cannot be lowered", "cannot be tabulated") if way in str(reasons)]
        if answer.outcome == Status.UNKNOWN and refused:
            seen[refused[0]] += 1
            continue
        in_order = name == "backtracking" and asked.policy == "kube"
        right = expected.outcome_in_order() if in_order else wanted
        if answer.outcome != right:
            yield f"case {seed}, {name}: {right}, not {answer.outcome} {reasons}: {asked}"
        elif right == Status.ALLOCATED and not expected.holds(answer):
            yield f"case {seed}, {name}: not a choice that holds: {asked}"
        seen["no-goods"] += answer.statistics.no_goods


@pytest.fixture(autouse=True)
def short_tables(monkeypatch):
    """Evaluating thousands of sets beforehand would take most of the time."""
    monkeypatch.setattr("drasat.encoders.constraints.relations.MOST_TABLE_VECTORS", 2_000)


@pytest.mark.parametrize("first", range(OFFSET, OFFSET + 8 * PART, PART))
def test_encodings_and_engines_decide_as_trying_everything_does(first):
    """CELC-2, CELC-3, CELC-4, CELC-7, CELC-9, CELC-10."""
    seen = Counter()
    wrong = [found for seed in range(first, first + PART) for found in disagreements(seed, seen)]
    assert not wrong
    assert min(seen[outcome] for outcome in ("Allocated", "Unallocatable", "Error", "no-goods")) > PART // 25
    assert seen["cannot be lowered"] < PART // 3
    assert seen["cannot be tabulated"] < PART // 8


def main(first, count):
    seen = Counter()
    for seed in range(first, first + count):
        for found in disagreements(seed, seen):
            print(found, flush=True)
        if (seed + 1) % 1000 == 0:
            print(seed + 1, dict(seen), flush=True)
    print(dict(seen))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
