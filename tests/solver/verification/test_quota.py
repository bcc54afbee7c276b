"""Quota of a plan, checked by the text: amounts that are available, pod sets, flavors, strict queues."""

from dataclasses import replace

import pytest
from support.gates import ALL
from support.quota_scene import FLAVOR_A, FLAVOR_B, QuotaScene, pod_set, read, workload

from drasat.models.workload.quota import AdmittedPodSet, FlavorOption, QuotaHolder, QuotaProblem
from drasat.solver.plan.outcome import check_plan
from drasat.solver.verification.plans import plan_violations

GPU = ("a", "gpu")
PLAIN = FlavorOption({"gpu": "a", "cpu": "a"})
BIG = {"n1": ("a", 40, 99, False), "n2": ("b", 40, 99, True)}


def scene(*nodes, minimum=None, choices=(PLAIN,), group="", **jobs):
    """Workloads of one job each; the name of a job ends with the number of its queue."""
    amounts = {name: (count, 1, 0, None) for name, count in jobs.items()}
    listed = []
    for name, own in amounts.items():
        one = replace(pod_set(own, choices, minimum=minimum, group=group), charge={"gpu": 1})
        listed.append(workload(name, int(name[-1]), one))
    return QuotaScene(BIG, amounts, QuotaProblem(nodes, tuple(listed)))


def queue(name, nominal, parent=None, held=0, **limits):
    own = {f"{kind}_limit": {GPU: amount} for kind, amount in limits.items() if amount is not None}
    return QuotaHolder(name, parent, False, {GPU: nominal}, held={GPU: held} if held else {}, **own)


def cohort(name, nominal=0, parent=None, **limits):
    own = {f"{kind}_limit": {GPU: amount} for kind, amount in limits.items()}
    return QuotaHolder(name, parent, True, {GPU: nominal}, **own)


def found(given, change=lambda admissions: admissions, units=None):
    """The rules that the best plan breaks once its admissions are changed."""
    plan = given.plan(objective=("admitted",))
    broken = plan_violations(
        read(given.documents),
        plan.units if units is None else units(plan.units),
        ALL,
        quota=given.problem,
        admissions=change(dict(plan.quota.admissions)),
    )
    return sorted({one.rule for one in broken})


# kueue-dra 4.2: the tree, the jobs that fit, and how many pods more would be too many.
LIMITS = {
    "the nominal quota of a queue alone": ((queue("q", 4),), {"w0": 4}),
    "what is held already": ((queue("q", 4, held=3),), {"w0": 1}),
    "example A: what B may borrow": (
        (cohort("c"), queue("a", 10, 0, lending=4), queue("b", 6, 0, borrowing=3)),
        {"w2": 9},
    ),
    "example A: what A may borrow": (
        (cohort("c"), queue("a", 10, 0, lending=4), queue("b", 6, 0, borrowing=3)),
        {"w1": 16},
    ),
    "example A: what B leaves for A": (
        (cohort("c"), queue("a", 10, 0, lending=4), queue("b", 6, 0, borrowing=3, held=8)),
        {"w1": 8},
    ),
    "example B: what a cohort may borrow": (
        (cohort("r", 2), cohort("l", 0, 0, borrowing=1), queue("x", 3, 1), queue("y", 5, 0)),
        {"w2": 4},
    ),
    "example B: what the root has": (
        (cohort("r", 2), cohort("l", 0, 0, borrowing=1), queue("x", 3, 1), queue("y", 5, 0)),
        {"w3": 10},
    ),
    "example C: a cohort of two queues": ((cohort("c"), queue("a", 2, 0), queue("b", 4, 0)), {"w1": 6}),
    "example C: the borrowing limit": ((cohort("c"), queue("a", 2, 0, borrowing=2), queue("b", 4, 0)), {"w1": 4}),
    "what is kept where more was taken from a cohort than it has": (
        (cohort("c"), queue("a", 10, 0, lending=4), queue("b", 0, 0, held=6)),
        {"w1": 4},
    ),
}


