"""Scenarios of Karpenter's allocator, by name: what waits, which types are launched, and which pods get no place.

They are the list of karpenter-dra 6. ``launched`` and ``left`` are what Karpenter decides. ``planned`` is how many pods
a plan places, where that is not the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from support.karpenter import (
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

PCIE = "resource.kubernetes.io/pcieRoot"
GPU, NIC = device_class(), device_class("nic", "nic.example.com")
NET = device_class("net", "net.example.com")
ONE, TWO = template("one", claim_spec(exactly())), template("two", claim_spec(exactly(count=2)))
PORT = template("port", claim_spec(exactly("r", "net")))
ALIGNED = [{"requests": [], "matchAttribute": PCIE}]
PAIR = template("pair", claim_spec(exactly("gpu"), exactly("nic", "nic"), constraints=ALIGNED))


@dataclass(frozen=True)
class Scenario:
    """Objects beside a pool, and what becomes of them."""

    objects: tuple[dict[str, Any], ...]
    launched: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    planned: int | None = None


def scenario(*objects: dict[str, Any], left: str = "", launched: str = "", planned: int | None = None) -> Scenario:
    return Scenario(
        (node_pool(), *objects), tuple(sorted(launched.split())), tuple(f"default/{p}" for p in left.split()), planned
    )


def published(name: str, *devices: Any, slices: int = 1, generation: int = 1, **reach: Any) -> dict[str, Any]:
    """A slice of ``net.example.com``, reached from everywhere unless something else is said."""
    made = [one if isinstance(one, dict) else {"name": one} for one in devices]
    pool = {"name": name.partition("/")[0], "generation": generation, "resourceSliceCount": slices}
    spec = {"driver": "net.example.com", "pool": pool, "devices": made, **(reach or {"allNodes": True})}
    metadata = {"name": name.replace("/", "-")}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def in_zone(zone: str) -> dict[str, Any]:
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [is_in(ZONE, zone)]}]}}


def held(name: str, device: str, *, by: str = "", **status: Any) -> dict[str, Any]:
    """A claim that has a device of the pool ``fabric``."""
    results = [{"request": "r", "driver": "net.example.com", "pool": "fabric", "device": device}]
    made = claim(name, claim_spec(exactly("r", "net")))
    consumers = [{"resource": "pods", "name": one, "uid": one} for one in by.split()]
    made["status"] = {"allocation": {"devices": {"results": results}, **status}, "reservedFor": consumers}
    return made


def selected(expression: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}}]


def wanting(name: str, expression: str, **more: Any) -> dict[str, Any]:
    return template(name, claim_spec(exactly(selectors=selected(expression), **more)))


def rooted(kind: str, *roots: str) -> dict[str, Any]:
    """Devices with a published root each; an empty one is not published."""
    listed = [
        {"name": f"{kind}-{number}", **({"attributes": {PCIE: {"string": root}}} if root else {})}
        for number, root in enumerate(roots)
    ]
    return {"driver": f"{kind}.example.com", "pool": f"{kind}s", "devices": listed}


def bound(*devices: str) -> dict[str, Any]:
    kinds = [one.partition("-")[0] for one in devices]
    listed = [
        {"driver": f"{kind}.example.com", "pool": f"{kind}s", "device": one}
        for kind, one in zip(kinds, devices, strict=True)
    ]
    return {"attribute": PCIE, "devices": listed}


def divided(*sizes: int, budget: int = 80) -> tuple[dict[str, Any], dict[str, Any]]:
    listed = [
        {
            "name": f"part-{number}",
            "consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": str(size)}}}],
        }
        for number, size in enumerate(sizes)
    ]
    counters = [{"name": "gpu", "counters": {"memory": {"value": str(budget)}}}]
    driver = "gpu.example.com"
    return {"driver": driver, "sharedCounters": counters}, {"driver": driver, "devices": listed}


def shared_link(value: str = "10", **policy: Any) -> dict[str, Any]:
    capacity = {"bandwidth": {"value": value, "requestPolicy": policy}}
    device = {"name": "link", "allowMultipleAllocations": True, "capacity": capacity}
    return {"driver": "gpu.example.com", "devices": [device]}


def bandwidth(name: str, amount: str) -> dict[str, Any]:
    asked = {"capacity": {"requests": {"bandwidth": amount}}} if amount else {}
    return template(name, claim_spec(exactly(**asked)))


SMALL, LARGE = instance_type("small", 1.0, gpus(1)), instance_type("large", 2.5, gpus(4))
PLAIN = instance_type("plain", 0.5, zones=("z1", "z2"))
WITH_PORT = instance_type("with-port", 1.0, gpus(1, "net.example.com", "own"))
EITHER = {
    "name": "r",
    "firstAvailable": [
        {"name": "many", "deviceClassName": "gpu", "count": 2},
        {"name": "nic", "deviceClassName": "nic"},
    ],
}
STEPS = {"default": "2", "validRange": {"min": "2", "step": "2", "max": "8"}}
VALUES = {"default": "2", "validValues": ["2", "4", "8"]}

# Each type has an alternative of its own: "roomy" its GPU, "narrow" the published port.
OWN_OR_PORT = {
    "name": "r",
    "firstAvailable": [{"name": "own", "deviceClassName": "gpu"}, {"name": "port", "deviceClassName": "net"}],
}
BY_TYPE = (
    GPU,
    NIC,
    NET,
    PORT,
    template("either", claim_spec(OWN_OR_PORT)),
    template("nic", claim_spec(exactly("r", "nic"))),
    published("fabric", "port"),
    instance_type("roomy", 2.0, gpus(1), gpus(1, "nic.example.com", "nic"), cpu="8"),
    instance_type("narrow", 1.0, gpus(1, "nic.example.com", "nic"), cpu="4"),
    instance_type("plain", 0.5, zones=("z2",)),
    pod("a", "either", cpu="3", nodeSelector={ZONE: "z1"}),
    pod("c", "port", nodeSelector={ZONE: "z2"}),
)

SCENARIOS: dict[str, Scenario] = {
    "one device": scenario(GPU, ONE, SMALL, pod("a", "one"), launched="small"),
    "two of three": scenario(GPU, TWO, instance_type("three", 1.0, gpus(3)), pod("a", "two"), launched="three"),
    "distinct claims of one pod do not share": scenario(
        GPU, ONE, template("same", claim_spec(exactly("r"), exactly("s"))), SMALL, pod("a", "same"), left="a"
    ),
    "in-cluster preferred": scenario(
        NET, PORT, published("fabric", "port"), PLAIN, WITH_PORT, pod("a", "port"), launched="plain"
    ),
    "in-cluster taken -> template": scenario(
        NET,
        PORT,
        published("fabric", "port"),
        held("other", "port", by="someone"),
        PLAIN,
        WITH_PORT,
        pod("a", "port"),
        launched="with-port",
    ),
    "cross node block": scenario(
        NET,
        PORT,
        published("fabric", "port"),
        PLAIN,
        pod("a", "port", cpu="6"),
        pod("b", "port", cpu="6"),
        launched="plain",
        left="b",
    ),
    "cross node block by one type of the node": scenario(*BY_TYPE, launched="narrow", left="c", planned=2),
    "release after IT pruning": scenario(
        *BY_TYPE, pod("b", "nic", cpu="2", nodeSelector={ZONE: "z1"}), launched="plain roomy"
    ),
    "same node, different types may plan the same in-cluster device": scenario(
        NET, PORT, published("fabric", "port"), PLAIN, instance_type("other", 0.7), pod("a", "port"), launched="plain"
    ),
    "All, complete": scenario(
        GPU, template("all", claim_spec(exactly(allocationMode="All"))), LARGE, pod("a", "all"), launched="large"
    ),
    "All, incomplete pool": scenario(
        NET,
        template("all", claim_spec(exactly("r", "net", allocationMode="All"))),
        published("fabric", "port", slices=2),
        WITH_PORT,
        pod("a", "all"),
        left="a",
        # An incomplete pool that no node has is nothing to kube-scheduler's rules about other pools of a node.
        planned=0,
    ),
    "32 limit": scenario(
        GPU,
        template("many", claim_spec(exactly("r", count=17), exactly("s", count=16))),
        instance_type("huge", 9.0, gpus(40)),
        pod("a", "many"),
        left="a",
    ),
    "missing class": scenario(ONE, SMALL, pod("a", "one"), left="a"),
    "bad CEL": scenario(GPU, wanting("bad", "device.nothing("), SMALL, pod("a", "bad"), left="a"),
    "CEL runtime error": scenario(
        GPU, wanting("err", 'device.attributes["gpu.example.com"].model == "x"'), SMALL, pod("a", "err"), left="a"
    ),
    "constraint concrete": scenario(
        GPU,
        NIC,
        PAIR,
        instance_type("t", 1.0, rooted("gpu", "r0", "r1"), rooted("nic", "r1")),
        pod("a", "pair"),
        launched="t",
    ),
    "constraint binding": scenario(
        GPU,
        NIC,
        PAIR,
        instance_type("t", 1.0, rooted("gpu", ""), rooted("nic", ""), attributeBindings=[bound("gpu-0", "nic-0")]),
        pod("a", "pair"),
        launched="t",
    ),
    "constraint mixed": scenario(
        GPU,
        NIC,
        PAIR,
        instance_type("t", 1.0, rooted("gpu", "r0"), rooted("nic", ""), attributeBindings=[bound("gpu-0", "nic-0")]),
        pod("a", "pair"),
        left="a",
    ),
    "transitive binding": scenario(
        GPU,
        NIC,
        PAIR,
        instance_type(
            "t",
            1.0,
            rooted("gpu", "", "r9"),
            rooted("nic", "r8", ""),
            rooted("hub", ""),
            attributeBindings=[bound("gpu-0", "hub-0"), bound("hub-0", "nic-1")],
        ),
        pod("a", "pair"),
        launched="t",
    ),
    "binding scoped by type": scenario(
        GPU,
        NIC,
        PAIR,
        instance_type("bare", 0.5, rooted("gpu", ""), rooted("nic", "")),
        instance_type("bound", 1.0, rooted("gpu", ""), rooted("nic", ""), attributeBindings=[bound("gpu-0", "nic-0")]),
        pod("a", "pair"),
        launched="bound",
    ),
    "constraint on a subset of requests": scenario(
        GPU,
        NIC,
        template(
            "some",
            claim_spec(
                exactly("gpu"),
                exactly("nic", "nic"),
                exactly("free"),
                constraints=[{"requests": ["gpu", "nic"], "matchAttribute": PCIE}],
            ),
        ),
        instance_type("t", 1.0, rooted("gpu", "r0", "r1"), rooted("nic", "r1")),
        pod("a", "some"),
        launched="t",
    ),
    "first alternative infeasible": scenario(
        GPU,
        NIC,
        template("any", claim_spec(EITHER)),
        instance_type("t", 1.0, gpus(1), gpus(1, "nic.example.com", "nic")),
        pod("a", "any"),
        launched="t",
    ),
    "backtracking into an earlier request": scenario(
        GPU,
        template(
            "two-kinds",
            claim_spec(
                exactly("any"),
                exactly("good", selectors=selected('device.attributes["gpu.example.com"].?good.orValue("") == "yes"')),
            ),
        ),
        instance_type(
            "t",
            1.0,
            {
                "driver": "gpu.example.com",
                "devices": [{"name": "a", "attributes": {"good": {"string": "yes"}}}, {"name": "b"}],
            },
        ),
        pod("a", "two-kinds"),
        launched="t",
    ),
    "alternatives per type": scenario(
        GPU,
        NIC,
        template("any", claim_spec(EITHER)),
        instance_type("dear", 8.0, gpus(2)),
        instance_type("cheap", 3.0, gpus(1, "nic.example.com", "nic")),
        pod("a", "any"),
        launched="cheap",
    ),
    "counters fit": scenario(GPU, ONE, instance_type("t", 1.0, *divided(40, 40)), pod("a", "one"), launched="t"),
    "counters exceed": scenario(GPU, ONE, instance_type("t", 1.0, *divided(81)), pod("a", "one"), left="a"),
    "counters shared by two pods": scenario(
        GPU, ONE, instance_type("t", 1.0, *divided(50, 50)), pod("a", "one"), pod("b", "one"), launched="t t"
    ),
    "capacity default": scenario(
        GPU,
        bandwidth("plain", ""),
        instance_type("t", 1.0, shared_link("4", **STEPS)),
        *(pod(name, "plain") for name in "abc"),
        launched="t t",
    ),
    "capacity step": scenario(
        GPU,
        bandwidth("three", "3"),
        instance_type("t", 1.0, shared_link("8", **STEPS)),
        *(pod(name, "three") for name in "abc"),
        launched="t t",
    ),
    "capacity valid values": scenario(
        GPU,
        bandwidth("five", "5"),
        instance_type("t", 1.0, shared_link("8", **VALUES)),
        *(pod(name, "five") for name in "ab"),
        launched="t t",
    ),
    "capacity over": scenario(
        GPU, bandwidth("nine", "9"), instance_type("t", 1.0, shared_link("20", **STEPS)), pod("a", "nine"), left="a"
    ),
    "nodeName devices never on new nodes": scenario(
        NET, PORT, published("fabric", "port", nodeName="gone"), PLAIN, pod("a", "port"), left="a"
    ),
    "zone selector tightens": scenario(
        NET,
        PORT,
        published("fabric", "port", **in_zone("z2")),
        PLAIN,
        instance_type("other", 0.1, zones=("z1",)),
        pod("a", "port"),
        launched="plain",
    ),
    "incompatible allocated claim": scenario(
        NET,
        published("fabric", "port"),
        held("mine", "port", **in_zone("z9")),
        PLAIN,
        pod("a", "mine", shared=True),
        left="a",
    ),
    "claim reused by a second pod on the same node": scenario(
        GPU,
        claim("both", claim_spec(exactly())),
        SMALL,
        *(pod(name, "both", shared=True) for name in "ab"),
        launched="small",
    ),
    "claim reused by a second pod on another node": scenario(
        GPU,
        claim("both", claim_spec(exactly())),
        SMALL,
        *(pod(name, "both", shared=True, cpu="6") for name in "ab"),
        launched="small",
        left="b",
    ),
    "a claim that is not created yet defers the pod": scenario(GPU, SMALL, pod("a", "missing", shared=True), left="a"),
    "generation change": scenario(
        NET,
        PORT,
        published("fabric/old", "port"),
        published("fabric/new", generation=2),
        PLAIN,
        pod("a", "port"),
        left="a",
    ),
    "duplicate names": scenario(
        NET,
        PORT,
        published("fabric/1", "port", slices=2),
        published("fabric/2", "port", slices=2),
        PLAIN,
        pod("a", "port"),
        left="a",
    ),
    "a pod without claims is unaffected": scenario(GPU, SMALL, PLAIN, pod("a"), launched="plain"),
}
