"""NodeOverlays: order, conflicts, prices, capacity and devices (karpenter-dra 1.2, 1.3, 2.4 and section 6)."""

from __future__ import annotations

from typing import Any

import pytest

import drasat

ZONES = ("z1", "z2")
KINDS = ("spot", "on-demand")


def instance_type(name: str, prices: dict[tuple[str, str], str], **spec: Any) -> dict[str, Any]:
    """An InstanceType with an offering for each zone and capacity type."""
    offerings = [
        {
            "requirements": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [kind]},
            ],
            "price": price,
        }
        for (zone, kind), price in prices.items()
    ]
    requirements = [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": sorted({zone for zone, _ in prices})},
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": sorted({kind for _, kind in prices})},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]
    given = {"requirements": requirements, "capacity": {"cpu": "8"}, "offerings": offerings, **spec}
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "InstanceType", "metadata": {"name": name}, "spec": given}


def pool(name: str = "general", labels: dict[str, str] | None = None) -> dict[str, Any]:
    template = {"metadata": {"labels": labels or {}}, "spec": {"requirements": []}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template},
    }


def overlay(name: str, *requirements: tuple[str, str, list[str]], **spec: Any) -> dict[str, Any]:
    listed = [
        {"key": key, "operator": operator, **({"values": values} if values else {})}
        for key, operator, values in requirements
    ]
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {"requirements": listed, **spec},
    }


def of_type(*names: str) -> tuple[str, str, list[str]]:
    return "node.kubernetes.io/instance-type", "In", list(names)


M5 = instance_type("m5.large", {("z1", "spot"): "0.5", ("z1", "on-demand"): "2.00"})
C5 = instance_type("c5.large", {("z1", "spot"): "0.6", ("z1", "on-demand"): "0.60"})
SPOT = ("karpenter.sh/capacity-type", "In", ["spot"])
ON_DEMAND = ("karpenter.sh/capacity-type", "In", ["on-demand"])


def evaluate(*objects: dict[str, Any], pools: tuple[dict[str, Any], ...] = (pool(),)) -> drasat.OverlayResult:
    return drasat.overlay(drasat.load([*pools, M5, C5, *objects], skip_validation=True))


def prices(result: drasat.OverlayResult, name: str = "m5.large") -> dict[str, str]:
    return {
        offering.capacity_type: offering.price for one in result.types if one.type == name for offering in one.offerings
    }


def ready(result: drasat.OverlayResult) -> dict[str, bool]:
    return {one.name: one.ready for one in result.overlays}


def test_the_heavier_overlay_sets_the_price():
    result = evaluate(
        overlay("light", of_type("m5.large"), price="0.50", weight=5),
        overlay("heavy", of_type("m5.large"), price="1.00", weight=10),
    )
    assert prices(result) == {"spot": "1", "on-demand": "1"}
    assert ready(result) == {"heavy": True, "light": True}


def test_equal_weights_on_disjoint_offerings_do_not_conflict():
    result = evaluate(
        overlay("spot", of_type("m5.large"), SPOT, price="0.1", weight=10),
        overlay("on-demand", of_type("m5.large"), ON_DEMAND, price="0.2", weight=10),
    )
    assert prices(result) == {"spot": "0.1", "on-demand": "0.2"}
    assert all(ready(result).values())


def test_equal_weights_on_one_offering_conflict_and_the_lower_name_loses():
    result = evaluate(
        overlay("overlay-a", of_type("m5.large"), price="1", weight=3),
        overlay("overlay-b", of_type("m5.large"), price="1", weight=3),
    )
    assert ready(result) == {"overlay-b": True, "overlay-a": False}
    (lost,) = (one for one in result.overlays if not one.ready)
    assert (lost.reason, lost.message, lost.other) == ("Conflict", "conflict with another overlay", "overlay-b")


def test_the_loser_is_dropped_as_a_whole_for_all_pools():
    result = evaluate(
        overlay("a", of_type("m5.large", "c5.large"), price="9", weight=3),
        overlay("b", of_type("m5.large"), price="1", weight=3),
        pools=(pool("one"), pool("two")),
    )
    assert prices(result, "c5.large") == {"spot": "0.6", "on-demand": "0.6"}


def test_capacities_of_equal_weight_conflict_only_on_a_shared_resource():
    both = evaluate(
        overlay("one", of_type("m5.large"), capacity={"example.com/fuse": "1"}, weight=10),
        overlay("two", of_type("m5.large"), capacity={"example.com/kvm": "1"}, weight=10),
    )
    assert all(ready(both).values())
    (changed,) = (one for one in both.types if one.type == "m5.large")
    assert {(made.name, made.overlay) for made in changed.resources} == {
        ("example.com/fuse", "one"),
        ("example.com/kvm", "two"),
    }
    clash = evaluate(
        overlay("one", of_type("m5.large"), capacity={"example.com/fuse": "1"}, weight=10),
        overlay("two", of_type("m5.large"), capacity={"example.com/fuse": "1"}, weight=10),
    )
    assert ready(clash) == {"two": True, "one": False}


