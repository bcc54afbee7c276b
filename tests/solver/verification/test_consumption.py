"""What units take of a capacity, as the planner and the verifier read it, each for itself."""

from fractions import Fraction
from random import Random

import pytest
from support.plan_building import (
    DRIVER,
    classes,
    cluster,
    device,
    entry,
    node,
    of,
    pod,
    published,
    template,
    to_buy,
    user,
)

from drasat.models.kubernetes.gates import gates_of
from drasat.models.workload.queue import read_queue
from drasat.solver.plan.build.weights import DeviceCapacities, parse_weight
from drasat.solver.verification.consumption import RequestedCapacities

SIZES = ("1", "3", "1500m", "2Gi", "2147483648", "80Gi")
MEMORY = f'device.capacity["{DRIVER}"].memory'
SELECTORS = (f'{MEMORY}.compareTo(quantity("2")) >= 0', "1 / 0 == 1", "device.nothing")
# A feature that shares devices may be off.
GATES = (None, {"DRAConsumableCapacity": False})


def random_device(random, name):
    """A device that may have the capacity, and be shared, perhaps with a policy."""
    capacity, shared = {"value": random.choice(SIZES)}, random.random() < 0.6
    if shared and random.random() < 0.5:
        capacity["requestPolicy"] = {"default": "1", "validRange": {"min": "1"}}
    found = {"capacity": {"memory": capacity}} if random.random() < 0.8 else {}
    return device(name, **found, **({"allowMultipleAllocations": True} if shared else {}))


def random_request(random):
    """A request of any class, with any selectors and amounts."""
    amounts = {"capacity": {"requests": {"memory": random.choice(SIZES)}}} if random.random() < 0.5 else {}
    selectors = [random.choice(SELECTORS)] if random.random() < 0.4 else []
    return of(random.choice((1, 1, 2)), random.choice(("gpu", "gpu", "none")), *selectors, **amounts)


def random_objects(random):
    """Pools, one with an older generation, a NodeTemplate that may be there, and pods with requests."""
    slices = [
        published(name, *(random_device(random, f"{name}-{number}") for number in range(2)), slice_name=f"{name}-{age}")
        for name, age in (("n1", 1), ("n2", 1), ("n2", 2))
    ]
    slices[-1]["spec"]["pool"]["generation"] = 2
    single, *others = (random_request(random) for _ in range(3))
    alternatives = [
        {"name": f"s{place}", **one["devices"]["requests"][0]["exactly"]} for place, one in enumerate(others)
    ]
    several = {"devices": {"requests": [{"name": "l", "firstAvailable": alternatives}]}}
    sold = to_buy("x", devices=0, slices=[{"driver": DRIVER, "devices": [random_device(random, "d")]}])
    asked = [template("one", single), template("any", several), user("a", spec="one"), user("b", spec="any")]
    return [*classes(), node("n1"), node("n2"), *slices, *([sold] if random.random() < 0.5 else []), *asked]


@pytest.mark.parametrize("gates", GATES, ids=["shared devices", "no shared devices"])
def test_planner_and_verifier_weigh_alike(gates):
    read, values = gates_of(gates), set()
    for seed in range(120):
        given = cluster(*random_objects(Random(seed)))
        weigh, _ = parse_weight("capacity:memory", DeviceCapacities(given, read))
        own = RequestedCapacities(given, read)
        for one in read_queue(given):
            assert own.of_unit(one.shape, "memory") == weigh(one.shape), seed
            values.add(weigh(one.shape))
    assert len(values) >= 10


@pytest.mark.parametrize(
    ("generation", "memory"), [(1, 10), (2, 40)], ids=["all are of one", "an older one has the smaller device"]
)
def test_devices_of_the_newest_generation_of_a_pool_count(generation, memory):
    sizes = {"a": "10", "b": "40"}
    small, large = (
        published("n1", device(name, capacity={"memory": {"value": size}}), slice_name=name, count=2)
        for name, size in sizes.items()
    )
    large["spec"]["pool"]["generation"] = generation
    given = cluster(*classes(), node("n1"), small, large, pod("p", entry("g", template="t")))
    [one] = read_queue(given)
    assert RequestedCapacities(given, gates_of(None)).of_unit(one.shape, "memory") == Fraction(memory)
    weigh, _ = parse_weight("capacity:memory", DeviceCapacities(given, gates_of(None)))
    assert weigh(one.shape) == memory


def test_devices_of_other_nodes_and_of_templates_count():
    there = published("n1", device("a", capacity={"memory": {"value": "40"}}))
    sold = to_buy(
        "x", devices=0, slices=[{"driver": DRIVER, "devices": [device("d", capacity={"memory": {"value": "9"}})]}]
    )
    given = cluster(*classes(), there, sold, user("p"))
    [one] = read_queue(given)
    assert RequestedCapacities(given, gates_of(None)).of_unit(one.shape, "memory") == 9
