"""Pools as a node sees them."""

import msgspec
import pytest
from support.gates import ALL
from support.model_objects import consumes, counter_set, devices, label_selector, node, resource_slice

from drasat.models.cluster.pools import PoolIndex
from drasat.models.kubernetes.claims import DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.slices import Device

PLAIN = ALL.with_({"DRAPartitionableDevices": False})
STABLE = FeatureGates(frozenset({"DRAPartitionableDevices"}))
N1, N2 = node("n1", {"zone": "a"}), node("n2", {"zone": "b"})


def see(slices, there=N1, gates=ALL, rules=()):
    return PoolIndex(slices, gates, rules).pools_for(there)


def names(pool):
    return [member.device.name for member in pool.devices]


def test_a_pool_of_two_slices_on_one_node():
    slices = [
        resource_slice("b", count=2, devices=devices("d2", "d1")),
        resource_slice("a", count=2, devices=devices("d9")),
    ]
    (pool,) = see(slices)
    assert (pool.id, pool.status, pool.generation) == (("gpu.example.com", "p"), "complete", 1)
    assert names(pool) == ["d9", "d2", "d1"]
    assert pool.devices[0].id == ("gpu.example.com", "p", "d9")
    assert pool.devices[1].driver == "gpu.example.com"
    assert pool.devices[1].slice is slices[0]


@pytest.mark.parametrize(
    "fields", [{"node_name": "n1"}, {"all_nodes": True}, {"node_selector": label_selector("zone", "a")}]
)
def test_a_slice_counts_where_its_selection_holds(fields):
    """POOL-1, NODE-1."""
    assert len(see([resource_slice("s", devices=devices("d"), **fields)])) == 1


def test_a_slice_without_any_selection_is_ignored():
    """POOL-1."""
    assert see([resource_slice("s", node_name=None, devices=devices("d"))]) == ()


PER_DEVICE = resource_slice(
    "s",
    per_device_node_selection=True,
    devices=[Device(name="d1", node_name="n1"), Device(name="d2", node_name="n2"), Device(name="d3", all_nodes=True)],
)


def test_devices_for_other_nodes_stay_in_the_order():
    """POOL-1, DEV-4."""
    (pool,) = see([PER_DEVICE])
    assert [(member.device.name, member.reachable) for member in pool.devices] == [
        ("d1", True),
        ("d2", False),
        ("d3", True),
    ]


@pytest.mark.parametrize(
    "fields", [{"per_device_node_selection": True}, {"shared_counters": (counter_set("c", x="1"),)}]
)
def test_partitioning_slices_do_not_exist_with_the_gate_off(fields):
    """POOL-2: not for the slices of the node."""
    other = {"devices": [Device(name="d", all_nodes=True)]} if "per_device_node_selection" in fields else {}
    slices = [
        resource_slice("a", devices=devices("x")),
        resource_slice("b", **({"node_name": "n1"} if not other else {}), **fields, **other),
    ]
    assert [pool.status for pool in see(slices, gates=PLAIN)] == ["complete"]
    assert [pool.status for pool in see(slices)] == ["incomplete"]


def test_partitioning_slices_count_where_the_whole_pool_is_counted():
    """POOL-2, POOL-6: as the scheduler does it, for the number of slices and for newer generations."""
    slices = [
        resource_slice("a", count=2, devices=devices("x")),
        resource_slice("b", count=2, node_name="n2", shared_counters=(counter_set("c", x="1"),)),
    ]
    assert [pool.status for pool in see(slices, gates=PLAIN)] == ["complete"]
    newer = resource_slice("c", generation=2, node_name="n2", shared_counters=(counter_set("c", x="1"),))
    assert see([*slices[:1], newer], gates=PLAIN) == ()


@pytest.mark.parametrize(("on", "seen"), [(True, ["p", "q"]), (False, ["q"])])
def test_slices_with_compatibility_groups_are_ignored_with_the_gate_off(on, seen):
    """GRP-5: as the scheduler does it, a single device that declares groups is enough."""
    (consumed,) = consumes("c", x="1")
    grouped = devices("d", consumes_counters=(msgspec.structs.replace(consumed, compatibility_groups=("g",)),))
    slices = [
        resource_slice("a", devices=(*grouped, *devices("e"))),
        resource_slice("b", pool="q", devices=devices("f")),
    ]
    pools = see(slices, gates=ALL.with_({"DRADeviceCompatibilityGroups": on}))
    assert [pool.name for pool in pools] == seen


