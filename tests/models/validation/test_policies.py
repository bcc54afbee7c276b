"""Request policies of capacities (POL-1 to POL-3)."""

import pytest
from support.validation import assert_problems, device, problems, row

from drasat.models.gates import FeatureGates

POLICY = "spec.devices[0].capacity[m].requestPolicy"
INTEGERS = FeatureGates.all_on().with_({"DRAFractionalCapacityRange": False})


def policy(value, shared=True, **fields):
    capacity = {"m": {"value": value, "requestPolicy": fields}}
    return {"spec devices": [device(capacity=capacity, allowMultipleAllocations=shared)]}


def span(default, low, high=None, step=None, value="10"):
    bounds = {"min": low, "max": high, "step": step}
    return policy(value, default=default, validRange={name: text for name, text in bounds.items() if text is not None})


def listed(default, *values, value="10"):
    return policy(value, default=default, validValues=list(values))


FORMS = [
    row(
        "POL-1 dedicated device",
        policy("8", shared=False, default="1"),
        f"{POLICY}: Forbidden: may only be set when `allowMultipleAllocations`",
    ),
    row("POL-1 default only", policy("8", default="1")),
    row("POL-1 empty policy", policy("8")),
    row(
        "POL-1 values without default",
        policy("8", validValues=["1"]),
        f"{POLICY}.default: Required value: required with",
    ),
    row(
        "POL-1 range without default",
        policy("8", validRange={"min": "1"}),
        f"{POLICY}.default: Required value: required with",
    ),
    row(
        "POL-1 values and range",
        policy("8", default="1", validValues=["1"], validRange={"min": "1"}),
        f"structure {POLICY}: Forbidden: `validValues` and `validRange` exclude each other",
    ),
    row(
        "POL-1 default above capacity", policy("8", default="9"), f"warning {POLICY}.default: above the capacity value"
    ),
    row(
        "default malformed",
        policy("8", default="x"),
        f'structure {POLICY}.default: Invalid value: "x": quantities must match',
    ),
    row("bound malformed", span("1", "x"), f'structure {POLICY}.validRange.min: Invalid value: "x": quantities'),
    row(
        "listed value malformed",
        listed("1", "1", "x"),
        f'structure {POLICY}.validValues[1]: Invalid value: "x": quantities',
    ),
]
VALUES = [
    row("POL-2 10 values", listed("1", *map(str, range(1, 11)))),
    row(
        "POL-2 11 values",
        listed("1", *map(str, range(1, 12)), value="20"),
        f"{POLICY}.validValues: Too many: 11: must have at most 10 items",
    ),
    row(
        "POL-2 descending",
        listed("1", "2", "1"),
        f'{POLICY}.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
    ),
    row("POL-2 equal", listed("1", "1", "1000m", "2"), f'{POLICY}.validValues[1]: Duplicate value: "1000m"'),
    row(
        "POL-2 above capacity",
        listed("1", "1", "11"),
        f'{POLICY}.validValues[1]: Invalid value: "11": must be less than or equal to the capacity value',
    ),
    row(
        "POL-2 default not listed",
        listed("3", "1", "2"),
        f'{POLICY}.default: Invalid value: "3": must be one of `validValues`',
    ),
    row("POL-2 default spelt otherwise", listed("1000m", "1", "2")),
    row("POL-2 exact order", listed("1001m", "1", "1001m", "1.002")),
    row("POL-2 bare numbers", listed(1, 1, 2)),
]
RANGES = [
    row("POL-3 min only", span("1", "1")),
    row(
        "POL-3 no min",
        policy("8", default="1", validRange={"max": "2"}),
        f"structure {POLICY}.validRange.min: Required value",
    ),
    row("POL-3 min is capacity", span("10", "10")),
    row(
        "POL-3 min above capacity",
        span("11", "11"),
        f'{POLICY}.validRange.min: Invalid value: "11": must be less than or equal to the capacity value',
        f"warning {POLICY}.default",
    ),
    row(
        "POL-3 default below min",
        span("1", "2"),
        f'{POLICY}.default: Invalid value: "1": must be greater than or equal to `validRange.min`',
    ),
    row(
        "POL-3 default above max",
        span("5", "1", "4"),
        f'{POLICY}.default: Invalid value: "5": must be less than or equal to `validRange.max`',
    ),
    row(
        "POL-3 max below min",
        span("4", "4", "3"),
        f'{POLICY}.validRange.max: Invalid value: "3": must be greater than or equal to `validRange.min`',
        f'{POLICY}.default: Invalid value: "4": must be less than or equal to `validRange.max`',
    ),
    row(
        "POL-3 max above capacity",
        span("1", "1", "11"),
        f'{POLICY}.validRange.max: Invalid value: "11": must be less than or equal to the capacity',
    ),
    row(
        "POL-3 step zero",
        span("1", "1", None, "0"),
        f'structure {POLICY}.validRange.step: Invalid value: "0": must be greater than zero',
    ),
    row(
        "POL-3 step negative",
        span("1", "1", None, "-1"),
        f'structure {POLICY}.validRange.step: Invalid value: "-1": must be greater',
    ),
    row("POL-3 step to capacity", span("2", "2", None, "8")),
    row(
        "POL-3 step beyond capacity",
        span("2", "2", None, "9"),
        f'{POLICY}.validRange.step: Invalid value: "9": `validRange.min` plus the step must not exceed',
    ),
    row(
        "POL-3 default off step",
        span("4", "1", None, "2"),
        f'{POLICY}.default: Invalid value: "4": must be a multiple of the step 2 from `validRange.min` 1',
    ),
    row(
        "POL-3 max off step",
        span("3", "1", "8", "2"),
        f'{POLICY}.validRange.max: Invalid value: "8": must be a multiple of the step 2',
    ),
    row("POL-3 on step", span("3", "1", "9", "2")),
    row(
        "POL-3 min negative",
        span("1", "-1"),
        f'{POLICY}.validRange.min: Invalid value: "-1": must be between 0 and 9223372036854775807',
    ),
    row(
        "POL-3 min a little negative",
        span("1", "-1m"),
        f'{POLICY}.validRange.min: Invalid value: "-1m": must be between 0',
    ),
    row("POL-3 max 2^63-1", span("1", "1", "9223372036854775807", value="1e20")),
    row(
        "POL-3 max 2^63",
        span("1", "1", "9223372036854775808", value="1e20"),
        f"{POLICY}.validRange.max: Invalid value: ...must be between 0",
    ),
]
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
WHOLE = [
    # Rounded up: 2 - 1 by steps of 1.
    row("POL-3 fractions rounded", span("1500m", "500m", "2500m", "500m")),
    row(
        "POL-3 rounded default is off step",
        span("1500m", "500m", "5", "2"),
        f'{POLICY}.default: Invalid value: "1500m": must be a multiple',
    ),
    # 500m + 500m would fit a capacity of 1, 1 + 1 does not.
    row(
        "POL-3 rounded step beyond capacity",
        span("1", "500m", None, "500m", value="1"),
        f'{POLICY}.validRange.step: Invalid value: "500m"',
    ),
]


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
