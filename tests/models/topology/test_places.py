"""Devices get their places from attributes: TOPO-1 shapes, TOPO-3 what has none and what contradicts."""

from itertools import product

import networkx
import pytest
from support.topology_objects import DRIVER, chip, chips, key, names, scalars, topology

from drasat.models.topology.places import TopologyError, place_devices


def line(*places, shape="Line", **fields):
    return place_devices(topology(shape, 1, **fields), chips(*((place,) for place in places)))


def grid(rows, columns, **fields):
    return place_devices(topology("Grid", 2, **fields), chips(*product(range(rows), range(columns))))


def edges(places):
    return {frozenset((one[-1], other[-1])) for one, other in places.links}


def pairs(*told):
    return {frozenset(pair.split()) for pair in told}


def test_a_line_has_two_ends_and_a_ring_has_none():
    """TOPO-1."""
    assert edges(line(0, 1, 2, 3)) == pairs("0 1", "1 2", "2 3")
    assert edges(line(0, 1, 2, 3, shape="Ring")) == pairs("0 1", "1 2", "2 3", "3 0")


def test_what_is_present_spans_an_axis_without_size():
    places = line(5, 7, 6)
    assert (places.sizes, places.axes[0].first, places.periodic) == ((3,), 5, (False,))
    assert [places.cells[key((place,))] for place in (5, 6, 7)] == [(0,), (1,), (2,)]
    assert line(-2, -1).axes[0].first == -2


def test_a_given_size_counts_from_zero_and_leaves_holes():
    """TOPO-1: a ring with holes at its end needs a size, else its ends would meet."""
    assert edges(line(1, 2, 3, shape="Ring")) == pairs("1 2", "2 3", "3 1")
    assert edges(line(1, 2, 3, shape="Ring", size=(5,))) == pairs("1 2", "2 3")
    assert edges(line(0, 1, 4, shape="Ring", size=(5,))) == pairs("0 1", "4 0")
    assert line(1, 2, size=(5,)).sizes == (5,)


@pytest.mark.parametrize(("size", "count"), [(1, 0), (2, 1), (3, 3)])
def test_a_small_ring_has_no_loops_and_no_double_edges(size, count):
    assert len(line(*range(size), shape="Ring").links) == count


@pytest.mark.parametrize("periodic", [None, (False, True), (True, False), (True, True)])
def test_a_grid_is_the_grid_of_networkx(periodic):
    """TOPO-1: the same vocabulary, ``periodic`` for each axis."""
    places = grid(3, 4, periodic=periodic)
    wanted = networkx.grid_graph((4, 3), periodic=tuple(reversed(periodic or (False, False))))
    made = networkx.relabel_nodes(places.graph(), dict(places.cells))
    assert networkx.utils.graphs_equal(networkx.Graph(made.edges), networkx.Graph(wanted.edges))


def test_a_torus_wraps_along_every_axis():
    places = place_devices(topology("Torus", 3), chips(*product(range(4), repeat=3)))
    assert places.periodic == (True, True, True)
    assert {len(beside) for beside in places.neighbours.values()} == {6}


def test_a_graph_has_a_node_for_every_placed_device():
    graph = line(0, 5, size=(9,)).graph()
    assert (set(graph), graph.number_of_edges(), graph.name) == ({key((0,)), key((5,))}, 0, "t")


def test_an_attribute_is_found_by_its_full_name_too():
    """CON-2: the full name first, then the identifier in the driver's domain; never of another driver."""
    full = chip("a", **{f"{DRIVER}/x": 3, "x": 4})
    short = chip("b", x=4)
    other = chip("c", driver="other.example.com", x=5)
    places = place_devices(topology("Line", 1), [full, short, other])
    assert [places.axes[0].first + places.cells[device][0] for device in places.devices] == [3, 4]
    assert names(places.unplaced) == ["c"]


@pytest.mark.parametrize("value", ["1", True, [1, 2]])
def test_a_coordinate_that_is_no_integer_is_none(value):
    """TOPO-3."""
    places = place_devices(topology("Line", 1), [chip("a", x=0), chip("b", x=value), chip("c")])
    assert names(places.devices) == ["a"]
    assert names(places.unplaced) == ["b", "c"]
    assert key((0,)) not in places