def test_slices_with_compatibility_groups_do_not_even_count():
    """GRP-5, POOL-6: not where those that partition count, either."""
    off = ALL.with_({"DRADeviceCompatibilityGroups": False, "DRAPartitionableDevices": False})
    (consumed,) = consumes("c", x="1")
    grouped = msgspec.structs.replace(consumed, compatibility_groups=("g",))
    plain, other = resource_slice("a", count=2, devices=devices("x")), {"count": 2, "per_device_node_selection": True}
    assert [pool.status for pool in see([plain, resource_slice("b", **other)], gates=off)] == ["complete"]
    both = [plain, resource_slice("b", devices=devices("y", consumes_counters=(grouped,)), **other)]
    assert [pool.status for pool in see(both, gates=off)] == ["incomplete"]


def counters_on(there, **fields):
    return resource_slice("c", node_name=there, shared_counters=(counter_set("c", x="1"),), **fields)


@pytest.mark.parametrize(
    ("device_count", "counters", "usual", "stable"),
    [
        (2, counters_on("n2", count=2), ["complete"], ["complete"]),
        (1, counters_on("n2"), ["complete"], ["incomplete"]),
        (2, counters_on("n2", count=2, generation=2), [], ["incomplete"]),
    ],
    ids=["POOL-6 counted", "POOL-4 one-too-many", "POOL-5 newer"],
)
def test_counter_sets_are_everywhere_in_the_stable_variant(device_count, counters, usual, stable):
    """POOL-4, POOL-5: as the real allocator has it."""
    slices = [resource_slice("a", count=device_count, devices=devices("x")), counters]
    assert [pool.status for pool in see(slices)] == usual
    assert [pool.status for pool in see(slices, gates=STABLE)] == stable


def test_an_empty_list_of_counter_sets_is_no_partitioning():
    """POOL-2."""
    assert len(see([resource_slice("a", shared_counters=(), devices=devices("x"))], gates=PLAIN)) == 1


def test_older_generation_is_dropped():
    """POOL-3."""
    slices = [
        resource_slice("old", generation=1, devices=devices("a")),
        resource_slice("new", generation=2, devices=devices("b")),
    ]
    (pool,) = see(slices)
    assert (pool.generation, names(pool)) == (2, ["b"])


@pytest.mark.parametrize(("count", "status"), [(1, "incomplete"), (2, "complete"), (3, "incomplete")])
def test_the_number_of_slices_must_be_equal(count, status):
    """POOL-4: too many slices is as incomplete as too few."""
    slices = [resource_slice(name, count=count, devices=devices(name)) for name in "ab"]
    (pool,) = see(slices)
    assert pool.status == status
    assert bool(pool.devices) == (status == "complete")


@pytest.mark.parametrize(
    ("local", "shared", "status", "other"), [(2, 1, "complete", "incomplete"), (1, 2, "incomplete", "complete")]
)
def test_slices_that_disagree_about_their_number(local, shared, status, other):
    """POOL-4: a slice with a node name is asked first, then the first by name; in the stable variant all are alike."""
    slices = [
        resource_slice("a", count=shared, all_nodes=True, devices=devices("a")),
        resource_slice("b", count=local, devices=devices("b")),
    ]
    assert [pool.status for pool in see(slices)] == [status]
    assert [pool.status for pool in see(slices, gates=STABLE)] == [other]


def test_surplus_slices_elsewhere_do_not_matter():
    """POOL-4: with as many slices as declared, the cluster is not consulted."""
    slices = [
        resource_slice("a", devices=devices("a")),
        resource_slice("b", node_name="n2", devices=devices("b", consumes_counters=consumes("nope", x="1"))),
    ]
    assert [(pool.status, names(pool)) for pool in see(slices)] == [("complete", ["a"])]


def test_a_pool_with_a_newer_generation_elsewhere_vanishes():
    """POOL-5."""
    slices = [
        resource_slice("a", count=2, generation=1, devices=devices("a")),
        resource_slice("b", generation=2, node_name="n2", devices=devices("b")),
    ]
    assert see(slices) == ()


def test_slices_on_other_nodes_complete_a_pool():
    """POOL-6."""
    slices = [
        resource_slice("a", count=2, devices=devices("a")),
        resource_slice("b", count=2, node_name="n2", devices=devices("b")),
    ]
    (pool,) = see(slices)
    assert (pool.status, names(pool)) == ("complete", ["a"])


def test_an_incomplete_pool_has_no_devices():
    """POOL-6."""
    (pool,) = see([resource_slice("a", count=2, generation=7, devices=devices("a"))])
    assert (pool.status, pool.devices, pool.generation) == ("incomplete", (), 7)
    assert pool.reason == "generation 7 has 1 slices and declares 2"


