import json

import msgspec
import pytest
from support.gates import without

from drasat.models.kubernetes.claims import (
    CapacityRequirements,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from drasat.models.kubernetes.core import Node, NodeStatus
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity, ResourceSlice, ResourceSliceSpec
from drasat.peers.requests import (
    AllocateRequest,
    Features,
    PodRequest,
    ScheduleRequest,
    encode_request,
    features_of_gates,
)

NODE = Node(metadata=ObjectMeta(name="n"), status=NodeStatus(declared_features=("F",)))


def as_json(request, number=1):
    line = encode_request(request, number)
    assert b"\n" not in line
    return json.loads(line)


def test_allocate_says_its_kind_number_and_node():
    got = as_json(AllocateRequest(node=NODE), 5)
    assert (got["kind"], got["id"]) == ("allocate", 5)
    assert got["node"] == {"metadata": {"name": "n"}, "status": {"declaredFeatures": ["F"]}}


def test_limits_and_variant_are_spelled_like_the_protocol():
    request = ScheduleRequest(variant="stable", time_limit_seconds=2.5, call_limit_seconds=0.5)
    got = as_json(request)
    assert (got["kind"], got["variant"]) == ("schedule", "stable")
    assert (got["timeLimitSeconds"], got["callLimitSeconds"]) == (2.5, 0.5)


def test_pods_name_claims_and_perhaps_nodes():
    pods = (PodRequest(namespace="a", name="p", claims=("c",)), PodRequest(namespace="a", name="q", nodes=()))
    assert as_json(ScheduleRequest(pods=pods))["pods"] == [
        {"namespace": "a", "name": "p", "claims": ["c"]},
        {"namespace": "a", "name": "q", "nodes": []},
    ]


def test_objects_are_written_as_the_api_spells_them():
    device = Device(
        name="d",
        attributes={"x": DeviceAttribute(int_value=0), "b": DeviceAttribute(bool_value=False)},
        capacity={"m": DeviceCapacity(value=1)},
        binds_to_node=False,
        binding_conditions=(),
    )
    request = AllocateRequest(node=NODE, slices=(ResourceSlice(spec=ResourceSliceSpec(driver="g", devices=(device,))),))
    assert as_json(request)["slices"][0]["spec"]["devices"] == [
        {
            "name": "d",
            "attributes": {"x": {"int": 0}, "b": {"bool": False}},
            "capacity": {"m": {"value": 1}},
            "bindsToNode": False,
            "bindingConditions": [],
        }
    ]


def test_present_but_empty_parts_stay_present():
    """PRE-2, PRE-5 and POOL-11 tell an empty or false value from an absent one."""
    exactly = ExactDeviceRequest(admin_access=False, capacity=CapacityRequirements())
    devices = DeviceClaim(requests=(DeviceRequest(name="r", exactly=exactly),))
    request = AllocateRequest(node=NODE, claims=(ResourceClaim(spec=ResourceClaimSpec(devices=devices)),))
    got = as_json(request)["claims"][0]["spec"]["devices"]["requests"]
    assert got == [{"name": "r", "exactly": {"adminAccess": False, "capacity": {}}}]


@pytest.mark.parametrize("value", ["1Gi", 3, 2.5, 10**30], ids=["text", "int", "float", "beyond-64-bit"])
def test_quantities_travel_as_written(value):
    device = Device(name="d", capacity={"m": DeviceCapacity(value=value)})
    request = AllocateRequest(node=NODE, slices=(ResourceSlice(spec=ResourceSliceSpec(devices=(device,))),))
    assert as_json(request)["slices"][0]["spec"]["devices"][0]["capacity"] == {"m": {"value": value}}


def test_requests_survive_a_round_trip():
    request = AllocateRequest(
        node=NODE,
        classes=(DeviceClass(metadata=ObjectMeta(name="c")),),
        features=features_of_gates(FeatureGates.all_on()),
    )
    read = msgspec.json.decode(encode_request(request, 3), type=AllocateRequest | ScheduleRequest)
    assert isinstance(read, AllocateRequest)
    assert (read.id, read.node, tuple(read.classes), read.features) == (3, NODE, request.classes, request.features)


def test_every_feature_is_named_as_upstream_names_it():
    """FEAT-1: the allocator's switches, and the gate of DeviceTaintRules."""
    assert set(json.loads(msgspec.json.encode(features_of_gates(FeatureGates.all_on())))) == {
        "AdminAccess",
        "CompatibilityGroups",
        "ConsumableCapacity",
        "DerivedAttributes",
        "DeviceBindingAndStatus",
        "DeviceTaints",
        "FractionalCapacityRange",
        "ListTypeAttributes",
        "OptionalNodeOperations",
        "PartitionableDevices",
        "PrioritizedList",
        "DeviceTaintRules",
    }


@pytest.mark.parametrize(
    ("gate", "off"),
    [
        ("DRAAdminAccess", {"admin_access"}),
        ("DRADeviceBindingConditions", {"device_binding_and_status"}),
        ("DRAResourceClaimDeviceStatus", {"device_binding_and_status"}),
        ("DRADeviceTaints", {"device_taints", "device_taint_rules"}),
        ("DRADeviceTaintRules", {"device_taint_rules"}),
        ("DRAListTypeAttributes", {"list_type_attributes"}),
        ("DRADeviceCompatibilityGroups", {"compatibility_groups"}),
        ("DRASchedulerFilterTimeout", set()),
    ],
)
def test_a_gate_switches_its_feature(gate, off):
    """FEAT-1"""
    got = features_of_gates(without(gate))
    assert {name for name in Features.__struct_fields__ if not getattr(got, name)} == off


def test_features_that_are_off_are_said_to_be_off():
    """The peer takes what is absent for off; a default must not depend on who fills it in."""
    got = as_json(AllocateRequest(node=NODE, features=Features(admin_access=True)))["features"]
    assert (got["AdminAccess"], got["DeviceTaints"]) == (True, False)
