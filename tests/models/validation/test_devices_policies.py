"""Request policies of capacities (POL-1 to POL-3)."""

import pytest
from support.gates import without
from support.validation import assert_problems, device, problems, row, rows

POLICY = "spec.devices[0].capacity[m].requestPolicy"
INTEGERS = without("DRAFractionalCapacityRange")


def policy(value, shared=True, **fields):
    capacity = {"m": {"value": value, "requestPolicy": fields}}
    return {"spec devices": [device(capacity=capacity, allowMultipleAllocations=shared)]}


def span(default, low, high=None, step=None, value="10"):
    bounds = {"min": low, "max": high, "step": step}
    return policy(value, default=default, validRange={name: text for name, text in bounds.items() if text is not None})


FORMS = rows("validation/policies", "forms")
VALUES = rows("validation/policies", "values")
RANGES = rows("validation/policies", "ranges")
FRACTIONS = [
    row("POL-3 fractions", span("1500m", "500m", "2500m", "500m")),
    row("POL-3 fractions of 1m", span("0.003", "1m", "0.005", "1m")),
    row(
        "POL-3 fraction off step",
        span("600m", "500m", "1500m", "500m"),
        f'{POLICY}.default: Invalid value: "600m": must be a multiple',
    ),
    row("POL-3 finer than 1m counts in integers", span("1700u", "500u", "2500u", "500u")),
]
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
