"""The algebra of requirements and the evaluation of overlays, beside Karpenter's own (karpenter-dra 1.2, 1.3, 4.1)."""

from __future__ import annotations

import random
from typing import Any

import pytest

import drasat
from drasat.integrations.karpenter.requirements import WELL_KNOWN_LABELS, NodeRequirements
from drasat.models.kubernetes.core import NodeSelectorRequirement
from drasat.models.kubernetes.karpenter import FlexibleRequirement
from drasat.peers.requests import CompatibleRequest, PeerInstanceType, PeerOffering, ProvisionRequest, RequirementPair

KEYS = ("topology.kubernetes.io/zone", "kubernetes.io/arch", "team", "cpus", "beta.kubernetes.io/arch", "rack")
VALUES = ("a", "b", "1", "2", "4", "8")
# Pairs of requirement sets in one question, and questions about overlays.
PAIRS, ROUNDS = 4000, 250


def random_requirement(chance: random.Random) -> FlexibleRequirement:
    operator = chance.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"))
    values: tuple[str, ...] = ()
    if operator in ("In", "NotIn"):
        values = tuple(chance.sample(VALUES, chance.randint(1, 3)))
    elif operator not in ("Exists", "DoesNotExist"):
        values = (str(chance.randint(0, 8)),)
    return FlexibleRequirement(key=chance.choice(KEYS), operator=operator, values=values)


def random_set(chance: random.Random) -> tuple[FlexibleRequirement, ...]:
    return tuple(random_requirement(chance) for _ in range(chance.randint(0, 5)))


def test_the_algebra_of_requirements_is_karpenters(karpenter):
    chance = random.Random(18)
    pairs = [RequirementPair(known=random_set(chance), asked=random_set(chance)) for _ in range(PAIRS)]
    theirs = karpenter.compatible(CompatibleRequest(pairs=pairs))
    # The program adds the label of reservations to those that are well known.
    for number, pair in enumerate(pairs):
        known, asked = NodeRequirements.of(pair.known), NodeRequirements.of(pair.asked)
        everything = frozenset(asked)
        ours = known.accepts(asked), known.accepts(asked, WELL_KNOWN_LABELS), known.accepts(asked, everything)
        found = theirs.strict[number], theirs.well_known[number], theirs.intersects[number]
        assert ours == found, pair
    assert 0.1 < sum(theirs.strict) / PAIRS < 0.9


ZONE, CAPACITY_TYPE = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
TYPES = ("t1", "t2", "t3")


def is_in(key: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator="In", values=values)


def random_type(chance: random.Random, name: str) -> PeerInstanceType:
    places = [(zone, kind) for zone in ("z1", "z2") for kind in ("spot", "on-demand")]
    chosen = chance.sample(places, chance.randint(1, 4))
    offerings = [
        PeerOffering(
            requirements=(is_in(ZONE, zone), is_in(CAPACITY_TYPE, kind)),
            price=chance.randint(1, 400) / 100,
            available=True,
        )
        for zone, kind in chosen
    ]
    requirements = (
        is_in(ZONE, *sorted({zone for zone, _ in chosen})),
        is_in(CAPACITY_TYPE, *sorted({kind for _, kind in chosen})),
        is_in("kubernetes.io/arch", chance.choice(("amd64", "arm64"))),
        is_in("kubernetes.io/os", "linux"),
    )
    return PeerInstanceType(name=name, requirements=requirements, capacity={"cpu": "8"}, offerings=offerings)


def random_overlay(chance: random.Random, name: str) -> dict[str, Any]:
    selections = (
        ("node.kubernetes.io/instance-type", "In", chance.sample(TYPES, chance.randint(1, 2))),
        ("node.kubernetes.io/instance-type", "NotIn", chance.sample(TYPES, 1)),
        (ZONE, "In", [chance.choice(("z1", "z2"))]),
        (CAPACITY_TYPE, "In", [chance.choice(("spot", "on-demand"))]),
        (CAPACITY_TYPE, "NotIn", ["spot"]),
        ("karpenter.sh/nodepool", "In", [chance.choice(("p1", "p2"))]),
        ("team", "Exists", []),
        ("team", "In", ["ml"]),
        ("rack", "DoesNotExist", []),
        ("cpus", "Gt", ["4"]),
    )
    picked = chance.sample(selections, chance.randint(1, 2))
    requirements = [
        {"key": key, "operator": operator, **({"values": values} if values else {})} for key, operator, values in picked
    ]
    change = chance.choice(
        ({"price": "1.25"}, {"priceAdjustment": "-10%"}, {"priceAdjustment": "+0.5"}, {"priceAdjustment": "-2"}, {})
    )
    amounts = {f"example.com/{name}": str(chance.randint(1, 3)) for name in ("foo", "bar") if chance.random() < 0.4}
    capacity = {"capacity": amounts} if amounts else {}
    weight = {"weight": chance.choice((5, 5, 10))} if chance.random() < 0.8 else {}
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {"requirements": requirements, **change, **capacity, **weight},
    }


def random_pool(chance: random.Random, name: str) -> dict[str, Any]:
    labels = {key: value for key, value in (("team", "ml"), ("cpus", "8")) if chance.random() < 0.5}
    spec = {"requirements": [], "nodeClassRef": {"group": "g", "kind": "K", "name": "n"}}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template},
    }


def as_manifest(one: PeerInstanceType) -> dict[str, Any]:
    def written(requirements: Any) -> list[dict[str, Any]]:
        return [{"key": r.key, "operator": r.operator, "values": list(r.values)} for r in requirements]

    offerings = [{"requirements": written(way.requirements), "price": str(way.price)} for way in one.offerings]
    spec = {"requirements": written(one.requirements), "capacity": dict(one.capacity), "offerings": offerings}
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "InstanceType", "metadata": {"name": one.name}, "spec": spec}


def test_overlays_come_to_what_karpenter_makes_of_them(karpenter):
    conflicts = changed = 0
    for seed in range(ROUNDS):
        chance = random.Random(seed)
        types = [random_type(chance, name) for name in TYPES]
        pools = [random_pool(chance, name) for name in ("p1", "p2")]
        overlays = [random_overlay(chance, f"o{number}") for number in range(chance.randint(1, 5))]
        ours = drasat.overlay(drasat.load([*pools, *overlays, *map(as_manifest, types)]))
        request = ProvisionRequest(node_pools=pools, node_overlays=overlays, instance_types=types)
        theirs = karpenter.provision(request)
        verdicts = {one.name: one.ready for one in ours.overlays}
        assert verdicts == {one.name: one.ready for one in theirs.overlays or ()}, seed
        found = {(one.pool, one.type): one for one in ours.types}
        for one in theirs.types or ():
            mine = found[one.pool, one.name]
            assert [float(way.price) for way in mine.offerings] == pytest.approx(one.prices), (seed, one)
            added = {name: str(amount) for name, amount in (one.capacity or {}).items() if name != "cpu"}
            assert {made.name: made.amount for made in mine.resources} == added, (seed, one)
            changed += mine.changed
        conflicts += sum(not ready for ready in verdicts.values())
    assert conflicts > ROUNDS // 10
    assert changed > ROUNDS
