"""``check`` of documents of ``quota``: recorded cases hold, and every changed document fails in a clear line."""

import copy

import pytest
from support.kueue_cases import cases_of, kueue_cases

import drasat

FAMILIES = sorted({case.family for case in kueue_cases()})
EXAMPLES = [
    "kueue/a-lending",
    "kueue/b-cohort-tree",
    "kueue/c-borrowing",
    "kueue/d-flavors",
    "kueue/e-fungibility",
    "kueue/f-resource-groups",
    "kueue/g-reclaim",
    "kueue/h-reclaim-newest",
    "kueue/i-fair-sharing",
    "kueue/j-stranded",
    "kueue/story-1-batch-jobs",
    "kueue/story-2-quota-and-preemption",
    "provisioning",
    "provisioning/answers",
    "provisioning/merged",
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_documents_of_examples_hold(name):
    cluster = drasat.load(f"examples/{name}")
    found = drasat.check(drasat.quota(cluster), cluster)
    assert found.holds, [one for one in found.lines if one.verdict == "fails"]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_real_kueue_was_recorded_to_do_holds(family):
    """The cycles agree with Kueue's own code on all these cases; their documents hold."""
    wrong = []
    for case in cases_of(family)[::3]:
        try:
            made = drasat.quota(case.cluster, placement=False)
        except ValueError:
            continue
        found = drasat.check(made, case.cluster)
        wrong += [(case.name, one) for one in found.lines if one.verdict == "fails"]
    assert not wrong, wrong[:3]


def workload(made, name):
    return next(one for one in made["workloads"] if one["name"] == name)


def first(made, name, part):
    return workload(made, name)[part][0]


def flavors(made, name):
    return first(made, name, "assignments")["flavors"]


def usage(made, name):
    return first(made, name, "assignments")["usage"]


def row(made):
    return made["quota"][0]


def placed(made):
    return made["placement"]["workloads"][0]


def use_devices_twice(made):
    units = [one for one in made["placement"]["units"] if one["node"] == "spot-1" and one["claims"]]
    first, second = (one["claims"][0]["allocation"]["devices"]["results"] for one in units[:2])
    second[0]["device"] = first[0]["device"]


def leave_the_flavor(made):
    next(unit for unit in made["placement"]["units"] if unit["node"] == "ondemand-1").update(node="spot-1")


GPUS = "whole-gpus"
FORGERIES = {
    "another flavor": (lambda one: flavors(one, "stop-low").update({GPUS: "spot"}), "of spot"),
    "no such flavor": (
        lambda one: flavors(one, "stop-low").update({GPUS: "reserved"}),
        "no whole-gpus of flavor reserved",
    ),
    "a charge less": (
        lambda one: first(one, "stop-3", "charge").update(requests={GPUS: "2"}),
        "asks for 3 of whole-gpus, not 2",
    ),
    "less in use": (lambda one: usage(one, "stop-3").update({GPUS: "2"}), "asks for 3 of whole-gpus, not 2"),
    "fewer pods": (lambda one: first(one, "stop-3", "assignments").update(count=0, usage={GPUS: "0"}), "0 of 1 pods"),
    "more held": (lambda one: usage(one, "next-low").update({GPUS: "3"}), "asks for 2 of whole-gpus, not 3"),
    "more used in all": (lambda one: row(one).update(used="4"), "used of whole-gpus"),
    "more offered": (lambda one: row(one).update(nominal="5"), "nominal of whole-gpus"),
    "more left": (lambda one: row(one).update(available="2"), "available of whole-gpus"),
    "more lent": (lambda one: row(one).update(lendable="1"), "lendable of whole-gpus"),
    "an amount less": (lambda one: one["quota"].pop(0), "is not there"),
    "nobody evicted": (lambda one: one["cycles"][0].update(evicted=["team/nobody"]), "team/nobody is no workload"),
    "one that waits evicted": (lambda one: one["cycles"][0]["evicted"].append("team/stop-3"), "is evicted, and has no"),
    "another policy": (
        lambda one: first(one, "stop-low", "evictions").update(preempted="InCohortReclamation"),
        "no queue preempts it",
    ),
    "another cycle": (lambda one: workload(one, "stop-3").update(cycle=1), "was admitted in cycle 2"),
    "an eviction less": (lambda one: workload(one, "stop-low").update(evictions=[]), "other evictions"),
    "a workload less": (lambda one: one["workloads"].remove(workload(one, "next-3")), "team/next-3 is not there"),
    "a workload more": (
        lambda one: one["workloads"].append({**workload(one, "next-3"), "name": "next-4"}),
        "no such workload",
    ),
    "another priority": (lambda one: workload(one, "next-3").update(priority=7), "its priority is"),
    "another queue": (lambda one: workload(one, "stop-3").update(clusterQueue="next"), "its ClusterQueue is stop"),
    "checks": (lambda one: workload(one, "stop-3").update(state="quotaReserved"), "0 checks"),
    "a stopped queue": (
        lambda one: one["inactive"].update(stop="Can't admit new workloads: is stopped."),
        "ClusterQueue stop admits workloads",
    ),
    "no such node": (lambda one: placed(one).update(nodes={"nowhere": placed(one)["placed"]}), "no node nowhere"),
    "more placed": (lambda one: placed(one).update(placed=placed(one)["placed"] + 1), "of its pods"),
    "devices twice": (use_devices_twice, ""),
    "a node of another flavor": (leave_the_flavor, "no label"),
    "certified by a solver": (lambda one: one["placement"].update(proof="solver", certified=True), "certified is true"),
    "proven by nothing": (lambda one: one["placement"].update(proof=None), "proof is None"),
}


@pytest.fixture(scope="module")
def made():
    cluster = drasat.load("examples/kueue/e-fungibility")
    return cluster, drasat.quota(cluster).to_dict()


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_document_fails(made, name):
    cluster, document = made
    forge, said = FORGERIES[name]
    changed = copy.deepcopy(document)
    forge(changed)
    found = drasat.check(changed, cluster)
    failing = [one for one in found.lines if one.verdict == "fails"]
    assert failing
    assert not found.holds
    assert any(said in one.reason for one in failing), failing


def test_more_than_there_is_of_a_borrowing_queue_fails():
    """A waiting workload that is said to be admitted beside others takes what is not there."""
    cluster = drasat.load("examples/kueue/a-lending")
    changed = drasat.quota(cluster, placement=False).to_dict()
    one = workload(changed, "b-1")
    amounts = one["charge"][0]
    one.update(
        state="admitted",
        cycle=2,
        clusterQueue="b",
        assignments=[{"podSet": "main", "count": 1, "flavors": {"whole-gpus": "gpus"}, "usage": amounts["requests"]}],
    )
    changed["cycles"][1]["admitted"].append("team/b-1")
    failing = [one for one in drasat.check(changed, cluster).lines if one.verdict == "fails"]
    assert any("cycle 2: team/b-1 has no whole-gpus of gpus: 0 are left" in one.reason for one in failing), failing


def test_another_share_fails():
    cluster = drasat.load("examples/kueue/i-fair-sharing")
    changed = drasat.quota(cluster, placement=False).to_dict()
    changed["shares"][0]["share"] += 1
    assert not drasat.check(changed, cluster).holds


def test_what_is_not_derived_is_not_said_to_hold():
    """That stranded pods have no place is the planner's word."""
    cluster = drasat.load("examples/kueue/j-stranded")
    found = drasat.check(drasat.quota(cluster, limits=True), cluster)
    unchecked = {one.about for one in found.lines if one.verdict == "unchecked"}
    assert {"workload team/whole", "placement"} <= unchecked
    assert any(one.startswith("limits of") for one in unchecked)
