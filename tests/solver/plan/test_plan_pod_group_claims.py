"""Claims of PodGroups: one for all members, wherever pods and controllers repeat the group's entries."""

import pytest
from support.plan_building import (
    classes,
    cluster,
    entry,
    gpus,
    maker,
    node,
    obj,
    placed,
    planning,
    pod,
    published,
    where,
)

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.workload.requested import requested_units
from drasat.solver.allocate.allocate import allocate
from drasat.solver.explain.explain import explain

X = obj("ResourceClaim", "x", {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}})
ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}


def group(name, *entries, minimum=None, domain=None, **fields):
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    topology = {"schedulingConstraints": {"topology": [{"key": domain}]}} if domain else {}
    return obj("PodGroup", name, {"schedulingPolicy": policy, "resourceClaims": [*entries], **topology, **fields})


def in_group(name, **spec):
    return {"schedulingGroup": {"podGroupName": name}, **spec}


def member(name, of_group, *entries, cpu="4", **spec):
    return pod(name, *entries, cpu=cpu, spec=in_group(of_group, **spec))


def made_for(name, kind, owner, entry_name, version="scheduling.k8s.io/v1beta1", **fields):
    """A claim that was made from a template for an entry."""
    reference = {"apiVersion": version, "kind": kind, "name": owner, "controller": True, "uid": ""}
    marks = {"resource.kubernetes.io/pod-claim-name": entry_name}
    return {**X, "metadata": {"name": name, "annotations": marks, "ownerReferences": [reference]}, **fields}


def holding(device, pool, nodes=None):
    results = [{"request": "r", "driver": "gpu.example.com", "pool": pool, "device": device}]
    return {"allocation": {"devices": {"results": results}, **({"nodeSelector": nodes} if nodes else {})}}


def claims_by_pod(*given, **options):
    return {
        unit.name: [ref.name for ref in unit.claims] for unit in requested_units(cluster(*classes(), *given), **options)
    }


ENTRY = entry("c", template="t")
BOTH = entry("c1", claim="x"), entry("c2", template="t")


def test_entries_are_the_groups_if_name_and_references_are_equal():
    """PGC-2, PGC-3, example B1."""
    entries = (*BOTH, entry("c3", claim="x"), entry("c2b", template="t"))
    found = claims_by_pod(X, group("g", *BOTH), *(member(name, "g", *entries) for name in "ab"))
    assert found == {"a": ["x", "g-c2", "a-c2b"], "b": ["x", "g-c2", "b-c2b"]}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (entry("c", template="t"), "g-c"),
        (entry("d", template="t"), "a-d"),
        (entry("c", template="t2"), "a-c"),
        (entry("c", claim="x"), "x"),
    ],
)
def test_any_difference_makes_an_entry_the_pods_own(own, expected):
    """PGC-2."""
    assert claims_by_pod(X, group("g", ENTRY), member("a", "g", own))["a"] == [expected]


def test_each_pod_group_has_a_claim_of_its_own():
    """PGC-4, example B2."""
    given = [group("g", ENTRY), group("h", ENTRY)]
    given += [member(f"{name}{n}", name, ENTRY, cpu="1") for name in "gh" for n in range(2)]
    assert claims_by_pod(*given) == {"g0": ["g-c"], "g1": ["g-c"], "h0": ["h-c"], "h1": ["h-c"]}
    found = planning(node("n1", cpu="8"), gpus("n1", 2), *given)
    assert placed(found) == ["g0", "g1", "h0", "h1"]
    assert sorted(ref.name for one in found.units for ref, _ in one.allocations) == ["g-c", "h-c"]


@pytest.mark.parametrize(
    ("version", "status"), [("v1alpha2", False), ("v1alpha3", False), ("v1beta1", False), ("v1beta1", True)]
)
def test_the_claim_that_was_made_is_found_by_its_owner_or_by_the_status(version, status):
    """PGC-4: any version of the owner; the status of the group names it."""
    there = made_for("g-c-x7k", "PodGroup", "g", "c", f"scheduling.k8s.io/{version}")
    one = group("g", ENTRY)
    if status:
        del there["metadata"]["annotations"]
        one["status"] = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "g-c-x7k"}]}
    assert claims_by_pod(one, there, member("a", "g", ENTRY), member("b", "g", ENTRY)) == {
        "a": ["g-c-x7k"],
        "b": ["g-c-x7k"],
    }


@pytest.mark.parametrize(
    ("kind", "owner", "version", "is_wrong"),
    [
        ("PodGroup", "g", "scheduling.k8s.io/v1alpha3", False),
        ("Pod", "a", "v1", False),
        ("PodGroup", "h", "scheduling.k8s.io/v1beta1", True),
        ("PodGroup", "g", "scheduling.volcano.sh/v1beta1", True),
        ("Pod", "b", "v1", True),
    ],
)
def test_a_claim_named_in_a_status_is_that_of_the_pod_or_of_its_group(kind, owner, version, is_wrong):
    """PGC-4."""
    one = member("a", "g", ENTRY)
    one["status"] = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "made"}]}
    made = cluster(*classes(), group("g", ENTRY), made_for("made", kind, owner, "c", version), one)
    (unit,) = [unit for unit in requested_units(made) if unit.name == "a"]
    text = "ResourceClaim default/made was not created for Pod a (neither Pod nor PodGroup g is the owner)"
    assert unit.problems == ((text,) if is_wrong else ())


def test_a_claim_of_a_group_that_no_pod_repeats_is_not_allocated():
    """PGC-3."""
    given = group("g", ENTRY), made_for("g-c-1", "PodGroup", "g", "c"), member("a", "g")
    assert claims_by_pod(*given) == {}
    assert [one.unit.name for one in planning(node("n1", cpu="8"), gpus("n1", 1), *given).units] == ["a"]


