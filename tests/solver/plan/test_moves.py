"""Plans that may move running pods: equal to trying everything, and what stays where it is."""

import pytest
from support.moving import Scene, holder, moving, priced_scene, random_scene, with_draws
from support.plan_building import (
    classes,
    cluster,
    device,
    node,
    nodes,
    of,
    published,
    template,
    to_buy,
    user,
    values,
    where,
)

import drasat


def moved(outcome):
    return {move.running.key[1]: (move.running.node, move.unit.node) for move in outcome.moves}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("draws", [False, True])
def test_plans_with_moves_are_as_good_as_trying_everything(seed, draws):
    """MOV-3, MOV-6: what waits comes first, then the cost and the number of moves; where nothing waits, they are last.

    Every state between two steps is verified, too. With ``draws`` devices take CPU of their nodes (NAR-1, NAR-11).
    """
    scene, most = random_scene(seed), [None, 0, 1, 2][seed % 4]
    scene = with_draws(scene, seed) if draws else scene
    waiting = any(one.node is None for one in scene.pods)
    fixed = {one.node for one in scene.pods if one.fixed}

    def value(state, gone):
        placed = [one for one, at in zip(scene.pods, state, strict=True) if one.node is None and at]
        urgent = sum(one.priority == 10 for one in placed)
        used = len({at[0] for at in state if at} | fixed)
        costs = -sum(one.cost for one in gone), -len(gone)
        return (urgent, len(placed), *costs, -used) if waiting else (-used, *costs)

    stages = "priority,admitted,fewest-nodes" if waiting else "fewest-nodes"
    found = moving(*scene.objects(), most=most, objective=stages)
    reached = values(found)
    costs = -reached["move-cost"], -reached["moves"]
    used = -reached["fewest-nodes"] - len(fixed)
    got = (reached.get("priority=10", 0), reached["admitted"], *costs, used) if waiting else (used, *costs)
    assert (got, found.outcome, found.verified) == (scene.best(value, most), "Optimal", True)
    leaving = {step.name for step in found.steps if step.action in ("move", "evict")}
    assert len(found.moves) == reached["moves"] == len(leaving)


@pytest.mark.parametrize("seed", range(45))
def test_the_cheapest_nodes_are_those_of_trying_everything(seed):
    """Section 4.3 of karpenter-dra: with no new node, with one as Karpenter has it, and with any number."""
    scene, replacement = priced_scene(seed), ["any", "one", "none"][seed % 3]
    given = cluster(*classes(), *scene.objects())
    found = drasat.plan(given, consolidate=True, replacement=replacement, gap=0.0, time_limit=None)
    stages = {stage.stage: stage.value for stage in found.document.objective}
    reached = stages["admitted"], -stages["cost"], -stages["move-cost"], -stages["moves"]
    assert (reached, found.outcome) == (scene.least_cost(replacement), "Optimal")
    left = sum(scene.prices.values()) - sum(one.price for one in found.document.removed)
    assert left + sum(one.cost for one in found.document.bought) == stages["cost"]


