"""Request policies of capacities (POL-1 to POL-3)."""

import pytest
from support.gates import without
from support.validation import assert_problems, problems, rows

INTEGERS = without("DRAFractionalCapacityRange")


FORMS = rows("validation/policies", "forms")
VALUES = rows("validation/policies", "values")
RANGES = rows("validation/policies", "ranges")
FRACTIONS = rows("validation/policies", "fractions")
WHOLE = rows("validation/policies", "whole")


@pytest.mark.parametrize(("edits", "expected"), FORMS)
def test_forms_of_policies(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), VALUES)
def test_listed_values(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), RANGES)
@pytest.mark.parametrize("gates", [pytest.param(None, id="fractional"), pytest.param(INTEGERS, id="whole")])
def test_ranges(edits, expected, gates):
    assert_problems(problems("ResourceSlice", edits, gates=gates), expected)


@pytest.mark.parametrize(("edits", "expected"), FRACTIONS)
def test_fractional_ranges(edits, expected):
    assert_problems(problems("ResourceSlice", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), WHOLE)
def test_ranges_in_whole_numbers(edits, expected):
    assert_problems(problems("ResourceSlice", edits, gates=INTEGERS), expected)
