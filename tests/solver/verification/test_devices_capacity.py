"""Capacity that is shared, and amounts that are recorded (section 10)."""

import pytest
from msgspec import convert
from support.gates import without
from support.verification import (
    GPU,
    allocation,
    claim,
    everyday,
    held,
    one_claim,
    piece,
    request,
    result,
    share_id,
    shared,
    way,
)

from drasat.models.kubernetes.slices import Device
from drasat.scenarios import objects
from drasat.solver.verification.devices import CapacityRefusedError, capacity_amounts


def asking(name, amount):
    return request(name, capacity={"requests": {"memory": amount}})


def share(name, number, amount, device="d"):
    return result(name, device, shareID=share_id(number), consumedCapacity={"memory": amount})


def two_shares():
    """Requests r and s take 4Gi and 6Gi of the 10Gi of device d."""
    asked = [asking("r", "4Gi"), asking("s", "6Gi")]
    return one_claim([piece([shared("d")])], asked, [share("r", 1, "4Gi"), share("s", 2, "6Gi")])


def together_too_much(scene):
    scene.asked(number=1)["capacity"]["requests"]["memory"] = "7Gi"
    scene.results()[1]["consumedCapacity"]["memory"] = "7Gi"


def one_byte_in_use(scene):
    scene.objects.append(held("h", share("r", 3, "1")))


def too_little_recorded(scene):
    scene.results()[0]["consumedCapacity"]["memory"] = "3Gi"


def too_much_recorded(scene):
    scene.results()[0]["consumedCapacity"]["memory"] = "5Gi"


def nothing_recorded(scene):
    scene.results()[0].pop("consumedCapacity")


def other_name_recorded(scene):
    scene.results()[0]["consumedCapacity"]["cores"] = "0"


def no_share_id(scene):
    scene.results()[0].pop("shareID")


def same_share_id(scene):
    scene.results()[1]["shareID"] = share_id(1)


def upper_case_share_id(scene):
    scene.results()[0]["shareID"] = share_id(1).upper()


def share_id_in_use(scene):
    scene.device("d")["capacity"]["memory"]["value"] = "11Gi"
    scene.objects.append(held("h", share("r", 1, "1")))


def unlisted_takes_all(scene):
    scene.asked().pop("capacity")
    scene.results()[0]["consumedCapacity"]["memory"] = "10Gi"


def not_shared(scene):
    scene.device("d").pop("allowMultipleAllocations")


def sharing_off(scene):
    scene.gates = without("DRAConsumableCapacity")
    for number in (0, 1):
        scene.asked(number=number).pop("capacity")
    scene.results()[1]["device"] = "e"
    scene.find("ResourceSlice", "n1")["spec"]["devices"].append(shared("e"))


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("exceeded together", together_too_much, "CAP-6"),
        way("exceeded with what is in use", one_byte_in_use, "CAP-6"),
        way("too little recorded", too_little_recorded, "CAP-8"),
        way("too much recorded", too_much_recorded, "CAP-8"),
        way("nothing recorded", nothing_recorded, "CAP-8"),
        way("unknown capacity recorded", other_name_recorded, "CAP-8"),
        way("no share id", no_share_id, "CAP-8"),
        way("one share id twice", same_share_id, "CAP-8"),
        way("share id in upper case", upper_case_share_id, "CAP-8"),
        way("share id in use", share_id_in_use, "CAP-8"),
        way("nothing asked takes all (CAP-9)", unlisted_takes_all, "CAP-6"),
        way("dedicated device with shares", not_shared, "CAP-7", "DEV-1"),
        way("shares while the feature is off", sharing_off, "CAP-7"),
    ],
)
def test_shares_that_are_wrong(edit, rules):
    scene = two_shares()
    assert scene.rules() == set()
    edit(scene)
    assert scene.rules() == rules


def test_a_capacity_may_be_used_to_the_last_byte():
    """CAP-6: by claims in use, and by this one."""
    scene = two_shares()
    scene.device("d")["capacity"]["memory"]["value"] = "11Gi"
    scene.objects.append(held("h", share("r", 3, "1Gi")))
    assert scene.rules() == set()
    scene.objects.append(held("i", share("r", 4, "1")))
    assert scene.rules() == {"CAP-6"}


def test_shares_of_later_units_count_too():
    """CAP-6"""
    scene = one_claim([piece([shared("d")])], [asking("r", "4Gi")], [share("r", 1, "4Gi")])
    scene.objects.append(claim("b", asking("r", "6Gi")))
    scene.place({"b": allocation([share("r", 2, "6Gi")])})
    assert scene.rules() == set()
    scene.asked()["capacity"]["requests"]["memory"] = "5Gi"
    scene.results()[0]["consumedCapacity"]["memory"] = "5Gi"
    assert [(found.rule, found.claim) for found in scene.violations()] == [("CAP-6", "default/b")]


def test_administrators_consume_within_their_unit_only():
    """CAP-11"""
    admin = asking("r", "6Gi")
    admin["exactly"]["adminAccess"] = True
    given = [share("r", 1, "6Gi") | {"adminAccess": True}]
    scene = one_claim([piece([shared("d")])], [admin], given)
    scene.objects.append(claim("b", asking("r", "6Gi")))
    later = scene.copy().place({"b": allocation([share("r", 2, "6Gi")])})
    scene.units[0]["claims"]["b"] = allocation([share("r", 2, "6Gi")])
    assert (scene.rules(), later.rules()) == ({"CAP-6"}, set())


def test_shares_of_a_device_that_is_dedicated_now_still_consume():
    """DEV-16"""
    scene = everyday()
    scene.objects.append(held("h", result("r", "gpu-0", shareID=share_id(1), consumedCapacity={"memory": "1Gi"})))
    assert scene.rules() == {"CAP-6"}
    scene.asked()["capacity"] = {"requests": {"memory": "39Gi"}}
    assert scene.rules() == set()