@pytest.mark.parametrize("seed", range(60))
def test_the_room_that_moves_leave_for_a_mix_is_that_of_trying_everything(seed):
    """Stage fragmentation: pods of two devices and a CPU are to have room, before moves count or after them."""
    scene, most = random_scene(seed, 5, 2 if seed % 2 else 0), [None, 0, 1, 2][seed % 4]
    waiting = any(one.node is None for one in scene.pods)

    def room(state):
        total = 0
        for name, (kinds, cpu) in scene.nodes.items():
            there = [(one, at) for one, at in zip(scene.pods, state, strict=True) if at and at[0] == name]
            free = len(kinds) - sum(len(at[1]) for _, at in there)
            total += 2 * min(free // 2, cpu - sum(scene.needs(one, at) for one, at in there))
        return total

    def value(state, gone):
        placed = sum(one.node is None and at is not None for one, at in zip(scene.pods, state, strict=True))
        costs = -sum(one.cost for one in gone), -len(gone)
        return (placed, *costs, room(state)) if waiting else (room(state), *costs)

    mix = cluster(*classes(), template("t2", of(2)), user("m", spec="t2", cpu="1"))
    stages = "admitted,fragmentation" if waiting else "fragmentation"
    found = moving(*scene.objects(), most=most, objective=stages, mix=mix)
    reached = values(found)
    costs, left = (-reached["move-cost"], -reached["moves"]), reached["fragmentation"]
    got = (reached["admitted"], *costs, left) if waiting else (left, *costs)
    assert (got, found.outcome) == (scene.best(value, most), "Optimal")


def two_nodes(*more):
    return [*nodes("n1", "n2"), template("t4", of(4)), *holder("a", "n1", 0), *holder("b", "n2", 0), *more]


def test_a_pod_moves_for_one_that_waits_and_the_cheaper_one_does():
    given = [*nodes("n1", "n2"), template("t4", of(4)), user("big", spec="t4")]
    given += [*holder("a", "n1", 0, MOVE_COST="7"), *holder("b", "n2", 0, MOVE_COST="3")]
    found = moving(*given)
    assert (moved(found), where(found)["big"]) == ({"b": ("n2", "n1")}, "n2")
    assert (values(found)["move-cost"], found.outcome) == (3, "Optimal")


def test_a_pod_that_prefers_to_stay_moves_if_no_other_will_do():
    """MOV-1: rather than another one it stays; for what waits it moves."""
    prefers = {"meta": {"annotations": {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}}}
    given = [*nodes("n1", "n2"), template("t4", of(4)), user("big", spec="t4"), *holder("a", "n1", 0, **prefers)]
    assert list(moved(moving(*given, *holder("b", "n2", 0, 1, 2)))) == ["b"]
    assert list(moved(moving(*given, *holder("b", "n2", 0, owner=None)))) == ["a"]


def test_what_an_eviction_may_end_is_a_notice_of_the_plan():
    """MOV-8: about the pods that leave alone."""
    owners = [("Widget", "w"), ("Other", "o")]
    given = [*nodes("n1", "n2"), template("t4", of(4)), user("big", spec="t4")]
    given += [*holder("a", "n1", 0, MOVE_COST="7", owner=owners[0]), *holder("b", "n2", 0, owner=owners[1])]
    said = [one for one in moving(*given).notices if "again" in one]
    assert said == ["whether Other default/o makes pod default/b again is not known"]


def test_no_more_pods_move_than_may():
    found = moving(*two_nodes(user("big", spec="t4")), most=0)
    assert (moved(found), found.placed, found.outcome) == ({}, 0, "Optimal")


def test_where_nothing_waits_fewer_nodes_are_in_use():
    found = moving(*two_nodes())
    assert (len(found.moves), values(found)["fewest-nodes"], found.outcome) == (1, 1, "Optimal")


def test_a_node_that_pods_would_not_suit_keeps_those_that_stay():
    """A cordoned node takes no pod, but its own may stay."""
    there = nodes("n1", "n2")
    there[0]["spec"] = {"unschedulable": True}
    given = [*there, *holder("a", "n1", 0), *holder("b", "n2", 0)]
    found = moving(*given)
    assert moved(found) == {"a": ("n1", "n2")}
    assert moved(moving(*given, most=0)) == {}


def test_only_pods_that_are_planned_move():
    """A namespace or a selector narrows what moves as it narrows what is placed."""
    given = two_nodes(user("big", spec="t4"))
    assert len(moving(*given, selector="app=web").moves) == 0
    assert len(moving(*given, namespace="default").moves) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"moves": "few"}, "neither a number"),
        ({"moves": -1}, "neither a number"),
        ({"move_bare": True}, "pods without a controller move only"),
        ({"replacement": "one"}, "makes sense to consolidate alone"),
        ({"consolidate": True, "replacement": "two"}, "is none of: none, one, any"),
        ({"consolidate": True}, "no node has a price that is known"),
        ({"objective": "moves"}, "makes sense where running pods may move alone"),
    ],
)
def test_bad_arguments_are_one_line(options, said):
    with pytest.raises(ValueError, match=said) as caught:
        drasat.plan(cluster(*classes(), *two_nodes()), **options)
    assert "\n" not in str(caught.value)


def test_pods_without_a_controller_move_where_they_may():
    given = [*nodes("n1", "n2"), template("t4", of(4)), user("big", spec="t4")]
    given += [*holder("a", "n1", 0, owner=None), *holder("b", "n2", 0, owner=None)]
    assert len(moving(*given).moves) == 0
    assert len(moving(*given, bare=True).moves) == 1


