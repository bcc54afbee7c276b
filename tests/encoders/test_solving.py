"""From a Problem to a decision by the solver: what its statuses become, and within which limits."""

from itertools import product
from pathlib import Path
from random import Random

import pytest
from support.modelling import question
from support.objects import claim, device, device_class, devices, either, node, option, pool, want

from drasat.encoders.rows import Rows
from drasat.models.cluster import Cluster
from drasat.solver import cp_sat_run, solving, staging
from drasat.solver.allocate import allocate
from drasat.solver.attempts import Counts
from drasat.solver.cp_sat_run import (
    CHECKING,
    CONFIRMING,
    QUICK,
    RELAXED,
    USUAL,
    Found,
    InvalidModelError,
    Limits,
    Status,
    run,
    run_by_turns,
    run_with_wish,
)
from drasat.solver.decision import Answer

POSSIBLE = question(pool(*devices("a", "b", "c")), claim(want(count=2)))
# The first alternative is never possible.
LATE = option("two", 2, "device.driver == ''"), option("one", 1)
IMPOSSIBLE = question(pool(*devices("a", "b", "c")), claim(want("r", 2), want("s", 2)))


def saying(*found):
    """A run that has these results, one after the other."""
    left = list(found)
    return lambda *_args, **_kwargs: left.pop(0)


def test_a_no_that_a_second_run_contradicts_is_a_yes(monkeypatch):
    """A solution that the first run has overlooked counts."""
    monkeypatch.setattr(solving, "run_by_turns", saying(Found(Status.INFEASIBLE)))
    decision = POSSIBLE.decision()
    assert decision.answer is Answer.YES
    assert len({pick.device for pick in decision.picks}) == 2


def test_a_no_that_a_second_run_cannot_decide_is_unknown(monkeypatch):
    monkeypatch.setattr(solving, "confirm", saying(Found(Status.UNKNOWN)))
    decision = IMPOSSIBLE.decision()
    assert (decision.answer, decision.certified, decision.retry) == (Answer.UNKNOWN, False, False)


@pytest.mark.parametrize("hasty", [False, True])
def test_a_no_is_certified_by_a_second_run_that_works_otherwise(hasty, monkeypatch):
    asked = []

    def noted(rows, limits, configuration, watch=None):
        asked.append(configuration)
        return Found(Status.UNKNOWN) if hasty and configuration is CHECKING else run(rows, limits, configuration, watch)

    monkeypatch.setattr(cp_sat_run, "run", noted)
    decision = IMPOSSIBLE.decision()
    assert (decision.answer, decision.certified) == (Answer.NO, True)
    assert asked == [QUICK, CHECKING, *([CONFIRMING] if hasty else [])]
    for first, second in product((QUICK, RELAXED, USUAL), (CHECKING, CONFIRMING)):
        assert (second.presolve, second.symmetry > 0) == (not first.presolve, first.symmetry == 0)
        assert second.seed != first.seed


def test_one_run_finds_and_improves_and_leaves_no_objective():
    rows = Rows()
    variables = [rows.boolean() for _ in range(4)]
    rows.between([(one, 1) for one in variables], 2, None)
    found = run_with_wish(rows, Limits(), [(one, 1 + number) for number, one in enumerate(variables)])
    assert (found.status, found.values) == (Status.OPTIMAL, (1, 1, 0, 0))
    assert run(rows, Limits()).objective == 0


def test_what_one_run_finds_and_improves_is_not_improved_again(monkeypatch):
    asked = []

    def noted(rows, limits, configuration, watch=None):
        asked.append(configuration)
        return run(rows, limits, configuration, watch)

    for module in (cp_sat_run, staging):
        monkeypatch.setattr(module, "run", noted)
    asked_for = claim(*(either(f"r{number}", *LATE) for number in range(3)))
    decision = question(pool(*devices("a", "b", "c")), asked_for).decision(thorough=False)
    assert (decision.answer, asked) == (Answer.YES, [QUICK])


def test_where_one_run_does_not_do_there_are_more(monkeypatch):
    monkeypatch.setattr(cp_sat_run, "_WISHING", 0.0)
    asked_for = claim(*(either(f"r{number}", *LATE) for number in range(3)))
    for names, answer in (("abc", Answer.YES), ("ab", Answer.NO)):
        assert question(pool(*devices(*names)), asked_for).decision(thorough=False).answer is answer


@pytest.mark.parametrize("limits", [Limits(work=0.0), Limits(deadline=0.0), Limits(deadline=0.0, work=0.0)])
def test_without_time_or_work_nothing_is_known(limits):
    """Never a no."""
    assert run_by_turns(endless(), limits).status is Status.UNKNOWN
    assert run(endless(), limits, CONFIRMING).status is Status.UNKNOWN


def test_a_quick_run_that_is_cut_off_proves_nothing(monkeypatch):
    monkeypatch.setattr(cp_sat_run, "_QUICK_WORK", 0.0)
    found = run_by_turns(endless(), Limits(work=0.05))
    assert found.status is Status.UNKNOWN
    assert 0.05 <= found.work < 1.0


