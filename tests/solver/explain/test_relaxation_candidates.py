"""Candidates for relaxations: what is offered about each reason, and what is not."""

import pytest
from support.gates import ALL
from support.objects import (
    after,
    claim,
    device,
    device_class,
    devices,
    draws,
    either,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    taint,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceClass
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.cp_sat import Limits
from drasat.solver.engines.engine import Session
from drasat.solver.explain.changes import CHANGE_COSTS, freeing_change, holding_claims, relaxation_options
from drasat.solver.explain.conflict import ExplanationCompiler, minimal_unsatisfiable_subset
from drasat.solver.explain.wording import ReasonWording


def words(*objects):
    given = list(objects)
    if not any(isinstance(item, DeviceClass) for item in given):
        given.append(device_class())
    cluster = Cluster.of([node("n1"), *given])
    asked = [one for one in cluster.claims.values() if not one.status]
    case = ExplanationCompiler(Session(cluster, ALL, "strict", 0)).compile(
        cluster.node("n1"), asked, AllocatedState(cluster.usage(ALL))
    )
    conflict = minimal_unsatisfiable_subset(case.model, Limits(), lambda _reasons: False)
    return ReasonWording(case, conflict.reasons)


def offered(*objects):
    """The rungs of each offer, as messages with costs."""
    return [[(change.message, change.cost) for change in one.changes] for one in relaxation_options(words(*objects))]


def messages(*objects):
    return [rung[0] for rungs in offered(*objects) for rung in rungs]


def test_counts_get_dearer_by_the_device_from_as_many_as_are_there():
    assert offered(pool(*devices("a", "b")), claim(want(count=4))) == [
        [("count 2 instead of 4 in request r of claim ns/c", 2), ("count 1 instead of 4 in request r of claim ns/c", 3)]
    ]


@pytest.mark.parametrize(
    ("there", "count", "lowest"), [(2, 5, [3, 4]), (0, 3, []), (40, 2, [1]), (3, 32, [29, 30, 31])]
)
def test_no_count_is_offered_above_what_is_there(there, count, lowest):
    members = pool(*(device(f"g{number:02}") for number in range(there)))
    selecting = claim(want(count=count, select="false"))
    found = [rungs for rungs in offered(members, selecting) if rungs[0][0].startswith("count")]
    assert [cost for rungs in found for _, cost in rungs] == lowest


def test_equal_requests_are_offered_one_or_all_of_them():
    found = offered(pool(*devices("a", "b", "c")), claim(want("r", 2), want("s", 2)))
    assert [rungs[0] for rungs in found] == [
        ("count 1 instead of 2 in request s of claim ns/c", 1),
        ("count 1 instead of 2 in request r of claim ns/c (and 1 equal)", 2),
        ("drop request s of claim ns/c", 4),
    ]


def test_the_only_request_is_not_dropped_and_all_has_no_count():
    assert messages(pool(device("a", taints=(taint("k"),))), claim(want(count="All"))) == [
        "tolerate k:NoSchedule in request r of claim ns/c"
    ]


def test_a_list_is_lowered_alternative_by_alternative():
    listed = either("r", option("x", 2), option("y", 3))
    assert messages(pool(device("a")), claim(listed)) == [
        "count 1 instead of 2 in request r/x of claim ns/c",
        "count 1 instead of 3 in request r/y of claim ns/c",
    ]


def test_less_of_a_capacity_is_what_some_device_has():
    members = pool(*(device(name, capacity={"mem": size}) for name, size in (("a", "4Gi"), ("b", "2Gi"), ("c", "9Gi"))))
    found = offered(members, claim(want(capacity={"mem": "16Gi"})))
    assert found == [
        [
            ("ask for 9Gi of mem instead of 16Gi in request r of claim ns/c", 2),
            ("ask for 4Gi of mem instead of 16Gi in request r of claim ns/c", 2),
            ("ask for 2Gi of mem instead of 16Gi in request r of claim ns/c", 2),
        ]
    ]


def test_what_shares_consume_is_asked_for_or_freed():
    there = pool(device("a", multi=True, capacity={"mem": shared("8")}))
    held = after(there, claim(want(capacity={"mem": "6"}), name="x"))
    assert messages(there, *held, claim(want(capacity={"mem": "4"}))) == [
        "ask for 2 of mem instead of 4 in request r of claim ns/c",
        "free claim ns/x",
    ]


@pytest.mark.parametrize(
    ("held", "texts"),
    [
        (1, ["free claim ns/x"]),
        (2, ["free one device of claim ns/x: a", "free one device of claim ns/x: b", "free claim ns/x"]),
    ],
)
def test_a_claim_gives_up_one_device_or_all(held, texts):
    there = pool(*devices("a", "b", "c"))
    made = after(there, claim(want(count=held), name="x"))
    found = messages(there, *made, claim(want(count=3)))
    assert [text for text in found if text.startswith("free")] == texts


def test_counters_are_freed_with_devices_that_nobody_asks_for():
    sliced = partitions(device("a", draws("s", m=4)), device("b", draws("s", m=4)), sets={"s": {"m": 7}})
    held = after(*sliced, claim(want(), name="x"))
    assert "free claim ns/x" in messages(*sliced, *held, claim(want()))


def test_constraints_of_equal_claims_are_dropped_from_the_last_or_from_all():
    there = pool(device("a", n=0), device("b", n=1), device("c", n=2), device("d", n=3))
    asked = [claim(want(count=2), name=f"c{number}", constraints=[match("d.x/n")]) for number in range(2)]
    texts = [text for text in messages(there, *asked) if "constraint" in text]
    assert texts[0] == "drop constraint 0 (matchAttribute d.x/n) of claim ns/c1"
    assert len(texts) in (1, 2)
    assert all("(and 1 equal)" in text for text in texts[1:])


def test_offers_come_cheapest_first_and_once():
    cls = device_class("gpu", "false")
    there = pool(device("a", taints=(taint("k"),)))
    found = relaxation_options(words(cls, there, claim(want(cls="gpu", select="false"))))
    assert [one.cost for one in found] == sorted(one.cost for one in found)
    assert len({one.subject for one in found}) == len(found)
    assert all(one.reason is not None for one in found)


def test_every_cost_is_that_of_its_kind():
    there = pool(*devices("a", "b", "c", taints=(taint("k"),)))
    for one in relaxation_options(words(there, claim(want("r", 2, "false"), want("s", 9)))):
        first = one.changes[0]
        assert first.cost % CHANGE_COSTS[first.id] == 0


def test_many_claims_are_freed_for_the_sum_of_their_costs():
    keys = [("ns", name) for name in "xyz"]
    assert (freeing_change(keys).message, freeing_change(keys).cost) == ("free claims ns/x, ns/y, ns/z", 9)
    assert (freeing_change(keys[:1]).message, freeing_change(keys[:1]).claim) == ("free claim ns/x", "ns/x")


def test_claims_that_hold_what_is_meant_come_first_those_of_the_reasons():
    there = pool(*devices("a", "b", "c"), *devices("n", "m", kind="nic"))
    meant = '!("kind" in device.attributes["d.x"])'
    held = after(
        there,
        claim(want(count=1, select=meant), name="x"),
        claim(want(count=2, select=meant), name="y"),
        claim(want(select="device.attributes['d.x'].?kind.orValue('') == 'nic'"), name="z"),
    )
    found = holding_claims(words(there, *held, claim(want(count=2, select=meant))))
    assert set(found) == {("ns", "x"), ("ns", "y")}
    assert found[0] == ("ns", "y")
