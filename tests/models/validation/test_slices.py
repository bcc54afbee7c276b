"""Rules of ResourceSlices: fields of the slice, its nodes, its counters."""

import pytest
from support.validation import COUNTERS, DROP, assert_problems, device, devices, problems, row

ONE_TERM = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
TWO_TERMS = {"nodeSelectorTerms": ONE_TERM["nodeSelectorTerms"] * 2}
TAINT = {"key": "a", "effect": "NoSchedule"}
CONSUMES = [{"counterSet": "set-0", "counters": {"slices": {"value": "1"}}}]
OPTIONS = "exactly one of `nodeName`, `nodeSelector`, `allNodes`"


def nodes(**ways):
    return {"spec nodeName": DROP} | {f"spec {way}": value for way, value in ways.items()}


def per_device(**ways):
    return nodes(perDeviceNodeSelection=True) | {f"spec devices 0 {way}": value for way, value in ways.items()}


FIELDS = [
    row("driver missing", {"spec driver": ""}, "spec.driver: Required value"),
    row("driver 63 bytes", {"spec driver": "d" * 63}),
    row("driver 64 bytes", {"spec driver": "d" * 64}, "spec.driver: Too long: may not be more than 63 bytes"),
    row(
        "driver shape", {"spec driver": "gpu_x"}, 'spec.driver: Invalid value: "gpu_x": a lowercase RFC 1123 subdomain'
    ),
    row("driver not ASCII", {"spec driver": "gpu\u212a"}, "spec.driver: Invalid value: ...RFC 1123 subdomain"),
    row("pool missing", {"spec pool name": ""}, "spec.pool.name: Required value"),
    row("pool 253 bytes", {"spec pool name": "/".join(["p" * 126] * 2)}),
    row(
        "pool 254 bytes",
        {"spec pool name": "p" * 126 + "/" + "p" * 127},
        "spec.pool.name: Too long: may not be more than 253",
    ),
    row("pool part", {"spec pool name": "a/B/c"}, 'spec.pool.name: Invalid value: "B": a lowercase RFC 1123 subdomain'),
    row("pool empty part", {"spec pool name": "a//c"}, 'spec.pool.name: Invalid value: "": a lowercase'),
    row("generation 0", {"spec pool generation": 0}),
    row(
        "generation negative",
        {"spec pool generation": -1},
        "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
    ),
    row(
        "slice count 0",
        {"spec pool resourceSliceCount": 0},
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
    ),
    row(
        "SLC-2 129 devices", {"spec devices": devices(129)}, "spec.devices: Too many: 129: must have at most 128 items"
    ),
    row(
        "SLC-2 65 with a taint",
        {"spec devices": [*devices(64), device("t", taints=[TAINT])]},
        "spec.devices: Too many: 65: must have at most 64 items",
    ),
    row(
        "SLC-2 65 with a consumer",
        {"spec devices": [*devices(64), device("t", consumesCounters=CONSUMES)]},
        "spec.devices: Too many: 65: must have at most 64 items",
    ),
    row(
        "SLC-2 65 with a list",
        {"spec devices": [*devices(64), device("t", attributes={"l": {"strings": ["x"]}})]},
        "spec.devices: Too many: 65: must have at most 64 items",
    ),
    row("SLC-2 65 simple", {"spec devices": devices(65, attributes={"l": {"string": "x"}})}),
    row(
        "POOL-9 device names",
        {"spec devices": [device("a"), device("b"), device("a"), device("a")]},
        'spec.devices[2].name: Duplicate value: "a"',
        'spec.devices[3].name: Duplicate value: "a"',
    ),
    row(
        "operations unknown",
        {"spec skipNodeOperations": ["Reboot"]},
        'spec.skipNodeOperations[0]: Unsupported value: "Reboot": supported values: "*", '
        '"NodePrepareResources", "NodeUnprepareResources"',
    ),
    row(
        "operations twice", {"spec skipNodeOperations": ["*", "*"]}, 'spec.skipNodeOperations[1]: Duplicate value: "*"'
    ),
    row(
        "operations prepare only",
        {"spec skipNodeOperations": ["NodePrepareResources"]},
        "spec.skipNodeOperations: Invalid value: ...together with NodeUnprepareResources",
    ),
    row("operations unprepare only", {"spec skipNodeOperations": ["NodeUnprepareResources"]}),
    row("operations prepare and all", {"spec skipNodeOperations": ["NodePrepareResources", "*"]}),
]
PARTITIONS = [
    row(
        "partition type bare",
        {"spec partitionTypeAttribute": "model"},
        'spec.partitionTypeAttribute: Invalid value: "model": must include a domain',
    ),
    row("partition type by driver", {"spec partitionTypeAttribute": "gpu.example.com/model"}),
    row(
        "partition type missing",
        {"spec partitionTypeAttribute": "example.com/x"},
        "spec.devices[0].attributes: Required value: devices that consume counters must have the "
        "string attribute example.com/x",
    ),
    row(
        "partition type not a string",
        {"spec partitionTypeAttribute": "example.com/n"},
        "spec.devices[0].attributes: Required value",
    ),
    row(
        "partition type without consumers",
        {"spec partitionTypeAttribute": "gpu.example.com/model", "spec devices 0 consumesCounters": DROP},
        'spec.partitionTypeAttribute: Invalid value: "gpu.example.com/model": some device must consume counters',
    ),
]
NODES = [
    row("SLC-1 none", nodes(), f"spec: Required value: {OPTIONS}, `perDeviceNodeSelection` is required"),
    row(
        "SLC-1 two",
        {"spec allNodes": True},
        f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {OPTIONS}...multiple fields are set',
    ),
    row(
        "SLC-1 per device and name",
        {"spec perDeviceNodeSelection": True, "spec devices": []},
        "structure spec: Invalid value: ...multiple fields are set",
    ),
    row("SLC-1 selector", nodes(nodeSelector=ONE_TERM)),
    row("SLC-1 all", nodes(allNodes=True)),
    row(
        "all nodes false",
        {"spec allNodes": False},
        "spec.allNodes: Invalid value: false: must be either unset or set to true",
    ),
    row(
        "per device false", {"spec perDeviceNodeSelection": False}, "spec.perDeviceNodeSelection: Invalid value: false"
    ),
    row(
        "node name empty",
        {"spec nodeName": "", "spec allNodes": True},
        'spec.nodeName: Invalid value: "": must be either unset',
    ),
    row(
        "node name shape",
        {"spec nodeName": "Node_1"},
        'spec.nodeName: Invalid value: "Node_1": a lowercase RFC 1123 subdomain',
    ),
    row(
        "one term",
        nodes(nodeSelector=TWO_TERMS),
        "spec.nodeSelector.nodeSelectorTerms: Invalid value: 2: must have exactly one node selector term",
    ),
    row(
        "no term",
        nodes(nodeSelector={}),
        "spec.nodeSelector.nodeSelectorTerms: Invalid value: 0: must have exactly one",
    ),
    row("device without nodes", per_device(), f"spec.devices[0]: Required value: {OPTIONS} is required"),
    row("device with a name", per_device(nodeName="n")),
    row(
        "device with two",
        per_device(nodeName="n", allNodes=True),
        'spec.devices[0]: Invalid value: "{`nodeName`, `allNodes`}": exactly one',
    ),
    row("RES-7 device with two terms", per_device(nodeSelector=TWO_TERMS)),
    row(
        "device with no term",
        per_device(nodeSelector={}),
        "spec.devices[0].nodeSelector.nodeSelectorTerms: Required value: must have at least one",
    ),
    row(
        "device all nodes false",
        per_device(nodeName="n", allNodes=False),
        "spec.devices[0].allNodes: Invalid value: false",
    ),
    row(
        "device nodes not asked",
        {"spec devices 0 nodeName": "n"},
        "spec.devices[0].nodeName: Forbidden: may not be set unless",
    ),
]
SET = "spec.sharedCounters[0]"
SETS = [
    row(
        "VER-5 devices and counters",
        {"spec devices": [device()]},
        "spec.sharedCounters: Forbidden: `devices` and `sharedCounters` exclude each other",
    ),
    row(
        "CNT-1 8 sets", {"spec sharedCounters": [{"name": f"s{i}", "counters": {"c": {"value": 1}}} for i in range(8)]}
    ),
    row(
        "CNT-1 9 sets",
        {"spec sharedCounters": [{"name": f"s{i}", "counters": {"c": {"value": 1}}} for i in range(9)]},
        "spec.sharedCounters: Too many: 9: must have at most 8 items",
    ),
    row(
        "CNT-1 equal sets",
        {"spec sharedCounters": [{"name": "s", "counters": {"c": {"value": 1}}}] * 2},
        'spec.sharedCounters[1].name: Duplicate value: "s"',
    ),
    row("CNT-1 set without name", {"spec sharedCounters 0 name": ""}, f"{SET}.name: Required value"),
    row(
        "CNT-1 set name",
        {"spec sharedCounters 0 name": "Set"},
        f'{SET}.name: Invalid value: "Set": a lowercase RFC 1123 label',
    ),
    row(
        "CNT-1 set name of 64",
        {"spec sharedCounters 0 name": "s" * 64},
        f"{SET}.name: Invalid value: ...must be no more than 63 characters",
    ),
    row("CNT-1 no counters", {"spec sharedCounters 0 counters": {}}, f"{SET}.counters: Required value"),
    row("CNT-1 32 counters", {"spec sharedCounters 0 counters": {f"c{i}": {"value": "1"} for i in range(32)}}),
    row(
        "CNT-1 33 counters",
        {"spec sharedCounters 0 counters": {f"c{i}": {"value": "1"} for i in range(33)}},
        f"{SET}.counters: Too many: 33: must have at most 32 items",
    ),
    row(
        "CNT-1 counter name",
        {"spec sharedCounters 0 counters": {"a.b": {"value": "1"}}},
        f'{SET}.counters[a.b]: Invalid value: "a.b": must not contain dots',
    ),
    row(
        "counter value",
        {"spec sharedCounters 0 counters slices value": "x1"},
        f'structure {SET}.counters[slices].value: Invalid value: "x1": quantities must match',
    ),
]


@pytest.mark.parametrize(("edits", "expected"), FIELDS)
def test_fields_of_slices(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), PARTITIONS)
def test_partition_type_attribute(edits, expected):
    assert_problems(problems("ResourceSlice", {"spec devices 0 consumesCounters": CONSUMES} | edits), expected)


@pytest.mark.parametrize(("edits", "expected"), NODES)
def test_nodes_of_slices_and_devices(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), SETS)
def test_shared_counters(edits, expected):
    assert_problems(problems("ResourceSlice", edits, COUNTERS), expected)


def test_problem_of_a_well_known_counter_value_is_found_again():
    """Amounts are remembered as good, never as bad."""
    bad = {"spec sharedCounters 0 counters slices value": "7 "}
    assert problems("ResourceSlice", {}, COUNTERS) == []
    assert problems("ResourceSlice", bad, COUNTERS) == problems("ResourceSlice", bad, COUNTERS) != []
