"""Shapes in topologies: what each of them means, in every engine (TOPO-1 to TOPO-5)."""

import pytest
from support.objects import after, claim, device, device_class, either, option, pool, want
from support.soft import told, wishing
from support.topology import answered, asking, grid_of, line_of, shape, taken, together, topology

from drasat.models.kubernetes.extensions import DeviceTopology, DeviceTopologySpec, TopologyRequest
from drasat.models.results.common import Status
from drasat.models.topology.places import shape_mismatch

RING = topology("Ring", "at", size=(8,))
LINE = topology("Line", "at")
GRID = topology("Grid", "row", "column")


@pytest.fixture(params=["backtracking", "cp-sat", "auto"])
def engine(request):
    return request.param


def fits(*objects, engine, **options):
    return answered(*objects, engine=engine, **options).outcome == Status.ALLOCATED


def chosen(*objects, engine, **options):
    """The devices of the only claim, which must be allocated."""
    (names,) = taken(answered(*objects, engine=engine, **options))
    return names


def in_use(*names):
    """A claim that holds these devices."""
    return after(pool(*map(device, names)), claim(want(count=len(names)), name="holder"))


def test_a_segment_goes_around_the_end_of_a_ring_but_not_of_a_line(engine):
    supply = line_of(8, 2, 3, 4, 5)
    assert chosen(RING, supply, asking(4, shape("Segment")), engine=engine) == ["d0", "d1", "d6", "d7"]
    assert not fits(LINE, supply, asking(4, shape("Segment")), engine=engine)
    assert not fits(RING, line_of(8, 1, 5), asking(4, shape("Segment")), engine=engine)


def test_a_whole_ring_is_a_segment(engine):
    assert fits(RING, line_of(8), asking(8, shape("Segment")), engine=engine)
    assert not fits(RING, line_of(8, 0), asking(8, shape("Segment")), engine=engine)


def test_without_a_size_a_ring_spans_what_is_present(engine):
    ring = topology("Ring", "at")
    assert fits(ring, line_of(6, 2, 3), asking(4, shape("Segment")), engine=engine)
    assert not fits(RING, line_of(6, 2, 3), asking(4, shape("Segment")), engine=engine)


def test_devices_in_use_are_holes(engine):
    supply = line_of(8)
    held = in_use("d1", "d3", "d5", "d7")
    assert not fits(RING, supply, *held, asking(2, shape("Segment")), engine=engine)
    assert chosen(RING, supply, *in_use("d0", "d1", "d4"), asking(3, shape("Segment")), engine=engine) == [
        "d5",
        "d6",
        "d7",
    ]


def test_a_box_lies_along_the_axes_in_any_orientation(engine):
    tall = grid_of(3, 2, "d01", "d11")
    assert chosen(GRID, tall, asking(3, shape("Box", size=[1, 3])), engine=engine) == ["d00", "d10", "d20"]
    assert not fits(GRID, tall, asking(3, shape("Box", size=[1, 3], orientation="Fixed")), engine=engine)
    assert fits(GRID, tall, asking(3, shape("Box", size=[3, 1], orientation="Fixed")), engine=engine)
    assert not fits(GRID, tall, asking(4, shape("Box", size=[2, 2])), engine=engine)


def test_a_box_goes_around_axes_that_wrap(engine):
    supply = grid_of(3, 3, *(f"d{row}1" for row in range(3)))
    wrapping = topology("Grid", "row", "column", size=(3, 3), periodic=(False, True))
    ask = asking(4, shape("Box", size=[2, 2]))
    assert set(chosen(wrapping, supply, ask, engine=engine)) <= {"d00", "d02", "d10", "d12", "d20", "d22"}
    assert not fits(topology("Grid", "row", "column", size=(3, 3)), supply, ask, engine=engine)
    assert fits(topology("Torus", "row", "column", size=(3, 3)), supply, ask, engine=engine)


def test_a_box_has_as_many_devices_as_are_asked_for(engine):
    assert not fits(GRID, grid_of(3, 3), asking(3, shape("Box", size=[2, 2])), engine=engine)


def test_devices_without_coordinates_are_never_part_of_a_shape(engine):
    loose = device("loose")
    supply = pool(*line_of(8, 0, 2, 4, 6).spec.devices, loose)
    assert not fits(RING, supply, asking(2, shape("Connected")), engine=engine)
    assert chosen(RING, supply, asking(1, shape("Segment")), engine=engine) != ["loose"]


