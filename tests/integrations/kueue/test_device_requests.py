"""Requests with selectors against the devices of the cluster (kueue-dra 3.4, 3.5)."""

import pytest
from support.kueue_counting import (
    BIG,
    GPU,
    charges,
    claim_template,
    configuration,
    count,
    device_class,
    devices_of,
    pod_set,
    request,
    workload,
)

CLASSES = [device_class(GPU), device_class(BIG)]
PLACE = "spec.podSets[0].template.spec.resourceClaims[0].devices.requests"


def sized(name, size):
    return {"name": name, "attributes": {"size": {"int": size}}}


def at_least(size):
    return f"device.attributes['{GPU}'].size >= {size}"


def short(index, matching, requested, device_class_name=GPU):
    return (
        f"{PLACE}[{index}].exactly.selectors: Internal error: ResourceClaimTemplate t: insufficient matching devices "
        f"for CEL selector in DeviceClass {device_class_name}: {matching} device(s) match in the cluster but "
        f"{requested} requested"
    )


def counted(*requests, slices=(), classes=CLASSES, config=None):
    return count(workload(pod_set("t")), claim_template("t", *requests), *classes, *slices, config=config)


def test_only_requests_with_selectors_are_compared_with_devices():
    """Kueue-dra 3.5: quota decides alone about the others."""
    (charge,) = charges(workload(pod_set("t")), claim_template("t", request(GPU, 1000)))
    assert charge["whole-gpus"] == 1000


def test_too_few_devices_are_tried_again():
    """Kueue-dra 3.5.4."""
    failure = counted(request(GPU, 2, at_least(40)), slices=[devices_of("s", sized("a", 40), sized("b", 10))])
    assert (failure.error, failure.retry) == (short(0, 1, 2), True)


def test_shortages_of_all_requests_are_told_together():
    """Kueue-dra 3.5: recorded of Kueue."""
    failure = counted(request(GPU, 3, "true"), request(BIG, 1, "false", name="s"))
    assert failure.error == f"[{short(0, 0, 3)}, {short(1, 0, 1, BIG)}]"


def test_the_first_matching_devices_are_taken_though_another_choice_would_serve_both():
    """Kueue-dra 3.5: the greedy choice depends on the order."""
    slices = [devices_of("s", sized("a", 80), sized("b", 40))]
    requests = [request(GPU, 1, at_least(40)), request(GPU, 1, at_least(80), name="s")]
    assert counted(*requests, slices=slices).error == short(1, 0, 1)
    assert counted(*reversed(requests), slices=slices).pod_sets


def test_obsolete_and_incomplete_pools_count():
    """Kueue-dra 3.5: the check does not look at generations."""
    slices = [
        devices_of("new", sized("a", 40), generation=2, slices=3),
        devices_of("old", sized("a", 40), generation=1),
    ]
    assert counted(request(GPU, 2, at_least(40)), slices=slices).pod_sets


def test_other_pods_and_claims_do_not_take_devices_away():
    """Kueue-dra 3.5: each claim is looked at alone."""
    template = claim_template("t", request(GPU, 1, at_least(40)))
    slices = devices_of("s", sized("a", 40))
    (charge,) = charges(workload(pod_set("t", "t", count=5)), template, slices, *CLASSES)
    assert charge["whole-gpus"] == 10


@pytest.mark.parametrize(
    ("classes", "error", "retry"),
    [
        (
            [],
            f"{PLACE}[0]: Internal error: ResourceClaimTemplate t: failed to get DeviceClass {GPU}: "
            f'deviceclasses.resource.k8s.io "{GPU}" not found',
            True,
        ),
        (
            [device_class(GPU, "device.nothing")],
            f'{PLACE}[0][0].cel.expression: Invalid value: "device.nothing": ResourceClaimTemplate t: DeviceClass '
            f"{GPU} has invalid CEL selector: compilation failed: ERROR: <input>:1:7: undefined field 'nothing'\n"
            " | device.nothing\n | ......^",
            False,
        ),
        (
            [device_class(GPU, "device.attributes['x'].y == 1")],
            f"{PLACE}[0].exactly.selectors: Invalid value: null: ResourceClaimTemplate t: CEL evaluation failed for "
            f"DeviceClass {GPU}: no such key: y",
            False,
        ),
    ],
    ids=["no such class", "broken class", "failing class"],
)
def test_classes_that_cannot_be_asked(classes, error, retry):
    """Kueue-dra 3.5.5, 3.5.6: only a missing class is tried again."""
    failure = counted(request(GPU, 1, "true"), classes=classes, slices=[devices_of("s", sized("a", 1))])
    assert (failure.error, failure.retry) == (error, retry)


def test_a_device_behind_the_last_one_needed_is_not_evaluated():
    """Kueue-dra 3.5.3: the search stops with the first devices that match."""
    slices = [devices_of("s", sized("a", 40), {"name": "b"})]
    assert counted(request(GPU, 1, at_least(40)), slices=slices).pod_sets
    assert "no such key: size" in counted(request(GPU, 2, at_least(40)), slices=slices).error


def test_requests_of_admin_access_need_devices_and_are_not_charged():
    """Kueue-dra 3.2, 3.5."""
    asked = request(GPU, 1, "true", adminAccess=True)
    assert counted(asked).error == short(0, 0, 1)
    (charge,) = counted(asked, slices=[devices_of("s", sized("a", 1))]).pod_sets
    assert dict(charge.requests) == {"cpu": 500}


def test_a_class_that_nothing_stands_for_is_found_after_the_shortage():
    """Kueue-dra 3.4."""
    config = configuration(mappings=[{"name": "whole-gpus", "deviceClassNames": [GPU]}])
    assert counted(request(BIG, 1, "true"), config=config).error == short(0, 0, 1, BIG)
    failure = counted(request(BIG, 1), config=config)
    assert failure.error == (
        "spec.podSets[0].template.spec.resourceClaims[0].resourceClaimTemplateName: Not found: "
        f'"DeviceClass {BIG} is not mapped in DRA configuration for podset main"'
    )
    assert not failure.retry
