"""No plan is worse than first fit, and what is called optimal is so in the order that the plan gives."""

import json
from itertools import permutations

import pytest
from support.data import DATA

from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.plan import incumbent
from drasat.solver.plan.outcome import plan_violations
from drasat.solver.plan.plan import plan

CASES = {
    # DEV-15, IN-3: admin access holds nothing, whatever nodes reach the device.
    "admin-access-of-five-pods": 5,
    "admin-access-and-a-holder": 2,
    "admin-access-beside-a-request": 1,
    "admin-access-to-all": 2,
    "admin-access-of-a-second-claim": 1,
    "admin-access-or-alternatives": 2,
    # CTR-2: it draws counters only while its own unit is allocated.
    "admin-access-to-a-partition": 3,
    "admin-access-draws-again": 3,
    # SCHED-2: pods go to the node where their shared claims are.
    "chain-of-shared-claims": 3,
    "chain-around-claims-nobody-can-have": 2,
}


def read(name):
    return load(json.loads((DATA / "plans" / f"{name}.json").read_text())["items"])


@pytest.mark.parametrize("name", CASES)
def test_plans_are_optimal_where_first_fit_admits_more_than_models_did(name):
    found = plan(read(name))
    assert (found.placed, found.outcome) == (CASES[name], "Optimal")


@pytest.mark.parametrize("name", CASES)
def test_no_plan_admits_fewer_units_than_allocate(name):
    one_by_one = allocate(read(name))
    assert plan(read(name)).placed >= sum(unit.outcome == "Allocated" for unit in one_by_one.units)


def test_an_interrupt_while_first_fit_is_counted_keeps_the_plan(monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(incumbent, "first_fit_placed", interrupted)
    with pytest.raises(SearchInterrupted) as interrupt:
        plan(read("admin-access-draws-again"))
    assert interrupt.value.answer.verified
    assert interrupt.value.answer.placed == CASES["admin-access-draws-again"]


def test_a_plan_gives_an_order_in_which_it_works():
    """DEV-15: admin access on a device in use draws counters again, so that not every order works."""
    found = plan(read("admin-access-to-a-partition"))
    assert sorted(unit.order for unit in found.units if unit.node) == [1, 2, 3]
    broken = {
        order: plan_violations(read("admin-access-to-a-partition"), found.units, found.gates, order=order)
        for order in permutations(found.order)
    }
    assert broken[found.order] == []
    assert any(broken.values())
