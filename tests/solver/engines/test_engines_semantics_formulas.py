"""Every mode and option, on random values: each engine finds something exactly where the formulas allow something."""

from random import Random
from time import monotonic

import pytest
from support.engines import dive
from support.gates import ALL
from support.objects import NODE, device_class, node
from support.semantics import Case

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.results.common import Status
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine, cp_sat_engine
from drasat.solver.verification.verify import Placement, verify

# Few devices are decided by a dive: cut short, it leaves something to the solver.
ENGINES = (backtracking_engine, cp_sat_engine, dive(visits=2))


def check(seed):
    """Ask all engines, verify what they answer, and return whether there is an answer."""
    case = Case(Random(f"semantics/{seed}"))
    objects = case.objects()
    claims = [item for item in objects if isinstance(item, ResourceClaim)]
    cluster = Cluster.of([node(), device_class(), *objects])
    possible = case.possible()
    for engine in ENGINES:
        session = Session(cluster, ALL, "strict", 0)
        made = engine(session).allocate_on(
            cluster.node(NODE), claims, AllocatedState(cluster.usage(ALL)), monotonic() + 30
        )
        assert made.status is (Status.ALLOCATED if possible else Status.UNALLOCATABLE), (seed, engine, made)
        if possible:
            placed = Placement(cluster.node(NODE), tuple(zip(claims, made.allocations, strict=True)))
            assert verify(cluster, [placed], ALL, cel_errors="strict") == [], (seed, engine)
    return possible


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_engines_agree_with_the_formulas(first):
    """SEM-0 to SEM-6."""
    assert {check(seed) for seed in range(first, first + 100)} == {True, False}
