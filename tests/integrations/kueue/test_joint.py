"""Plans that admit workloads of Kueue: what of Kueue's objects the planner gets, and what comes of it."""

from itertools import pairwise

import pytest
from support.manifests import container, device_class, entry, obj
from support.plan_scene import gpus

import drasat
from drasat.scenarios.quota import quota

KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUE = "kueue.x-k8s.io/queue-name"


def flavor(name, pool=None, taint=None):
    spec = {"nodeLabels": {"pool": pool}} if pool else {}
    if taint:
        spec["nodeTaints"] = [{"key": "pool", "value": taint, "effect": "NoSchedule"}]
        spec["tolerations"] = [{"key": "pool", "operator": "Exists"}]
    return obj("ResourceFlavor", name, spec, api_version=KUEUE) | {"apiVersion": KUEUE}


def queue(name, *groups, cohort="", **spec):
    """A ClusterQueue, and the LocalQueue of its name; a group has a mapping from flavor to amounts by resource."""
    made = [
        {
            "coveredResources": list(next(iter(flavors.values()))),
            "flavors": [
                {"name": one, "resources": [{"name": key, "nominalQuota": n} for key, n in own.items()]}
                for one, own in flavors.items()
            ],
        }
        for flavors in groups
    ]
    whole = {"namespaceSelector": {}, "resourceGroups": made, **({"cohortName": cohort} if cohort else {}), **spec}
    return [
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": whole},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterQueue": name},
        },
    ]


CONFIGURATION = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "resources": {"deviceClassMappings": [{"name": "gpus", "deviceClassNames": ["gpu"]}]},
}
TEMPLATE = obj(
    "ResourceClaimTemplate",
    "t",
    {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
    namespace="default",
)


def node(name, count, pool=None, tainted=False):
    spec = {"taints": [{"key": "pool", "value": pool, "effect": "NoSchedule"}]} if tainted else {}
    amounts = {"cpu": "16", "pods": "20"}
    made = obj("Node", name, spec, labels={"pool": pool} if pool else None, status={"allocatable": amounts})
    return [made, gpus(name, count)]


def pods():
    return {"containers": [container("1")], "resourceClaims": [entry("g", template="t")]}


def job(name, count, own, *, least=None, suspend=True, **labels):
    marks = {"kueue.x-k8s.io/job-min-parallelism": str(least)} if least else None
    spec = {"restartPolicy": "Never", **pods()}
    whole = {"parallelism": count, "completions": count, "suspend": suspend, "template": {"spec": spec}}
    made = obj(
        "Job", name, whole, namespace="default", labels={QUEUE: own, **labels}, meta={"annotations": marks or {}}
    )
    return made | {"apiVersion": "batch/v1"}


def workload(name, count, own, **fields):
    sets = [{"name": "main", "count": count, "template": {"spec": pods()}}]
    spec = {"queueName": own, "podSets": sets, **fields}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def cluster(*parts):
    listed = [device_class(), TEMPLATE, CONFIGURATION]
    for part in parts:
        listed += part if isinstance(part, list) else [part]
    return drasat.load(listed)


def test_a_suspended_job_waits_for_quota_and_is_admitted_with_its_flavor():
    given = cluster(
        flavor("a", "a"), queue("q", {"a": {"cpu": 4, "gpus": 2}}), node("n1", 2), node("n2", 2, "a"), job("j", 2, "q")
    )
    result = drasat.plan(given)
    (one,) = result.document.workloads
    assert (one.outcome, one.queue, one.pod_sets[0].flavors) == ("Admitted", "q", {"cpu": "a", "gpus": "a"})
    assert {unit.node for unit in result.units} == {"n2"}
    assert [(use.resource, use.used, use.borrowed) for use in result.document.queues] == [
        ("cpu", "2", "0"),
        ("gpus", "2", "0"),
    ]


def test_suspended_jobs_without_queues_are_not_planned():
    assert drasat.plan(cluster(node("n1", 2), job("j", 2, "q"))).document.asked == 0


def test_the_plan_chooses_the_flavor_with_which_more_fits():
    """Kueue takes the first flavor that has quota (4.3), and strands the job that could be there alone."""
    given = cluster(
        flavor("a", "a"),
        flavor("b", "b", taint="b"),
        queue("q", {"a": {"cpu": 8, "gpus": 2}, "b": {"cpu": 8, "gpus": 2}}, cohort="c"),
        queue("other", {"a": {"cpu": 8, "gpus": 2}}, cohort="c"),
        node("n1", 3, "a"),
        node("n2", 2, "b", tainted=True),
        job("wide", 3, "q"),
        workload("early", 2, "q", priority=1),
    )
    joint, kueue = drasat.plan(given), drasat.plan(given, quota="kueue")
    assert (joint.placed, kueue.placed) == (5, 2)
    assert {one.outcome for one in joint.document.workloads} == {"Admitted"}
    assert {one.outcome for one in kueue.document.workloads} == {"Admitted", "NotAdmitted"}


def test_what_kueue_admits_and_nobody_can_place_is_stranded():
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 9}}), node("n1", 2), job("j", 3, "q"))
    (one,) = drasat.plan(given, quota="kueue").document.workloads
    assert (one.outcome, one.pod_sets[0].admitted) == ("Stranded", 3)
    (use,) = [use for use in drasat.plan(given, quota="kueue").document.queues if use.resource == "gpus"]
    assert use.used == "3"
    (other,) = drasat.plan(given).document.workloads
    assert other.outcome == "NotAdmitted"


