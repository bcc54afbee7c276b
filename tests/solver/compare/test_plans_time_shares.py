"""One time limit holds for all runs of a comparison of plans; runs without time are left out, and named."""

from __future__ import annotations

from support.plan_building import classes, cluster, nodes, user

from drasat.solver.compare.plans import TimeShares, compare_plans


class Hands:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 50.0

    def __call__(self):
        return self.now


def test_time_that_a_run_leaves_goes_to_the_next_ones():
    clock = Hands()
    shares = TimeShares(12.0, clock)
    shares.parts = 6
    assert shares.take(3) == 50 + 6
    clock.now += 3
    assert shares.take(1) == 53 + 3
    clock.now += 6
    assert shares.take(1) == 59 + 1.5
    clock.now += 1
    assert shares.take(1) == 62


def test_without_a_limit_nothing_ends():
    shares = TimeShares(None, Hands())
    assert (shares.take(1), shares.search_ends(None), shares.allows()) == (None, None, True)


def test_a_run_keeps_time_for_its_verification_as_earlier_runs_needed_it():
    clock = Hands()
    shares = TimeShares(10.0, clock)
    assert 50 < shares.search_ends(60.0) < 60
    shares.checking = 3.0
    assert shares.search_ends(60.0) == 57
    assert shares.search_ends(51.0) == 50


def test_the_first_run_always_begins_and_others_only_if_they_can_be_verified():
    clock = Hands()
    shares = TimeShares(1.0, clock)
    shares.parts = 2
    clock.now += 5
    assert shares.allows()
    shares.take(1)
    assert not shares.allows()
    clock.now -= 4.5
    assert shares.allows()
    shares.checking = 0.7
    assert not shares.allows()


def test_no_run_gets_less_time_than_reading_the_queue_shows_that_it_needs():
    """SCHED-7: runs read the queue again, enter nodes, and verify."""
    clock = Hands()
    shares = TimeShares(10.0, clock)
    clock.now += 1
    shares.measure_reading()
    shares.parts = 15
    assert shares.allows()
    assert shares.take(3) == 51 + 3
    clock.now += 3
    shares.checking = 0.5
    assert shares.allows()
    assert shares.take(1) == 54 + 3 + 0.5
    clock.now += 4
    assert not shares.allows()
    late = TimeShares(10.0, clock)
    clock.now += 5
    late.measure_reading()
    assert not late.allows()


class Slow(Hands):
    """A clock that moves on by itself."""

    def __call__(self):
        self.now += 1
        return self.now


def test_a_comparison_without_time_for_any_run_names_them_all(monkeypatch):
    given = cluster(*classes(), *nodes("n1"), user("a"))
    monkeypatch.setattr("drasat.solver.compare.plans.TimeShares", lambda limit: TimeShares(limit, Slow()))
    found = compare_plans(given, ["first-fit", "plan"], orders=["given"], time_limit=0.5)
    assert (found.runs, found.late, found.decided, found.asked) == ((), True, False, 1)
    assert sorted(found.skipped) == ["first-fit/given", "plan"]


def test_runs_for_which_there_is_no_time_are_named():
    given = cluster(*classes(), *nodes("n1"), user("a"))
    found = compare_plans(given, ["first-fit", "plan"], orders=["given", "random"], time_limit=1e-9)
    assert [run.label for run in found.runs] == ["plan"]
    assert found.late
    assert not found.decided
    late = "the time limit left no time"
    assert found.skipped == {"first-fit/given": late, "first-fit/random": late}
    whole = compare_plans(given, ["first-fit", "plan"], orders=["given", "random"], time_limit=1000.0)
    assert (whole.late, whole.decided, len(whole.runs)) == (False, True, 3)
