"""Kueue beside a plan in ``compare --plan``: its admissions, by first fit on nodes, and the figures of both."""

import pytest
from support.kueue_scene import queue, scene, workload

import drasat
from drasat.scenarios.quota import quota as made_up


def waiting(*sizes, local_queue="q"):
    """A workload for each number of GPUs, the first one made first."""
    made = [workload(f"job-{number}", local_queue, ("main", 1, size)) for number, size in enumerate(sizes)]
    for number, one in enumerate(made):
        one["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{number:02}Z"
    return made


def compared(given, **options):
    result = drasat.compare_plans(given, gap=0, time_limit=None, **options)
    return {one.planner: one for one in result.planners}


def test_kueue_takes_the_first_flavor_and_strands_what_the_plan_places():
    found = compared(scene({"old": [1], "new": [4]}, queue("q", old=4, new=2), waiting(2, 2)))
    kueue, plan = found["kueue"].quota, found["plan"].quota
    assert (kueue.workloads, kueue.admitted, kueue.placed, kueue.stranded) == (2, 2, 0, 2)
    assert (plan.workloads, plan.admitted, plan.placed, plan.stranded) == (2, 1, 1, 0)
    assert (found["kueue"].admitted, found["plan"].admitted) == (0, 1)


def test_the_order_is_that_of_kueues_admissions():
    """A queue of more priority is admitted first; on the node, what was admitted first has the devices (4.6)."""
    first, second = waiting(1, local_queue="a")[0], waiting(2, 2, local_queue="b")[1]
    second["spec"]["priority"] = 5
    third = workload("late", "b", ("main", 1, 1))
    third["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    given = scene({"old": [2]}, queue("a", old=9), queue("b", old=9), [first, second, third])
    result = drasat.compare_plans(given, ["kueue"], gap=0)
    (run,) = result._found.runs
    assert {one.name: one.node is not None for one in run.units} == {"job-0": False, "job-1": True, "late": False}
    (answer,) = result.planners
    assert (answer.quota.admitted, answer.quota.placed, answer.quota.stranded) == (3, 1, 2)


def test_a_workload_is_placed_whole():
    pair = workload("pair", "q", ("main", 2, 2))
    found = compared(scene({"old": [3]}, queue("q", old=9), pair), planners=["kueue"])
    assert (found["kueue"].admitted, found["kueue"].quota.stranded) == (0, 1)
    found = compared(scene({"old": [3, 2]}, queue("q", old=9), pair), planners=["kueue"])
    assert (found["kueue"].admitted, found["kueue"].quota.stranded) == (2, 0)


def test_shares_of_queues_that_wait_are_compared():
    """One queue holds 4 of 8 GPUs, the other 2; the third asks for nothing."""
    given = scene(
        {"old": [8]}, queue("a", old=4), queue("b", old=4), queue("c", old=4),
        waiting(2, 2, local_queue="a"), [workload("one", "b", ("main", 1, 2))],
    )  # fmt: skip
    for one in compared(given).values():
        # Without a cohort each queue is its own tree: all of its quota, and half of it.
        assert one.quota.least_share == pytest.approx(0.5)
        assert one.quota.fairness == pytest.approx(1.5**2 / (2 * 1.25))


def test_planners_without_quota_are_skipped_unless_quota_is_ignored():
    given = scene({"old": [4]}, queue("q", old=1), waiting(1, 1, 1))
    result = drasat.compare_plans(given, ["first-fit", "plan"])
    assert [(one.planner, one.admitted) for one in result.planners] == [("plan", 1)]
    assert [(one.name, one.reason) for one in result.document.skipped] == [
        ("first-fit", "it does not know quota of Kueue; without quota it can answer")
    ]
    free = drasat.compare_plans(given, ["first-fit", "plan"], orders=["given"], quota="ignore")
    assert [(one.planner, one.admitted, one.quota) for one in free.planners] == [
        ("first-fit", 3, None), ("plan", 3, None),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="there are no ClusterQueues that count"):
        drasat.compare_plans(scene({"old": [4]}), ["kueue"])
    with pytest.raises(ValueError, match="unknown quota mode 'both'"):
        drasat.compare_plans(given, quota="both")


def test_on_teams_that_share_gpus_the_plan_places_at_least_as_many():
    given = drasat.load(made_up(12, 3, 3, 30, seed=2))
    result = drasat.compare_plans(given, gap=0.01, objective="admitted")
    kueue, plan = (one.quota for one in result.planners)
    assert plan.stranded == 0
    assert kueue.placed + kueue.stranded == kueue.admitted <= kueue.workloads == plan.workloads
    placed = {one.planner: one.admitted for one in result.planners}
    assert placed["plan"] >= placed["kueue"]
    assert list(result.to_frame()["stranded"]) == [kueue.stranded, 0]


def test_table_and_exit_code(drasat, examples):
    done = drasat("compare", "--plan", "-f", examples / "kueue" / "j-stranded")
    assert done.code == 0
    assert done.out.splitlines()[0].split()[:6] == ["PLANNER", "OUTCOME", "WORKLOADS", "ADMITTED", "PLACED", "STRANDED"]
    assert done.out.splitlines()[-1] == (
        "plan places 2 of 3 workloads, kueue 1; 1 of kueue's 2 admissions are stranded"
    )
    ignored = drasat(
        "compare",
        "--plan",
        "--quota",
        "ignore",
        "--planners",
        "first-fit,plan",
        "-f",
        examples / "kueue" / "j-stranded",
    )
    assert ignored.out.splitlines()[0].split()[:4] == ["PLANNER", "ORDER", "OUTCOME", "ADMITTED"]
    assert drasat("compare", "--quota", "ignore", "-f", examples / "kueue" / "j-stranded").code == 2