def test_quota_may_be_ignored():
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 1}}), node("n1", 4), job("j", 3, "q"))
    assert drasat.plan(given).placed == 0
    result = drasat.plan(given, quota="ignore")
    assert (result.placed, result.document.workloads) == (3, drasat.plan(cluster()).document.workloads)


def test_a_job_may_be_admitted_in_part():
    """``minCount`` (4.5)."""
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 3}}), node("n1", 9), job("j", 5, "q", least=2))
    for mode in ("joint", "kueue"):
        result = drasat.plan(given, quota=mode)
        (one,) = result.document.workloads
        assert (result.placed, one.pod_sets[0].admitted, one.pod_sets[0].count) == (3, 3, 5)


HELD = {
    "admission": {
        "clusterQueue": "q",
        "podSetAssignments": [{"name": "main", "flavors": {"gpus": "a"}, "resourceUsage": {"gpus": 2}, "count": 2}],
    },
    "conditions": [
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "x",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
        {
            "type": "Admitted",
            "status": "True",
            "reason": "x",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
    ],
}


@pytest.mark.parametrize("mode", ["joint", "kueue"])
def test_admitted_workloads_hold_their_quota_and_their_pods_keep_their_flavors(mode):
    given = cluster(
        flavor("a", "a"),
        queue("q", {"a": {"cpu": 9, "gpus": 3}}),
        node("n1", 5),
        node("n2", 5, "a"),
        {**workload("held", 2, "q"), "status": HELD},
        workload("new", 2, "q"),
    )
    result = drasat.plan(given, quota=mode)
    found = {one.name: one.outcome for one in result.document.workloads}
    assert found["held"] == "Admitted"
    assert found["new"] == "NotAdmitted"
    assert {unit.node for unit in result.units if unit.name == "held"} == {"n2"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stopPolicy": "Hold"}, "ClusterQueue q is inactive"),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, "namespace doesn't match"),
        ({"resourceGroups": []}, "resource cpu unavailable in ClusterQueue"),
    ],
)
def test_workloads_that_no_quota_admits_say_why(change, said):
    """Stop policies, namespaces and resources without quota (4.1, 4.3)."""
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 9}}, **change), node("n1", 9), job("j", 1, "q"))
    result = drasat.plan(given)
    (one,) = result.document.workloads
    assert one.outcome == "NotAdmitted"
    assert said in one.reasons[0].message


def test_reasons_name_the_quota_that_is_missing():
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 1}}), node("n1", 9), job("j", 2, "q"))
    (one,) = drasat.plan(given).document.workloads
    said = "pod set main asks for 2 of gpus in flavor a: ClusterQueue q can use 1 at most"
    assert [reason.message for reason in one.reasons] == [said]


def test_pods_of_a_deployment_are_admitted_one_by_one():
    template = {"metadata": {"labels": {"app": "d", QUEUE: "q"}}, "spec": pods()}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    made = obj("Deployment", "d", spec, namespace="default", labels={QUEUE: "q"}) | {"apiVersion": "apps/v1"}
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 2}}), node("n1", 9), made)
    result = drasat.plan(given)
    assert result.placed == 2
    assert sorted(one.outcome for one in result.document.workloads) == ["Admitted", "Admitted", "NotAdmitted"]


