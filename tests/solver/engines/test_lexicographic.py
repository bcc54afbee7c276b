"""The one lexicographic loop: parts in order, bounds, coefficients."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from drasat.encoders.rows import CoefficientError, CpSatRows
from drasat.solver.engines.cp_sat import QUICK, USUAL, Limits, SolveResult, SolverStatus, run_solver
from drasat.solver.engines.engine import Counts
from drasat.solver.engines.lexicographic import LexicographicOptimization


def rows_with(*bounds, least):
    """Variables with these bounds whose sum is at least something."""
    rows = CpSatRows()
    variables = [rows.integer(0, most) for most in bounds]
    rows.between([(variable, 1) for variable in variables], least, None)
    return rows, variables


def staged(rows, *parts, limits=None, counts=None):
    """Run the parts from any solution, on a model that is nothing but rows."""
    rows.minimize([])
    found = run_solver(rows, Limits())
    takes = {(0, variable): variable for variable in range(rows.variables)}
    model = SimpleNamespace(rows=rows, takes=takes, choices=[], lazy_constraints=[])
    one = LexicographicOptimization(model, found, limits or Limits(), counts or Counts())
    one.run(parts)
    return one


def test_later_parts_keep_what_earlier_ones_reached():
    rows, (x, y, z) = rows_with(5, 5, 5, least=7)
    done = staged(rows, [(x, 1)], [(y, 1), (z, 2)])
    assert [(part.value, part.bound) for part in done.reached] == [(0, 0), (9, 9)]
    assert [done.found.values[one] for one in (x, y, z)] == [0, 5, 2]


def test_the_order_of_parts_decides():
    values = []
    for turn in (1, -1):
        rows, (x, y) = rows_with(5, 5, least=6)
        done = staged(rows, *([[(x, 1)], [(y, 1)]][::turn]))
        values.append([part.value for part in done.reached])
    assert values == [[1, 5], [1, 5]]


def test_an_empty_part_costs_nothing():
    rows, _ = rows_with(3, least=1)
    assert [(part.value, part.bound) for part in staged(rows, []).reached] == [(0, 0)]


def test_coefficients_are_divided_by_what_they_have_in_common():
    """80 GiB in bytes is beyond what the solver is asked with, but here it is the unit."""
    giant = 80 << 30
    rows, (x, y) = rows_with(1, 1, least=1)
    (part,) = staged(rows, [(x, 2 * giant), (y, giant)]).reached
    assert (part.value, part.bound) == (giant, giant)


def test_coefficients_that_are_too_large_are_refused():
    rows, (x, y) = rows_with(1, 1, least=2)
    with pytest.raises(CoefficientError, match="too large"):
        staged(rows, [(x, (80 << 30) + 1), (y, 80 << 30)])


def test_each_part_may_do_its_share_of_the_work_that_is_left():
    """A run that decides spends one unit of work; what it leaves is for the parts after it."""
    shares = []

    def spending(rows, limits, configuration, _watch):
        if configuration is not USUAL:
            return SolveResult(SolverStatus.UNKNOWN)
        shares.append(limits.work)
        return replace(run_solver(rows, Limits()), work=1.0)

    rows, (x, y, z) = rows_with(5, 5, 5, least=14)
    counts = Counts()
    large = 1 << 20
    staged(rows, [(x, large)], [(y, large)], [(z, large)], limits=Limits(work=9.0, backend=spending), counts=counts)
    assert shares == [3.0, 4.0, 7.0]
    assert counts.work == 3.0


def test_small_parts_are_minimised_together_and_in_their_order():
    asked = []

    def noted(rows, _limits, configuration, _watch):
        asked.append(configuration)
        return run_solver(rows, Limits(), configuration)

    rows, (x, y, z) = rows_with(3, 3, 3, least=5)
    done = staged(rows, [(y, 1)], [(x, 1)], [(z, 1)], limits=Limits(backend=noted))
    assert asked == [QUICK]
    assert [(part.value, part.bound) for part in done.reached] == [(0, 0), (2, 2), (3, 3)]


def test_a_run_that_is_stopped_at_something_worse_changes_nothing():
    """What was there before it is kept, with the bound that the run has proven."""
    large = 1 << 20
    rows, (x, y) = rows_with(5, 5, least=5)
    rows.minimize([(x, 1)])
    best = run_solver(rows, Limits())
    worse = SolveResult(SolverStatus.FEASIBLE, (5, 5), objective=5, bound=0)
    model = SimpleNamespace(rows=rows, takes={(0, 0): x, (0, 1): y}, choices=[], lazy_constraints=[])
    kept = LexicographicOptimization(model, best, Limits(backend=lambda *_: worse), Counts())
    kept.run([[(x, large), (y, 2 * large)]])
    assert kept.found.values == (0, 5)
    assert [(part.value, part.bound) for part in kept.reached] == [(10 * large, 0)]


def test_what_could_not_be_improved_in_time_has_its_true_value():
    """Without work the literal that a solution leaves true for nothing is settled all the same."""
    rows, (x, y) = rows_with(1, 1, least=1)
    idle = rows.boolean()
    rows.equal([(x, 1), (y, 1)], 1)
    found = run_solver(rows, Limits())
    values = [*found.values]
    values[idle] = 1
    model = SimpleNamespace(rows=rows, takes={(0, 0): x, (0, 1): y}, choices=[], lazy_constraints=[])
    cut = LexicographicOptimization(
        model, SimpleNamespace(status=SolverStatus.FEASIBLE, values=tuple(values)), Limits(work=0.0), Counts()
    )
    cut.run([[(idle, 1), (x, 1), (y, 1)]])
    assert [(part.value, part.bound, part.proven) for part in cut.reached] == [(1, 0, False)]
