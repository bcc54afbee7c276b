"""The stage ``free-domains=LABEL``: as many racks without a pod as trying everything finds, with and without moves."""

from functools import partial
from random import Random

import pytest
from msgspec.structs import replace
from support.moving import holder, moving, random_scene
from support.plan_building import ALL, classes, cluster, nodes, to_buy, user, values

import drasat
from drasat.solver.plan.plan import plan
from drasat.solver.verification.plans import plan_violations

RACK = "example.com/rack"
STAGE = f"free-domains={RACK}"


def in_racks(given, racks):
    """The objects with a label on the nodes that have a rack."""
    for one in given:
        if one["kind"] == "Node" and racks.get(one["metadata"]["name"]):
            one["metadata"].setdefault("labels", {})[RACK] = racks[one["metadata"]["name"]]
    return given


def random_racks(scene, seed):
    random = Random(seed)
    return {name: random.choice(("r1", "r2", None)) for name in scene.nodes} | {next(iter(scene.nodes)): "r1"}


def free(racks, used):
    return len({rack for rack in racks.values() if rack} - {racks[name] for name in used})


@pytest.mark.parametrize("seed", range(40))
def test_as_many_racks_are_free_as_trying_everything_finds(seed):
    """Without moves everything that runs stays, with them up to two pods go; what waits is placed first, or last."""
    scene, most = random_scene(seed, running=4), [0, 1, 2, None][seed % 4]
    racks = random_racks(scene, seed)
    placed_first = seed % 3 != 0
    fixed = {one.node for one in scene.pods if one.fixed}

    def value(state, gone):
        count = sum(one.node is None and at is not None for one, at in zip(scene.pods, state, strict=True))
        racks_free = free(racks, {at[0] for at in state if at} | fixed)
        reached = (count, racks_free) if placed_first else (racks_free, count)
        return *reached, -sum(one.cost for one in gone), -len(gone)

    order = ["admitted", STAGE] if placed_first else [STAGE, "admitted"]
    given = in_racks(scene.objects(), racks)
    found = moving(*given, most=most, objective=[*order, "move-cost", "moves"])
    reached = values(found)
    got = (*(reached[name] for name in order), -reached["move-cost"], -reached["moves"])
    assert (got, found.outcome, found.verified) == (scene.best(value, most), "Optimal", True)
    if most == 0:
        plain = drasat.plan(cluster(*classes(), *given), objective=order, gap=0.0, time_limit=None)
        stages = {stage.stage: (stage.value, stage.proven) for stage in plain.document.objective}
        assert stages == {name: (reached[name], True) for name in order}


def test_pods_go_to_racks_that_are_in_use_and_daemons_do_not_count():
    racks = {"n1": "r1", "n2": "r2", "n3": "r2"}
    there = in_racks(nodes("n1", "n2", "n3", devices=4, cpu="16"), racks)
    there += holder("daemon", "n1", owner=("DaemonSet", "agent"))
    there += [*holder("a", "n1", 0), *holder("b", "n2", 0), *holder("c", "n3", 0)]
    found = moving(*there, objective=STAGE)
    assert (values(found)[STAGE], values(found)["moves"], found.outcome) == (1, 1, "Optimal")
    plain = drasat.plan(cluster(*classes(), *there, user("w")), objective=f"admitted,{STAGE}")
    assert [stage.value for stage in plain.document.objective] == [1, 0]


def test_many_racks_are_emptied_within_the_moves_that_are_allowed():
    """Eight racks of four nodes, each with two pods: ten moves empty five of them."""
    names = {f"n{number:02}": f"rack-{number // 4}" for number in range(32)}
    there = in_racks(nodes(*names, devices=8, cpu="64"), names)
    for rack in range(8):
        there += [one for number in (0, 2) for one in holder(f"p{rack}-{number}", f"n{4 * rack + number:02}", 0)]
    found = moving(*there, most=10, objective=STAGE)
    assert (values(found)[STAGE], len(found.moves), found.outcome) == (5, 10, "Optimal")


@pytest.mark.parametrize(
    ("objective", "options", "said"),
    [
        ("free-domains", {}, "needs a node label"),
        ("free-domains=", {}, "needs a node label"),
        ("free-domains=example.com/island", {}, "no node has the label example.com/island"),
        (f"{STAGE},fragmentation", {}, "makes no sense beside the stage fragmentation"),
        (STAGE, {"buy": True}, "makes no sense with nodes that are bought"),
        (f"{STAGE},{STAGE}", {}, "comes twice"),
    ],
)
def test_bad_domains_are_one_line(objective, options, said):
    given = in_racks(nodes("n1"), {"n1": "r1"})
    with pytest.raises(ValueError, match=said) as caught:
        drasat.plan(cluster(*classes(), *given, user("a"), to_buy("t")), objective=objective, **options)
    assert "\n" not in str(caught.value)


def test_a_wrong_number_of_free_domains_does_not_pass():
    given = cluster(*classes(), *in_racks(nodes("n1", "n2"), {"n1": "r1", "n2": "r2"}), user("a"))
    found = plan(given, objective=f"admitted,{STAGE}", gap=0.0)
    assert [stage.value for stage in found.objective] == [1, 1]
    check = partial(plan_violations, given, found.units, ALL)
    assert check(stages=found.objective) == []
    forged = [replace(stage, value=2) if stage.stage == STAGE else stage for stage in found.objective]
    assert [violation.rule for violation in check(stages=forged)] == ["PLAN-VALUE"]