def test_a_group_of_pods_is_one_workload():
    labels = {QUEUE: "q", "kueue.x-k8s.io/pod-group-name": "g"}
    marks = {"annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}
    made = [obj("Pod", name, pods(), namespace="default", labels=labels, meta=marks) for name in ("p0", "p1")]
    quota = queue("q", {"a": {"cpu": 9, "gpus": 2}})
    assert drasat.plan(cluster(flavor("a"), quota, node("n1", 2), made)).placed == 2
    assert drasat.plan(cluster(flavor("a"), quota, node("n1", 1), made)).placed == 0


def test_groups_of_a_leader_worker_set_are_workloads_of_their_own():
    template = {"size": 2, "workerTemplate": {"spec": pods()}}
    spec = {"replicas": 3, "leaderWorkerTemplate": template}
    made = obj("LeaderWorkerSet", "l", spec, namespace="default", labels={QUEUE: "q"})
    made |= {"apiVersion": "leaderworkerset.x-k8s.io/v1"}
    given = cluster(flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 5}}), node("n1", 9), made)
    result = drasat.plan(given)
    assert result.placed == 4
    placed = {unit.unit for unit in result.units if unit.node}
    assert len({name.split("-")[1] for name in placed}) == 2


def stage_values(result):
    return {one.stage: one.value for one in result.document.objective}


def test_fair_plans_share_what_there_is():
    """The smallest dominant share first: one queue could fill everything, and the other needs more pods for less."""
    quota = {"a": {"cpu": 16, "gpus": 4}}
    given = cluster(
        flavor("a"),
        queue("p", quota, cohort="c"),
        queue("q", {"a": {"cpu": 16, "gpus": 0}}, cohort="c"),
        node("n1", 4),
        *(job(f"p{number}", 1, "p") for number in range(4)),
        job("wide", 2, "q"),
    )
    result = drasat.plan(given, objective="fair,admitted")
    assert stage_values(result) == {"fair=1": 500, "fair=2": 1000, "admitted": 4}
    weighted = cluster(*given_with_weight(3))
    assert stage_values(drasat.plan(weighted, objective="fair"))["fair=1"] == pytest.approx(500 / 3)


def test_shares_of_several_resources_without_a_common_step_are_proven():
    """CPUs, devices and their memory are amounts of which no small step is a part."""
    given = drasat.load(quota(40, 4, 3, 100))
    result = drasat.plan(given, objective="priority,admitted,fair,borrowed", gap=0.005)
    assert result.outcome == "Optimal"
    sums = [0, *(one.value for one in result.document.objective if one.stage.startswith("fair="))]
    shares = [after - before for before, after in pairwise(sums)]
    assert len(shares) == 4
    assert shares[0] > 0
    assert shares == pytest.approx(sorted(shares))
    for one in result.document.objective:
        assert one.bound <= one.value if one.sense == "min" else one.bound >= one.value


def given_with_weight(weight):
    quota = {"a": {"cpu": 16, "gpus": 4}}
    return (
        flavor("a"),
        queue("p", quota, cohort="c"),
        queue("q", {"a": {"cpu": 16, "gpus": 0}}, cohort="c", fairSharing={"weight": weight}),
        node("n1", 4),
        *(job(f"p{number}", 1, "p") for number in range(4)),
        job("wide", 2, "q"),
    )


def test_plans_may_borrow_as_little_as_possible():
    given = cluster(
        flavor("a", "a"),
        flavor("b", "b"),
        queue("q", {"a": {"cpu": 8, "gpus": 1}, "b": {"cpu": 8, "gpus": 2}}, cohort="c"),
        queue("other", {"a": {"cpu": 8, "gpus": 3}}, cohort="c"),
        node("n1", 2, "a"),
        node("n2", 2, "b"),
        job("j", 2, "q"),
    )
    result = drasat.plan(given, objective="admitted,borrowed")
    assert stage_values(result) == {"admitted": 2, "borrowed": 0}
    assert {unit.node for unit in result.units} == {"n2"}


@pytest.mark.parametrize("stage", ["fair", "borrowed"])
def test_stages_about_quota_need_quota(stage):
    with pytest.raises(ValueError, match=f"the stage {stage} makes sense with quota alone"):
        drasat.plan(cluster(), objective=stage)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="unknown quota mode 'maybe'"):
        drasat.plan(cluster(), quota="maybe")


def test_equal_plans_have_equal_bytes():
    given = cluster(
        flavor("a"), queue("q", {"a": {"cpu": 9, "gpus": 5}}), node("n1", 9), *(job(f"j{n}", 2, "q") for n in range(4))
    )
    assert len({drasat.plan(given).to_json() for _ in range(2)}) == 1


