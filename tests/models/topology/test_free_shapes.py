"""The largest free shape of a topology (TOPO-6), against exhaustive search and networkx."""

from itertools import product
from math import prod
from random import Random

import networkx
import pytest
from support.topology_objects import DRIVER, chip, chips, key, names, topology

from drasat.models.topology.free_shapes import largest_free_by_level, largest_free_shape
from drasat.models.topology.places import place_devices


def cells_of(first, size, places):
    """The cells of a box; None if it leaves the lattice."""
    inside = product(*(range(start, start + length) for start, length in zip(first, size, strict=True)))
    found = [places.wrapped(cell) for cell in inside]
    return None if None in found else set(found)


def exhaustive(places, free):
    """The most cells of any free box, by trying all of them."""
    there = {places.cells[device] for device in free}
    boxes = product(product(*map(range, places.sizes)), product(*(range(1, size + 1) for size in places.sizes)))
    found = (cells_of(first, size, places) for first, size in boxes)
    return max((len(cells) for cells in found if cells and cells <= there), default=0)


def lattice(sizes, periodic):
    return place_devices(
        topology("Grid", len(sizes), size=sizes, periodic=periodic), chips(*product(*map(range, sizes)))
    )


@pytest.mark.parametrize("seed", range(120))
def test_the_largest_box_is_as_large_as_any(seed):
    """TOPO-6: one to three axes, some of which wrap."""
    random = Random(seed)
    sizes = tuple(random.randint(1, 4) for _ in range(random.randint(1, 3)))
    places = lattice(sizes, tuple(random.random() < 0.5 for _ in sizes))
    density = random.choice([0.3, 0.6, 0.8, 0.95, 1])
    free = {device for device in places.devices if random.random() < density}
    found = largest_free_shape(places, free)
    assert len(found.devices) == exhaustive(places, free)
    if free:
        assert {places.cells[device] for device in found.devices} == cells_of(found.first, found.size, places)
        assert len(set(found.devices)) == prod(found.size) == len(found.devices)
        assert set(found.devices) <= free


def ring(shape, size, used=()):
    places = place_devices(topology(shape, 1), chips(*((place,) for place in range(size))))
    return largest_free_shape(places, [device for device in places.devices if places.cells[device][0] not in used])


def test_a_segment_goes_over_the_seam_of_a_ring_only():
    """TOPO-6."""
    found = ring("Ring", 8, used=(3, 4))
    assert (found.kind, found.size, found.first) == ("Segment", (6,), (5,))
    assert names(found.devices) == ["5", "6", "7", "0", "1", "2"]
    assert ring("Line", 8, used=(3, 4)).size == (3,)


@pytest.mark.parametrize("shape", ["Ring", "Line"])
def test_a_segment_is_all_or_nothing_at_the_ends(shape):
    assert len(ring(shape, 5).devices) == 5
    nothing = ring(shape, 5, used=range(5))
    assert (nothing.kind, nothing.devices, nothing.size) == ("Segment", (), ())


def test_holes_are_never_part_of_a_box():
    """TOPO-4: neither devices in use nor cells without a device."""
    cells = [cell for cell in product(range(4), repeat=2) if cell != (1, 1)]
    places = place_devices(topology("Grid", 2), chips(*cells))
    found = largest_free_shape(places, set(places.devices) - {key((2, 2))})
    assert len(found.devices) == 4
    assert not {key((1, 1)), key((2, 2))} & set(found.devices)


def test_a_large_torus_is_searched():
    """TOPO-6: sizes as of real machines; the free box is put there, so that it is known."""
    sizes, random = (16, 16, 16), Random(3)
    places = place_devices(topology("Torus", 3), chips(*product(*map(range, sizes))))
    box = cells_of((13, 2, 15), (5, 6, 7), places)
    free = {device for device, cell in places.cells.items() if cell in box or random.random() < 0.4}
    found = largest_free_shape(places, free)
    assert box <= {places.cells[device] for device in found.devices}


@pytest.mark.parametrize("seed", range(30))
def test_the_largest_component_is_that_of_networkx(seed):
    """TOPO-6: the component of the graph of the free devices alone."""
    random = Random(seed)
    count = random.randint(1, 12)
    members = [chip(str(one), id=one, peers=[random.randrange(count) for _ in range(2)]) for one in range(count)]
    places = place_devices(topology("Links"), members)
    free = {device for device in places.devices if random.random() < 0.6}
    found = largest_free_shape(places, free)
    parts = networkx.connected_components(places.graph().subgraph(free))
    assert found.kind == "Component"
    assert len(found.devices) == max(map(len, parts), default=0)
    assert not found.devices or networkx.is_connected(places.graph().subgraph(found.devices))


def test_subtrees_are_counted_by_level():
    """TOPO-6: a claim for a level needs its devices under one tree node of that level."""
    members = [chip(f"{x}{y}{n}", x=x, y=y) for x, y, n in product(range(2), range(2), range(3))]
    places = place_devices(topology("Tree", 2), members)
    free = [device for device in places.devices if device[-1] not in ("000", "010", "011", "100", "110", "111")]
    assert [(one.level, len(one.devices)) for one in largest_free_by_level(places, free)] == [
        (f"{DRIVER}/x", 3),
        (f"{DRIVER}/y", 2),
    ]
    largest = largest_free_shape(places, free)
    assert (largest.kind, len(largest.devices), largest.level) == ("Subtree", 2, f"{DRIVER}/y")


def test_other_shapes_have_no_levels():
    assert largest_free_by_level(lattice((2, 2), (False, False)), []) == ()


def test_of_several_as_large_it_is_always_the_same():
    places = lattice((4, 4), (True, True))
    free = [device for device in places.devices if places.cells[device] not in {(0, 0), (2, 2)}]
    assert largest_free_shape(places, free) == largest_free_shape(places, reversed(free))
