"""Validation of all that was read."""

import pytest
from support.gates import without
from support.validation import BASES, edited, typed

from drasat.models.formats.errors import Source
from drasat.models.manifests.reader import Manifest
from drasat.models.validation.validate import validate_manifests

V1 = "resource.k8s.io/v1"
ALPHA = "resource.k8s.io/v1alpha3"


def manifest(kind, edits=(), api_version=V1, document=1, raw=None):
    mapping = edited(BASES[kind], dict(edits))
    return Manifest(kind, api_version, typed(kind, mapping), raw, Source("f.yaml", document))


def found(*manifests, **options):
    return [str(problem) for problem in validate_manifests(manifests, **options)]


CLASS = manifest("DeviceClass")


def test_problems_of_all_objects_come_in_reading_order():
    broken = {"spec driver": ""}
    slices = [manifest("ResourceSlice", broken, document=number) for number in (1, 2)]
    assert found(*slices) == [
        "f.yaml document 1: ResourceSlice node-1-gpu: spec.driver: Required value",
        "f.yaml document 2: ResourceSlice node-1-gpu: spec.driver: Required value",
        'f.yaml document 2: ResourceSlice node-1-gpu: metadata.name: Duplicate value: "node-1-gpu": '
        "the same object is in f.yaml document 1",
    ]


def test_name_shows_the_namespace():
    assert found(CLASS, manifest("ResourceClaim", {"spec devices requests 0 exactly count": 0})) == [
        "f.yaml document 1: ResourceClaim default/claim: spec.devices.requests[0].exactly.count: "
        "Invalid value: 0: must be greater than zero"
    ]


def test_skip_validation_lifts_limits_but_not_structure():
    claim = manifest(
        "ResourceClaim", {"spec devices requests 0 exactly count": 0, "spec devices requests 1": {"name": "x"}}
    )
    assert [problem.split(": ")[2] for problem in found(CLASS, claim)] == [
        "spec.devices.requests[0].exactly.count",
        "spec.devices.requests[1]",
        "spec.devices.constraints[0].requests[1]",
        "spec.devices.config[0].requests[0]",
    ]
    assert [problem.split(": ")[2] for problem in found(CLASS, claim, skip_validation=True)] == [
        "spec.devices.requests[1]"
    ]


def test_skip_validation_keeps_warnings():
    rule = manifest("DeviceTaintRule", {"spec deviceSelector": {}})
    assert found(rule, skip_validation=True) == found(rule) != []


def test_gates_reach_the_rules():
    claim = manifest("ResourceClaim", {"spec devices requests 0 exactly capacity": {}})
    gates = without("DRAConsumableCapacity")
    assert found(CLASS, claim) == []
    assert "feature gate DRAConsumableCapacity is off" in found(CLASS, claim, gates=gates)[0]


def test_ignored_kinds_are_skipped():
    assert found(Manifest("ConfigMap", "v1", None, {}, Source("f.yaml", 1))) == []


def test_kind_that_left_the_oldest_version_is_a_warning():
    """VER-4."""
    (problem,) = found(manifest("DeviceClass", api_version=ALPHA))
    assert problem.endswith("warning: apiVersion: Kubernetes 1.33 removed DeviceClass from v1alpha3")


@pytest.mark.parametrize("field", ["deviceClassName", "selectors"])
def test_dropped_criterion_of_a_taint_rule_is_a_warning(field):
    """VER-4: the rule would taint more devices than its author meant."""
    raw = {"spec": {"deviceSelector": {field: ["x"]}}}
    (problem,) = found(manifest("DeviceTaintRule", api_version=ALPHA, raw=raw))
    assert f"warning: spec.deviceSelector.{field}: dropped in Kubernetes 1.35" in problem


@pytest.mark.parametrize("raw", [None, {}, {"spec": None}, {"spec": []}, {"spec": {"deviceSelector": 1}}])
def test_taint_rule_of_the_oldest_version_may_be_plain(raw):
    assert found(manifest("DeviceTaintRule", api_version=ALPHA, raw=raw)) == []