def running(name, own, on, devices, *, priority, made="2026-01-01T00:00:00Z"):
    """A job with a pod that runs on a node, with devices of it."""
    uid = f"uid-{name}"
    one = job(name, 1, own, suspend=False, **{"kueue.x-k8s.io/priority-class": priority})
    one["metadata"] |= {"uid": uid, "creationTimestamp": made}
    controller = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    pod = obj("Pod", f"{name}-0", {**pods(), "nodeName": on}, namespace="default", status={"phase": "Running"})
    pod["metadata"] |= {"uid": f"uid-{name}-0", "ownerReferences": [controller]}
    pod["status"]["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": f"{name}-0-g"}]
    by_pod = {"apiVersion": "v1", "kind": "Pod", "name": f"{name}-0", "uid": f"uid-{name}-0", "controller": True}
    results = [{"request": "r", "driver": "gpu.example.com", "pool": on, "device": f"gpu-{n}"} for n in devices]
    claim = obj("ResourceClaim", f"{name}-0-g", TEMPLATE["spec"]["spec"], namespace="default")
    claim["metadata"] |= {"ownerReferences": [by_pod], "annotations": {"resource.kubernetes.io/pod-claim-name": "g"}}
    reserved = [{"resource": "pods", "name": f"{name}-0", "uid": f"uid-{name}-0"}]
    claim["status"] = {"allocation": {"devices": {"results": results}}, "reservedFor": reserved}
    return [one, pod, claim]


PRIORITIES = [
    {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("low", 1), ("mid", 2), ("high", 3))
]
PREEMPTING = {"preemption": {"withinClusterQueue": "LowerPriority"}}
URGENT = {"kueue.x-k8s.io/priority-class": "high"}


def evicting(**queue_fields):
    """Two jobs run on the only node, and a third one with more priority needs the quota of one of them."""
    return cluster(
        PRIORITIES,
        flavor("a"),
        queue("q", {"a": {"cpu": 9, "gpus": 2}}, **{**PREEMPTING, **queue_fields}),
        node("n1", 2),
        running("gone", "q", "n1", [0], priority="low"),
        running("kept", "q", "n1", [1], priority="mid"),
        job("urgent", 1, "q", **URGENT),
    )


def test_pods_of_evicted_workloads_free_their_devices():
    """The device of the victim is the only one that the third job can get (4.7)."""
    given = evicting()
    result = drasat.quota(given)
    assert [(one.name.split("-")[1], one.state) for one in result.workloads] == [
        ("gone", "pending"), ("kept", "admitted"), ("urgent", "admitted"),
    ]  # fmt: skip
    (place,) = result.document.placement.workloads
    assert (place.name.split("-")[1], place.placed, place.asked) == ("urgent", 1, 1)
    plan = drasat.plan(given, quota="kueue")
    (unit,) = (one for one in plan.units if one.node)
    (device,) = unit.claims[0].allocation.devices.results
    assert (unit.name, unit.node, device.device) == ("urgent", "n1", "gpu-0")


def test_pods_of_workloads_that_keep_their_quota_stay():
    result = drasat.plan(evicting(preemption={}), quota="kueue")
    assert result.placed == 0
    assert drasat.plan(evicting(preemption={})).placed == 0
    result = drasat.plan(evicting(preemption={}), quota="ignore")
    assert (result.placed, result.document.asked) == (0, 1)


def test_queues_that_are_drained_free_devices_for_joint_plans():
    """``HoldAndDrain`` evicts what holds quota (4.1)."""
    drained = queue("old", {"a": {"cpu": 9, "gpus": 2}}, stopPolicy="HoldAndDrain")
    new = queue("q", {"a": {"cpu": 9, "gpus": 2}})
    parts = PRIORITIES, flavor("a"), new, node("n1", 1), job("next", 1, "q")
    before = running("gone", "old", "n1", [0], priority="low")
    result = drasat.plan(cluster(*parts, drained, before))
    assert [(one.name, one.node) for one in result.units if one.node] == [("next", "n1")]
    assert drasat.plan(cluster(*parts, queue("old", {"a": {"cpu": 9, "gpus": 2}}), before)).placed == 0


def test_cohorts_may_be_thousands_of_levels_deep():
    """Quota of the root is lent down to the only queue (4.2)."""
    levels = 2000
    cohorts = [
        {
            "apiVersion": KUEUE,
            "kind": "Cohort",
            "metadata": {"name": f"c{level}"},
            "spec": {"parentName": f"c{level + 1}"} if level < levels else QUOTA_OF_ROOT,
        }
        for level in range(levels + 1)
    ]
    given = cluster(
        flavor("a"),
        cohorts,
        queue("q", {"a": {"cpu": 0, "gpus": 0}}, cohort="c0"),
        node("n1", 4),
        *(job(f"j{number}", 1, "q") for number in range(4)),
    )
    assert drasat.plan(given).placed == 3


QUOTA_OF_ROOT = {
    "resourceGroups": [
        {
            "coveredResources": ["cpu", "gpus"],
            "flavors": [
                {"name": "a", "resources": [{"name": "cpu", "nominalQuota": 9}, {"name": "gpus", "nominalQuota": 3}]}
            ],
        }
    ]
}
