"""Each feature of random clusters does what it is there for."""

import json
from collections import Counter
from random import Random

import pytest
from support import cluster_features as features_module
from support.drafts import DraftSize, plain_draft

from drasat.models.kubernetes.quantity import Quantity
from drasat.scenarios.objects import DRIVER

SEEDS = range(60)


def drafts(*features, size=None):
    """Many drafts with these features."""
    made = []
    for seed in SEEDS:
        draft = plain_draft(Random(seed), size or DraftSize())
        for feature in features:
            feature(draft)
        made.append(draft)
    return made


def share_of(values):
    found = list(values)
    return sum(map(bool, found)) / len(found)


def devices(found):
    return [device for draft in found for device in draft.devices()]


def bodies(found):
    return [body for draft in found for body in draft.bodies()]


def constraints(found):
    return [entry for draft in found for claim in draft.claims for entry in claim.constraints]


def test_selectors_are_of_many_forms():
    made = bodies(drafts(features_module.select))
    used = {selector["cel"]["expression"] for body in made for selector in body.get("selectors", ())}
    assert used == set(features_module._EXPRESSIONS)
    assert 0.6 < share_of(body.get("selectors") for body in made) < 0.9


def test_failing_selectors_ask_for_what_some_devices_lack():
    made = drafts(features_module.fail_selectors)
    assert 0.6 < share_of("rare" in device["attributes"] for device in devices(made)) < 0.9
    guarded = [body["selectors"][0]["cel"]["expression"] for body in bodies(made) if "selectors" in body]
    assert {text.split("device")[0] or "bare" for text in guarded} == {"bare"}
    assert 0.1 < share_of("||" not in text for text in guarded) < 0.6


def test_partitions_draw_on_their_chip_and_on_the_board():
    for draft in drafts(features_module.partition):
        for pool in draft.pools:
            sets = {counters["name"]: counters["counters"] for counters in pool.counter_sets}
            for device in pool.devices:
                chip, board = device["consumesCounters"]
                assert chip["counterSet"] == f"chip-{device['attributes']['index']['int']}"
                assert set(chip["counters"]) <= set(sets[chip["counterSet"]])
                assert int(board["counters"]["power"]["value"]) == len(chip["counters"])


def test_the_boards_power_is_sometimes_less_than_all_chips_take():
    scarce = [
        int(counters["counters"]["power"]["value"]) < 4 * (len(pool.counter_sets) - 1)
        for draft in drafts(features_module.partition)
        for pool in draft.pools
        for counters in pool.counter_sets
        if counters["name"] == "board"
    ]
    assert 0.3 < share_of(scarce) < 0.8


def test_groups_are_on_what_partitions_consume():
    made = devices(drafts(features_module.partition, features_module.group))
    consumed = [entry for device in made for entry in device["consumesCounters"]]
    assert 0.6 < share_of("compatibilityGroups" in entry for entry in consumed) < 0.95
    assert {len(entry["compatibilityGroups"]) for entry in consumed if "compatibilityGroups" in entry} == {1, 2, 3}


def test_every_form_of_policy_is_used():
    made = devices(drafts(features_module.share))
    policies = {
        json.dumps(device["capacity"][name].get("requestPolicy")) for device in made for name in ("cores", "lanes")
    }
    assert policies == {json.dumps(policy) for policy in features_module._POLICIES}


def test_only_shared_devices_have_policies():
    for device in devices(drafts(features_module.share)):
        if not device.get("allowMultipleAllocations"):
            assert not any("requestPolicy" in capacity for capacity in device["capacity"].values())


def test_requested_capacities_exist():
    for body in bodies(drafts(features_module.share)):
        asked = body.get("capacity", {}).get("requests", {})
        assert set(asked) <= {"cores", "lanes", "memory"}
        assert all(Quantity.parse(amount).nano > 0 for amount in asked.values())


def test_taints_of_every_effect_and_tolerations_of_every_form():
    made = drafts(features_module.taint)
    effects = Counter(taint["effect"] for device in devices(made) for taint in device.get("taints", ()))
    assert set(effects) == {"NoSchedule", "NoExecute", "None"}
    forms = {frozenset(toleration) for body in bodies(made) for toleration in body.get("tolerations", ())}
    assert {frozenset({"operator"}), frozenset({"key", "operator"}), frozenset({"key", "value"})} <= forms
    assert {"deviceSelector", "taint"} == {key for draft in made for rule in draft.others for key in rule["spec"]}


def test_binding_conditions_come_in_pairs():
    made = devices(drafts(features_module.bind))
    assert all(("bindingConditions" in device) == ("bindingFailureConditions" in device) for device in made)
    assert 0.1 < share_of("bindingConditions" in device for device in made) < 0.5
    assert any(device.get("bindsToNode") for device in made)


def test_the_second_driver_has_pools_of_the_same_names():
    for draft in drafts(features_module.network):
        names = {
            driver: [pool.name for pool in draft.pools if pool.driver == driver]
            for driver in (DRIVER, "nic.example.com")
        }
        assert names[DRIVER] == names["nic.example.com"]


