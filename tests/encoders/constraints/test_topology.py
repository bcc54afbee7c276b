"""Shapes as rows: placements, connected sets, equal claims that share a count, guards, distances as an objective."""

from itertools import combinations
from math import comb
from random import Random

import networkx
import pytest
from support.modelling import picked, question
from support.objects import claim, device, pool, want
from support.soft import wishing
from support.topology import answered, asking, grid_of, line_of, shape, taken, topology
from support.topology_settings import Setting

from drasat.encoders.constraints.topology import boxes, components, connected_sets, segments
from drasat.models.kubernetes.extensions import TopologyRequest
from drasat.models.topology.places import Axis, Places
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver

RING = topology("Ring", "at", size=(8,))
TORUS = topology("Torus", "row", "column", size=(4, 4))


def no_clock(_cells):
    """What takes the work of looking at cells, where no time passes."""


def lattice(sizes, periodic):
    """Places of devices in every cell, numbered along the last axis first."""
    axes = tuple(Axis("a", 0, size, wraps) for size, wraps in zip(sizes, periodic, strict=True))
    cells = {}
    for number in range(networkx.grid_graph(sizes).number_of_nodes()):
        cell, rest = [], number
        for size in reversed(sizes):
            cell.append(rest % size)
            rest //= size
        cells[number] = tuple(reversed(cell))
    return Places("t", "Torus", tuple(cells), axes=axes, cells=cells)


@pytest.mark.parametrize(
    ("sizes", "periodic", "size", "orientation", "number"),
    [
        ((4, 4), (False, False), (2, 2), "", 9),
        ((4, 4), (True, False), (2, 2), "", 12),
        ((4, 4), (True, True), (2, 2), "", 16),
        ((4, 4), (False, False), (1, 3), "", 16),
        ((4, 4), (False, False), (1, 3), "Fixed", 8),
        ((4, 4), (True, True), (4, 4), "", 1),
        ((4, 4), (True, True), (1, 4), "", 8),
        ((4, 4), (True, True), (1, 5), "", 0),
        ((3, 2, 2), (True, True, True), (2, 2, 2), "", 3),
        ((4, 4, 4), (True, True, True), (1, 2, 4), "", 96),
    ],
)
def test_boxes_are_where_they_fit_each_once(sizes, periodic, size, orientation, number):
    places = lattice(sizes, periodic)
    ask = TopologyRequest(name="t", shape="Box", size=size, orientation=orientation)
    found = [frozenset(one) for one in boxes(places, places.devices, ask, range(100), no_clock)]
    assert len(found) == len(set(found)) == number
    assert not any(True for _ in boxes(places, places.devices, ask, (), no_clock))


def test_holes_leave_fewer_placements():
    places = lattice((8,), (True,))
    assert sorted(map(sorted, segments(places, [0, 1, 2, 6, 7], [3], no_clock))) == [[0, 1, 2], [0, 1, 7], [0, 6, 7]]
    assert len(list(segments(places, range(8), [0, 1, 8], no_clock))) == 8 + 1


def test_of_a_large_lattice_only_cells_of_devices_are_looked_at():
    """TOPO-4: no box fits, so that nothing else looks at the clock."""
    looked: list[int] = []
    axes = tuple(Axis("a", 0, 100, True) for _ in range(3))
    cells = {number: (number, number, number) for number in range(0, 100, 2)}
    places = Places("t", "Torus", tuple(cells), axes=axes, cells=cells)
    ask = TopologyRequest(name="t", shape="Box", size=(1, 2, 4))
    assert list(boxes(places, places.devices, ask, [8], looked.append)) == []
    assert 50 <= len(looked) <= 6 * 50


@pytest.mark.parametrize("seed", range(12))
def test_connected_sets_are_found_each_once(seed):
    graph = networkx.gnp_random_graph(8, 0.3, seed=seed)
    neighbours = {one: tuple(graph[one]) for one in graph}
    assert sorted(map(sorted, components(neighbours))) == sorted(map(sorted, networkx.connected_components(graph)))
    for size in range(1, 6):
        expected = {one for one in combinations(graph, size) if networkx.is_connected(graph.subgraph(one))}
        found = [tuple(sorted(one)) for one in connected_sets(neighbours, size, 10**6)]
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_too_many_connected_sets_end_with_nothing():
    neighbours = {one: tuple(other for other in range(12) if other != one) for one in range(12)}
    assert list(connected_sets(neighbours, 4, 30))[-1] is None
    assert len(list(connected_sets(neighbours, 4, 10**6))) == comb(12, 4)


def boxed(number, *requests, **fields):
    return wishing(claim(*requests, name=f"c{number}"), shape("Box", size=[2, 2], **fields))


def test_equal_claims_share_a_count_of_placements():
    supply = grid_of(4, 4, "d11")
    model = question(TORUS, supply, *(boxed(number, want(count=4)) for number in range(3))).model()
    assert len(model.merged.relations) == 1
    # A variable for each of 15 devices, and one for each of the boxes without the hole.
    assert model.rows.variables == 15 + 12
    alone = question(TORUS, supply, *(boxed(number, want(count=4)) for number in range(3))).model(together=False)
    assert len(alone.merged.relations) == 3


