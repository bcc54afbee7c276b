"""Nodes that reach the same devices or counters: what fits on all of them together."""

from support.capacity import KIND, exactly
from support.objects import after, claim, device, device_class, devices, draws, labels, node, partitions, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.cluster.pools import INCOMPLETE, PoolIndex, merge_pool_views
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.capacity.capacity import capacity
from drasat.solver.engines.copies import connected_groups


def ask(*objects, **options):
    return capacity(Cluster.of([*objects, device_class()]), **options)


def local(name, *members):
    return pool(*members, name=name, node_name=name, slice_name=name)


def everywhere(*members, name="net", **fields):
    return pool(*members, name=name, all_nodes=True, **fields)


NODES = (node("n1"), node("n2"), node("n3"))


def test_what_all_nodes_reach_is_there_once():
    found = ask(everywhere(*devices(*"abcd")), *NODES, claim(want()))
    assert found.total == exactly(4)
    assert [(one.nodes, one.room) for one in found.nodes] == [(("n1", "n2", "n3"), exactly(4))]
    assert [one.nodes for one in found.shared] == [("n1", "n2", "n3")]


def test_own_and_shared_devices_of_a_copy():
    gpus = [local(name, *devices(*"abcd", kind="gpu")) for name in ("n1", "n2", "n3")]
    nics = everywhere(*devices(*"123456", kind="nic"), driver="n.x")
    asked = claim(want("gpu", select="device.driver == 'd.x'"), want("nic", select="device.driver == 'n.x'"))
    found = ask(*gpus, nics, *NODES, asked)
    assert [one.room.fits for one in found.nodes] == [4]
    assert found.total == exactly(6)


def test_own_devices_do_not_add_up_beyond_what_is_shared():
    gpus = [local("n1", *devices("a", kind="gpu")), local("n2", *devices("a", kind="gpu"))]
    nics = everywhere(*devices(*"123456", kind="nic"), driver="n.x")
    asked = claim(want("gpu", select="device.driver == 'd.x'"), want("nic", select="device.driver == 'n.x'"))
    assert ask(*gpus, nics, *NODES[:2], asked).total == exactly(2)


def test_a_shared_pool_that_copies_do_not_touch_ties_nothing():
    gpus = [local(name, *devices("a", kind="gpu")) for name in ("n1", "n2", "n3")]
    found = ask(*gpus, everywhere(*devices("x"), driver="n.x"), *NODES, claim(want(select="device.driver == 'd.x'")))
    assert found.total == exactly(3)
    assert found.shared == ()


def test_counters_of_a_pool_over_several_nodes():
    members = [device(f"p{number}", draws("s", slices=2), node_name=f"n{number % 3 + 1}") for number in range(9)]
    sliced = partitions(*members, sets={"s": {"slices": 11}}, name="p", per_device_node_selection=True)
    found = ask(*sliced, *NODES, claim(want()))
    assert [one.room.fits for one in found.nodes] == [3]
    assert found.total == exactly(5)


def test_counters_in_use_elsewhere_are_counted_once():
    members = [device(f"p{number}", draws("s", slices=2), node_name=f"n{number % 3 + 1}") for number in range(9)]
    sliced = partitions(*members, sets={"s": {"slices": 11}}, name="p", per_device_node_selection=True)
    held = after(*sliced, claim(want(), name="held"))
    assert ask(*sliced, *NODES, *held, claim(want())).total == exactly(4)


def test_nodes_that_reach_the_same_by_way_of_a_third():
    zones = [
        pool(*devices("a", "b"), name=f"z{number}", node_selector=labels({"zone": values}), slice_name=f"z{number}")
        for number, values in enumerate((("x", "y"), ("y", "z")))
    ]
    nodes = [node(f"n-{zone}", zone=zone) for zone in "xyz"]
    found = ask(*zones, *nodes, claim(want()))
    assert found.total == exactly(4)
    assert [one.nodes for one in found.shared] == [("n-x", "n-y", "n-z")]
    assert {one.nodes: one.room.fits for one in found.nodes} == {("n-y",): 4, ("n-x", "n-z"): 2}


def test_first_fit_over_nodes_takes_what_only_other_nodes_need():
    # Two slots a node; n1 has devices of its own, but the search meets the shared ones first, which n2 needs.
    shared = everywhere(*devices("s", "t", kind="d"), name="a")
    own = pool(*devices("o", "p", kind="d"), name="b", node_name="n1", slice_name="b")
    slots = [pool(*devices("1", "2", kind="slot"), name=f"slots-{name}", node_name=name) for name in ("n1", "n2")]
    asked = claim(want("slot", select=KIND.format("slot")), want("d", select=KIND.format("d")))
    found = ask(shared, own, *slots, *NODES[:2], asked)
    assert found.total == exactly(4, first_fit=2)


def test_all_the_devices_of_a_node_are_no_bound_for_the_union():
    shared = everywhere(*devices("s"), name="a")
    slices = [pool(*devices("o"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    found = ask(shared, *slices, *NODES[:2], claim(want(count="All")))
    assert (found.total.fits, found.total.bound, found.total.proven) == (1, 2, False)


def test_devices_that_give_counters_leave_the_sum_without_a_bound():
    members = [device(f"p{number}", draws("s", slices=2), node_name=f"n{number + 1}") for number in range(2)]
    members.append(device("giver", draws("s", slices=-2), node_name="n1"))
    sliced = partitions(*members, sets={"s": {"slices": 2}}, name="p", per_device_node_selection=True)
    found = ask(*sliced, *NODES[:2], claim(want()))
    assert found.total.fits >= 2
    assert found.total.bound is None


def test_what_is_alone_and_what_is_linked():
    keys = {"a": (1, 2), "b": (3,), "c": (2, 4), "d": (), "e": (4,)}
    assert connected_groups(keys) == [("a", "c", "e"), ("b",), ("d",)]


def views(*slices):
    index = PoolIndex(slices, FeatureGates.all_on())
    return [pool_ for one in NODES[:2] for pool_ in index.pools_for(one)]


def test_views_of_a_pool_as_one():
    members = [device(name, node_name=where) for name, where in (("a", "n1"), ("b", "n2"), ("c", "n1"))]
    whole = merge_pool_views(views(pool(*members, per_device_node_selection=True)))
    assert [(one.id[2], one.reachable) for one in whole.devices] == [("a", True), ("b", True), ("c", True)]
    slices = [pool(device("x"), count=2, slice_name="1"), pool(device("y"), count=2, slice_name="2", node_name="n2")]
    whole = merge_pool_views(views(*slices))
    assert [one.id[2] for one in whole.devices] == ["x", "y"]
    assert whole.other_devices == ()


def test_pools_that_are_not_one():
    newer = pool(device("y"), node_name="n2", slice_name="2", generation=2)
    assert merge_pool_views(views(pool(device("x"), slice_name="1", generation=2, count=3), newer)).status != INCOMPLETE
    counting = [
        pool(device("x", draws("s", c=1)), count=2, slice_name="1"),
        pool(sets={"s": {"c": 1}}, count=2, slice_name="2"),
        pool(device("y", draws("s", c=1)), count=2, slice_name="3", node_name="n2"),
        pool(sets={"s": {"c": 1}}, count=2, slice_name="4", node_name="n2"),
    ]
    assert merge_pool_views(views(*counting)) is None
