"""Charges of workloads: worked examples and rules of kueue-dra 3."""

from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kueue_counting import (
    BIG,
    GPU,
    NIC,
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

from drasat.integrations.kueue.counting import CountingFailure, WorkloadCharge
from drasat.models.kubernetes.quantity import INT64_MAX
from drasat.problem.messages import DeadlineExceededError

CPU = {"cpu": 500}
ONE = claim_template("t", request(GPU))


@pytest.mark.parametrize(
    ("template", "claims", "count", "expected"),
    [
        pytest.param(ONE, ["t"], 1, {"whole-gpus": 1}, id="1: one entry"),
        pytest.param(claim_template("t", request(GPU, 2)), ["t"], 3, {"whole-gpus": 6}, id="2: three pods"),
        pytest.param(ONE, ["t", "t"], 1, {"whole-gpus": 2}, id="3: two entries of one template"),
        pytest.param(
            claim_template("t", request(GPU), request(BIG, 3, name="s")), ["t"], 2, {"whole-gpus": 8},
            id="4: two classes of one resource",
        ),
        pytest.param(
            claim_template("t", request(GPU), request(NIC, name="s")), ["t"], 2, {"whole-gpus": 2, "rdma": 2},
            id="5: two resources",
        ),
        pytest.param(
            claim_template("t", request("unmapped", adminAccess=True)), ["t"], 5, {}, id="6: admin access is free",
        ),
        pytest.param(
            claim_template("t", request(GPU, 2), constraints=[{"matchAttribute": "x.example.com/parent"}]), ["t"], 1,
            {"whole-gpus": 2}, id="10: constraints are not looked at",
        ),
        pytest.param(ONE, ["t"], 0, {"whole-gpus": 0}, id="11: no pods"),
    ],
)  # fmt: skip
def test_worked_examples(template, claims, count, expected):
    """The table of kueue-dra 3.9."""
    (charge,) = charges(workload(pod_set(*claims, count=count)), template)
    assert charge == {"cpu": 500 * count, **expected}


def test_an_entry_counts_once_however_many_containers_use_it():
    """Example 9 of kueue-dra 3.9."""
    users = ({"cpu": "1"},) * 4
    (charge,) = charges(workload(pod_set("t", containers=users)), ONE)
    assert charge == {"cpu": 4000, "whole-gpus": 1}


@pytest.mark.parametrize(
    ("body", "path", "text"),
    [
        (
            request(GPU, allocationMode="All"), ".exactly.allocationMode",
            "Invalid value: \"All\": ResourceClaimTemplate t: AllocationMode 'All' is not supported",
        ),
        (
            {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": GPU}]}, "",
            "Invalid value: null: ResourceClaimTemplate t: FirstAvailable device selection is not supported",
        ),
        (
            {"name": "r"}, "",
            "Invalid value: null: ResourceClaimTemplate t: Exactly must be set if FirstAvailable is nil",
        ),
        (
            request(GPU, 1, "device.driver", adminAccess=True), ".exactly.selectors",
            'Invalid value: null: ResourceClaimTemplate t: devices.requests[0].exactly.selectors[0].cel.expression: '
            'Invalid value: "device.driver": CEL compilation failed: '
            "must evaluate to bool or the unknown type, not string",
        ),
    ],
)  # fmt: skip
def test_forms_that_are_refused_wait_for_a_change(body, path, text):
    """Kueue-dra 3.2, 3.7: such an error is not tried again."""
    failure = count(workload(pod_set("t")), claim_template("t", body), device_class(GPU))
    place = f"spec.podSets[0].template.spec.resourceClaims[0].devices.requests[0]{path}"
    assert failure == CountingFailure(f"{place}: {text}", f"{place}: {text}", retry=False)


def test_a_ready_made_claim_is_refused_before_any_template_is_read():
    """Kueue-dra 3.3; example 8 of 3.9."""
    failure = count(workload(pod_set("missing"), pod_set({"resourceClaimName": "shared"}, name="other")))
    assert [(one.type, one.reason, one.message) for one in failure.conditions] == [
        ("Admitted", "NoReservation", "The workload has no reservation"),
        ("QuotaReserved", "Misconfigured", "KueueDRAIntegration feature does not support use of resource claims"),
        ("Requeued", "Inadmissible", "DRA resource claims not supported"),
    ]
    assert not failure.retry


def test_a_missing_template_is_tried_again():
    """Kueue-dra 3.7: only internal errors are."""
    failure = count(workload(pod_set(), pod_set("later", name="other")))
    assert failure.retry
    assert failure.error == (
        "spec.podSets[1].template.spec.resourceClaims[0]: Internal error: failed to get claim spec for "
        'ResourceClaimTemplate later in podset other: resourceclaimtemplates.resource.k8s.io "later" not found'
    )


def test_reasons_collapse_without_the_gate_of_observability():
    """Kueue-dra 1: UnadmittedWorkloadsObservability."""
    config = configuration(gates={"UnadmittedWorkloadsObservability": False})
    failure = count(workload(pod_set("missing")), config=config)
    assert [(one.type, one.reason) for one in failure.conditions] == [
        ("QuotaReserved", "Inadmissible"),
        ("Requeued", "Inadmissible"),
    ]


@pytest.mark.parametrize("rejects", [True, False])
def test_with_counting_off_workloads_with_claims_are_refused_or_charged_without_them(rejects):
    """Kueue-dra 1, 3.7: KueueDRARejectWorkloadsWhenDRADisabled."""
    off = ("", "ExtendedResource", "PartitionableDevices")
    gates = {f"KueueDRAIntegration{name}": False for name in off}
    gates["KueueDRARejectWorkloadsWhenDRADisabled"] = rejects
    counted = count(workload(pod_set("t")), ONE, config=configuration(gates=gates))
    if rejects:
        assert counted.error == "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
        assert counted.requeued == counted.error
    else:
        assert dict(counted.pod_sets[0].requests) == CPU


def test_amounts_stop_at_the_largest_integer():
    """Kueue-dra 3.1: sums and products saturate."""
    huge = claim_template("t", request(GPU, INT64_MAX), request(BIG, 5, name="s"))
    assert charges(workload(pod_set("t", count=3)), huge) == [{"cpu": 1500, "whole-gpus": INT64_MAX}]


def test_pods_that_finished_are_not_charged():
    """The example of kueue-dra 3.6."""
    status = {"reclaimablePods": [{"name": "main", "count": 1}]}
    one = workload(pod_set("t", count=3), status=status)
    assert charges(one, claim_template("t", request(GPU, 2))) == [{"cpu": 1000, "whole-gpus": 4}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": ({"memory": "500m"}, {"memory": "400m"})}, {"memory": 1}, id="rounded once"),
        pytest.param(
            {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}}]}, {"cpu": 2000}, id="init"
        ),
        pytest.param(
            {
                "initContainers": [
                    {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                    {"name": "i", "resources": {"requests": {"cpu": "3"}}},
                ]
            },
            {"cpu": 4000},
            id="sidecar beside an init container",
        ),
        pytest.param({"overhead": {"cpu": "100m"}}, {"cpu": 600}, id="overhead"),
        pytest.param({"resources": {"requests": {"cpu": "4"}}}, {"cpu": 4000}, id="the pod as a whole"),
        pytest.param({"containers": ({"cpu": "-1"},)}, {"cpu": 0}, id="never below zero"),
    ],
)
def test_requests_of_a_pod(spec, expected):
    """Kueue-dra 3.6: the sum of containers, or an init container with the sidecars before it, and overhead."""
    assert charges(workload(pod_set(**spec))) == [expected]


