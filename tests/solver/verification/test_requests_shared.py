"""Claims with equal specs are read once; what each of them got is looked at nevertheless."""

import pytest
from support.verification import (
    GPU,
    Scene,
    allocation,
    claim,
    classes,
    gpu,
    nodes,
    piece,
    request,
    result,
    results,
    wanted,
)

from drasat.models.kubernetes.claims import (
    CapacityRequirements,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from drasat.models.kubernetes.gates import FeatureGates
from drasat.scenarios import objects
from drasat.solver.verification.requests import ClaimReadings

MODEL_A = f'device.attributes["{GPU}"].model == "a"'


def scene(claims, given, count=40):
    """Claims by name, what each got in units of its own, and GPUs on node n1: 0 and 1 are of model a."""
    asked = [objects.claim(name, spec) for name, spec in claims.items()]
    made = Scene([*nodes("n1"), *classes(), piece([gpu(index) for index in range(count)]), *asked])
    for name, results_of_one in given.items():
        made.place({name: allocation(results_of_one)})
    return made


def selector(expression):
    return {"cel": {"expression": expression}}


def told(made):
    return [(found.rule, found.claim) for found in made.violations()]


def spec(*requests, config=()):
    return claim("any", *requests, config=config)["spec"]


def test_every_claim_of_a_template_is_judged_by_its_own_devices():
    specs = dict.fromkeys("abcd", spec(request("r", 2)))
    given = {
        "a": results("r", "gpu-0", "gpu-1"),
        "b": results("r", "gpu-2"),
        "c": results("s", "gpu-3", "gpu-4"),
        "d": results("r", "gpu-5", "gpu-5"),
    }
    found = [("PRE-7", "default/b"), ("RES-1", "default/c"), ("PRE-7", "default/c"), ("DEV-13", "default/d")]
    assert told(scene(specs, given)) == [*found, ("DEV-1", "default/d")]


@pytest.mark.parametrize(
    ("other", "rules"),
    [
        pytest.param(spec(request("r")), [], id="equal"),
        pytest.param(spec(request("r", 2)), ["PRE-7"], id="count"),
        pytest.param(spec(request("q")), ["RES-1", "PRE-7"], id="name"),
        pytest.param(spec(request("r", class_name="none")), ["PRE-6"], id="class"),
        pytest.param(spec(request("r", selectors=[selector(MODEL_A)])), ["DEV-3"], id="selector"),
        pytest.param(spec(request("r"), config=[objects.opaque(GPU, {"number": 1})]), ["RES-4"], id="config"),
    ],
)
def test_claims_whose_specs_differ_are_told_apart(other, rules):
    made = scene({"a": spec(request("r")), "b": other}, {"a": results("r", "gpu-0"), "b": results("r", "gpu-2")})
    assert told(made) == [(rule, "default/b") for rule in rules]


def test_configuration_of_equal_requests_is_each_claims_own():
    """RES-4: the parameters, which may be anything, count."""
    asked = {name: spec(request("r"), config=[objects.opaque(GPU, {"number": name})]) for name in "ab"}
    made = scene(asked, {"a": results("r", "gpu-0"), "b": results("r", "gpu-1")})
    for name in "ab":
        entry = {"source": "FromClaim", **objects.opaque(GPU, {"number": "a"})}
        made.allocation(name)["devices"]["config"] = [entry]
    assert told(made) == [("RES-4", "default/b")]


def test_claims_of_one_template_may_have_got_different_alternatives():
    """SRCH-4: what was chosen is decided by the results of each."""
    asked = spec(objects.first_available("r", [("two", wanted(2)), ("one", wanted())]))
    given = {
        "a": results("r/two", "gpu-0", "gpu-1"),
        "b": results("r/one", "gpu-2"),
        "c": [result("r/one", "gpu-3"), result("r/two", "gpu-4"), result("r/two", "gpu-5")],
    }
    found = told(scene(dict.fromkeys("abc", asked), given))
    assert {one for _, one in found} == {"default/c"}
    assert ("SRCH-4", "default/c") in found


def test_the_last_of_many_devices_is_evaluated_like_the_first():
    """DEV-3"""
    names = [f"c{number:02}" for number in range(40)]
    asked = dict.fromkeys(names, spec(request("r", selectors=[selector(f'device.attributes["{GPU}"].index < 39')])))
    given = {name: results("r", f"gpu-{number}") for number, name in enumerate(names)}
    assert told(scene(asked, given)) == [("DEV-3", "default/c39")]


def test_devices_of_an_earlier_claim_are_evaluated_again():
    """CELC-2: long after they were taken, and with others."""
    names = [f"c{number:02}" for number in range(40)]
    entry = {"cel": {"expression": f'devices.all(d, d.attributes["{GPU}"].numa == 1)'}}
    asked = dict.fromkeys(names, spec(request("r")))
    asked["last"] = {**objects.claim_spec([request("r", 2)], [entry])}
    given = {name: results("r", f"gpu-{number}") for number, name in enumerate(names)}
    made = scene(asked, {**given, "last": results("r", "gpu-40", "gpu-0")}, count=41)
    assert told(made) == [("DEV-1", "default/last"), ("CELC-2", "default/last")]


@pytest.mark.parametrize("number", [10**30, -(10**30)])
def test_specs_that_cannot_be_written_are_read_all_the_same(number):
    """Objects made in Python may hold numbers that no manifest can."""
    exactly = ExactDeviceRequest(
        device_class_name="gpu", allocation_mode="ExactCount", count=1,
        capacity=CapacityRequirements(requests={"memory": number}),
    )  # fmt: skip
    asked = DeviceClaim(requests=(DeviceRequest(name="r", exactly=exactly),))
    one, other = (ResourceClaim(spec=ResourceClaimSpec(devices=asked)) for _ in range(2))
    askings = ClaimReadings({}, FeatureGates.all_on())
    assert [finding.rule for finding in askings.of(one).unsupported] == ["PRE-6"]
    assert dict(askings.of(other).answer(("r",)).chosen) == {"r": exactly}
