"""What expressions over ``devices`` read of a device, and whether they compare devices (CELC-5)."""

from __future__ import annotations

import pytest
from support.device_set_grammar import NAMES, Grammar, prepared

from drasat.cel.errors import CelCompileError, CelError
from drasat.cel.selector import DeviceSetExpression

A, B = "attributes['a']", "attributes['b']"
AX, AY, BX = ("attributes", "a", "x"), ("attributes", "a", "y"), ("attributes", "b", "x")
ALL = ()


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("size(devices) == 4", []),
        ("devices.all(d, true)", []),
        (f"devices.all(d, d.{A}.x == 1)", [AX]),
        (f"devices.exists(d, has(d.{A}.x) && d.{A}.?y.orValue(1) == 1)", [AX, AY]),
        (f"devices.all(d, devices.exists(e, d.{A}.x == e.{B}.x))", [AX, BX]),
        (f"devices.map(d, d.{A}.x).size() == 2", [AX]),
        ("devices.map(d, d.driver).size() == 2", []),
        (
            "devices.all(d, d.driver == 'x' && !d.allowMultipleAllocations)",
            [("allowMultipleAllocations",), ("driver",)],
        ),
        ("devices.all(d, d.capacity['a'].x == quantity('1'))", [("capacity", "a", "x")]),
        (f"devices[0].{A}.x == devices[1].{B}.x", [AX, BX]),
        (f"devices.first().value().{A}.x == 1", [AX]),
        (f"cel.bind(f, devices.filter(d, d.{A}.x == 1), f.all(d, d.{B}.x == 1))", [AX, BX]),
        (f"cel.bind(d, devices[0], cel.bind(a, d.{A}, a.x == a.y))", [AX, AY]),
        ("cel.bind(domain, 'a', devices.all(d, d.attributes[domain].x == 1))", [AX]),
        (f"devices.all(d, d.{A}[d.{B}.x] == 1)", [("attributes", "a"), BX]),
        (f"devices.all(d, d.{A} == {{'x': 1}})", [("attributes", "a")]),
        (f"devices.map(d, d.{A}).all(a, a.x == 1)", [AX]),
        (f"devices.map(d, [d.{A}, d.{B}]).flatten().all(a, a.x == 1)", [AX, BX]),
        (f"devices.map(d, [d, d]).all(p, p[0].{A}.x == 1)", [AX]),
        (f"(devices + devices).slice(0, 1).reverse().all(d, d.{A}.x == 1)", [AX]),
        (f"devices.all(i, d, i == 0 || d.{A}.x == 1)", [AX]),
        (f"devices.map(d, true ? d.{A} : d.{B}).all(a, a.x == 1)", [AX, BX]),
        (f"devices.all(d, d.{A}.x.exists(v, v == 1) || d.{A}.x[0] == 1)", [AX]),
        (f"devices.all(d, dyn(d).{A}.x == 1)", [AX]),
        (f"devices[0].?{A}.optMap(a, a.x == 1).orValue(true)", [AX]),
        ("devices.all(d, d.attributes.exists(k, k == 'a'))", [("attributes",)]),
        ("devices.all(d, 'a' in d.attributes)", [("attributes",)]),
        (f"devices.all(d, d == devices[0] && d.{A}.x == 1)", [ALL]),
        ("devices.all(d, {'k': d}.k.driver == 'x')", [ALL]),
        ("dyn(devices[0])", [ALL]),
        ("devices.all(d, dyn(d).size() == 4)", [ALL]),
        (f"devices.all(devices, devices.{A}.x == 1)", [AX]),
    ],
)
def test_parts_that_are_read(text, reads):
    assert sorted(DeviceSetExpression(text).reads) == reads


@pytest.mark.parametrize(
    "text",
    [
        "devices.all(d, devices.exists(e, d != e))",
        "devices.exists(d, d == devices[0])",
        "devices[0] in devices",
        "devices.includes(devices[0])",
        "devices == devices.reverse()",
        "devices.distinct().size() == 2",
        "sets.contains(devices, [devices[0]])",
        "cel.bind(one, [devices[0]], one.indexOf(devices[1]) == 0)",
        "devices.map(d, {'k': d})[0] == {'k': devices[1]}",
    ],
)
def test_devices_are_compared(text):
    assert DeviceSetExpression(text).compares_devices


@pytest.mark.parametrize(
    "text",
    ["size(devices) == 2", f"devices.all(d, d.{A} == devices[0].{A})", "dyn(devices[0])", "devices.exists(d, true)"],
)
def test_devices_are_not_compared(text):
    assert not DeviceSetExpression(text).compares_devices


def told(expression, devices):
    found = expression.result([prepared(device) for device in devices])
    return "error" if isinstance(found, CelError) else found


def kept(reads):
    """The names of what random expressions read."""
    if () in reads:
        return {*NAMES, "c"}
    whole = {"attributes": NAMES, "capacity": ("c",)}
    return {name for path in reads if path[0] in whole for name in (path[2:] or whole[path[0]])}


def test_what_is_not_read_does_not_matter():
    """Devices that agree in what is read give the same result, or all an error."""
    compared = 0
    for seed in range(300):
        grammar = Grammar(seed)
        try:
            expression = DeviceSetExpression(grammar.boolean([], 3))
        except CelCompileError:
            continue
        devices = [grammar.device() for _ in range(3)]
        others = [grammar.device(one, kept(expression.reads)) for one in devices]
        compared += devices != others
        assert told(expression, devices) == told(expression, others), expression.text
    assert compared > 150


def test_deep_lists_are_read_whole():
    text = "devices" + ".map(d, [d])" * 60 + ".size() == 2"
    assert DeviceSetExpression(text).reads == {()}
