"""Bounds from duals cut off no plan: rows with large amounts, and pools of which nodes see parts."""

from ortools.sat.python import cp_model
from support.objects import claim, device, device_class, labels, node, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import gates_of
from drasat.models.results.plan import DualRow, PlanStage, StageDuals
from drasat.models.workload.queue import read_queue
from drasat.solver.verification.audit_rows import LARGEST_COEFFICIENT, audit_solver, post_at_most, run_audit
from drasat.solver.verification.bounds import BoundQuestion, audited_bounds
from drasat.solver.verification.payments import cannot_be_better


def test_a_row_with_odd_amounts_allows_all_that_is_left():
    """Terabytes of a node, for pods whose requests have no large factor in common."""
    model = cp_model.CpModel()
    counts = [model.new_int_var(0, 1000, "") for _ in range(2)]
    post_at_most(model, [(counts[0], LARGEST_COEFFICIENT - 1), (counts[1], 10**11)], 2000 * LARGEST_COEFFICIENT)
    model.maximize(sum(counts))
    solver = audit_solver(None)
    assert run_audit(solver, model) == cp_model.OPTIMAL
    assert [solver.value(one) for one in counts] == [1000, 1000]


def test_the_capacity_of_a_device_that_other_nodes_see_counts():
    """POOL-14, CAP-6: two claims each take a device of a pool of which each node sees one slice."""
    parts = [
        pool(
            device(f"d{zone}", capacity={"memory": "10"}, multi=True),
            slice_name=zone,
            count=2,
            node_selector=labels({"zone": (zone,)}),
        )
        for zone in "ab"
    ]
    claims = [claim(want(), name=name) for name in ("c0", "c1")]
    cluster = Cluster.of([device_class(), node("n1", zone="a"), node("n2", zone="b"), *parts, *claims])
    rows = (
        DualRow(kind="unit", names=("ns/c0",), value="1"),
        DualRow(kind="capacity", names=("d.x/p/db", "memory"), value="1/5"),
    )
    stage = PlanStage(stage="admitted", value=2, bound=2, proven=True, gap=0, sense="max")
    question = BoundQuestion(cluster, gates_of(None))
    assert list(audited_bounds(question, [stage], [StageDuals(stage="admitted", rows=rows)])) == [2]


def test_a_value_is_a_witness_only_if_nothing_that_counts_is_left():
    [left] = read_queue(Cluster.of([device_class(), node(), claim(want("r"))]))

    def told(name, value, sense="max"):
        return PlanStage(stage=name, value=value, bound=value, proven=True, gap=0.0, sense=sense)

    assert cannot_be_better(told("cost", 0, "min"), [left.shape])
    assert not cannot_be_better(told("cost", 1, "min"), [])
    assert cannot_be_better(told("admitted", 1), [])
    assert not cannot_be_better(told("admitted", 1), [left.shape])
    # A unit of another priority does not count.
    assert cannot_be_better(told("priority=100", 1), [left.shape])
    assert not cannot_be_better(told("priority=0", 1), [left.shape])
    # What it counts in such a stage is not read, and other stages are no sums over units.
    assert not cannot_be_better(told("admitted=capacity:memory", 1), [left.shape])
    assert not cannot_be_better(told("preferences", 1), [])
