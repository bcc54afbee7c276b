"""The index of slices by node agrees with asking every slice."""

import random

import pytest
from support.model_objects import devices, expression, label_selector, node, resource_slice, selector, term

from drasat.models.cluster.node_fit import (
    ReachIndex,
    SelectorError,
    located_parts,
    per_device,
    reachable_devices,
    reaches,
)
from drasat.models.kubernetes.slices import Device

BROKEN = selector(term(expression("zone", "Near")))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"node_name": "n1"}, True),
        ({"node_name": "n2"}, False),
        ({"node_name": "n2", "all_nodes": True}, False),
        ({"node_name": "", "all_nodes": True}, True),
        ({"all_nodes": True, "node_selector": label_selector("zone", "b")}, True),
        ({"all_nodes": False, "node_selector": label_selector("zone", "a")}, True),
        ({"node_selector": label_selector("zone", "b")}, False),
        ({"node_selector": selector()}, False),
        ({}, False),
    ],
)
def test_first_applicable_field_decides(fields, expected):
    """NODE-1."""
    assert reaches(Device(name="d", **fields), node("n1", {"zone": "a"})) is expected


def positions(slices, there):
    return ReachIndex(slices).positions(there)


def test_relevant_slices():
    """POOL-1."""
    slices = [
        resource_slice("s0", node_name="n1"),
        resource_slice("s1", node_name="n2"),
        resource_slice("s2", all_nodes=True),
        resource_slice("s3", node_selector=label_selector("zone", "a")),
        resource_slice("s4", node_selector=label_selector("zone", "b")),
        resource_slice("s5", node_name=None),
    ]
    assert positions(slices, node("n1", {"zone": "a"})) == [0, 2, 3]
    assert positions(slices, node("n2", {"zone": "b"})) == [1, 2, 4]
    assert positions(slices, node("n3")) == [2]


def test_per_device_slices_are_relevant_if_one_device_is():
    """POOL-1."""
    there = (Device(name="a", node_name="n1"), Device(name="b", node_name="n2"), Device(name="c", node_name="n1"))
    slices = [
        resource_slice("s0", per_device_node_selection=True, devices=there),
        resource_slice("s1", per_device_node_selection=True, devices=[Device(name="a", all_nodes=True)]),
        resource_slice("s2", per_device_node_selection=True, devices=devices("nowhere")),
        resource_slice("s3", per_device_node_selection=True),
    ]
    assert positions(slices, node("n1")) == [0, 1]
    assert positions(slices, node("n3")) == [1]


def test_the_slices_own_place_comes_before_its_devices():
    slice_ = resource_slice("s", all_nodes=True, per_device_node_selection=True, devices=devices("a"))
    assert not per_device(slice_)
    assert located_parts(slice_) == (slice_.spec,)


def test_reachable_devices():
    """DEV-4."""
    there = (
        Device(name="a", node_name="n1"),
        Device(name="b", node_name="n2"),
        Device(name="c", all_nodes=True),
        Device(name="d", node_selector=label_selector("zone", "a")),
        Device(name="e"),
    )
    slice_ = resource_slice("s", per_device_node_selection=True, devices=there)
    assert reachable_devices(slice_, node("n1", {"zone": "a"})) == (True, False, True, True, False)


@pytest.mark.parametrize(
    "slice_",
    [
        resource_slice("s", node_selector=BROKEN),
        resource_slice("s", per_device_node_selection=True, devices=[Device(name="d", node_selector=BROKEN)]),
    ],
)
def test_an_unparsable_selector_is_fatal_on_every_node(slice_):
    """NODE-2."""
    index = ReachIndex([resource_slice("good", all_nodes=True), slice_])
    with pytest.raises(SelectorError):
        index.positions(node("n1", {"zone": "a"}))


def test_a_selector_nobody_evaluates_does_no_harm():
    """NODE-1: the node name decides before the selector is looked at."""
    assert positions([resource_slice("s", node_name="n1", node_selector=BROKEN)], node("n1")) == [0]


def _random_requirement(rng):
    operator = rng.choice(["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt"])
    key = rng.choice(["zone", "rack", "size"])
    if operator in ("Exists", "DoesNotExist"):
        return expression(key, operator)
    if operator == "Gt":
        return expression("size", operator, str(rng.randrange(4)))
    return expression(key, operator, *rng.sample(["a", "b", "c", "2"], rng.randint(1, 2)))


def _random_term(rng):
    fields = [expression("metadata.name", rng.choice(["In", "NotIn"]), rng.choice(["n0", "n1"]))]
    return term(*(_random_requirement(rng) for _ in range(rng.randrange(3))), fields=fields * (rng.random() < 0.3))


def _random_place(rng):
    places = [{"node_name": f"n{rng.randrange(3)}"}, {"all_nodes": True}]
    places += [{"node_selector": selector(*(_random_term(rng) for _ in range(rng.randrange(4))))}] * 4
    return rng.choice(places)


def _random_slice(rng, number):
    if rng.random() < 0.3:
        parts = [Device(name=f"d{index}", **_random_place(rng)) for index in range(rng.randrange(4))]
        return resource_slice(f"s{number}", per_device_node_selection=True, devices=parts)
    return resource_slice(f"s{number}", **_random_place(rng))


@pytest.mark.parametrize("seed", range(60))
def test_the_index_agrees_with_asking_every_slice(seed):
    """POOL-1, NODE-1."""
    rng = random.Random(seed)
    slices = [_random_slice(rng, number) for number in range(12)]
    index = ReachIndex(slices)
    for number in range(6):
        labels = {key: rng.choice("abc2") for key in ("zone", "rack", "size") if rng.random() < 0.7}
        there = node(f"n{number}", labels or None)
        expected = [
            position
            for position, slice_ in enumerate(slices)
            if any(reaches(part, there) for part in located_parts(slice_))
        ]
        assert index.positions(there) == expected
