"""What Karpenter could launch, bought at least cost: the worked examples of karpenter-dra 5.1, and rules R1 to R21."""

from __future__ import annotations

import pytest
from support.pools import (
    KIND,
    ZONE,
    asking,
    buying,
    claim,
    cost,
    devices,
    machine,
    node_pool,
    nodes_bought,
    offering,
    requesting,
    requirement,
    waiting,
)

SMALL = machine("small", offering("1.0"), slices=[devices("g0")])
LARGE = machine("large", offering("2.5"), slices=[devices("g0", "g1", "g2", "g3")])
PCIE = "resource.k8s.io/pcieRoot"
ALIGNED = [{"requests": ["g", "n"], "matchAttribute": PCIE}]
GPU_AND_NIC = (requesting("gpu", name="g"), requesting("nic", name="n"))


def bound(*pairs: tuple[str, ...]) -> list[dict[str, object]]:
    """Bindings of devices, each by its name; the letter says of which driver."""
    drivers = {"g": "gpu.example.com", "n": "nic.example.com"}
    return [
        {"devices": [{"driver": drivers[name[0]], "device": name} for name in pair], "attribute": PCIE}
        for pair in pairs
    ]


def two_of_each(name: str, price: str, *pairs: tuple[str, ...]) -> dict[str, object]:
    slices = [devices("g0", "g1"), devices("n0", "n1", driver="nic")]
    return machine(name, offering(price), slices=slices, attributeBindings=bound(*pairs))


def test_e1_two_small_nodes_are_cheaper_than_a_large_one():
    result = buying(node_pool(), SMALL, LARGE, asking(2, requesting()))
    assert (nodes_bought(result), cost(result), result.outcome) == ({"small": 2}, 2, "Optimal")


def test_e2_one_large_node_is_cheaper_than_three_small_ones():
    result = buying(node_pool(), SMALL, LARGE, asking(3, requesting()))
    assert (nodes_bought(result), cost(result), result.outcome) == ({"large": 1}, 2.5, "Optimal")


def test_e3_bound_devices_serve_a_match_and_others_do_not():
    """R10: a group of bound devices has one value; a device without a binding has none."""
    pods = asking(2, *GPU_AND_NIC, constraints=ALIGNED)
    both = two_of_each("both", "2.0", ("g0", "n0"), ("g1", "n1"))
    one = two_of_each("one", "1.5", ("g0", "n0"))
    assert nodes_bought(buying(node_pool(), one, pods)) == {"one": 2}
    result = buying(node_pool(), both, one, pods)
    assert (nodes_bought(result), result.outcome) == ({"both": 1}, "Optimal")


def test_e4_the_price_decides_between_pools_and_not_the_weight():
    first = node_pool("p1", requirement("node.kubernetes.io/instance-type", "dear"), weight=10)
    second = node_pool("p2", requirement("node.kubernetes.io/instance-type", "cheap"), weight=1)
    dear, cheap = machine("dear", offering("3.0")), machine("cheap", offering("1.0"))
    result = buying(first, second, dear, cheap, waiting("pod"))
    assert [(one.pool, one.instance_type) for one in result.document.bought] == [("p2", "cheap")]


def test_e5_partitions_share_the_counters_of_their_node():
    """R12: 40 + 40, or 80, of a budget of 80."""
    partitions = [
        {
            "name": name,
            "attributes": {"memory": {"int": memory}},
            "consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": str(memory)}}}],
        }
        for name, memory in (("half-0", 40), ("half-1", 40), ("whole", 80))
    ]
    counters = [{"name": "gpu-0", "counters": {"memory": {"value": "80"}}}]
    sliced = {"driver": "gpu.example.com", "devices": partitions, "sharedCounters": counters}
    kind = machine("one-gpu", offering("1.0"), slices=[sliced])
    claims = []
    for number, memory in enumerate((40, 40, 80)):
        selector = {"cel": {"expression": f"device.attributes['gpu.example.com'].memory == {memory}"}}
        claims += [claim(f"c{number}", requesting(selectors=[selector])), waiting(f"p{number}", f"c{number}")]
    result = buying(node_pool(), kind, claims)
    assert (result.placed, nodes_bought(result), result.outcome) == (3, {"one-gpu": 2}, "Optimal")


