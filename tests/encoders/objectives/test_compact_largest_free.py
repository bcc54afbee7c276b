"""``compact`` leaves the largest segment or box free, against trying all allocations (TOPO-6)."""

from itertools import combinations, permutations, product
from random import Random

import pytest
from support.objects import after, claim, device, pool, want
from support.soft import wishing
from support.topology import answered, asking, grid_of, line_of, shape, taken, together, topology
from support.topology_settings import Setting

from drasat.encoders.objectives import compact as compact_module
from drasat.models.results.common import Status
from drasat.problem.problem import BoundedValue

RING = topology("Ring", "at", size=(8,))
LINE = topology("Line", "at")


def lost(answer, unit=0):
    """What is lost of the largest free shapes, proven to be the least."""
    (compact,) = (stage for stage in answer.units[unit].objective if stage.stage == "compact")
    assert compact.proven
    return compact.parts[1].value if compact.parts else 0


def best(*objects, objective="compact", **options):
    return answered(*objects, engine="cp-sat", objective=objective, **options)


def held(*names):
    return after(pool(*map(device, names)), claim(want(count=len(names)), name="holder")) if names else ()


def lattice(seed):
    """A random Ring, Line, Grid or Torus, partly in use."""
    rng = Random(seed)
    return next(setting for setting in iter(lambda: Setting(rng), None) if setting.sizes)


def largest(setting, free):
    """Cells of the largest box of free devices, by trying all boxes."""
    cells = {setting.cells[name] for name in free if name in setting.cells}
    boxes = product(product(*map(range, setting.sizes)), product(*(range(1, size + 1) for size in setting.sizes)))
    spans = (set(setting.span(*one)) for one in boxes)
    return max((len(span) for span in spans if span <= cells), default=0)


def least_loss(setting, asked, count, others):
    """Over all choices of ``count`` devices that make the shape and so many others; None if there is no such choice."""
    kind, fields = asked
    free = set(setting.names) - set(setting.used)
    choices = (
        {*chosen, *beside}
        for chosen in combinations(sorted(free), count)
        if setting.holds(kind, fields, set(chosen))
        for beside in combinations(sorted(free - (set(chosen) - setting.shared)), others)
    )
    before = largest(setting, free)
    return min((before - largest(setting, free - one) for one in choices), default=None)


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_as_little_is_lost_as_in_the_best_of_all_allocations(start):
    seen = set()
    for seed in range(start, start + 20):
        setting, rng = lattice(seed), Random(seed)
        kind, fields = next(ask for ask in iter(setting.ask, None) if ask[0] != "Compact" or ask[1])
        count, others = rng.randint(1, 4), rng.choice((0, 0, 1, 2))
        requests = [want("r", count), *([want("s", others)] if others else [])]
        ask = wishing(claim(*requests), shape(kind, "r", **fields))
        answer = best(setting.topology, setting.supply(), *held(*setting.used), ask)
        expected = least_loss(setting, (kind, fields), count, others)
        seen.add(expected)
        assert answer.outcome == (Status.UNALLOCATABLE if expected is None else Status.ALLOCATED), seed
        if expected is not None:
            assert lost(answer) == expected, seed
            (names,) = taken(answer)
            free = set(setting.names) - set(setting.used)
            assert largest(setting, free) - largest(setting, free - set(names)) == expected, seed
    assert len(seen - {None, 0}) > 1


def test_a_segment_is_taken_where_the_longest_run_stays_whole():
    """TOPO-6."""
    answer = best(RING, line_of(8), *held("d2", "d5"), asking(2, shape("Segment")))
    assert (taken(answer), lost(answer)) == ([["d3", "d4"]], 0)


def test_a_box_is_taken_at_an_edge_and_not_in_the_middle():
    grid = topology("Grid", "row", "column", size=(4, 4))
    assert lost(best(grid, grid_of(4, 4), asking(4, shape("Box", size=[2, 2])))) == 16 - 8
    torus = topology("Torus", "row", "column", size=(3, 3))
    assert lost(best(torus, grid_of(3, 3), asking(1, shape("Connected")))) == 9 - 6


def test_two_segments_leave_the_rest_in_one_piece():
    claims = [asking(2, shape("Segment"), name=name) for name in "ab"]
    assert lost(best(LINE, line_of(9), *claims, together(*claims))) == 4


def test_closeness_comes_before_what_stays_free():
    """Two of the short run and one of the long one would cost that only one of its six."""
    answer = best(LINE, line_of(9, 2), asking(3, shape("Compact")))
    assert taken(answer)[0] in (["d3", "d4", "d5"], ["d6", "d7", "d8"])
    assert lost(answer) == 3


