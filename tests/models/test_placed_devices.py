"""What is asked of devices in their places: cells around an axis, distances, and what is left without some."""

from itertools import product

import networkx
import pytest
from topology_build import DRIVER, chip, chips, key, names, topology

from drasat.models.topology_graphs import placed

TORUS = placed(topology("Torus", 2), chips(*product(range(3), range(5))))


def by_name(places, start):
    return {device[-1]: steps for device, steps in places.distances((DRIVER, "p", start)).items()}


def test_cells_wrap_along_periodic_axes_only():
    places = placed(topology("Grid", 2, periodic=(False, True)), chips(*product(range(3), range(4))))
    assert places.wrapped((2, 5)) == (2, 1)
    assert places.wrapped((2, -1)) == (2, 3)
    assert places.wrapped((3, 0)) is None
    assert places.wrapped((-1, 0)) is None
    assert places.at[1, 2] == key((1, 2))


def test_distances_are_shortest_paths():
    """TOPO-2: as networkx has them, around holes and wrapping."""
    rest = [device for device in TORUS.devices if device not in (key((0, 1)), key((1, 1)), key((2, 1)))]
    for places in (TORUS, TORUS.only(rest)):
        lengths = dict(networkx.all_pairs_shortest_path_length(places.graph()))
        assert {device: dict(places.distances(device)) for device in places.devices} == lengths


def test_what_is_not_connected_has_no_distance():
    places = placed(topology("Line", 1), chips((0,), (1,), (3,)))
    assert by_name(places, "0") == {"0": 0, "1": 1}


def test_distance_in_a_tree_is_the_levels_to_climb():
    """TOPO-2."""
    members = [chip("a", x=0, y=0), chip("b", x=0, y=0), chip("c", x=0, y=1), chip("d", x=1, y=0)]
    assert by_name(placed(topology("Tree", 2), members), "a") == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_devices_left_out_become_holes():
    """TOPO-4: the axes stay as they are, and nothing leads through a hole."""
    places = placed(topology("Ring", 1), chips(*((place,) for place in range(6))))
    some = places.only([key((0,)), key((1,)), key((5,))])
    assert (some.sizes, len(some.devices), len(some.links)) == ((6,), 3, 2)
    assert by_name(some, "1") == {"1": 0, "0": 1, "5": 2}
    assert key((3,)) in places
    assert key((3,)) not in some


@pytest.mark.parametrize("shape", ["Tree", "Links"])
def test_devices_left_out_are_nobodys_neighbours(shape):
    members = [chip(name, id=number, peers=[0, 1, 2], x=0) for number, name in enumerate("abc")]
    places = placed(topology(shape, 1 if shape == "Tree" else None), members)
    assert len(places.links) == 3
    some = places.only(places.devices[:2])
    assert [names(pair) for pair in some.links] == [["a", "b"]]
