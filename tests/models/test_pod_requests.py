"""What pods ask of a node, counted as the scheduler counts it."""

import pytest

from drasat.models.core import PodSpec
from drasat.models.pod_requests import effective_requests, in_units, written
from drasat.models.structure import to_object


def requests(apart=(), **spec):
    read, problems = to_object(spec, PodSpec)
    assert problems == []
    return effective_requests(read, apart)


def asks(requests=None, limits=None, **fields):
    return {"resources": {"requests": requests or {}, "limits": limits or {}}, **fields}


def cpu(amount, **fields):
    return asks({"cpu": amount}, **fields)


def sidecar(amount):
    return cpu(amount, restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"containers": [{"name": "x"}]}, {}),
        ({"containers": [cpu("500m"), cpu(1)]}, {"cpu": 1500}),
        ({"containers": [cpu("0.1m")]}, {"cpu": 1}),
        ({"containers": [cpu(0)]}, {}),
        ({"containers": [asks({"memory": "1Gi"}), asks({"memory": "1k"})]}, {"memory": 2**30 + 1000}),
        ({"containers": [asks({"memory": "100m"})]}, {"memory": 1}),
        (
            {"containers": [asks({"example.com/gpu": 2, "hugepages-2Mi": "4Mi"})]},
            {"example.com/gpu": 2, "hugepages-2Mi": 2**22},
        ),
        ({"containers": [asks(limits={"cpu": 2})]}, {"cpu": 2000}),
        ({"containers": [asks({"cpu": 1}, {"cpu": 2, "memory": "1Ki"})]}, {"cpu": 1000, "memory": 1024}),
        ({"containers": [asks({"cpu": 0}, {"cpu": 2})]}, {}),
        ({"containers": [cpu(1)], "initContainers": [cpu(3), cpu(2)]}, {"cpu": 3000}),
        ({"containers": [cpu(2), cpu(2)], "initContainers": [cpu(3)]}, {"cpu": 4000}),
        ({"containers": [cpu(1)], "initContainers": [sidecar(1)]}, {"cpu": 2000}),
        # What an init container takes with the sidecars before it; one after it does not run yet.
        ({"containers": [cpu(1)], "initContainers": [sidecar(2), cpu(3)]}, {"cpu": 5000}),
        ({"containers": [cpu(1)], "initContainers": [cpu(3), sidecar(2)]}, {"cpu": 3000}),
        ({"containers": [cpu(1)], "initContainers": [sidecar(1), sidecar(1), cpu(1)]}, {"cpu": 3000}),
        ({"containers": [], "initContainers": [sidecar(1), cpu(1), sidecar(2)]}, {"cpu": 3000}),
        # Each resource has its own maximum.
        (
            {"containers": [asks({"cpu": 2, "memory": 10})], "initContainers": [asks({"cpu": 1, "memory": 20})]},
            {"cpu": 2000, "memory": 20},
        ),
        ({"containers": [cpu(1)], "overhead": {"cpu": "250m", "memory": 5}}, {"cpu": 1250, "memory": 5}),
        ({"containers": [cpu(1)], "initContainers": [cpu(3)], "overhead": {"cpu": 1}}, {"cpu": 4000}),
        # Pod-level requests.
        ({"containers": [cpu(1), cpu(1)], **asks({"cpu": 5})}, {"cpu": 5000}),
        ({"containers": [cpu(3)], **asks({"cpu": 1})}, {"cpu": 1000}),
        ({"containers": [cpu(1)], **asks(limits={"cpu": 4})}, {"cpu": 1000}),
        ({"containers": [{}], **asks(limits={"cpu": 4})}, {"cpu": 4000}),
        ({"containers": [{}], **asks({"example.com/gpu": 4})}, {}),
        ({"containers": [cpu(1)], **asks({"cpu": 2}), "overhead": {"cpu": 1}}, {"cpu": 3000}),
    ],
)
def test_effective_requests(spec, expected):
    assert requests(**spec) == {**expected, "pods": 1}


def test_resources_apart_are_left_out():
    spec = {"containers": [asks({"cpu": 1, "example.com/gpu": 2})]}
    assert requests(apart={"example.com/gpu": "gpu"}, **spec) == {"cpu": 1000, "pods": 1}


def test_amounts_are_exact():
    assert in_units({"cpu": "1e6", "memory": "8Ei", "pods": 110}) == {"cpu": 10**9, "memory": 2**63 - 1, "pods": 110}
    assert in_units(None) == {}


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2 << 30, "2Gi"),
        ("memory", 5, "5"),
        ("pods", 3, "3"),
        ("cpu", 0, "0"),
    ],
)
def test_amounts_are_written_as_in_manifests(resource, amount, text):
    assert written(resource, amount) == text
