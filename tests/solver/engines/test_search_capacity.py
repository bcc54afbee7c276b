"""Shared devices and capacity requests, end to end (section 10)."""

import pytest
from support.objects import (
    after,
    attempt,
    claim,
    device,
    devices,
    either,
    fails,
    fatal,
    names,
    option,
    picks,
    pool,
    shared,
    want,
)


def one(multi=True, **capacity):
    return pool(device("a", multi=multi, capacity=capacity))


def consumed(*objects, **options):
    answer = attempt(*objects, **options)
    return [dict(result.consumed_capacity or {}) for result in answer.results]


@pytest.mark.parametrize("asked", ["d.x/m", "other"])
def test_names_of_capacities_are_compared_letter_by_letter(asked):
    """CAP-1, CAP-2: a bare name and the same one with the driver's domain are different."""
    assert fails(one(m="10"), claim(want(capacity={asked: "1"})))


def test_a_device_without_the_capacity_does_not_match():
    """CAP-2."""
    assert names(pool(device("a"), device("b", capacity={"m": "4"})), claim(want(capacity={"m": "1"}))) == ["b"]


RANGE = {"default": "2", "min": "2", "step": "2", "max": "8"}


@pytest.mark.parametrize(
    ("capacity", "request_", "taken"),
    [
        pytest.param(shared("10", default="3"), None, "3", id="CAP-3-default"),
        pytest.param("10Gi", None, "10Gi", id="CAP-3-all-of-it"),
        pytest.param("10Gi", "3G", "3G", id="CAP-3-as-asked"),
        pytest.param(shared("10", **RANGE), "1", "2", id="CAP-3-below-min"),
        pytest.param(shared("10", **RANGE), "3", "4", id="CAP-3-rounded-up"),
        pytest.param(shared("10", default="2", min="2", max="8"), "2500m", "2500m", id="CAP-3-no-step"),
        pytest.param(shared("10", default="2", values=("2", "4", "8")), "3", "4", id="CAP-3-values"),
        pytest.param(shared("10", default="3"), "5", "5", id="CAP-3-default-only"),
        pytest.param(shared("10", **RANGE), "4500m", "6", id="CAP-4-thousandths"),
        pytest.param(shared("10", default="0", min="0", step="100m"), "2550m", "2600m", id="CAP-4-fraction"),
        pytest.param(
            shared("10Gi", default="1Gi", min="1Gi", step="512Mi"), "3G", "3Gi", id="CAP-4-notation-of-the-step"
        ),
        pytest.param(shared("10", **RANGE), "0", "2", id="CAP-3-zero"),
    ],
)
def test_what_is_consumed_follows_the_policy(capacity, request_, taken):
    asked = claim(want(capacity=None if request_ is None else {"m": request_}))
    assert consumed(one(m=capacity), asked) == [{"m": taken}]


@pytest.mark.parametrize(
    ("capacity", "request_"),
    [
        pytest.param(shared("10", **RANGE), "9", id="CAP-5-above-max"),
        pytest.param(shared("10", default="2", values=("2", "4")), "5", id="CAP-5-not-listed"),
        pytest.param(shared("10", min="2", step="2", max="8"), None, id="CAP-5-no-default"),
        pytest.param(shared("10", default="19"), None, id="CAP-6-default-too-much"),
        pytest.param("10", "10001m", id="CAP-6-too-much"),
    ],
)
def test_what_the_policy_does_not_offer_does_not_match(capacity, request_):
    assert fails(one(m=capacity), claim(want(capacity=None if request_ is None else {"m": request_})))


def test_a_default_above_the_maximum_is_still_offered():
    """CAP-5: equal to the default is never a violation."""
    assert consumed(one(m=shared("10", default="9", min="2", max="8")), claim(want(capacity={"m": "9"}))) == [
        {"m": "9"}
    ]


UNFIT = "capacity request cannot be represented in the device's range arithmetic: "


@pytest.mark.parametrize(
    ("capacity", "request_", "gates", "text"),
    [
        pytest.param("10", "-1", {}, "capacity value is negative", id="CAP-6-negative"),
        pytest.param(shared("10", default="-2"), None, {}, "capacity value is negative", id="CAP-6-negative-default"),
        pytest.param(
            shared("10", **RANGE),
            "100E",
            {},
            f"{UNFIT}request 100E is not a representable milli value",
            id="CAP-4-milli",
        ),
        pytest.param(
            shared("10", **RANGE),
            "3000001u",
            {},
            f"{UNFIT}request 3000001u is not a representable milli value",
            id="CAP-4-too-fine",
        ),
        pytest.param(
            shared("10", **RANGE),
            "100E",
            {"DRAFractionalCapacityRange": False},
            f"{UNFIT}request 100E exceeds MaxInt64",
            id="CAP-4-whole",
        ),
        pytest.param(
            shared("9E", default="2", min="2", step="4P"),
            "9223372036854775",
            {},
            f"{UNFIT}rounding request 9223372036854775 up to the next step passes the milli-value range",
            id="CAP-4-overflow",
        ),
    ],
)
def test_amounts_that_cannot_be_reckoned_with_are_fatal(capacity, request_, gates, text):
    asked = claim(want(capacity=None if request_ is None else {"m": request_}))
    found = fatal(one(m=capacity), asked, gates=gates)
    assert found == f'claim ns/c, request r: checking capacity for device d.x/p/a: capacity "m": {text}'


