"""Rows as the solver gets them: divided, by digits, impossible ones, and those with a guard."""

from itertools import product
from random import Random
from time import monotonic

import pytest

from drasat.encoders.rows import COEFFICIENT_LIMIT, CoefficientError, CpSatRows
from drasat.problem.messages import DeadlineExceededError
from drasat.solver.engines.cp_sat import CONFIRMING, QUICK, Limits, SolverStatus, run_solver

GIB = 1 << 30


def rows_of(rows):
    """Coefficients and bounds of what was posted."""
    linear = [constraint.linear for constraint in rows.proto.constraints]
    return [(list(one.coeffs), list(one.domain)) for one in linear]


def solutions(ranges, *bounds):
    """Values of the first variables that the rows allow; ``bounds`` are coefficients, least and most of each row."""
    found = set()
    for values in product(*(range(least, most + 1) for least, most in ranges)):
        rows = CpSatRows()
        variables = [rows.integer(*one) for one in ranges]
        for coefficients, least, most in bounds:
            rows.between(list(zip(variables, coefficients, strict=True)), least, most)
        for variable, value in zip(variables, values, strict=True):
            rows.fix(variable, value)
        if run_solver(rows, Limits(), QUICK).status is SolverStatus.OPTIMAL:
            found.add(values)
    return found


def allowed(ranges, *bounds):
    """What ``solutions`` should be, by arithmetic."""

    def holds(values, coefficients, least, most):
        total = sum(value * coefficient for value, coefficient in zip(values, coefficients, strict=True))
        return (least is None or total >= least) and (most is None or total <= most)

    every = product(*(range(least, most + 1) for least, most in ranges))
    return {values for values in every if all(holds(values, *one) for one in bounds)}


def test_coefficients_are_divided_by_what_they_have_in_common():
    rows = CpSatRows()
    x, y = rows.integer(0, 9), rows.integer(0, 9)
    rows.between([(x, 4 * GIB), (y, 6 * GIB)], 5 * GIB, 23 * GIB)
    assert rows_of(rows) == [([2, 3], [3, 11])]


def test_a_row_that_always_holds_is_left_out():
    rows = CpSatRows()
    x = rows.integer(0, 3)
    rows.at_most([(x, 2)], 7)
    rows.between([(x, -1)], -3, None)
    rows.at_most([], 0)
    assert rows_of(rows) == []


@pytest.mark.parametrize(
    ("terms", "least", "most"),
    [
        ([4, 6], 3, 3),  # between two multiples of what they have in common
        ([1, 1], 7, None),
        ([1, 1], None, -1),
        ([], 1, 1),
        ([1, 1], 10**30, None),  # no number of the solver's
        ([1, 1], None, -(10**30)),
        ([10**30, 10**30 + 1], -(10**40), -1),
    ],
)
def test_what_no_values_reach_is_impossible(terms, least, most):
    rows = CpSatRows()
    variables = [rows.integer(0, 3) for _ in terms]
    rows.between(list(zip(variables, terms, strict=True)), least, most)
    assert run_solver(rows, Limits(), QUICK).status is SolverStatus.INFEASIBLE
    assert run_solver(rows, Limits(), CONFIRMING).status is SolverStatus.INFEASIBLE


def test_an_impossible_row_with_a_guard_only_makes_the_guard_false():
    rows = CpSatRows()
    x, guard = rows.integer(0, 3), rows.boolean()
    rows.equal([(x, 2)], 3, guard)
    found = run_solver(rows, Limits())
    assert found.status is SolverStatus.OPTIMAL
    assert found.values[guard] == 0


@pytest.mark.parametrize("unit", [1, COEFFICIENT_LIMIT + 11])
@pytest.mark.parametrize("switch", [0, 1])
def test_a_row_holds_only_while_its_guard_is_true(unit, switch):
    """Also where the row goes by digits."""
    rows = CpSatRows()
    x, y, guard = rows.integer(0, 3), rows.integer(0, 3), rows.boolean()
    rows.at_most([(x, unit), (y, unit + 1)], 4 * unit, guard)
    rows.fix(guard, switch)
    rows.fix(x, 1)
    rows.fix(y, 3)
    assert run_solver(rows, Limits()).status is (SolverStatus.INFEASIBLE if switch else SolverStatus.OPTIMAL)


def test_no_row_reaches_the_limit():
    rows = CpSatRows()
    variables = [rows.integer(0, 5) for _ in range(4)]
    rows.between([(one, 80 * GIB + number) for number, one in enumerate(variables)], 300 * GIB, 700 * GIB)
    for coefficients, _ in rows_of(rows):
        assert all(abs(coefficient) < COEFFICIENT_LIMIT for coefficient in coefficients)


