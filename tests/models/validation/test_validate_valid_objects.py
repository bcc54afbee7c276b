"""Objects of every feature that the API server accepts give no problem at all."""

import pytest
from support.validation import ALLOCATED, BASES, COUNTERS, EXACTLY, device, devices, problems

from drasat.models.validation.validate import validate_object

POLICY = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}
FEATURES = [
    ("ResourceSlice", {"spec devices": []}, "SLC-3 empty"),
    ("ResourceSlice", {"spec devices": devices(128)}, "SLC-2 128 simple devices"),
    ("ResourceSlice", {"spec devices": devices(64, taints=[{"key": "a", "effect": "None"}])}, "SLC-2 64 tainted"),
    ("ResourceSlice", {"spec driver": "GPU.Example.com"}, "driver in upper case"),
    ("ResourceSlice", {"spec pool name": "region/zone-1/rack.7"}, "pool of several parts"),
    (
        "ResourceSlice",
        {"spec devices": [device(consumesCounters=[{"counterSet": "set-0", "counters": {"slices": {"value": "-1"}}}])]},
        "CNT-1 negative counter",
    ),
    (
        "ResourceSlice",
        {
            "spec devices 0 attributes": {
                "i": {"int": -(2**63)},
                "b": {"bool": False},
                "s": {"string": ""},
                "v": {"version": "1.2.3-rc.1+build.7"},
                "is": {"ints": [1, 1]},
                "bs": {"bools": [False]},
                "ss": {"strings": ["x", ""]},
                "vs": {"versions": ["0.0.0", "1.0.0-0"]},
                "A.Example.com/_x9": {"string": "x" * 64},
            }
        },
        "ATTR-2 every type",
    ),
    (
        "ResourceSlice",
        {
            "spec devices": [
                device(allowMultipleAllocations=True, capacity={"m": {"value": "8Gi", "requestPolicy": POLICY}})
            ]
        },
        "POL-3 range",
    ),
    (
        "ResourceSlice",
        {
            "spec devices 0 bindsToNode": True,
            "spec devices 0 bindingConditions": ["example.com/ready", "Attached"],
            "spec devices 0 bindingFailureConditions": ["example.com/failed"],
        },
        "binding conditions",
    ),
    (
        "ResourceSlice",
        {
            "spec devices 0 attributes example.com/type": {"string": "mig-1g"},
            "spec devices 0 consumesCounters": [
                {"counterSet": "set-0", "counters": {"s": {"value": "1"}}, "compatibilityGroups": ["a"]}
            ],
            "spec partitionTypeAttribute": "example.com/type",
            "spec skipNodeOperations": ["NodePrepareResources", "NodeUnprepareResources"],
        },
        "partitions without node operations",
    ),
    (
        "ResourceClaim",
        {
            "spec devices requests 0 exactly": {
                **EXACTLY,
                "selectors": [{"cel": {"expression": "x" * 10240}}],
                "adminAccess": True,
                "tolerations": [
                    {"operator": "Exists"},
                    {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute"},
                ],
                "capacity": {"requests": {"not a name!": "1.5Gi"}},
                "derivedAttributes": [{"name": "gpu.example.com/model", "expression": "1"}],
            }
        },
        "CLM-4 every field of a request",
    ),
    ("ResourceClaim", {"spec devices": {}}, "no requests"),
    ("ResourceClaim", {"spec devices requests 0 exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}, "All"),
    ("DeviceClass", {"spec": {}}, "class without selectors"),
    ("DeviceClass", {"spec extendedResourceName": "example.com/gpu"}, "extended resource"),
    ("Pod", {"spec resourceClaims": []}, "pod without claims"),
    ("Pod", {"metadata name": "", "metadata generateName": "worker-"}, "generated name"),
]


@pytest.mark.parametrize("kind", BASES)
def test_typical_object_is_accepted(kind):
    assert problems(kind, {}) == []


@pytest.mark.parametrize("base", [pytest.param(COUNTERS, id="CNT-1"), pytest.param(ALLOCATED, id="allocated")])
def test_special_object_is_accepted(base):
    assert problems("ResourceSlice" if base is COUNTERS else "ResourceClaim", {}, base) == []


@pytest.mark.parametrize(("kind", "edits"), [pytest.param(kind, edits, id=name) for kind, edits, name in FEATURES])
def test_feature_is_accepted(kind, edits):
    assert problems(kind, edits) == []


def test_other_types_have_no_rules():
    assert validate_object(object()) == []
