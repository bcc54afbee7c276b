"""Claims for devices chosen first: every device is asked for, and every constraint holds for the chosen ones."""

from collections import Counter
from random import Random

import pytest
from full_nodes import PlantedConstraint, PlantedDevice, claims_for

from drasat.scenarios import objects

DRIVER = "gpu.example.com"
DEVICES = [
    PlantedDevice(
        {"root": index // 4, "links": [f"l{index % 3}", f"l{3 + index % 2}"]},
        [objects.wanted("large"), objects.wanted(f"class-{index % 2}")],
    )
    for index in range(24)
]


def _claims(bond, seed=0, devices=DEVICES):
    return claims_for(Random(seed), DRIVER, devices, [(bond, 1.0)], "c")


def _asked(claim):
    """How many of each class, by the last resort of each request."""
    bodies = [request.get("exactly") or request["firstAvailable"][-1] for request in claim.requests]
    return Counter({body["deviceClassName"]: body["count"] for body in bodies})


@pytest.mark.parametrize(
    "bond",
    [
        None,
        PlantedConstraint("matchAttribute", "root", (2, 4)),
        PlantedConstraint("matchAttribute", "links", (3, 5)),
        PlantedConstraint("distinctAttribute", "root", (2, 6)),
        PlantedConstraint("distinctAttribute", "links", (2, 4)),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(5))
def test_every_device_is_asked_for_once(bond, seed):
    claims = _claims(bond, seed)
    assert sum((_asked(claim) for claim in claims), Counter()) == {"class-0": 12, "class-1": 12}
    assert len({claim.name for claim in claims}) == len(claims)


@pytest.mark.parametrize("seed", range(5))
def test_matching_devices_are_of_one_group(seed):
    """Groups of four, taken whole by claims of four."""
    claims = _claims(PlantedConstraint("matchAttribute", "root", (4, 4)), seed)
    assert [sum(_asked(claim).values()) for claim in claims] == [4] * 6
    assert all(claim.constraints == [{"matchAttribute": f"{DRIVER}/root"}] for claim in claims)


def test_devices_with_one_value_cannot_be_distinct():
    claims = _claims(PlantedConstraint("distinctAttribute", "root", (2, 4)), devices=DEVICES[:4])
    assert [sum(_asked(claim).values()) for claim in claims] == [1, 1, 1, 1]


def test_distinct_lists_are_disjoint():
    """Every two of these devices share a value but for pairs like 0 and 1."""
    claims = _claims(PlantedConstraint("distinctAttribute", "links", (6, 6)))
    assert {sum(_asked(claim).values()) for claim in claims} <= {1, 2}
    assert any(claim.constraints for claim in claims)


def test_one_device_needs_no_constraint():
    (claim,) = _claims(PlantedConstraint("matchAttribute", "root", (2, 4)), devices=DEVICES[:1])
    assert claim.constraints == []


def test_better_alternatives_come_first():
    claims = [claim for seed in range(10) for claim in _claims(None, seed)]
    ways = [request["firstAvailable"] for claim in claims for request in claim.requests if "firstAvailable" in request]
    assert ways
    for first, last in ways:
        assert (first["deviceClassName"], last["deviceClassName"][:6]) == ("large", "class-")
        assert first["count"] == last["count"]
