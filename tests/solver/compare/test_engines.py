"""The question ``compare``: relations between answers, verdicts, times, what is left. No Go is needed."""

import pytest
from msgspec.structs import replace
from support.objects import allocated, claim, device, device_class, devices, node, pool, want
from support.peers import FakePeer, SchedulingPeer, allocation, answer, result

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import AllocationResult
from drasat.solver.allocate.allocate import allocate
from drasat.solver.compare.engines import compare, compare_units, devices_by_request, leftover_devices
from drasat.solver.engines.kube_scheduler import KubeSchedulerEngine


def scene(*claims, **fields):
    slices = [
        pool(*devices("a", "b", "c", attributes={"m": 1}), name=name, node_name=name, **fields) for name in ("n1", "n2")
    ]
    return Cluster.of([node("n1"), node("n2"), device_class(), *slices, *claims])


def wants(*counts):
    return [claim(want(count=count), name=f"c{number}") for number, count in enumerate(counts)]


def verdicts(found):
    return [(run.engine, *run.verdict) for run in found.runs]


def test_equal_answers():
    made = SchedulingPeer()
    found = compare(scene(*wants(2, 2, 3)), peer=lambda: made)
    assert verdicts(found) == [("backtracking", "Unallocatable", 2), ("kube-scheduler", "Unallocatable", 2)]
    assert (found.same_verdict, found.identical, found.all_decided, found.parting) == (True, True, True, None)
    assert [unit.relation for unit in found.units] == ["equal"] * 3
    assert found.runs[1].version == "v0.0.0-fake"
    assert all(run.answer.verified for run in found.runs)
    assert made.closed
    assert found.runs[0].answer.statistics.steps > 0
    assert found.runs[1].answer.statistics.steps > 0


def test_the_time_is_the_median_of_the_repetitions():
    made = SchedulingPeer(seconds=(0.5, 0.25, 4.0))
    found = compare(scene(*wants(1)), repeat=3, peer=lambda: made)
    assert found.runs[1].seconds == (0.5, 0.25, 4.0)
    assert found.runs[1].median_seconds == 0.5
    assert len(found.runs[0].seconds) == 3
    assert len(made.requests) == 3


def other_device(name, pool_name="n1", at=None):
    """Change a verdict: another device instead of the first one."""

    def change(verdict):
        if verdict.outcome != "allocated" or (at and verdict.name != at):
            return verdict
        results = verdict.allocations[0].devices.results
        changed = (replace(results[0], device=name, pool=pool_name), *results[1:])
        made = replace(verdict.allocations[0], devices=replace(verdict.allocations[0].devices, results=changed))
        return replace(verdict, allocations=(made, *verdict.allocations[1:]))

    return change


def test_devices_that_look_the_same_are_equivalent():
    found = compare(scene(*wants(1, 1)), peer=lambda: SchedulingPeer(change=other_device("c", at="c1")))
    assert [unit.relation for unit in found.units] == ["equal", "equivalent"]
    assert (found.same_verdict, found.identical) == (True, False)
    assert (found.parting.unit.name, found.parting.request) == ("c1", ("ns/c1", "r"))
    assert [list(devices_by_request(one).values()) for one in found.parting.answers] == [
        [(("d.x", "n1", "b"),)],
        [(("d.x", "n1", "c"),)],
    ]


def unlike(*claims):
    slices = pool(device("a", attributes={"m": 1}), device("b", attributes={"m": 2}))
    return Cluster.of([node(), device_class(), slices, *claims])


def test_devices_that_differ_are_different():
    found = compare(unlike(*wants(1)), peer=lambda: SchedulingPeer(change=other_device("b", pool_name="p")))
    assert (found.units[0].relation, found.same_verdict, found.parting.relation) == ("different", True, "different")


def refuse(verdict):
    if verdict.name != "c0":
        return verdict
    return replace(verdict, outcome="unallocatable", node="", claims=(), allocations=None)


def test_a_different_verdict_parts_first():
    found = compare(scene(*wants(1, 1)), peer=lambda: SchedulingPeer(change=refuse))
    assert verdicts(found) == [("backtracking", "Allocated", 2), ("kube-scheduler", "Unallocatable", 1)]
    assert not found.same_verdict
    assert found.parting.unit.name == "c0"
    assert found.parting.relations == ("equal", "different")


