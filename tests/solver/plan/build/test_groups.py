"""Units that ConstraintGroups couple are placed before all others, each set whole or not at all."""

from support.gates import ALL
from support.plan_building import (
    DRIVER,
    asking,
    claim,
    device,
    devices,
    gpus,
    holding,
    node,
    nodes,
    obj,
    of,
    placed,
    planning,
    published,
    reasons,
    running,
    sharing,
    to_buy,
    user,
    values,
    where,
)

from drasat.solver.engines.engine import Session
from drasat.solver.plan.build import no_earlier_placements
from drasat.solver.plan.build.groups import place_coupled_units


def group(*claims, name="g", **fields):
    """The claims' devices have different indices, unless said otherwise."""
    entries = fields or {"constraints": [{"distinctAttribute": f"{DRIVER}/index"}]}
    return obj("ConstraintGroup", name, {"claims": [{"name": one} for one in claims], **entries})


def indexed(*names, zones="", cpu="4", count=2):
    """Nodes whose devices have the indices 0, 1 and so on."""
    labels = dict(zip(names, zones, strict=False))
    made = [node(name, labels.get(name), cpu=cpu) for name in names]
    listed = [device(f"gpu-{number}", index=number) for number in range(count)]
    return [*made, *(published(name, *listed) for name in names)]


def ahead(*given, only_new=False):
    ask = asking(*given)
    found = no_earlier_placements(ask.session)
    place_coupled_units(ask.session, ask.queue, ask.open_positions, found, None, only_new=only_new)
    names = {place: ask.queue[place].unit.name for place in ask.open_positions}
    return (
        {names[place]: node for place, (node, _) in found.assigned.items()},
        {names[place]: [reason.id for reason in said] for place, said in found.reasons.items()},
        found,
    )


def test_without_groups_nothing_is_placed_ahead():
    assert ahead(*nodes("n1"), user("a"))[:2] == ({}, {})


def test_what_groups_couple_is_placed_ahead_and_the_rest_is_not():
    where_, reasons_, found = ahead(
        *indexed("n1"), claim("x"), claim("y"), group("x", "y"), sharing("a", "x"), user("b")
    )
    assert (sorted(where_), reasons_) == (["a", "y"], {})
    assert len(found.positions) == 2


def test_a_set_is_placed_whole_or_not_at_all():
    """Three different indices are not there."""
    names = ("x", "y", "z")
    given = [*indexed("n1", "n2"), *map(claim, names), group(*names), *(sharing(f"p{one}", one) for one in names)]
    found = planning(*given, user("free"))
    assert placed(found) == ["free"]
    assert all(reasons(found, f"p{one}") for one in names)
    assert not found.objective[0].proven
    assert placed(planning(*indexed("n1", "n2", count=3), *given[4:])) == ["px", "py", "pz"]


