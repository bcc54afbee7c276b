"""Local search for moves: its plans are valid, no worse than plans without moves, and where the search starts."""

from dataclasses import replace

import pytest
from support.moving import holder, moving, random_scene
from support.plan_building import nodes, of, template, user, values, where

from drasat.solver.plan import plan as planning


@pytest.fixture
def local_search_alone(monkeypatch):
    """Nothing is generated and chosen after what is found early."""
    solve = planning.solve_stages

    def without_rounds(*given, limits, **options):
        return solve(*given, limits=replace(limits, rounds=0), **options)

    monkeypatch.setattr(planning, "solve_stages", without_rounds)


def placed(scene, most):
    """The most that waits and can be placed with so many moves, as pairs of the urgent and all."""

    def value(state, _moved):
        there = [one for one, at in zip(scene.pods, state, strict=True) if one.node is None and at]
        return sum(one.priority == 10 for one in there), len(there)

    return scene.best(value, most)


@pytest.mark.parametrize("seed", range(60))
def test_local_search_is_no_worse_than_no_moves_and_no_better_than_the_best(local_search_alone, seed):
    scene, most = random_scene(seed), [None, 1, 2][seed % 3]
    found = moving(*scene.objects(), most=most)
    reached = values(found)
    got = reached.get("priority=10", 0), reached["admitted"]
    assert placed(scene, 0) <= got <= placed(scene, most)
    assert found.verified
    assert len(found.moves) == reached["moves"]
    assert most is None or len(found.moves) <= most


def test_local_search_alone_finds_most_of_what_moves_can_place(local_search_alone):
    """Over all seeds it comes to at least half of what moves add."""
    gained = possible = 0
    for seed in range(200, 320):
        scene = random_scene(seed, running=6, waiting=3)
        least, best = placed(scene, 0)[1], placed(scene, None)[1]
        if best > least:
            gained += values(moving(*scene.objects(), objective="admitted"))["admitted"] - least
            possible += best - least
    assert possible >= 5
    assert 2 * gained >= possible


def test_several_pods_are_ejected_from_the_node_where_they_cost_least(local_search_alone):
    there = [*nodes("n1", "n2", "n3", devices=4, cpu="16"), template("t4", of(4)), user("big", spec="t4")]
    for name, cost in (("n1", "5"), ("n2", "2"), ("n3", "4")):
        there += [one for number in (0, 1) for one in holder(f"{name}-{number}", name, number, MOVE_COST=cost)]
    found = moving(*there)
    assert (where(found)["big"], values(found)["move-cost"], len(found.moves)) == ("n2", 4, 2)
    assert moving(*there, most=1).placed == 0


def test_units_that_wait_give_way_without_a_move(local_search_alone):
    """The small unit arrives first on the only node that the large one fits."""
    there = [*nodes("n1", devices=2, cpu="16"), *nodes("n2", devices=1, cpu="16"), template("t2", of(2))]
    found = moving(*there, user("a"), user("b", spec="t2"))
    assert (where(found), found.moves) == ({"a": "n2", "b": "n1"}, ())


def test_local_search_empties_nodes(local_search_alone):
    pods = [one for name in ("n1", "n2", "n3") for one in holder(name.replace("n", "p"), name, 0)]
    found = moving(*nodes("n1", "n2", "n3", devices=4, cpu="16"), *pods)
    assert (values(found)["fewest-nodes"], len(found.moves)) == (1, 2)
    assert values(moving(*nodes("n1", "n2", "n3", devices=4, cpu="16"), *pods, most=1))["fewest-nodes"] == 2


def test_pods_without_a_place_elsewhere_stay(local_search_alone):
    there = [*nodes("n1", devices=2, cpu="16"), *holder("a", "n1", 0), template("t2", of(2)), user("b", spec="t2")]
    found = moving(*there)
    assert (found.moves, found.placed) == ((), 0)
