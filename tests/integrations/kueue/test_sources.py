"""Counters and capacities of devices as amounts of quota (kueue-dra 5.2, 5.3)."""

import pytest
from support.kueue_counting import (
    GPU,
    claim_template,
    configuration,
    count,
    device_class,
    devices_of,
    pod_set,
    request,
    workload,
)

GIB = 2**30
MIG, SHARE = "mig", "share"
PLACE = "spec.podSets[0].template.spec.resourceClaims[0].devices.requests[0]"


def source(kind, name="memory", selector="true", driver=GPU):
    return {kind: {"name": name, "driver": driver, "deviceSelector": {"cel": {"expression": selector}}}}


def mapping(name, *sources, classes=(MIG,)):
    return {"name": name, "deviceClassNames": list(classes), "sources": list(sources)}


def partition(name, profile, **counters):
    consumed = [{"counterSet": "s", "counters": {key: {"value": str(amount)} for key, amount in counters.items()}}]
    return {"name": name, "attributes": {"profile": {"string": profile}}, "consumesCounters": consumed}


def profile(name):
    return f"device.attributes['{GPU}'].profile == '{name}'"


PARTS = devices_of(
    "s", partition("a", "p10", memory="10Gi", sms=1), partition("b", "p80", memory="80Gi", sms=7),
    partition("c", "p10", memory="10Gi", sms=1),
)  # fmt: skip
COUNTER = [mapping("gpu-mem", source("counter"))]


def counted(asked, *slices, mappings, gates=None):
    objects = [claim_template("t", asked), device_class(MIG), device_class(SHARE), *slices]
    return count(workload(pod_set("t", containers=({},))), *objects, config=configuration(mappings, gates))


def charge(asked, *slices, mappings, gates=None):
    (each,) = counted(asked, *slices, mappings=mappings, gates=gates).pod_sets
    return dict(each.requests)


@pytest.mark.parametrize(
    ("asked", "mappings", "expected"),
    [
        pytest.param(request(MIG, 2, profile("p10")), COUNTER, {"gpu-mem": 20 * GIB}, id="one profile"),
        pytest.param(request(MIG), COUNTER, {"gpu-mem": 80 * GIB}, id="any profile costs the largest"),
        pytest.param(
            request(MIG), [mapping("gpu-mem", source("counter", selector=profile("p10")))], {"gpu-mem": 10 * GIB},
            id="the source's selector",
        ),
        pytest.param(
            request(MIG), [mapping("gpu-mem", source("counter")), mapping("gpu-sm", source("counter", "sms"))],
            {"gpu-mem": 80 * GIB, "gpu-sm": 7}, id="two mappings of one class",
        ),
        pytest.param(
            request(MIG), [mapping("sum", source("counter"), source("counter", "sms"))], {"sum": 80 * GIB + 7},
            id="two counters of one mapping",
        ),
        pytest.param(request(MIG, 9, adminAccess=True), COUNTER, {}, id="admin access"),
    ],
)  # fmt: skip
def test_counters_are_charged_at_the_largest_that_could_be_meant(asked, mappings, expected):
    """Kueue-dra 5.2 and its example."""
    assert charge(asked, PARTS, mappings=mappings) == expected


def test_counters_are_those_of_the_newest_complete_pools():
    """Kueue-dra 5.2: unlike the check of selectors (3.5)."""
    old = devices_of("old", partition("x", "p80", memory="999Gi"), generation=0)
    part = devices_of("part", partition("x", "p80", memory="999Gi"), pool="q", slices=2)
    assert charge(request(MIG), PARTS, old, part, mappings=COUNTER) == {"gpu-mem": 80 * GIB}


def test_amounts_are_rounded_up_and_not_below_zero():
    """Kueue-dra 5.2."""
    slices = devices_of("s", partition("a", "p", memory="1500m", sms="-3"))
    mappings = [*COUNTER, mapping("gpu-sm", source("counter", "sms"))]
    assert charge(request(MIG, 1), slices, mappings=mappings) == {"gpu-mem": 2, "gpu-sm": 0}


@pytest.mark.parametrize(
    ("asked", "mappings", "text"),
    [
        (
            request(MIG, 4), COUNTER,
            "insufficient matching devices for counter driver: 3 device(s) match but 4 requested",
        ),
        (
            request(MIG), [mapping("m", source("counter", "none"))],
            'matched devices have no consumesCounters entry for counter "none"',
        ),
        (
            request(MIG, 2), [mapping("m", source("counter", selector="device.attributes['x'].y"))],
            f"CEL evaluation failed for DeviceClass {MIG}: no such key: y",
        ),
    ],
)  # fmt: skip
def test_what_sources_lack_is_tried_again(asked, mappings, text):
    """Kueue-dra 5.2: all of them are internal errors."""
    failure = counted(asked, PARTS, mappings=mappings)
    assert (failure.error, failure.retry) == (f"{PLACE}: Internal error: {text}", True)


