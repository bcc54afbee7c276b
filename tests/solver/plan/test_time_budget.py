"""A time limit is shared out by what phases take, and decides how much of a queue is planned (SRCH-10)."""

from __future__ import annotations

from time import monotonic

import pytest
from support.plan_building import ALL, classes, cluster, entry, nodes, placed, planning, pod, reasons, to_buy, user

from drasat.models.workload.expansion import expand_units, unit_runs
from drasat.models.workload.queue import read_queue
from drasat.problem.messages import DeadlineExceededError
from drasat.solver.plan import build
from drasat.solver.plan.time_budget import PlanTimeBudget


class Hands:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def queue_of(number):
    given = cluster(*classes(), *nodes("n1"), *(user(f"p{one:04d}") for one in range(number)))
    return list(unit_runs(expand_units(given, read_queue(given, gates=ALL), ALL)))


def budget(limit, read=0.01, units=1000):
    """The time there is after reading so many units took so long."""
    clock = Hands()
    made = PlanTimeBudget(limit, clock)
    clock.now += read
    made.lap("queue")
    made.measure_pace(units)
    return made, clock


QUEUE = queue_of(1000)


def test_without_a_limit_nothing_ends_and_everything_is_planned():
    made, _ = budget(None)
    assert (made.build_ends(), made.search_ends(QUEUE), made.first_fit_ends(QUEUE), made.reasons_end(QUEUE)) == (
        None,
        None,
        None,
        None,
    )
    assert made.affordable_share(QUEUE, 10_000) == 1.0
    assert made.affordable_units(QUEUE) == len(QUEUE)


def test_building_leaves_time_to_look_for_a_plan():
    made, clock = budget(100.0)
    assert made.build_ends() == pytest.approx(clock.now + 0.8 * (made.deadline - clock.now))


def test_phases_end_one_after_the_other_before_the_limit():
    made, clock = budget(10.0)
    begun = clock.now - 0.01
    ends = [made.search_ends(QUEUE), made.first_fit_ends(QUEUE), made.reasons_end(QUEUE), begun + 10.0]
    assert ends == sorted(ends)
    assert len(set(ends)) == 4
    # Most of the time is for the search.
    assert made.search_ends(QUEUE[:1]) > begun + 5.0


def test_the_slower_the_queue_was_read_the_more_time_is_kept_for_what_comes_after_the_search():
    quick, _ = budget(10.0, read=0.01)
    slow, _ = budget(10.0, read=0.04)
    assert slow.first_fit_ends(QUEUE) < quick.first_fit_ends(QUEUE)


