"""The fleet: valid, of the sizes that are said, a tenth more asked for than there is."""

import json
from collections import Counter

import kubernetes_validate
import pytest
from support.gates import ALL

from drasat.models.workload.queue import read_queue
from drasat.scenarios.queues import DEVICES_PER_NODE, OVERLOAD, SKU_LABEL, SKUS, fleet, fleet_demand
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load_all

NODES = 50


@pytest.fixture(scope="module")
def cluster():
    loaded = load_all([fleet(NODES)])
    assert not loaded.warnings
    assert not loaded.ignored
    return loaded.cluster


def skus(cluster):
    return Counter(node.metadata.labels[SKU_LABEL] for node in cluster.nodes.values())


def units(cluster):
    """Number of pods by what their claim is called."""
    counts = Counter()
    for one in read_queue(cluster, gates=ALL):
        (entry,) = one.pod.spec.resource_claims
        counts[entry.resource_claim_template_name] += len(one.numbers)
    return counts


def test_objects_have_the_shape_of_the_published_schema():
    for item in fleet(5):
        kubernetes_validate.validate(item, "1.37", strict=True)


def test_the_same_arguments_give_the_same_objects():
    first, again, other = (json.dumps(fleet(10, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_nodes_of_a_larger_fleet_begin_with_those_of_a_smaller_one():
    small, large = ([item for item in fleet(nodes) if item["kind"] in ("Node", "ResourceSlice")] for nodes in (10, 20))
    assert large[: len(small)] == small


def test_of_five_nodes_two_are_paired_two_plain_and_one_is_mig(cluster):
    assert skus(cluster) == {"paired": 20, "plain": 20, "mig": 10}


def test_every_node_has_twelve_devices_in_complete_pools(cluster):
    assert cluster.device_count == DEVICES_PER_NODE * NODES
    for node in cluster.nodes.values():
        pools = cluster.pools(ALL).pools_for(node)
        assert {pool.status for pool in pools} == {"complete"}
        assert sum(len(pool.devices) for pool in pools) == DEVICES_PER_NODE


def test_every_device_has_a_uuid_of_its_own(cluster):
    uuids = [device.attributes["uuid"].string for one in cluster.slices for device in one.spec.devices or ()]
    assert len(set(uuids)) == len(uuids) == DEVICES_PER_NODE * NODES


def test_the_queue_is_what_the_demand_says(cluster):
    asked = fleet_demand(NODES)
    assert units(cluster) == {f"{sku}-{ask}": count for sku, own in asked.items() for ask, count in own.items()}


@pytest.mark.parametrize("nodes", [50, 1000, 10_000])
def test_a_tenth_more_is_asked_for_than_there_is(nodes):
    pattern = {"paired": 0.4, "mig": 0.2, "plain": 0.4}
    for name, asked in fleet_demand(nodes).items():
        sku = SKUS[name]
        taken = sum(asked[ask.name] * ask.takes for ask in sku.asks)
        assert taken == pytest.approx(nodes * pattern[name] * sku.gives * (1 + OVERLOAD), rel=0.04)


@pytest.mark.parametrize("nodes", [100, 1000, 10_000])
def test_there_are_nearly_five_claims_a_node(nodes):
    assert sum(sum(asked.values()) for asked in fleet_demand(nodes).values()) / nodes == pytest.approx(4.8, abs=0.05)


def test_parts_of_the_claims_of_a_sku_are_its_claims():
    assert all(sum(ask.part for ask in sku.asks) == pytest.approx(1) for sku in SKUS.values())


def test_pods_come_from_deployments_jobs_and_of_themselves(cluster):
    kinds = Counter()
    for one in read_queue(cluster, gates=ALL):
        kinds[one.kind] += len(one.numbers)
    assert kinds.keys() == {"Pod", "Deployment", "Job"}
    assert kinds["Pod"] == pytest.approx(0.3 * sum(kinds.values()), rel=0.05)


def test_there_is_one_kind_of_unit_for_each_kind_of_claim(cluster):
    assert len({one.signature for one in read_queue(cluster, gates=ALL)}) == sum(len(sku.asks) for sku in SKUS.values())


@pytest.mark.parametrize("sku", SKUS.values(), ids=SKUS)
def test_every_kind_of_claim_fits_an_empty_node_of_its_sku(sku):
    """One pod of each kind, on a fleet of one node of each SKU and some more."""
    items = [item for item in fleet(5) if item["kind"] not in ("Pod", "Job", "Deployment")]
    for ask in sku.asks:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "alone", "namespace": "default"},
            "spec": {
                "nodeSelector": {SKU_LABEL: sku.name},
                "containers": [{"name": "main", "image": "pause"}],
                "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": f"{sku.name}-{ask.name}"}],
            },
        }
        found = allocate(load_all([[*items, pod]]).cluster)
        assert found.outcome == "Allocated", ask.name
        (unit,) = found.units
        (_, allocation) = unit.allocations[0]
        assert len(allocation.devices.results) == sum(
            request["exactly"]["count"] for request in ask.spec["devices"]["requests"]
        )


def roots(cluster, allocation):
    devices = {(one.spec.pool.name, device.name): device for one in cluster.slices for device in one.spec.devices or ()}
    key = "resource.kubernetes.io/pcieRoot"
    return {devices[result.pool, result.device].attributes[key].string for result in allocation.devices.results}


def test_gpu_and_interface_of_a_pair_are_on_one_root(cluster):
    found = allocate(cluster)
    pairs = [
        allocation
        for unit in found.units
        for ref, allocation in unit.allocations
        if len(ref.claim.spec.devices.requests) == 2
    ]
    assert pairs
    assert all(len(roots(cluster, allocation)) == 1 for allocation in pairs)


def test_parts_of_a_card_exclude_the_whole(cluster):
    """Two cards a node: a claim for three whole ones fits no node with cards only."""
    sets = [found for one in cluster.slices for found in one.spec.shared_counters or ()]
    assert len(sets) == 2 * skus(cluster)["mig"]
    assert {counter.value for found in sets for name, counter in found.counters.items() if "slice" in name} == {"1"}
    consumers = [
        device for one in cluster.slices for device in one.spec.devices or () if device.consumes_counters is not None
    ]
    assert len(consumers) == DEVICES_PER_NODE * skus(cluster)["mig"]