@pytest.mark.parametrize("requests", [[4], [1, 1, 1, 1], [2, 2]])
@pytest.mark.parametrize("together", [True, False])
def test_each_of_equal_claims_gets_a_whole_box(requests, together):
    claims = [boxed(number, *(want(f"r{index}", count) for index, count in enumerate(requests))) for number in range(3)]
    asked = question(TORUS, grid_of(4, 4), *claims)
    taken_ = asked.taken(together=together)
    owners = {}
    for demand, number in taken_:
        owners.setdefault(asked.problem.demands[demand].claim, []).append(number)
    for relation in asked.problem.relations:
        assert relation.condition.evaluate([(0, number) for number in owners[relation.claims[0]]])
    assert sorted(map(len, owners.values())) == [4, 4, 4]


@pytest.mark.parametrize("seed", range(40))
def test_counting_placements_of_equal_claims_finds_what_naming_the_claims_does(seed):
    rng = Random(seed)
    cells = [f"d{row}{column}" for row in range(3) for column in range(4)]
    supply = grid_of(3, 4, *rng.sample(cells, rng.randint(0, 4)))
    torus = topology("Torus", "row", "column", size=(3, 4))
    size = rng.choice(([2, 2], [1, 2], [1, 3], [2, 1]))
    requests = rng.choice(([size[0] * size[1]], [1] * (size[0] * size[1]), [size[0] * size[1] - 1, 1]))
    claims = [
        wishing(
            claim(
                *(want(f"r{index}", count) for index, count in enumerate(requests)), want("other"), name=f"c{number}"
            ),
            shape("Box", *(f"r{index}" for index in range(len(requests))), size=size),
        )
        for number in range(rng.randint(2, 4))
    ]
    asked = question(torus, supply, *claims)
    assert (asked.taken() is None) == (asked.taken(together=False) is None)


def test_claims_that_differ_in_their_entries_stay_apart():
    claims = [boxed(0, want(count=4)), boxed(1, want(count=4), orientation="Fixed"), boxed(2, want(count=4), weight=1)]
    model = question(TORUS, grid_of(4, 4), *claims).model()
    assert [relation.copies for relation in model.merged.relations] == [1, 1, 1]
    shareable = pool(*(device(f"d{place}", at=place, multi=True) for place in range(4)))
    segments_ = [wishing(claim(want(count=2), name=f"c{number}"), shape("Segment")) for number in range(2)]
    assert len(question(RING, shareable, *segments_).model().merged.relations) == 2


@pytest.mark.parametrize("seed", range(40))
def test_guards_say_the_same_while_they_hold_and_nothing_without_the_request(seed):
    """What explanations rest on: without its request an entry asks for nothing."""
    setting = Setting(Random(seed))
    kind, fields = setting.ask()
    ask = wishing(claim(want(count=Random(seed).randint(1, 3))), shape(kind, **fields))
    asked = question(setting.topology, setting.supply(), ask)
    expected = asked.taken() is not None
    assert _fits_under_guards(asked, {"topology", "exactCount"}) == expected
    assert _fits_under_guards(asked, {"topology"})


def _fits_under_guards(asked, kinds):
    model = asked.model(guarded=True)
    for justification, literal in model.guards.items():
        model.rows.fix(literal, int(justification.id in kinds))
    return run_solver(model.rows, Limits()).status is SolverStatus.OPTIMAL


def test_devices_are_in_lots_where_a_tree_does_not_tell_them_apart():
    tree = topology("Tree", "rack", "board")
    members = [device(f"{rack}{board}", rack=rack, board=board) for rack in "ab" for board in range(4)]
    racks = question(tree, pool(*members, device("loose")), asking(3, shape("Subtree", level="rack"))).model()
    assert sorted(lot.size for lot in racks.reduced.classes) == [1, 4, 4]
    assert picked(tree, pool(*members), asking(5, shape("Subtree", level="rack"))) is None


@pytest.mark.parametrize("seed", range(25))
def test_compact_without_a_distance_takes_the_least_sum_of_distances(seed):
    rng = Random(seed)
    missing = rng.sample(range(9), rng.randint(0, 3))
    supply = line_of(9, *missing)
    line = topology("Line", "at")
    count = rng.randint(2, 4)
    answer = answered(line, supply, asking(count, shape("Compact")), engine="cp-sat", objective="compact")
    (names,) = taken(answer)
    graph = networkx.path_graph(9).subgraph(place for place in range(9) if place not in missing)
    assert _spread(graph, [int(name[1:]) for name in names]) == min(
        _spread(graph, chosen) for chosen in combinations(graph, count)
    )


def _spread(graph, places):
    steps = dict(networkx.all_pairs_shortest_path_length(graph))
    return sum(steps[one].get(other, len(graph)) for one, other in combinations(places, 2))
