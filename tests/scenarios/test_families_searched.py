"""Families are neither too easy nor too hard: measured with the backtracking engine."""

import pytest
from support.families import FAMILIES, member
from support.gates import ALL

from drasat.models.cluster.node_fit import pod_fits
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine

SEEDS = range(80)


def _place(engine, cluster, unit, allocated_state):
    """The allocations of a unit on the first node that has them; None without any."""
    claims = [ref.claim for ref in unit.requested_claims]
    for node in cluster.nodes.values():
        if unit.pod is None or not pod_fits(unit.pod.spec, node):
            attempt = engine.allocate_on(node, claims, allocated_state, None)
            if attempt.status is Status.ALLOCATED:
                allocated_state.commit(
                    (ref.key, got) for ref, got in zip(unit.requested_claims, attempt.allocations, strict=True)
                )
                return attempt.allocations
    return None


def _solve(cluster):
    """Whether everything can be allocated, and how many steps beyond one for each device taken or kind of thing."""
    engine, allocated_state = backtracking_engine(Session(cluster, ALL, "kube", 0)), AllocatedState(cluster.usage(ALL))
    placed = [_place(engine, cluster, unit, allocated_state) for unit in requested_units(cluster)]
    taken = sum(len(allocation.devices.results) for unit in placed for allocation in unit or ())
    return all(unit is not None for unit in placed), engine.counts.steps - 2 * taken - 8


@pytest.mark.parametrize("family", FAMILIES)
def test_about_half_can_be_allocated_and_many_need_to_go_back(family, load):
    solved = [_solve(load(member(family, seed))) for seed in SEEDS]
    feasible = sum(placed for placed, _ in solved) / len(SEEDS)
    went_back = sum(extra > 0 for _, extra in solved) / len(SEEDS)
    assert 0.35 <= feasible <= 0.65
    assert went_back >= 0.1
