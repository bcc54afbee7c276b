"""Bounds from duals cut off no plan: rows with large amounts, and pools of which nodes see parts."""

import pytest
from ortools.sat.python import cp_model
from support import manifests
from support.objects import claim, device, device_class, labels, node, pool, want

import drasat
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


HOST, ZONE = "kubernetes.io/hostname", "zone"
PORT = {"containers": [manifests.container("1", ports=[{"containerPort": 80, "hostPort": 80}])]}
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}
EVEN = {"topologySpreadConstraints": [WEB | {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]}


def apart(key):
    terms = [{"topologyKey": key, **WEB}]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(
    ("spec", "running", "most"),
    [
        ({}, {}, 6),
        (PORT, {}, 3),
        (PORT, PORT, 2),
        (apart(HOST), {}, 2),
        (apart(ZONE), {}, 1),
        (apart(ZONE), apart(HOST), 1),
        # With the pod that runs zone y gets two at most, and x one more.
        (EVEN, {}, 4),
    ],
)
def test_rules_of_pods_bound_how_many_there_are(spec, running, most):
    """Nodes a and b of zone x, and c of zone y, on which a pod runs; all have room for more."""
    nodes = [manifests.node(name, cpu=cpu) for name, cpu in (("a", "3"), ("b", "3"), ("c", "2"))]
    for one, zone in zip(nodes, "xxy", strict=True):
        one["metadata"]["labels"] = {HOST: one["metadata"]["name"], ZONE: zone}
    there = manifests.pod("r", cpu="1", spec={**running, "nodeName": "c"}, labels={"app": "web"})
    web = manifests.maker("Deployment", "web", cpu="1", pod_spec=spec, labels={"app": "web"}, spec={"replicas": 6})
    cluster = manifests.cluster(*nodes, there, web)
    [stage] = drasat.plan(cluster, objective=["admitted"], audit=10.0).document.objective
    assert (stage.bound, stage.proof) == (stage.value, "audited" if most < 6 else "witness")
    assert stage.value == most


@pytest.mark.parametrize(("stage", "least"), [("fewest-nodes", 1), ("spread", 2)])
def test_units_that_go_with_their_nodes_count_nothing_in_stages_about_nodes(stage, least):
    own = [manifests.maker(kind, name, cpu="1") for kind, name in (("DaemonSet", "agent"), ("Deployment", "web"))]
    own[1]["spec"]["replicas"] = 2
    cluster = manifests.cluster(*(manifests.node(name, cpu="4") for name in "ab"), *own)
    names = [one.unit_name(one.numbers[0]) for one in read_queue(cluster)]
    rows = [DualRow(kind="unit", names=(f"default/{name}",), value="1") for name in names if "agent" in name]
    stages = [
        PlanStage(stage="admitted", value=4, bound=4, proven=True, gap=0, sense="max"),
        PlanStage(stage=stage, value=least, bound=least, proven=True, gap=0, sense="min"),
    ]
    duals = StageDuals(stage=stage, rows=(DualRow(kind="stage", names=("admitted",), value="1"), *rows))
    _, bound = audited_bounds(BoundQuestion(cluster, gates_of(None)), stages, [duals])
    assert bound <= least
    found = drasat.plan(cluster, objective=["admitted", stage], audit=10.0)
    assert found.document.objective[1].value == least