def test_what_is_connected_hangs_together(engine):
    supply = grid_of(3, 3, "d11", "d02", "d20")
    assert chosen(GRID, supply, asking(3, shape("Connected")), engine=engine) in (
        ["d00", "d01", "d10"],
        ["d12", "d21", "d22"],
    )
    assert not fits(GRID, supply, asking(4, shape("Connected")), engine=engine)


def test_links_join_devices_whichever_end_names_them(engine):
    links = topology("Links", "id", "peers")
    members = [device("a", id=1, peers=(2,)), device("b", id=2), device("c", id=3, peers=(2, 9)), device("d", id=4)]
    assert chosen(links, pool(*members), asking(3, shape("Connected")), engine=engine) == ["a", "b", "c"]
    assert not fits(links, pool(*members), asking(4, shape("Connected")), engine=engine)


def test_what_is_compact_is_within_a_distance_of_each_other(engine):
    supply = line_of(8, 3)
    assert fits(LINE, supply, asking(3, shape("Compact", maxDistance=2)), engine=engine)
    assert not fits(LINE, supply, asking(4, shape("Compact", maxDistance=2)), engine=engine)
    # Steps go over devices that are in use, never over holes.
    assert fits(LINE, supply, *in_use("d5"), asking(2, shape("Compact", maxDistance=1)), engine=engine)
    assert chosen(
        LINE, supply, *in_use("d0", "d2", "d5", "d7"), asking(2, shape("Compact", maxDistance=2)), engine=engine
    )


def test_a_subtree_is_under_one_tree_node(engine):
    tree = topology("Tree", "rack", "board")
    members = [device(f"{rack}{board}", rack=rack, board=board) for rack, board in ("a1", "a2", "a3", "b1", "b2")]
    members.append(device("b2x", rack="b", board="2"))
    rack = asking(3, shape("Subtree", level="d.x/rack"))
    assert chosen(tree, pool(*members), *in_use("a2"), rack, engine=engine) == ["b1", "b2", "b2x"]
    assert chosen(tree, pool(*members), asking(2, shape("Subtree", level="board")), engine=engine) == ["b2", "b2x"]
    assert chosen(tree, pool(*members), asking(2, shape("Connected")), engine=engine) == ["b2", "b2x"]
    assert not fits(tree, pool(*members), asking(3, shape("Compact", maxDistance=1)), engine=engine)
    assert fits(tree, pool(*members), asking(6, shape("Compact", maxDistance=3)), engine=engine)


def test_tree_nodes_of_one_name_under_different_parents_are_different(engine):
    tree = topology("Tree", "rack", "board")
    members = [device(f"{rack}{board}", rack=rack, board=board) for rack, board in ("a1", "b1", "c2")]
    assert not fits(tree, pool(*members), asking(2, shape("Subtree", level="board")), engine=engine)


def test_one_shape_is_over_all_requests_that_an_entry_names(engine):
    free = wishing(claim(want("a", 2), want("b", 2), want("c", 1)), shape("Segment", "a", "b"))
    assert fits(RING, line_of(8, 2, 7), free, engine=engine)
    assert not fits(RING, line_of(8, 2, 5, 7), free, engine=engine)


def test_an_alternative_changes_the_length(engine):
    ask = wishing(claim(either("r", option("many", 4), option("few", 2))), shape("Segment"))
    assert len(chosen(RING, line_of(8, 2, 5, 7), ask, engine=engine)) == 2
    only_few = wishing(claim(either("r", option("many", 4), option("few", 2))), shape("Segment", "r/few"))
    assert len(chosen(RING, line_of(8, 2, 5, 7), only_few, engine=engine)) == 4


def test_a_shareable_device_that_is_taken_twice_is_in_the_shape_once(engine):
    members = [device("d0", at=0, multi=True), device("d4", at=4, multi=True), device("d5", at=5, multi=True)]
    ask = wishing(claim(want("a", 2), want("b", 1)), shape("Segment"))
    names = chosen(RING, pool(*members), ask, engine=engine)
    assert set(names) == {"d4", "d5"}
    assert len(names) == 3


def test_all_devices_together_make_a_shape(engine):
    everything = wishing(claim(want(count="All")), shape("Segment"))
    assert fits(RING, line_of(4), everything, engine=engine)
    assert not fits(RING, line_of(5, 2), everything, engine=engine)


