"""The greedy planner that empties the least used node by trial: what it places, what it moves, and what it leaves."""

import time

import pytest
from support.moving import holder, random_scene
from support.plan_building import classes, cluster, entry, nodes, of, pod, template, user

from drasat.models.kubernetes.gates import gates_of
from drasat.scenarios.fragmented import fragmented
from drasat.solver.allocate.load import load
from drasat.solver.compare.consolidation import consolidate
from drasat.solver.compare.figures import figures, scheduling_input
from drasat.solver.compare.schedulers import schedule
from drasat.solver.plan.lifted import MoveOptions


def emptied(*given, most=None, bare=False, deadline=None, order="given", **narrowed):
    """What the greedy makes of these objects."""
    return consolidate(posed(cluster(*classes(), *given), **narrowed), MoveOptions(most, bare), order, deadline)


def posed(what, namespace=None, selector=""):
    gates = gates_of(None)
    return scheduling_input(what, gates=gates, cel_errors="kube", seed=0, namespace=namespace, selector=selector)


def where(found):
    return {one.unit.name: one.node for one in found.units}


def moved(found):
    return [one.key[1] for one in found.moved]


def two_used_nodes():
    """Two nodes with four devices: two pods are on the first, one is on the second."""
    there = nodes("n1", "n2")
    return [*there, *holder("a", "n1", 0), *holder("b", "n1", 1), *holder("c", "n2", 0), template("t4", of(4))]


def test_the_least_used_node_is_emptied_for_what_waits():
    """MOV-6: the claim of a pod that moves is allocated anew."""
    found = emptied(*two_used_nodes(), user("big", spec="t4"))
    assert where(found) == {"big": "n2", "c": "n1"}
    assert moved(found) == ["c"]
    counted = figures(found.inputs, found.units)
    assert (counted.admitted, counted.used, counted.devices, counted.whole) == (1, 7, 8, 0)


@pytest.mark.parametrize(("most", "placed"), [(None, 1), (1, 1), (0, 0)])
def test_there_are_no_more_moves_than_allowed(most, placed):
    found = emptied(*two_used_nodes(), user("big", spec="t4"), most=most)
    assert (figures(found.inputs, found.units).admitted, len(found.moved)) == (placed, placed)


def test_a_node_is_emptied_as_a_whole_or_not_at_all():
    """One pod of two fits elsewhere: neither moves."""
    there = [*nodes("n1", "n2", devices=3), *holder("a", "n1", 0), *holder("b", "n1", 1)]
    there += [*holder("c", "n2", 0), *holder("d", "n2", 1)]
    found = emptied(*there, template("t3", of(3)), user("big", spec="t3"))
    assert (where(found), moved(found)) == ({"big": None}, [])


def test_pods_that_may_not_move_stay_and_others_leave_them():
    """MOV-1: a pod without a controller stays, unless said otherwise."""
    there = [*nodes("n1", "n2"), *holder("a", "n1", 0), *holder("b", "n2", 0, owner=None)]
    given = [*there, template("t4", of(4)), user("big", spec="t4")]
    assert moved(emptied(*given)) == ["a"]
    fixed = [*nodes("n1", "n2"), *holder("a", "n1", 0, owner=None), *holder("b", "n2", 0, owner=None), *given[-2:]]
    assert moved(emptied(*fixed)) == []
    assert len(moved(emptied(*fixed, bare=True))) == 1


def test_pods_outside_the_narrowed_queue_stay():
    given = [*two_used_nodes(), user("big", spec="t4")]
    assert moved(emptied(*given, namespace="elsewhere")) == []
    assert moved(emptied(*given, namespace="default")) == ["c"]