def test_skipped_operations_and_nodes_that_can_skip():
    made = drafts(features_module.skip_operations)
    skipped = Counter(tuple(pool.fields.get("skipNodeOperations", ())) for draft in made for pool in draft.pools)
    assert set(skipped) == {(), ("*",), ("NodeUnprepareResources",)}
    assert {"status" in node for draft in made for node in draft.nodes} == {True, False}


@pytest.mark.parametrize(
    ("feature", "key"), [(features_module.match, "matchAttribute"), (features_module.distinct, "distinctAttribute")]
)
def test_constraints_on_one_attribute(feature, key):
    made = drafts(feature)
    assert {entry[key] for entry in constraints(made)} == {f"{DRIVER}/numa"}
    assert {"requests" in entry for entry in constraints(made)} == {True, False}
    kinds = Counter(next(iter(device["attributes"].get("numa", {"missing": 1}))) for device in devices(made))
    assert kinds["int"] > kinds["missing"] + kinds["string"]
    assert kinds["missing"] > 0 < kinds["string"]


def test_constrained_requests_exist():
    for draft in drafts(features_module.match):
        for claim in draft.claims:
            for entry in claim.constraints:
                assert set(entry.get("requests", ())) <= set(claim.request_names)


def test_lists_beside_scalars():
    kinds = Counter(
        next(iter(device["attributes"].get("resource.kubernetes.io/root", {"missing": 1})))
        for device in devices(drafts(features_module.lists))
    )
    assert kinds["strings"] > kinds["string"] > 0 < kinds["missing"]


def test_alternatives_end_with_what_was_asked_for():
    for plain, changed in zip(drafts(), drafts(features_module.alternatives), strict=True):
        for before, after in zip(plain.claims, changed.claims, strict=True):
            for old, new in zip(before.requests, after.requests, strict=True):
                options = new.get("firstAvailable")
                last = new.get("exactly") or {key: value for key, value in options[-1].items() if key != "name"}
                assert last == old["exactly"]
                assert options is None or all(option["count"] >= last["count"] for option in options)


def test_alternatives_have_no_admin_access():
    made = drafts(features_module.administer, features_module.alternatives)
    assert not any("adminAccess" in body and "name" in body for body in bodies(made))


def test_one_request_is_for_everything():
    for draft in drafts(features_module.everything):
        modes = [body.get("allocationMode") for body in draft.bodies()]
        assert modes.count("All") == 1
        assert all("count" not in body for body in draft.bodies() if "allocationMode" in body)


def test_administrators_have_a_namespace_of_theirs():
    for draft in drafts(features_module.administer):
        (namespace,) = draft.others
        assert namespace["metadata"]["name"] == draft.namespace == features_module.ADMIN_NAMESPACE


def test_configuration_names_requests_and_alternatives():
    made = drafts(features_module.alternatives, features_module.configure)
    for draft in made:
        for claim in draft.claims:
            options = {
                f"{request['name']}/{option['name']}"
                for request in claim.requests
                for option in request.get("firstAvailable", ())
            }
            for entry in claim.config:
                assert set(entry.get("requests", ())) <= set(claim.request_names) | options
    assert any("config" in made_class["spec"] for draft in made for made_class in draft.classes.values())


def test_derived_attributes_are_used_by_a_constraint():
    for draft in drafts(features_module.derive):
        for claim in draft.claims:
            names = {derived["name"] for body in claim.bodies() for derived in body["derivedAttributes"]}
            assert names == {value for entry in claim.constraints for key, value in entry.items() if key != "requests"}


def test_pools_get_into_every_state():
    made = [pool for draft in drafts(features_module.disturb) for pool in draft.pools]
    assert {pool.miscounted for pool in made} == {-1, 0, 1}
    suffixes = {stray["metadata"]["name"].rsplit("-", 1)[-1] for pool in made for stray in pool.strays}
    assert suffixes == {"old", "away", "newer", "twice"}


def test_nodes_differ_and_pods_choose():
    made = drafts(features_module.place)
    assert {len(draft.nodes) for draft in made} == {3}
    places = {next(iter(pool.where)) for draft in made for pool in draft.pools}
    assert places == {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"}
    wishes = {key for draft in made for key in draft.pod_fields}
    assert wishes == {"nodeSelector", "affinity", "tolerations"}
    assert {"taints", "unschedulable"} == {
        key for draft in made for node in draft.nodes for key in node.get("spec", ())
    }


def test_devices_say_where_they_are_only_if_the_pool_leaves_it_to_them():
    fields = {"nodeName", "nodeSelector", "allNodes"}
    for draft in drafts(features_module.place):
        for pool in draft.pools:
            own = "perDeviceNodeSelection" in pool.where
            assert all(len(fields & set(device)) == own for device in pool.devices)


def test_what_is_in_use_exists_and_is_held_once():
    for draft in drafts(features_module.share, features_module.occupy):
        there = {(pool.driver, pool.name, device["name"]): device for pool in draft.pools for device in pool.devices}
        held = [result for item in draft.others for result in item["status"]["allocation"]["devices"]["results"]]
        ids = [(result["driver"], result["pool"], result["device"]) for result in held]
        assert len(set(ids)) == len(ids)
        for id_, result in zip(ids, held, strict=True):
            device = there[id_]
            assert ("shareID" in result) == device.get("allowMultipleAllocations", False)
            assert set(result.get("consumedCapacity", ())) <= set(device["capacity"])