@pytest.mark.parametrize(("alternatives", "kind", "price"), [("in-order", "h", 8), ("any", "a", 3)])
def test_e6_the_order_of_alternatives_or_the_cost_counts_more(alternatives, kind, price):
    """R9."""
    h100 = machine("h", offering("8.0"), slices=[devices("g0", attributes={"model": {"string": "h100"}})])
    a100 = machine("a", offering("3.0"), slices=[devices("g0", "g1", attributes={"model": {"string": "a100"}})])
    options = [
        {
            "name": model,
            "deviceClassName": "gpu",
            "count": count,
            "selectors": [{"cel": {"expression": f"device.attributes['gpu.example.com'].model == '{model}'"}}],
        }
        for model, count in (("h100", 1), ("a100", 2))
    ]
    pods = [claim("c", {"name": "r", "firstAvailable": options}), waiting("p", "c")]
    result = buying(node_pool(), h100, a100, pods, alternatives=alternatives)
    assert (nodes_bought(result), cost(result), result.outcome) == ({kind: 1}, price, "Optimal")


def test_e7_a_free_device_of_the_cluster_binds_the_zone():
    """R6: it is used from z1 alone, though z2 is cheaper."""
    network = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "attached"},
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": "attached", "generation": 1, "resourceSliceCount": 1},
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement(ZONE, "z1")]}]},
            "devices": [{"name": "d0"}],
        },
    }
    kind = machine("plain", offering("2.0", "z1"), offering("1.0", "z2"))
    result = buying(node_pool(), kind, network, asking(1, requesting()), only_new=True)
    assert [(one.zone, one.price) for one in result.document.bought] == [("z1", 2)]
    assert result.placed == 1


def test_e8_all_devices_of_a_node_go_to_one_claim():
    """R8."""
    kind = machine("eight", offering("5.0"), slices=[devices(*(f"g{number}" for number in range(8)))])
    every = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
    result = buying(node_pool(), kind, asking(2, every))
    assert (result.placed, nodes_bought(result)) == (2, {"eight": 2})
    taken = [len(one.claims[0].allocation.devices.results) for one in result.units]
    assert taken == [8, 8]


@pytest.mark.parametrize(("cpu", "placed"), [("4", 2), ("5", 1)])
def test_e9_pods_that_share_a_claim_go_to_one_node(cpu, placed):
    """R14: the devices of a node to be are of that node alone, and without room there one of the pods stays."""
    kind = machine("one-gpu", offering("1.0"), slices=[devices("g0")])
    result = buying(node_pool(), kind, claim("c", requesting()), *(waiting(f"p{n}", "c", cpu=cpu) for n in range(2)))
    assert (result.placed, nodes_bought(result)) == (placed, {"one-gpu": 1})
    assert result.outcome == ("Optimal" if placed == 2 else "Infeasible")


def test_e10_a_claim_for_more_than_32_devices_is_refused():
    many = machine("many", offering("1.0"), slices=[devices(*(f"g{number}" for number in range(40)))])
    assert buying(node_pool(), many, asking(1, requesting(count=32))).placed == 1
    result = buying(node_pool(), many, asking(1, requesting(count=33)))
    assert (result.placed, result.outcome, nodes_bought(result)) == (0, "Infeasible", {})
    assert "adding 33 devices exceeds the claim limit of 32" in "".join(result.reasons())


def test_e11_the_limit_of_a_pool_allows_two_nodes_of_48_cpus():
    """R16: also for those that are there, and for those that only have a claim yet."""
    kind = machine("big", offering("1.0"), cpu="48")
    pods = [waiting(f"p{number}", cpu="40") for number in range(3)]
    result = buying(node_pool(limits={"cpu": "96"}), kind, pods)
    assert (result.placed, nodes_bought(result), result.outcome) == (2, {"big": 2}, "Infeasible")


def test_e12_the_spot_price_that_an_overlay_sets_is_the_cheapest():
    """R1."""
    m5 = machine("m5", offering("0.40"), offering("0.40", kind="spot"))
    c5 = machine("c5", offering("0.60"), offering("0.60", kind="spot"))
    cheaper = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "cheaper"},
        "spec": {
            "requirements": [requirement("node.kubernetes.io/instance-type", "c5"), requirement(KIND, "spot")],
            "price": "0.30",
        },
    }
    (one,) = buying(node_pool(), m5, c5, cheaper, waiting("p")).document.bought
    assert (one.instance_type, one.capacity_type, one.price, one.overlay) == ("c5", "spot", 0.3, "cheaper")
    on_demand = node_pool("general", requirement(KIND, "on-demand"))
    (one,) = buying(on_demand, m5, c5, cheaper, waiting("p")).document.bought
    assert (one.instance_type, one.price, one.overlay) == ("m5", 0.4, "")


