"""The teams that share GPUs by quota: valid, and as large as said."""

import pytest

from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.counting import WorkloadCharge, count_workload
from drasat.models.kubernetes.kueue import ClusterQueue, Cohort, KueueWorkload, ResourceFlavor
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.workload.requests import sum_requests
from drasat.scenarios.quota import FLAVOR_LABEL, GPU_MEMORY, GPUS, quota, quota_demand
from drasat.solver.allocate.load import load_all

SMALL = (40, 12, 10, 100)


@pytest.fixture(scope="module")
def cluster():
    loaded = load_all([quota(*SMALL)])
    assert not loaded.warnings
    assert not loaded.ignored
    return loaded.cluster


def charges(cluster):
    configuration = kueue_configuration(cluster)
    found = [count_workload(one, cluster, configuration) for one in cluster.objects(KueueWorkload).values()]
    assert all(isinstance(one, WorkloadCharge) for one in found)
    return found


def nominal(cluster):
    """Nominal quota of all queues and cohorts, by flavor and resource."""
    total = {}
    for one in (*cluster.objects(ClusterQueue).values(), *cluster.objects(Cohort).values()):
        for group in one.spec.resource_groups or ():
            for flavor in group.flavors:
                for entry in flavor.resources:
                    key = flavor.name, entry.name
                    total[key] = total.get(key, 0) + Quantity.parse(entry.nominal_quota).value
    return total


def test_every_workload_can_be_counted(cluster):
    assert len(charges(cluster)) == 100


def test_quotas_are_what_the_nodes_have(cluster):
    """Six, three and one of ten nodes are of the three flavors."""
    total = nominal(cluster)
    assert [total[flavor, GPUS] for flavor in ("h100", "a100", "mig")] == [24 * 8, 12 * 8, 0]
    assert [total[flavor, GPU_MEMORY] for flavor in ("h100", "a100", "mig")] == [0, 0, 4 * 2 * 40192 * 2**20]
    labels = [node.metadata.labels[FLAVOR_LABEL] for node in cluster.nodes.values()]
    for name, flavor in cluster.objects(ResourceFlavor).items():
        assert flavor.spec.node_labels == {FLAVOR_LABEL: name}
        assert total[name, "cpu"] == 192 * labels.count(name)


def test_jobs_ask_for_about_a_quarter_more_gpus_than_there_are(cluster):
    total = sum_requests(each.requests for one in charges(cluster) for each in one.pod_sets)
    assert total[GPUS] == pytest.approx(1.25 * 36 * 8, rel=0.05)
    assert sum(quota_demand(100).values()) == 100


def test_cohorts_are_three_levels_deep(cluster):
    parents = {name: one.spec.parent_name for name, one in cluster.objects(Cohort).items()}
    assert len(parents) == 10
    for queue in cluster.objects(ClusterQueue).values():
        department = parents[queue.spec.cohort_name]
        assert parents[parents[department]] == ""


def test_the_seed_decides():
    assert quota(*SMALL) == quota(*SMALL)
    assert quota(*SMALL, seed=1) != quota(*SMALL)


def test_a_larger_cluster_begins_with_the_nodes_of_a_smaller_one():
    small, large = ([one for one in quota(n, 4, 3, 10) if one["kind"] == "Node"] for n in (5, 20))
    assert large[:5] == small
