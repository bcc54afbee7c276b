"""Rules of devices: names, attributes, capacities, consumption, taints, binding conditions."""

import pytest
from support.validation import assert_problems, device, problems, rows

ATTRIBUTES = "spec devices 0 attributes"


def attribute(value, name="x"):
    return {f"{ATTRIBUTES} {name}": value}


NAMES = rows("validation/devices", "names")
VALUES = rows("validation/devices", "values")
LIMITS = rows("validation/devices", "limits")
TAINTS = rows("validation/devices", "taints")


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
