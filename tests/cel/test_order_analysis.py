"""Whether the order of ``devices`` can matter (CELC-7)."""

from __future__ import annotations

from itertools import permutations

import pytest
from support.data import cases
from support.device_set_grammar import DRIVER, Grammar, prepared

from drasat.cel.errors import CelError
from drasat.cel.selector import DeviceSetExpression
from drasat.models.kubernetes.slices import Device, DeviceAttribute

N, S, L = "attributes['d.x'].n", "attributes['d.x'].s", "attributes['d.x'].l"


@pytest.mark.parametrize("text", cases("cel/device-sets-order", "ordered"))
def test_order_may_matter(text):
    assert DeviceSetExpression(text).is_order_sensitive


@pytest.mark.parametrize("text", cases("cel/device-sets-order", "free"))
def test_order_cannot_matter(text):
    assert not DeviceSetExpression(text).is_order_sensitive


def device(**attributes):
    return prepared(Device(attributes=attributes))


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        (f"devices.map(d, d.{N}).max() == 1", True),
        (f"devices.map(d, d.{N}).distinct().size() == 1", True),
        (f"devices.map(d, d.{N}).sum() == 1", False),
        (f"1 in devices.map(d, d.{N})", False),
        (f"devices.map(d, d.{N})[0] == 1", True),
    ],
)
def test_order_among_devices_of_several_types(text, matters):
    """What cannot be compared is neither more nor less: the first of [1, 'a'] is its greatest and its least."""
    expression = DeviceSetExpression(text)
    number, string = device(n=DeviceAttribute(int_value=1)), device(n=DeviceAttribute(string="a"))
    assert expression.is_order_sensitive_among([number, string, device()]) is matters
    assert expression.is_order_sensitive_among([number, number, device()]) is expression.is_order_sensitive


def test_a_default_of_another_type_is_one_type_more():
    expression = DeviceSetExpression("devices.map(d, d.attributes['d.x'].?n.orValue('-')).max() == 'a'")
    assert expression.is_order_sensitive_among([device(n=DeviceAttribute(int_value=1))])
    assert not expression.is_order_sensitive_among([device(n=DeviceAttribute(string="a"))])


def test_fields_of_devices_are_of_one_type():
    expression = DeviceSetExpression("devices.map(d, [d.driver]).distinct().size() == 1")
    assert not expression.is_order_sensitive_among([device(), device(n=DeviceAttribute(int_value=1))])
    expression = DeviceSetExpression(f"devices.map(d, d.capacity['{DRIVER}'].c).distinct().size() == 1")
    assert not expression.is_order_sensitive_among([device()])


def outcomes(expression, devices):
    found = {}
    for some in permutations(devices):
        value = expression.result(some)
        found["error" if isinstance(value, CelError) else value] = some
    return found


def test_where_order_cannot_matter_no_order_does():
    """CELC-7: random expressions on all orders of random devices."""
    free = ordered = differing = 0
    for seed in range(300):
        grammar = Grammar(seed)
        expression = DeviceSetExpression(grammar.boolean([], 3))
        for _ in range(2):
            devices = [prepared(grammar.device()) for _ in range(3)]
            found = outcomes(expression, devices)
            if expression.is_order_sensitive_among(devices):
                ordered += 1
                differing += len(found) > 1
            else:
                free += 1
                assert len(found) == 1, expression.text
    assert min(free, ordered) > 100
    assert differing > 0
