"""The question plan: stages, bounds, what it is told, and what ends it."""

import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import pytest
from support.plan_building import (
    claim,
    classes,
    cluster,
    device,
    entry,
    fabric,
    maker,
    node,
    nodes,
    obj,
    of,
    placed,
    planning,
    pod,
    published,
    reasons,
    running,
    sharing,
    template,
    to_buy,
    user,
    values,
    where,
)
from support.random_plans import plan_manifests

from drasat.models.kubernetes.extensions import Predicate
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.plan import question
from drasat.solver.plan.plan import plan
from drasat.solver.verification.plan_replay import PlanVerifier
from drasat.solver.verification.verify import VerificationTimeoutError


def mixed():
    """A bit of everything."""
    return [
        *nodes("n1", "n2", "n3"),
        *nodes("n4", devices=2),
        fabric(2),
        claim("s"),
        maker("Deployment", "d", entry("g", template="t"), cpu="1", spec={"replicas": 6}),
        maker("Job", "j", entry("g", template="t2"), spec={"parallelism": 2}, GANG="g"),
        user("w", entry("f", template="f")),
        *(sharing(name, "s", cpu="1") for name in "ab"),
        user("big", spec="t2", cpu="3"),
    ]


ALIKE = "gpu.example.com/kind"


@pytest.mark.parametrize(
    ("entry_of_all", "admitted"),
    [
        ({"matchAttribute": ALIKE}, 2),
        ({"cel": {"expression": "devices.all(d, d.attributes['gpu.example.com'].kind == 0)"}}, 1),
        (Predicate(lambda devices: len({one.attributes[ALIKE] for one in devices}) == 2, name="mixed"), 2),
        (Predicate(lambda devices: False), 0),
    ],
    ids=["matchAttribute", "cel", "predicate", "never"],
)
def test_constraints_of_the_caller_hold_for_every_claim(entry_of_all, admitted):
    """CELC-1: pods ask for two of three devices of one kind and two of another; a plan is proven as ever."""
    kinds = [device(f"gpu-{number}", kind=number // 3) for number in range(5)]
    there = [node("n1"), published("n1", *kinds), *(user(name, spec="t2") for name in "abc")]
    given = cluster(*classes(), *there)
    assert plan(given).placed == 2
    found = plan(given, constraints=[entry_of_all])
    assert (found.placed, found.outcome, found.verified) == (admitted, "Optimal", True)
    assert len([one for one in found.units if one.node is None and one.reasons]) == 3 - admitted


def test_a_plan_is_verified_and_says_what_it_was_asked():
    found = plan(cluster(*classes(), *nodes("n1"), user("a")), gap=0.01)
    assert (found.verified, found.gap, found.cel_errors, found.outcome) == (True, 0.01, "strict", "Optimal")
    assert list(found.seconds) == ["queue", "build", "solve", "assign", "fill", "explain", "verify"]
    assert (found.asked, found.placed) == (1, 1)


def test_stages_are_those_that_were_asked_for_in_order():
    found = planning(*mixed(), objective="admitted=devices,fewest-nodes,admitted")
    assert [stage.stage for stage in found.objective] == ["admitted=devices", "fewest-nodes", "admitted"]
    assert [stage.sense for stage in found.objective] == ["max", "min", "max"]


def test_a_later_stage_costs_an_earlier_one_nothing():
    """Three small ones or one large one fit; the large one is worth more devices."""
    given = [*nodes("n1", devices=4), *(user(name) for name in "abc"), user("large", spec="t4")]
    given.append(template("t4", of(4)))
    assert placed(planning(*given, objective="admitted,admitted=devices")) == ["a", "b", "c"]
    assert placed(planning(*given, objective="admitted=devices,admitted")) == ["large"]


def test_the_best_plan_is_not_the_first_that_comes_to_mind():
    """Filled greedily, the large ones have no node left."""
    given = [*nodes("n1", "n2", devices=4, cpu="9"), template("t3", of(3))]
    given += [user(f"one{number}") for number in range(2)] + [user(f"three{number}", spec="t3") for number in range(2)]
    found = planning(*given, objective="admitted,fewest-nodes")
    assert values(found) == {"admitted": 4, "fewest-nodes": 2}
    assert found.outcome == "Optimal"


def test_a_gap_that_is_allowed_counts_as_proven():
    found = planning(*nodes("n1"), *(user(f"u{n}") for n in range(6)), gap=0.5)
    assert found.outcome == "Optimal"
    assert all(stage.bound >= stage.value >= stage.bound / 2 for stage in found.objective)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gap": 1.0}, "gap 1.0 is not at least 0 and below 1"),
        ({"gap": -0.1}, "gap -0.1 is not at least 0 and below 1"),
        ({"gap": float("nan")}, "gap nan is not at least 0 and below 1"),
        ({"only_new": True}, "new nodes only, or a budget, make sense with buy alone"),
        ({"budget": Decimal(3)}, "new nodes only, or a budget, make sense with buy alone"),
        ({"buy": True, "budget": Decimal(-1)}, "budget -1 is not a number that is at least 0"),
        ({"buy": True, "budget": Decimal("NaN")}, "budget NaN is not a number that is at least 0"),
        ({"buy": True, "budget": Decimal("Infinity")}, "budget Infinity is not a number that is at least 0"),
        ({"buy": True}, "there is no NodeTemplate to buy nodes from"),
        ({"selector": "a in b"}, "cannot parse 'a in b' in the label selector"),
        ({"cel_errors": "never"}, "unknown policy 'never' for CEL errors, known are: kube, strict, skip"),
    ],
    ids=lambda one: "" if isinstance(one, str) else "-".join(map(str, one)),
)
def test_what_cannot_be_asked_is_said_in_one_line(options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        planning(*nodes("n1"), user("a"), **options)


def test_an_unknown_gate_is_said():
    with pytest.raises(ValueError, match="unknown feature gate 'Nope'"):
        planning(*nodes("n1"), feature_gates={"Nope": True})


@pytest.mark.parametrize("limit", [0, 1e-9, -1])
def test_without_time_a_plan_may_be_empty_and_is_still_right(limit):
    found = planning(*mixed(), time_limit=limit)
    assert found.verified
    assert all(stage.value <= stage.bound for stage in found.objective if stage.sense == "max")
    assert found.outcome in ("Unknown", "Feasible", "Optimal")
    if not found.placed:
        assert found.outcome == "Unknown"


@pytest.mark.parametrize("verified", [0, 1, 3])
def test_of_a_plan_that_part_is_shown_which_is_verified_in_time(monkeypatch, verified):
    """SCHED-7: the rest is not placed, and says why."""
    check, replayed = question.check_plan, []

    def late(*what, replay=True, deadline=None, **options):
        replayed.append(replay)
        if replay:
            raise VerificationTimeoutError(verified)
        check(*what, deadline=deadline, **options)

    monkeypatch.setattr(question, "check_plan", late)
    found = planning(*mixed(), time_limit=60.0)
    assert replayed == [True, False]
    assert found.verified
    assert found.outcome == ("Feasible" if found.placed else "Unknown")
    # Gangs are whole, or not there.
    assert found.placed <= verified
    assert len(found.order) == found.placed
    assert {reason.id for one in found.units for reason in one.reasons} == {"timeLimit"}
    assert any(f"the time limit left time to verify {found.placed} of" in notice for notice in found.notices)
    assert all(stage.bound is None or stage.value <= stage.bound for stage in found.objective if stage.sense == "max")


def test_an_interrupted_plan_is_verified():
    def stop(*_told):
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as end:
        planning(*mixed(), watch=stop)
    answer = end.value.answer
    assert answer.verified
    assert answer.outcome in ("Feasible", "Unknown")
    assert len(answer.units) == 12


@pytest.mark.parametrize("after", [2, 5, 9])
def test_an_interrupted_plan_tells_the_stages_that_were_begun(after):
    calls = []

    def stop(stage, *_told):
        calls.append(stage)
        if len(calls) == after:
            raise KeyboardInterrupt

    asked = "priority,fewest-nodes,admitted,spread"
    try:
        answer = planning(*mixed(), objective=asked, watch=stop)
    except SearchInterrupted as end:
        answer = end.answer
        assert [stage.stage for stage in answer.objective] == list(dict.fromkeys(calls))
    assert answer.verified


def test_watching_tells_values_as_they_are_known():
    told = []
    found = planning(
        *nodes("n1"),
        user("a", VALUE="2.5"),
        objective="admitted=annotation:drasat.dev/value",
        watch=lambda *one: told.append(one),
    )
    assert told[-1] == ("admitted=annotation:drasat.dev/value", 2.5, 2.5)
    assert list(values(found).values()) == [2.5]


def test_a_namespace_narrows_the_queue():
    given = [user("a"), pod("b", namespace="team")]
    assert where(planning(*nodes("n1"), *given, namespace="team")) == {"b": "n1"}
    assert where(planning(*nodes("n1"), *given, namespace="none")) == {}


def test_a_selector_narrows_the_queue():
    given = [user("a", labels={"app": "x"}), user("b", labels={"app": "y"}), user("c")]
    assert sorted(where(planning(*nodes("n1"), *given, selector="app=x"))) == ["a"]
    assert sorted(where(planning(*nodes("n1"), *given, selector="app!=x"))) == ["b", "c"]


def test_gates_decide_what_backs_extended_resources():
    backed = obj("DeviceClass", "backed", {"extendedResourceName": "example.com/gpu"})
    limits = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    asks = obj("Pod", "a", {"containers": [{"name": "m", "resources": limits}]})
    assert placed(planning(*nodes("n1"), backed, asks)) == ["a"]
    assert placed(planning(*nodes("n1"), backed, asks, feature_gates={"DRAExtendedResource": False})) == []


@pytest.mark.parametrize("policy", ["skip", "strict", "kube"])
def test_a_device_on_which_an_expression_fails_is_not_used(policy):
    """Devices are visited in no order, so that no error stops the others from being used."""
    listed = [device("odd"), device("good", model="a")]
    picky = template("picky", of(1, "gpu", 'device.attributes["gpu.example.com"].model == "a"'))
    given = [node("n1"), published("n1", *listed), picky, *(user(name, spec="picky") for name in "ab")]
    found = planning(*given, cel_errors=policy)
    assert found.placed == 1
    assert found.cel_errors == ("skip" if policy == "skip" else "strict")


def told(**options):
    found = planning(*mixed(), **options)
    return repr(replace(found, seconds={}, units=tuple(found.units)))


def test_equal_questions_have_equal_plans():
    assert told() == told()


def test_threads_change_nothing():
    with ThreadPoolExecutor(3) as executor:
        assert told(executor=executor) == told()


def test_processes_change_nothing():
    with ProcessPoolExecutor(1) as executor:
        assert told(executor=executor) == told()


@pytest.mark.parametrize("at_once", [2, 5_000])
def test_a_process_that_verifies_changes_nothing(monkeypatch, at_once):
    alone, answers = told(), []
    for module in ("verification.plan_replay", "plan.assign"):
        monkeypatch.setattr(f"drasat.solver.{module}.UNITS_AT_ONCE", at_once)
    monkeypatch.setattr("drasat.solver.verification.plan_replay._MANY_NODES", 0)
    send, verdict = PlanVerifier.send, PlanVerifier.verdict
    monkeypatch.setattr(PlanVerifier, "send", lambda own, *plan: own.connection.poll(60) and send(own, *plan))
    monkeypatch.setattr(PlanVerifier, "verdict", lambda own: answers.append(verdict(own)) or answers[-1])
    assert told() == alone
    assert answers == [([], None)]


def test_the_order_of_nodes_in_the_input_changes_nothing():
    given = mixed()
    slices = [one for one in given if one["kind"] in ("Node", "ResourceSlice")]
    others = [one for one in given if one not in slices]
    first = planning(*slices, *others)
    second = planning(*reversed(slices), *others)
    assert (where(first), values(first)) == (where(second), values(second))


def test_units_that_nothing_can_place_have_reasons():
    given = [user("a", spec="gone"), pod("b", entry("x", claim="gone")), user("c"), template("odd", of(1, "nope"))]
    found = planning(*nodes("n1"), *given, user("d", spec="odd"))
    assert [reasons(found, name) for name in "abcd"] == [["claim"], ["claim"], [], ["deviceClass"]]
    assert found.outcome == "Optimal"


def test_pods_that_run_are_given():
    found = planning(*nodes("n1", cpu="2"), running("r", "n1", cpu="1"), user("a"), user("b"))
    assert sorted(where(found)) == ["a", "b"]
    assert found.placed == 1


def test_a_deployment_of_none_has_no_units():
    found = planning(*nodes("n1"), maker("Deployment", "d", spec={"replicas": 0}))
    assert (tuple(found.units), found.outcome) == ((), "Optimal")


def test_without_nodes_claims_have_no_place():
    found = planning(claim("c"))
    assert (placed(found), found.outcome) == ([], "Optimal")


def test_many_equal_units_are_told_one_by_one():
    found = planning(*nodes("n1", "n2", "n3", cpu="9"), user("a", REPLICAS="2000"), objective="admitted")
    assert (found.asked, found.placed, found.outcome) == (2000, 12, "Optimal")
    assert len({one.reasons[0].message for one in found.units if one.reasons}) == 1


def test_buying_is_infeasible_where_not_everything_can_be_placed():
    given = to_buy("big", limit=1), *(user(f"u{number}") for number in range(5))
    assert planning(*given, buy=True).outcome == "Infeasible"
    assert planning(*given, buy=True, budget=Decimal(9)).outcome == "Optimal"
    assert planning(*given[:-1], buy=True).outcome == "Optimal"


def test_the_mix_of_a_plan_is_that_of_another_queue():
    mix = cluster(*classes(), user("m", spec="t2"))
    given = [*nodes("n1", "n2"), *(user(name) for name in "ab")]
    found = planning(*given, objective="admitted,fragmentation", mix=mix)
    assert values(found) == {"admitted": 2, "fragmentation": 6}
    assert len(set(where(found).values())) == 1


def test_a_mix_needs_its_stage():
    with pytest.raises(ValueError, match="a mix makes sense with the stage fragmentation alone"):
        planning(*nodes("n1"), user("a"), mix=cluster(*classes(), user("m")))


@pytest.mark.parametrize(("seed", "opened"), [(225, 0), (230, 1)])
def test_a_held_device_that_no_other_node_reaches_makes_its_node_busy(seed, opened):
    """Pools with ``perDeviceNodeSelection`` have devices of other nodes, or of none."""
    found = planning(*plan_manifests("mixed", seed), objective=["admitted", "fewest-nodes"])
    assert found.outcome == "Optimal"
    assert [stage.value for stage in found.objective] == [3, opened]
