"""What is said about units that got nothing."""

import pytest

import drasat
from drasat.reports.allocation import reasons, rows, wide_rows
from drasat.scenarios import objects


def told(devices, *selectors, count=2):
    """The lines for a claim of two devices on a node with so many."""
    members = [objects.device(f"d{number}", {}, {}) for number in range(devices)]
    published = [objects.resource_slice("s", "d.x", "n1", objects.on_node("n1"), members)] if devices else []
    asked = objects.wanted("any", count=count, selectors=objects.selectors(*selectors))
    claim = objects.claim("c", objects.claim_spec([objects.exactly("r", asked)]))
    cluster = drasat.load([objects.node("n1"), objects.device_class("any"), *published, claim])
    return list(reasons(drasat.allocate(cluster, engine="backtracking").document))


@pytest.mark.parametrize(
    ("devices", "selectors", "reason"),
    [
        pytest.param(0, [], "request r needs 2, 0 fit of 0 devices", id="no device"),
        pytest.param(1, [], "request r needs 2, 1 fit of 1 device", id="too few devices"),
        pytest.param(3, ["false"], "request r needs 2, 0 fit of 3 devices", id="none selected"),
    ],
)
def test_a_shortage_is_told_once(devices, selectors, reason):
    lines = told(devices, *selectors)
    assert len(lines) == 2
    assert reason in lines[1]


def sharing(*names):
    """A claim of one device that pods with these names share, on a node with one device."""
    published = objects.resource_slice("s", "d.x", "n1", objects.on_node("n1"), [objects.device("d0", {}, {})])
    claim = objects.claim("c", objects.claim_spec([objects.exactly("r", objects.wanted("any"))]))
    entry = {"name": "g", "resourceClaimName": "c"}
    spec = {"containers": [{"name": "m", "image": "x"}], "resourceClaims": [entry]}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec} for name in names]
    return drasat.load([objects.node("n1"), objects.device_class("any"), published, claim, *pods])


def test_later_pods_of_a_claim_name_the_pod_that_has_its_devices():
    document = drasat.allocate(sharing("a", "b", "c")).document
    assert [row[-1] for row in rows(document)] == ["d0", "shared with a", "shared with a"]
    assert [row[-4] for row in wide_rows(document)] == ["d0", "shared with a", "shared with a"]
