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
