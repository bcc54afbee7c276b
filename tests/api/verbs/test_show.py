"""``drasat.show``: states of devices, sums by class, node and pool, claims with what they hold, selections."""

import json
from pathlib import Path

import jsonschema
import pytest
from support import manifests
from support.objects import (
    DRIVER,
    allocated,
    claim,
    device,
    device_class,
    draws,
    labels,
    node,
    partitions,
    pod,
    pool,
    shared,
    taint,
    template,
    want,
)
from support.rules import ROOT

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
)
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.results.schema import results_schema


def held(name, *devices, pool_name="p", **fields):
    """A claim that holds these devices; keywords are fields of the results."""
    results = tuple(
        DeviceRequestAllocationResult(request="r", driver=DRIVER, pool=pool_name, device=one, **fields)
        for one in devices
    )
    return allocated(claim(want(), name=name), AllocationResult(devices=DeviceAllocationResult(results=results)))


def show(*objects, **options):
    return drasat.show(Cluster.of(objects), **options)


def states(result):
    return {one.device: one.state for one in result.devices}


def reason(result, name):
    return next(one.reason for one in result.devices if one.device == name)


def counts(found):
    """The counts that are not zero."""
    return {name: number for name in found.__struct_fields__ if (number := getattr(found, name))}


def amounts(result, class_name="any"):
    """Free, in use and in all of each amount of a class."""
    found = next(one for one in result.classes if one.name == class_name)
    return {f"{one.kind} {one.name}": (one.free, one.in_use, one.total) for one in found.amounts}


def test_devices_are_free_or_in_use():
    """IN-3."""
    found = show(pool(device("a"), device("b")), node(), device_class(), held("c", "a"))
    assert states(found) == {"a": "inUse", "b": "free"}
    assert [one.claims for one in found.devices] == [("ns/c",), ()]
    assert counts(found.document.total) == {"free": 1, "in_use": 1, "total": 2}


def test_admin_access_holds_nothing():
    """IN-3: the device stays free; the list of claims has it."""
    found = show(pool(device("a")), node(), device_class(), held("c", "a", admin_access=True))
    assert states(found) == {"a": "free"}
    ((only,),) = (one.devices for one in found.claims)
    assert (only.device, only.admin_access) == ("a", True)


@pytest.mark.parametrize(("effect", "state"), [("NoSchedule", "tainted"), ("NoExecute", "tainted"), ("None", "free")])
def test_taints_that_keep_claims_away_count(effect, state):
    """TNT-1, TNT-7."""
    found = show(pool(device("a", taints=(taint("sick", effect=effect),))), node())
    assert states(found) == {"a": state}
    assert found.devices[0].taints == (f"sick:{effect}",)


def test_rules_taint_devices():
    """TNT-5; a device in use counts as in use."""
    spec = DeviceTaintRuleSpec(device_selector=DeviceTaintSelector(pool="p"), taint=taint("drain"))
    rule = DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=spec)
    found = show(pool(device("a"), device("b")), pool(device("c"), name="q"), node(), rule, held("c", "a"))
    assert states(found) == {"a": "inUse", "b": "tainted", "c": "free"}
    assert reason(found, "b") == "drain:NoSchedule"


def halves():
    """A GPU that may be used whole or as two halves."""
    parts = [device(name, draws("gpu", memory=amount)) for name, amount in (("whole", 80), ("h0", 40), ("h1", 40))]
    return partitions(*parts, sets={"gpu": {"memory": 80}})


def test_a_device_is_blocked_while_its_counters_are_drawn():
    """CTR-1, CTR-2."""
    found = show(*halves(), node(), device_class(), held("c", "h0"))
    assert states(found) == {"whole": "blocked", "h0": "inUse", "h1": "free"}
    assert reason(found, "whole") == "counter memory of set gpu: it draws 80, 40 is left"
    assert amounts(found) == {"counter memory": ("40", "40", "80")}
    assert [(one.name, one.in_use, one.total) for one in found.pools[0].counters] == [("memory", "40", "80")]