def test_under_all_the_error_names_the_device_shortly():
    """CAP-6, PRE-9: as upstream words it while it lists devices."""
    assert "checking capacity for device a: capacity" in fatal(
        one(m="10"), claim(want(count="All", capacity={"m": "-1"}))
    )


def test_whole_steps_round_fractions_up_first():
    """CAP-4 with DRAFractionalCapacityRange off, BUG-9."""
    asked = claim(want(capacity={"m": "4100m"}))
    assert consumed(one(m=shared("10", **RANGE)), asked, gates={"DRAFractionalCapacityRange": False}) == [{"m": "6"}]


def test_consumption_adds_up_within_an_attempt_and_over_time():
    """CAP-6."""
    six, four, five = (claim(want(capacity={"m": amount}), name=f"c{amount}") for amount in ("6", "4", "5"))
    held = after(one(m="10"), six)
    assert names(one(m="10"), *held, four) == ["a"]
    assert fails(one(m="10"), *held, five)
    assert names(one(m="10"), six, four) == ["a", "a"]
    assert fails(one(m="10"), six, five)


def test_a_dedicated_device_is_tested_but_not_recorded():
    """CAP-7."""
    answer = attempt(one(multi=None, m="10"), claim(want(capacity={"m": "3"})))
    assert (answer.results[0].share_id, answer.results[0].consumed_capacity) == (None, None)


def test_every_capacity_is_recorded_even_none_of_it():
    """CAP-8."""
    assert consumed(one(m="10", z="0"), claim(want(capacity={"m": "0"}))) == [{"m": "0", "z": "0"}]


def test_a_shared_device_without_capacities_can_be_shared_without_bound():
    """CAP-8."""
    answer = attempt(one(), *(claim(want(), name=f"c{number}") for number in range(40)))
    assert answer.names == ["a"] * 40
    assert {result.consumed_capacity for result in answer.results} == {None}
    assert len({result.share_id for result in answer.results}) == 40


def test_a_request_that_says_nothing_takes_everything():
    """CAP-9."""
    assert fails(one(m="10"), claim(want("q"), want("r", capacity={"m": "1"})))
    assert names(one(m=shared("10", default="5")), claim(want("q"), want("r", capacity={"m": "5"}))) == ["a", "a"]


def test_a_device_held_as_a_whole_cannot_be_shared():
    """CAP-10."""
    held = after(one(multi=None, m="10"), claim(want(), name="before"))
    assert fails(one(m="10"), *held, claim(want(capacity={"m": "1"})))


def test_admin_access_consumes_within_the_attempt_and_is_forgotten_later():
    """CAP-11, IN-3."""
    asked = claim(want(capacity={"m": "6"}, admin=True), name="admin")
    assert fails(one(m="10"), asked, claim(want(capacity={"m": "6"})))
    held = after(one(m="10"), asked)
    assert names(one(m="10"), *held, claim(want(capacity={"m": "10"}))) == ["a"]


def test_without_the_feature_devices_are_dedicated():
    """CAP-8: the flag is ignored."""
    off = {"DRAConsumableCapacity": False, "DRAFractionalCapacityRange": False}
    assert fails(one(), claim(want("q"), want("r")), gates=off)
    assert attempt(one(), claim(want()), gates=off).results[0].share_id is None


def test_consumption_is_given_back_when_undone():
    """CAP-6, SRCH-3: the first alternative takes too much for what follows."""
    asked = claim(
        either("q", option("s", capacity={"m": "8"}), option("t", capacity={"m": "4"})), want("r", capacity={"m": "6"})
    )
    assert picks(one(m="10"), asked) == [("q/t", "a"), ("r", "a")]


def test_shared_devices_stay_available_to_other_requests():
    """DEV-13: and the request goes to the next device when one is exhausted."""
    members = pool(*devices("a", "b", multi=True, capacity={"m": "10"}))
    asked = [claim(want(capacity={"m": "4"}), name=f"c{number}") for number in range(4)]
    assert names(members, *asked) == ["a", "a", "b", "b"]


def test_share_ids_are_uuids_that_the_seed_decides():
    """CAP-8, DEV-12."""
    from uuid import UUID

    made = [attempt(one(), claim(want()), seed=seed).results[0].share_id for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    assert str(UUID(made[0])) == made[0]
    assert UUID(made[0]).version == 4