def test_pods_of_controllers_share_their_groups_claim():
    """PGC-2 for pods that are still to be made."""
    made = maker("Deployment", "d", ENTRY, cpu="1", pod_spec=in_group("g"), spec={"replicas": 3})
    given = [node("n1", cpu="8"), gpus("n1", 1), group("g", ENTRY, minimum=3), made]
    assert set(map(tuple, claims_by_pod(*given).values())) == {("g-c",)}
    found = planning(*given)
    assert (len(placed(found)), found.outcome) == (3, "Optimal")


SMALL_AND_LARGE = [node("n1", cpu="8"), gpus("n1", 1), node("n2", cpu="12"), gpus("n2", 1)]


def test_a_gang_goes_where_its_claim_and_all_members_fit():
    """PGC-7, example B3: the scheduler would fail on n1."""
    found = planning(*SMALL_AND_LARGE, group("g", ENTRY, minimum=3), *(member(name, "g", ENTRY) for name in "abc"))
    assert where(found) == dict.fromkeys("abc", "n2")
    assert sum(len(one.allocations) for one in found.units) == 1
    assert found.outcome == "Optimal"


def test_devices_of_a_group_count_once_beside_those_of_others():
    """PGC-7."""
    given = [group("g", ENTRY, minimum=2), *(member(name, "g", ENTRY, cpu="1") for name in "ab")]
    found = planning(node("n1", cpu="8"), gpus("n1", 2), *given, *(pod(name, ENTRY, cpu="1") for name in "cd"))
    assert (len(placed(found)), found.outcome) == (3, "Optimal")


def test_later_members_follow_the_devices_of_members_that_run():
    """PGC-6, PGC-8, example B5: what moved away may only return to the node of the devices."""
    on_n2 = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]}
    there = made_for("g-c-1", "PodGroup", "g", "c", status=holding("gpu-0", "n2", on_n2))
    running = [member(name, "g", ENTRY, nodeName="n2") for name in "ab"]
    given = [*SMALL_AND_LARGE, group("g", ENTRY, minimum=3), there, *running, member("c", "g", ENTRY)]
    assert where(planning(*given)) == {"c": "n2"}
    crowd = pod("crowd", cpu="4", spec={"nodeName": "n2"})
    late = planning(*given, crowd)
    assert where(late) == {"c": None}


def test_a_gang_that_does_not_fit_on_the_nodes_of_its_claim_is_not_placed():
    """PGC-6, example B4: the reason names the claim's nodes."""
    zoned = [node("a1", "a", cpu="3"), node("b1", "b", cpu="9")]
    there = made_for("g-c-1", "PodGroup", "g", "c", status=holding("f0", "fabric", ZONE_A))
    fabric = published("fabric", "f0", nodeSelector=ZONE_A)
    four = [member(name, "g", ENTRY, cpu="1") for name in "abcd"]
    for given in ([there], []):
        found = planning(*zoned, fabric, *given, group("g", ENTRY, minimum=4), *four)
        assert placed(found) == []
        assert "gang" in {reason.id for one in found.units for reason in one.reasons}
    assert len(placed(planning(*zoned, fabric, there, group("g", ENTRY, minimum=3), *four))) == 3


def test_any_number_of_members_share_a_device_of_all_nodes():
    """PGC-5, PGC-6, example B6: the group is one consumer, whatever its size."""
    everywhere = published("p", "gpu-0", allNodes=True)
    made = maker("Deployment", "d", ENTRY, cpu="1", pod_spec=in_group("g"), spec={"replicas": 300})
    nodes = [node(f"n{number}", cpu="100", pods="110") for number in range(3)]
    answer = allocate(cluster(*classes(), *nodes, everywhere, group("g", ENTRY), made))
    assert {one.outcome for one in answer.units} == {"Allocated"}
    assert {one.node for one in answer.units} == {"n0", "n1", "n2"}
    assert sum(len(one.allocations) for one in answer.units) == 1
    assert len(placed(planning(*nodes, everywhere, group("g", ENTRY), made))) == 300


def test_allocate_and_explain_give_members_the_device_of_the_first():
    """PGC-6."""
    given = [group("g", ENTRY), *(member(name, "g", ENTRY) for name in "abc")]
    made = cluster(*classes(), *SMALL_AND_LARGE, *given)
    for answer in (allocate(made), allocate(made, objective="fewest-devices-opened")):
        assert [(one.node, len(one.allocations)) for one in answer.units] == [("n1", 1), ("n1", 0), (None, 0)]
    told = explain(made).units[-1]
    assert told.pod == "default/c"


@pytest.mark.parametrize(
    "gates",
    [
        FeatureGates.all_on().with_({"DRAWorkloadResourceClaims": False}),
        FeatureGates.all_on().with_({"GenericWorkload": False}),
        FeatureGates.for_version("1.37"),
    ],
)
def test_without_the_gate_entries_are_the_pods_own(gates):
    """PGC-9, GATE-1."""
    given = [group("g", ENTRY), *(member(name, "g", ENTRY) for name in "ab")]
    answer = allocate(cluster(*classes(), *SMALL_AND_LARGE, *given), feature_gates=gates)
    assert [ref.name for one in answer.units for ref, _ in one.allocations] == ["a-c", "b-c"]
    said = "spec.resourceClaims of 1 PodGroups is ignored: feature gate DRAWorkloadResourceClaims is off"
    assert any(line.startswith(said) for line in answer.notices) == ("DRAWorkloadResourceClaims" not in gates)