def test_a_device_is_blocked_while_another_compatibility_group_is_in_use():
    """GRP-3."""
    parts = [
        device(name, draws("gpu", groups=(group,), memory=1)) for name, group in (("a", "x"), ("b", "y"), ("c", "x"))
    ]
    found = show(*partitions(*parts, sets={"gpu": {"memory": 10}}), node(), held("c", "a"))
    assert states(found) == {"a": "inUse", "b": "blocked", "c": "free"}
    assert "compatibility groups" in reason(found, "b")


def test_capacities_of_overlapping_partitions_are_not_summed():
    whole = device("whole", draws("gpu", memory=80), capacity={"memory": "80"})
    half = device("half", draws("gpu", memory=40), capacity={"memory": "40"})
    found = show(*partitions(whole, half, sets={"gpu": {"memory": 80}}), node(), device_class())
    assert amounts(found) == {"counter memory": ("80", "0", "80")}


def nic(name):
    return device(name, multi=True, capacity={"bandwidth": shared("100G", default="40G", min="10G", step="10G")})


def share(name, amount, device_name="a"):
    share_id = f"00000000-0000-4000-8000-{name:0>12}"
    return held(name, device_name, share_id=share_id, consumed_capacity={"bandwidth": amount})


def test_a_shared_device_is_free_while_the_default_request_fits():
    """CAP-6: what is consumed is in use, and the rest free."""
    found = show(pool(nic("a"), nic("b")), node(), device_class(), share("1", "30G"), share("2", "30G"))
    assert states(found) == {"a": "free", "b": "free"}
    assert counts(found.document.total) == {"free": 2, "shared": 1, "total": 2}
    assert amounts(found) == {"capacity bandwidth": ("140G", "60G", "200G")}
    full = show(pool(nic("a"), nic("b")), node(), device_class(), share("1", "30G"), share("2", "40G"))
    assert states(full) == {"a": "inUse", "b": "free"}
    assert amounts(full) == {"capacity bandwidth": ("130G", "70G", "200G")}


def test_a_device_that_is_held_whole_is_in_use_with_all_it_has():
    found = show(
        pool(device("a", capacity={"memory": "80Gi"}), device("b", capacity={"memory": "80Gi"})),
        *(node(), device_class(), held("c", "a")),
    )
    assert amounts(found) == {"capacity memory": ("80Gi", "80Gi", "160Gi")}


def test_devices_of_pools_that_are_not_complete_are_unavailable():
    """POOL-6, POOL-9."""
    found = show(
        pool(device("a"), name="incomplete", count=2),
        pool(device("b"), device("b"), name="invalid"),
        pool(device("c"), name="elsewhere", node_selector=labels({"zone": ("z",)})),
        pool(device("d"), name="fine"),
        node(),
    )
    assert states(found) == {"a": "unavailable", "b": "unavailable", "c": "unavailable", "d": "free"}
    assert {one.name: one.state for one in found.pools} == {
        "incomplete": "incomplete",
        "invalid": "invalid",
        "elsewhere": "unreachable",
        "fine": "complete",
    }
    assert reason(found, "a") == "generation 1 has 1 slices and declares 2"
    assert reason(found, "b") == "duplicate device b"
    assert reason(found, "c") == "no node reaches it"
    assert {one.device: one.node for one in found.devices} == {"a": "n1", "b": "n1", "c": None, "d": "n1"}


def test_devices_of_old_generations_are_not_there():
    """POOL-3."""
    old = pool(device("old"), slice_name="old", generation=1)
    found = show(old, pool(device("new"), slice_name="new", generation=2), node())
    assert states(found) == {"new": "free"}


def test_features_that_are_off_make_devices_unavailable():
    gates = {"DRADeviceBindingConditions": False}
    found = show(pool(device("a", binding=("ready",)), device("b")), node(), feature_gates=gates)
    assert states(found) == {"a": "unavailable", "b": "free"}


