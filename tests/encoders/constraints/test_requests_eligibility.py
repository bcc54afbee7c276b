"""What keeps devices away as rows with guards: one guard for each reason, shared where the reason is."""

from support.gates import ALL
from support.objects import after, claim, device, device_class, devices, either, node, option, pool, taint, want

from drasat.encoders.constraints.requests import eligibility_encoder
from drasat.models.cluster.cluster import Cluster
from drasat.problem.node_state import AllocatedState
from drasat.problem.obstacles import Obstacles
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver
from drasat.solver.engines.engine import Session
from drasat.solver.explain.conflict import ExplanationCompiler

KIND = "device.attributes['d.x'].?kind.orValue('') == '{}'"


def case(*objects):
    cluster = Cluster.of([node("n1"), *objects, *(() if has_class(objects) else (device_class(),))])
    asked = [one for one in cluster.claims.values() if not one.status]
    bench = ExplanationCompiler(Session(cluster, ALL, "strict", 0))
    return bench.compile(cluster.node("n1"), asked, AllocatedState(cluster.usage(ALL)))


def has_class(objects):
    return any(type(item).__name__ == "DeviceClass" for item in objects)


def guards(found):
    """How many guards there are of each kind of obstacle."""
    ids = [reason.id for reason in found.model.guards if reason.id not in ("exactCount", "firstAvailable")]
    return {id_: ids.count(id_) for id_ in ids if id_ != "resultLimit"}


def possible(found, *on):
    """Whether there is a solution while the guards of these kinds alone are on, and those of requests."""
    model = found.model
    for reason, guard in model.guards.items():
        model.rows.fix(guard, int(reason.id in (*on, "exactCount", "firstAvailable")))
    return run_solver(model.rows, Limits()).status is SolverStatus.OPTIMAL


def test_a_taint_that_stops_two_requests_is_one_reason():
    there = pool(*devices("a", "b", taints=(taint("k"),)))
    assert guards(case(there, claim(want("r"), want("s", 2)))) == {"taint": 1}


def test_a_selector_of_a_request_is_its_own_and_one_of_the_class_is_shared():
    cls = device_class("gpu", KIND.format("gpu"))
    requests = [want(name, count, KIND.format("x"), cls="gpu") for name, count in (("r", 1), ("s", 2))]
    assert guards(case(cls, pool(*devices("a", "b", "c")), claim(*requests))) == {
        "classSelector": 1,
        "requestSelector": 2,
    }


def test_equal_requests_have_one_guard_for_their_selectors():
    requests = [want(name, select=KIND.format("x")) for name in "rstu"]
    assert guards(case(pool(*devices("a", "b")), claim(*requests))) == {"requestSelector": 1}


def test_alternatives_have_guards_of_their_own():
    listed = either("r", option("x", select=KIND.format("x")), option("y", select=KIND.format("y")))
    assert guards(case(pool(*devices("a", "b")), claim(listed))) == {"requestSelector": 2}


def test_every_holder_is_a_reason():
    there = pool(*devices("a", "b", "c"))
    held = [*after(there, claim(want(), name="x"), claim(want(count=2), name="y"))]
    assert guards(case(there, *held, claim(want()))) == {"inUse": 2}


def test_what_is_in_nobodys_way_has_no_guard():
    assert guards(case(pool(*devices("a", "b")), claim(want(count=3)))) == {}


def test_with_its_guards_off_a_device_may_be_taken_whatever_is_in_the_way():
    there = pool(device("a", taints=(taint("k"),)))
    held = after(pool(device("a")), claim(want(), name="x"))
    found = case(there, *held, claim(want(select="false")))
    assert guards(found) == {"requestSelector": 1, "taint": 1, "inUse": 1}
    assert possible(found)
    for id_ in guards(found):
        assert not possible(found, id_)


def test_each_device_keeps_the_obstacles_it_has():
    there = pool(device("a", taints=(taint("k"),)), device("b", taints=(taint("l"),)), device("c"))
    found = case(there, claim(want(count=3)))
    assert guards(found) == {"taint": 2}
    texts = [[one.text for one in of] for of in found.obstacles.of[0]]
    assert texts == [["taint k:NoSchedule"], ["taint l:NoSchedule"], []]
    assert [lot.size for lot in found.model.reduced.classes] == [1, 1, 1]


def test_the_signature_tells_devices_apart_by_what_is_in_their_way_alone():
    found = case(pool(*devices("a", "b"), device("c", taints=(taint("k"),))), claim(want(count=3)))
    sign = eligibility_encoder(found.obstacles).sign(found.model.merged)
    assert sign(0) == sign(1)
    assert sign(0) != sign(2)
    nothing = Obstacles(tuple(((),) * 3 for _ in found.obstacles.of))
    open_sign = eligibility_encoder(nothing).sign(found.model.merged)
    assert open_sign(0) == open_sign(2)
