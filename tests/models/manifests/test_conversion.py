"""Older API versions become v1 (VER-1 to VER-6), and API defaults are applied (CLM-1)."""

import copy

import pytest

from drasat.models.formats.errors import has_errors
from drasat.models.manifests.conversion import ConversionError, to_v1
from drasat.models.manifests.reader import read_manifests


def slice_of(*devices, **spec):
    return {"spec": {"driver": "d", "pool": {"name": "p"}, "devices": list(devices), **spec}}


def claim_of(*requests):
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": list(requests)}}}


def template_of(*requests):
    return {"metadata": {"name": "c"}, "spec": {"spec": claim_of(*requests)["spec"]}}


def read(kind: str, version: str, mapping: dict):
    """Give the typed object of a mapping, which must be free of problems."""
    whole = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, **mapping}
    (manifest,), problems, _ = read_manifests([whole])
    assert not problems
    return manifest.object


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
@pytest.mark.parametrize(
    ("kind", "mapping"),
    [
        ("ResourceSlice", slice_of({"name": "a", "attributes": {"x": {"int": 1}}}, nodeName="n")),
        ("ResourceClaim", claim_of({"name": "r", "exactly": {"deviceClassName": "c"}})),
        ("DeviceTaintRule", {"spec": {"deviceSelector": {"driver": "d"}, "taint": {"key": "k"}}}),
    ],
    ids=["slice", "claim", "rule"],
)
def test_v1beta2_is_v1(version, kind, mapping):
    """VER-1."""
    assert to_v1(kind, version, mapping) is mapping


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        pytest.param(
            {"name": "a", "basic": {"attributes": {"x": {"int": 1}}}},
            {"attributes": {"x": {"int": 1}}},
            id="attributes",
        ),
        pytest.param(
            {"name": "a", "basic": {"taints": [{"key": "k"}], "nodeName": "n"}},
            {"taints": [{"key": "k"}], "nodeName": "n"},
            id="more",
        ),
        pytest.param({"name": "a", "basic": {}}, {}, id="empty"),
        pytest.param({"name": "a", "basic": None}, {}, id="null"),
        pytest.param({"name": "a"}, {}, id="absent"),
        pytest.param({"name": "a", "basic": {"name": "b"}}, {}, id="own-name-wins"),
        pytest.param({"name": "a", "attributes": {"x": {"int": 1}}}, {}, id="v1-fields-are-unknown"),
    ],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"], ids=["VER-2", "VER-4"])
def test_devices_are_unwrapped(version, device, expected):
    converted = to_v1("ResourceSlice", version, slice_of(device))
    assert converted["spec"]["devices"] == [{"name": "a", **expected}]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param({"nodeName": "", "allNodes": True}, {"allNodes": True}, id="empty-name"),
        pytest.param({"nodeName": "n", "allNodes": False}, {"nodeName": "n"}, id="false"),
        pytest.param({"nodeName": "n"}, {"nodeName": "n"}, id="name"),
        pytest.param({"nodeName": "", "allNodes": False}, {}, id="neither"),
    ],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_empty_node_selection_is_unset(version, written, kept):
    """VER-2."""
    spec = to_v1("ResourceSlice", version, slice_of(**written))["spec"]
    assert {key: value for key, value in spec.items() if key in ("nodeName", "allNodes")} == kept


def test_empty_node_selection_is_kept_in_v1():
    """VER-2: in v1 these are mistakes that validation names."""
    mapping = slice_of(nodeName="", allNodes=False)
    assert to_v1("ResourceSlice", "v1", mapping) == mapping


def test_v1alpha3_capacities_are_wrapped():
    """VER-4."""
    device = {"name": "a", "basic": {"capacity": {"memory": "40Gi", "cores": 8}}}
    converted = read("ResourceSlice", "v1alpha3", slice_of(device)).spec.devices[0]
    assert {name: capacity.value for name, capacity in converted.capacity.items()} == {"memory": "40Gi", "cores": 8}


def test_v1beta1_capacities_are_not_wrapped_again():
    """VER-2."""
    device = {"name": "a", "basic": {"capacity": {"memory": {"value": "40Gi"}}}}
    assert read("ResourceSlice", "v1beta1", slice_of(device)).spec.devices[0].capacity["memory"].value == "40Gi"


def test_older_slices_may_hold_devices_and_counters():
    """VER-5."""
    sets = [{"name": "s", "counters": {"memory": {"value": "80Gi"}}}]
    device = {
        "name": "a",
        "basic": {"consumesCounters": [{"counterSet": "s", "counters": {"memory": {"value": "40Gi"}}}]},
    }
    spec = read("ResourceSlice", "v1beta1", slice_of(device, sharedCounters=sets)).spec
    assert spec.shared_counters[0].counters["memory"].value == "80Gi"
    assert spec.devices[0].consumes_counters[0].counter_set == "s"


