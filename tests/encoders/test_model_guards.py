"""Models in which every reason has a switch: all on, it is the question; off, the reason is as if it were not there."""

from itertools import product

import pytest
from support.gates import ALL
from support.objects import after, claim, device, device_class, devices, either, match, node, option, pool, taint, want

from drasat.models.cluster.cluster import Cluster
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver
from drasat.solver.engines.engine import Session
from drasat.solver.explain.conflict import ExplanationCompiler


def model(*objects):
    given = [device_class(), node("n1"), *objects]
    cluster = Cluster.of(given)
    asked = [one for one in cluster.claims.values() if not one.status]
    bench = ExplanationCompiler(Session(cluster, ALL, "strict", 0))
    return bench.compile(cluster.node("n1"), asked, AllocatedState(cluster.usage(ALL))).model


def possible(model, *off):
    """Whether a model has a solution with all guards on but for those whose ids are named."""
    for reason, guard in model.guards.items():
        model.rows.fix(guard, int(reason.id not in off))
    return run_solver(model.rows, Limits()).status is SolverStatus.OPTIMAL


@pytest.mark.parametrize("off", ["exactCount", "requestSelector", "taint", "inUse"])
def test_each_obstacle_alone_can_be_switched_off(off):
    there = pool(device("a"), device("b", taints=(taint("k"),)), device("c", kind=1), device("d"))
    held = after(device_class(), pool(*devices("a", "d")), claim(want(), name="x"))
    found = model(there, *held, claim(want(count=2, select='!("kind" in device.attributes["d.x"])')))
    assert not possible(found)
    assert possible(found, off)


def test_a_device_with_two_obstacles_needs_both_switched_off():
    there = pool(device("a", kind=1, taints=(taint("k"),)))
    found = model(there, claim(want(select='!("kind" in device.attributes["d.x"])')))
    assert not possible(found, "taint")
    assert not possible(found, "requestSelector")
    assert possible(found, "taint", "requestSelector")


def test_devices_with_the_same_obstacles_are_one_lot():
    tainted = [device(f"t{number}", taints=(taint("k"),), index=number) for number in range(50)]
    found = model(pool(*tainted, *devices("a", "b")), claim(want(count=3)))
    assert [lot.size for lot in found.reduced.classes] == [50, 2]


def tied(claims, *requests):
    there = pool(*(device(f"g{number}", numa=number // 4) for number in range(8)))
    entries = [match("d.x/numa")]
    return model(there, *(claim(*requests, constraints=entries, name=f"c{number}") for number in range(claims)))


@pytest.mark.parametrize(("claims", "size"), list(product((1, 2, 3), (2, 3, 4, 5))))
def test_equal_tied_claims_are_one_and_any_reason_of_theirs_can_go(claims, size):
    found = tied(claims, want(count=size))
    assert len(found.guards) <= 3
    assert possible(found) == (claims <= 2 * (4 // size))
    assert possible(found, "matchAttribute") == (claims * size <= 8)
    assert possible(found, "exactCount")


def test_a_request_that_is_let_go_leaves_its_devices_to_others():
    found = tied(2, want("r", count=3), want("s", count=2))
    assert not possible(found)
    reason = next(one for one in found.guards if one.id == "exactCount" and "request s" in str(one.message))
    for one, guard in found.guards.items():
        found.rows.fix(guard, int(one != reason))
    assert run_solver(found.rows, Limits()).status is SolverStatus.OPTIMAL


def test_a_list_is_let_go_as_a_whole():
    found = model(pool(device("a")), claim(either("r", option("two", 2), option("three", 3))))
    assert not possible(found)
    assert possible(found, "firstAvailable")


def test_all_devices_are_let_go_as_a_whole():
    found = model(pool(*devices("a", "b"), device("c", taints=(taint("k"),))), claim(want(count="All"), want("s")))
    assert not possible(found, "taint")
    assert possible(found, "all")


def test_a_reason_has_one_guard():
    found = model(pool(device("a")), claim(want()))
    assert {reason.id for reason in found.guards} == {"exactCount", "resultLimit"}
    assert all(found.guard(reason) == guard for reason, guard in found.guards.items())
