"""What is said of units of a group that are not allocated: who finds nothing alone, or which demands are too much."""

from dataclasses import replace

import pytest
from support.groups import ISLAND, answered, asking, group, refused, together
from support.objects import DRIVER, device, node, pod, pool, want
from support.soft import apart, cel

from drasat.models.results.common import Status
from drasat.solver.engines.auto import SearchThenSolve
from drasat.solver.engines.engines import OptimizingEngine
from drasat.solver.engines.outcome import SearchInterrupted

ENGINES = pytest.mark.parametrize("engine", ["backtracking", "cp-sat", "auto"])
ODD = "devices.all(d, d.attributes['d.x'].island % 2 == 1)"


def own(name, *values):
    return pool(*(device(f"d{at}", island=value) for at, value in enumerate(values)), name=name, node_name=name)


def said(answer, name):
    (unit,) = [unit for unit in answer.units if unit.unit.name == name]
    return [(reason.id, reason.message) for reason in unit.reasons]


@ENGINES
def test_the_unit_that_finds_nothing_alone_is_named_with_its_reasons(engine):
    answer = answered(
        own("n1", 1, 1), asking("a"), asking("b", 3), group("a", "b", entries=[together()]), nodes=["n1"], engine=engine
    )
    assert refused(answer) == {"a": ["constraintGroup"], "b": ["devices"]}
    assert "needs 3, 2 fit" in said(answer, "b")[0][1]
    assert said(answer, "a")[0][1].startswith("b finds no devices, and ConstraintGroup ns/g")
    assert answer.units[1].failures


def test_nodes_that_do_not_suit_a_pod_are_counted():
    answer = answered(
        own("n1", 1, 1),
        asking("a"),
        asking("b"),
        pod("b", name="p", node_selector={"rack": "x"}),
        group("a", "b", entries=[together()]),
        nodes=["n1"],
    )
    assert [id_ for id_, _ in said(answer, "p")] == ["nodeSelector"]


@ENGINES
def test_a_demand_that_is_too_much_alone_is_the_only_one_named(engine):
    entries = [{**together(), "name": "near"}, {**cel(ODD, weight=None), "name": "odd"}]
    answer = answered(
        own("n1", 1, 2),
        own("n2", 3),
        asking("a"),
        asking("b"),
        group("a", "b", entries=entries),
        nodes=["n1", "n2"],
        engine=engine,
    )
    assert answer.outcome == Status.UNALLOCATABLE
    assert refused(answer)["a"] == ["constraintGroup", "matchAttribute"]
    assert said(answer, "a")[1][1].startswith(
        f"ConstraintGroup ns/g, entry near (matchAttribute {ISLAND}): cannot hold"
    )


@ENGINES
def test_demands_that_are_too_much_together_are_all_named(engine):
    first = group("a", "b", name="one", entries=[{**together(), "name": "near"}])
    second = group("b", "a", name="two", label="rack")
    idle = group("a", name="idle", entries=[cel(ODD, weight=None)])
    nodes = [node("n1", rack="x"), node("n2", rack="x"), node("n3", rack="y")]
    supply = [own("n1", 1), own("n2", 3), own("n3", 1)]
    answer = answered(*supply, asking("a"), asking("b"), first, second, idle, nodes=nodes, engine=engine)
    assert refused(answer)["b"] == ["constraintGroup", "matchAttribute", "nodeLabel"]
    assert said(answer, "b")[2][1].startswith("ConstraintGroup ns/two, sameNodeLabel rack: cannot hold with the others")


@ENGINES
def test_units_that_compete_whatever_groups_demand_are_told_so(engine):
    answer = answered(
        own("n1", 1), asking("a"), asking("b"), group("a", "b", entries=[together()]), nodes=["n1"], engine=engine
    )
    assert refused(answer) == {"a": ["combination"], "b": ["combination"]}


def test_soft_entries_are_no_reasons():
    entries = [together(), apart(attribute=ISLAND, weight=4)]
    answer = answered(own("n1", 1, 2), asking("a"), asking("b"), group("a", "b", entries=entries), nodes=["n1"])
    assert refused(answer)["a"] == ["constraintGroup", "matchAttribute"]


def test_very_many_demands_are_named_by_their_group():
    entries = [together() for _ in range(17)]
    answer = answered(own("n1", 1, 2), asking("a"), asking("b"), group("a", "b", entries=entries), nodes=["n1"])
    assert said(answer, "a") == [
        ("constraintGroup", "a, b cannot be allocated together as ConstraintGroup ns/g demands")
    ]


def test_missing_claims_and_classes_refuse_all_of_a_group():
    objects = [own("n1", 1, 1), asking("a"), asking("b", 1, want(cls="none")), group("a", "b", entries=[together()])]
    answer = answered(*objects, nodes=["n1"])
    assert {unit.outcome for unit in answer.units} == {Status.UNALLOCATABLE}
    assert answer.units[0].reasons[0].id == "deviceClass"


