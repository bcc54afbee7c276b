"""Extended resources that device classes stand behind (kueue-dra 5.1)."""

import pytest
from support.kueue_counting import (
    GPU,
    charges,
    claim_template,
    configuration,
    count,
    device_class,
    pod_set,
    request,
    workload,
)

NAME = "example.com/gpu"
BACKED = device_class(GPU, extendedResourceName=NAME)


def init(amount, **fields):
    return {"name": f"i{amount}", "resources": {"requests": {NAME: str(amount)}}, **fields}


@pytest.mark.parametrize(
    ("objects", "spec", "expected"),
    [
        pytest.param([BACKED], {"containers": ({NAME: "2"},)}, {"whole-gpus": 4}, id="the class's resource"),
        pytest.param([], {"containers": ({NAME: "2"},)}, {NAME: 4}, id="no class"),
        pytest.param(
            [device_class("unmapped", extendedResourceName=NAME)], {"containers": ({NAME: "2"},)}, {NAME: 4},
            id="a class without resource",
        ),
        pytest.param(
            [BACKED], {"containers": ({NAME: "1"}, {NAME: "1"}), "initContainers": [init(3), init(1)]},
            {"whole-gpus": 6}, id="the largest init container",
        ),
        pytest.param(
            [BACKED], {"containers": ({NAME: "1"},), "initContainers": [init(2, restartPolicy="Always")]},
            {"whole-gpus": 4}, id="a sidecar is an init container here",
        ),
        pytest.param([BACKED], {"containers": ({NAME: "0"},)}, {NAME: 0}, id="nothing is left as it is"),
        pytest.param(
            [BACKED, claim_template("t", request(GPU, 3))], {"containers": ({NAME: "2"},), "claims": ["t"]},
            {"whole-gpus": 10}, id="beside a template",
        ),
    ],
)  # fmt: skip
def test_amounts_are_charged_to_the_resource_of_the_class(objects, spec, expected):
    """Kueue-dra 5.1, for two pods."""
    claims = spec.pop("claims", [])
    assert charges(workload(pod_set(*claims, count=2, **spec)), *objects) == [expected]


def test_limits_are_charged_under_the_extended_name():
    """Kueue-dra 9.14: only requests are recognised."""
    one = workload(pod_set())
    one["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["limits"] = {NAME: "2"}
    assert charges(one, BACKED) == [{"cpu": 500, NAME: 2}]


def test_the_gate_leaves_extended_resources_as_they_are():
    """Kueue-dra 1: KueueDRAIntegrationExtendedResource."""
    config = configuration(gates={"KueueDRAIntegrationExtendedResource": False})
    assert charges(workload(pod_set(containers=({NAME: "2"},))), BACKED, config=config) == [{NAME: 2}]


@pytest.mark.parametrize(
    ("created", "expected"), [(("2026-01-01", "2026-01-02"), "second"), (("2026-01-01",) * 2, "first")]
)
def test_the_youngest_class_counts_and_of_equal_ones_the_first(created, expected):
    """Kueue-dra 5.1.2."""
    mappings = [{"name": name, "deviceClassNames": [name]} for name in ("first", "second")]
    classes = []
    for name, day in zip(("first", "second"), created, strict=True):
        one = device_class(name, extendedResourceName=NAME)
        one["metadata"]["creationTimestamp"] = f"{day}T00:00:00Z"
        classes.append(one)
    config = configuration(mappings)
    assert charges(workload(pod_set(containers=({NAME: "1"},))), *classes, config=config) == [{expected: 1}]


def test_a_fraction_of_a_device_is_refused():
    """Kueue-dra 5.1.1, 3.7."""
    failure = count(workload(pod_set(containers=({"cpu": "1", NAME: "1500m"},))), BACKED)
    assert failure.error == (
        f"spec.podSets[0].template.spec.containers[0].resources.requests.{NAME}: "
        'Invalid value: "1500m": extended resource quantity must be an integer'
    )
    assert not failure.retry


def test_a_class_with_sources_is_refused():
    """Kueue-dra 5.1.4."""
    selector = {"cel": {"expression": "true"}}
    counter = {"counter": {"name": "memory", "driver": GPU, "deviceSelector": selector}}
    mappings = [{"name": "gpu-mem", "deviceClassNames": [GPU], "sources": [counter]}]
    failure = count(workload(pod_set(containers=({NAME: "1"},))), BACKED, config=configuration(mappings))
    assert failure.error == (
        f'spec.podSets[0].template.spec.containers[0]: Invalid value: "{NAME}": extended resource {NAME} resolves to '
        f"DeviceClass {GPU} with counters configured; use ResourceClaimTemplates with CEL selectors for counter-based "
        "quota"
    )
    assert not failure.retry


def test_more_than_an_integer_holds_is_refused():
    """Kueue-dra 5.1."""
    most = str(2**63 - 1)
    failure = count(workload(pod_set(containers=({NAME: most}, {NAME: most}))), BACKED)
    assert failure.error.endswith("total extended resource quantity overflows int64")


def test_claims_of_all_pod_sets_are_counted_before_extended_resources():
    """The first error ends the count (kueue-dra 3.1)."""
    fraction = pod_set(containers=({NAME: "1500m"},))
    failure = count(workload(fraction, pod_set("missing", name="other")), BACKED)
    assert failure.error.startswith("spec.podSets[1].template.spec.resourceClaims[0]: Internal error")
