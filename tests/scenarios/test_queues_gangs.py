"""The queue of gangs: valid, and as large as said."""

from collections import Counter

import kubernetes_validate
import pytest

from drasat.models.workload.queue import read_queue
from drasat.scenarios.queues import GANG_MEMBERS, GANG_NODES, GANG_POD_SIZES, GPUS_PER_NODE, gang_count, gang_queue
from drasat.solver.allocate.load import load_all


def cluster_of(nodes, **options):
    loaded = load_all([gang_queue(nodes, **options)])
    assert not loaded.warnings
    assert not loaded.ignored
    return loaded.cluster


def sizes(cluster):
    """GPUs of each pod, by gang."""
    found = {}
    for one in read_queue(cluster):
        (entry,) = one.pod.spec.resource_claims
        found.setdefault(one.gang.name, []).append(int(entry.resource_claim_template_name.removeprefix("gpus-")))
    return found


def test_objects_have_the_shape_of_the_published_schema():
    for item in gang_queue(4):
        kubernetes_validate.validate(item, "1.37", strict=True)


def test_there_are_two_hundred_gangs_for_345_nodes():
    assert gang_count(GANG_NODES) == 200
    cluster = cluster_of(GANG_NODES)
    own = sizes(cluster)
    assert len(own) == 200
    assert {len(members) for members in own.values()} == {GANG_MEMBERS}
    assert cluster.device_count == GANG_NODES * GPUS_PER_NODE
    assert sum(map(sum, own.values())) == pytest.approx(1.1 * GANG_NODES * GPUS_PER_NODE, rel=0.005)


@pytest.mark.parametrize("nodes", [35, 100])
def test_parts_of_the_pods_ask_for_one_two_four_or_eight(nodes):
    own = sizes(cluster_of(nodes))
    counts = Counter(size for members in own.values() for size in members)
    pods = sum(counts.values())
    assert pods == gang_count(nodes) * GANG_MEMBERS
    for size, part in GANG_POD_SIZES.items():
        assert abs(counts[size] - part * pods) <= 2


def test_gangs_are_of_many_compositions():
    compositions = {tuple(sorted(members)) for members in sizes(cluster_of(100)).values()}
    assert len(compositions) > 20


def test_the_seed_decides_who_is_in_which_gang():
    assert gang_queue(20) == gang_queue(20)
    assert gang_queue(20, seed=1) != gang_queue(20)


def test_processors_never_decide_what_fits():
    cluster = cluster_of(20)
    (room,) = {int(node.status.allocatable["cpu"]) for node in cluster.nodes.values()}
    for one in read_queue(cluster):
        (entry,) = one.pod.spec.resource_claims
        size = int(entry.resource_claim_template_name.removeprefix("gpus-"))
        # In thousandths: the share of the node's processors is no more than that of its GPUs.
        assert one.shape.requests["cpu"] * GPUS_PER_NODE <= room * 1000 * size
