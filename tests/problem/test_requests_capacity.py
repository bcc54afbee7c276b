"""The arithmetic of request policies alone (CAP-1 to CAP-6)."""

import pytest
from support.objects import device, shared

from drasat.models.kubernetes.quantity import Quantity
from drasat.problem.requests import CapacityError, compute_capacity_draw


def take(capacity, request=None, fractional=True):
    requests = {} if request is None else {"m": Quantity.parse(request)}
    return compute_capacity_draw(device("a", capacity={"m": capacity}), requests, fractional)


GRID = {"default": "1", "min": "1", "step": "3"}


@pytest.mark.parametrize(
    ("request_", "taken"), [("0", "1"), ("1", "1"), ("1001m", "4"), ("4", "4"), ("4001m", "7"), ("10", "10")]
)
def test_a_range_with_a_step_rounds_up_to_its_grid(request_, taken):
    """CAP-3, CAP-4."""
    assert str(take(shared("10", **GRID), request_).amounts["m"]) == taken


@pytest.mark.parametrize(
    ("bounds", "request_", "fractional", "taken"),
    [
        pytest.param({"min": "500m", "step": "500m"}, "600m", True, "1", id="thousandths"),
        pytest.param({"min": "0", "step": "100u"}, "2550u", True, "1", id="step-too-fine-for-thousandths"),
        pytest.param({"min": "1500u", "step": "1m"}, "3", True, "3", id="min-too-fine-for-thousandths"),
        pytest.param({"min": "1500m", "step": "1"}, "3", False, "3", id="whole-numbers-round-min-up"),
        pytest.param({"min": "2", "step": "2"}, "4100m", False, "6", id="whole-numbers-round-the-request-up"),
        pytest.param({"min": "2", "step": "2", "max": "8E"}, "3", True, "4", id="max-too-big-for-thousandths"),
    ],
)
def test_thousandths_only_if_all_bounds_can_be_written_in_them(bounds, request_, fractional, taken):
    """CAP-4."""
    assert str(take(shared("9E", default="4", **bounds), request_, fractional).amounts["m"]) == taken


@pytest.mark.parametrize(
    ("step", "request_", "text"),
    [
        pytest.param("1Ki", "1200", "2Ki", id="binary"),
        pytest.param("1e3", "1200", "2e3", id="exponent"),
        pytest.param("1000", "1200", "2k", id="decimal"),
        pytest.param("1Ki", "1000", "1024", id="below-min-as-min-is-written"),
    ],
)
def test_results_are_written_like_the_step(step, request_, text):
    """CAP-4."""
    least = "1024" if step == "1Ki" else step
    assert str(take(shared("1Mi", default=least, min=least, step=step), request_).amounts["m"]) == text


def test_values_are_taken_as_listed():
    """CAP-3: the first that is enough, in the order of the list."""
    assert str(take(shared("9", default="4", values=("4", "2")), "1").amounts["m"]) == "4"


def test_every_capacity_is_drawn_on():
    """CAP-3."""
    member = device("a", capacity={"m": "4", "k": shared("9", default="2")})
    drawn = compute_capacity_draw(member, {"m": Quantity.parse("3")}, True)
    assert {name: str(amount) for name, amount in drawn.amounts.items()} == {"k": "2", "m": "3"}


@pytest.mark.parametrize(
    ("capacity", "request_", "mismatch"),
    [
        pytest.param("4", "5", "m 4 is less than 5", id="CAP-6"),
        pytest.param(shared("9", default="1", min="1", max="3"), "4", "m 4 is above the range's 3", id="CAP-5-max"),
        pytest.param(
            shared("9", default="1", values=("1", "3")), "4", "m 4 is not one of the valid values", id="CAP-5"
        ),
        pytest.param(shared("9", min="1", step="3"), None, "m 9 is not on a step of the range", id="CAP-5-grid"),
    ],
)
def test_a_mismatch_says_why(capacity, request_, mismatch):
    assert take(capacity, request_).mismatch == mismatch


def test_a_capacity_that_the_device_lacks_is_named():
    """CAP-2: before anything is reckoned, so that no error can come of it."""
    drawn = compute_capacity_draw(
        device("a", capacity={"m": "4"}), {"m": Quantity.parse("-1"), "k": Quantity.parse("1")}, True
    )
    assert drawn.mismatch == "k missing"


@pytest.mark.parametrize(
    ("capacity", "request_", "text"),
    [
        pytest.param("4", "-1", 'capacity "m": capacity value is negative', id="negative"),
        pytest.param(shared("9", default="1", min="1", step="-1"), "2", "passes MaxInt64", id="backwards"),
        pytest.param(shared("9", default="1", min="1", step="0"), "2", "passes MaxInt64", id="standing-still"),
        pytest.param(shared("9", **GRID), "1.0001", "is not a representable milli value", id="too-fine"),
    ],
)
def test_what_cannot_be_reckoned_with_is_an_error(capacity, request_, text):
    """CAP-4, CAP-6: the step may be nonsense when validation was skipped."""
    with pytest.raises(CapacityError) as error:
        take(capacity, request_)
    assert text in str(error.value)
