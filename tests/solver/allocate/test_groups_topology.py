"""Shapes in topologies over several claims, on one node or on several, beside what members hold."""

import pytest
from support.groups import answered, asking, group, holding, placed, refused
from support.objects import device, node, pod, pool
from support.soft import wishing
from support.topology import shape, topology

from drasat.models.results.common import Status

ENGINES = pytest.mark.parametrize("engine", ["backtracking", "cp-sat", "auto"])


def line(name, *places):
    """A pool on the node of its name, with devices at these places."""
    return pool(*(device(f"d{place}", at=place) for place in places), name=name, node_name=name)


def fabric(*places, **fields):
    return pool(*(device(f"d{place}", at=place) for place in places), name="f", all_nodes=True, **fields)


def names(found):
    return sorted(device for _, devices in found.values() for device in devices)


@ENGINES
def test_a_shape_of_a_node_is_made_by_claims_on_one_node(engine):
    objects = [line("n1", 0, 1), line("n2", 0, 1, 2), asking("a", 2), asking("b"), topology("Line", "at")]
    tie = group("a", "b", entries=[shape("Segment")])
    found = placed(answered(*objects, tie, nodes=["n1", "n2"], engine=engine))
    assert names(found) == ["n2/d0", "n2/d1", "n2/d2"]


@ENGINES
def test_equal_places_on_two_nodes_are_no_shape_of_a_node(engine):
    objects = [line("n1", 0), line("n2", 1), asking("a"), asking("b"), topology("Line", "at")]
    answer = answered(*objects, group("a", "b", entries=[shape("Segment")]), nodes=["n1", "n2"], engine=engine)
    assert refused(answer)["a"] == ["constraintGroup", "topology"]


@ENGINES
def test_a_shape_of_the_cluster_spans_nodes(engine):
    objects = [line("n1", 0, 3), line("n2", 1, 7), asking("a"), asking("b"), topology("Line", "at", scope="Cluster")]
    found = placed(answered(*objects, group("a", "b", entries=[shape("Segment")]), nodes=["n1", "n2"], engine=engine))
    assert names(found) == ["n1/d0", "n2/d1"]


@ENGINES
def test_a_ring_of_the_cluster_ends_where_its_last_device_is(engine):
    ring = topology("Ring", "at", scope="Cluster")
    objects = [line("n1", 0, 4), line("n2", 3, 9), asking("a"), asking("b"), ring]
    tie = group("a", "b", entries=[shape("Segment")])
    first = [pod("a", name="p", node_name="n1"), pod("b", name="q", node_name="n2")]
    assert names(placed(answered(*objects, *first, tie, nodes=["n1", "n2"], engine=engine))) in (
        ["n1/d0", "n2/d9"],
        ["n1/d4", "n2/d3"],
    )


@ENGINES
def test_a_pool_over_nodes_is_one_place(engine):
    slices = [
        pool(device(f"d{at}", at=at), name="p", slice_name=f"s{at}", count=3, node_name=f"n{number}")
        for number, at in enumerate((0, 5, 1), 1)
    ]
    objects = [*slices, asking("a"), asking("b"), topology("Line", "at", scope="Pool", size=(8,))]
    tie = group("a", "b", entries=[shape("Segment")])
    found = placed(answered(*objects, tie, nodes=["n1", "n2", "n3"], engine=engine))
    assert names(found) == ["p/d0", "p/d1"]


@ENGINES
@pytest.mark.parametrize("scope", ["Node", "Pool", "Cluster"])
def test_new_devices_are_beside_those_held(engine, scope):
    objects = [line("n1", 0, 1, 2, 3, 4), asking("a", 2), topology("Line", "at", scope=scope)]
    held = holding(asking("b"), "n1/d2", on="n1")
    tie = group("a", "b", entries=[shape("Segment")])
    found = placed(answered(*objects, held, tie, nodes=["n1"], engine=engine))
    assert names(found) in (["n1/d0", "n1/d1"], ["n1/d1", "n1/d3"], ["n1/d3", "n1/d4"])


def test_a_device_held_on_another_node_is_in_another_topology():
    objects = [line("n1", 0, 1), line("n2", 0, 1), asking("a"), topology("Line", "at")]
    held = holding(asking("b"), "n2/d0", on="n2")
    tie = group("a", "b", entries=[shape("Segment")])
    assert names(placed(answered(*objects, held, tie, nodes=["n1", "n2"]))) == ["n2/d1"]
    assert answered(*objects, held, tie, nodes=["n1", "n2"], node="n1").outcome == Status.UNALLOCATABLE


@ENGINES
def test_devices_that_all_nodes_see_are_in_one_topology(engine):
    objects = [fabric(0, 2, 3), asking("a"), asking("b"), topology("Line", "at")]
    tie = group("a", "b", entries=[shape("Segment")])
    found = placed(answered(*objects, tie, nodes=["n1", "n2"], engine=engine))
    assert names(found) == ["f/d2", "f/d3"]


def test_a_topology_of_nodes_that_overlap_is_not_decided():
    objects = [fabric(0, 2), line("n1", 1), line("n2", 1), asking("a"), asking("b"), topology("Line", "at")]
    answer = answered(*objects, group("a", "b", entries=[shape("Segment")]), nodes=["n1", "n2"])
    assert answer.outcome == Status.UNKNOWN
    assert "one node of topology t" in answer.units[0].reasons[0].message


def test_a_soft_shape_that_cannot_be_decided_is_left_aside():
    objects = [fabric(0, 2), line("n1", 1), line("n2", 1), asking("a"), asking("b"), topology("Line", "at")]
    answer = answered(*objects, group("a", "b", entries=[shape("Segment", weight=2)]), nodes=["n1", "n2"])
    assert answer.outcome == Status.ALLOCATED
    assert "left aside" in answer.notices[0]


def test_distances_through_devices_that_no_node_in_question_sees_are_not_decided():
    objects = [line("n1", 0), line("n2", 1), line("n3", 2), asking("a"), asking("b")]
    near_enough = topology("Line", "at", scope="Cluster")
    tie = group("a", "b", entries=[shape("Compact", maxDistance=2)])
    pods = [pod("a", name="p", node_name="n1"), pod("b", name="q", node_name="n3")]
    answer = answered(*objects, *pods, near_enough, tie, nodes=["n1", "n2", "n3"])
    assert answer.outcome == Status.UNKNOWN


def test_a_device_that_is_held_and_can_be_taken_again_is_not_decided():
    shared = pool(*(device(f"d{at}", at=at, multi=True) for at in range(3)), name="n1", node_name="n1")
    held = holding(asking("b"), "n1/d0", on="n1")
    objects = [shared, asking("a"), held, topology("Line", "at")]
    answer = answered(*objects, group("a", "b", entries=[shape("Segment")]), nodes=["n1"])
    assert answer.outcome == Status.UNKNOWN
    assert "can be taken again" in answer.units[0].reasons[0].message


@ENGINES
def test_a_claims_own_shape_is_that_of_its_node(engine):
    own = wishing(asking("a", 2), shape("Segment"))
    objects = [line("n1", 0, 2), line("n2", 0, 3, 4), own, asking("b"), topology("Line", "at")]
    tie = group("a", "b", label="rack")
    nodes = [node("n1", rack="x"), node("n2", rack="x")]
    found = placed(answered(*objects, tie, nodes=nodes, engine=engine))
    assert found["a"] == ("n2", ["n2/d3", "n2/d4"])