def test_a_request_with_selectors_is_first_compared_with_devices_of_the_sources():
    """Kueue-dra 9.15: a shortage has the text of 3.5, and a selector that fails is not tried again."""
    elsewhere = devices_of("other", {"name": "z"}, driver="other.example.com")
    failure = counted(request(MIG, 3, profile("p10")), PARTS, elsewhere, mappings=COUNTER)
    assert "2 device(s) match in the cluster but 3 requested" in failure.error
    failing = counted(request(MIG, 1, f"device.attributes['{GPU}'].none == 1"), PARTS, mappings=COUNTER)
    assert (failing.error.partition(": ")[2].split(":")[0], failing.retry) == ("Invalid value", False)


CONSUMABLE = {"KueueDRAIntegrationConsumableCapacity": True}
CAPACITY = [mapping("cap", source("capacity"), classes=[SHARE])]
RANGE = {"default": "8Gi", "validRange": {"min": "4Gi", "step": "4Gi", "max": "32Gi"}}
VALUES = {"default": "10Gi", "validValues": ["10Gi", "20Gi", "40Gi"]}


def shared(name="a", policy=None, value="80Gi", **more):
    memory = {"value": value, **({"requestPolicy": policy} if policy else {})}
    extra = {key: {"value": amount} for key, amount in more.items()}
    return {"name": name, "allowMultipleAllocations": True, "capacity": {"memory": memory, **extra}}


def taking(memory=None, count=1):
    return request(SHARE, count, **({"capacity": {"requests": {"memory": memory}}} if memory else {}))


@pytest.mark.parametrize(
    ("policy", "asked", "gib"),
    [
        (None, None, 80),
        (None, "3Gi", 3),
        (None, "81Gi", 81),  # 9.16: charged though the device has less
        (RANGE, None, 8),
        (RANGE, "1Gi", 4),
        (RANGE, "5Gi", 8),
        (RANGE, "32Gi", 32),
        (VALUES, None, 10),
        (VALUES, "11Gi", 20),
        ({"default": "1Gi", "validRange": {"min": "2Gi"}}, "7Gi", 7),
    ],
)
def test_a_request_is_charged_as_the_device_would_round_it(policy, asked, gib):
    """Kueue-dra 5.3, 9.16."""
    slices = devices_of("s", shared(policy=policy))
    assert charge(taking(asked), slices, mappings=CAPACITY, gates=CONSUMABLE) == {"cap": gib * GIB}


def test_the_largest_amount_of_the_devices_that_can_give_it_counts_for_each():
    """Kueue-dra 5.3: a device that offers no such amount is out."""
    slices = devices_of(
        "s", shared("a", VALUES), shared("b", RANGE), shared("c", {**RANGE, "validRange": {"min": "50Gi"}})
    )
    assert charge(taking("33Gi", 2), slices, mappings=CAPACITY, gates=CONSUMABLE) == {"cap": 100 * GIB}


def test_several_dimensions_add_up():
    """Kueue-dra 5.3."""
    mappings = [mapping("cap", source("capacity"), source("capacity", "bandwidth"), classes=[SHARE])]
    slices = devices_of("s", shared(bandwidth="10"))
    assert charge(taking("1Gi"), slices, mappings=mappings, gates=CONSUMABLE) == {"cap": GIB + 10}


@pytest.mark.parametrize(
    ("asked", "dimension", "text", "retry"),
    [
        (
            taking("33Gi"), "memory",
            "Invalid value: null: capacity request cannot be satisfied by any matched device's RequestPolicy for "
            'dimension "memory"', False,
        ),
        (taking(), "bandwidth", 'Internal error: matched devices have no capacity dimension "bandwidth"', True),
        (
            taking(count=2), "memory",
            "Internal error: insufficient matching devices for capacity driver: 1 device(s) match but 2 requested",
            True,
        ),
    ],
)  # fmt: skip
def test_requests_that_no_device_can_serve(asked, dimension, text, retry):
    """Kueue-dra 5.3: an amount that no policy allows is not tried again."""
    mappings = [mapping("cap", source("capacity", dimension), classes=[SHARE])]
    failure = counted(asked, devices_of("s", shared(policy=RANGE)), mappings=mappings, gates=CONSUMABLE)
    assert (failure.error, failure.retry) == (f"{PLACE}: {text}", retry)