def test_one_of_two_coordinates_is_none():
    """TOPO-3."""
    places = place_devices(topology("Grid", 2), [chip("a", x=0, y=0), chip("b", x=1)])
    assert names(places.unplaced) == ["b"]


def test_no_device_at_all_is_an_empty_topology():
    places = place_devices(topology("Torus", 2), [])
    assert (places.devices, places.links, places.sizes) == ((), (), (1, 1))
    assert not places.graph()


def test_two_devices_on_one_coordinate_are_named_both():
    """TOPO-3."""
    twice = [chip("a", x=1, y=2), chip("b", x=1, y=3), chip("c", x=1, y=2)]
    with pytest.raises(TopologyError) as error:
        place_devices(topology("Grid", 2), twice, "node n1")
    told = f"{DRIVER}/p/a and {DRIVER}/p/c both have {DRIVER}/x 1, {DRIVER}/y 2"
    assert str(error.value) == f"DeviceTopology t: node n1: devices {told}"


def test_the_same_device_twice_is_one():
    assert names(place_devices(topology("Line", 1), [chip("a", x=1), chip("a", x=1)]).devices) == ["a"]


@pytest.mark.parametrize("place", [-1, 4, 2**40])
def test_a_coordinate_beyond_the_size_is_refused(place):
    with pytest.raises(TopologyError, match=rf"device {DRIVER}/p/{place} has {DRIVER}/x {place}, beyond 0 to 3"):
        line(0, place, size=(4,))


def test_coordinates_that_are_addresses_are_refused():
    with pytest.raises(TopologyError, match="span 1,000,001 cells, more than 1,000,000"):
        line(0, 1_000_000)
    assert line(0, 999_999).sizes == (1_000_000,)


TREE = [
    chip("a", x=0, y="s0"),
    chip("b", x=0, y="s0"),
    chip("c", x=0, y="s1"),
    chip("d", x=1, y="s0"),
    chip("e", x="0", y="s0"),
    chip("f", x=1),
]


def test_devices_of_a_tree_stand_under_a_tree_node_of_each_level():
    """TOPO-1, TOPO-3: several may share the lowest tree node; a missing level is no place."""
    places = place_devices(topology("Tree", 2), TREE)
    assert names(places.unplaced) == ["f"]
    assert places.paths[DRIVER, "p", "c"] == scalars(0, "s1")
    top, low = (sorted(names(found) for found in places.groups(level).values()) for level in (0, 1))
    assert top == [["a", "b", "c"], ["d"], ["e"]]
    assert low == [["a", "b"], ["c"], ["d"], ["e"]]
    assert edges(places) == pairs("a b")


def test_levels_of_a_tree_are_known_by_full_name_or_identifier():
    places = place_devices(topology("Tree", 2), TREE)
    assert (places.level(f"{DRIVER}/x"), places.level("y")) == (0, 1)
    with pytest.raises(TopologyError, match=rf"no one level 'z', there are: {DRIVER}/x, {DRIVER}/y"):
        places.level("z")


def test_links_count_in_both_directions_and_lead_to_nobody_else():
    """TOPO-1."""
    members = [
        chip("a", id=0, peers=[1, 7]),
        chip("b", id=1, peers=1),
        chip("c", id=2, peers=[0, 2]),
        chip("d", id=3),
        chip("e", id="0", peers=["3"]),
        chip("f", peers=[0]),
    ]
    places = place_devices(topology("Links"), members)
    assert edges(places) == pairs("a b", "a c")
    assert names(places.unplaced) == ["f"]
    assert places.neighbours[DRIVER, "p", "d"] == ()


def test_two_devices_of_one_id_are_named_both():
    """TOPO-3."""
    with pytest.raises(TopologyError, match=rf"{DRIVER}/p/a and {DRIVER}/p/b both have {DRIVER}/id 4"):
        place_devices(topology("Links"), [chip("a", id=4), chip("b", id=4)])