def test_only_the_last_capacity_is_compared_and_the_missed_conflict_is_said():
    result = evaluate(
        overlay("a", of_type("m5.large"), capacity={"example.com/foo": "1"}, weight=10),
        overlay("b", of_type("m5.large"), capacity={"example.com/bar": "1"}, weight=10),
        overlay("c", of_type("m5.large"), capacity={"example.com/foo": "2"}, weight=10),
    )
    assert all(ready(result).values())
    (notice,) = result.document.notices
    assert "NodeOverlay a: example.com/foo is also set by c" in notice


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"price": "0.3"}, "0.3"),
        ({"priceAdjustment": "-10%"}, "1.8"),
        ({"priceAdjustment": "+5%"}, "2.1"),
        ({"priceAdjustment": "+0.25"}, "2.25"),
        ({"priceAdjustment": "-0.5"}, "1.5"),
        ({"priceAdjustment": "-3"}, "0"),
        ({"priceAdjustment": "-100%"}, "0"),
    ],
)
def test_prices_are_set_or_adjusted_and_never_negative(change: dict[str, str], expected: str):
    assert prices(evaluate(overlay("o", of_type("m5.large"), ON_DEMAND, **change)))["on-demand"] == expected


def test_identical_values_conflict_too():
    same = {"price": "1", "capacity": {"example.com/fuse": "1"}, "weight": 3}
    result = evaluate(overlay("a", of_type("m5.large"), **same), overlay("b", of_type("m5.large"), **same))
    assert ready(result) == {"b": True, "a": False}


def test_a_pool_that_appears_later_has_the_overlays_and_may_bring_a_conflict():
    """An overlay that met no other in the pools that were there is dropped for all of them."""
    general = ("karpenter.sh/nodepool", "In", ["general"])
    overlays = [
        overlay("first", of_type("m5.large"), ("team", "In", ["ml"]), price="1", weight=3),
        overlay("second", of_type("m5.large"), price="2", weight=3, capacity={"example.com/fuse": "1"}),
        overlay("third", of_type("c5.large"), general, price="3"),
    ]
    before = evaluate(*overlays)
    assert (ready(before), prices(before)["spot"]) == ({"first": True, "second": True, "third": True}, "2")
    after = evaluate(*overlays, pools=(pool(), pool("later", {"team": "ml"})))
    assert ready(after) == {"first": False, "second": True, "third": True}
    found = {(one.pool, one.type): {way.price for way in one.offerings} for one in after.types}
    assert found["later", "m5.large"] == found["general", "m5.large"] == {"2"}
    assert (found["general", "c5.large"], found["later", "c5.large"]) == ({"3"}, {"0.6"})


def test_adjustments_do_not_add_up():
    result = evaluate(
        overlay("ten", of_type("m5.large"), ON_DEMAND, priceAdjustment="-10%", weight=10),
        overlay("five", of_type("m5.large"), ON_DEMAND, priceAdjustment="+5%", weight=5),
    )
    assert prices(result)["on-demand"] == "1.8"


def test_an_overlay_that_wrote_nothing_still_sets_the_weight_that_the_next_is_compared_with():
    result = evaluate(
        overlay("heavy", of_type("m5.large"), price="1", weight=10),
        overlay("c", of_type("m5.large"), price="2", weight=5),
        overlay("b", of_type("m5.large"), price="3", weight=5),
    )
    assert ready(result) == {"heavy": True, "c": True, "b": False}


def test_a_conflict_is_gone_when_the_winner_is():
    assert all(ready(evaluate(overlay("overlay-a", of_type("m5.large"), price="1", weight=3))).values())


