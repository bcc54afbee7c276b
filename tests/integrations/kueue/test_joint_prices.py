"""What more quota admits to a joint plan: the plan of the input with the changed quota admits what was said."""

import pytest
from support.kueue_scene import queue, scene, workload

import drasat
from drasat.integrations.kueue import joint_prices
from drasat.solver.engines.outcome import SearchInterrupted


def jobs(*sizes):
    return [workload(f"job-{number}", "q", ("main", 1, size)) for number, size in enumerate(sizes)]


def priced(given):
    return drasat.quota(given, placement=False, joint_prices=True, time_limit=None).document.joint


def admitted(given):
    workloads = drasat.plan(given, gap=0).document.workloads
    return {f"{one.namespace}/{one.name}" for one in workloads if one.outcome == "Admitted"}


def test_one_device_more_admits_the_workload_that_lacks_it():
    nodes = {"old": [8]}
    found = priced(scene(nodes, queue("q", old=5), jobs(3, 3)))
    (price,) = found.prices
    assert (found.admitted, found.waiting, found.proven, found.complete) == (1, 1, True, True)
    assert (price.owner, price.cohort, price.field, price.flavor, price.more) == (
        "q",
        False,
        "nominalQuota",
        "old",
        "1",
    )
    before, after = (admitted(scene(nodes, queue("q", old=quota), jobs(3, 3))) for quota in (5, 6))
    assert (set(price.admitted), set(price.lost)) == (after - before, before - after)


@pytest.mark.parametrize(("nodes", "quota"), [([6], 1), ([3], 5), ([2, 2, 2], 9)])
def test_quota_that_is_not_enough_or_not_what_binds_has_no_price(nodes, quota):
    """Two devices are lacking; or nodes have none; or no node has three of them."""
    found = priced(scene({"old": nodes}, queue("q", old=quota), jobs(3, 3)))
    assert (found.prices, found.complete) == ((), True)


def test_another_flavor_may_have_the_price():
    """The old nodes are full, so that quota of the new flavor alone admits more."""
    found = priced(scene({"old": [2], "new": [4]}, queue("q", old=2, new=1), jobs(2, 2)))
    assert [(one.flavor, one.admitted) for one in found.prices] == [("new", ("team/job-1",))]


def test_what_an_interrupt_leaves(monkeypatch):
    """The price that was known by then stays."""
    plans = []
    real = joint_prices.plan

    def planned(*args, **options):
        plans.append(options)
        if len(plans) == 3:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(joint_prices, "plan", planned)
    given = scene({"old": [3], "new": [3]}, queue("q", old=2, new=2), jobs(3, 3))
    with pytest.raises(SearchInterrupted) as stopped:
        joint_prices.joint_prices(given)
    found = stopped.value.answer
    assert (found.complete, len(found.prices)) == (False, 1)


def test_without_time_it_is_not_complete():
    found = joint_prices.joint_prices(scene({"old": [8]}, queue("q", old=5), jobs(3, 3)), time_limit=0.0)
    assert (found.complete, found.prices) == (False, ())


def test_the_command_prints_prices(drasat, examples):
    done = drasat("quota", "-f", examples / "kueue" / "c-borrowing", "--joint-prices", "--no-placement")
    assert "1 whole-gpus in gpus     ClusterQueue d  nominalQuota" in done.out
    assert done.out.splitlines()[-1] == "the joint plan admits 1 workload, and 1 more waits; plans are proven"
