"""Rules of ResourceSlices: fields of the slice, its nodes, its counters."""

import pytest
from support.validation import COUNTERS, assert_problems, problems, rows

CONSUMES = [{"counterSet": "set-0", "counters": {"slices": {"value": "1"}}}]


FIELDS = rows("validation/slices", "fields")
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


GOOD = {"name": "good", "attributes": {"s": {"string": "x"}}, "capacity": {"m": {"value": "1Gi"}}}


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        pytest.param({"name": "Bad_name"}, "name", id="name"),
        pytest.param({"name": ""}, "name", id="no-name"),
        pytest.param({"attributes": {"a b": {"string": "x"}}}, "attributes[a b]", id="name-of-attribute"),
        pytest.param({"attributes": {"v": {"version": "x"}}}, "attributes[v].version", id="version"),
        pytest.param({"attributes": {"s": {"string": "x" * 65}}}, "attributes[s].string", id="long-string"),
        pytest.param({"attributes": {"s": {"string": "ä" * 33}}}, "attributes[s].string", id="long-in-bytes"),
        pytest.param({"attributes": {"s": {"string": "x", "int": 1}}}, "attributes[s]", id="two-values"),
        pytest.param({"attributes": {"s": {}}}, "attributes[s]", id="no-value"),
        pytest.param({"attributes": {"s": {"strings": []}}}, "attributes[s].strings", id="empty-list"),
        pytest.param({"attributes": {f"a{n}": {"int": n} for n in range(49)}}, "attributes", id="many-values"),
        pytest.param({"attributes": {f"a{n}": {"int": n} for n in range(32)}}, "", id="many-entries"),
        pytest.param({"capacity": {"m": {"value": "1x"}}}, "capacity[m].value", id="amount"),
        pytest.param(
            {"capacity": {"m": {"value": "1", "requestPolicy": {}}}}, "capacity[m].requestPolicy", id="policy"
        ),
        pytest.param({"nodeName": ""}, "nodeName", id="node"),
        pytest.param({"allNodes": False}, "allNodes", id="not-all-nodes"),
        pytest.param({"taints": [{"effect": "NoSchedule"}]}, "taints[0].key", id="taint"),
    ],
)
def test_what_is_wrong_with_one_of_equal_devices_is_found_again(fields, place):
    """Values and names are remembered as good, never as bad; devices with nothing else are looked at together."""
    devices = [GOOD, {**GOOD, "name": "bad", **fields}, {**GOOD, "name": "last"}]
    first, second = (problems("ResourceSlice", {"spec devices": devices}) for _ in range(2))
    assert first == second
    assert f"spec.devices[1].{place}".removesuffix(".") in {
        str(one).removeprefix("structure ").split(": ")[0] for one in first
    }
    assert all("devices[1]" in str(one) for one in first)
