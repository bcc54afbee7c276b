"""The dive that comes before the model: it ends soon after its budget, whatever the steps look like."""

import pytest
from support.modelling import question
from support.objects import claim, devices, pool, want

from drasat.models.results.common import ProofKind, Status
from drasat.solver.engines.engine import Counts
from drasat.solver.engines.search import BudgetError, bounded_search

DEVICES = pool(*devices(*(f"d{number:02}" for number in range(24))))


@pytest.mark.parametrize("count", [1, 12])
def test_every_device_that_is_looked_at_counts(count):
    """Also the one that is taken at once: steps are then as many as visits."""
    requests = [want(f"r{number}", count) for number in range(24 // count)]
    asked, counts = question(DEVICES, claim(*requests, want("impossible", select="false"))), Counts()
    with pytest.raises(BudgetError):
        bounded_search(asked.problem, asked.in_use, counts, None, 1000)
    assert counts.steps < 2000


def test_within_the_budget_it_decides():
    asked = question(DEVICES, claim(want(count=24)))
    assert bounded_search(asked.problem, asked.in_use, Counts(), None, 1000).status is Status.ALLOCATED
    few = pool(*devices("a", "b"))
    asked = question(few, claim(want(count=3)))
    no = bounded_search(asked.problem, asked.in_use, Counts(), None, 1000)
    assert (no.status, no.proof_kind) == (Status.UNALLOCATABLE, ProofKind.EXHAUSTED)


def test_after_a_dead_end_there_is_less_patience():
    asked = question(DEVICES, claim(*(want(f"r{number:02}") for number in range(24))))
    dived = bounded_search(asked.problem, asked.in_use, Counts(), None, 1000, 10)
    assert dived.status is Status.ALLOCATED
    asked, counts = question(DEVICES, claim(want(count=12), want("impossible", select="false"))), Counts()
    with pytest.raises(BudgetError):
        bounded_search(asked.problem, asked.in_use, counts, None, 1000, 100)
    assert counts.steps < 200
