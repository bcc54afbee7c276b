"""What the real Karpenter launches for the worked examples (karpenter-dra 5.1, its column for Karpenter)."""

from __future__ import annotations

from typing import Any

import pytest
from support.karpenter import (
    INSTANCE_TYPE,
    ZONE,
    claim,
    claim_spec,
    device_class,
    exactly,
    gpus,
    instance_type,
    is_in,
    node_pool,
    pod,
    template,
)

import drasat
from drasat.integrations.karpenter.simulation import ProvisioningRound, simulate_round
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.figures import scheduling_input

GPU, ONE = device_class(), template("one", claim_spec(exactly()))
SMALL, LARGE = instance_type("small", 1.0, gpus(1)), instance_type("large", 2.5, gpus(4))


def asked(karpenter: Any, *objects: dict[str, Any]) -> ProvisioningRound:
    cluster = drasat.load(list(objects))
    options: dict[str, Any] = {"cel_errors": "kube", "seed": 0, "namespace": None, "selector": ""}
    inputs = scheduling_input(cluster, gates=FeatureGates.all_on(), **options)
    return simulate_round(inputs.cluster, [one.unit for one in inputs.units], karpenter, 30)


def types(found: ProvisioningRound) -> list[str]:
    return sorted(node.instance_type for node in found.nodes)


def test_a_second_pod_makes_the_open_node_large(karpenter):
    """E1: two small nodes would cost 2.0."""
    found = asked(karpenter, node_pool(), GPU, ONE, SMALL, LARGE, pod("a", "one"), pod("b", "one"))
    assert (types(found), found.cost, found.unplaced) == (["large"], 2.5, {})


def test_three_pods_are_cheapest_on_the_large_node(karpenter):
    """E2."""
    pods = [pod(name, "one") for name in "abc"]
    assert asked(karpenter, node_pool(), GPU, ONE, SMALL, LARGE, *pods).cost == 2.5


def test_the_heavier_pool_is_tried_first_whatever_it_costs(karpenter):
    """E4."""
    pools = (
        node_pool("p1", is_in(INSTANCE_TYPE, "dear"), weight=10),
        node_pool("p2", is_in(INSTANCE_TYPE, "cheap"), weight=1),
    )
    dear, cheap = instance_type("dear", 3.0, gpus(1)), instance_type("cheap", 1.0, gpus(1))
    found = asked(karpenter, *pools, GPU, ONE, dear, cheap, pod("a", "one"))
    assert [(node.pool, node.instance_type, node.price) for node in found.nodes] == [("p1", "dear", 3.0)]


def test_shared_counters_bound_the_partitions_of_a_node(karpenter):
    """E5: claims of 40, 40 and 80 need two nodes of one GPU."""

    def partition(name: str, amount: int) -> dict[str, Any]:
        used = [{"counterSet": "gpu", "counters": {"memory": {"value": str(amount)}}}]
        return {"name": name, "attributes": {"size": {"int": amount}}, "consumesCounters": used}

    budget = {"name": "gpu", "counters": {"memory": {"value": "80"}}}
    mig = [
        {"driver": "gpu.example.com", "sharedCounters": [budget]},
        {"driver": "gpu.example.com", "devices": [partition("a", 40), partition("b", 40), partition("c", 80)]},
    ]

    def of_size(size: int) -> dict[str, Any]:
        expression = f'device.attributes["gpu.example.com"].size == {size}'
        return template(f"size-{size}", claim_spec(exactly(selectors=[{"cel": {"expression": expression}}])))

    pods = (pod("a", "size-40"), pod("b", "size-40"), pod("c", "size-80"))
    found = asked(karpenter, node_pool(), GPU, of_size(40), of_size(80), instance_type("mig", 1.0, *mig), *pods)
    assert (types(found), found.unplaced) == (["mig", "mig"], {})


def test_the_cheaper_alternative_is_launched(karpenter):
    """E6: each type has its own alternative, and the cheaper type is launched."""
    classes = (device_class("h100", "h.example.com"), device_class("a100", "a.example.com"))
    first = {
        "name": "r",
        "firstAvailable": [
            {"name": "best", "deviceClassName": "h100"},
            {"name": "next", "deviceClassName": "a100", "count": 2},
        ],
    }
    kinds = (instance_type("h", 8.0, gpus(1, "h.example.com")), instance_type("a", 3.0, gpus(2, "a.example.com")))
    found = asked(karpenter, node_pool(), *classes, template("any", claim_spec(first)), *kinds, pod("a", "any"))
    assert (types(found), found.cost) == (["a"], 3.0)


