"""Random questions to Karpenter: pools, types and pods, by the kind of devices that they are about."""

from __future__ import annotations

import random
from typing import Any

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
    node,
    node_claim,
    node_pool,
    pod,
    published_by,
    running,
    template,
)

PCIE = "resource.kubernetes.io/pcieRoot"


def offered(chance: random.Random, name: str, *slices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A type with random places, prices and sizes."""
    places = [(zone, kind) for zone in ("z1", "z2") for kind in ("spot", "on-demand")]
    chosen = chance.sample(places, chance.randint(1, 4))
    offerings = [
        {"requirements": [is_in(ZONE, zone), is_in(CAPACITY_TYPE, kind)], "price": f"{chance.randint(1, 4000) / 1000}"}
        for zone, kind in chosen
    ]
    requirements = [
        is_in(ZONE, *sorted({zone for zone, _ in chosen})),
        is_in(CAPACITY_TYPE, *sorted({kind for _, kind in chosen})),
        is_in("kubernetes.io/arch", chance.choice(("amd64", "amd64", "arm64"))),
        is_in("kubernetes.io/os", "linux"),
    ]
    given = {"requirements": requirements, "offerings": offerings, **spec}
    return instance_type(name, 1.0, *slices, cpu=str(chance.choice((2, 4, 8))), **given)


def plain_wishes(chance: random.Random) -> dict[str, Any]:
    """What a pod may demand of its node."""
    selectors = ({ZONE: "z1"}, {CAPACITY_TYPE: "on-demand"}, {"kubernetes.io/arch": "arm64"}, {"team": "ml"})
    made: dict[str, Any] = {}
    if chance.random() < 0.3:
        made["nodeSelector"] = chance.choice(selectors)
    if chance.random() < 0.2:
        terms = [
            {"matchExpressions": [is_in(ZONE, chance.choice(("z1", "z2", "z3")))]} for _ in range(chance.randint(1, 2))
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        made["affinity"] = {"nodeAffinity": required}
    if chance.random() < 0.3:
        made["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return made


def pools(chance: random.Random) -> list[dict[str, Any]]:
    made = []
    for name in ("p1", "p2")[: chance.randint(1, 2)]:
        spec: dict[str, Any] = {}
        if chance.random() < 0.5:
            spec["weight"] = chance.choice((1, 10))
        if chance.random() < 0.3:
            spec["limits"] = {"cpu": str(chance.choice((4, 8, 16)))}
        requirements = [is_in(CAPACITY_TYPE, "spot", "on-demand")] if chance.random() < 0.5 else []
        one = node_pool(name, *requirements, **spec)
        if chance.random() < 0.3:
            effect = chance.choice(("NoSchedule", "PreferNoSchedule"))
            one["spec"]["template"]["spec"]["taints"] = [{"key": "dedicated", "value": "x", "effect": effect}]
        if chance.random() < 0.4:
            one["spec"]["template"]["metadata"] = {"labels": {"team": "ml"}}
        made.append(one)
    return made


def pods(chance: random.Random, templates: list[str]) -> list[dict[str, Any]]:
    made = []
    for number in range(chance.randint(2, 8)):
        source = chance.choice(templates) if templates and chance.random() < 0.8 else ""
        one = pod(f"p{number}", source, cpu=str(chance.choice((1, 1, 2, 3))), **plain_wishes(chance))
        # Order is chance otherwise.
        one["metadata"].update(creationTimestamp=f"2025-01-01T00:00:{number:02}Z", uid=f"u{number}")
        made.append(one)
    return made


def counts(chance: random.Random) -> list[dict[str, Any]]:
    """Numbers of equal devices, and everything on a node."""
    types = [offered(chance, f"t{n}", gpus(chance.randint(1, 4))) for n in range(3)]
    asked = [template("one", claim_spec(exactly())), template("two", claim_spec(exactly(count=2)))]
    asked.append(template("all", claim_spec(exactly(allocationMode="All"))))
    return [device_class(), *types, *asked, *pods(chance, ["one", "one", "two", "all"])]


def selected(chance: random.Random) -> list[dict[str, Any]]:
    """Models told apart by expressions, and alternatives."""
    models = ("a", "b", "c")
    types = [
        offered(
            chance,
            f"t{n}",
            {
                "driver": "gpu.example.com",
                "devices": [
                    {"name": f"g{n}-{i}", "attributes": {"model": {"string": chance.choice(models)}}}
                    for i in range(chance.randint(1, 3))
                ],
            },
        )
        for n in range(3)
    ]

    def of_model(model: str) -> list[dict[str, Any]]:
        return [{"cel": {"expression": f'device.attributes["gpu.example.com"].model == "{model}"'}}]

    asked = [template(model, claim_spec(exactly(selectors=of_model(model)))) for model in models]
    listed = [
        {"name": model, "deviceClassName": "gpu", "selectors": of_model(model), "count": chance.randint(1, 2)}
        for model in chance.sample(models, 2)
    ]
    asked.append(template("any", claim_spec({"name": "r", "firstAvailable": listed})))
    return [device_class(), *types, *asked, *pods(chance, [*models, "any"])]


def aligned(chance: random.Random) -> list[dict[str, Any]]:
    """GPUs and NICs with one PCIe root: known, or unknown and bound."""
    types = []
    for n in range(3):
        number = chance.randint(1, 3)
        known = chance.random() < 0.5

        def devices(stem: str, count: int = number, known: bool = known) -> list[dict[str, Any]]:
            roots = [{PCIE: {"string": f"root-{chance.randint(0, 1)}"}} if known else {} for _ in range(count)]
            return [{"name": f"{stem}-{i}", "attributes": roots[i]} for i in range(count)]

        slices = (
            {"driver": "gpu.example.com", "pool": "gpus", "devices": devices("gpu")},
            {"driver": "nic.example.com", "pool": "nics", "devices": devices("nic")},
        )
        bindings = [
            {
                "attribute": PCIE,
                "devices": [
                    {"driver": "gpu.example.com", "pool": "gpus", "device": f"gpu-{chance.randrange(number)}"},
                    {"driver": "nic.example.com", "pool": "nics", "device": f"nic-{chance.randrange(number)}"},
                ],
            }
            for _ in range(chance.randint(0, 3))
        ]
        types.append(offered(chance, f"t{n}", *slices, attributeBindings=bindings))
    constraint = {"requests": [], "matchAttribute": PCIE}
    pair = claim_spec(exactly("gpu"), exactly("nic", "nic"), constraints=[constraint])
    asked = [template("pair", pair), template("one", claim_spec(exactly()))]
    return [
        device_class(),
        device_class("nic", "nic.example.com"),
        *types,
        *asked,
        *pods(chance, ["pair", "pair", "one"]),
    ]


def partitions(chance: random.Random) -> list[dict[str, Any]]:
    """Partitions that draw counters, and devices that are shared."""

    def partition(name: str, amount: int) -> dict[str, Any]:
        used = [{"counterSet": "gpu", "counters": {"memory": {"value": str(amount)}}}]
        return {"name": name, "attributes": {"size": {"int": amount}}, "consumesCounters": used}

    types = []
    for n in range(3):
        budget = {"name": "gpu", "counters": {"memory": {"value": str(chance.choice((40, 80)))}}}
        listed = [partition(f"m{i}", chance.choice((20, 40))) for i in range(chance.randint(2, 4))]
        shared = {
            "name": "link",
            "allowMultipleAllocations": True,
            "capacity": {
                "bandwidth": {"value": "10", "requestPolicy": {"default": "2", "validRange": {"min": "1", "step": "1"}}}
            },
        }
        slices = (
            {"driver": "gpu.example.com", "sharedCounters": [budget]},
            {"driver": "gpu.example.com", "devices": listed},
            {"driver": "net.example.com", "devices": [shared]},
        )
        types.append(offered(chance, f"t{n}", *slices))
    asked = [
        template("one", claim_spec(exactly())),
        template("net", claim_spec(exactly("r", "net"))),
        template("wide", claim_spec(exactly("r", "net", capacity={"requests": {"bandwidth": "5"}}))),
    ]
    return [
        device_class(),
        device_class("net", "net.example.com"),
        *types,
        *asked,
        *pods(chance, ["one", "net", "wide"]),
    ]


def sharers(chance: random.Random) -> list[dict[str, Any]]:
    """Claims that several pods share."""
    types = [offered(chance, f"t{n}", gpus(chance.randint(1, 3))) for n in range(3)]
    made = [claim(name, claim_spec(exactly())) for name in ("s1", "s2")]
    listed = [
        pod(f"p{n}", chance.choice(("s1", "s2")), shared=True, cpu=str(chance.choice((1, 2))), **plain_wishes(chance))
        for n in range(chance.randint(2, 5))
    ]
    for number, one in enumerate(listed):
        one["metadata"].update(creationTimestamp=f"2025-01-01T00:00:{number:02}Z", uid=f"u{number}")
    return [device_class(), *types, *made, *listed]


def fabric(chance: random.Random) -> list[dict[str, Any]]:
    """A published device beside those of nodes to be."""
    zone = chance.choice(("z1", "z2"))
    selector = {"nodeSelectorTerms": [{"matchExpressions": [is_in(ZONE, zone)]}]}
    pool = {"name": "fabric", "generation": 1, "resourceSliceCount": 1}
    ports = [{"name": f"port-{i}"} for i in range(chance.randint(1, 3))]
    reach = {"nodeSelector": selector} if chance.random() < 0.7 else {"allNodes": True}
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "fabric"},
        "spec": {"driver": "net.example.com", "pool": pool, **reach, "devices": ports},
    }
    types = [offered(chance, f"t{n}", gpus(chance.randint(1, 3))) for n in range(3)]
    both = claim_spec(exactly("g"), exactly("p", "net"))
    asked = [
        template("one", claim_spec(exactly())),
        template("port", claim_spec(exactly("r", "net"))),
        template("both", both),
    ]
    classes = (device_class(), device_class("net", "net.example.com"))
    return [*classes, published, *types, *asked, *pods(chance, ["one", "port", "both"])]


def reservations(chance: random.Random) -> list[dict[str, Any]]:
    """Offerings that are paid for already, in small numbers, beside others and alone."""
    types = []
    for n in range(3):
        one = offered(chance, f"t{n}", gpus(chance.randint(1, 3)))
        spec, room = one["spec"], chance.choice((0, 1, 1, 2))
        reserved = {
            "requirements": [is_in(ZONE, chance.choice(("z1", "z2"))), is_in(CAPACITY_TYPE, "reserved")],
            "price": f"{chance.randint(1, 900) / 1000}",
            "reservationCapacity": room,
        }
        spec["offerings"] = [*(spec["offerings"] if chance.random() < 0.7 else []), reserved]
        places = [{req["key"]: req["values"][0] for req in made["requirements"]} for made in spec["offerings"]]
        known = [is_in(key, *sorted({place[key] for place in places})) for key in (ZONE, CAPACITY_TYPE)]
        spec["requirements"] = [*known, *spec["requirements"][2:]]
        types.append(one)
    asked = [template("one", claim_spec(exactly())), template("two", claim_spec(exactly(count=2)))]
    return [device_class(), *types, *asked, *pods(chance, ["one", "two"])]


def inhabited(chance: random.Random) -> list[dict[str, Any]]:
    """Nodes that are there: Karpenter's own, which may be starting, and others; with pods on some of them."""
    types = [offered(chance, f"t{n}", gpus(chance.randint(1, 3))) for n in range(3)]
    made: list[dict[str, Any]] = []
    for number in range(chance.randint(1, 3)):
        kind, name = chance.choice(types), f"n{number}"
        place = {one["key"]: one["values"][0] for one in chance.choice(kind["spec"]["offerings"])["requirements"]}
        starting = chance.random() < 0.4
        there = node(name, kind["metadata"]["name"], cpu=kind["spec"]["capacity"]["cpu"])
        labels = there["metadata"]["labels"]
        labels.update(place, **({} if starting else {"karpenter.sh/initialized": "true"}))
        labels["karpenter.sh/nodepool"] = chance.choice(("p1", "p2"))
        made.append(there)
        if chance.random() < 0.8:
            made.append(node_claim(name))
        if chance.random() < 0.7:
            made.append(published_by(name, chance.randint(1, 3)))
        if chance.random() < 0.5:
            made.append(running(f"r{number}", name, cpu=str(chance.choice((1, 2)))))
        if starting and chance.random() < 0.5:
            there["spec"]["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    asked = [template("one", claim_spec(exactly())), template("two", claim_spec(exactly(count=2)))]
    return [device_class(), *types, *made, *asked, *pods(chance, ["one", "two"])]


def varied(chance: random.Random) -> list[dict[str, Any]]:
    """Overlays that change prices and resources, and pods that ask for these."""
    types = [offered(chance, f"t{n}", gpus(chance.randint(1, 3))) for n in range(3)]
    overlays = []
    for number in range(chance.randint(1, 3)):
        change = chance.choice(({"price": "0.5"}, {"priceAdjustment": "-40%"}, {"priceAdjustment": "+1"}, {}))
        resource = {"capacity": {"example.com/fuse": str(chance.randint(1, 3))}} if chance.random() < 0.5 else {}
        selected = chance.choice(
            (
                is_in("node.kubernetes.io/instance-type", f"t{chance.randint(0, 2)}"),
                is_in(CAPACITY_TYPE, "spot"),
                is_in(ZONE, "z1"),
                is_in("karpenter.sh/nodepool", "p1"),
            )
        )
        overlays.append(
            {
                "apiVersion": "karpenter.sh/v1alpha1",
                "kind": "NodeOverlay",
                "metadata": {"name": f"o{number}"},
                "spec": {"requirements": [selected], "weight": chance.choice((1, 2)), **change, **resource},
            }
        )
    listed = pods(chance, ["one"])
    for one in listed:
        if chance.random() < 0.3:
            one["spec"]["containers"][0]["resources"]["requests"]["example.com/fuse"] = "1"
    return [device_class(), *types, *overlays, template("one", claim_spec(exactly())), *listed]


FAMILIES = (counts, selected, aligned, partitions, sharers, fabric, reservations, inhabited, varied)


def question(family: Any, seed: int) -> list[dict[str, Any]]:
    """The objects of one question of a family."""
    chance = random.Random(f"{family.__name__} {seed}")
    return [*pools(chance), *family(chance)]
