"""Limits and interrupts with an objective: the best answer so far counts, with bounds that hold."""

import os
import signal
from dataclasses import replace
from random import Random
from threading import Event, Timer

import pytest
from support.engines import Interrupting, failing, solved_by
from support.gates import ALL
from support.objects import claim, device, device_class, match, node, pool, want

from drasat.encoders.objectives.stages import STAGES, stages_named
from drasat.encoders.rows import CpSatRows
from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import Status
from drasat.problem.messages import DeadlineExceededError
from drasat.problem.node_state import AllocatedState
from drasat.solver.allocate.allocate import allocate
from drasat.solver.engines import cp_sat
from drasat.solver.engines.engine import Session
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.engines.registry import auto_engine, cp_sat_engine

NODES = ("n1", "n2", "n3")


def supply(name, sizes=(40, 5, 20, 10)):
    """Devices of these sizes, two on each root."""
    members = (
        device(f"{name}-{number}", capacity={"memory": f"{size}Gi"}, root=str(number // 2))
        for number, size in enumerate(sizes)
    )
    return pool(*members, name=name, node_name=name)


def cluster(*claims, nodes=NODES):
    return Cluster.of([device_class(), *map(node, nodes), *map(supply, nodes), *claims])


SIZES = ((40, 40, 20, 20), (5, 5, 10, 10), (40, 20, 20, 40))


def unequal_nodes(*claims):
    supplies = [supply(name, sizes) for name, sizes in zip(NODES, SIZES, strict=True)]
    return Cluster.of([device_class(), *map(node, NODES), *supplies, *claims])


def pairs(*names):
    return [claim(want(count=2), name=name, constraints=[match("d.x/root")]) for name in names]


def best(engine, stages, work, there=None):
    """An attempt on the first node, and what the same attempt comes to without a limit."""
    there = there or cluster(*pairs("one"))
    worker = engine(Session(there, ALL, "strict", 0, stages_named(stages)))
    return worker.best(there.node("n1"), [*there.claims.values()], AllocatedState(there.usage(ALL)), None, work)


@pytest.mark.parametrize("stages", [[stage] for stage in STAGES] + [["fragmentation", "compact"]], ids=",".join)
def test_without_any_work_the_first_answer_is_the_best_so_far(stages):
    cut, whole = best(auto_engine, stages, 0.0), best(auto_engine, stages, None)
    assert cut.status is whole.status is Status.ALLOCATED
    for one in cut.objective:
        assert 0 <= one.bound <= one.value
    # Only what the answer is worth is told, not what a model left open happens to say.
    assert cut.objective[0].value >= whole.objective[0].value
    assert all(one.proven for one in whole.objective)


def test_what_was_not_proven_is_said():
    cut = best(auto_engine, ["fragmentation"], 0.0)
    assert (cut.objective[0].proven, cut.objective[0].bound) == (False, 0)


def test_without_any_work_and_any_dive_nothing_is_known():
    assert best(cp_sat_engine, ["fragmentation"], 0.0).status is Status.UNKNOWN


def test_the_time_limit_leaves_what_was_not_tried_undecided():
    found = allocate(cluster(*pairs("one", "two")), objective="fragmentation", time_limit=1e-6)
    assert {unit.outcome for unit in found.units} == {Status.UNKNOWN}


def test_a_node_that_was_not_asked_could_be_better(register):
    """The limit passes at the second node: the first node's answer stays, and nothing is proven."""
    register("auto", solved_by(Interrupting(2, error=DeadlineExceededError("over"))))
    there = unequal_nodes(*pairs("one"))
    (unit,) = allocate(there, objective="fragmentation").units
    assert (unit.outcome, unit.node) == (Status.ALLOCATED, "n1")
    assert (unit.objective[0].proven, unit.objective[0].bound) == (False, 0)


@pytest.mark.parametrize("empty", [True, False], ids=["before-a-better-one", "after-a-better-one"])
def test_an_interrupt_keeps_the_best_so_far_and_leaves_the_rest_undecided(register, empty):
    register("auto", solved_by(Interrupting(1, empty=empty)))
    with pytest.raises(SearchInterrupted) as interrupt:
        allocate(cluster(*pairs("one", "two")), objective="fragmentation,compact")
    first, second = interrupt.value.answer.units
    assert (first.outcome, first.node, second.outcome) == (Status.ALLOCATED, "n1", Status.UNKNOWN)
    assert [reason.id for reason in second.reasons] == ["interrupted"]
    assert [one.stage for one in first.objective] == ["fragmentation", "compact"]
    # Two more nodes were not asked, so that nothing is proven.
    assert all(one.bound <= one.value and not one.proven for one in first.objective)
    assert interrupt.value.answer.verified


def test_an_interrupt_on_a_later_node_keeps_the_answers_of_those_before(register):
    there = unequal_nodes(*pairs("one"))
    register("auto", solved_by(Interrupting(3, empty=True)))
    with pytest.raises(SearchInterrupted) as interrupt:
        allocate(there, objective="fragmentation")
    (unit,) = interrupt.value.answer.units
    assert (unit.outcome, unit.node) == (Status.ALLOCATED, "n2")
    assert not unit.objective[0].proven


def test_an_interrupt_on_the_second_node_keeps_the_answers_of_those_before(register):
    register("auto", failing(KeyboardInterrupt, at=2))
    with pytest.raises(SearchInterrupted) as interrupt:
        allocate(cluster(*pairs("one", "two")), objective="compact")
    first, second = interrupt.value.answer.units
    assert (first.outcome, first.node, second.outcome) == (Status.ALLOCATED, "n1", Status.UNKNOWN)


def test_an_interrupt_before_the_solver_begins_keeps_the_answer_of_the_dive(register):
    """What the answer is worth is found out nevertheless."""
    register("auto", solved_by(Interrupting(error=KeyboardInterrupt())))
    with pytest.raises(SearchInterrupted) as interrupt:
        allocate(cluster(*pairs("one", "two")), objective="fragmentation,compact")
    first, second = interrupt.value.answer.units
    assert (first.outcome, second.outcome) == (Status.ALLOCATED, Status.UNKNOWN)
    # The dive takes the first pair, the first and largest device of it included.
    assert first.objective[0].value >= 1000**2
    assert [one.proven for one in first.objective] == [False, False]


def endless():
    """A market split: to divide 40 things evenly in 5 respects takes far longer than any test."""
    rng, rows = Random(1), CpSatRows()
    things = [rows.boolean() for _ in range(40)]
    apart = []
    for _ in range(5):
        weights = [rng.randrange(100) for _ in things]
        over, under = rows.integer(0, 5000), rows.integer(0, 5000)
        apart += [(over, 1), (under, 1)]
        rows.equal([*zip(things, weights, strict=True), (over, -1), (under, 1)], sum(weights) // 2)
    rows.minimize(apart)
    return rows


@pytest.fixture
def signals():
    """Ctrl-C as in a command, also where the runner of the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("signals")
def test_ctrl_c_stops_the_solver_and_hands_over_what_it_found():
    """A real signal, while the main thread waits."""
    Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(cp_sat.SolveInterrupted) as stopped:
        cp_sat.run_solver(endless(), cp_sat.Limits(work=60.0))
    found = stopped.value.found
    assert found.status is cp_sat.SolverStatus.FEASIBLE
    assert found.values
    assert found.bound < found.objective


def test_a_second_ctrl_c_while_the_solver_stops_is_the_same_one():
    done = Event()

    class Stopping:
        """Is interrupted once more before it ends."""

        asked = 0

        def stop(self):
            self.asked += 1
            if self.asked == 1:
                raise KeyboardInterrupt
            done.set()

    solver = Stopping()
    cp_sat.stop_solver(solver, done)
    assert solver.asked == 2


def test_an_interrupt_by_whoever_watches_is_one_too():
    def interrupt(_value, _bound):
        raise KeyboardInterrupt

    with pytest.raises(cp_sat.SolveInterrupted):
        cp_sat.run_solver(endless(), cp_sat.Limits(work=60.0), watch=interrupt, watch_seconds=0.01)


def test_the_same_question_has_the_same_answer():
    asking = {"objective": "fragmentation,compact", "seed": 3}
    answers = [allocate(cluster(*pairs("one", "two", "three")), **asking).units for _ in range(3)]
    told = [
        [(unit.node, unit.objective, [made for _, made in unit.allocations]) for unit in answer] for answer in answers
    ]
    assert told[0] == told[1] == told[2]


def test_equal_nodes_are_asked_once(register):
    runs = Interrupting(-1, empty=True)
    register("auto", solved_by(runs))
    allocate(cluster(*pairs("one")), objective="fragmentation")
    once = runs.runs
    runs.runs = 0
    allocate(cluster(*pairs("one"), nodes=("n1",)), objective="fragmentation")
    assert runs.runs == once == 1


def test_progress_names_the_stage_and_counts_in_its_units(register):
    """Coefficients are divided before the solver sees them, and what it says is multiplied again."""

    def saying(rows, limits, configuration, watch):
        if watch:
            watch(3, None)
        return cp_sat.run_solver(rows, replace(limits, backend=None), configuration)

    register("auto", solved_by(saying))
    told = []
    there = Cluster.of([device_class(), node("n1"), supply("n1", (4, 4, 4, 4)), *pairs("one")])
    allocate(there, objective="fragmentation", watch=lambda *news: told.append(news))
    # All sizes are 1000, and groups of two have 2000.
    assert told == [("fragmentation", 3 * 1000**2, None)]


def test_progress_is_told_while_the_solver_works():
    told = []

    def watch(value, bound):
        told.append((value, bound))
        if value is not None and bound is not None:
            raise KeyboardInterrupt

    with pytest.raises(cp_sat.SolveInterrupted):
        cp_sat.run_solver(endless(), cp_sat.Limits(work=60.0), watch=watch, watch_seconds=0.05)
    value, bound = told[-1]
    assert 0 <= bound <= value
