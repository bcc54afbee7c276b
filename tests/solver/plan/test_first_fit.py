"""First fit beside a plan: what is placed stays, and the rest goes to the first node with room and devices."""

from time import monotonic

import pytest
from support.manifests import claim, entry, pod
from support.random_plans import FAMILIES, plan_manifests
from support.sequential import given, given_of, needs, read, supply, taker

from drasat.solver.compare.schedulers import schedule
from drasat.solver.engines.engine import Session
from drasat.solver.plan.first_fit import first_fit, first_fit_placed
from drasat.solver.plan.outcome import PlannedUnitOutcome, check_plan


def fit(what, positions=None, **options):
    session = Session(what.cluster, what.gates, "strict", 0)
    arriving = range(len(what.units)) if positions is None else positions
    return first_fit(session, what.units, arriving, **options)


def nodes(what, found):
    return {what.units[place].unit.name: node for place, (node, _) in found.assigned.items()}


@pytest.mark.parametrize("family", [family for family in FAMILIES if not family.startswith("buy")])
def test_first_fit_is_the_schedulers_and_passes_the_verifier(family):
    for seed in range(4):
        what = given_of(read(plan_manifests(family, seed)))
        found = fit(what)
        assert found.in_time
        told = [found.assigned.get(place, (None, ())) for place in range(len(what.units))]
        units = [PlannedUnitOutcome(one, node, (), made) for one, (node, made) in zip(what.units, told, strict=True)]
        check_plan(what.cluster, units, what.gates, "strict", order=tuple(found.assigned))
        scheduled = schedule(what, "first-fit", "given", None)
        assert [node for node, _ in told] == [one.node for one in scheduled.units]


def test_what_it_places_is_known_without_devices_or_not_at_all():
    told = told_of_gangs = 0
    for family in FAMILIES:
        for seed in range(4):
            cluster = read(plan_manifests(family, seed))
            inputs = given_of(cluster)
            session = Session(cluster, inputs.gates, "strict", 0)
            arriving = range(len(inputs.units))
            places = first_fit_placed(session, inputs.units, arriving)
            if places is not None:
                told += 1
                told_of_gangs += any(unit.unit_set.gang for unit in inputs.units)
                assert sorted(places) == sorted(first_fit(session, inputs.units, arriving).assigned), (family, seed)
    assert told > 20
    assert told_of_gangs > 5


@pytest.mark.parametrize(("order", "placed"), [([0, 1, 2, 3], [2, 3]), ([2, 0, 1, 3], [2, 3]), ([0, 2, 1, 3], None)])
def test_a_gang_that_is_not_whole_leaves_its_room_to_those_behind_it(order, placed):
    """Of two nodes with a device each the first member of the gang takes one, until the second finds no room."""
    members = [taker("a", 1, GANG="g"), taker("b", 2, GANG="g")]
    what = given(*supply(n1=1, n2=1), *members, taker("c", 1), taker("d", 1))
    session = Session(what.cluster, what.gates, "strict", 0)
    found = first_fit_placed(session, what.units, order)
    assert found is None if placed is None else sorted(found) == placed
    assert sorted(first_fit(session, what.units, order).assigned) == [2, 3]


def test_what_is_placed_stays_where_it_is():
    what = given(*supply(n1=1, n2=1), taker("a", 1), taker("b", 1))
    first = fit(what, [1])
    assert nodes(what, first) == {"b": "n1"}
    both = fit(what, [0], placed=first.assigned)
    assert nodes(what, both) == {"b": "n1", "a": "n2"}
    assert both.assigned[1] == first.assigned[1]


def test_a_claim_that_is_allocated_already_is_not_allocated_again():
    users = [pod(name, entry("g", claim="shared")) for name in ("a", "b")]
    what = given(*supply(n1=1, n2=1), claim("shared", needs(1)), *users)
    first = fit(what, [1])
    both = fit(what, [0], placed=first.assigned)
    assert nodes(what, both) == {"b": "n1", "a": "n1"}
    assert both.assigned[0][1] == ()


def test_only_usable_nodes_get_units():
    what = given(*supply(n1=1, n2=1), taker("a", 1), taker("b", 1))
    assert nodes(what, fit(what, usable={"n2"})) == {"a": "n2"}


def test_members_that_are_placed_already_stay_when_their_gang_grows_no_further():
    """PLAN-GANG: the members that were placed are enough, or they would not be there."""
    gang = [taker(f"g{number}", 1, GANG="all") for number in range(2)]
    what = given(*supply(n1=2), *gang, taker("x", 1))
    whole = fit(what, [0, 1])
    assert nodes(what, fit(what, [2], placed=whole.assigned)) == {"g0": "n1", "g1": "n1"}


def test_once_time_is_over_nothing_more_is_placed():
    what = given(*supply(n1=1), taker("a", 1))
    found = fit(what, deadline=monotonic() - 1)
    assert (found.assigned, found.in_time) == ({}, False)