def test_a_device_without_capacity_may_be_shared_without_end():
    """CAP-8"""
    free = objects.device("d", {}, allowMultipleAllocations=True)
    given = [result(name, "d", shareID=share_id(number)) for number, name in enumerate("rs")]
    assert one_claim([piece([free])], [request("r"), request("s")], given).rules() == set()


# The arithmetic of amounts. The rounded amounts are those of kube-scheduler.


def device(value, policy=None):
    made = shared("d", {"m": {"value": value} | ({"requestPolicy": policy} if policy else {})})
    return convert(made, Device)


RANGE = {"default": "4", "validRange": {"min": "2", "max": "6", "step": "2"}}
OPEN = {"default": "2", "validRange": {"min": "1"}}
FRACTION = {"default": "500m", "validRange": {"min": "250m", "step": "250m"}}
VALUES = {"default": "2", "validValues": ["1", "2", "4"]}
BILLION = 10**9


@pytest.mark.parametrize(
    ("policy", "asked", "taken"),
    [
        pytest.param(None, None, 8, id="no policy, all of it"),
        pytest.param(None, "3", 3, id="no policy, as asked"),
        pytest.param({"default": "2"}, None, 2, id="default"),
        pytest.param({"default": "2"}, "3", 3, id="default only, as asked"),
        pytest.param(VALUES, "3", 4, id="next value"),
        pytest.param(VALUES, "1", 1, id="a value"),
        pytest.param(RANGE, "1", 2, id="below the range"),
        pytest.param(RANGE, "3", 4, id="next step"),
        pytest.param(RANGE, "6", 6, id="end of the range"),
        pytest.param(RANGE, None, 4, id="default in the range"),
        pytest.param(OPEN, "3500m", 3.5, id="range without steps"),
        pytest.param(FRACTION, "300m", 0.5, id="step of a fraction"),
        pytest.param(FRACTION, None, 0.5, id="default fraction"),
    ],
)
def test_amounts_are_rounded_as_the_policy_says(policy, asked, taken):
    """CAP-3"""
    requested = {} if asked is None else {"m": asked}
    assert capacity_amounts(device("8", policy), requested, fractional=True) == {"m": taken * BILLION}


@pytest.mark.parametrize(
    ("policy", "value", "asked", "refused"),
    [
        pytest.param(VALUES, "8", "5", ("CAP-5", False), id="CAP-5 above all values"),
        pytest.param(RANGE, "8", "7", ("CAP-5", False), id="CAP-5 above the range"),
        pytest.param(OPEN, "8", "9", ("CAP-6", False), id="CAP-6 more than there is"),
        pytest.param(None, "8", "-1", ("CAP-6", True), id="CAP-6 negative request"),
        pytest.param(FRACTION, "8", "300100u", ("CAP-4", True), id="CAP-4 finer than thousandths"),
        pytest.param(
            {"default": "1", "validRange": {"min": "1", "step": "1"}}, "30E", "20E", ("CAP-4", True),
            id="CAP-4 beyond 64 bits",
        ),
    ],
)  # fmt: skip
def test_amounts_that_cannot_be_had(policy, value, asked, refused):
    """CAP-4 to CAP-6: what is fatal stops a request for all devices."""
    with pytest.raises(CapacityRefusedError) as caught:
        capacity_amounts(device(value, policy), {"m": asked}, fractional=asked != "20E")
    rule, _, fatal = caught.value.finding
    expected, expected_fatal = refused
    assert (rule, fatal) == (expected, expected_fatal)


def test_steps_are_whole_units_while_fractional_ranges_are_off():
    """CAP-4: bounds and requests are rounded up to whole units."""
    policy = {"default": "2", "validRange": {"min": "1", "step": "1"}}
    assert capacity_amounts(device("8", policy), {"m": "1100m"}, fractional=False) == {"m": 2 * BILLION}
    assert capacity_amounts(device("8", policy), {"m": "1100m"}, fractional=True) == {"m": 2 * BILLION}
    half = {"default": "1500m", "validRange": {"min": "500m", "step": "500m"}}
    assert capacity_amounts(device("8", half), {"m": "1100m"}, fractional=True) == {"m": 1500 * BILLION // 1000}
    assert capacity_amounts(device("8", half), {"m": "1100m"}, fractional=False) == {"m": 2 * BILLION}


@pytest.mark.parametrize("bound", ["min", "max", "step"])
def test_steps_are_whole_units_where_a_bound_is_finer_than_thousandths(bound):
    """CAP-4"""
    exact = {"default": "2", "validRange": {"min": "1", "max": "7", "step": "500m"}}
    assert capacity_amounts(device("8", exact), {"m": "1100m"}, fractional=True) == {"m": 1500 * BILLION // 1000}
    finer = {"min": "1000100u", "max": "7000100u", "step": "500100u"}
    policy = {"default": "2", "validRange": exact["validRange"] | {bound: finer[bound]}}
    assert capacity_amounts(device("8", policy), {"m": "1100m"}, fractional=True) == {"m": 2 * BILLION}


def test_the_default_is_allowed_wherever_it_lies():
    """CAP-5"""
    odd = {"default": "3", "validValues": ["1", "2"]}
    assert capacity_amounts(device("8", odd), {}, fractional=True) == {"m": 3 * BILLION}


def test_names_of_capacities_are_compared_verbatim():
    """CAP-1"""
    with pytest.raises(CapacityRefusedError, match="no capacity"):
        capacity_amounts(device("8"), {f"{GPU}/m": "1"}, fractional=True)