def test_two_topologies_hold_at_once(engine):
    tree = topology("Tree", "board", name="boards")
    members = [device(f"d{place}", at=place, board=place // 3) for place in range(8)]
    both = asking(3, shape("Segment"), shape("Subtree", name="boards", level="board"))
    assert chosen(RING, tree, pool(*members), *in_use("d0", "d7"), both, engine=engine) == ["d3", "d4", "d5"]


def test_claims_at_once_share_no_device(engine):
    claims = [asking(4, shape("Box", size=[2, 2]), name=f"c{number}") for number in range(3)]
    torus = topology("Torus", "row", "column", size=(4, 4))
    found = taken(answered(torus, grid_of(4, 4, "d11"), *claims, together(*claims), engine=engine))
    assert sorted(len(set(names)) for names in found) == [4, 4, 4]
    assert len({name for names in found for name in names}) == 12
    five = [asking(4, shape("Box", size=[2, 2]), name=f"c{number}") for number in range(4)]
    assert not fits(torus, grid_of(4, 4, "d11"), *five, together(*five), engine="cp-sat")


def test_equal_claims_may_have_requests_beside_the_shape(engine):
    claims = [
        wishing(claim(want("a", 2), want("b", 1), name=f"c{number}"), shape("Segment", "a")) for number in range(2)
    ]
    found = answered(LINE, line_of(8, 2, 5), *claims, together(*claims), engine=engine)
    assert found.outcome == Status.ALLOCATED
    assert not fits(LINE, line_of(8, 1, 3, 5), *claims, together(*claims), engine=engine)


def test_coordinates_are_unique_in_each_pool(engine):
    pools = [line_of(4, *gone, name=name) for name, gone in (("p", (1, 3)), ("q", (0, 2)))]
    ask = asking(2, shape("Segment"))
    assert not fits(topology("Line", "at", scope="Pool"), *pools, ask, engine=engine)
    assert fits(topology("Line", "at", scope="Node"), *pools, ask, engine=engine)
    whole = line_of(2, name="q")
    assert chosen(topology("Line", "at", scope="Pool"), pools[0], whole, ask, engine=engine) == ["d0", "d1"]


def test_a_ring_is_as_large_as_its_cluster(engine):
    ring, ask = topology("Ring", "at", scope="Cluster"), asking(2, shape("Segment"))
    near = line_of(8, *(place for place in range(8) if place not in (0, 3)), name="n1", node_name="n1")
    far = line_of(8, *(place for place in range(8) if place not in (5, 7)), name="n2", node_name="n2")
    # On the first node alone 3 and 0 would be next to each other, on the ring of both nodes they are not.
    assert fits(topology("Ring", "at"), near, far, ask, nodes=("n1", "n2"), engine=engine)
    assert not fits(ring, near, far, ask, nodes=("n1", "n2"), engine=engine)
    both = line_of(8, 1, 2, 3, 4, 5, 6, name="n1", node_name="n1")
    assert fits(ring, both, ask, engine=engine)


def test_a_class_says_which_devices_a_topology_places(engine):
    fast = device_class("fast", 'device.attributes["d.x"].fast')
    members = [device(f"d{place}", at=place, fast=place != 2) for place in range(6)]
    spec = DeviceTopologySpec(device_class_name="fast", shape="Line", coordinates=("d.x/at",))
    line = DeviceTopology(metadata=LINE.metadata, spec=spec)
    assert chosen(line, fast, pool(*members), asking(3, shape("Segment")), engine=engine) == ["d3", "d4", "d5"]
    assert not fits(line, fast, pool(*members), asking(4, shape("Segment")), engine=engine)


def test_selectors_and_shapes_hold_together(engine):
    ask = wishing(claim(want(count=2, select='device.attributes["d.x"].at % 2 == 0')), shape("Segment"))
    assert not fits(RING, line_of(8), ask, engine=engine)


def test_an_unknown_topology_is_an_error(engine):
    answer = answered(line_of(4), asking(2, shape("Segment", name="moon")), engine=engine)
    assert answer.outcome == Status.ERROR
    assert "there is no DeviceTopology moon" in str(answer.units[0].reasons)


def test_a_shape_that_the_topology_does_not_have_is_an_error(engine):
    answer = answered(GRID, grid_of(2, 2), asking(2, shape("Segment")), engine=engine)
    assert answer.outcome == Status.ERROR
    assert "there are segments on a Ring or Line" in str(answer.units[0].reasons)


def test_two_devices_in_one_place_are_an_error(engine):
    twice = pool(device("d0", at=1), device("d1", at=1))
    answer = answered(RING, twice, asking(1, shape("Segment")), engine=engine)
    assert answer.outcome == Status.ERROR
    assert "d.x/p/d1" in str(answer.units[0].reasons)


@pytest.mark.parametrize(
    ("ask", "spec", "why"),
    [
        ({"shape": "Star"}, RING.spec, "unknown shape"),
        ({"shape": "Segment"}, GRID.spec, "segments on a Ring or Line"),
        ({"shape": "Box", "size": (2,)}, GRID.spec, "2 positive numbers"),
        ({"shape": "Box", "size": (2, 0)}, GRID.spec, "2 positive numbers"),
        ({"shape": "Box"}, topology("Tree", "rack").spec, "no boxes"),
        ({"shape": "Box", "size": (1, 1), "orientation": "Tilted"}, GRID.spec, "unknown orientation"),
        ({"shape": "Compact", "max_distance": -1}, GRID.spec, "negative"),
        ({"shape": "Subtree", "level": "rack"}, GRID.spec, "subtrees in a Tree"),
        ({"shape": "Subtree", "level": "shelf"}, topology("Tree", "rack").spec, "no one level 'shelf'"),
    ],
)
def test_why_a_shape_does_not_suit_a_topology(ask, spec, why):
    assert why in shape_mismatch(TopologyRequest(name="t", **ask), spec)


@pytest.mark.parametrize(
    ("ask", "spec"),
    [
        ({"shape": "Segment"}, RING.spec),
        ({"shape": "Box", "size": (2, 3), "orientation": "Any"}, GRID.spec),
        ({"shape": "Connected"}, topology("Links", "id", "peers").spec),
        ({"shape": "Compact", "max_distance": 0}, topology("Tree", "rack").spec),
        ({"shape": "Subtree", "level": "rack"}, topology("Tree", "rack").spec),
    ],
)
def test_what_suits_a_topology(ask, spec):
    assert shape_mismatch(TopologyRequest(name="t", **ask), spec) == ""


@pytest.mark.parametrize("wanted", ["cp-sat", "auto"])
def test_a_soft_shape_is_kept_if_it_can_be(wanted):
    kept = answered(RING, line_of(8, 1, 3), asking(3, shape("Segment", weight=5)), engine=wanted)
    assert taken(kept)[0] in (["d4", "d5", "d6"], ["d5", "d6", "d7"], ["d0", "d6", "d7"])
    assert told(kept.units[0])[0][1:] == (True, 0)
    lost = answered(RING, line_of(8, 1, 3, 5), asking(4, shape("Segment", weight=5)), engine=wanted)
    assert lost.outcome == Status.ALLOCATED
    assert told(lost.units[0])[0][1:] == (False, 5)


@pytest.mark.parametrize("kind", [{"kind": "Connected"}, {"kind": "Compact", "maxDistance": 1}])
def test_soft_shapes_without_a_place_cost_their_weight(kind):
    lost = answered(
        GRID, grid_of(3, 3, "d01", "d10", "d12", "d21"), asking(2, shape(weight=3, **kind)), engine="cp-sat"
    )
    assert told(lost.units[0])[0][1:] == (False, 3)


def test_without_a_distance_devices_ought_to_be_near_each_other():
    asks = [asking(3, shape("Compact"))]
    near = answered(RING, line_of(8, 1, 4), *asks, engine="cp-sat", objective="compact")
    assert taken(near)[0] in (["d5", "d6", "d7"], ["d0", "d6", "d7"])
    assert answered(RING, line_of(8, 1, 4), *asks, engine="backtracking").outcome == Status.ALLOCATED


def test_selectors_of_a_class_that_nobody_has_place_nothing(engine):
    spec = DeviceTopologySpec(device_class_name="gone", shape="Line", coordinates=("d.x/at",))
    answer = answered(
        DeviceTopology(metadata=LINE.metadata, spec=spec), line_of(4), asking(2, shape("Segment")), engine=engine
    )
    assert answer.outcome == Status.UNALLOCATABLE