@pytest.mark.parametrize(
    ("entry", "requests", "expected"),
    [
        pytest.param(
            {"input": "cpu", "strategy": "Retain", "outputs": {"example.com/credits": "3"}}, {"cpu": "1250m"},
            {"cpu": 1250, "example.com/credits": 4}, id="Retain; rounded in the end",
        ),
        pytest.param(
            {"input": "cpu", "strategy": "Replace", "outputs": {"memory": "1Gi"}}, {"cpu": "2", "memory": "1Gi"},
            {"memory": 3 * 2**30}, id="Replace adds to what is there",
        ),
        pytest.param(
            {"input": "example.com/share", "strategy": "Replace", "multiplyBy": "example.com/gpu",
             "outputs": {"example.com/parts": "10"}}, {"example.com/share": "3", "example.com/gpu": "2"},
            {"example.com/gpu": 2, "example.com/parts": 60}, id="multiplyBy",
        ),
        pytest.param(
            {"input": "example.com/share", "strategy": "Replace", "multiplyBy": "example.com/gpu",
             "outputs": {"example.com/parts": "10"}}, {"example.com/share": "3"}, {"example.com/parts": 30},
            id="multiplyBy what is not asked for",
        ),
    ],
)  # fmt: skip
def test_transformations(entry, requests, expected):
    """Kueue-dra 3.6: resources of pods become others."""
    assert charges(workload(pod_set(containers=(requests,))), config=configuration(transformations=[entry])) == [
        expected
    ]


def test_prefixes_and_transformations_do_not_touch_devices():
    """Kueue-dra 3.6: devices are added after both."""
    config = configuration(
        excludeResourcePrefixes=["whole", "memory"],
        transformations=[{"input": "whole-gpus", "strategy": "Replace", "outputs": {"cpu": "7"}}],
    )
    asked = {"cpu": "500m", "memory": "1Gi", "whole-gpus": "3"}
    assert charges(workload(pod_set("t", containers=(asked,))), ONE, config=config) == [{**CPU, "whole-gpus": 1}]


