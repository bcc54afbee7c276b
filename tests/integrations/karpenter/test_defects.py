"""Known defects of Karpenter that decide an answer are named (karpenter-dra 9); those that do not decide are not."""

from __future__ import annotations

import pytest
from support.karpenter import (
    CAPACITY_TYPE,
    ZONE,
    claim,
    claim_spec,
    device_class,
    exactly,
    gpus,
    instance_type,
    is_in,
    node_pool,
    pod,
    template,
)

import drasat
from drasat.integrations.karpenter.defects import DecidedAnswer, deciding_defects
from drasat.integrations.karpenter.overlays import evaluate
from drasat.integrations.karpenter.simulation import LaunchedNode, ProvisioningRound
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.plans import scheduling_input

PORT = device_class("port", "net.example.com")
WANTS_PORT = template("port", claim_spec(exactly("r", "port")))
ONE = template("one", claim_spec(exactly()))
BOTH_ZONES = instance_type("plain", 1.0, zones=("z1", "z2"))


def ports(zone: str) -> dict[str, object]:
    """A published slice with a port, reached from nodes of the zone."""
    spec = {
        "driver": "net.example.com",
        "pool": {"name": zone, "generation": 1, "resourceSliceCount": 1},
        "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [is_in(ZONE, zone)]}]},
        "devices": [{"name": "port"}],
    }
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": zone}, "spec": spec}


def reserved(name: str, room: int) -> dict[str, object]:
    """A type with a reservation beside what is paid for by the hour."""
    offerings = [
        {
            "requirements": [is_in(ZONE, "z1"), is_in(CAPACITY_TYPE, kind)],
            "price": price,
            **({"reservationCapacity": room} if kind == "reserved" else {}),
        }
        for kind, price in (("reserved", "0.1"), ("on-demand", "1.0"))
    ]
    requirements = [
        is_in(ZONE, "z1"),
        is_in(CAPACITY_TYPE, "reserved", "on-demand"),
        is_in("kubernetes.io/arch", "amd64"),
        is_in("kubernetes.io/os", "linux"),
    ]
    return instance_type(name, 1.0, gpus(1), offerings=offerings, requirements=requirements)


def tainted() -> dict[str, object]:
    made = gpus(1)
    made["devices"][0]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    return made


TWO_PORTS = (node_pool(), PORT, WANTS_PORT, ports("z1"), ports("z2"), BOTH_ZONES)
SMALL = instance_type("small", 1.0, gpus(1))
CASES = {
    "pods of the other zone": (
        [*TWO_PORTS, pod("a", "port", nodeSelector={ZONE: "z2"})],
        "default/a: the device search sees the requirements of the node",
    ),
    "a reservation with one node left": (
        [node_pool(), device_class(), ONE, reserved("r", 1), pod("a", "one"), pod("b", "one")],
        "default/b: pods that contend for a reservation",
    ),
    "a limit of nodes": (
        [node_pool(limits={"nodes": "1"}), device_class(), ONE, SMALL, pod("a", "one"), pod("b", "one")],
        "NodePool general: a limit of nodes is not counted down",
    ),
    "a taint of a device": (
        [node_pool(), device_class(), ONE, instance_type("bad", 1.0, tainted()), pod("a", "one")],
        "default/a: taints of devices are ignored",
    ),
}


def named(objects, *planners):
    found = drasat.compare_purchases(drasat.load(objects, skip_validation=True), planners)
    return [said for one in found.planners for said in one.notices if "known defect" in said]


@pytest.mark.parametrize("case", CASES)
def test_a_defect_that_decides_is_named(case):
    objects, said = CASES[case]
    assert any(f"decides about {said}" in one for one in named(objects, "karpenter-like", "plan"))


def test_no_defect_is_named_where_none_decides():
    """E1: the greedy is dearer, and that is no defect."""
    types = (instance_type("small", 1.0, gpus(1)), instance_type("large", 2.5, gpus(4)))
    assert named([node_pool(), device_class(), ONE, *types, pod("a", "one"), pod("b", "one")], "karpenter-like") == []
    lacking = [node_pool(), device_class(), ONE, instance_type("none", 1.0), pod("a", "one")]
    assert named(lacking, "karpenter-like", "plan") == []