@ENGINES
def test_an_expression_that_fails_and_alone_stands_in_the_way_is_an_error(engine):
    broken = cel("devices.all(d, d.attributes['d.x'].nothing == 1)", weight=None)
    answer = answered(
        own("n1", 1, 1), asking("a"), asking("b"), group("a", "b", entries=[broken]), nodes=["n1"], engine=engine
    )
    assert answer.outcome == Status.ERROR
    assert "ConstraintGroup ns/g, entry #0" in answer.units[0].reasons[0].message
    skipped = answered(
        own("n1", 1, 1),
        asking("a"),
        asking("b"),
        group("a", "b", entries=[broken]),
        nodes=["n1"],
        engine=engine,
        cel_errors="skip",
    )
    assert skipped.outcome == Status.UNALLOCATABLE


@ENGINES
def test_a_selector_that_fails_on_a_device_that_is_needed_is_an_error(engine):
    fails = want(select="device.attributes['d.x'].nothing == 1")
    objects = [own("n1", 1, 1), asking("a", 1, fails), asking("b"), group("a", "b", entries=[together()])]
    answer = answered(*objects, nodes=["n1"], engine=engine)
    assert answer.outcome == Status.ERROR
    assert "node n1" in answer.units[1].reasons[0].message
    assert answered(*objects, nodes=["n1"], engine=engine, cel_errors="skip").outcome == Status.UNALLOCATABLE


def test_under_kube_an_error_that_the_search_meets_aborts_all():
    fails = want(select="device.attributes['d.x'].odd == 1")
    mixed = pool(device("d0"), device("d1", odd=1), device("d2"), name="n1", node_name="n1")
    tie = group("a", "b", entries=[cel("devices.size() == 2", weight=None)])
    objects = [mixed, asking("a", 1, fails), asking("b"), tie]
    aborted = answered(*objects, nodes=["n1"], engine="backtracking", cel_errors="kube")
    assert {unit.outcome for unit in aborted.units} == {Status.ERROR}
    assert "n1/d0" in aborted.units[0].reasons[0].message
    assert aborted.units[0].reasons[0].claim == "ns/a"
    assert answered(*objects, nodes=["n1"], engine="backtracking").outcome == Status.ALLOCATED


@ENGINES
def test_a_node_in_trouble_does_not_keep_a_group_from_others(engine):
    broken = pool(device("d0"), name="half", node_name="n1", count=2)
    everything = asking("a", 1, want(count="All"))
    tie = group("a", "b", entries=[together()])
    objects = [broken, own("n1", 1), everything, asking("b"), tie]
    fine = answered(*objects, own("n2", 1), nodes=["n1", "n2"], engine=engine)
    assert fine.units[0].node == "n2"
    alone = answered(*objects, nodes=["n1"], engine=engine)
    assert alone.outcome == Status.ERROR
    assert "half is currently being updated" in alone.units[0].reasons[0].message


def test_a_topology_that_is_not_there_is_an_error_with_the_name_of_the_group():
    entry = {"topology": {"name": "nowhere", "shape": "Segment"}}
    answer = answered(own("n1", 1, 1), asking("a"), asking("b"), group("a", "b", entries=[entry]), nodes=["n1"])
    assert answer.outcome == Status.ERROR
    assert (
        answer.units[0]
        .reasons[0]
        .message.endswith("ConstraintGroup ns/g, entry #0: there is no DeviceTopology nowhere")
    )


def test_entries_of_a_feature_that_is_off_are_an_error():
    tie = group("b", "a", entries=[cel("true", weight=None)])
    answer = answered(
        own("n1", 1, 1), asking("a"), asking("b"), tie, nodes=["n1"], feature_gates={"DRACELDeviceConstraint": False}
    )
    assert answer.outcome == Status.ERROR
    assert "ConstraintGroup ns/g, entry #0: empty constraint" in answer.units[0].reasons[0].message


def test_beyond_the_time_limit_nothing_is_said():
    answer = answered(
        own("n1", 1, 1), asking("a"), asking("b"), group("a", "b", entries=[together()]), nodes=["n1"], time_limit=0.0
    )
    assert {unit.outcome for unit in answer.units} == {Status.UNKNOWN}
    assert answer.units[0].reasons[0].id == "timeLimit"


def test_work_for_groups_is_counted():
    selected = want(select=f"device.attributes['{DRIVER}'].island > 0")
    answer = answered(
        own("n1", 1, 1),
        asking("a", 1, selected),
        asking("b"),
        group("a", "b", entries=[together()]),
        nodes=["n1"],
        engine="backtracking",
    )
    assert answer.statistics.steps > 2
    assert answer.statistics.cel_evaluations > 0


def interrupted(register, change):
    class Decider(SearchThenSolve):
        def decide(self, *question):
            return change(super().decide(*question))

    register("auto", lambda session: OptimizingEngine(session, Decider(session)))
    tie = group("a", "b", entries=[together()])
    with pytest.raises(SearchInterrupted) as caught:
        answered(own("n1", 1, 1, 1), asking("a"), asking("b"), asking("c"), tie, nodes=["n1"])
    return [unit.outcome for unit in caught.value.answer.units]


def test_an_interrupt_while_a_group_is_improved_ends_the_search_with_what_was_found(register):
    found = interrupted(register, lambda decision: replace(decision, interrupted=True))
    assert found == [Status.ALLOCATED, Status.ALLOCATED, Status.UNKNOWN]


def test_an_interrupt_before_a_group_is_decided_leaves_all_open(register):
    def change(_decision):
        raise KeyboardInterrupt

    assert interrupted(register, change) == [Status.UNKNOWN, Status.UNKNOWN, Status.UNKNOWN]
