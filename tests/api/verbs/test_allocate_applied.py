"""What ``allocate`` writes is read back: the same pods have the same claims, and every verb counts them once."""

import pytest
from support.manifests import asking, device_class, entry, maker, node, obj, template

import drasat

GPU = "example.com/gpu"
EXTENDED = {"containers": [{"name": "c", "resources": {"limits": {GPU: "2"}}}]}


def gpus(name, count):
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{number}"} for number in range(count)]
    spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": name, "devices": devices}
    return [node(name, pods="110"), obj("ResourceSlice", f"{name}-gpus", spec)]


def with_replicas(kind, count, *entries, **options):
    return maker(kind, "web", *entries, spec={"replicas": count}, namespace="default", **options)


# What fills two nodes with two GPUs each.
QUEUES = {
    "StatefulSet, templates": with_replicas("StatefulSet", 4, entry("gpu", template="t")),
    "Deployment, templates": with_replicas("Deployment", 4, entry("gpu", template="t")),
    "Pod, extended": asking("web", **{GPU: 2}),
    "StatefulSet, extended": with_replicas("StatefulSet", 2, pod_spec=EXTENDED),
    "Deployment, extended": with_replicas("Deployment", 2, pod_spec=EXTENDED),
}


@pytest.mark.parametrize("gone", [0, 1])
@pytest.mark.parametrize("queue", QUEUES.values(), ids=QUEUES)
def test_claims_that_were_written_are_those_of_their_pods(queue, gone):
    """SCHED-10: all of them, or all but one, so that one pod waits for the devices that are left."""
    there = [*gpus("n1", 2), *gpus("n2", 2), device_class("gpu", GPU), template(namespace="default"), queue]
    made = drasat.allocate(drasat.load(there)).manifests()
    claims = [one for one in made if one["kind"] == "ResourceClaim" and one.get("status")]
    again = drasat.load([*there, *claims[gone:]])
    assert [one.outcome for one in drasat.allocate(again).document.units] == ["Allocated"] * gone
    plan = drasat.plan(again).document
    assert (plan.placed, plan.asked) == (len(claims), len(claims))
    assert sum(len(one.claims) for one in plan.units) == gone


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u-1", "controller": True}


@pytest.mark.parametrize(
    ("owner", "fits"),
    [
        ([OWNER], "Allocated"),
        ([], "Allocated"),
        ([OWNER | {"uid": "u-2"}], "Unallocatable"),
        ([OWNER | {"name": "x"}], "Unallocatable"),
    ],
    ids=["its owner", "by its name", "an earlier pod of this name", "another pod"],
)
def test_a_pod_has_the_extended_resource_claim_that_it_owns_before_its_status_says_so(owner, fits):
    """KEP-5004: all devices of the node are in the claim, and the pod asks for all of them."""
    queue = asking("web", **{GPU: 2})
    queue["metadata"] |= {"namespace": "default", "uid": "u-1"}
    held = [{"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": f"gpu-{at}"} for at in range(2)]
    claim = obj(
        "ResourceClaim",
        "web-extended-resources",
        {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}},
        namespace="default",
        meta={"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}, "ownerReferences": owner},
        status={"allocation": {"devices": {"results": held}}},
    )
    cluster = drasat.load([*gpus("n1", 2), device_class("gpu", GPU), queue, claim])
    assert drasat.allocate(cluster).outcome == fits
    assert drasat.plan(cluster).document.placed == (fits == "Allocated")
