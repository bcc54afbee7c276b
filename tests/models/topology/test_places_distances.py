"""What is asked of devices in their places: cells around an axis, distances, and what is left without some."""

from itertools import product

import networkx
from support.topology_objects import DRIVER, chip, chips, key, topology

from drasat.models.topology.places import place_devices

CELLS = list(product(range(3), range(5)))


def by_name(places, start):
    return {device[-1]: steps for device, steps in places.distances((DRIVER, "p", start)).items()}


def test_cells_wrap_along_periodic_axes_only():
    places = place_devices(topology("Grid", 2, periodic=(False, True)), chips(*product(range(3), range(4))))
    assert places.wrapped((2, 5)) == (2, 1)
    assert places.wrapped((2, -1)) == (2, 3)
    assert places.wrapped((3, 0)) is None
    assert places.wrapped((-1, 0)) is None
    assert places.at[1, 2] == key((1, 2))


def test_distances_are_shortest_paths():
    """TOPO-2: as networkx has them, around holes and wrapping."""
    for left_out in ((), ((0, 1), (1, 1), (2, 1)), ((0, 0), (1, 1), (2, 2), (0, 3))):
        cells = [cell for cell in CELLS if cell not in left_out]
        places = place_devices(topology("Torus", 2, size=(3, 5)), chips(*cells))
        lengths = dict(networkx.all_pairs_shortest_path_length(places.graph()))
        assert {device: dict(places.distances(device)) for device in places.devices} == lengths


def test_the_walk_ends_at_the_most_steps_that_are_asked_for():
    places = place_devices(topology("Torus", 2, size=(3, 5)), chips(*CELLS))
    for device in places.devices:
        whole = places.distances(device)
        for most in range(4):
            near = {other: steps for other, steps in whole.items() if steps <= most}
            assert {other: steps for other, steps in places.distances(device, most).items() if steps <= most} == near


def test_what_is_not_connected_has_no_distance():
    places = place_devices(topology("Line", 1), chips((0,), (1,), (3,)))
    assert by_name(places, "0") == {"0": 0, "1": 1}


def test_distance_in_a_tree_is_the_levels_to_climb():
    """TOPO-2."""
    members = [chip("a", x=0, y=0), chip("b", x=0, y=0), chip("c", x=0, y=1), chip("d", x=1, y=0)]
    assert by_name(place_devices(topology("Tree", 2), members), "a") == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_nothing_leads_through_a_hole():
    """TOPO-4."""
    places = place_devices(topology("Ring", 1, size=(6,)), chips((0,), (1,), (5,), (3,)))
    assert by_name(places, "1") == {"1": 0, "0": 1, "5": 2}
    assert by_name(places, "3") == {"3": 0}
    assert key((3,)) in places
    assert key((2,)) not in places
