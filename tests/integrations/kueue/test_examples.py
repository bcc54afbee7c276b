"""The examples of quota: what their pages say is what is counted and admitted."""

import pytest

from drasat.integrations.kueue.configuration import kueue_configuration, start_errors
from drasat.integrations.kueue.counting import count_workload
from drasat.models.formats.errors import InputError
from drasat.models.kubernetes.kueue import KueueWorkload
from drasat.solver.allocate.load import load_all

FOLDERS = [
    "story-1-batch-jobs", "story-2-quota-and-preemption", "a-lending", "b-cohort-tree", "c-borrowing", "d-flavors",
    "e-fungibility", "f-resource-groups", "g-reclaim", "h-reclaim-newest", "i-fair-sharing",
]  # fmt: skip


def cluster_of(examples, folder):
    loaded = load_all([examples / "kueue" / folder])
    assert not loaded.warnings
    return loaded.cluster


def test_every_example_is_tested(examples):
    folders = {path.parent.name for path in (examples / "kueue").glob("*/README.md")}
    assert folders == {*FOLDERS, "story-3-mapping-conflict"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_workloads_with_quota_hold_what_they_are_counted_as(examples, folder):
    cluster = cluster_of(examples, folder)
    configuration = kueue_configuration(cluster)
    assert start_errors(cluster) == []
    for one in cluster.objects(KueueWorkload).values():
        (charge,) = count_workload(one, cluster, configuration).pod_sets
        if one.status.admission is not None:
            (held,) = one.status.admission.pod_set_assignments
            assert {name: str(amount) for name, amount in charge.requests.items()} == held.resource_usage


def test_the_job_of_the_first_story_is_charged_as_the_design_says(examples):
    """Kueue-dra 3.9: the end-to-end example of the design."""
    cluster = cluster_of(examples, "story-1-batch-jobs")
    (one,) = cluster.objects(KueueWorkload).values()
    (charge,) = count_workload(one, cluster, kueue_configuration(cluster)).pod_sets
    assert charge.requests == {"cpu": 1000, "memory": 200 * 2**20, "whole-gpus": 1}


def test_a_configuration_that_kueue_refuses_is_refused_in_its_words(examples):
    """The third story of the design; rules V2 and V9 of kueue-dra 2.1."""
    with pytest.raises(InputError) as refused:
        cluster_of(examples, "story-3-mapping-conflict")
    assert "resources.deviceClassMappings[1].deviceClassNames[0]" in str(refused.value)
    assert "device class already mapped to resource whole-gpus" in str(refused.value)
    assert 'resources.deviceClassMappings[2].name: Invalid value: "big gpus"' in str(refused.value)
