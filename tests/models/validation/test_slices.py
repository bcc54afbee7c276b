"""Rules of ResourceSlices: fields of the slice, its nodes, its counters."""

import pytest
from support.validation import COUNTERS, DROP, assert_problems, device, devices, problems, row, rows

TAINT = {"key": "a", "effect": "NoSchedule"}
CONSUMES = [{"counterSet": "set-0", "counters": {"slices": {"value": "1"}}}]


def nodes(**ways):
    return {"spec nodeName": DROP} | {f"spec {way}": value for way, value in ways.items()}


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
PARTITIONS = rows("validation/slices", "partitions")
NODES = rows("validation/slices", "nodes")
SETS = rows("validation/slices", "sets")


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
