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


def change_flavor(made):
    workload(made, "stop-low")["assignments"][0]["flavors"]["whole-gpus"] = "spot"


def change_flavor_to_none(made):
    workload(made, "stop-low")["assignments"][0]["flavors"]["whole-gpus"] = "reserved"


def charge_one_less(made):
    one = workload(made, "stop-3")
    one["charge"][0]["requests"]["whole-gpus"] = "2"


def use_one_less(made):
    workload(made, "stop-3")["assignments"][0]["usage"]["whole-gpus"] = "2"


def admit_fewer_pods(made):
    workload(made, "stop-3")["assignments"][0].update(count=0, usage={"whole-gpus": "0"})


def hold_more(made):
    workload(made, "next-low")["assignments"][0]["usage"]["whole-gpus"] = "3"


def use_more_in_sum(made):
    made["quota"][0]["used"] = "4"


def offer_more(made):
    made["quota"][0]["nominal"] = "5"


def have_more_left(made):
    made["quota"][0]["available"] = "2"


def lend_more(made):
    made["quota"][0]["lendable"] = "1"


def leave_out_an_amount(made):
    del made["quota"][0]


def evict_nobody(made):
    made["cycles"][0]["evicted"] = ["team/nobody"]


def evict_who_waits(made):
    made["cycles"][0]["evicted"].append("team/stop-3")


def evict_by_another_policy(made):
    workload(made, "stop-low")["evictions"][0]["preempted"] = "InCohortReclamation"


def admit_in_another_cycle(made):
    workload(made, "stop-3")["cycle"] = 1


def forget_an_eviction(made):
    workload(made, "stop-low")["evictions"] = []


def forget_a_workload(made):
    made["workloads"].remove(workload(made, "next-3"))


def invent_a_workload(made):
    made["workloads"].append({**workload(made, "next-3"), "name": "next-4"})


def raise_a_priority(made):
    workload(made, "next-3")["priority"] = 7


def move_to_another_queue(made):
    workload(made, "stop-3")["clusterQueue"] = "next"


def wait_for_checks(made):
    workload(made, "stop-3")["state"] = "quotaReserved"


def stop_a_queue(made):
    made["inactive"]["stop"] = "Can't admit new workloads: is stopped."


def place_on_no_node(made):
    one = made["placement"]["workloads"][0]
    one["nodes"] = {"nowhere": sum(one["nodes"].values())}


def place_more(made):
    made["placement"]["workloads"][0]["placed"] += 1


def use_devices_twice(made):
    units = [one for one in made["placement"]["units"] if one["node"] == "spot-1" and one["claims"]]
    first, second = (one["claims"][0]["allocation"]["devices"]["results"] for one in units[:2])
    second[0]["device"] = first[0]["device"]


def leave_the_flavor(made):
    one = next(unit for unit in made["placement"]["units"] if unit["node"] == "ondemand-1")
    one["node"] = "spot-1"


def certify_without_a_proof(made):
    made["placement"].update(proof="solver", certified=True)


def prove_nothing(made):
    made["placement"]["proof"] = None


MUTATIONS = [
    (change_flavor, "of spot"),
    (change_flavor_to_none, "no whole-gpus of flavor reserved"),
    (charge_one_less, "asks for 3 of whole-gpus, not 2"),
    (use_one_less, "asks for 3 of whole-gpus, not 2"),
    (admit_fewer_pods, "0 of 1 pods"),
    (hold_more, "asks for 2 of whole-gpus, not 3"),
    (use_more_in_sum, "used of whole-gpus"),
    (offer_more, "nominal of whole-gpus"),
    (have_more_left, "available of whole-gpus"),
    (lend_more, "lendable of whole-gpus"),
    (leave_out_an_amount, "is not there"),
    (evict_nobody, "team/nobody is no workload"),
    (evict_who_waits, "is evicted, and has no quota"),
    (evict_by_another_policy, "no queue preempts it"),
    (admit_in_another_cycle, "was admitted in cycle 2"),
    (forget_an_eviction, "other evictions"),
    (forget_a_workload, "team/next-3 is not there"),
    (invent_a_workload, "no such workload"),
    (raise_a_priority, "its priority is"),
    (move_to_another_queue, "its ClusterQueue is stop"),
    (wait_for_checks, "0 checks"),
    (stop_a_queue, "ClusterQueue stop admits workloads"),
    (place_on_no_node, "no node nowhere"),
    (place_more, "of its pods"),
    (use_devices_twice, ""),
    (leave_the_flavor, "no label"),
    (certify_without_a_proof, "certified is true"),
    (prove_nothing, "proof is None"),
]


@pytest.fixture(scope="module")
def made():
    cluster = drasat.load("examples/kueue/e-fungibility")
    return cluster, drasat.quota(cluster).to_dict()


@pytest.mark.parametrize(("change", "said"), MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_changed_document_fails(made, change, said):
    cluster, document = made
    changed = copy.deepcopy(document)
    change(changed)
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