def test_an_old_generation_that_adds_up_stays_in_use():
    """POOL-7."""
    slices = [
        resource_slice("a", generation=1, devices=devices("a")),
        resource_slice("b", generation=2, node_name="n2", devices=devices("b")),
    ]
    (pool,) = see(slices)
    assert (pool.generation, names(pool)) == (1, ["a"])


SHARED = [
    resource_slice("a", count=3, devices=devices("a", consumes_counters=consumes("c", x="1"))),
    resource_slice("b", count=3, node_name="n2", devices=devices("b", consumes_counters=consumes("c", x="1"))),
    resource_slice("c", count=3, node_name="n3", shared_counters=(counter_set("c", x="2"),)),
]


def test_counters_and_consumers_of_other_nodes_are_remembered():
    """POOL-8."""
    (pool,) = see(SHARED)
    assert [counters.name for counters in pool.counter_sets] == ["c"]
    assert [member.id for member in pool.other_devices] == [("gpu.example.com", "p", "b")]
    assert names(pool) == ["a"]


def test_other_devices_matter_for_counters_only():
    """POOL-8."""
    slices = [
        resource_slice("a", count=2, devices=devices("a")),
        resource_slice("b", count=2, node_name="n2", devices=devices("b")),
    ]
    (pool,) = see(slices)
    assert pool.other_devices == ()


@pytest.mark.parametrize(
    ("slices", "reason"),
    [
        ([resource_slice(name, count=2, devices=devices("same")) for name in "ab"], "duplicate device same"),
        (
            [resource_slice(name, count=2, shared_counters=(counter_set("c", x="1"),)) for name in "ab"],
            "duplicate counter set c",
        ),
        (
            [resource_slice("a", devices=devices("d", consumes_counters=consumes("nope", x="1")))],
            "device d consumes from unknown counter set nope",
        ),
        (
            [
                resource_slice("a", count=2, devices=devices("d", consumes_counters=consumes("c", y="1"))),
                resource_slice("b", count=2, shared_counters=(counter_set("c", x="1"),)),
            ],
            "device d consumes unknown counter y of set c",
        ),
        (
            [
                resource_slice("a", count=2, devices=devices("d")),
                resource_slice(
                    "b", count=2, node_name="n2", devices=devices("e", consumes_counters=consumes("nope", x="1"))
                ),
            ],
            "device e consumes from unknown counter set nope",
        ),
    ],
    ids=["duplicate device", "duplicate set", "unknown set", "unknown counter", "unknown set on another node"],
)
def test_invalid_pools(slices, reason):
    """POOL-9."""
    (pool,) = see(slices)
    assert (pool.status, pool.reason, pool.devices) == ("invalid", reason, ())


def test_duplicates_on_other_nodes_are_not_looked_at():
    """POOL-9."""
    slices = [resource_slice(f"s-{name}", count=2, node_name=name, devices=devices("same")) for name in ("n1", "n2")]
    assert [pool.status for pool in see(slices)] == ["complete"]


def test_counters_are_not_checked_with_the_gate_off():
    """POOL-9."""
    slices = [resource_slice("a", devices=devices("d", consumes_counters=consumes("nope", x="1")))]
    assert [pool.status for pool in see(slices, gates=PLAIN)] == ["complete"]


def test_counter_sets_of_another_pool_are_not_visible():
    """POOL-10."""
    slices = [
        resource_slice("a", pool="p", devices=devices("d", consumes_counters=consumes("c", x="1"))),
        resource_slice("b", pool="q", shared_counters=(counter_set("c", x="1"),)),
    ]
    assert [(pool.name, pool.status) for pool in see(slices)] == [("p", "invalid"), ("q", "complete")]


def test_pools_are_ordered_by_driver_then_name_and_binding_pools_come_last():
    """POOL-11."""
    binding = (*devices("plain"), Device(name="binding", binding_conditions=("ready",)))
    slices = [
        resource_slice("1", driver="b", pool="a", devices=devices("d")),
        resource_slice("2", driver="a", pool="z", devices=binding),
        resource_slice("3", driver="a", pool="y", devices=devices("d")),
        resource_slice("4", driver="a", pool="x", count=2, devices=binding),
        resource_slice("5", driver="b", pool="0", devices=binding),
        resource_slice("6", driver="a", pool="w", devices=[Device(name="d", binding_conditions=())]),
    ]
    pools = see(slices)
    assert [pool.id for pool in pools] == [("a", "x"), ("a", "y"), ("b", "a"), ("a", "w"), ("a", "z"), ("b", "0")]
    assert [pool.binds for pool in pools] == [False, False, False, True, True, True]
    assert names(pools[4]) == ["plain", "binding"]


