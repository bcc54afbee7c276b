"""Rules of devices: names, attributes, capacities, consumption, taints, binding conditions."""

import pytest
from support.validation import assert_problems, device, problems, row, rows

DEVICE = "spec.devices[0]"
ATTRIBUTES = "spec devices 0 attributes"


def capacities(count):
    return {f"c{number}": {"value": "1"} for number in range(count)}


def attribute(value, name="x"):
    return {f"{ATTRIBUTES} {name}": value}


def counters(count):
    return {f"c{number}": {"value": "1"} for number in range(count)}


NAMES = rows("validation/devices", "names")
VALUES = [
    row("ATTR-2 none", attribute({}), f"{DEVICE}.attributes[x]: Required value: exactly one value must be specified"),
    row(
        "ATTR-2 two",
        attribute({"int": 1, "string": "a"}),
        f'structure {DEVICE}.attributes[x]: Invalid value: {{"int":1,"string":"a"}}: exactly one '
        f"value must be specified",
    ),
    row("ATTR-2 string of 64", attribute({"string": "x" * 64})),
    row(
        "ATTR-2 string of 65",
        attribute({"string": "x" * 65}),
        f"{DEVICE}.attributes[x].string: Too long: may not be more than 64 bytes",
    ),
    row("ATTR-2 string of 64 bytes", attribute({"string": "\u00e9" * 32})),
    row("ATTR-2 string of 66 bytes", attribute({"string": "\u00e9" * 33}), f"{DEVICE}.attributes[x].string: Too long"),
    row(
        "ATTR-2 empty list", attribute({"ints": []}), f"{DEVICE}.attributes[x].ints: Required value: must not be empty"
    ),
    row(
        "ATTR-2 long string in a list",
        attribute({"strings": ["a", "x" * 65]}),
        f"{DEVICE}.attributes[x].strings[1]: Too long: may not be more than 64 bytes",
    ),
    row(
        "ATTR-3 bad version in a list",
        attribute({"versions": ["1.0.0", "1.0"]}),
        f'{DEVICE}.attributes[x].versions[1]: Invalid value: "1.0": must be a string compatible '
        f"with semver.org spec 2.0.0",
    ),
    *(
        row(
            f"ATTR-3 {text}",
            attribute({"version": text}),
            f'{DEVICE}.attributes[x].version: Invalid value: "{text}": must be a string compatible',
        )
        for text in ("", "1.2", "v1.2.3", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3 ")
    ),
    *(
        row(f"ATTR-3 {text}", attribute({"version": text}))
        for text in ("0.0.0", "1.2.3-0a.b-c.0", "1.2.3+01", "1.2.3--1+a.b")
    ),
    row("ATTR-3 version of 64", attribute({"version": "1.2.3-" + "a" * 58})),
    row(
        "ATTR-3 version of 65",
        attribute({"version": "1.2.3-" + "a" * 59}),
        f"{DEVICE}.attributes[x].version: Too long: may not be more than 64 bytes",
    ),
    row(
        "capacity value",
        {"spec devices 0 capacity mem value": "1Gb"},
        f'structure {DEVICE}.capacity[mem].value: Invalid value: "1Gb": quantities must match',
    ),
]
LIMITS = rows("validation/devices", "limits")
TAINTS = rows("validation/devices", "taints")


def binding(conditions, failures):
    return {"spec devices 0 bindingConditions": conditions, "spec devices 0 bindingFailureConditions": failures}


BINDING = rows("validation/devices", "binding")


@pytest.mark.parametrize(("edits", "expected"), NAMES)
def test_names_of_devices(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), VALUES)
def test_values_of_attributes(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), LIMITS)
def test_limits_of_devices(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), TAINTS)
def test_device_taints(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), BINDING)
def test_binding_conditions(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


def test_every_problem_of_every_device_is_reported():
    broken = [device("A", attributes={"a-b": {}}), device("ok"), device("B", attributes={"a-b": {}})]
    found = problems("ResourceSlice", {"spec devices": broken})
    assert [problem.split(":")[0] for problem in found] == [
        "spec.devices[0].name",
        "spec.devices[0].attributes[a-b]",
        "spec.devices[0].attributes[a-b]",
        "spec.devices[2].name",
        "spec.devices[2].attributes[a-b]",
        "spec.devices[2].attributes[a-b]",
    ]


def test_remembered_values_do_not_hide_later_problems():
    """Good values and names are remembered; a bad one is bad each time it is seen."""
    long = attribute({"string": "y" * 65})
    assert problems("ResourceSlice", attribute({"string": "y" * 64})) == []
    assert problems("ResourceSlice", long) == problems("ResourceSlice", long) != []
