"""What the API server fills in (CLM-1, VER-3)."""

import msgspec
import pytest

from drasat.models.kubernetes.claims import ResourceClaim, ResourceClaimTemplate
from drasat.models.kubernetes.core import Node, Pod
from drasat.models.manifests.conversion import with_defaults


def claim(request: dict, model=ResourceClaim, **status):
    spec = {"devices": {"requests": [{"name": "r", **request}]}}
    return msgspec.convert({"spec": spec if model is ResourceClaim else {"spec": spec}, **status}, model)


def exact(fields: dict, version: str = "v1"):
    return with_defaults(claim({"exactly": fields}), version).spec.devices.requests[0].exactly


@pytest.mark.parametrize(
    ("fields", "mode", "count"),
    [
        pytest.param({}, "ExactCount", 1, id="nothing"),
        pytest.param({"count": 3}, "ExactCount", 3, id="count"),
        pytest.param({"count": 0}, "ExactCount", 1, id="zero-is-absent"),
        pytest.param({"count": -1}, "ExactCount", -1, id="negative-is-kept"),
        pytest.param({"allocationMode": "ExactCount"}, "ExactCount", 1, id="mode"),
        pytest.param({"allocationMode": "All"}, "All", None, id="all"),
        pytest.param({"allocationMode": "All", "count": 2}, "All", 2, id="all-with-count"),
        pytest.param({"allocationMode": "Odd"}, "Odd", None, id="unknown-mode"),
    ],
)
def test_mode_and_count(fields, mode, count):
    """CLM-1."""
    filled = exact({"deviceClassName": "gpu", **fields})
    assert (filled.allocation_mode, filled.count) == (mode, count)


def test_alternatives_get_the_same_defaults():
    """CLM-1."""
    read = claim({"firstAvailable": [{"name": "a"}, {"name": "b", "allocationMode": "All"}]})
    first, second = with_defaults(read).spec.devices.requests[0].first_available
    assert (first.allocation_mode, first.count) == ("ExactCount", 1)
    assert (second.allocation_mode, second.count) == ("All", None)


@pytest.mark.parametrize(
    ("written", "operator"), [({}, "Equal"), ({"operator": "Exists"}, "Exists"), ({"operator": "x"}, "x")]
)
def test_operator_of_tolerations(written, operator):
    """CLM-3."""
    tolerations = [{"key": "k", **written}]
    assert exact({"tolerations": tolerations}).tolerations[0].operator == operator
    read = claim({"firstAvailable": [{"name": "a", "tolerations": tolerations}]})
    assert with_defaults(read).spec.devices.requests[0].first_available[0].tolerations[0].operator == operator


def test_absent_and_empty_lists_stay_apart():
    assert exact({}).tolerations is None
    assert exact({"tolerations": []}).tolerations == ()


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_flat_request_without_class_gets_no_defaults(version):
    """VER-3."""
    filled = exact({"adminAccess": True, "tolerations": [{"key": "k"}]}, version)
    assert (filled.allocation_mode, filled.count, filled.tolerations[0].operator) == ("", None, "")


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3", "v1beta2", "v1"])
def test_request_with_class_gets_defaults_in_every_version(version):
    """VER-3."""
    assert exact({"deviceClassName": "gpu"}, version).count == 1


def test_nested_request_without_class_gets_defaults():
    """CLM-1."""
    assert exact({}, "v1beta2").count == 1


def test_templates_are_filled_like_claims():
    """CLM-1."""
    filled = with_defaults(claim({"exactly": {}}, ResourceClaimTemplate))
    assert filled.spec.spec.devices.requests[0].exactly.count == 1


def test_tolerations_of_an_allocation():
    allocation = {"devices": {"results": [{"request": "r", "tolerations": [{"key": "k"}]}, {"request": "s"}]}}
    read = claim({"exactly": {}}, status={"allocation": allocation})
    first, second = with_defaults(read).status.allocation.devices.results
    assert first.tolerations[0].operator == "Equal"
    assert second.tolerations is None


@pytest.mark.parametrize("model", [ResourceClaim, ResourceClaimTemplate, Pod])
def test_namespaced_objects_live_in_a_namespace(model):
    assert with_defaults(model()).metadata.namespace == "default"
    kept = msgspec.convert({"metadata": {"namespace": "ml"}}, model)
    assert with_defaults(kept).metadata.namespace == "ml"


def test_other_objects_are_left_alone():
    node = Node()
    assert with_defaults(node) is node
