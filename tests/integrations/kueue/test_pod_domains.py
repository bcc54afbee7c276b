"""Topology requests and admission checks of Kueue's workloads in plans."""

import pytest
from support.manifests import container, device_class, entry, obj
from support.plan_scene import gpus

import drasat

KUEUE = "kueue.x-k8s.io/v1beta2"
RACK, BLOCK = "example.com/rack", "example.com/block"
CONFIGURATION = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "resources": {"deviceClassMappings": [{"name": "gpus", "deviceClassNames": ["gpu"]}]},
}
REQUEST = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}


def kueue(kind, name, spec, **more):
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **more}, "spec": spec}


def objects(*, levels=(BLOCK, RACK), checks=(), gpu_quota=9):
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": one} for one in checks]}} if checks else {}
    resources = [{"name": "cpu", "nominalQuota": 99}, {"name": "gpus", "nominalQuota": gpu_quota}]
    group = {"coveredResources": ["cpu", "gpus"], "flavors": [{"name": "f", "resources": resources}]}
    return [
        device_class(),
        CONFIGURATION,
        obj("ResourceClaimTemplate", "t", {"spec": REQUEST}, namespace="default"),
        kueue("Topology", "racks", {"levels": [{"nodeLabel": one} for one in levels]}),
        kueue("ResourceFlavor", "f", {"nodeLabels": {"pool": "a"}, "topologyName": "racks"}),
        kueue("ClusterQueue", "q", {"namespaceSelector": {}, "resourceGroups": [group], **strategy}),
        kueue("LocalQueue", "q", {"clusterQueue": "q"}, namespace="default"),
        *(kueue("AdmissionCheck", one, {"controllerName": "example.com/checks"}) for one in checks),
    ]


def node(name, count, **labels):
    status = {"allocatable": {"cpu": "16", "pods": "20"}}
    marks = {"block": BLOCK, "rack": RACK}
    own = {"pool": "a", **{marks[key]: value for key, value in labels.items()}}
    return [obj("Node", name, {}, labels=own, status=status), gpus(name, count)]


def pod_set(name, count, topology=None, **more):
    pods = {"containers": [container("1")], "resourceClaims": [entry("g", template="t")]}
    asked = {"topologyRequest": topology} if topology else {}
    return {"name": name, "count": count, "template": {"spec": pods}, **asked, **more}


def workload(name, *pod_sets, status=None):
    made = kueue("Workload", name, {"queueName": "q", "podSets": list(pod_sets)}, namespace="default")
    return made | ({"status": status} if status else {})


def planned(*parts, **options):
    listed = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return drasat.plan(drasat.load(listed), **options)


NODES = [
    *node("n1", 1, block="b", rack="r1"),
    *node("n2", 1, block="b", rack="r1"),
    *node("n3", 2, block="b", rack="r2"),
    *node("n4", 2, block="b", rack="r2"),
]


@pytest.mark.parametrize("mode", ["joint", "kueue"])
def test_pods_that_must_be_in_one_rack_are(mode):
    """Six pods fit the nodes, and no rack has room for more than four."""
    asked = {"required": RACK}
    result = planned(objects(), NODES, workload("w", pod_set("main", 4, asked)), quota=mode)
    assert {unit.node for unit in result.units} == {"n3", "n4"}
    (refused,) = planned(objects(), NODES, workload("w", pod_set("main", 5, asked)), quota=mode).document.workloads
    assert refused.outcome == ("NotAdmitted" if mode == "joint" else "Stranded")
    assert planned(objects(), NODES, workload("w", pod_set("main", 5)), quota=mode).placed == 5


def test_pod_sets_of_one_group_are_in_one_rack_together():
    asked = {"required": RACK, "podSetGroupName": "g"}
    sets = [pod_set("leader", 1, asked), pod_set("workers", 2, asked)]
    result = planned(objects(), NODES, workload("w", *sets))
    assert result.placed == 3
    assert {unit.node for unit in result.units} == {"n3", "n4"}


def test_of_pods_in_part_so_many_are_admitted_as_a_rack_has_room_for():
    result = planned(objects(), NODES, workload("w", pod_set("main", 6, {"required": RACK}, minCount=2)))
    assert result.placed == 4


TOGETHER = f"must be in one domain of {RACK}: that is planned for all pods of a workload together only"