def test_a_device_of_a_zone_ties_the_new_node_to_it(karpenter):
    """E7."""
    selector = {"nodeSelectorTerms": [{"matchExpressions": [is_in(ZONE, "z1")]}]}
    pool = {"name": "fabric", "generation": 1, "resourceSliceCount": 1}
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "fabric"},
        "spec": {"driver": "net.example.com", "pool": pool, "nodeSelector": selector, "devices": [{"name": "port"}]},
    }
    found = asked(
        karpenter,
        node_pool(),
        device_class("net", "net.example.com"),
        template("port", claim_spec(exactly(device_class_name="net"))),
        published,
        instance_type("plain", 1.0, zones=("z1", "z2")),
        pod("a", "port"),
    )
    assert [node.zone for node in found.nodes] == ["z1"]


def test_all_takes_every_device_of_the_node(karpenter):
    """E8."""
    everything = template("all", claim_spec(exactly(allocationMode="All")))
    big = instance_type("big", 8.0, gpus(8))
    found = asked(karpenter, node_pool(), GPU, everything, big, pod("a", "all"), pod("b", "all"))
    assert types(found) == ["big", "big"]


def test_pods_that_share_a_claim_go_to_one_node(karpenter):
    """E9."""
    shared = claim("shared", claim_spec(exactly()))
    together = asked(karpenter, node_pool(), GPU, shared, SMALL, *(pod(name, "shared", shared=True) for name in "ab"))
    assert [node.pods for node in together.nodes] == [("default/a", "default/b")]
    greedy = [pod(name, "shared", shared=True, cpu="6") for name in "ab"]
    assert len(asked(karpenter, node_pool(), GPU, shared, SMALL, *greedy).unplaced) == 1


def test_a_claim_of_33_devices_is_refused(karpenter):
    """E10: drasat refuses the claim itself when it reads it; Karpenter is asked with validation left out."""
    many = template("many", claim_spec(exactly(count=33)))
    assert drasat.validate([many]).problems
    found = asked(karpenter, node_pool(), GPU, instance_type("huge", 9.0, gpus(40)), *_unchecked(many))
    assert list(found.unplaced) == ["default/a"]


def _unchecked(many: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Two requests that are 33 together, which only all of them show."""
    spec = claim_spec(exactly("r", count=17), exactly("s", count=16))
    return (template("many", spec), pod("a", "many"))


def test_a_limit_counts_the_largest_type(karpenter):
    """E11: pool limit of 96 CPUs, nodes of 48: at most two."""
    pools = node_pool(limits={"cpu": "96"})
    big = instance_type("big", 1.0, gpus(1), cpu="48")
    found = asked(karpenter, pools, GPU, ONE, big, *(pod(name, "one") for name in "abc"))
    assert (len(found.nodes), len(found.unplaced)) == (2, 1)


def test_an_overlay_makes_a_spot_offering_the_cheapest(karpenter):
    """E12."""
    offerings = [
        {"requirements": [is_in(ZONE, "z1"), is_in("karpenter.sh/capacity-type", kind)], "price": "0.60"}
        for kind in ("spot", "on-demand")
    ]
    known = [
        is_in(ZONE, "z1"),
        is_in("karpenter.sh/capacity-type", "spot", "on-demand"),
        is_in("kubernetes.io/arch", "amd64"),
        is_in("kubernetes.io/os", "linux"),
    ]
    c5 = instance_type("c5", 0.6, requirements=known, offerings=offerings)
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "spot"},
        "spec": {
            "requirements": [is_in(INSTANCE_TYPE, "c5"), is_in("karpenter.sh/capacity-type", "spot")],
            "price": "0.30",
        },
    }
    found = asked(karpenter, node_pool(), c5, instance_type("m5", 0.4), overlay, pod("a"))
    assert [(node.instance_type, node.capacity_type, node.price) for node in found.nodes] == [("c5", "spot", 0.3)]


@pytest.mark.parametrize(("bound", "nodes"), [(((0, 0), (1, 1)), 1), (((0, 0),), 2)])
def test_bound_attributes_align_devices_of_nodes_to_be(karpenter, bound, nodes):
    """E3: GPU and NIC with one PCIe root, which nobody knows before the node is there."""
    aligned = {"requests": [], "matchAttribute": "resource.kubernetes.io/pcieRoot"}
    spec = claim_spec(exactly("gpu"), exactly("nic", "nic"), constraints=[aligned])
    bindings = [
        {
            "attribute": "resource.kubernetes.io/pcieRoot",
            "devices": [
                {"driver": "gpu.example.com", "pool": "gpus", "device": f"gpu-{gpu}"},
                {"driver": "nic.example.com", "pool": "nics", "device": f"nic-{nic}"},
            ],
        }
        for gpu, nic in bound
    ]
    slices = ({**gpus(2), "pool": "gpus"}, {**gpus(2, "nic.example.com", "nic"), "pool": "nics"})
    found = asked(
        karpenter,
        node_pool(),
        GPU,
        device_class("nic", "nic.example.com"),
        template("pair", spec),
        instance_type("two", 1.0, *slices, attributeBindings=bindings),
        pod("a", "pair"),
        pod("b", "pair"),
    )
    assert (len(found.nodes), found.unplaced) == (nodes, {})
