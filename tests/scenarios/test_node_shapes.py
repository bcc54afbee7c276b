"""Generators of nodes: valid, reproducible, as full as asked."""

import json
from collections import Counter

import kubernetes_validate
import pytest
from support.gates import ALL

from drasat import scenarios
from drasat.models.kubernetes.quantity import Quantity
from drasat.scenarios import clusters, mig, node_shapes

# Each with a small and a full variant.
GENERATORS = {
    "gpu": scenarios.gpu_nodes,
    "mig": scenarios.mig_nodes,
    "nic": scenarios.nic_nodes,
    "cpu": scenarios.cpu_nodes,
    "channel": scenarios.channel_nodes,
    "mixed": scenarios.mixed_nodes,
}
NODES = pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)


@NODES
@pytest.mark.parametrize("fullness", [0.0, 0.5, 1.0])
def test_scenarios_are_valid(generate, fullness, problems):
    assert problems(generate(3, seed=5, fullness=fullness)) == []


@NODES
def test_scenarios_have_the_shape_of_the_published_schema(generate):
    for item in generate(2, seed=5, fullness=0.5):
        kubernetes_validate.validate(item, "1.37", strict=True)


@NODES
def test_same_arguments_give_the_same_objects(generate):
    first, again, other = (json.dumps(generate(2, seed=seed, fullness=0.5)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@NODES
def test_a_larger_cluster_begins_with_the_smaller_one(generate):
    small, large = generate(2, seed=1, fullness=0.5), generate(4, seed=1, fullness=0.5)
    assert large[: len(small)] == small


@NODES
def test_every_pool_is_complete(generate, load):
    cluster = load(generate(3, seed=2, fullness=0.5))
    for node in cluster.nodes.values():
        pools = cluster.pools(ALL).pools_for(node)
        assert {pool.status for pool in pools} == {"complete"}


@NODES
def test_what_is_held_exists_and_is_held_once(generate, load):
    cluster = load(generate(3, seed=2, fullness=0.7))
    there = {
        member.id
        for node in cluster.nodes.values()
        for pool in cluster.pools(ALL).pools_for(node)
        for member in pool.devices
    }
    results = Counter(
        ((result.driver, result.pool, result.device), result.share_id)
        for claim in cluster.claims.values()
        for result in claim.status.allocation.devices.results
    )
    assert results
    assert {device for device, _ in results} <= there
    assert set(results.values()) == {1}


@NODES
@pytest.mark.parametrize("fullness", [-0.1, 1.1])
def test_fullness_is_a_part(generate, fullness):
    with pytest.raises(ValueError, match="fullness must be between 0 and 1"):
        generate(1, fullness=fullness)


@pytest.mark.parametrize(("fullness", "least", "most"), [(0.0, 0, 0), (0.3, 60, 130), (1.0, 320, 320)])
def test_whole_devices_are_held_as_asked(fullness, least, most, load):
    usage = load(scenarios.gpu_nodes(40, 8, fullness=fullness)).usage(ALL)
    assert least <= len(usage.dedicated) <= most


def test_gpu_nodes_have_a_model_each(load):
    cluster = load(scenarios.gpu_nodes(30, 4, mix={"L4": 1, "B200": 1}))
    models = {
        slice_.spec.node_name: {device.attributes["productName"].string for device in slice_.spec.devices}
        for slice_ in cluster.slices
    }
    assert all(len(found) == 1 for found in models.values())
    assert set.union(*models.values()) == {"L4", "B200"}
    assert all(cluster.nodes[name].metadata.labels["example.com/gpu"] in found for name, found in models.items())


def test_gpus_have_places(load):
    (slice_,) = load(scenarios.gpu_nodes(1, 8)).slices
    places = [
        (device.attributes["numaNode"].int_value, device.attributes[node_shapes.PCIE_ROOT].string)
        for device in slice_.spec.devices
    ]
    assert [numa for numa, _ in places] == [0] * 4 + [1] * 4
    assert sorted(Counter(root for _, root in places).values()) == [2] * 4
    assert len(slice_.spec.devices[0].attributes) == 8


def test_mig_has_every_profile_at_every_placement(load):
    cluster = load(scenarios.mig_nodes(1, 1))
    profiles = Counter(
        device.attributes["profile"].string
        for slice_ in cluster.slices
        for device in slice_.spec.devices or ()
        if "profile" in device.attributes
    )
    assert profiles == {
        "1g.5gb": 7,
        "1g.5gb+me": 7,
        "1g.10gb": 4,
        "2g.10gb": 3,
        "3g.20gb": 2,
        "4g.20gb": 1,
        "7g.40gb": 1,
    }


def _used(names):
    """What named partitions of GPU 0 consume together."""
    devices = {device["name"]: device for device in [mig.whole_gpu(0), *mig.partitions(0)]}
    total = Counter()
    for name in names:
        for counter, amount in devices[name]["consumesCounters"][0]["counters"].items():
            total[counter] += Quantity.parse(amount["value"]).nano
    return total


def _overdrawn(used):
    limit = _used(["gpu-0"])
    return sorted(name for name, amount in used.items() if amount > limit[name])


@pytest.mark.parametrize(
    ("placements", "overdrawn"),
    [
        ([("1g.5gb", start) for start in range(7)], False),
        ([("1g.10gb", start) for start in (0, 2, 4, 6)], False),
        ([("2g.10gb", 0), ("2g.10gb", 2), ("2g.10gb", 4), ("1g.5gb", 6)], False),
        ([("3g.20gb", 0), ("3g.20gb", 4)], False),
        ([("4g.20gb", 0), ("3g.20gb", 4)], False),
        ([("7g.40gb", 0)], False),
        ([("1g.5gb+me", 0), *(("1g.5gb", start) for start in range(1, 7))], False),
        ([("1g.5gb+me", 0), ("1g.5gb+me", 1)], True),
        ([("4g.20gb", 0), ("2g.10gb", 2)], True),
        ([("3g.20gb", 4), ("1g.10gb", 6)], True),
        ([("7g.40gb", 0), ("1g.5gb", 6)], True),
    ],
)
def test_partitions_that_go_together(placements, overdrawn):
    used = _used(mig.partition_name(0, profile, start) for profile, start in placements)
    assert bool(_overdrawn(used)) is overdrawn


@pytest.mark.parametrize("profile", mig.MIG_PROFILES)
def test_the_whole_gpu_excludes_every_partition(profile):
    assert _overdrawn(_used(["gpu-0", mig.partition_name(0, profile, 0)]))


@pytest.mark.parametrize("seed", range(5))
def test_held_partitions_respect_the_counters(seed, load):
    cluster = load(scenarios.mig_nodes(4, 1, seed=seed, fullness=0.9))
    for node in cluster.nodes:
        held = [device for _, pool, device in cluster.usage(ALL).dedicated if pool == node]
        assert held
        assert _overdrawn(_used(held)) == []


def test_interfaces_are_near_some_gpus(load):
    cluster = load(scenarios.nic_nodes(1, 8, 4))
    roots = {
        device.name: device.attributes[node_shapes.PCIE_ROOT]
        for slice_ in cluster.slices
        for device in slice_.spec.devices
    }
    lists = [set(roots[f"nic-{number}"].strings) for number in range(4)]
    assert [len(found) for found in lists] == [2, 2, 2, 2]
    assert set.union(*lists) == {roots[f"gpu-{number}"].string for number in range(8)}


@pytest.mark.parametrize(("gpu_count", "nic_count"), [(1, 1), (3, 2), (4, 8), (8, 1)])
def test_any_number_of_gpus_and_interfaces(gpu_count, nic_count, problems):
    assert problems(scenarios.nic_nodes(1, gpu_count, nic_count)) == []


def test_shared_processors_are_not_overbooked(load):
    cluster = load(scenarios.cpu_nodes(10, 2, 32, fullness=0.8))
    used = [amounts["cpus"] for amounts in cluster.usage(ALL).consumed.values()]
    assert used
    assert max(used) <= 32 * 10**9
    assert 0.6 < sum(used) / (20 * 32 * 10**9) < 0.85


def test_channels_can_be_monitored(load):
    cluster = load(scenarios.channel_nodes(1, 127))
    assert cluster.namespaces["monitoring"].metadata.labels["resource.kubernetes.io/admin-access"] == "true"
    assert len(cluster.slices[0].spec.devices) == 128


@pytest.mark.parametrize("size", node_shapes.TPU_TOPOLOGIES)
def test_slices_of_a_rack(size, load):
    cluster = load(scenarios.multi_host_nodes(2, size, fullness=0.5))
    assert len(cluster.nodes) == 2 * size
    for node in cluster.nodes.values():
        (pool,) = cluster.pools(ALL).pools_for(node)
        assert pool.status == "complete"
        assert len(pool.devices) == 2 * size - 1
        # One slice of each size reaches the host.
        assert sum(member.reachable for member in pool.devices) == size.bit_length()


def test_racks_have_certain_sizes():
    with pytest.raises(ValueError, match="hosts must be one of 1, 2, 4, 8, 16"):
        scenarios.multi_host_nodes(1, 3)


def test_taints_and_rules(load):
    plain = scenarios.mixed_nodes(10, seed=4)
    before = json.dumps(plain)
    cluster = load(scenarios.with_taints(plain, 0.5, 2, seed=1))
    assert json.dumps(plain) == before
    devices = [device for slice_ in cluster.slices for device in slice_.spec.devices or ()]
    tainted = [device for device in devices if device.taints]
    assert 0.3 * len(devices) < len(tainted) < 0.7 * len(devices)
    drained = {(rule.spec.device_selector.driver, rule.spec.device_selector.pool) for rule in cluster.taint_rules}
    assert len(drained) == 2
    assert drained <= {(slice_.spec.driver, slice_.spec.pool.name) for slice_ in cluster.slices}


def test_large_slices_are_not_tainted(problems):
    tainted = scenarios.with_taints(scenarios.channel_nodes(1, 100), 1.0)
    assert problems(tainted) == []
    assert not [device for device in devices_of(tainted) if "taints" in device]


def devices_of(items):
    return [device for item in items if item["kind"] == "ResourceSlice" for device in item["spec"]["devices"]]


def test_mixed_nodes_follow_the_weights(load):
    cluster = load(scenarios.mixed_nodes(60, mix={"cpu": 3, "l4": 1}))
    drivers = Counter(slice_.spec.driver for slice_ in cluster.slices)
    assert set(drivers) == {"cpu.example.com", "gpu.example.com"}
    assert drivers["cpu.example.com"] > drivers["gpu.example.com"] > 0


@pytest.mark.parametrize("shape", clusters.NODE_SHAPES)
def test_every_shape_can_be_mixed_in(shape, problems):
    assert problems(scenarios.mixed_nodes(2, mix={shape: 1}, fullness=0.5)) == []


def test_unknown_shapes_are_told():
    with pytest.raises(ValueError, match="unknown shape 'tpu', known are: a100, h100"):
        scenarios.mixed_nodes(1, mix={"tpu": 1})


def test_combine_keeps_the_first_of_a_name():
    both = scenarios.combine(scenarios.gpu_nodes(1), scenarios.nic_nodes(1))
    kinds = Counter((item["kind"], item["metadata"]["name"]) for item in both)
    assert kinds["DeviceClass", "gpu"] == 1
    assert kinds["DeviceClass", "rdma-nic"] == 1


@pytest.mark.parametrize("form", ["templates", "claims", "loose"])
@pytest.mark.parametrize("kind", [kind for kind in clusters.CLAIM_KINDS if kind != "monitor"])
def test_requests_of_every_kind_are_valid(kind, form, problems):
    offered = scenarios.combine(scenarios.mixed_nodes(1), scenarios.channel_nodes(1), scenarios.multi_host_nodes(1))
    assert problems(scenarios.combine(offered, scenarios.requests(5, {kind: 1}, form=form))) == []


def test_monitoring_is_asked_for_with_admin_access(problems):
    monitor = scenarios.requests(1, {"monitor": 1}, namespace="monitoring")
    assert problems(scenarios.combine(scenarios.channel_nodes(1), monitor)) == []
    assert monitor[0]["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] is True


@pytest.mark.parametrize(
    ("form", "kinds"),
    [("templates", {"Pod": 20}), ("claims", {"Pod": 20, "ResourceClaim": 20}), ("loose", {"ResourceClaim": 20})],
)
def test_forms_of_requests(form, kinds):
    made = Counter(item["kind"] for item in scenarios.requests(20, form=form))
    assert {kind: made[kind] for kind in kinds} == kinds
    assert set(made) - set(kinds) <= {"ResourceClaimTemplate"}


def test_requests_are_drawn_by_weight_and_seed():
    first, again, other = (json.dumps(scenarios.requests(30, {"gpu": 1, "cpus": 1}, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_unknown_kinds_of_requests_are_told():
    with pytest.raises(ValueError, match="unknown kind 'gpus', known are: gpu, near-gpus"):
        scenarios.requests(1, {"gpus": 1})