@pytest.mark.parametrize("seed", range(40))
def test_digits_allow_what_the_sum_allows(seed):
    rng = Random(f"digits/{seed}")
    ranges = [(rng.choice((0, 0, -1)), rng.choice((1, 2))) for _ in range(3)]
    size = rng.choice((1 << 31, 1 << 40, 1 << 66))
    coefficients = [rng.choice((1, 1, 1, -1)) * (size + rng.randrange(4)) for _ in ranges]
    some = sum(rng.randint(*one) * coefficient for one, coefficient in zip(ranges, coefficients, strict=True))
    bounds = rng.choice([(None, some), (some, None), (some, some), (some - size, some + 1)])
    assert solutions(ranges, (coefficients, *bounds)) == allowed(ranges, (coefficients, *bounds))


def test_a_missing_bound_is_none_however_large_the_numbers():
    """What gives back 80 GiB, in units of 10^-9."""
    rows = CpSatRows()
    x, y = rows.integer(0, 1), rows.integer(0, 1)
    rows.at_most([(x, -80 * GIB * 10**9), (y, 1)], 0)
    rows.fix(x, 1)
    assert run_solver(rows, Limits()).status is SolverStatus.OPTIMAL


def test_too_many_terms_for_digits_are_refused():
    rows = CpSatRows()
    x, y = rows.integer(0, 1 << 30), rows.integer(0, 1)
    with pytest.raises(CoefficientError, match="2 terms"):
        rows.at_most([(x, GIB), (y, 1)], 7 * GIB)


def test_a_second_hint_replaces_the_first():
    """Two for one variable would make the model invalid."""
    rows = CpSatRows()
    x = rows.integer(0, 3)
    rows.hint({x: 1})
    rows.hint({x: 2})
    assert list(rows.proto.solution_hint.values) == [2]
    assert run_solver(rows, Limits()).status is SolverStatus.OPTIMAL


def test_a_second_objective_replaces_the_first():
    rows = CpSatRows()
    x = rows.integer(0, 3)
    rows.minimize([(x, -1)])
    assert run_solver(rows, Limits()).objective == -3
    rows.minimize([(x, 1)])
    assert run_solver(rows, Limits()).objective == 0
    rows.minimize([])
    assert not rows.proto.has_objective()


@pytest.mark.parametrize("least", [None, 0, 1])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 2, 1), (0, 1, 1)])
def test_a_choice_of_one_is_what_its_sum_says(sizes, least):
    """Of literals, where it is posted without a sum, and of counts."""
    ranges = [(0, size) for size in sizes]
    bounds = [1] * len(sizes), least, 1
    assert solutions(ranges, bounds) == allowed(ranges, bounds)


def test_a_choice_counts_a_literal_as_often_as_it_is_named():
    rows = CpSatRows()
    x, y = rows.boolean(), rows.boolean()
    rows.equal([(x, 1), (x, 1), (y, 1)], 1)
    assert run_solver(rows, Limits(), QUICK).values == (0, 1)


def test_a_choice_under_a_guard_holds_only_with_it():
    rows = CpSatRows()
    x, y, guard = (rows.boolean() for _ in range(3))
    rows.equal([(x, 1), (y, 1)], 1, guard)
    rows.at_most([(x, -1), (y, -1)], -2)
    assert run_solver(rows, Limits(), QUICK).values == (1, 1, 0)


def test_variables_are_written_in_order_as_they_come():
    rows = CpSatRows()
    bounds = [(0, 1), (0, 1), (0, 3), (-2, 5), (0, 1), (0, 1)]
    for position, one in enumerate(bounds):
        assert rows.integer(*one) == position
        if position in (1, 2):
            rows.fix(0, 1)
    written = [tuple(variable.domain) for variable in rows.proto.variables]
    assert written == [(1, 1), *bounds[1:]]


def test_posting_many_rows_ends_at_the_deadline():
    """SRCH-10: a large model takes longer to write than to look at the clock."""
    rows = CpSatRows()
    literals = [rows.boolean() for _ in range(300)]

    def post():
        for number in range(300):
            rows.at_most([(one, 1) for one in literals], number)

    rows.deadline = monotonic() + 1000
    post()
    rows.deadline = monotonic() - 1
    with pytest.raises(DeadlineExceededError):
        post()
    rows.deadline = None
    post()


def test_an_objective_beyond_64_bits_is_refused_and_one_below_is_not():
    rows = CpSatRows()
    pair = [rows.integer(0, 4) for _ in range(2)]
    for factor in (2**62, -(2**60)):
        with pytest.raises(CoefficientError, match="an objective of 2 terms is too large"):
            rows.minimize([(one, factor) for one in pair])
    rows.minimize([(one, -(2**57)) for one in pair])
    assert run_solver(rows, Limits()).objective == -(2**60)
