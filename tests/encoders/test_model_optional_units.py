"""Units that may be left out: how many of them are served, which ones, and what is merged."""

from support.modelling import question
from support.objects import claim, devices, distinct, either, match, option, pool, want

from drasat.encoders.constraints import ENCODERS
from drasat.encoders.model import build_model
from drasat.encoders.solution import decode_solution
from drasat.encoders.symmetry import UnitCopies, build_symmetry_classes, merge_equal_requests
from drasat.problem.filters import usable_devices
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver

A = "d.x/a"


def modelled(asked, *units):
    """The model of a question; ``units`` are the claims of each copy."""
    candidates = usable_devices(asked.problem, asked.in_use)
    merged = merge_equal_requests(asked.problem, asked.in_use, candidates, units=[UnitCopies(unit) for unit in units])
    return build_model(build_symmetry_classes(merged, ENCODERS), ENCODERS)


def served(model, *counts):
    """The demands that are served if so many copies are; None if that cannot be."""
    for placed, count in zip(model.units.placed, counts, strict=True):
        model.rows.restrict(placed, count, count)
    found = run_solver(model.rows, Limits())
    return (
        None
        if found.status is SolverStatus.INFEASIBLE
        else [demand for demand, _ in decode_solution(model, found.values)]
    )


def equal(count, *requests, constraints=()):
    return [claim(*requests, name=f"c{number}", constraints=constraints) for number in range(count)]


def test_the_first_copies_are_served():
    asked = question(pool(*devices("a", "b", "c")), *equal(4, want()))
    model = modelled(asked, ((0,), (1,), (2,), (3,)))
    assert len(model.merged.requests) == 1
    assert served(model, 0) == []
    assert served(model, 2) == [0, 1]
    assert served(model, 4) is None


def test_claims_of_no_unit_are_served_in_any_case():
    asked = question(pool(*devices("a", "b")), *equal(3, want()))
    model = modelled(asked, ((1,), (2,)))
    assert served(model, 0) == [0]
    assert served(model, 1) == [0, 1]
    assert served(model, 2) is None


def test_equal_claims_of_different_units_are_one():
    """A unit of one claim and another of two claims of the same kind share a count."""
    asked = question(pool(*devices("a", "b", "c", "d")), *equal(6, want()))
    model = modelled(asked, ((0,), (1,)), ((2, 3), (4, 5)))
    assert len(model.merged.requests) == 1
    assert served(model, 1, 1) == [0, 2, 3]
    assert served(model, 0, 2) == [2, 3, 4, 5]
    assert served(model, 1, 2) is None


def test_copies_that_stay_alone_are_left_out_from_the_last():
    asked = question(
        pool(*devices("a", "b", "c", "d", a=1, b=2)), *equal(3, want(count=2), constraints=[match(A), match("d.x/b")])
    )
    model = modelled(asked, ((0,), (1,), (2,)))
    assert len(model.merged.requests) == 3
    assert served(model, 1) == [0, 0]
    assert served(model, 2) == [0, 0, 1, 1]
    assert served(model, 3) is None


def test_a_unit_with_a_claim_that_stays_alone_is_served_as_a_whole():
    plain, tied = want("r"), want("s", 2)
    claims = [
        one
        for copy in range(2)
        for one in (claim(plain, name=f"p{copy}"), claim(tied, name=f"t{copy}", constraints=[match(A), match("d.x/b")]))
    ]
    asked = question(pool(*devices("a", "b", "c", "d", "e", a=1, b=2)), *claims)
    model = modelled(asked, ((0, 1), (2, 3)))
    assert served(model, 1) == [0, 1, 1]
    assert served(model, 2) is None


def test_lists_between_equal_ones_do_not_keep_copies_apart():
    """Which alternatives copies get is no question of their order."""
    first, second = either("r", option("one", 1), option("two", 2)), either("s", option("two", 2), option("one", 1))
    claims = [claim(one, name=f"c{number}") for number, one in enumerate((first, second, first, second))]
    asked = question(pool(*devices("a", "b", "c")), *claims)
    model = modelled(asked, ((0, 1), (2, 3)))
    assert len(model.merged.requests) == 2
    assert served(model, 1) is not None
    assert served(model, 2) is None


def test_values_are_counted_for_the_claims_that_are_served():
    """CON-5: two claims may take a value twice, one of them may not."""
    asked = question(pool(*devices("a", "b", a=1)), *equal(2, want(count=2), constraints=[distinct(A)]))
    assert served(modelled(asked, ((0,), (1,))), 1) is None