def endless():
    """A market split: coefficients of all sizes, and sums that next to no choice comes to."""
    rng, rows = Random("market split"), Rows()
    variables = [rows.boolean() for _ in range(40)]
    for _ in range(5):
        coefficients = [rng.randrange(100) for _ in variables]
        rows.equal(list(zip(variables, coefficients, strict=True)), sum(coefficients) // 2)
    return rows


def test_a_limit_of_work_ends_runs_at_the_same_place():
    ends = {run(endless(), Limits(work=0.02), QUICK) for _ in range(3)}
    assert len(ends) == 1
    (end,) = ends
    assert end.status is Status.UNKNOWN
    assert end.conflicts > 0


@pytest.mark.parametrize("seed", [-1, 1 << 40])
def test_any_number_is_a_seed(seed):
    assert run(POSSIBLE.model().rows, Limits(seed=seed)).status is Status.OPTIMAL


@pytest.mark.parametrize("objective", ["", "fragmentation,compact"])
@pytest.mark.parametrize("engine", ["cp-sat", "auto"])
def test_every_run_begins_with_the_seed_of_the_call(engine, objective, monkeypatch):
    seeds = set()
    solver = cp_sat_run._solver

    def noted(limits, configuration):
        made = solver(limits, configuration)
        if not configuration.keeps_hint:
            seeds.add(made.parameters.random_seed - configuration.seed)
        return made

    monkeypatch.setattr(cp_sat_run, "_solver", noted)
    monkeypatch.setattr("drasat.solver.auto.DIVE_VISITS", 0)
    there = Cluster.of([device_class(), node("n1"), pool(*devices("a", "b")), claim(want())])
    assert allocate(there, engine=engine, objective=objective, seed=77, time_limit=None).outcome == "Allocated"
    assert seeds == {77}


def test_a_model_that_the_solver_refuses_is_kept_for_the_report():
    rows = Rows()
    rows.integer(3, 1)
    with pytest.raises(InvalidModelError, match="saved in") as refused:
        run(rows, Limits())
    kept = Path(refused.value.path)
    assert "domain" in kept.read_text(encoding="utf-8")
    kept.unlink()


def test_runs_are_ever_more_thorough_and_share_the_work_that_is_left(monkeypatch):
    asked, rows = [], endless()

    def noted(rows, limits, configuration, watch=None):
        asked.append((configuration, limits.work))
        return Found(Status.UNKNOWN, conflicts=1, work=limits.work)

    monkeypatch.setattr(cp_sat_run, "run", noted)
    found = run_by_turns(rows, Limits(work=10.0))
    assert (found.status, found.conflicts, found.work) == (Status.UNKNOWN, 3, 10.0)
    assert [configuration for configuration, _ in asked] == [QUICK, RELAXED, USUAL]
    quick, relaxed, _ = (work for _, work in asked)
    assert quick == cp_sat_run.quick_work(rows) < relaxed < 1.0


def test_later_runs_that_end_at_something_worse_change_nothing(monkeypatch):
    rows = Rows()
    x = rows.integer(0, 9)
    rows.minimize([(x, 1)])
    first = Found(Status.FEASIBLE, (2,), 2, 1, work=0.25)
    for later in (Found(Status.FEASIBLE, (5,), 5, 1, work=0.25), Found(Status.UNKNOWN, work=0.25)):
        monkeypatch.setattr(cp_sat_run, "run", saying(first, later, later))
        found = run_by_turns(rows, Limits(work=1.0))
        assert (found.status, found.values, found.bound, found.work) == (Status.FEASIBLE, (2,), 1, 0.75)
        rows.hint({})


def test_what_one_run_found_is_where_the_next_begins(monkeypatch):
    rows = Rows()
    x, y = rows.integer(0, 9), rows.integer(0, 9)
    rows.between([(x, 1), (y, 1)], 4, None)
    rows.minimize([(x, 1), (y, 2)])
    rows.hint({x: 9})
    monkeypatch.setattr(cp_sat_run, "run", saying(Found(Status.FEASIBLE, (9, 0), 9), Found(Status.OPTIMAL, (4, 0), 4)))
    assert run_by_turns(rows, Limits()).values == (4, 0)
    hinted = rows.model.proto.solution_hint
    assert (list(hinted.vars), list(hinted.values)) == ([x, y], [9, 0])


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize("lists", [1, 2, 3])
def test_each_list_gets_an_alternative_of_its_own(lists, thorough, monkeypatch):
    """Also where improving it is given up at once; only which one may differ."""
    monkeypatch.setattr("drasat.solver.staging.quick_work", lambda _rows: 0.0)
    kinds = pool(*(device(f"d{number}", kind=number) for number in range(3)))
    options = [option(f"o{kind}", 1, f"device.attributes['d.x'].kind == {kind}") for kind in range(3)]
    asked = question(kinds, claim(*(either(f"r{number}", *options) for number in range(lists))))
    given = ((0,), (1,), (2,)) * lists
    decision = solving.solve(asked.problem, asked.in_use, given, Counts(), Limits(), thorough=thorough)
    taken = {pick.device for pick in decision.picks}
    assert len(taken) == len(decision.picks) == lists
    assert not thorough or taken == set(range(lists))
