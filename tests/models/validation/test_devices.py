"""Rules of devices: names, attributes, capacities, consumption, taints, binding conditions."""

import pytest
from support.validation import assert_problems, device, problems, row

DEVICE = "spec.devices[0]"
ATTRIBUTES = "spec devices 0 attributes"


def scalars(count):
    return {f"a{number}": {"int": number} for number in range(count)}


def capacities(count):
    return {f"c{number}": {"value": "1"} for number in range(count)}


def attribute(value, name="x"):
    return {f"{ATTRIBUTES} {name}": value}


def counters(count):
    return {f"c{number}": {"value": "1"} for number in range(count)}


def consumes(*sets):
    return {"spec devices 0 consumesCounters": [{"counterSet": name, "counters": counters(1)} for name in sets]}


NAMES = [
    row("device name missing", {"spec devices 0 name": ""}, f"{DEVICE}.name: Required value"),
    row("device name 63 bytes", {"spec devices 0 name": "d" * 63}),
    row(
        "device name 64 bytes",
        {"spec devices 0 name": "d" * 64},
        f"{DEVICE}.name: Invalid value: ...must be no more than 63 characters",
    ),
    row(
        "device name shape",
        {"spec devices 0 name": "gpu.0"},
        f'{DEVICE}.name: Invalid value: "gpu.0": must not contain dots',
    ),
    row(
        "ATTR-1 hyphen",
        attribute({"int": 1}, "a-b"),
        f'{DEVICE}.attributes[a-b]: Invalid value: "a-b": a valid C identifier must start with',
    ),
    row(
        "ATTR-1 digit first",
        attribute({"int": 1}, "0a"),
        f'{DEVICE}.attributes[0a]: Invalid value: "0a": a valid C identifier',
    ),
    row("ATTR-1 identifier of 32", attribute({"int": 1}, "x" * 32)),
    row(
        "ATTR-1 identifier of 33",
        attribute({"int": 1}, "x" * 33),
        f"{DEVICE}.attributes[{'x' * 33}]: Too long: may not be more than 32 bytes",
    ),
    row("ATTR-1 domain of 63", attribute({"int": 1}, "d" * 63 + "/x")),
    row(
        "ATTR-1 domain of 64",
        attribute({"int": 1}, "d" * 64 + "/x"),
        f"{DEVICE}.attributes[{'d' * 64}/x]: Too long: may not be more than 63 bytes",
    ),
    row(
        "ATTR-1 domain shape",
        attribute({"int": 1}, "a_b/x"),
        f'{DEVICE}.attributes[a_b/x]: Invalid value: "a_b": a lowercase RFC 1123 subdomain',
    ),
    row(
        "ATTR-1 two domains",
        attribute({"int": 1}, "a/b/x"),
        f'{DEVICE}.attributes[a/b/x]: Invalid value: "a/b/x": must be either an identifier or a domain',
    ),
    row(
        "ATTR-1 empty domain",
        attribute({"int": 1}, "/x"),
        f'{DEVICE}.attributes[/x]: Invalid value: "/x": the domain must not be empty',
    ),
    row(
        "ATTR-1 empty identifier",
        attribute({"int": 1}, "a/"),
        f'{DEVICE}.attributes[a/]: Invalid value: "a/": the name must not be empty',
    ),
    row("ATTR-1 empty name", attribute({"int": 1}, ""), f"{DEVICE}.attributes[]: Required value"),
    row(
        "ATTR-1 capacity",
        {"spec devices 0 capacity a-b": {"value": "1"}},
        f'{DEVICE}.capacity[a-b]: Invalid value: "a-b": a valid C identifier',
    ),
    row(
        "CEL-10 published twice",
        attribute({"int": 1}, "gpu.example.com/model"),
        f"warning {DEVICE}.attributes[model]: also published as gpu.example.com/model",
    ),
    row("CEL-10 other domain", attribute({"int": 1}, "other.example.com/model")),
]
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
LIMITS = [
    row("32 entries", {ATTRIBUTES: scalars(20), "spec devices 0 capacity": capacities(12)}),
    row(
        "33 entries",
        {ATTRIBUTES: scalars(20), "spec devices 0 capacity": capacities(13)},
        f"{DEVICE}: Invalid value: 33: the total number of attributes and capacities must not exceed 32",
    ),
    row("48 values", {ATTRIBUTES: scalars(8) | {"l": {"ints": list(range(40))}}}),
    row(
        "49 values",
        {ATTRIBUTES: scalars(8) | {"l": {"strings": ["x"] * 41}}},
        f"{DEVICE}.attributes: Invalid value: 49: the total number of attribute values must not exceed 48",
    ),
    row("CNT-1 2 consumptions", consumes("a", "b")),
    row(
        "CNT-1 3 consumptions",
        consumes("a", "b", "c"),
        f"{DEVICE}.consumesCounters: Too many: 3: must have at most 2 items",
    ),
    row("CNT-1 same set", consumes("a", "a"), f'{DEVICE}.consumesCounters[1].counterSet: Duplicate value: "a"'),
    row("CNT-1 set missing", consumes(""), f"{DEVICE}.consumesCounters[0].counterSet: Required value"),
    row(
        "CNT-1 set name",
        consumes("A"),
        f'{DEVICE}.consumesCounters[0].counterSet: Invalid value: "A": a lowercase RFC 1123 label',
    ),
    row(
        "CNT-1 nothing consumed",
        consumes("a") | {"spec devices 0 consumesCounters 0 counters": {}},
        f"{DEVICE}.consumesCounters[0].counters: Required value",
    ),
    row(
        "CNT-1 33 consumed",
        consumes("a") | {"spec devices 0 consumesCounters 0 counters": counters(33)},
        f"{DEVICE}.consumesCounters[0].counters: Too many: 33",
    ),
]
TAINT = "spec devices 0 taints"
TAINTS = [
    row("16 taints", {TAINT: [{"key": f"k{i}", "effect": "None"} for i in range(16)]}),
    row(
        "17 taints",
        {TAINT: [{"key": f"k{i}", "effect": "None"} for i in range(17)]},
        f"{DEVICE}.taints: Too many: 17: must have at most 16 items",
    ),
    row("taint without key", {TAINT: [{"effect": "NoSchedule"}]}, f"{DEVICE}.taints[0].key: Required value"),
    row(
        "taint key",
        {TAINT: [{"key": "a b", "effect": "NoSchedule"}]},
        f'{DEVICE}.taints[0].key: Invalid value: "a b": name part must consist of',
    ),
    row(
        "taint value",
        {TAINT: [{"key": "a", "value": "x y", "effect": "NoSchedule"}]},
        f'{DEVICE}.taints[0].value: Invalid value: "x y": a valid label must be an empty string or',
    ),
    row("taint without effect", {TAINT: [{"key": "a"}]}, f"{DEVICE}.taints[0].effect: Required value"),
    row(
        "taint effect",
        {TAINT: [{"key": "a", "effect": "PreferNoSchedule"}]},
        f'{DEVICE}.taints[0].effect: Unsupported value: "PreferNoSchedule": supported values: '
        f'"NoExecute", "NoSchedule", "None"',
    ),
    row("taint time", {TAINT: [{"key": "a", "effect": "None", "timeAdded": "2026-01-31T09:00:00+01:00"}]}),
    row(
        "taint bad time",
        {TAINT: [{"key": "a", "effect": "None", "timeAdded": "yesterday"}]},
        f'{DEVICE}.taints[0].timeAdded: Invalid value: "yesterday": must be a time',
    ),
]


