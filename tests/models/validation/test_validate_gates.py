"""Fields whose feature gate is off are reported, and kept."""

import pytest
from support.gates import without
from support.validation import COUNTERS, EXACTLY, SLICE, assert_problems, device, problems

from drasat.models.kubernetes.gates import FeatureGates

CONSUMES = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]
TYPED = device(attributes={"example.com/t": {"string": "a"}}, consumesCounters=CONSUMES)
SLICES = [
    ("DRADeviceTaints", {"spec devices 0 taints": [{"key": "a", "effect": "None"}]}, "spec.devices[0].taints"),
    ("DRAPartitionableDevices", {"spec devices 0 consumesCounters": CONSUMES}, "spec.devices[0].consumesCounters"),
    (
        "DRAPartitionableDevices",
        {"spec perDeviceNodeSelection": True, "spec nodeName": None, "spec devices": []},
        "spec.perDeviceNodeSelection",
    ),
    (
        "DRAPartitionableDevicesType",
        {"spec devices": [TYPED], "spec partitionTypeAttribute": "example.com/t"},
        "spec.partitionTypeAttribute",
    ),
    ("DRAOptionalNodeOperations", {"spec skipNodeOperations": ["*"]}, "spec.skipNodeOperations"),
    ("DRADeviceBindingConditions", {"spec devices 0 bindsToNode": True}, "spec.devices[0].bindsToNode"),
    (
        "DRAConsumableCapacity",
        {"spec devices 0 allowMultipleAllocations": True},
        "spec.devices[0].allowMultipleAllocations",
    ),
    (
        "DRANodeAllocatableResources",
        {"spec devices 0 nodeAllocatableResources": {"cpu": {"overhead": {"perPod": "1"}}}},
        "spec.devices[0].nodeA",
    ),
    ("DRAListTypeAttributes", {"spec devices 0 attributes l": {"ints": [1]}}, "spec.devices[0].attributes"),
]
ONE = "spec devices requests 0 exactly"
AT = "spec.devices.requests[0].exactly"
AT_ENTRY = "spec.devices.constraints[0]"
DERIVED = [{"name": "gpu.example.com/model", "expression": "1"}]
CLAIMS = [
    ("DRAPrioritizedList", {}, "spec.devices.requests[1].firstAvailable"),
    ("DRAAdminAccess", {f"{ONE} adminAccess": False}, f"{AT}.adminAccess"),
    ("DRAConsumableCapacity", {f"{ONE} capacity": {}}, f"{AT}.capacity"),
    ("DRADeviceTaints", {f"{ONE} tolerations": [{"operator": "Exists"}]}, f"{AT}.tolerations"),
    ("DRADerivedAttributes", {f"{ONE} derivedAttributes": DERIVED}, f"{AT}.derivedAttributes"),
    (
        "DRACELDeviceConstraint",
        {"spec devices constraints 0": {"cel": {"expression": "true"}}},
        "spec.devices.constraints[0].cel",
    ),
    *(
        ("DRAListTypeAttributes", {f"spec devices constraints 0 {field}": {"mode": "Identical"}}, f"{AT_ENTRY}.{field}")
        for field in ("matchSemantics", "semantics")
    ),
]


def check(kind, gate, edits, path):
    found = problems(kind, edits, gates=without(gate))
    assert_problems(found, (f"warning {path}...: an API server drops this field on write while feature gate {gate}",))


@pytest.mark.parametrize(("gate", "edits", "path"), SLICES)
def test_gated_field_of_a_slice_is_reported(gate, edits, path):
    check("ResourceSlice", gate, edits, path)
    assert problems("ResourceSlice", edits) == []


@pytest.mark.parametrize(("gate", "edits", "path"), CLAIMS)
def test_gated_field_of_a_claim_is_reported(gate, edits, path):
    check("ResourceClaim", gate, edits, path)
    assert problems("ResourceClaim", edits) == []


def test_gated_field_of_a_template_is_reported():
    edits = {"spec spec devices requests 1 firstAvailable 0": {"name": "a", **EXACTLY, "capacity": {"requests": {}}}}
    path = "spec.spec.devices.requests[1].firstAvailable[0].capacity"
    check("ResourceClaimTemplate", "DRAConsumableCapacity", edits, path)


def test_counter_sets_are_gated():
    gates = without("DRAPartitionableDevices")
    found = problems("ResourceSlice", {}, COUNTERS, gates)
    assert_problems(found, ("warning spec.sharedCounters: an API server drops",))


def test_one_warning_speaks_for_all_devices():
    tainted = [device(f"gpu-{number}", taints=[{"key": "a", "effect": "None"}]) for number in range(3)]
    gates = without("DRADeviceTaints")
    found = problems("ResourceSlice", {"spec devices": tainted}, gates=gates)
    expected = "warning spec.devices[0].taints: ...also in 2 other places, last spec.devices[2].taints"
    assert_problems(found, (expected,))


def test_empty_lists_use_no_feature():
    gates = FeatureGates.for_version("1.36")
    assert problems("ResourceSlice", {"spec devices 0 taints": [], "spec skipNodeOperations": []}, SLICE, gates) == []


def test_gates_of_other_kinds_do_not_matter():
    gates = FeatureGates(frozenset())
    assert problems("Pod", {}, gates=gates) == []