def test_pods_without_devices_move_and_a_time_limit_of_nothing_moves_nothing():
    there = [node("n1", cpu="4"), node("n2", cpu="4"), *holder("a", "n1", cpu="1"), *holder("b", "n2", cpu="1")]
    assert len(moving(*there).moves) == 1
    late = moving(*there, time_limit=0.0)
    assert (len(late.moves), late.steps, late.verified) == (0, (), True)


def test_new_nodes_come_before_moves_and_nodes_go_after_them():
    """A node is replaced by a cheaper one: it joins, the pod moves, and the old one goes."""
    old = node("n1", cpu="4")
    old["metadata"]["labels"] = {"drasat.dev/node-template": "dear"}
    given = [old, *holder("a", "n1"), to_buy("dear", 0, "5", limit=0, allocatable={"cpu": "4"})]
    given += [to_buy("cheap", 0, "2", allocatable={"cpu": "2"})]
    found = drasat.plan(cluster(*classes(), *given), consolidate=True)
    assert [(step.action, step.name) for step in found.steps] == [("add", "cheap-1"), ("move", "a"), ("remove", "n1")]
    assert [(one.name, one.price) for one in found.document.removed] == [("n1", 5)]


def test_many_equal_pods_on_many_nodes_move_as_few_as_possible():
    """Ten nodes of eight devices with five of them in use: two pods need a whole node each."""
    names = [f"n{number}" for number in range(10)]
    given = [*nodes(*names, devices=8, cpu="64"), template("t8", of(8)), user("v", spec="t8"), user("w", spec="t8")]
    for name in names:
        given += [one for number in range(5) for one in holder(f"{name}-{number}", name, number)]
        given += [one for number in range(3) for one in holder(f"{name}-cpu-{number}", name)]
    found = moving(*given)
    assert (values(found)["admitted"], values(found)["moves"], found.outcome) == (2, 10, "Optimal")
    assert (len(found.moves), len(found.steps), found.verified) == (10, 12, True)


def test_pods_that_share_a_device_move_one_by_one():
    """Two devices with 400 of 1000 free each: one of the pods on them makes room for 700."""

    def share(amount):
        return of(1, capacity={"requests": {"share": str(amount)}})

    def holding_a_share(name, where):
        pod, claim = holder(name, where, 0, spec="t300", wanted=share(300))
        more = {"shareID": f"{name * 8}-0000-4000-8000-000000000000", "consumedCapacity": {"share": "300"}}
        claim["status"]["allocation"]["devices"]["results"][0] |= more
        return [pod, claim]

    whole = device("gpu-0", capacity={"share": {"value": "1000"}}, allowMultipleAllocations=True)
    given = [one for name in ("n1", "n2") for one in (node(name, cpu="8"), published(name, whole))]
    given += [
        one
        for name, where in zip("abcd", ("n1", "n1", "n2", "n2"), strict=True)
        for one in holding_a_share(name, where)
    ]
    given += [template("t300", share(300)), template("t700", share(700))]
    assert moving(*given).moves == ()
    found = moving(*given, user("big", spec="t700"))
    assert (values(found)["admitted"], len(found.moves), found.outcome, found.verified) == (1, 1, "Optimal", True)


def test_scenes_without_pods_have_nothing_to_move():
    assert moving(*Scene({"n1": ((0, 0), 4)}, ()).objects()).steps == ()


def test_the_same_question_on_the_changed_cluster_goes_on():
    """After the first of two moves one is left, and after both none."""

    def cluster_with(*places):
        pods = (one for name, (node, number) in zip("abc", places, strict=True) for one in holder(name, node, number))
        return [*nodes("n1", "n2", "n3", devices=3), *pods]

    places = [("n1", 0), ("n2", 0), ("n3", 0)]
    for left in (2, 1, 0):
        found = moving(*cluster_with(*places))
        assert (len(found.moves), found.outcome) == (left, "Optimal")
        for move in found.moves[:1]:
            (result,) = move.unit.allocations[0][1].devices.results
            places["abc".index(move.running.key[1])] = (move.unit.node, int(result.device.removeprefix("gpu-")))