@pytest.mark.parametrize("running", [True, False], ids=["the-running-pod-says-so", "the-waiting-one-alone-says-so"])
def test_pods_that_stay_apart_from_others_do_not_move(running):
    """Nobody has to find an order for them; one that waits is kept apart from them all the same."""
    apart = [{"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}
    given = two_used_nodes()
    for one in given:
        if one["kind"] == "Node":
            one["metadata"]["labels"] = {"kubernetes.io/hostname": one["metadata"]["name"]}
    (runs,) = [one for one in given if one["metadata"]["name"] == "a"]
    runs["metadata"]["labels"] = {"app": "x"}
    runs["spec"] |= {"affinity": affinity} if running else {}
    waits = pod("d", entry("g", template="t"), labels={"app": "x"}, spec={"affinity": affinity})
    assert (where(emptied(*given, waits)), moved(emptied(*given, waits))) == ({"d": "n2"}, [])
    assert "a" not in moved(emptied(*given, waits, user("big", spec="t4")))


def test_what_has_room_is_placed_without_a_move():
    found = emptied(*two_used_nodes(), user("small"))
    assert (where(found), moved(found)) == ({"small": "n1"}, [])


def test_where_nothing_waits_nodes_are_emptied_as_long_as_that_is_possible():
    given = [*nodes("n1", "n2", "n3"), *(one for n in (1, 2, 3) for one in holder(f"p{n}", f"n{n}", 0))]
    found = emptied(*given)
    counted = figures(found.inputs, found.units)
    assert (len(found.moved), counted.admitted, counted.used, counted.whole) == (2, 0, 3, 8)


def test_no_pod_moves_to_a_node_that_is_not_used():
    given = [*nodes("n1", "n2"), *holder("a", "n1", 0), template("t9", of(9)), user("huge", spec="t9")]
    assert moved(emptied(*given)) == []


@pytest.mark.parametrize(("specs", "nodes_of_gang"), [(("t4", "t"), {"n2", "n1"}), (("t4", "t4"), {None})])
def test_gangs_get_room_as_a_whole(specs, nodes_of_gang):
    """WLG-6: a node is emptied for both members, or the one that has room then is not placed, either."""
    gang = [user(f"g{number}", spec=spec, GANG="g") for number, spec in enumerate(specs)]
    found = emptied(*two_used_nodes(), *gang)
    assert {one.node for one in found.units if one.gang} == nodes_of_gang


def test_nothing_is_kept_of_what_was_not_placed_in_time():
    found = emptied(*two_used_nodes(), user("big", spec="t4"), deadline=time.monotonic() - 1)
    assert (where(found), moved(found), found.in_time) == ({"big": None}, [], False)


def test_the_order_of_the_queue_decides_who_gets_the_room():
    given = [*two_used_nodes(), user("late", spec="t4")]
    given.append(pod("urgent", entry("g", template="t4"), cpu="1", spec={"priority": 10}))
    assert where(emptied(*given)) == {"late": "n2", "urgent": None, "c": "n1"}
    assert where(emptied(*given, order="priority")) == {"late": None, "urgent": "n2", "c": "n1"}


@pytest.mark.parametrize("seed", range(40))
def test_no_scene_gets_more_than_trying_everything_finds_with_as_many_moves(seed):
    scene, most = random_scene(seed), [None, 0, 1, 2][seed % 4]

    def placed(state, moved):
        return sum(one.node is None and at is not None for one, at in zip(scene.pods, state, strict=True))

    given = cluster(*classes(), *scene.objects())
    found = consolidate(posed(given), MoveOptions(most), "given", None)
    counted = figures(found.inputs, found.units)
    assert counted.admitted <= scene.best(placed, most)
    assert len(found.moved) <= (len(scene.pods) if most is None else most)
    # What is placed without a move stays placed.
    plain = schedule(posed(given), "first-fit", "given", None)
    assert counted.admitted >= sum(one.node is not None for one in plain.units)


@pytest.mark.parametrize(("kind", "size"), [("openb", 30), ("partitions", 3), ("racks", 2)])
def test_fragmented_clusters_stay_valid(kind, size):
    # The whole is verified.
    given = posed(load(fragmented(kind, size, seed=2)))
    found = consolidate(given, MoveOptions(20), "random", None)
    assert found.in_time
    assert len(found.units) == len(given.units) + len(found.moved)
