"""Extended resources that device classes back."""

import msgspec
import pytest
from support.manifests import cluster, container, device_class, entry, node, obj, pod, template

from drasat.models.kubernetes.core import PodSpec
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.workload.expansion import expand_units
from drasat.models.workload.node_room import remaining_allocatable
from drasat.models.workload.queue import read_queue
from drasat.models.workload.requests import (
    EXTENDED_CLAIM_ANNOTATION,
    backing_classes,
    extended_claim,
    extended_claim_spec,
)

GPU = "example.com/gpu"


def asking(**amounts):
    named = {name.replace("__", "/").replace("_", "."): amount for name, amount in amounts.items()}
    return {"name": "main", "resources": {"limits": named}}


def made(spec, **backing):
    read = msgspec.convert(spec, PodSpec)
    claim = extended_claim_spec(read, {f"example.com/{name}": one for name, one in backing.items()})
    requests = claim.devices.requests if claim else ()
    return [(one.name, one.exactly.device_class_name, one.exactly.count) for one in requests]


def test_each_container_and_resource_is_a_request():
    spec = {
        "initContainers": [asking(example_com__gpu=1)],
        "containers": [asking(cpu=1), asking(example_com__nic="2", example_com__gpu=4, memory="1Gi")],
    }
    assert made(spec, gpu="gpu-class", nic="nic-class") == [
        ("container-0-request-0", "gpu-class", 1),
        ("container-2-request-0", "gpu-class", 4),
        ("container-2-request-1", "nic-class", 2),
    ]


@pytest.mark.parametrize("spec", [{}, {"containers": [asking(cpu=1)]}, {"containers": [asking(example_com__gpu=0)]}])
def test_without_a_backed_resource_there_is_no_claim(spec):
    assert made(spec, gpu="gpu-class") == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {}, "a"),
        ({"creationTimestamp": "2026-01-01T00:00:00Z"}, {}, "a"),
        ({}, {"creationTimestamp": "2026-01-01T00:00:00Z"}, "b"),
        ({"creationTimestamp": "2026-02-01T00:00:00Z"}, {"creationTimestamp": "2026-01-31T00:00:00Z"}, "a"),
    ],
)
def test_of_several_classes_the_newest_counts_then_the_first_by_name(first, second, expected):
    built = cluster(device_class("b", GPU, **second), device_class("a", GPU, **first))
    prefix = "deviceclass.resource.kubernetes.io"
    assert backing_classes(built.classes) == {GPU: expected, f"{prefix}/a": "a", f"{prefix}/b": "b"}


def test_the_claim_comes_last_and_is_marked():
    wanting = pod("p", entry("own", template="t"), spec={"containers": [asking(example_com__gpu=2, cpu=1)]})
    built = cluster(device_class("gpu", GPU), template(), wanting)
    sets = read_queue(built)
    assert sets[0].shape.requests == {"cpu": 1000, "pods": 1}
    assert [len(one.spec.devices.requests) for one in sets[0].shape.claims] == [1, 1]
    (one,) = expand_units(built, sets)
    own, extended = one.unit.claims
    assert (own.name, extended.name) == ("p-own", "p-extended-resources")
    assert extended.claim.metadata.annotations == {EXTENDED_CLAIM_ANNOTATION: "true"}
    assert extended.raw["spec"]["devices"]["requests"] == [
        {
            "name": "container-0-request-0",
            "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
        }
    ]


def test_a_taken_name_is_not_used_again():
    there = obj("ResourceClaim", "p-extended-resources", {"devices": {"requests": []}})
    built = cluster(device_class("gpu", GPU), there, pod("p", spec={"containers": [asking(example_com__gpu=2)]}))
    units = [one.unit for one in expand_units(built, read_queue(built)) if one.unit.pod]
    assert [ref.name for unit in units for ref in unit.claims] == ["p-extended-resources-2"]


def test_the_implicit_name_of_a_class_serves_too():
    name = "deviceclass.resource.kubernetes.io/gpu"
    wanting = pod("p", spec={"containers": [{"resources": {"limits": {name: 3}}}]})
    (one,) = read_queue(cluster(device_class("gpu"), wanting))
    assert one.shape.requests == {"pods": 1}
    assert one.shape.claims[0].spec.devices.requests[0].exactly.count == 3


def test_without_the_feature_the_resource_is_counted_on_the_node():
    built = cluster(device_class("gpu", GPU), pod("p", spec={"containers": [asking(example_com__gpu=2)]}))
    off = FeatureGates(FeatureGates.all_on().enabled - {"DRAExtendedResource"})
    (one,) = read_queue(built, gates=off)
    assert (one.shape.requests, one.shape.claims) == ({GPU: 2, "pods": 1}, ())


def test_a_claim_that_was_made_before_is_used():
    status = {"extendedResourceClaimStatus": {"requestMappings": [], "resourceClaimName": "made"}}
    there = obj("ResourceClaim", "made", {"devices": {"requests": []}})
    wanting = pod("p", spec={"containers": [asking(example_com__gpu=2)]}, status=status)
    built = cluster(device_class("gpu", GPU), there, wanting)
    (one,) = read_queue(built)
    assert len(one.shape.claims) == 1
    assert [ref.name for unit in expand_units(built, [one]) for ref in unit.unit.claims] == ["made"]


@pytest.mark.parametrize(("served", "left"), [(True, 8), (False, 6)])
def test_pods_that_got_devices_do_not_take_of_the_node(served, left):
    """A pod without a claim for it has the resource from a device plugin."""
    status = {"extendedResourceClaimStatus": {"requestMappings": [], "resourceClaimName": "made"}} if served else {}
    there = pod("p", spec={"nodeName": "n", "containers": [asking(example_com__gpu=2)]}, status=status)
    built = cluster(device_class("gpu", GPU), node("n", **{GPU: 8}), there)
    assert remaining_allocatable(built)["n"] == {GPU: left}


def test_claims_are_of_the_pods_namespace():
    spec = extended_claim_spec(
        msgspec.convert({"containers": [container(), asking(example_com__gpu=1)]}, PodSpec), {GPU: "c"}
    )
    assert extended_claim("ns", "x", spec).metadata.namespace == "ns"
