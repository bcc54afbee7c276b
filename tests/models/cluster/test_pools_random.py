"""The pool index against a reading of the rules that asks every slice about every node."""

import random
from itertools import groupby

import pytest
from support.gates import ALL
from support.model_objects import consumes, counter_set, label_selector, node, resource_slice

from drasat.models.cluster.node_fit import located_parts, reaches
from drasat.models.cluster.pools import PoolIndex
from drasat.models.kubernetes.slices import Device

PLAIN = ALL.with_({"DRAPartitionableDevices": False})


def _pool_key(slice_):
    return slice_.spec.driver, slice_.spec.pool.name


def _generation(slice_):
    return slice_.spec.pool.generation


def _known_counters(slices):
    sets = [counters for slice_ in slices for counters in slice_.spec.shared_counters or ()]
    known = {(counters.name, name) for counters in sets for name in counters.counters}
    used = {
        (consumption.counter_set, name)
        for slice_ in slices
        for device in slice_.spec.devices or ()
        for consumption in device.consumes_counters or ()
        for name in consumption.counters
    }
    return len({counters.name for counters in sets}) == len(sets) and used <= known


def _declared(kept):
    """The number of slices that the first one declares, those of the node before others (POOL-4)."""
    return min(kept, key=lambda slice_: slice_.spec.node_name is None).spec.pool.resource_slice_count


def _view(relevant, understood, published, partitionable):
    """What a node makes of a pool: None, or its status and devices (POOL-3 to POOL-9)."""
    newest = max(map(_generation, relevant))
    kept = [slice_ for slice_ in relevant if _generation(slice_) == newest]
    whole, declared = kept, _declared(kept)
    if len(kept) != declared:
        if max(map(_generation, published)) > newest:
            return None
        if declared != sum(_generation(slice_) == newest for slice_ in published):
            return "incomplete", []
        whole = [slice_ for slice_ in understood if _generation(slice_) == newest]
    names = [device.name for slice_ in kept for device in slice_.spec.devices or ()]
    if len(set(names)) < len(names) or (partitionable and not _known_counters(whole)):
        return "invalid", []
    return "complete", names


def _partitions(slice_):
    return slice_.spec.per_device_node_selection or slice_.spec.shared_counters


def _expected(slices, there, gates):
    """All pools by driver and name, those with binding conditions last (POOL-1, POOL-2, POOL-11)."""
    found = []
    for key, group in groupby(sorted(slices, key=lambda slice_: (_pool_key(slice_), slice_.metadata.name)), _pool_key):
        published = list(group)
        understood = [slice_ for slice_ in published if gates.partitionable_devices or not _partitions(slice_)]
        relevant = [slice_ for slice_ in understood if any(reaches(part, there) for part in located_parts(slice_))]
        view = _view(relevant, understood, published, gates.partitionable_devices) if relevant else None
        if view:
            newest = max(map(_generation, relevant))
            last = view[0] == "complete" and any(
                device.binding_conditions is not None
                for slice_ in relevant
                if _generation(slice_) == newest
                for device in slice_.spec.devices or ()
            )
            found.append((last, key, *view))
    return [entry[1:] for entry in sorted(found, key=lambda entry: entry[:2])]


def _device(rng, name):
    return Device(
        name=name,
        binding_conditions=rng.choice([None, None, None, None, (), ("ready",)]),
        consumes_counters=consumes(rng.choice("cde"), x="1") if rng.random() < 0.15 else None,
    )


def _place(rng):
    places = [
        {"node_name": "n0"},
        {"node_name": "n1"},
        {"all_nodes": True},
        {"node_selector": label_selector("z", "a")},
    ]
    return rng.choice(places)


def _random_slice(rng, number):
    names = rng.sample("abcdef", rng.randrange(3))
    pool = {
        "driver": rng.choice(["x", "y"]),
        "pool": rng.choice(["p", "q"]),
        "generation": rng.choice([1, 1, 1, 2]),
        "count": rng.choice([1, 2, 2, 3]),
    }
    name = f"s{rng.randrange(100)}-{number}"
    kind = rng.random()
    if kind < 0.15:
        parts = [Device(name=part, **_place(rng)) for part in names]
        return resource_slice(name, per_device_node_selection=True, devices=parts, **pool)
    if kind < 0.3:
        return resource_slice(name, shared_counters=(counter_set(rng.choice("cd"), x="1"),), **_place(rng), **pool)
    return resource_slice(name, devices=[_device(rng, part) for part in names], **_place(rng), **pool)


@pytest.mark.parametrize("gates", [ALL, PLAIN], ids=["partitionable", "plain"])
@pytest.mark.parametrize("seed", range(100))
def test_the_index_agrees_with_the_plain_reading(seed, gates):
    """POOL-1 to POOL-9, POOL-11, POOL-14."""
    rng = random.Random(seed)
    slices = [_random_slice(rng, number) for number in range(rng.randint(1, 9))]
    index = PoolIndex(slices, gates)
    for there in (node("n0", {"z": "a"}), node("n1", {"z": "b"}), node("n2", {"z": "a"}), node("n3")):
        pools = index.pools_for(there)
        got = [(pool.id, pool.status, [member.device.name for member in pool.devices]) for pool in pools]
        assert got == [(key, status, names) for key, status, names in _expected(slices, there, gates)]


def test_the_random_slices_show_every_status():
    seen = set()
    for seed in range(100):
        rng = random.Random(seed)
        slices = [_random_slice(rng, number) for number in range(rng.randint(1, 9))]
        seen |= {pool.status for pool in PoolIndex(slices, ALL).pools_for(node("n0", {"z": "a"}))}
    assert seen == {"complete", "incomplete", "invalid"}