def test_what_cannot_be_planned_in_time_is_left_out_the_more_the_less_time_there_is():
    shares = [budget(limit)[0].affordable_share(QUEUE, 100_000) for limit in (100.0, 5.0, 1.0, 0.1)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1.0
    assert 0 < shares[-1] < shares[1] < 1.0


def test_what_cannot_be_verified_in_time_is_not_placed():
    made, clock = budget(1.0)
    assert made.affordable_units(QUEUE) == len(QUEUE)
    clock.now += 1.25
    assert 0 <= made.affordable_units(QUEUE) < len(QUEUE)
    clock.now += 5
    assert made.affordable_units(QUEUE) == 0


def test_a_search_has_some_time_even_if_the_estimate_of_the_rest_is_too_long():
    made, clock = budget(0.1)
    assert made.search_ends(QUEUE) > clock.now
    clock.now += 1
    assert made.search_ends(QUEUE) <= clock.now


def test_a_search_that_first_fit_does_not_follow_has_its_time():
    made, clock = budget(10.0)
    assert clock.now < made.search_ends(QUEUE) < made.search_ends(QUEUE, is_filled=False) <= made.first_fit_ends(QUEUE)


@pytest.mark.parametrize("there", [0, 1])
def test_purchases_keep_time_for_first_fit_where_there_are_nodes_to_compare_with(there, monkeypatch):
    search_ends, asked = PlanTimeBudget.search_ends, []

    def noted(self, units, *, is_filled):
        asked.append(is_filled)
        return search_ends(self, units, is_filled=is_filled)

    monkeypatch.setattr(PlanTimeBudget, "search_ends", noted)
    found = planning(*nodes("n1")[:there], to_buy("big"), user("a"), buy=True)
    assert found.outcome == "Optimal"
    assert asked == [bool(there)]


def test_no_time_is_kept_for_more_units_than_nodes_take():
    any_number, few = budget(0.3)[0], budget(0.3)[0]
    few.measure_pace(len(QUEUE), most=100)
    assert few.search_ends(QUEUE) > any_number.search_ends(QUEUE)
    assert few.affordable_share(QUEUE, 5_000) > any_number.affordable_share(QUEUE, 5_000)


def test_the_busier_the_machine_is_the_more_time_is_kept_for_what_comes_last():
    ends = []
    for share in (1.0, 0.25):
        clock, work = Hands(), Hands()
        made = PlanTimeBudget(20.0, clock, work)
        made.measure_pace(len(QUEUE))
        clock.now, work.now = clock.now + 2, work.now + 2 * share
        made.lap("build")
        ends.append(made.reasons_end(QUEUE))
    assert ends[1] < ends[0]


def test_fewer_units_are_affordable_where_a_step_takes_longer_than_the_fastest_one():
    affordable = []
    for slowness in (1.0, 5.0):
        made, clock = budget(0.05, read=0.001)
        made.measure_pace(len(QUEUE), slowness=slowness)
        clock.now += 0.2
        # A phase later it is as slow.
        made.lap("build")
        affordable.append(made.affordable_units(QUEUE))
    assert affordable[1] < affordable[0] == len(QUEUE)


@pytest.mark.parametrize(("objects", "options", "slowness"), [((), {}, 3.0), ((to_buy("big"),), {"buy": True}, 7.0)])
def test_a_step_takes_longer_without_another_process_and_where_nodes_are_bought(
    objects, options, slowness, monkeypatch
):
    measure, noted = PlanTimeBudget.measure_pace, []
    monkeypatch.setattr(PlanTimeBudget, "measure_pace", lambda *given: noted.append(given[-1]) or measure(*given))
    assert planning(*nodes("n1"), *objects, user("a"), **options).outcome == "Optimal"
    assert noted == [slowness]


def test_building_ends_between_classes_of_nodes(monkeypatch):
    def late(*_):
        raise DeadlineExceededError

    until, looks = build.until, []
    monkeypatch.setattr(build, "until", lambda *given, **how: until(*given, **how) if looks else late(looks.append(1)))
    found = planning(*CROWD, time_limit=1000.0)
    assert found.notices == ("the time limit ended before anything could be planned",)
    assert looks == [1]


def test_laps_are_the_times_of_phases():
    made, clock = budget(None, read=2.0)
    clock.now += 3
    made.lap("build")
    assert made.laps == {"queue": 2.0, "build": 3.0}


CROWD = [*nodes("n1", "n2"), *(user(name) for name in "abc"), user("huge", cpu="64")]


@pytest.mark.parametrize("limit", [0.0, 1e-9, -1.0])
def test_a_plan_after_its_time_is_verified_and_says_that_reasons_were_not_looked_for(limit):
    found = planning(*CROWD, time_limit=limit)
    assert found.verified
    assert found.outcome in ("Feasible", "Unknown")
    missing = {name for name in ("a", "b", "c", "huge") if name not in placed(found)}
    for name in missing:
        assert reasons(found, name) in (["unexplained"], ["timeLimit"])


def test_a_plan_for_which_there_is_no_time_at_all_says_so():
    found = planning(*CROWD, time_limit=-1000.0)
    assert (found.outcome, placed(found)) == ("Unknown", [])
    assert found.verified
    assert {reason.id for unit in found.units for reason in unit.reasons} == {"timeLimit"}
    assert found.notices == ("the time limit ended before anything could be planned",)


def test_a_queue_is_read_for_the_first_time_in_a_part_of_the_limit_for_it_is_read_twice():
    made, clock = budget(10.0)
    begun = clock.now - 0.01
    assert begun < made.queue_ends() < begun + 10.0 < made.reread_ends()
    assert budget(None)[0].queue_ends() is budget(None)[0].reread_ends() is None


def test_there_is_time_to_read_a_long_queue_again_or_not():
    assert budget(10.0, read=0.5, units=50_000)[0].has_time_to_reread()
    assert not budget(1.0, read=1.4, units=50_000)[0].has_time_to_reread()
    assert budget(1.0, read=1.4, units=50)[0].has_time_to_reread()
    assert budget(None, read=1.4, units=50_000)[0].has_time_to_reread()


LATE = {
    "the first reading": ("queue_ends", lambda _: monotonic() - 1),
    "no time for the second": ("has_time_to_reread", lambda _: False),
    "the second reading": ("reread_ends", lambda _: monotonic() - 1),
}


@pytest.mark.parametrize("name", LATE)
def test_a_plan_says_that_its_queue_was_not_read_and_tells_no_unit(name, monkeypatch):
    """SRCH-10: nothing is told that was not verified, and what was not read is named as such."""
    monkeypatch.setattr("drasat.models.workload.pod_sets._OBJECTS_BETWEEN_LOOKS", 2)
    monkeypatch.setattr(PlanTimeBudget, *LATE[name])
    found = planning(*CROWD, time_limit=1000.0, may_be_unread=True)
    assert (found.outcome, found.units, found.nodes, found.objective) == ("Unknown", (), (), ())
    assert found.unread == 4
    said = "the time limit ended before the queue was read: no unit of 4 pods, claims and controllers of the input"
    assert found.notices == (f"{said} is in this plan",)
    # Who does not know such plans gets none.
    assert planning(*CROWD, time_limit=1000.0).asked == 4


RANKED = [pod(name, entry("g", template="t"), cpu="1", spec={"priority": 10 * (name in "ce")}) for name in "abcdef"]


def test_a_part_of_a_queue_is_planned_by_priority_where_there_is_time_for_no_more(monkeypatch):
    monkeypatch.setattr(PlanTimeBudget, "affordable_share", lambda *_: 0.5)
    found = planning(*nodes("n1", "n2"), *RANKED, time_limit=1000.0)
    assert {"c", "e"} < set(placed(found))
    assert len(placed(found)) == 3
    assert found.outcome == "Feasible"
    assert found.notices == ("the time limit left time to plan 3 of 6 units on 1 of 2 nodes",)
    # What was left out might be better: no bound below the whole queue.
    assert [stage.bound for stage in found.objective if stage.stage == "admitted"] == [6]


def test_what_there_is_no_time_to_verify_is_taken_out_of_the_plan(monkeypatch):
    monkeypatch.setattr(PlanTimeBudget, "affordable_units", lambda *_: 3)
    monkeypatch.setattr(PlanTimeBudget, "last_first_fit", lambda *_: monotonic() - 1)
    found = planning(*nodes("n1", "n2"), *RANKED, time_limit=1000.0)
    assert {"c", "e"} < set(placed(found))
    assert len(placed(found)) == 3
    assert found.verified
    assert found.outcome == "Feasible"
    # All units of the first priority are placed, which nothing exceeds.
    assert [stage.proven for stage in found.objective] == [True, False, False]


def test_deadlines_are_readings_of_the_monotonic_clock():
    made = PlanTimeBudget(50.0)
    made.measure_pace(1)
    assert monotonic() < made.search_ends(()) < made.deadline <= monotonic() + 50
