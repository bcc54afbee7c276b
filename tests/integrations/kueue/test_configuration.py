"""The configuration that Kueue runs with, and every recorded configuration that it refuses (kueue-dra 2.1)."""

import re

import pytest
from support.kueue_cases import KueueCase, kueue_cases, read_objects

from drasat.integrations.kueue.configuration import FairSharing, KueueConfiguration, kueue_configuration, start_errors
from drasat.models.cluster.cluster import Cluster

_LISTED = re.compile(r": \[(K\w+ is enabled.*)\]$")


def in_any_order(error):
    """Kueue names gates in the order of a map, which is another one at each start (9.1)."""
    listed = _LISTED.search(error)
    return error if listed is None else (error[: listed.start()], *sorted(re.findall(r"K\w+ is enabled", listed[1])))


@pytest.mark.parametrize("family", sorted({case.family for case in kueue_cases()}))
def test_every_recorded_configuration_has_the_errors_of_kueue(family):
    """To the letter."""
    for case in kueue_cases():
        if case.family == family:
            expected = case.verdict.get("configurationErrors") or []
            found = start_errors(case.cluster)
            assert [*map(in_any_order, found)] == [*map(in_any_order, expected)], case


def configured(**fields):
    return KueueCase("x", "x", {}, configuration=fields).cluster


MAPPING = {"name": "gpus", "deviceClassNames": ["gpu.example.com"]}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"resources": {"deviceClassMappings": [MAPPING]}}, []),
        (
            {"resources": {"transformations": [{"input": "a"}, {"input": "a", "strategy": "Retain"}]}},
            ['resources.transformations[1].input: Duplicate value: "a"'],
        ),
        (
            {"resources": {"transformations": [{"input": "a", "strategy": "Drop"}]}},
            ['resources.transformations[0].strategy: Unsupported value: "Drop": supported values: "Retain", "Replace"'],
        ),
        (
            {"resources": {"quotaCheckStrategy": "Some"}},
            [
                'resources.quotaCheckStrategy: Unsupported value: "Some": '
                'supported values: "BlockUndeclared", "IgnoreUndeclared"'
            ],
        ),
        (
            {
                "resources": {
                    "deviceClassMappings": [
                        {**MAPPING, "sources": [{"capacity": {"name": "x.y/m m", "driver": "A_b"}}]}
                    ]
                },
                "featureGates": {"KueueDRAIntegrationConsumableCapacity": True},
            },
            ["capacity.name: Invalid value", "capacity.driver: Invalid value", "expression: Required value"],
        ),
    ],
)
def test_what_kueue_refuses_to_start_with(fields, errors):
    """V13 to V15, and the checks of transformations."""
    found = start_errors(configured(**fields))
    assert len(found) == len(errors)
    assert all(error in text for error, text in zip(errors, found, strict=True))


def test_defaults_without_a_configuration():
    found = kueue_configuration(Cluster())
    assert found == KueueConfiguration()
    assert (found.fair_sharing, found.gates["KueueDRAIntegration"]) == (None, True)
    assert not found.gates["KueueDRAIntegrationConsumableCapacity"]
    assert start_errors(Cluster()) == []


def test_the_record_has_what_was_configured():
    found = kueue_configuration(
        configured(
            resources={
                "deviceClassMappings": [MAPPING, {"name": "other", "deviceClassNames": ["nic.example.com"]}],
                "transformations": [{"input": "cpu", "strategy": "Retain", "outputs": {"example.com/credits": "3"}}],
                "excludeResourcePrefixes": ["net"],
                "quotaCheckStrategy": "IgnoreUndeclared",
            },
            fairSharing={"preemptionStrategies": ["LessThanInitialShare"]},
            featureGates={"KueueDRAIntegrationConsumableCapacity": True},
        )
    )
    assert [one.name for one in found.device_class_mappings] == ["gpus", "other"]
    assert found.transformations[0].outputs == {"example.com/credits": "3"}
    assert (found.exclude_resource_prefixes, found.quota_check_strategy) == (("net",), "IgnoreUndeclared")
    assert found.fair_sharing == FairSharing(("LessThanInitialShare",))
    assert found.gates["KueueDRAIntegrationConsumableCapacity"]
    assert found.gates["KueueDRAIntegration"]


def test_of_several_configurations_the_last_counts():
    api = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    read = read_objects([{**api, "resources": {"excludeResourcePrefixes": [name]}} for name in ("b", "a")])
    assert kueue_configuration(Cluster.build(read)).exclude_resource_prefixes == ("a",)