def test_a_device_that_several_nodes_reach_counts_for_none_of_them():
    found = show(pool(device("a"), all_nodes=True), pool(device("b"), name="own"), node("n1"), node("n2"))
    assert {one.device: (one.node, one.nodes) for one in found.devices} == {"a": (None, 2), "b": ("n1", 1)}
    assert {one.name: one.devices.total for one in found.nodes} == {"n1": 1, "n2": 0}


def test_devices_with_node_names_of_their_own_count_there():
    """DEV-4."""
    members = device("a", node_name="n1"), device("b", node_name="n2"), device("c", all_nodes=True)
    found = show(pool(*members, per_device_node_selection=True), node("n1"), node("n2"))
    assert {one.device: (one.node, one.nodes) for one in found.devices} == {
        "a": ("n1", 1),
        "b": ("n2", 1),
        "c": (None, 2),
    }
    assert set(states(found).values()) == {"free"}


def test_classes_count_the_devices_that_their_selectors_match():
    """DEV-3."""
    large = device_class("large", "device.attributes['d.x'].size > 1")
    found = show(
        *(pool(device("a", size=1), device("b", size=2), device("c", size=3)), node(), held("c", "c")),
        *(large, device_class("other", "device.driver == 'other'")),
    )
    by_name = {one.name: counts(one.devices) for one in found.classes}
    assert by_name == {"large": {"free": 1, "in_use": 1, "total": 2}, "other": {}}
    assert [one.classes for one in found.devices] == [(), ("large",), ("large",)]
    assert counts(found.document.unclassified) == {"free": 1, "total": 1}


def test_devices_on_which_a_selector_fails_are_undecided():
    """CEL-6, CEL-7: they are in no count, and the result says how many, and why."""
    found = show(
        *(pool(device("a", size=1), device("b"), device("c")), node()),
        *(device_class("sized", "device.attributes['d.x'].size == 1"), device_class("broken", "no such thing")),
    )
    broken, sized = found.classes
    assert (sized.devices.total, sized.undecided) == (1, 2)
    assert "no such key" in sized.errors[0]
    assert (broken.devices.total, broken.undecided) == (0, 3)
    assert [line.partition(":")[0] for line in found.document.notices] == ["class broken", "class sized"]
    assert found.document.complete


def test_what_is_not_decided_within_the_limit_is_said():
    found = show(pool(device("a"), device("b")), node(), device_class("d", "device.driver == 'd.x'"), time_limit=1e-9)
    assert states(found) == {"a": "unknown", "b": "unknown"}
    assert found.classes[0].undecided == 2
    assert not found.document.complete
    assert found.document.notices[0] == "the time limit passed: 2 devices were not judged"


def test_claims_are_allocated_pending_or_orphaned():
    """A claim on a device that no slice publishes is orphaned."""
    found = show(
        *(pool(device("a")), node(), device_class(), held("fine", "a"), held("lost", "gone"), claim(want(), name="new"))
    )
    assert {one.name: one.state for one in found.claims} == {"fine": "allocated", "lost": "orphaned", "new": "pending"}
    lost = next(one for one in found.claims if one.name == "lost")
    assert [one.exists for one in lost.devices] == [False]


def test_claims_have_the_pods_that_name_them_and_those_to_be_made_from_templates():
    """SCHED-1: finished pods do not count."""
    found = show(
        *(pool(device("a")), node(), device_class(), claim(want(), name="mine"), template(want(), name="t")),
        *(pod("mine", name="p1"), pod("mine", "@t", name="p2"), pod("mine", name="p3", phase="Succeeded")),
    )
    made, mine = sorted(found.claims, key=lambda one: one.generated, reverse=True)
    assert (mine.name, mine.pods) == ("mine", ("p1", "p2"))
    assert (made.state, made.pods) == ("pending", ("p2",))


def test_nodes_have_what_running_pods_request_of_their_allocatable():
    cluster = manifests.cluster(
        manifests.node("n1", cpu="4", memory="8Gi", pods="10", **{"example.com/dongle": "2"}),
        manifests.node("n2"),
        manifests.pod("p", cpu="1500m", spec={"nodeName": "n1"}),
        manifests.pod("done", cpu="1", spec={"nodeName": "n1"}, status={"phase": "Succeeded"}),
    )
    known, unknown = drasat.show(cluster).nodes
    assert [(one.name, one.in_use, one.total) for one in known.resources] == [
        ("cpu", "1500m", "4"),
        ("memory", "0", "8Gi"),
        ("pods", "1", "10"),
        ("example.com/dongle", "0", "2"),
    ]
    assert unknown.resources == ()