def test_a_type_that_is_too_small_may_tie_the_zone():
    """Correction 3: it lacks the first alternative, and the port that serves the second one is in its zone alone."""
    listed = [{"name": "gpu", "deviceClassName": "gpu"}, {"name": "port", "deviceClassName": "port"}]
    either = template("either", claim_spec({"name": "r", "firstAvailable": listed}))
    large = instance_type("large", 5.0, gpus(1), cpu="16", zones=("z2",))
    small = instance_type("small", 0.1, cpu="1", zones=("z1", "z2"))
    objects = [node_pool(), PORT, device_class(), either, ports("z1"), small, large, pod("a", "either", cpu="12")]
    found = named(objects, "karpenter-like", "plan")
    assert any("default/a: types into which the pod does not fit" in said for said in found)


def told(objects, possible=("default/a",), reason="no place", launched=()):
    """What is said of an answer of Karpenter: pods that it leaves though they have a place, and types it launches."""
    options = {"cel_errors": "kube", "seed": 0, "namespace": None, "selector": ""}
    inputs = scheduling_input(drasat.load(objects, skip_validation=True), gates=FeatureGates.all_on(), **options)
    nodes = tuple(LaunchedNode(kind, "general", kind, "z1", "on-demand", 1.0, (), (kind,)) for kind in launched)
    found = ProvisioningRound(nodes, {}, dict.fromkeys(possible, reason), 0.0, "v1")
    types = evaluate(inputs.cluster, FeatureGates.all_on()).types
    units = [one.unit for one in inputs.units]
    return list(map(str, deciding_defects(DecidedAnswer(inputs.cluster, units, types, found, possible, ()))))


def overlay(**spec):
    selected = [is_in("node.kubernetes.io/instance-type", "small")]
    head = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "o"}}
    return {**head, "spec": {"requirements": selected, **spec}}


def named_twice():
    """Two entries of a pod are one claim."""
    made = pod("a", "both", shared=True)
    made["spec"]["resourceClaims"].append({"name": "again", "resourceClaimName": "both"})
    return [claim("both", claim_spec(exactly())), made]


def with_room_of_its_own():
    """The offering has more than the type."""
    made = instance_type("small", 1.0)
    made["spec"]["offerings"][0]["capacity"] = {"cpu": "16"}
    return made


QUEUE = [node_pool(), device_class(), ONE, pod("a", "one")]
DEVICES = {"resourceSliceTemplates": [gpus(1)]}
READ_OFF = {
    "one time limit holds for the device search of all types together": (
        [*QUEUE, SMALL],
        {"reason": "allocating dynamic resources, context deadline exceeded"},
        {"reason": "no instance type can satisfy the allocation"},
        "default/a",
    ),
    "a claim that a pod names twice is searched twice": (
        [node_pool(), device_class(), SMALL, *named_twice()],
        {},
        {"possible": ()},
        "default/a",
    ),
    "minValues are looked at again after the device search, and no other pool is tried": (
        [*QUEUE, SMALL],
        {"reason": "minValues requirement is not met for label(s) (label(s)=[node.kubernetes.io/instance-type])"},
        {},
        "default/a",
    ),
    "devices of NodeOverlays are not known": (
        [*QUEUE, instance_type("small", 1.0), overlay(dynamicResources=DEVICES)],
        {},
        {"possible": ()},
        "default/a",
    ),
    "offerings with another price lose the capacity that is their own": (
        [*QUEUE, with_room_of_its_own(), overlay(price="0.5")],
        {"launched": ("small",)},
        {},
        "InstanceType small",
    ),
}


@pytest.mark.parametrize("name", READ_OFF)
def test_a_defect_is_read_off_the_answer(name):
    """Corrections 5, 7, 10, 12, and 0: named where it decides, and not where the answer has another reason."""
    objects, deciding, other, about = READ_OFF[name]
    assert f"a known defect of Karpenter decides about {about}: {name}" in told(objects, **deciding)
    assert not any(name in said for said in told(objects, **other))
