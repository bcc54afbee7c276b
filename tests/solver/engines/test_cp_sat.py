"""From a Problem to a decision by the solver: what its statuses become, and within which limits."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest
from support.engines import dive
from support.modelling import question
from support.objects import claim, device, device_class, devices, either, node, option, pool, want

from drasat.encoders.rows import CpSatRows
from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import ProofKind, Status
from drasat.solver.allocate.allocate import allocate
from drasat.solver.engines import cp_sat, optimize
from drasat.solver.engines.cp_sat import (
    CHECKING,
    CONFIRMING,
    LINEARIZED,
    QUICK,
    USUAL,
    InvalidModelError,
    Limits,
    SolveResult,
    SolverStatus,
    run_by_configurations,
    run_improving,
    run_solver,
)
from drasat.solver.engines.engine import Counts
from drasat.solver.engines.registry import cp_sat_engine

POSSIBLE = question(pool(*devices("a", "b", "c")), claim(want(count=2)))
# The first alternative is never possible.
LATE = option("two", 2, "device.driver == ''"), option("one", 1)
IMPOSSIBLE = question(pool(*devices("a", "b", "c")), claim(want("r", 2), want("s", 2)))


def saying(*found):
    """A backend that has these results, one after the other, and then solves."""
    left = list(found)
    return lambda *arguments: left.pop(0) if left else solved(*arguments)


def solved(rows, limits, configuration, watch):
    """What CP-SAT says."""
    return run_solver(rows, replace(limits, backend=None), configuration, watch)


class Noting:
    """A backend that notes configurations; ``unknown`` ones decide nothing."""

    def __init__(self, unknown=()):
        self.configurations = []
        self._unknown = unknown

    def __call__(self, rows, limits, configuration, watch):
        self.configurations.append(configuration)
        if configuration in self._unknown:
            return SolveResult(SolverStatus.UNKNOWN)
        return solved(rows, limits, configuration, watch)


def test_a_no_that_a_second_run_contradicts_is_a_yes():
    """A solution that the first run has overlooked counts."""
    decision = POSSIBLE.decision(backend=saying(SolveResult(SolverStatus.INFEASIBLE)))
    assert decision.status is Status.ALLOCATED
    assert len({pick.device for pick in decision.picks}) == 2


def test_a_no_that_a_second_run_cannot_decide_is_unknown():
    decision = IMPOSSIBLE.decision(backend=Noting(unknown=(CHECKING, CONFIRMING)))
    assert (decision.status, decision.retry) == (Status.UNKNOWN, False)


@pytest.mark.parametrize("hasty", [False, True])
def test_a_no_is_confirmed_by_a_second_run_that_works_otherwise(hasty):
    backend = Noting(unknown=(CHECKING,) if hasty else ())
    decision = IMPOSSIBLE.decision(backend=backend)
    assert (decision.status, decision.proof_kind) == (Status.UNALLOCATABLE, ProofKind.SOLVER)
    assert backend.configurations == [QUICK, CHECKING, *([CONFIRMING] if hasty else [])]
    for first, second in product((QUICK, LINEARIZED, USUAL), (CHECKING, CONFIRMING)):
        assert (second.presolve, second.symmetry > 0) == (not first.presolve, first.symmetry == 0)
        assert second.seed != first.seed


def test_one_run_finds_and_improves_and_leaves_no_objective():
    rows = CpSatRows()
    variables = [rows.boolean() for _ in range(4)]
    rows.between([(one, 1) for one in variables], 2, None)
    found = run_improving(rows, Limits(), [(one, 1 + number) for number, one in enumerate(variables)])
    assert (found.status, found.values) == (SolverStatus.OPTIMAL, (1, 1, 0, 0))
    assert run_solver(rows, Limits()).objective == 0


def test_what_one_run_finds_and_improves_is_not_improved_again():
    backend = Noting()
    asked_for = claim(*(either(f"r{number}", *LATE) for number in range(3)))
    decision = question(pool(*devices("a", "b", "c")), asked_for).decision(thorough=False, backend=backend)
    assert (decision.status, backend.configurations) == (Status.ALLOCATED, [QUICK])


def test_where_one_run_does_not_do_there_are_more():
    asked_for = claim(*(either(f"r{number}", *LATE) for number in range(3)))
    for names, answer in (("abc", Status.ALLOCATED), ("ab", Status.UNALLOCATABLE)):
        cut_off = saying(SolveResult(SolverStatus.UNKNOWN))
        decision = question(pool(*devices(*names)), asked_for).decision(thorough=False, backend=cut_off)
        assert decision.status is answer


@pytest.mark.parametrize("limits", [Limits(work=0.0), Limits(deadline=0.0), Limits(deadline=0.0, work=0.0)])
def test_without_time_or_work_nothing_is_known(limits):
    """Never a no."""
    assert run_by_configurations(endless(), limits).status is SolverStatus.UNKNOWN
    assert run_solver(endless(), limits, CONFIRMING).status is SolverStatus.UNKNOWN


def test_a_quick_run_that_is_cut_off_proves_nothing():
    def cut_off(rows, limits, configuration, watch):
        return solved(rows, replace(limits, work=0.0) if configuration is QUICK else limits, configuration, watch)

    found = run_by_configurations(endless(), Limits(work=0.05, backend=cut_off))
    assert found.status is SolverStatus.UNKNOWN
    assert 0.05 <= found.work < 1.0


def endless():
    """A market split: coefficients of all sizes, and sums that next to no choice comes to."""
    rng, rows = Random("market split"), CpSatRows()
    variables = [rows.boolean() for _ in range(40)]
    for _ in range(5):
        coefficients = [rng.randrange(100) for _ in variables]
        rows.equal(list(zip(variables, coefficients, strict=True)), sum(coefficients) // 2)
    return rows


def test_a_limit_of_work_ends_runs_at_the_same_place():
    ends = {run_solver(endless(), Limits(work=0.02), QUICK) for _ in range(3)}
    assert len(ends) == 1
    (end,) = ends
    assert end.status is SolverStatus.UNKNOWN
    assert end.conflicts > 0


@pytest.mark.parametrize("seed", [-1, 1 << 40])
def test_any_number_is_a_seed(seed):
    assert run_solver(POSSIBLE.model().rows, Limits(seed=seed)).status is SolverStatus.OPTIMAL


def test_another_seed_makes_another_run():
    assert len({run_solver(endless(), Limits(work=0.05, seed=seed)) for seed in range(3)}) == 3


@pytest.mark.parametrize("objective", ["", "fragmentation,compact"])
@pytest.mark.parametrize("engine", ["cp-sat", "auto"])
def test_every_run_begins_with_the_seed_of_the_call(engine, objective, register):
    seeds = set()

    def noted(rows, limits, configuration, watch):
        if not configuration.keeps_hint:
            seeds.add(limits.seed)
        return run_solver(rows, replace(limits, backend=None), configuration, watch)

    made = dive(visits=0) if engine == "auto" else cp_sat_engine
    register(engine, lambda session: made(replace(session, backend=noted)))
    there = Cluster.of([device_class(), node("n1"), pool(*devices("a", "b")), claim(want())])
    assert allocate(there, engine=engine, objective=objective, seed=77, time_limit=None).outcome == "Allocated"
    assert seeds == {77}


def test_a_model_that_the_solver_refuses_is_kept_for_the_report():
    rows = CpSatRows()
    rows.integer(3, 1)
    with pytest.raises(InvalidModelError, match="saved in") as refused:
        run_solver(rows, Limits())
    kept = Path(refused.value.path)
    assert "domain" in kept.read_text(encoding="utf-8")
    kept.unlink()


def test_runs_are_ever_more_thorough_and_share_the_work_that_is_left():
    asked, rows = [], endless()

    def noted(_rows, limits, configuration, _watch):
        asked.append((configuration, limits.work))
        return SolveResult(SolverStatus.UNKNOWN, conflicts=1, work=limits.work)

    found = run_by_configurations(rows, Limits(work=10.0, backend=noted))
    assert (found.status, found.conflicts, found.work) == (SolverStatus.UNKNOWN, 3, 10.0)
    assert [configuration for configuration, _ in asked] == [QUICK, LINEARIZED, USUAL]
    quick, relaxed, _ = (work for _, work in asked)
    assert quick == cp_sat.quick_work(rows) < relaxed < 1.0


def test_later_runs_that_end_at_something_worse_change_nothing():
    rows = CpSatRows()
    x = rows.integer(0, 9)
    rows.minimize([(x, 1)])
    first = SolveResult(SolverStatus.FEASIBLE, (2,), 2, 1, work=0.25)
    for later in (
        SolveResult(SolverStatus.FEASIBLE, (5,), 5, 1, work=0.25),
        SolveResult(SolverStatus.UNKNOWN, work=0.25),
    ):
        found = run_by_configurations(rows, Limits(work=1.0, backend=saying(first, later, later)))
        assert (found.status, found.values, found.bound, found.work) == (SolverStatus.FEASIBLE, (2,), 1, 0.75)
        rows.hint({})


def test_what_one_run_found_is_where_the_next_begins():
    rows = CpSatRows()
    x, y = rows.integer(0, 9), rows.integer(0, 9)
    rows.between([(x, 1), (y, 1)], 4, None)
    rows.minimize([(x, 1), (y, 2)])
    rows.hint({x: 9})
    backend = saying(SolveResult(SolverStatus.FEASIBLE, (9, 0), 9), SolveResult(SolverStatus.OPTIMAL, (4, 0), 4))
    assert run_by_configurations(rows, Limits(backend=backend)).values == (4, 0)
    hinted = rows.proto.solution_hint
    assert (list(hinted.vars), list(hinted.values)) == ([x, y], [9, 0])


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize("lists", [1, 2, 3])
def test_each_list_gets_an_alternative_of_its_own(lists, thorough):
    """Also where improving it is given up at once; only which one may differ."""

    def giving_up(rows, limits, configuration, watch):
        improves = configuration is QUICK and rows.proto.objective.vars
        return run_solver(rows, replace(limits, backend=None, work=0.0 if improves else limits.work), configuration)

    kinds = pool(*(device(f"d{number}", kind=number) for number in range(3)))
    options = [option(f"o{kind}", 1, f"device.attributes['d.x'].kind == {kind}") for kind in range(3)]
    asked = question(kinds, claim(*(either(f"r{number}", *options) for number in range(lists))))
    given = ((0,), (1,), (2,)) * lists
    limits = Limits(backend=giving_up)
    decision = optimize.solve(asked.problem, asked.in_use, given, Counts(), limits, thorough=thorough)
    taken = {pick.device for pick in decision.picks}
    assert len(taken) == len(decision.picks) == lists
    assert not thorough or taken == set(range(lists))