@pytest.mark.parametrize(("nodes", "jobs"), LIMITS.values(), ids=LIMITS.keys())
def test_a_plan_may_use_what_is_available_and_not_one_more(nodes, jobs):
    fits = scene(*nodes, **jobs)
    assert found(fits) == []
    assert fits.plan(objective=("admitted",)).placed == sum(jobs.values())
    more = scene(*nodes, **{name: count + 1 for name, count in jobs.items()})
    assert more.plan(objective=("admitted",)).placed == 0
    free = replace(more.problem, nodes=tuple(replace(node, borrowing_limit={}) for node in more.problem.nodes))
    placed = QuotaScene(BIG, more.jobs, replace(free, limited=False)).plan(objective=("admitted",))
    broken = plan_violations(
        read(more.documents), placed.units, ALL, quota=more.problem, admissions=placed.quota.admissions
    )
    assert {one.rule for one in broken} == {"PLAN-QUOTA"}


def test_pods_are_placed_only_of_workloads_that_are_admitted():
    assert found(scene(queue("q", 9), w0=2), lambda _: {}) == ["PLAN-QUOTA"]


def test_a_workload_that_cannot_be_admitted_has_no_pods_placed():
    """A claim that cannot be counted, or a queue that is held (3.7, 4.1)."""
    given = scene(queue("q", 9), w0=2)
    spoilt = replace(given.problem, workloads=(replace(given.problem.workloads[0], problem="its queue is held"),))
    plan = given.plan(objective=("admitted",))
    broken = plan_violations(read(given.documents), plan.units, ALL, quota=spoilt, admissions=plan.quota.admissions)
    assert {one.rule for one in broken} == {"PLAN-QUOTA"}
    refused = QuotaScene(BIG, given.jobs, spoilt).plan()
    assert {reason.message for unit in refused.units for reason in unit.reasons} == {"its queue is held"}


@pytest.mark.parametrize(("admitted", "rules"), [(2, []), (1, ["PLAN-COUNT"]), (4, ["PLAN-COUNT"])])
def test_as_many_pods_are_admitted_as_are_placed(admitted, rules):
    """Partial admission (4.5): the quota allows two pods of three."""
    given = scene(queue("q", 2), minimum=1, w0=3)
    assert found(given, lambda _: {0: (AdmittedPodSet(admitted, 0),)}) == rules


def test_less_pods_than_the_least_number_are_not_admitted():
    """``minCount`` (4.5)."""
    assert scene(queue("q", 2), minimum=3, w0=4).plan().placed == 0
    assert scene(queue("q", 3), minimum=3, w0=4).plan().placed == 3


def test_pods_have_what_their_flavors_add():
    """Node labels and tolerations of the flavor (4.1); the tainted node takes pods of flavor b alone."""
    nodes = QuotaHolder("q", nominal={("b", "gpu"): 9, ("b", "cpu"): 9})
    given = scene(nodes, choices=(FLAVOR_A, FLAVOR_B), w0=2)
    plan = given.plan(objective=("admitted",))
    assert {unit.node for unit in plan.units} == {"n2"}
    assert found(given) == []
    assert found(given, lambda _: {0: (AdmittedPodSet(2, 0),)}) == ["PLAN-ONCE", "PLAN-QUOTA"]


def test_a_strict_queue_admits_in_its_order():
    """StrictFIFO (4.6): what comes first does not fit, so that nothing after it is admitted."""
    head = replace(queue("q", 2), strict=True)
    given = scene(head, w0=3, v0=1)
    assert given.plan().placed == 0
    relaxed = scene(queue("q", 2), w0=3, v0=1)
    plan = relaxed.plan()
    assert plan.placed == 1
    broken = plan_violations(
        read(given.documents), plan.units, ALL, quota=given.problem, admissions=plan.quota.admissions
    )
    assert [one.rule for one in broken] == ["PLAN-QUOTA"]


def test_a_sound_plan_passes_as_a_whole():
    given = scene(cohort("c"), queue("a", 2, 0), queue("b", 4, 0), w1=3, w2=2)
    plan = given.plan()
    check_plan(read(given.documents), plan.units, ALL, "strict", quota=given.problem, admissions=plan.quota.admissions)
    assert plan.placed == 5
