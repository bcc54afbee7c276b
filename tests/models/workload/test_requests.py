"""What pods ask of a node, counted as the scheduler counts it."""

import pytest
from support.data import cases

from drasat.models.formats.decode import to_object
from drasat.models.kubernetes.core import PodSpec
from drasat.models.workload.requests import effective_requests, format_amount, integer_amounts


def requests(apart=(), **spec):
    read, problems = to_object(spec, PodSpec)
    assert problems == []
    return effective_requests(read, apart)


def asks(requests=None, limits=None, **fields):
    return {"resources": {"requests": requests or {}, "limits": limits or {}}, **fields}


@pytest.mark.parametrize(("spec", "expected"), cases("models/pod-requests", "effective_requests"))
def test_effective_requests(spec, expected):
    assert requests(**spec) == {**expected, "pods": 1}


def test_resources_apart_are_left_out():
    spec = {"containers": [asks({"cpu": 1, "example.com/gpu": 2})]}
    assert requests(apart={"example.com/gpu": "gpu"}, **spec) == {"cpu": 1000, "pods": 1}


def test_amounts_are_exact():
    assert integer_amounts({"cpu": "1e6", "memory": "8Ei", "pods": 110}) == {
        "cpu": 10**9,
        "memory": 2**63 - 1,
        "pods": 110,
    }
    assert integer_amounts(None) == {}


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
    assert format_amount(resource, amount) == text
