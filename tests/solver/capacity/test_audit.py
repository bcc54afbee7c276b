"""Audits of capacity: bounds that hold, bounds that do not, and bounds too large to make so many copies."""

from dataclasses import replace
from time import monotonic

import pytest
from support.capacity import ask, cluster
from support.gates import ALL
from support.objects import claim, device, devices, pool, want

from drasat.models.results.common import ProofKind
from drasat.solver.allocate.check import VerificationError
from drasat.solver.capacity.audit import CapacityAudit
from drasat.solver.capacity.records import find_copy_source

MILLION = 1_000_000


def audited(answer, found, bound, copies=1):
    """Audit a bound that is said to hold; no more than so many ``copies`` are made."""
    source, make = find_copy_source(found), find_copy_source(found)._make

    def counted(number):
        assert number < copies
        return make(number)

    source = replace(source, _make=counted)
    nodes = tuple(replace(one, room=replace(one.room, bound=bound)) for one in answer.nodes)
    judge = CapacityAudit(found, ALL, (), monotonic(), None)
    kinds, interrupted = judge.audited(replace(answer, nodes=nodes), source, 600.0)
    assert not interrupted
    return {one.proof_kind for one in kinds.nodes}


FEW = (pool(*devices("a", "b", "c")), claim(want()))
SHARED = (pool(device("a", capacity={"memory": "2000000"}, multi=True)), claim(want(capacity={"memory": "1"})))


def test_a_bound_beyond_all_devices_holds_without_a_copy_more():
    assert audited(ask(*FEW), cluster(*FEW), MILLION) == {ProofKind.AUDITED}


def test_a_large_bound_that_counting_does_not_show_makes_no_copies():
    answer = ask(*SHARED, limit=2)
    assert audited(answer, cluster(*SHARED), MILLION) == {answer.nodes[0].proof_kind}


def test_a_bound_that_is_too_small_is_a_defect():
    with pytest.raises(VerificationError, match="3 copies fit node n1, and 2 are said to be the most"):
        audited(ask(*FEW), cluster(*FEW), 2, copies=3)