@pytest.mark.parametrize(
    ("counts", "expected"), [((2, 1), {"whole-gpus": 2, "cpu": 500}), ((1, 3), {"whole-gpus": 3, "cpu": 500})]
)
def test_alternatives_are_charged_at_the_largest_with_their_gate(counts, expected):
    """Kueue-dra 3.2: KueueDRAIntegrationPrioritizedList."""
    fields = {"allocationMode": "ExactCount"}
    alternatives = [
        {"name": name, "deviceClassName": device_class_name, "count": number, **fields}
        for name, device_class_name, number in zip("ab", (GPU, BIG), counts, strict=True)
    ]
    config = configuration(gates={"KueueDRAIntegrationPrioritizedList": True})
    template = claim_template("t", {"name": "r", "firstAvailable": alternatives})
    assert charges(workload(pod_set("t")), template, config=config) == [expected]


def test_alternatives_of_several_resources_are_refused_with_their_gate():
    """Kueue-dra 3.2: all alternatives must be charged to one resource."""
    alternatives = [
        {"name": name, "deviceClassName": one, "count": 1, "allocationMode": "ExactCount"}
        for name, one in (("a", GPU), ("b", NIC))
    ]
    config = configuration(gates={"KueueDRAIntegrationPrioritizedList": True})
    failure = count(
        workload(pod_set("t")), claim_template("t", {"name": "r", "firstAvailable": alternatives}), config=config
    )
    assert failure.error.endswith("FirstAvailable alternatives must be mapped to the same resources")
    assert not failure.retry


def test_the_time_limit_ends_the_matching_of_devices():
    """Expressions are untrusted: matching them with devices stops at a deadline."""
    template = claim_template("t", request(GPU, 1, "device.driver == 'x'"))
    slices = devices_of("s", {"name": "d"})
    with pytest.raises(DeadlineExceededError):
        count(workload(pod_set("t")), template, device_class(GPU), slices, deadline=monotonic() - 1)


AMOUNTS = st.sampled_from(["1", "500m", "2Gi", "0", "-1", "9223372036854775807", "1e30", "3n", 7, 2.5])
NAMES = st.sampled_from(["cpu", "memory", "example.com/gpu", "whole-gpus", "hugepages-2Mi"])
REQUESTS = st.dictionaries(NAMES, AMOUNTS, max_size=3)
EXPRESSIONS = st.sampled_from(
    [
        "true",
        "1 +",
        "device.driver",
        "device.attributes['d'].x > 1",
        f"device.driver == '{GPU}'",
        "[1].map(x, x)[9] == 1",
    ]
)
DEVICE_REQUESTS = st.one_of(
    st.just({"name": "r"}),
    st.builds(
        lambda name, mode, number, texts, admin: request(name, number, *texts, allocationMode=mode, adminAccess=admin),
        st.sampled_from([GPU, BIG, NIC, "unmapped", ""]), st.sampled_from(["ExactCount", "All", "Half", ""]),
        st.sampled_from([1, 0, 3, INT64_MAX, -1]), st.lists(EXPRESSIONS, max_size=2), st.booleans(),
    ),
    st.builds(
        lambda name, number: {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": name, "count": number}]},
        st.sampled_from([GPU, NIC, "unmapped"]), st.sampled_from([1, 2]),
    ),
)  # fmt: skip


@given(
    requests=st.lists(DEVICE_REQUESTS, max_size=3),
    asked=st.lists(REQUESTS, min_size=1, max_size=3),
    pods=st.sampled_from([0, 1, 5, 2**31]),
    alternatives=st.booleans(),
)
def test_any_template_is_charged_or_refused(requests, asked, pods, alternatives):
    """Whatever a workload asks for, there is a charge within int64, or an error with its field."""
    config = configuration(gates={"KueueDRAIntegrationPrioritizedList": alternatives})
    slices = devices_of("s", {"name": "d", "attributes": {"x": {"int": 2}}}, {"name": "e"})
    backed = device_class(NIC, extendedResourceName="example.com/gpu")
    objects = [claim_template("t", *requests), slices, device_class(GPU, "device.driver != 'x'"), backed]
    counted = count(workload(pod_set("t", count=pods, containers=asked)), *objects, config=config)
    if isinstance(counted, WorkloadCharge):
        (each,) = counted.pod_sets
        assert all(0 <= amount <= INT64_MAX for amount in each.requests.values())
    else:
        assert counted.error.startswith(("spec.podSets[0].template.spec.", "[spec.podSets[0]"))
