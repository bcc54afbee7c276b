"""What drasat takes over from the scheduler around the allocator, and does in place of the rest (section 18)."""

import json

import pytest
from support.manifests import node, obj

import drasat
from drasat.models.kubernetes.claims import ResourceClaim

NODES = [node("n1"), node("n2"), obj("DeviceClass", "any")]


def gpus(node, *devices):
    """A slice of the node; a device is a name or a mapping."""
    members = [item if isinstance(item, dict) else {"name": item} for item in devices]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.x", "nodeName": node, "pool": pool, "devices": members}
    return obj("ResourceSlice", node, spec)


def claim(name, count=1, requests=None, **fields):
    exactly = {"deviceClassName": "any", "count": count}
    devices = {"requests": requests or [{"name": "r", "exactly": exactly}]}
    return obj("ResourceClaim", name, {"devices": devices}, namespace="default", **fields)


def pod(name, *claims, **spec):
    named = [{"name": item, "resourceClaimName": item} for item in claims]
    containers = [{"name": "c", "image": "i", **spec.pop("container", {})}]
    spec = {"containers": containers, "resourceClaims": named, **spec}
    return obj("Pod", name, spec, namespace="default")


def ask(*objects, **options):
    return drasat.allocate(drasat.load([*NODES, *objects]), **options)


def placed(result):
    """Node and devices of each unit."""
    return [(unit["node"], [item["device"] for item in results(unit)]) for unit in result.to_dict()["units"]]


def results(unit):
    made = (entry["allocation"] for entry in unit["claims"] if entry.get("allocation"))
    return [item for allocation in made for item in allocation["devices"]["results"]]


def listed(*counts):
    """A list request with alternatives ``s0``, ``s1``, ... of so many devices."""
    options = [{"name": f"s{rank}", "deviceClassName": "any", "count": count} for rank, count in enumerate(counts)]
    return [{"name": "r", "firstAvailable": options}]


def test_what_was_just_allocated_counts_as_in_use():
    """SCHED-4: nothing is written between two pods, yet neither device, share nor claim is given twice."""
    result = ask(gpus("n1", "a", "b"), claim("c"), claim("d"), claim("e"), pod("p", "c"), pod("q", "d"), pod("s", "e"))
    assert placed(result) == [("n1", ["a"]), ("n1", ["b"]), (None, [])]


def test_capacity_that_was_just_allocated_counts_as_consumed():
    """SCHED-4: for shared devices too."""
    shared = {"name": "a", "allowMultipleAllocations": True, "capacity": {"m": {"value": "5"}}}
    exactly = {"deviceClassName": "any", "capacity": {"requests": {"m": "2"}}}
    asked = [claim(name, requests=[{"name": "r", "exactly": exactly}]) for name in "cde"]
    assert placed(ask(gpus("n1", shared), *asked)) == [("n1", ["a"]), ("n1", ["a"]), (None, [])]


def test_nodes_are_tried_one_after_the_other_until_one_fits():
    """SCHED-5: by name, each of them; not the first in the input and not a sample."""
    names = [f"n{number:03}" for number in range(150, 0, -1)]
    slices = [gpus("n999", "a", "b"), *(gpus(name, "a") for name in names)]
    result = ask(*slices, *map(node, ("n999", *names)), claim("c"), claim("d", 2))
    assert placed(result) == [("n001", ["a"]), ("n999", ["a", "b"])]


@pytest.mark.parametrize("limit", [0.0, 1e-9])
def test_a_time_limit_leaves_undecided_what_comes_after_it(limit):
    """SCHED-7: for all units together, not for a node, and never a no."""
    result = ask(gpus("n1", "a"), claim("c"), claim("d"), time_limit=limit)
    units = result.to_dict()["units"]
    assert {unit["outcome"] for unit in units} == {"Unknown"}
    assert {reason["id"] for unit in units for reason in unit["reasons"]} == {"timeLimit"}


def test_without_a_time_limit_everything_is_decided():
    """SCHED-7."""
    assert ask(gpus("n1", "a"), claim("c"), claim("d", 2), time_limit=None).outcome == "Unallocatable"


def test_how_long_it_took_is_no_part_of_a_result():
    """SCHED-8: only if asked for, so that equal questions have equal documents."""
    objects = (gpus("n1", "a", "b"), claim("c", 2))
    first, again = (json.dumps(ask(*objects).to_dict()) for _ in range(2))
    assert first == again
    timed = ask(*objects, timings=True).to_dict()
    assert timed.keys() - json.loads(first).keys() == {"timings"}


