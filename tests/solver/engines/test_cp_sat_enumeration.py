"""All values of some variables, each once, and None where there are too many."""

import pytest

from drasat.encoders.rows import CpSatRows
from drasat.solver.engines.cp_sat import enumerate_solutions


def rows_of(count, total):
    """Variables from 0 to 3 that add up to a total, and a literal that nothing depends on."""
    rows = CpSatRows()
    variables = [rows.integer(0, 3) for _ in range(count)]
    rows.boolean()
    rows.equal([(variable, 1) for variable in variables], total)
    return rows, variables


def everything(_values):
    return True


def test_each_once_in_order():
    rows, variables = rows_of(2, 3)
    assert enumerate_solutions(rows, variables, 9, everything, None) == [(0, 3), (1, 2), (2, 1), (3, 0)]


@pytest.mark.parametrize(("most", "many"), [(3, True), (4, False)])
def test_too_many_are_none_at_all(most, many):
    rows, variables = rows_of(2, 3)
    assert (enumerate_solutions(rows, variables, most, everything, None) is None) == many


def test_those_that_do_not_hold_are_left_out():
    rows, variables = rows_of(2, 3)
    assert enumerate_solutions(rows, variables, 9, lambda values: values[0] > values[1], None) == [(2, 1), (3, 0)]


def test_no_solution_is_an_empty_list():
    rows, variables = rows_of(2, 3)
    rows.at_most([(variables[0], 1), (variables[1], 1)], 2)
    assert enumerate_solutions(rows, variables, 9, everything, None) == []


def test_a_deadline_that_is_over_decides_nothing():
    rows, variables = rows_of(9, 14)
    assert enumerate_solutions(rows, variables, 10**6, everything, 0.0) is None