TWO_NODES = [
    pool(device("a"), name="p1"),
    pool(device("b"), name="p2", node_name="n2"),
    pool(device("c"), name="net", driver="net.x", all_nodes=True),
    node("n1"),
    node("n2"),
    device_class("gpu", "device.driver == 'd.x'"),
    device_class("nic", "device.driver == 'net.x'"),
    held("one", "a", pool_name="p1"),
    held("two", "b", pool_name="p2"),
    claim(want(cls="nic"), name="open"),
]


@pytest.mark.parametrize(
    ("options", "devices", "nodes", "claims"),
    [
        ({}, "abc", ["n1", "n2"], ["one", "open", "two"]),
        ({"node": "n1"}, "ac", ["n1"], ["one"]),
        ({"device_class": "gpu"}, "ab", ["n1", "n2"], ["one", "two"]),
        ({"device_class": "nic"}, "c", ["n1", "n2"], ["open"]),
        ({"driver": "d.x"}, "ab", ["n1", "n2"], ["one", "two"]),
        ({"driver": "d.x", "node": "n2"}, "b", ["n2"], ["two"]),
        ({"driver": "none.x"}, "", [], []),
        ({"namespace": "other"}, "abc", ["n1", "n2"], []),
    ],
)
def test_selections(options, devices, nodes, claims):
    found = show(*TWO_NODES, **options)
    assert "".join(sorted(one.device for one in found.devices)) == devices
    assert [one.name for one in found.nodes] == nodes
    assert [one.name for one in found.claims] == claims
    assert found.document.total.total == len(devices)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node": "n9"}, 'node "n9" is not in the input'),
        ({"device_class": "none"}, "DeviceClass none not found"),
        ({"feature_gates": {"Nope": True}}, "Nope"),
    ],
)
def test_what_does_not_exist_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        show(*TWO_NODES, **options)


def test_frames_hold_data():
    found = show(*TWO_NODES, *halves()[:1])
    assert list(found.to_frame().device) == [one.device for one in found.devices]
    assert found.to_frame("claims").devices.tolist()[0] == ["d.x/p1/a"]
    assert found.to_frame("nodes").cpuRequested.isna().all()
    assert set(found.to_frame("pools").state) == {"complete", "incomplete"}
    assert found.to_frame("classes").set_index("class").total.to_dict() == {"gpu": 5, "nic": 1}
    assert "<table" in found._repr_html_()


def test_an_empty_cluster_has_nothing():
    found = show()
    assert (found.document.total.total, found.devices, found.claims) == (0, (), ())


EXAMPLES = sorted({path.parent.name for path in (ROOT / "examples").glob("*/*.yaml")})


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_shown_whole(name):
    """Each device is once in the sums of nodes, and in those of pools; the document keeps to its schema."""
    cluster = drasat.load(Path(ROOT / "examples" / name))
    found = drasat.show(cluster)
    jsonschema.validate(json.loads(found.to_json()), results_schema())
    total = found.document.total
    assert total.total == len(found.devices) == sum(one.devices.total for one in found.pools)
    elsewhere = sum(one.node is None for one in found.devices)
    assert sum(one.devices.total for one in found.nodes) == total.total - elsewhere
    parts = total.free + total.in_use + total.tainted + total.blocked + total.unavailable
    assert parts == total.total
    for one in (amount for found_class in found.classes for amount in found_class.amounts):
        states = (one.free, one.in_use, one.tainted, one.blocked, one.unavailable)
        assert sum(Quantity.parse(amount).nano for amount in states) == Quantity.parse(one.total).nano
    assert len(found.claims) >= len(cluster.claims)
    assert drasat.show(cluster).to_json() == found.to_json()
