"""``check`` of plans with quota of Kueue: true documents hold, and each forged admission fails."""

import json
from functools import cache

import pytest
from support.kueue_cases import kueue_cases, read_objects

import drasat
from drasat.models.cluster.cluster import Cluster

EXAMPLES = ["d-flavors", "e-fungibility", "g-reclaim", "i-fair-sharing", "j-stranded", "story-2-quota-and-preemption"]


@cache
def planned(name, mode="joint"):
    cluster = drasat.load(f"examples/kueue/{name}")
    return cluster, drasat.plan(cluster, quota=mode).to_json()


def lines(name, forge=lambda _: None, mode="joint"):
    cluster, text = planned(name, mode)
    document = json.loads(text)
    forge(document)
    return drasat.check(document, cluster).lines


def failing(found):
    return [one for one in found if one.verdict == "fails"]


@pytest.mark.parametrize("mode", ["joint", "kueue"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_true_plans_with_quota_hold(name, mode):
    found = lines(name, mode=mode)
    assert failing(found) == []
    assert any(one.said.startswith("Admitted in") and one.verdict == "holds" for one in found)


def with_nodes(case):
    """The objects of a recorded case, with a large node for each pair of its flavors."""
    given = [one for one in case.objects if one["kind"] != "Node"]
    flavors = [one.get("spec", {}) for one in given if one["kind"] == "ResourceFlavor"]
    size = {"cpu": "1000", "memory": "1000Ti", "pods": "1000", "example.com/gpu": "1000"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{x}-{y}", "labels": {**one.get("nodeLabels", {}), **other.get("nodeLabels", {})}},
            "spec": {"taints": one.get("nodeTaints", [])},
            "status": {"allocatable": size},
        }
        for x, one in enumerate(flavors)
        for y, other in enumerate([{}, *flavors])
    ]
    start = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **case.configuration}
    kept = [one for one in given if (one["kind"], one["metadata"]["name"]) not in case.rejected]
    return Cluster.build(one for one in read_objects([start, *kept, *nodes]) if one.object is not None)


@pytest.mark.parametrize("mode", ["joint", "kueue"])
@pytest.mark.parametrize("part", range(4))
def test_plans_of_recorded_queues_hold(part, mode):
    wrong, placed = [], 0
    for case in kueue_cases()[part::48]:
        cluster = with_nodes(case)
        try:
            found = drasat.plan(cluster, quota=mode)
        except ValueError:
            continue
        placed += found.document.placed
        wrong += [(case.name, one) for one in failing(drasat.check(found, cluster).lines)]
    assert not wrong, wrong[:3]
    assert placed


def workload(made, name):
    return next(one for one in made["workloads"] if one["name"] == name)


def pod_set(made, name):
    return workload(made, name)["podSets"][0]


def admit(made):
    """The third workload is admitted beside two that use all there is, with the sums of its queue."""
    whole = workload(made, "whole") | {"outcome": "Admitted", "reasons": []}
    whole["podSets"][0].update(admitted=1, flavors={"whole-gpus": "gpus"}, usage={"whole-gpus": "8"})
    made["workloads"] = [whole if one["name"] == "whole" else one for one in made["workloads"]]
    made["queues"][0].update(used="24", borrowed="8")


def take(made, *names):
    made["workloads"] = [one for one in made["workloads"] if one["name"] not in names]


FORGERIES = {
    "another flavor": ("e-fungibility", lambda one: pod_set(one, "next-3")["flavors"].update({"whole-gpus": "spot"})),
    "an unknown flavor": ("e-fungibility", lambda one: pod_set(one, "next-3")["flavors"].update({"whole-gpus": "x"})),
    "no charge": ("e-fungibility", lambda one: pod_set(one, "next-3")["usage"].clear()),
    "a smaller charge": ("e-fungibility", lambda one: pod_set(one, "next-3")["usage"].update({"whole-gpus": "1"})),
    "one pod more": ("j-stranded", lambda one: pod_set(one, "halves").update(admitted=3)),
    "more pods": ("j-stranded", lambda one: pod_set(one, "halves").update(count=9)),
    "another pod set": ("j-stranded", lambda one: pod_set(one, "halves").update(name="x")),
    "another queue": ("e-fungibility", lambda one: workload(one, "next-3").update(queue="stop")),
    "waiting with a flavor": ("g-reclaim", lambda one: pod_set(one, "a-4")["flavors"].update({"whole-gpus": "gpus"})),
    "waiting in another queue": ("g-reclaim", lambda one: workload(one, "a-4").update(queue="b")),
    "not admitted, and placed": ("j-stranded", lambda one: workload(one, "halves").update(outcome="NotAdmitted")),
    "more than there is": ("j-stranded", admit),
    "a workload less": ("j-stranded", lambda one: take(one, "halves")),
    "no workloads": ("j-stranded", lambda one: take(one, "halves", "more", "whole")),
    "a workload twice": ("j-stranded", lambda one: one["workloads"].append(one["workloads"][0])),
    "a workload of nobody": ("j-stranded", lambda one: workload(one, "whole").update(name="x")),
    "another nominal quota": ("j-stranded", lambda one: one["queues"][0].update(nominal="32")),
    "less in use": ("j-stranded", lambda one: one["queues"][0].update(used="8")),
    "a queue that is not there": ("j-stranded", lambda one: one["queues"][0].update(queue="x")),
    "unread amounts": ("j-stranded", lambda one: one["queues"][0].update(used="many")),
    "held quota given anew": (
        "e-fungibility",
        lambda one: pod_set(one, "next-low")["usage"].update({"whole-gpus": "2"}),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_admission_fails(name):
    example, forge = FORGERIES[name]
    assert failing(lines(example, forge))


def test_quota_has_to_be_there_for_all_admissions_together():
    found = failing(lines("j-stranded", admit))
    assert any("has no whole-gpus of gpus: 0 are left" in one.reason for one in found), found


def test_a_plan_without_admissions_is_not_said_to_keep_quota():
    def forge(document):
        for name in ("workloads", "queues", "quotaMode"):
            del document[name]

    assert "the plan does not look at quota" in {one.reason for one in lines("j-stranded", forge)}


def test_admissions_of_one_cycle_have_to_fit_together():
    """Each of two workloads has quota alone: the second one was taken for admitted."""
    cluster = drasat.load("examples/kueue/j-stranded")
    made = drasat.quota(cluster, placement=False).to_dict()
    waiting = next(one for one in made["workloads"] if one["state"] == "pending")
    other = next(one for one in made["workloads"] if one["cycle"] is not None)
    cycle = next(one for one in made["cycles"] if one["number"] == other["cycle"])
    charge = waiting["charge"][0]
    flavors = dict.fromkeys(charge["requests"], "gpus")
    given = {"podSet": charge["podSet"], "count": charge["count"], "flavors": flavors, "usage": charge["requests"]}
    waiting.update(state=other["state"], clusterQueue="a", cycle=other["cycle"], assignments=[given])
    name = f"{waiting['namespace']}/{waiting['name']}"
    cycle["admitted"].append(name)
    for one in made["cycles"]:
        one["waiting"] = [key for key in one["waiting"] if key != name]
    reasons = [one.reason for one in drasat.check(made, cluster).lines if one.said.startswith("quota for")]
    assert any("has no whole-gpus of gpus" in one for one in reasons), reasons