FLAT = pytest.mark.parametrize(
    ("field", "value"),
    [
        ("deviceClassName", "gpu"),
        ("selectors", []),
        ("selectors", [{"cel": {"expression": "true"}}]),
        ("allocationMode", "All"),
        ("count", 2),
        ("adminAccess", False),
        ("tolerations", []),
        ("capacity", {"requests": {"memory": "1Gi"}}),
    ],
)


@FLAT
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
@pytest.mark.parametrize(("kind", "make"), [("ResourceClaim", claim_of), ("ResourceClaimTemplate", template_of)])
def test_any_flat_field_makes_a_request_exact(kind, make, version, field, value):
    """VER-3."""
    converted = to_v1(kind, version, make({"name": "r", field: value}))
    assert converted == make({"name": "r", "exactly": {field: value}})


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"name": "r"}, id="nothing"),
        pytest.param({"name": "r", "deviceClassName": "", "count": 0, "selectors": None}, id="zero-values"),
        pytest.param({"name": "r", "exactly": {"deviceClassName": "gpu"}}, id="v1-form"),
        pytest.param({"name": "r", "unknown": 1}, id="unknown-field"),
    ],
)
def test_a_request_in_neither_form_stays_empty(request_):
    """VER-6: validation then says that one of the forms is required."""
    assert to_v1("ResourceClaim", "v1beta1", claim_of(request_)) == claim_of({"name": "r"})


def test_alternatives_keep_their_shape():
    """VER-3."""
    request = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu", "count": 2}]}
    assert to_v1("ResourceClaim", "v1beta1", claim_of(request)) == claim_of(request)


def test_flat_fields_beside_alternatives_are_kept_for_validation():
    request = {"name": "r", "deviceClassName": "gpu", "firstAvailable": []}
    converted = to_v1("ResourceClaim", "v1beta1", claim_of(request))
    assert converted == claim_of({"name": "r", "firstAvailable": [], "exactly": {"deviceClassName": "gpu"}})


@pytest.mark.parametrize(
    ("kind", "version", "mapping"),
    [
        ("ResourceSlice", "v1beta1", slice_of({"name": "a", "basic": {"capacity": {"m": "1"}}}, nodeName="")),
        ("ResourceSlice", "v1alpha3", slice_of({"name": "a", "basic": {"capacity": {"m": "1"}}}, nodeName="")),
        ("ResourceClaim", "v1beta1", claim_of({"name": "r", "deviceClassName": "gpu"})),
    ],
)
def test_what_was_read_is_not_changed(kind, version, mapping):
    """VER-6: the input's own mapping is kept for output."""
    before = copy.deepcopy(mapping)
    assert to_v1(kind, version, mapping) != before
    assert mapping == before


@pytest.mark.parametrize("junk", [None, 1, "x", [], [1, None, "x"], {}, {"requests": 5}, {"basic": "x"}])
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
@pytest.mark.parametrize("kind", ["ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule"])
def test_malformed_mappings_pass_through(kind, version, junk):
    for mapping in (
        {"spec": junk},
        {"spec": {"devices": junk}},
        {"spec": {"devices": {"requests": junk}}},
        {"spec": {"spec": junk}},
    ):
        assert isinstance(to_v1(kind, version, mapping), dict)


def test_a_malformed_wrapper_is_told():
    whole = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSlice", **slice_of({"name": "a", "basic": "x"})}
    _, (problem,), _ = read_manifests([whole])
    assert (problem.field, problem.message) == (
        "spec.devices[0]",
        'Invalid value: "x": must be an object, not a string',
    )


@pytest.mark.parametrize("field", ["deviceClassName", "selectors"])
def test_dropped_selectors_of_a_taint_rule_are_refused(field):
    """VER-4: without them the rule would taint devices it was not meant for."""
    rule = {"spec": {"deviceSelector": {field: ["x"]}, "taint": {"key": "k", "effect": "NoSchedule"}}}
    with pytest.raises(ConversionError, match=r"dropped in Kubernetes 1\.35"):
        to_v1("DeviceTaintRule", "v1alpha3", rule)
    whole = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "DeviceTaintRule", **rule}
    manifests, problems, _ = read_manifests([whole])
    assert not manifests
    assert problems[0].field == f"spec.deviceSelector.{field}"
    assert has_errors(problems)


def test_taint_rule_of_v1alpha3():
    rule = {"spec": {"deviceSelector": {"pool": "p"}, "taint": {"key": "k", "effect": "NoSchedule"}}}
    assert read("DeviceTaintRule", "v1alpha3", rule).spec.device_selector.pool == "p"


def test_tombstones_are_ignored():
    """VER-4."""
    claim = claim_of({"name": "r", "deviceClassName": "gpu"})
    claim["spec"]["controller"] = "old.example.com"
    assert read("ResourceClaim", "v1alpha3", claim).spec.devices.requests[0].exactly.device_class_name == "gpu"
