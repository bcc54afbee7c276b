"""The openb queue: its sizes, its manifests, and what its tables tell; how long anything takes is not tested."""

from collections import Counter
from dataclasses import replace
from random import Random

import openb as program
import pytest
from msgspec import structs

from drasat.scenarios import openb as objects
from drasat.solver.allocate.load import load as read
from drasat.solver.plan.master_problem import MasterProblem, PlanLimits
from drasat.solver.plan.plan import plan
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.linear import LinearPricer

GPUS = 6212
CLASSES = {"plain": 151, "models": 457}
EVERY = pytest.mark.parametrize("queue", CLASSES)


@pytest.fixture
def small(monkeypatch):
    """The program with a fortieth of all counts."""
    whole = program.openb

    def openb(queue, load):
        trace = whole(queue, load)
        pods = tuple(replace(pod, count=pod.count // 40) for pod in trace.pods)
        return replace(trace, nodes=tuple(replace(node, count=node.count // 40) for node in trace.nodes), pods=pods)

    monkeypatch.setattr(program, "openb", openb)
    return program


@pytest.fixture
def few():
    """Makes a trace of a few nodes and pods by hand."""

    def make(nodes, pods):
        return objects.Openb(tuple(objects.Nodes(*node) for node in nodes), tuple(objects.Pods(*pod) for pod in pods))

    return make


@EVERY
def test_nodes_are_those_of_the_trace(queue):
    trace = program.openb(queue, 1.0)
    assert len(trace.nodes) == 27
    assert sum(node.count for node in trace.nodes) == 1523
    assert trace.gpus == GPUS * 1000


@EVERY
@pytest.mark.parametrize("load", [1.0, 1.1, 1.3])
def test_counts_are_scaled_so_that_the_demand_for_gpus_is_as_said(queue, load):
    trace = program.openb(queue, load)
    assert len(trace.pods) == CLASSES[queue]
    # The counts of classes are rounded one by one, and those of many are small.
    assert trace.demand / trace.gpus == pytest.approx(load, rel=0.012)


def test_only_pods_of_one_queue_name_models():
    plain, models = (program.openb(queue, 1.0) for queue in CLASSES)
    assert not any(pods.models for pods in plain.pods)
    named = {model for pods in models.pods for model in pods.models}
    assert named
    assert named <= {node.model for node in models.nodes}
    assert all(pods.gpus for pods in models.pods if pods.models)


@EVERY
def test_manifests_are_a_cluster_with_the_whole_queue(queue):
    trace = program.openb(queue, 1.0)
    made = program.manifests(trace)
    cluster = read(made)
    assert len(cluster.nodes) == 1523
    assert cluster.device_count == GPUS
    replicas = [item["spec"]["replicas"] for item in made if item["kind"] == "Deployment"]
    assert replicas == [pods.count for pods in trace.pods if pods.count]


def test_a_node_offers_its_gpus_to_several_claims_each(few):
    made = program.manifests(few([(2, "T4", 2, 9500, 64), (1, "", 0, 100, 6)], []))
    nodes = {item["metadata"]["name"]: item["status"]["allocatable"] for item in made if item["kind"] == "Node"}
    assert [*nodes] == ["node-0000", "node-0001", "node-0002"]
    assert nodes["node-0001"].items() >= {"cpu": "9500m", "memory": "64Mi"}.items()
    slices = [item["spec"] for item in made if item["kind"] == "ResourceSlice"]
    assert [spec["nodeName"] for spec in slices] == ["node-0000", "node-0001"]
    for spec in slices:
        assert [one["allowMultipleAllocations"] for one in spec["devices"]] == [True, True]
        assert {one["capacity"]["share"]["value"] for one in spec["devices"]} == {"1000"}
        assert {one["attributes"]["model"]["string"] for one in spec["devices"]} == {"T4"}


@pytest.mark.parametrize(
    ("pods", "count", "share", "selectors"),
    [
        ((3, 4, 1000, 1, 1), 4, "1000", 0),
        ((3, 1, 250, 1, 1), 1, "250", 0),
        ((3, 1, 250, 1, 1, ("T4", "G2")), 1, "250", 1),
    ],
)
def test_a_claim_asks_for_wholes_or_for_a_share_of_one(few, pods, count, share, selectors):
    made = program.manifests(few([], [pods]))
    (template,) = [item for item in made if item["kind"] == "ResourceClaimTemplate"]
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    asked = request["exactly"]
    assert (asked["count"], asked["capacity"]) == (count, {"requests": {"share": share}})
    assert len(asked.get("selectors", ())) == selectors
    (deployment,) = [item for item in made if item["kind"] == "Deployment"]
    (entry,) = deployment["spec"]["template"]["spec"]["resourceClaims"]
    assert entry["resourceClaimTemplateName"] == template["metadata"]["name"]


def test_kinds_without_pods_have_no_manifests(few):
    made = program.manifests(few([], [(0, 1, 1000, 1, 1), (1, 1, 1000, 1, 1)]))
    assert [item["metadata"]["name"] for item in made if item["kind"] == "Deployment"] == ["pods-001"]


def test_pods_without_gpus_have_no_claims(few):
    made = program.manifests(few([(1, "", 0, 4000, 8)], [(2, 0, 0, 1000, 1)]))
    assert {item["kind"] for item in made} == {"DeviceClass", "Node", "Deployment"}
    found = plan(read(made), objective="admitted", gap=0.0)
    assert found.placed == 2


@pytest.mark.parametrize(
    ("pods", "placed"),
    [
        # Two GPUs hold three shares of 600 no more than they hold three of all.
        ([(3, 1, 600, 1, 1)], 2),
        ([(3, 1, 1000, 1, 1)], 2),
        ([(9, 1, 500, 1, 1)], 4),
        ([(2, 2, 1000, 1, 1)], 1),
        # All of a GPU, and two halves of the other.
        ([(1, 1, 1000, 1, 1), (3, 1, 500, 1, 1)], 3),
        ([(1, 2, 1000, 1, 1), (3, 1, 10, 1, 1)], 3),
        # Not GPUs, but processors and memory are what is scarce.
        ([(9, 1, 10, 3000, 1)], 3),
        ([(9, 0, 0, 1, 33)], 3),
        # Of another model, of this one, and of one of two.
        ([(2, 1, 1000, 1, 1, ("other",))], 0),
        ([(2, 1, 1000, 1, 1, ("T4",)), (2, 1, 1000, 1, 1, ("other", "T4"))], 2),
    ],
)
def test_a_node_takes_what_its_gpus_processors_and_memory_are_enough_for(few, pods, placed):
    trace = few([(1, "T4", 2, 10_000, 100)], pods)
    found = plan(read(program.manifests(trace)), objective="admitted", gap=0.0)
    assert (found.placed, found.outcome) == (placed, "Optimal")


def test_sums_say_the_same_as_the_trace(few):
    trace = few(
        [(3, "T4", 2, 9, 8), (1, "", 0, 7, 6)],
        [(5, 2, 1000, 1, 2), (4, 1, 300, 3, 4, ("G2", "T4")), (6, 0, 0, 5, 6), (1, 1, 1000, 1, 1, ("G2",))],
    )
    sums = program.Sums.of(trace)
    assert [(one.devices, one.share, one.needs) for one in sums.units] == [
        (2, 0, (1, 2)),
        (0, 300, (3, 4)),
        (0, 0, (5, 6)),
        (1, 0, (1, 1)),
    ]
    assert [(one.demand, one.weight) for one in sums.demand] == [(5, 2000), (4, 300), (6, 0), (1, 1000)]
    assert [(one.free, one.left) for one in sums.nodes] == [((1000, 1000), (9, 8)), ((), (7, 6))]
    assert [one.takes for one in sums.nodes] == [{0, 1, 2}, {0, 2}]
    assert [one.count for one in sums.classes] == [3, 1]


def test_where_no_pod_names_a_model_nodes_take_any():
    assert {node.takes for node in program.Sums.of(program.openb("plain", 1.0)).nodes} == {None}


@pytest.mark.parametrize("seed", range(10))
def test_manifests_and_sums_come_to_the_same(few, seed):
    rng = Random(seed)
    nodes = [(rng.randint(1, 2), model, rng.randint(1, 3), rng.randint(4, 9), 9) for model in ("T4", "G2")]
    kinds = [(1, 1000), (2, 1000), (1, 300), (1, 500), (1, 700), (0, 0)]
    models = [(), ("T4",), ("G2", "T4"), ("other",)]
    pods = [
        (rng.randint(1, 4), *kind, rng.randint(1, 4), rng.randint(1, 4), rng.choice(models) if kind[0] else ())
        for kind in rng.sample(kinds, 4)
    ]
    trace = few(nodes, pods)
    found = plan(read(program.manifests(trace)), objective=program.OBJECTIVE, gap=0.0)
    sums = program.Sums.of(trace)
    instance = MasterProblem(sums.demand, sums.classes)
    limits = PlanLimits(gap=0.0)
    (stage,) = solve_stages(instance, [instance.admitted()], LinearPricer(sums.units, sums.nodes), limits=limits).stages
    assert stage.proven
    # Pods without GPUs weigh nothing, and are placed by a stage behind it.
    assert (found.objective[0].value, found.objective[0].proven) == (stage.value, True)


@EVERY
def test_a_row_tells_share_bound_and_gap(small, queue):
    head, row = small.plans([queue], [1.1], 0.02)
    told = dict(zip(head, row, strict=True))
    assert (told["queue"], told["load"]) == (queue, "110%")
    reached, bound, gap = (float(told[name].removesuffix(" %")) for name in ("plan", "bound", "gap"))
    assert 70 < reached <= bound <= 100
    assert gap == pytest.approx(100 * (1 - reached / bound), abs=0.02)
    assert gap <= 2
    trace = small.openb(queue, 1.1)
    assert 0 < int(told["node classes"]) <= len(trace.nodes)
    assert 0 < int(told["pod classes"]) <= len(trace.pods)


def test_each_queue_has_a_gap_of_its_own_unless_one_is_given(small, monkeypatch):
    asked = []

    def stop(cluster, *, objective, gap):
        asked.append((objective, gap))
        return plan(cluster, objective=objective, gap=0.5)

    monkeypatch.setattr(small, "plan", stop)
    list(small.plans(["plain", "models"], [1.0], None))
    list(small.plans(["plain"], [1.0], 0.1))
    assert asked == [(small.OBJECTIVE, gap) for gap in (0.002, 0.005, 0.1)]


def test_what_has_no_bound_has_no_gap(small, monkeypatch):
    def unbounded(cluster, **options):
        found = plan(cluster, **options)
        return replace(found, objective=tuple(structs.replace(stage, bound=None) for stage in found.objective))

    monkeypatch.setattr(small, "plan", unbounded)
    head, row = small.plans(["plain"], [1.0], 0.5)
    told = dict(zip(head, row, strict=True))
    assert (told["bound"], told["gap"]) == ("none", "none")
    assert told["plan"].endswith(" %")


@EVERY
def test_half_of_the_pods_are_in_gangs_of_two_to_five(small, queue):
    documents = program.manifests(small.openb(queue, 1.1))
    made = program.with_gangs(documents)
    sizes = Counter(
        one["metadata"]["annotations"][program.GANG_ANNOTATION] for one in made if one["kind"] == "Pod"
    ).values()
    replicas = sum(one["spec"]["replicas"] for one in documents if one["kind"] == "Deployment")
    assert {2, 3, 4, 5} <= set(sizes) <= {1, 2, 3, 4, 5}
    assert [*sizes].count(1) <= 1
    assert 0.4 < sum(sizes) / replicas <= 0.5
    assert sum(one["spec"]["replicas"] for one in made if one["kind"] == "Deployment") == replicas - sum(sizes)


def test_rows_with_gangs_follow_those_without(small):
    head, *rows = small.plans(["plain"], [1.1], 0.05, gangs=True)
    assert [row[0] for row in rows] == ["plain", "plain, gangs"]
    assert len(head) == len(rows[0]) == len(rows[1])


def test_rivals_place_no_more_than_the_bound(small):
    head, row = small.plans(["plain"], [1.0], 0.02)
    bound = dict(zip(head, row, strict=True))["bound"]
    head, *rows = small.rivals(["plain"], [1.0], 2)
    assert [row[2] for row in rows] == ["first fit", "best fit", "FGD"]
    for row in rows:
        told = dict(zip(head, row, strict=True))
        most = float(told["placed"].split(" to ")[-1].removesuffix(" %"))
        assert 50 < most <= float(bound.removesuffix(" %"))


def test_both_tables_are_printed(small, capsys):
    small.main(["--queue", "plain", "--load", "1.3", "--gap", "0.05"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.count("|") - 1 for line in lines] == [len(small.COLUMNS)] * 3 + [len(small.RIVALS)] * 5


def test_rivals_can_be_left_out(small, capsys):
    small.main(["--queue", "plain", "--load", "1.3", "--gap", "0.05", "--seeds", "0"])
    assert "policy" not in capsys.readouterr().out
