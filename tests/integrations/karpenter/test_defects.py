"""Known defects of Karpenter that decide an answer are named (karpenter-dra 9); those that do not decide are not."""

from __future__ import annotations

import pytest
from support.karpenter import (
    CAPACITY_TYPE,
    ZONE,
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
