"""Small partitions leave room for a large one wherever that is possible: against all ways to place them."""

from functools import cache
from itertools import combinations, product

import pytest
from support.manifests import obj

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.scenarios.mig import MIG_PROFILES, mig_nodes
from drasat.solver.allocate.allocate import allocate

SMALL = "1g.5gb"
ENGINES = {"multiprocessors": 98, "copy_engines": 7, "decoders": 5, "media_engines": 1}
PLACEMENTS = frozenset((name, start) for name, profile in MIG_PROFILES.items() for start in profile.starts)


@cache
def fits(placed):
    """Whether a GPU can be cut into these partitions at once."""
    slices = [slice_ for name, start in placed for slice_ in range(start, start + MIG_PROFILES[name].size)]
    within = all(sum(getattr(MIG_PROFILES[name], part) for name, _ in placed) <= most for part, most in ENGINES.items())
    return within and len(slices) == len(set(slices))


@cache
def sizes_left(placed):
    """How many partitions of each size a GPU still offers, the largest first."""
    free = [MIG_PROFILES[one[0]].size for one in PLACEMENTS - placed if fits(placed | {one})]
    return tuple(free.count(size) for size in (8, 4, 2, 1))


@cache
def ways(placed):
    """What can be left of a GPU, by the number of small partitions that are added."""
    found = {}
    starts = [(SMALL, start) for start in MIG_PROFILES[SMALL].starts if (SMALL, start) not in placed]
    for count in range(len(starts) + 1):
        for added in combinations(starts, count):
            if fits(placed | set(added)):
                found.setdefault(count, set()).add(sizes_left(placed | set(added)))
    return found


def best_left(gpus, count):
    """The most that all GPUs together can offer afterwards, large ones first; None if there is no room at all."""
    found = [ways(gpu) for gpu in gpus]
    totals = [
        tuple(map(sum, zip(*parts, strict=True)))
        for counts in product(*found)
        if sum(counts) == count
        for parts in product(*(left[number] for left, number in zip(found, counts, strict=True)))
    ]
    return max(totals, default=None)


def asking(count):
    expression = f'device.attributes["gpu.example.com"].profile == "{SMALL}"'
    exactly = {
        "deviceClassName": "mig",
        "allocationMode": "ExactCount",
        "count": count,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return obj(
        "ResourceClaim", "small", {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}, namespace="default"
    )


def placed_on(gpus, names):
    """Partitions by GPU, from names of devices."""
    spelled = {f"mig-{name.replace('.', '-').replace('+', '-')}-{start}": (name, start) for name, start in PLACEMENTS}
    placed = [set() for _ in range(gpus)]
    for name in names:
        _, gpu, partition = name.split("-", 2)
        placed[int(gpu)].add(spelled[partition])
    return [frozenset(one) for one in placed]


def in_use(objects):
    for item in objects:
        for result in item.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ()):
            yield result["device"]


def after(objects, gpus, count, objective):
    """The GPUs before and after the claim, None for after if it cannot be had."""
    before = placed_on(gpus, in_use(objects))
    cluster = Cluster.build(read_manifests([[*objects, asking(count)]])[0])
    (unit,) = allocate(cluster, objective=objective).units
    if unit.outcome != Status.ALLOCATED:
        return before, None
    assert all(stage.proven for stage in unit.objective)
    taken = [result.device for _, made in unit.allocations for result in made.devices.results]
    return before, placed_on(gpus, [*in_use(objects), *taken])


def offered(gpus):
    return tuple(map(sum, zip(*map(sizes_left, gpus), strict=True)))


LAYOUTS = [
    (gpus, fullness, seed)
    for gpus, fullness, seeds in ((1, 0, 1), (1, 0.4, 3), (2, 0, 1), (2, 0.2, 4), (2, 0.4, 4), (2, 0.6, 3), (3, 0.5, 3))
    for seed in range(seeds)
]


@pytest.mark.parametrize("count", [2, 4, 7])
def test_small_partitions_leave_as_many_of_the_largest_as_possible(count):
    """Of each size, the largest first: how many are still on offer is the most that any way of placing leaves."""
    allocated = 0
    for gpus, fullness, seed in LAYOUTS:
        objects = mig_nodes(1, gpus, seed=seed, fullness=fullness)
        before, placed = after(objects, gpus, count, "fragmentation")
        best = best_left(before, count)
        assert (placed is None) == (best is None)
        if placed is not None:
            allocated += 1
            assert offered(placed) == best
    assert allocated >= 10


def test_seven_beside_a_gpu_that_is_empty_leave_it_whole():
    """One of two GPUs has room for six, and three have room for all: the empty one is opened only if it must be."""
    for gpus, whole in ((2, 0), (4, 1)):
        for seed in range(4):
            objects = [
                item
                for item in mig_nodes(1, gpus, seed=seed, fullness=0.3)
                if not any(device.startswith("gpu-0-") for device in in_use([item]))
            ]
            _, placed = after(objects, gpus, 7, "fragmentation")
            best = best_left(placed_on(gpus, in_use(objects)), 7)
            assert offered(placed)[0] == best[0] >= whole