def test_pools_without_any_offering_place_nothing():
    """R2: a reservation without room, and one that is not available."""
    kinds = [
        machine("gone", offering("1.0", available=False)),
        machine("full", offering("1.0", kind="reserved", reservationCapacity=0)),
    ]
    result = buying(node_pool(), *kinds, waiting("p"))
    assert (result.placed, result.outcome, result.document.bought) == (0, "Infeasible", ())


def device_overlay(name: str, driver: str, *names: str) -> dict[str, object]:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {
            "weight": 1,
            "requirements": [requirement("node.kubernetes.io/instance-type", "plain")],
            "dynamicResources": {"resourceSliceTemplates": [devices(*names, driver=driver)]},
        },
    }


def test_e13_overlays_of_two_drivers_both_give_devices_and_of_one_driver_the_first_alone():
    """2.4: the one whose name is the lower meets the other and is dropped."""
    plain, pods = machine("plain", offering("1.0")), asking(1, *GPU_AND_NIC)
    result = buying(node_pool(), plain, device_overlay("a", "gpu", "g0"), device_overlay("b", "nic", "n0"), pods)
    assert (result.placed, nodes_bought(result)) == (1, {"plain": 1})
    same = [device_overlay("a", "gpu", "g0", "g1"), device_overlay("b", "gpu", "g0")]
    result = buying(node_pool(), plain, *same, asking(2, requesting()))
    assert nodes_bought(result) == {"plain": 2}
    assert "NodeOverlay a does not count: conflict with another overlay" in result.document.notices


def test_every_pod_has_one_place():
    """R3: pods with and without claims, on nodes that are there and on new ones."""
    there = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "there", "labels": {ZONE: "z1"}},
        "status": {"allocatable": {"cpu": "2", "pods": "10"}},
    }
    kind = machine("m", offering("1.0"), slices=[devices("g0", "g1")])
    others = [waiting(f"plain-{number}", cpu="2") for number in range(3)]
    result = buying(node_pool(), kind, there, asking(3, requesting()), others)
    homes = [(unit.name, unit.node) for unit in result.units]
    assert (len(homes), len(dict(homes))) == (6, 6)
    assert result.outcome == "Optimal"
    assert {node for _, node in homes} <= {"there", *(one.name for one in result.document.nodes if one.new)}


def test_requests_have_distinct_devices():
    """R7: so many of each request, and a device that is not shared serves one request of all claims."""
    kind = machine("m", offering("1.0"), slices=[devices("g0", "g1", "g2")])
    both = (requesting(count=2, name="r"), requesting(name="s"))
    result = buying(node_pool(), kind, asking(2, *both))
    assert nodes_bought(result) == {"m": 2}
    taken = [
        (made.pool, made.device)
        for unit in result.units
        for one in unit.claims
        for made in one.allocation.devices.results
    ]
    assert (len(taken), len(set(taken))) == (6, 6)
    assert buying(node_pool(), kind, asking(1, requesting(count=4))).placed == 0


@pytest.mark.parametrize(("amount", "nodes"), [("1", 1), ("3", 1), ("5", 2), (None, 1), ("11", 0)])
def test_shared_devices_give_capacity_in_steps(amount, nodes):
    """R13: the amounts of two pods, rounded up to 2, 4, 6; the default is 2. At most 10 at once."""
    policy = {"default": "2", "validRange": {"min": "2", "step": "2", "max": "10"}}
    link = {"allowMultipleAllocations": True, "capacity": {"bandwidth": {"value": "10", "requestPolicy": policy}}}
    kind = machine("m", offering("1.0"), slices=[devices("g0", **link)])
    wanted = {"capacity": {"requests": {"bandwidth": amount}}} if amount else {}
    result = buying(node_pool(), kind, asking(2, requesting(**wanted)))
    assert sum(nodes_bought(result).values()) == nodes
    assert result.placed == (2 if nodes else 0)


def test_a_claim_has_at_most_256_consumers():
    """R14: those that it has count, and a pod that is one of them takes no further room."""
    kind = machine("m", offering("1.0"), slices=[devices("g0")], cpu="400")
    kind["spec"]["capacity"]["pods"] = "400"
    shared = claim("c", requesting())
    consumers = [{"resource": "pods", "name": name, "uid": name} for name in ("p0", *(f"other-{n}" for n in range(99)))]
    shared["status"] = {"reservedFor": consumers}
    result = buying(node_pool(), kind, shared, [waiting(f"p{number}", "c") for number in range(160)])
    assert (result.placed, nodes_bought(result)) == (157, {"m": 1})
    (refused,) = {reason.message for unit in result.units for reason in unit.reasons}
    assert refused == "the claim has 256 consumers, and no room for another one"