def message(*parts, **options):
    (one,) = planned(*parts, **options).document.workloads
    assert one.outcome != "Admitted"
    return one.reasons[0].message


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([pod_set("a", 2, {"required": RACK}), pod_set("b", 2, {"required": RACK})], f"pod sets a and b {TOGETHER}"),
        ([pod_set("a", 2, {"required": RACK}), pod_set("b", 2, {"unconstrained": True})], f"pod set a {TOGETHER}"),
        (
            [pod_set("a", 2, {"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 1})],
            "pod set a asks for slices of a topology: that is not planned",
        ),
        (
            [pod_set("a", 2, {"required": "example.com/row"})],
            "couldn't assign flavors to pod set a: Topology racks of flavor f has no level example.com/row",
        ),
    ],
)
def test_topology_requests_that_are_not_planned_are_refused_by_name(sets, said):
    assert message(objects(), NODES, workload("w", *sets)) == said


def test_levels_whose_values_name_several_domains_are_refused():
    more = node("n5", 2, block="c", rack="r1")
    said = message(objects(), NODES, more, workload("w", pod_set("main", 2, {"required": RACK})))
    assert said.endswith(f"flavor f: several domains are called r1 at level {RACK}: that is not planned")
    whole = planned(objects(), NODES, more, workload("w", pod_set("main", 6, {"required": BLOCK})))
    assert whole.placed == 6


def test_a_topology_that_is_not_there_is_named():
    listed = [one for one in objects() if one["kind"] != "Topology"]
    said = message(listed, NODES, workload("w", pod_set("main", 2, {"required": RACK})))
    assert said == "couldn't assign flavors to pod set main: Topology racks of flavor f not found"


def test_notices_say_what_of_topologies_is_not_planned():
    bare = node("n5", 2)
    made = [workload(f"w{n}", pod_set("main", 1, {"preferred": RACK})) for n in range(2)]
    assert planned(objects(), NODES, bare, *made).document.notices == (
        "topologies that workload default/w0 and 1 more would prefer are not planned",
        "1 node without the labels of a Topology, such as n5: Kueue does not use them for topology requests, and the "
        "plan may",
    )


def checked(state):
    return {
        "admissionChecks": [
            {"name": "c", "state": state, "message": "no", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        ]
    }


@pytest.mark.parametrize("state", ["Pending", "Retry", "Ready", "Rejected"])
def test_workloads_with_rejected_checks_are_not_admitted(state):
    """Admitted needs every check (4.9): one that is not decided is taken as passed, with a notice."""
    result = planned(objects(checks=["c"]), NODES, workload("w", pod_set("main", 1), status=checked(state)))
    (one,) = result.document.workloads
    notice = "admission checks that are not decided are taken as passed: c"
    assert (notice in result.document.notices) == (state in ("Pending", "Retry"))
    if state == "Rejected":
        assert one.outcome == "NotAdmitted"
        assert [reason.message for reason in one.reasons] == ['AdmissionCheck in Rejected state: "c" (no)']
    else:
        assert one.outcome == "Admitted"


def test_checks_that_the_queue_does_not_have_do_not_count():
    result = planned(objects(), NODES, workload("w", pod_set("main", 1), status=checked("Rejected")))
    assert [one.outcome for one in result.document.workloads] == ["Admitted"]


@pytest.mark.parametrize(("topology", "copies"), [(None, 2), ({"required": RACK}, 1), ({"required": BLOCK}, 2)])
def test_copies_are_counted_in_their_domains(topology, copies):
    """Six GPUs are enough for two copies of three pods, and one rack has room for one copy alone."""
    given = drasat.load([*objects(), *NODES, workload("w", pod_set("main", 3, topology))])
    (row,) = drasat.queue_capacity(given).queues
    assert (row.quota.fits, row.placement.fits, row.both.fits) == (3, copies, copies)
    assert (row.placement.proven, row.both.proven, row.limited_by) == (True, True, "placement")


def test_copies_that_a_plan_does_not_know_have_a_problem():
    """Two pod sets of different domains."""
    asked = pod_set("a", 2, {"required": RACK}), pod_set("b", 2, {"required": BLOCK})
    (row,) = drasat.queue_capacity(drasat.load([*objects(), *NODES, workload("w", *asked)])).queues
    assert (row.quota.fits, row.both.fits, row.both.bound, row.both.proven) == (2, 0, 2, False)
    assert row.problem