@pytest.mark.parametrize(
    ("requirement", "matches"),
    [
        (("karpenter.sh/nodepool", "In", ["general"]), True),
        (("karpenter.sh/nodepool", "In", ["other"]), False),
        (("team", "In", ["ml"]), True),
        (("team", "Exists", []), True),
        (("team", "NotIn", ["ml"]), False),
        (("rack", "In", ["r1"]), False),
        (("rack", "Exists", []), False),
        (("rack", "NotIn", ["r1"]), True),
        (("rack", "DoesNotExist", []), True),
        (("cpus", "Gt", ["4"]), True),
        (("cpus", "Lt", ["4"]), False),
        (("cpus", "Gte", ["8"]), True),
        (("cpus", "Lte", ["7"]), False),
        (("kubernetes.io/arch", "In", ["arm64"]), False),
    ],
)
def test_an_overlay_is_for_types_whose_labels_are_known_and_agree(requirement: Any, matches: bool):
    labels = {"team": "ml", "cpus": "8"}
    result = evaluate(overlay("o", requirement, price="7"), pools=(pool(labels=labels),))
    assert (result.overlays[0].types > 0) is matches
    assert ("7" in prices(result).values()) is matches
    assert bool(result.document.notices) is not matches


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "pods"])
def test_resources_that_the_provider_knows_may_not_be_set(resource: str):
    result = evaluate(overlay("o", of_type("m5.large"), capacity={resource: "1"}))
    (verdict,) = result.overlays
    assert (verdict.ready, verdict.reason) == (False, "RuntimeValidation")
    assert verdict.message == f"invalid capacity: {resource} in resource, restricted"


def gpus(driver: str, number: int) -> dict[str, Any]:
    return {"driver": driver, "metadata": {"name": driver}, "devices": [{"name": f"d{i}"} for i in range(number)]}


def drivers(result: drasat.OverlayResult, name: str = "m5.large") -> dict[str, tuple[int, str]]:
    return {
        made.driver: (made.devices, made.overlay) for one in result.types if one.type == name for made in one.drivers
    }


def test_devices_come_from_one_overlay_per_driver():
    result = evaluate(
        overlay(
            "a",
            of_type("m5.large"),
            dynamicResources={"resourceSliceTemplates": [gpus("gpu.example.com", 2)]},
            weight=1,
        ),
        overlay(
            "b",
            of_type("m5.large"),
            dynamicResources={"resourceSliceTemplates": [gpus("nic.example.com", 1)]},
            weight=1,
        ),
    )
    assert all(ready(result).values())
    assert drivers(result) == {"gpu.example.com": (2, "a"), "nic.example.com": (1, "b")}


def test_devices_of_one_driver_and_equal_weight_conflict():
    given = {"resourceSliceTemplates": [gpus("gpu.example.com", 2)]}
    result = evaluate(
        overlay("a", of_type("m5.large"), dynamicResources=given, weight=1),
        overlay("b", of_type("m5.large"), dynamicResources=given, weight=1),
    )
    assert ready(result) == {"b": True, "a": False}


def test_devices_of_the_type_stay_unless_an_overlay_has_that_driver():
    own = instance_type("g5", {("z1", "spot"): "1"}, slices=[gpus("gpu.example.com", 1), gpus("nic.example.com", 1)])
    templates = {"resourceSliceTemplates": [gpus("gpu.example.com", 4)]}
    unrelated = evaluate(own, overlay("price", of_type("g5"), price="3"))
    assert drivers(unrelated, "g5") == {"gpu.example.com": (1, ""), "nic.example.com": (1, "")}
    replaced = evaluate(own, overlay("devices", of_type("g5"), dynamicResources=templates))
    assert drivers(replaced, "g5") == {"gpu.example.com": (4, "devices"), "nic.example.com": (1, "")}


def test_without_the_gate_overlays_have_no_devices():
    given = {"resourceSliceTemplates": [gpus("gpu.example.com", 2)]}
    cluster = drasat.load([pool(), M5, overlay("a", of_type("m5.large"), dynamicResources=given)])
    result = drasat.overlay(cluster, feature_gates={"NodeOverlayDynamicResources": False})
    assert drivers(result) == {}


def test_the_worked_example_of_spot_prices():
    """E12: spot c5 at 0.30 is the cheapest candidate; on-demand c5 stays."""
    result = evaluate(overlay("o", of_type("c5.large"), SPOT, price="0.30"))
    assert prices(result, "c5.large") == {"spot": "0.3", "on-demand": "0.6"}


def test_manifests_are_the_overlays_with_their_status():
    result = evaluate(
        overlay("overlay-a", of_type("m5.large"), price="1", weight=3),
        overlay("overlay-b", of_type("m5.large"), price="1", weight=3),
    )
    found = {one["metadata"]["name"]: one["status"]["conditions"] for one in result.manifests()}
    assert [(one["type"], one["status"], one["reason"]) for one in found["overlay-a"]] == [
        ("ValidationSucceeded", "False", "Conflict"),
        ("Ready", "False", "UnhealthyDependents"),
    ]
    assert [(one["type"], one["status"]) for one in found["overlay-b"]] == [
        ("ValidationSucceeded", "True"),
        ("Ready", "True"),
    ]


def test_what_is_missing_is_said():
    with pytest.raises(ValueError, match="there is no InstanceType in the input"):
        drasat.overlay(drasat.load([pool()]))
    with pytest.raises(ValueError, match="there is no NodePool in the input"):
        drasat.overlay(drasat.load([M5]))