@pytest.mark.parametrize("stages", list(permutations(["compact", "fragmentation"])))
def test_stages_decide_in_the_order_given(stages):
    sizes = ["4Gi", "4Gi", "1Gi", "4Gi", "4Gi"]
    supply = pool(*(device(f"d{place}", at=place, capacity={"memory": size}) for place, size in enumerate(sizes)))
    answer = best(LINE, supply, asking(1, shape("Segment")), objective=",".join(stages))
    first, second = (taken(answer)[0] == ["d2"], lost(answer) == 1)
    assert (first, second) == ((False, True) if stages[0] == "compact" else (True, False))


def test_the_node_that_loses_least_is_taken():
    near = pool(*(device(f"a{place}", at=place) for place in range(4)))
    far = pool(*(device(f"b{place}", at=place) for place in (0, 1, 3, 4, 5, 6)), name="far", node_name="n2")
    answer = best(LINE, near, far, asking(2, shape("Segment")), nodes=("n1", "n2"))
    assert (taken(answer), lost(answer)) == ([["b0", "b1"]], 0)


@pytest.mark.parametrize("stage", ["compact", "fragmentation"])
def test_coordinates_are_not_compared(stage):
    """Two devices in one row are no closer for that, and make no group: one pool, and no PCIe root."""
    grid = topology("Grid", "row", "column", size=(3, 3))
    (found,) = best(grid, grid_of(3, 3), asking(3, shape("Connected")), objective=stage).units[0].objective
    assert found.parts[0].value == {"compact": 2, "fragmentation": 3 * 1000**2}[stage]


def test_instances_are_counted_each_for_itself():
    line = topology("Line", "at", scope="Pool")
    pools = [
        pool(*(device(f"{name}{place}", at=place) for place in places), name=name)
        for name, places in (("a", (0, 1, 2)), ("b", (0, 1, 2, 4)))
    ]
    answer = best(line, *pools, asking(1, shape("Segment")))
    assert (taken(answer), lost(answer)) == ([["b4"]], 0)


def test_a_topology_that_two_entries_name_counts_once():
    asked = asking(2, shape("Segment"), shape("Connected"))
    assert lost(best(LINE, line_of(6), asked)) == 2


def test_a_share_takes_a_device_and_a_device_with_a_share_is_not_free():
    supply = pool(*(device(f"d{place}", at=place, multi=True) for place in range(5)))
    first = after(pool(device("d1", multi=True)), claim(want(), name="holder"))
    answer = best(LINE, supply, *first, asking(1, shape("Segment")))
    assert lost(answer) == 0
    assert taken(answer)[0] in (["d0"], ["d1"])
    assert lost(best(LINE, supply, asking(1, shape("Segment")))) == 1


def test_what_is_taken_beside_the_shape_counts_too():
    ask = wishing(claim(want("r", 2), want("s", 2)), shape("Segment", "r"))
    answer = best(LINE, line_of(9, 2), ask)
    assert lost(answer) == 2
    assert {"d0", "d1"} <= set(taken(answer)[0])


def test_admin_access_takes_nothing():
    """IN-3."""
    ask = wishing(claim(want(admin=True, count=2)), shape("Segment"))
    assert lost(best(LINE, line_of(4), ask)) == 0


def test_trees_and_links_have_no_boxes():
    tree = topology("Tree", "rack")
    members = pool(*(device(f"d{number}", rack=number % 2) for number in range(4)))
    assert lost(best(tree, members, asking(2, shape("Subtree", level="rack")))) == 0
    links = topology("Links", "id", "peers")
    chain = pool(*(device(f"d{number}", id=number, peers=(number + 1,)) for number in range(4)))
    assert lost(best(links, chain, asking(2, shape("Connected")))) == 0


def test_what_is_too_large_is_lost_and_not_proven():
    huge = topology("Ring", "at", size=(compact_module.MOST_CELLS + 1,))
    (stage,) = best(huge, line_of(8), *held("d2"), asking(2, shape("Segment"))).units[0].objective
    assert stage.parts == (BoundedValue(2, 2), BoundedValue(7, 0))
    assert (stage.value, stage.bound, stage.proven) == (9, 2, False)


def test_what_is_too_large_does_not_matter_if_nothing_can_be_taken_of_it():
    huge = topology("Line", "at", size=(compact_module.MOST_CELLS + 1,))
    supply = pool(*(device(f"d{place}", at=place) for place in range(3)), device("loose"))
    ask = wishing(claim(want(select="!has(device.attributes['d.x'].at)")), shape("Segment", weight=1))
    assert lost(best(huge, supply, ask)) == 0
