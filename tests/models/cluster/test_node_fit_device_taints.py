"""Device taints, tolerations and taint rules."""

import pytest
from support.gates import ALL
from support.model_objects import devices, resource_slice

from drasat.models.cluster.node_fit import apply_taint_rules, tolerates, untolerated_device_taints
from drasat.models.kubernetes.claims import (
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    DeviceToleration,
)
from drasat.models.kubernetes.meta import ObjectMeta

TAINT = DeviceTaint(key="broken", value="fan", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "broken", "value": "fan"}, True),
        ({"key": "broken", "value": "fan", "operator": "Equal"}, True),
        ({"key": "broken", "value": "fan", "effect": "NoSchedule"}, True),
        ({"key": "broken", "value": "fan", "effect": "NoExecute"}, False),
        ({"key": "broken", "value": "memory"}, False),
        ({"key": "other", "value": "fan"}, False),
        ({"key": "broken", "operator": "Exists"}, True),
        ({"key": "broken", "operator": "Exists", "value": "ignored"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Equal", "value": "fan"}, True),
        ({"value": "fan"}, True),
        ({}, False),
        ({"key": "broken", "operator": "In", "value": "fan"}, False),
    ],
)
def test_tolerates(toleration, expected):
    """TNT-2."""
    assert tolerates(DeviceToleration(**toleration), TAINT) is expected


@pytest.mark.parametrize(
    ("effect", "blocks"),
    [("NoSchedule", True), ("NoExecute", True), ("None", False), ("", False), ("PreferNoSchedule", False)],
)
def test_effects_that_keep_away(effect, blocks):
    """TNT-1, TNT-7."""
    taint = DeviceTaint(key="k", effect=effect)
    assert untolerated_device_taints((taint,), None) == ((taint,) if blocks else ())


def test_all_untolerated_taints_are_told():
    """TNT-1."""
    other, kept = DeviceTaint(key="a", effect="NoExecute"), DeviceTaint(key="b", effect="NoSchedule")
    accepted = (DeviceToleration(key="broken", operator="Exists"),)
    assert untolerated_device_taints((TAINT, other, kept), accepted) == (other, kept)


@pytest.mark.parametrize("taints", [None, ()])
def test_a_device_without_taints(taints):
    assert untolerated_device_taints(taints, None) == ()


def rule(name="rule", key="rule", **selected):
    """A rule; without criteria it has no selector at all."""
    chosen = DeviceTaintSelector(**selected) if selected else None
    spec = DeviceTaintRuleSpec(device_selector=chosen, taint=DeviceTaint(key=key, effect="NoSchedule"))
    return DeviceTaintRule(metadata=ObjectMeta(name=name), spec=spec)


SLICES = (
    resource_slice("a", driver="x", pool="p", devices=devices("d0", "d1")),
    resource_slice("b", driver="x", pool="q", devices=devices("d0")),
    resource_slice("c", driver="y", pool="p", devices=devices("d0")),
)


def tainted(slices):
    return {
        f"{slice_.metadata.name}/{device.name}"
        for slice_ in slices
        for device in slice_.spec.devices or ()
        if device.taints
    }


EVERY = {"a/d0", "a/d1", "b/d0", "c/d0"}


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ({"driver": "x"}, {"a/d0", "a/d1", "b/d0"}),
        ({"pool": "p"}, {"a/d0", "a/d1", "c/d0"}),
        ({"device": "d0"}, {"a/d0", "b/d0", "c/d0"}),
        ({"driver": "x", "pool": "p"}, {"a/d0", "a/d1"}),
        ({"driver": "x", "pool": "p", "device": "d1"}, {"a/d1"}),
        ({"driver": "x", "pool": "p", "device": "d9"}, set()),
        ({"driver": "z"}, set()),
        ({}, set()),
    ],
)
def test_rules_taint_what_matches_all_criteria(selected, expected):
    """TNT-5; the last row, a rule without selector, is TNT-6: it taints nothing."""
    assert tainted(apply_taint_rules(SLICES, [rule(**selected)], ALL)) == expected


def test_an_empty_selector_taints_everything():
    """TNT-6."""
    spec = DeviceTaintRuleSpec(device_selector=DeviceTaintSelector(), taint=TAINT)
    assert tainted(apply_taint_rules(SLICES, [DeviceTaintRule(spec=spec)], ALL)) == EVERY


def test_rules_append_in_their_order():
    """TNT-5."""
    slices = (resource_slice("a", devices=devices("d0", taints=(TAINT,))),)
    rules = [
        rule(key="second", device="d0"),
        rule(key="third", pool=slices[0].spec.pool.name),
        rule(key="fourth", driver="gpu.example.com"),
    ]
    (changed,) = apply_taint_rules(slices, rules, ALL)
    assert [taint.key for taint in changed.spec.devices[0].taints] == ["broken", "second", "third", "fourth"]
    assert slices[0].spec.devices[0].taints == (TAINT,)


def test_untouched_slices_are_the_same_objects():
    changed = apply_taint_rules(SLICES, [rule(driver="y"), rule(device="d1")], ALL)
    assert [new is old for new, old in zip(changed, SLICES, strict=True)] == [False, True, False]
    assert changed[0].spec.devices[0] is SLICES[0].spec.devices[0]


def test_a_slice_without_devices():
    slices = (resource_slice("counters"),)
    assert apply_taint_rules(slices, [rule(device="d0")], ALL)[0] is slices[0]


@pytest.mark.parametrize("gate", ["DRADeviceTaints", "DRADeviceTaintRules"])
def test_rules_do_nothing_with_a_gate_off(gate):
    """TNT-4, TNT-5."""
    assert tainted(apply_taint_rules(SLICES, [rule(device="d0")], ALL.with_({gate: False}))) == set()