def test_what_is_different_comes_before_what_is_equivalent():
    def change(verdict):
        return refuse(replace(verdict)) if verdict.name == "c0" else other_device("c")(verdict)

    found = compare(scene(claim(want(), name="b0"), *wants(1)), peer=lambda: SchedulingPeer(change=change))
    assert found.parting.unit.name == "c0"


def timed_out(verdict):
    return replace(verdict, outcome="timeout", node="", claims=(), allocations=None)


def test_an_engine_out_of_time_decides_nothing():
    found = compare(scene(*wants(1)), peer=lambda: SchedulingPeer(change=timed_out))
    assert (found.same_verdict, found.all_decided) == (True, False)
    assert [run.engine for run in found.decided] == ["backtracking"]


def test_what_is_left_over():
    """IN-4: what was in use is not free either; a whole node has all of its own devices free."""
    held = allocated(claim(want(), name="held"), allocation(result("a", pool="n2")))
    found = compare(scene(held, *wants(2)), peer=SchedulingPeer)
    assert [(run.left.devices, run.left.free, run.left.whole_nodes) for run in found.runs] == [(6, 3, 0)] * 2


def test_shared_supply_makes_no_whole_node():
    cluster = Cluster.of(
        [
            node("n1"),
            device_class(),
            pool(*devices("a", "b"), name="own"),
            pool(device("x"), name="all", all_nodes=True),
            pool(device("y", node_name="n1"), device("z", all_nodes=True), name="each", per_device_node_selection=True),
        ]
    )
    left = leftover_devices(cluster, allocate(cluster, cel_errors="kube"))
    assert (left.devices, left.free, left.whole_nodes) == (5, 5, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engines": ["backtracking"]}, "at least two different engines"),
        ({"engines": ["auto", "auto"]}, "at least two different engines"),
        ({"engines": ["backtracking", "magic"]}, "unknown engine 'magic'"),
        ({"repeat": 0}, "repeat must be at least 1"),
        ({"cel_errors": "strict"}, "engine kube-scheduler cannot handle CEL errors as 'strict'"),
    ],
    ids=["one", "twice", "unknown", "never", "policy"],
)
def test_bad_questions(options, message):
    with pytest.raises(ValueError, match=message):
        compare(scene(*wants(1)), **options, peer=SchedulingPeer)


def test_on_one_node_loose_claims_are_one_unit():
    found = compare(scene(*wants(1)), node="n2", peer=lambda: SchedulingPeer(change=lambda verdict: verdict))
    assert [one.node for one in found.units[0].answers] == ["n2", "n2"]


def test_claims_of_several_namespaces_are_asked_about_node_by_node(register):
    fake = FakePeer(answer("unallocatable"))
    register("kube-scheduler", lambda session: KubeSchedulerEngine(session, fake))
    other = claim(want(), name="c0")
    other = replace(other, metadata=replace(other.metadata, namespace="other"))
    found = compare(scene(other, *wants(1)), node="n1")
    assert [one.metadata.namespace for one in fake.requests[0].claims] == ["other", "ns"]
    assert verdicts(found)[1] == ("kube-scheduler", "Unallocatable", 0)


def test_an_unknown_node_has_nothing():
    found = compare(scene(*wants(1)), node="n9", peer=SchedulingPeer)
    assert [run.verdict for run in found.runs] == [("Unallocatable", 0)] * 2


def test_rules_make_devices_unlike_each_other():
    """TNT-5: kinds are those that the scheduler sees."""
    from drasat.models.kubernetes.claims import DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
    from drasat.models.kubernetes.meta import ObjectMeta

    selector = DeviceTaintSelector(device="b")
    rule = DeviceTaintRule(
        metadata=ObjectMeta(name="r"),
        spec=DeviceTaintRuleSpec(device_selector=selector, taint=DeviceTaint(key="k", effect="None")),
    )
    cluster = Cluster.of([node("n1"), device_class(), pool(*devices("a", "b", "c")), rule, *wants(1)])
    first = allocate(cluster, cel_errors="kube")

    def with_device(name):
        (unit,) = first.units
        (ref, made) = unit.allocations[0]
        results = (replace(made.devices.results[0], device=name),)
        changed = AllocationResult(devices=replace(made.devices, results=results), node_selector=made.node_selector)
        return first.__class__(
            first.engine,
            (unit.__class__(unit.unit, unit.outcome, unit.node, allocations=((ref, changed),)),),
            first.gates,
            "kube",
        )

    relations = compare_units(cluster, [first, with_device("a"), with_device("b"), with_device("c")])[0].relations
    assert relations == ("equal", "equal", "different", "equivalent")