def test_what_a_group_says_holds_over_nodes():
    """Each node has one device, and two of them the same index."""
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x"), sharing("b", "y")]
    devices_ = [published(f"n{number}", device("d", index=number // 2)) for number in range(3)]
    found = planning(*(node(f"n{number}") for number in range(3)), *devices_, *given)
    assert "n2" in where(found).values()
    assert len(placed(found)) == 2
    assert placed(planning(*(node(f"n{number}") for number in range(2)), *devices_[:2], *given)) == []


def test_who_finds_no_room_beside_others_of_a_set_goes_to_another_node():
    """One node has devices for both, and no room for both."""
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", cpu="3"), sharing("b", "y", cpu="3")]
    found = planning(*indexed("n1", "n2"), *given)
    assert placed(found) == ["a", "b"]
    assert len(set(where(found).values())) == 2
    assert all(stage.proven for stage in found.objective)


def test_bounds_are_about_all_plans_where_no_room_was_found_for_a_set():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", cpu="3"), sharing("b", "y", cpu="3")]
    found = planning(*indexed("n1"), *given, user("c", cpu="1"))
    assert placed(found) == ["c"]
    assert found.objective[0].bound >= 2


def test_one_label_may_be_asked_for():
    same = group("x", "y", sameNodeLabel="zone")
    given = [claim("x", of(2)), claim("y", of(2)), same, sharing("a", "x"), sharing("b", "y")]
    assert placed(planning(*indexed("n1", "n2", zones="ab"), *given)) == []
    assert placed(planning(*indexed("n1", "n2", zones="aa"), *given)) == ["a", "b"]


def test_sets_come_one_after_the_other():
    given = [claim(one) for one in "wxyz"]
    given += [group("w", "x"), group("y", "z", name="h"), *(sharing(f"p{one}", one) for one in "wxyz")]
    found = planning(*indexed("n1"), *given)
    assert len(placed(found)) == 2
    assert len(placed(planning(*indexed("n1", "n2"), *given))) == 4


def test_room_counts_for_the_whole_set():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", cpu="3"), sharing("b", "y", cpu="3")]
    assert placed(planning(*indexed("n1"), *given)) == []
    assert placed(planning(*indexed("n1", cpu="6"), *given)) == ["a", "b"]
    assert placed(planning(*indexed("n1", cpu="6"), running("r", "n1", cpu="1"), *given)) == []


def test_what_is_placed_ahead_is_taken_from_all_others():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", cpu="1"), sharing("b", "y", cpu="1")]
    found = planning(*indexed("n1", count=3), *given, user("c"), user("d"))
    assert len(placed(found)) == 3
    found = planning(*indexed("n1", cpu="2", count=9), *given, user("c"))
    assert placed(found) == ["a", "b"]


def test_a_gang_with_a_coupled_member_is_coupled_as_a_whole():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", GANG="g"), sharing("b", "y")]
    where_, _, _ = ahead(*indexed("n1"), *given, user("c", GANG="g"))
    assert sorted(where_) == []
    where_, _, _ = ahead(*indexed("n1", count=3), *given, user("c", GANG="g"))
    assert sorted(where_) == ["a", "b", "c"]


def test_gangs_connect_sets():
    given = [claim(one) for one in "wxyz"]
    given += [group("w", "x"), group("y", "z", name="h")]
    given += [sharing(f"p{one}", one, **({"GANG": "g"} if one in "xy" else {})) for one in "wxyz"]
    assert placed(planning(*indexed("n1", count=3), *given)) == []
    assert len(placed(planning(*indexed("n1", count=4), *given))) == 4


def test_a_coupled_gang_keeps_to_its_domain():
    gang = {"GANG": "g", "GANG_DOMAIN": "zone"}
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", **gang), sharing("b", "y", **gang)]
    rooms = {"cpu": "2"}
    assert placed(planning(*indexed("n1", "n2", zones="ab", count=1, **rooms), *given)) == []
    found = planning(*indexed("n1", "n2", "n3", zones="aab", **rooms), *given)
    assert placed(found) == ["a", "b"]
    found = planning(*indexed("n1", "n2", "n3", zones="aab", **rooms), *given, running("r", "n3", **gang))
    assert set(where(found).values()) == {"n3"}


def test_a_coupled_gang_with_a_member_that_has_to_wait_is_not_placed():
    given = [claim("x"), claim("y"), group("x", "y"), *(sharing(name, one, GANG="g") for name, one in ("ax", "by"))]
    found = planning(*indexed("n1"), *given, sharing("c", "gone", GANG="g"))
    assert placed(found) == []


def test_units_that_share_a_claim_with_a_coupled_one_are_coupled_too():
    given = [claim(one) for one in "xyz"]
    given += [group("x", "y"), sharing("a", "x", "z"), sharing("b", "y"), sharing("c", "z")]
    found = planning(*indexed("n1", count=3), *given)
    assert placed(found) == ["a", "b", "c"]
    assert sum(map(len, devices(found).values())) == 3


def test_coupled_units_do_not_go_to_new_nodes():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x"), sharing("b", "y")]
    found = planning(*indexed("n1", count=1), to_buy("big"), *given, user("c"), buy=True)
    assert placed(found) == ["c"]
    where_, reasons_, _ = ahead(*indexed("n1"), *given, only_new=True)
    assert (where_, sorted(reasons_)) == ({}, ["a", "b"])


def test_nodes_that_coupled_units_open_count():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x"), sharing("b", "y")]
    objective = "admitted,fewest-nodes"
    assert values(planning(*indexed("n1"), *given, objective=objective)) == {"admitted": 2, "fewest-nodes": 1}
    busy = running("r", "n1")
    assert values(planning(*indexed("n1"), busy, *given, objective=objective)) == {"admitted": 2, "fewest-nodes": 0}
    held = holding("h", "n1", "gpu-2")
    found = planning(*indexed("n1", count=3), held, *given, objective=objective)
    assert values(found) == {"admitted": 2, "fewest-nodes": 0}


def test_what_is_coupled_counts_in_every_stage_that_is_about_units():
    given = [claim("x"), claim("y"), group("x", "y"), sharing("a", "x", VALUE="2.5"), sharing("b", "y"), user("c")]
    found = planning(*indexed("n1", count=3), *given, objective="priority,admitted=annotation:drasat.dev/value")
    assert list(values(found).values()) == [3, 4.5]


def test_nothing_together_is_what_there_is():
    ask = asking(*nodes("n1"), gpus("n2"), holding("h", "n1", "gpu-0"), running("r", "n1", cpu="1"), user("a"))
    found = no_earlier_placements(Session(ask.session.cluster, ALL, "strict", 0))
    assert found.room_by_node == {"n1": {"cpu": 3000, "pods": 9}}
    assert (found.assigned, found.positions) == ({}, set())


def test_units_before_a_coupled_set_in_the_queue_are_not_given_up_for_it():
    """Placed first, the set takes all four devices for two units. Three others come before it."""
    pair = [claim(name, of(2)) for name in "xy"]
    coupled = [
        sharing("p", "x"),
        sharing("q", "y"),
        group("x", "y", constraints=[{"matchAttribute": f"{DRIVER}/rack"}]),
    ]
    rack = [node("n1"), published("n1", *(device(f"gpu-{number}", rack=1) for number in range(4)))]
    found = planning(*rack, *pair, *(user(name) for name in "abc"), *coupled)
    assert placed(found) == ["a", "b", "c"]
    assert found.outcome == "Optimal"


def test_a_coupled_set_that_comes_first_in_the_queue_and_fits_stays():
    pair = [claim(name, of(1)) for name in "xy"]
    coupled = [sharing("p", "x"), sharing("q", "y"), group("x", "y")]
    found = planning(*indexed("n1"), *pair, *coupled, user("a"))
    assert placed(found) == ["p", "q"]


def test_bounds_of_consumption_hold_beside_units_that_groups_couple():
    """What coupled units consume is not in the value, so that bounds of the whole queue would be none."""
    sized = [device(f"gpu-{number}", index=number) | {"capacity": {"memory": {"value": "10Gi"}}} for number in range(4)]
    given = [node("n1"), published("n1", *sized), claim("x"), claim("y"), group("x", "y"), user("b")]
    for stages in ("admitted,least-consumption,spread", "least-consumption", "admitted"):
        for stage in planning(*given, objective=stages).objective:
            assert stage.bound is None or (stage.value - stage.bound) * (1 if stage.sense == "min" else -1) >= 0