def test_nodes_are_not_scored():
    """SCHED-9: n2 would give the better alternative; the first that fits is taken."""
    result = ask(gpus("n1", "a"), gpus("n2", "a", "b"), claim("c", requests=listed(2, 1)))
    (unit,) = result.to_dict()["units"]
    assert unit["node"] == "n1"
    assert [item["request"] for item in results(unit)] == ["r/s1"]


def test_the_allocation_found_is_the_one_written():
    """SCHED-10: manifests hold what the document says, and reading them back leaves nothing to allocate."""
    objects = (gpus("n1", "a", "b"), claim("c", 2))
    result = ask(*objects)
    (written,) = [item for item in result.manifests() if item["kind"] == "ResourceClaim"]
    (unit,) = result.to_dict()["units"]
    assert written["status"]["allocation"] == unit["claims"][0]["allocation"]
    again = ask(objects[0], written)
    assert (again.outcome, again.to_dict()["units"]) == ("Allocated", [])


HELD = {
    "status": {"allocation": {"devices": {"results": [{"request": "r", "driver": "d.x", "pool": "n1", "device": "a"}]}}}
}


def test_no_allocated_claim_is_given_up():
    """SCHED-11: although nobody has reserved the claim that holds the only device."""
    result = ask(gpus("n1", "a"), claim("old", **HELD), claim("new"), pod("p", "new"))
    (unit,) = result.to_dict()["units"]
    assert unit["outcome"] == "Unallocatable"
    assert [item["metadata"]["name"] for item in result.manifests() if item.get("status")] == []


def test_earlier_choices_are_not_revisited_for_later_pods():
    """SCHED-12: all three would fit if the first pod had taken the device without the mark."""
    slices = gpus("n1", {"name": "a", "attributes": {"fast": {"bool": True}}}, {"name": "b"})
    needy = [{"cel": {"expression": 'device.attributes["d.x"].?fast.orValue(false)'}}]
    picky = claim("d", requests=[{"name": "r", "exactly": {"deviceClassName": "any", "selectors": needy}}])
    both = ask(slices, claim("c"), picky, pod("p", "c"), pod("q", "d"))
    assert placed(both) == [("n1", ["a"]), (None, [])]
    turned = ask(slices, picky, claim("c"), pod("q", "d"), pod("z", "c"))
    assert placed(turned) == [("n1", ["a"]), ("n1", ["b"])]


def test_within_one_pod_earlier_choices_are_revisited():
    """SCHED-12, SRCH-3: the boundary is the pod."""
    slices = gpus("n1", {"name": "a", "attributes": {"fast": {"bool": True}}}, {"name": "b"})
    needy = [{"cel": {"expression": 'device.attributes["d.x"].?fast.orValue(false)'}}]
    picky = claim("d", requests=[{"name": "r", "exactly": {"deviceClassName": "any", "selectors": needy}}])
    assert placed(ask(slices, claim("c"), picky, pod("p", "c", "d"))) == [("n1", ["b", "a"])]


def test_what_devices_cost_of_cpu_and_memory_is_reckoned_while_the_gate_is_on():
    """SCHED-13: with the device's the pod would take more CPUs than the node has."""
    costly = {"name": "a", "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "1"}}}}
    thirsty = pod("p", "c", container={"resources": {"requests": {"cpu": "8"}}})
    cluster = drasat.load(
        obj("DeviceClass", "any"), node("n1", cpu="8", memory="1Gi"), gpus("n1", costly), claim("c"), thirsty
    )
    assert placed(drasat.allocate(cluster)) == [(None, [])]
    off = {"DRANodeAllocatableResources": False}
    assert placed(drasat.allocate(cluster, feature_gates=off)) == [("n1", ["a"])]


def test_a_pod_waits_for_its_claim_and_its_classes():
    """SCHED-1, SCHED-3: such a pod is no error, and others are not held up."""
    unknown = claim("c", requests=[{"name": "r", "exactly": {"deviceClassName": "gold"}}])
    result = ask(gpus("n1", "a"), unknown, claim("d"), pod("p", "c"), pod("q", "nope"), pod("s", "d"))
    assert placed(result) == [(None, []), (None, []), ("n1", ["a"])]
    assert result.outcome == "Unallocatable"


def test_typed_claims_are_not_changed_by_an_answer():
    """SCHED-10, IN-5."""
    cluster = drasat.load([*NODES, gpus("n1", "a"), claim("c")])
    before = list(cluster.claims.values())
    drasat.allocate(cluster)
    assert list(cluster.claims.values()) == before
    assert all(isinstance(item, ResourceClaim) and item.status is None for item in before)
