"""Where engines without a search order answer otherwise than the scheduler, and where they do not."""

from dataclasses import replace

import pytest
from support.engines import dive, solved_by
from support.objects import (
    DRIVER,
    claim,
    device,
    device_class,
    devices,
    draws,
    either,
    labels,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    want,
)

from drasat.encoders.rows import CoefficientError
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import CELDeviceConstraint, DeviceConstraint
from drasat.solver.allocate.allocate import allocate

OUT_OF_ORDER = ["auto", "cp-sat"]
A = f"{DRIVER}/a"


def ask(*objects, engine, **options):
    return allocate(Cluster.of([node("n1", zone="z"), device_class(), *objects]), engine=engine, **options)


def outcomes(*objects, **options):
    """The outcome by each engine; those without an order must agree."""
    found = {engine: ask(*objects, engine=engine, **options).outcome for engine in ("backtracking", *OUT_OF_ORDER)}
    assert found["auto"] == found["cp-sat"]
    return found["backtracking"], found["auto"]


def test_all_that_breaks_a_constraint_is_no_error_without_an_order():
    """SRCH-7: the scheduler gives up, although another alternative fits."""
    supply = pool(device("a", a=1), device("b", a=2))
    asking = claim(either("r", option("all", "All"), option("one")), constraints=[match(A)])
    assert outcomes(supply, asking) == ("Error", "Allocated")


def test_all_that_breaks_a_constraint_is_a_plain_no_where_nothing_else_fits():
    """SRCH-7."""
    supply = pool(device("a", a=1), device("b", a=2))
    assert outcomes(supply, claim(want(count="All"), constraints=[match(A)])) == ("Error", "Unallocatable")


STEPPED = shared("10", default="1", min="0", max="10", step="1")


@pytest.mark.parametrize(("others", "expected"), [(1, ("Error", "Allocated")), (0, ("Error", "Error"))])
def test_amounts_that_cannot_be_computed_matter_only_if_nothing_else_fits(others, expected):
    """CAP-4: the scheduler's search runs into the first device."""
    broken = device("a", multi=True, capacity={"memory": STEPPED})
    fine = [device(f"b{number}", multi=True, capacity={"memory": "2e30"}) for number in range(others)]
    asking = claim(want(capacity={"memory": "1e30"}))
    assert outcomes(pool(broken, *fine), asking) == expected


@pytest.mark.parametrize("engine", OUT_OF_ORDER)
def test_errors_of_expressions_are_as_under_strict(engine):
    """CEL-7: kube is about an order that these engines do not have."""
    supply = pool(device("a"), device("b", x=1))
    asking = claim(want(select=f"device.attributes['{DRIVER}'].x == 1"))
    answer = ask(supply, asking, engine=engine, cel_errors="kube")
    assert (answer.outcome, answer.cel_errors) == ("Allocated", "strict")
    assert ask(supply, asking, engine="backtracking", cel_errors="kube").outcome == "Error"


ZONES = labels({"zone": ("z",)}, {"zone": ("y",)})


def test_devices_whose_selectors_cannot_be_combined_are_avoided():
    """RES-7: the scheduler fails on them although there is another."""
    members = [device("a", node_selector=ZONES), device("b", node_name="n1")]
    supply = pool(*members, per_device_node_selection=True)
    assert outcomes(supply, claim(want())) == ("Error", "Allocated")
    assert outcomes(supply, claim(want(count=2))) == ("Error", "Error")


def test_a_lower_alternative_is_chosen_only_if_no_choice_before_helps():
    """SRCH-4: the search keeps the device it took first, and so settles for less."""
    supply = pool(device("a", x=1), device("b", x=0))
    fussy = option("best", 1, f"device.attributes['{DRIVER}'].x == 1")
    asking = claim(want("first"), either("r", fussy, option("other")))
    made = {
        engine: ask(supply, asking, engine=engine).units[0].allocations[0][1] for engine in ("backtracking", "cp-sat")
    }
    chosen = {engine: [result.request for result in one.devices.results] for engine, one in made.items()}
    assert chosen == {"backtracking": ["first", "r/other"], "cp-sat": ["first", "r/best"]}


@pytest.mark.parametrize("visits", [0, 10**9])
def test_whether_it_fits_does_not_depend_on_how_far_auto_goes(visits, register):
    """Nothing but the dive, or nothing of it: the same cases, the same answers."""
    register("auto", dive(visits=visits))
    supply = pool(device("a", a=1), device("b", a=2), device("c", a=2))
    lists = either("r", option("all", "All"), option("two", 2))
    assert ask(supply, claim(lists, constraints=[match(A)]), engine="auto").outcome == "Allocated"
    kinds = pool(*(device(f"d{number}", kind=number % 2) for number in range(8)))
    expression = f"devices.map(d, d.attributes['{DRIVER}'].kind).sum() > 4"
    entry = DeviceConstraint(cel=CELDeviceConstraint(expression=expression))
    refused = ask(kinds, claim(want(count=4), constraints=[entry]), engine="auto")
    assert (refused.outcome, refused.statistics.literals > 0) == ("Unallocatable", visits == 0)


def test_a_search_that_is_cut_off_goes_on_with_the_solver():
    supply = pool(*devices(*(f"d{number:02}" for number in range(24)), a=1))
    answer = ask(supply, claim(want("r", 12), want("s", 12), want("t", 1)), engine="auto")
    assert (answer.outcome, answer.units[0].proof_kind) == ("Unallocatable", "witness")
    assert answer.statistics.steps == 0


def test_what_the_solver_refuses_is_left_to_the_search(register):
    """Nothing is called impossible because a number is too large."""

    def refusing(*_):
        raise CoefficientError("a row is too large for the solver")

    register("auto", lambda session: dive(visits=0)(replace(session, backend=refusing)))
    register("cp-sat", solved_by(refusing, "cp-sat"))
    members = [device(f"d{number}", draws("s", m=amount)) for number, amount in enumerate((5, 7, 11))]
    slices = partitions(*members, sets={"s": {"m": 12}})
    assert ask(*slices, claim(want(count=2)), engine="auto").outcome == "Allocated"
    unsure = ask(*slices, claim(want(count=2)), engine="cp-sat")
    assert unsure.outcome == "Unknown"
    assert "too large for the solver" in unsure.units[0].failures[0].message