def binding(conditions, failures):
    return {"spec devices 0 bindingConditions": conditions, "spec devices 0 bindingFailureConditions": failures}


BINDING = [
    row("4 conditions", binding(["a", "b", "c", "d"], ["e", "f", "g", "h"])),
    row(
        "5 conditions",
        binding(["a", "b", "c", "d", "e"], ["f"]),
        f"{DEVICE}.bindingConditions: Too many: 5: must have at most 4 items",
    ),
    row(
        "5 failure conditions",
        binding(["f"], ["a", "b", "c", "d", "e"]),
        f"{DEVICE}.bindingFailureConditions: Too many: 5: must have at most 4",
    ),
    row(
        "conditions only",
        binding(["a"], []),
        f"{DEVICE}.bindingFailureConditions: Required value: required with `bindingConditions`",
    ),
    row(
        "failure conditions only",
        binding([], ["a"]),
        f"{DEVICE}.bindingConditions: Required value: required with `bindingFailureConditions`",
    ),
    row("condition twice", binding(["a", "a"], ["b"]), f'{DEVICE}.bindingConditions[1]: Duplicate value: "a"'),
    row(
        "failure condition twice",
        binding(["a"], ["b", "b"]),
        f'{DEVICE}.bindingFailureConditions[1]: Duplicate value: "b"',
    ),
    row(
        "condition in both",
        binding(["a", "b"], ["c", "b"]),
        f'{DEVICE}.bindingFailureConditions[1]: Invalid value: "b": must not be listed in both',
    ),
    row(
        "condition name",
        binding(["a b"], ["c"]),
        f'{DEVICE}.bindingConditions[0]: Invalid value: "a b": name part must consist of',
    ),
    row("both lists empty", binding([], [])),
    row(
        "node allocatable resource",
        {"spec devices 0 nodeAllocatableResources": {"c p u": {}}},
        f'{DEVICE}.nodeAllocatableResources[c p u]: Invalid value: "c p u": name part',
    ),
]


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
