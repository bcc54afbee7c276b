"""Units that nothing tells apart are one kind."""

import pytest
from support.plan_building import asking, claim, entry, holding, maker, nodes, of, pod, posed, sharing, template, user

from drasat.solver.plan.build.units import colocated_signature, group_by_shared_claims, group_unit_classes


def kinds(*given):
    """Names of the units of each kind."""
    return [[asked.units[0].unit.name for asked in kind.entries] for kind in made(*given)]


def made(*given):
    ask = asking(*given)
    single, sets = group_by_shared_claims(ask.queue, ask.open_positions)
    return group_unit_classes([*single, *(one for variants in sets for one in variants)])


def test_equal_pods_are_one_kind_in_the_order_of_the_queue():
    assert kinds(user("b"), user("c", cpu="2"), user("a")) == [["b", "a"], ["c"]]


def test_replicas_and_pods_with_equal_specs_are_one_kind():
    made_ = maker("Deployment", "d", entry("g", template="t"), cpu="1", spec={"replicas": 2})
    assert kinds(user("a"), made_) == [["a", "d-0", "d-1"]]


@pytest.mark.parametrize(
    "other",
    [user("b", cpu="2"), user("b", spec="t2"), user("b", spec="t", VALUE="2"), user("b", GANG="g"), pod("b", cpu="1")],
    ids=["cpu", "devices", "value", "gang", "none"],
)
def test_what_matters_to_a_plan_tells_units_apart(other):
    """A gang is no part of what a unit is."""
    gang = "drasat.dev/gang" in (other["metadata"].get("annotations") or {})
    assert len(made(user("a"), other)) == (1 if gang else 2)


def test_names_and_labels_tell_nothing_apart():
    assert kinds(user("a", labels={"app": "x"}), user("b", labels={"app": "y"})) == [["a", "b"]]


def test_loose_claims_are_kinds_of_their_own():
    found = made(claim("x"), claim("y"), claim("z", of(2)))
    assert [[one.units[0].unit.name for one in kind.entries] for kind in found] == [["x", "y"], ["z"]]
    assert [(kind.specs, kind.requests, kind.size) for kind in found] == [([], {}, 1)] * 2


def test_claims_of_a_party_come_once_each():
    ask = asking(claim("s"), sharing("a", "s"), sharing("b", "s", cpu="1"))
    _, (variants,) = group_by_shared_claims(ask.queue, ask.open_positions)
    assert [ref.name for ref in variants[0].unallocated_claims] == ["s"]
    (whole, *_) = group_unit_classes(variants)
    assert [one.metadata.name for one in whole.claims] == ["s"]
    assert (whole.size, len(whole.specs)) == (2, 2)


def test_requests_of_a_party_are_added_up():
    ask = asking(claim("s"), sharing("a", "s", cpu="1"), sharing("b", "s", cpu="500m"))
    _, (variants,) = group_by_shared_claims(ask.queue, ask.open_positions)
    whole = group_unit_classes(variants)[0]
    assert whole.requests == {"cpu": 1500, "pods": 2}


def test_allocated_claims_tie_a_kind_to_nodes_and_ask_for_nothing():
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
    (kind,) = made(*nodes("n1"), holding("h", "n1", "gpu-0", nodeSelector=selector), sharing("a", "h"))
    assert kind.claims == []
    assert [one.node_selector is not None for one in kind.earlier] == [True]


def test_signatures_hold_the_shape_of_each_unit():
    ask = asking(user("a"), user("b"), user("c", cpu="2"))
    single, _ = group_by_shared_claims(ask.queue, ask.open_positions)
    first, second, third = map(colocated_signature, single)
    assert first == second != third


def test_numbers_may_follow_those_of_others():
    ask = asking(user("a"), user("c", cpu="2"))
    single, _ = group_by_shared_claims(ask.queue, ask.open_positions)
    assert [kind.index for kind in group_unit_classes(single, 7)] == [7, 8]


def test_many_equal_units_are_one_class_of_the_instance():
    found = posed(*nodes("n1"), user("a", REPLICAS="500"))
    assert [(unit.demand, unit.weight) for unit in found.problem.units] == [(500, 1)]
    assert len(found.unit_classes) == 1


def test_priority_tells_units_apart():
    high = {"priority": 5}
    assert kinds(pod("a", spec=high), pod("b"), pod("c", spec=high)) == [["a", "c"], ["b"]]


def test_parameters_for_drivers_tell_nothing_apart():
    opaque = {"requests": ["r"], "opaque": {"driver": "gpu.example.com", "parameters": {"mode": "x"}}}
    spec = of(1)
    spec["devices"]["config"] = [opaque]
    given = template("plain", of(1)), template("conf", spec), user("a", spec="plain"), user("b", spec="conf")
    assert kinds(*given) == [["a", "b"]]