def test_binding_devices_of_other_nodes_do_not_reorder():
    """POOL-11: only node-relevant devices count."""
    slices = [
        resource_slice("a", pool="a", count=2, devices=devices("d")),
        resource_slice("b", pool="a", count=2, node_name="n2", devices=devices("e", binding_conditions=("ready",))),
        resource_slice("c", pool="b", devices=devices("d")),
    ]
    assert [pool.name for pool in see(slices)] == ["a", "b"]


def test_slices_sort_by_bytes_of_their_name():
    """POOL-11."""
    slices = [resource_slice(name, count=4, devices=devices(f"d-{name}")) for name in ("a10", "a2", "a-1", "a.b")]
    (pool,) = see(slices)
    assert names(pool) == ["d-a-1", "d-a.b", "d-a10", "d-a2"]


@pytest.mark.parametrize("gates", [ALL, FeatureGates(frozenset({"DRAPartitionableDevices"}))], ids=lambda g: g.variant)
def test_the_order_given_does_not_matter(gates):
    """POOL-12: the stable variant's random order is not imitated."""
    slices = [resource_slice(name, pool=name[0], count=2, devices=devices(name)) for name in ("b2", "a1", "b1", "a2")]
    orders = [[names(pool) for pool in see(given, gates=gates)] for given in (slices, slices[::-1])]
    assert orders == [[["a1", "a2"], ["b1", "b2"]]] * 2


def test_a_pool_without_relevant_slices_does_not_exist():
    """POOL-14."""
    slices = [resource_slice("a", node_name="n2", count=2, devices=devices("d"))]
    assert see(slices) == ()
    assert [pool.status for pool in see(slices, N2)] == ["incomplete"]


def test_pools_with_equal_names_of_two_drivers_are_two():
    slices = [resource_slice(driver, driver=driver, pool="n1", devices=devices("d")) for driver in ("x", "y")]
    assert [pool.id for pool in see(slices)] == [("x", "n1"), ("y", "n1")]


def test_an_empty_slice_makes_an_empty_pool():
    """SLC-3."""
    (pool,) = see([resource_slice("a")])
    assert (pool.status, pool.devices) == ("complete", ())


def test_nodes_that_see_the_same_share_the_pool():
    index = PoolIndex([resource_slice("a", all_nodes=True, devices=devices("d"))], ALL)
    assert index.pools_for(N1)[0] is index.pools_for(N2)[0]


def test_per_device_pools_are_shared_by_what_is_reachable():
    index = PoolIndex([PER_DEVICE], ALL)
    seen = {name: index.pools_for(node(name))[0] for name in ("n1", "n2", "n3", "n4")}
    assert seen["n3"] is seen["n4"]
    assert len({id(pool) for pool in seen.values()}) == 3


def test_a_changed_node_of_the_same_name_is_asked_again():
    index = PoolIndex([resource_slice("a", node_selector=label_selector("zone", "a"), devices=devices("d"))], ALL)
    assert len(index.pools_for(N1)) == 1
    assert index.pools_for(node("n1", {"zone": "b"})) == ()
    assert len(index.pools_for(N1)) == 1


def rule(**selected):
    taint = DeviceTaint(key="rule", effect="NoSchedule")
    spec = DeviceTaintRuleSpec(device_selector=DeviceTaintSelector(**selected), taint=taint)
    return DeviceTaintRule(metadata=ObjectMeta(name="r"), spec=spec)


def test_taints_of_rules_are_on_the_devices():
    """TNT-5, IN-1."""
    slices = [resource_slice("a", devices=devices("d1", "d2"))]
    (pool,) = see(slices, rules=[rule(device="d2")])
    assert [member.device.taints and member.device.taints[0].key for member in pool.devices] == [None, "rule"]
    (pool,) = see(slices, gates=ALL.with_({"DRADeviceTaintRules": False}), rules=[rule(device="d2")])
    assert [member.device.taints for member in pool.devices] == [None, None]


def test_inputs_are_left_alone():
    """IN-5."""
    slices = (resource_slice("b", devices=devices("d1")), resource_slice("a", pool="q", devices=devices("d2")))
    see(slices, rules=[rule()])
    assert [slice_.metadata.name for slice_ in slices] == ["b", "a"]
    assert slices[0].spec.devices[0].taints is None
