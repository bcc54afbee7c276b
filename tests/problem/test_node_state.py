"""The allocated state by number, and when it changes."""

import pytest
from support.gates import ALL
from support.model_objects import allocation, result
from support.objects import after, claim, device, draws, node, partitions, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.cluster.usage import Usage
from drasat.models.workload.units import ClaimRef
from drasat.problem.node_state import AllocatedState
from drasat.problem.problem import InUse
from drasat.problem.shapes import NodeViews


def state(*objects, on="n1"):
    cluster = Cluster.of([*objects, node(on)])
    allocated_state = AllocatedState(cluster.usage(ALL))
    return allocated_state.in_use(NodeViews(cluster.pools(ALL), ALL).of(cluster.node(on)))


def test_nothing_in_use():
    """IN-2."""
    assert state(pool(device("a"), device("b"))) == InUse()


def test_whole_devices_shares_and_consumption():
    """IN-2, IN-3."""
    members = pool(device("a"), device("b", multi=True, capacity={"m": "4", "k": "9"}), device("c"))
    first = after(members, claim(want(), want("s", capacity={"m": "1", "k": "2"}), name="one"))
    second = after(members, *first, claim(want(capacity={"m": "2", "k": "0"}), name="two"))
    found = state(members, *first, *second)
    assert found.dedicated == {0}
    assert found.shares == {1: 2}
    assert found.consumed == {0: 2 * 10**9, 1: 3 * 10**9}


def test_admin_access_is_not_in_use():
    """IN-3."""
    members = pool(device("a"))
    assert state(members, *after(members, claim(want(admin=True), name="one"))) == InUse()


@pytest.mark.parametrize("multi", [None, True], ids=["whole", "IN-4-share-without-capacity"])
def test_counters_of_devices_in_use_are_gone(multi):
    """CTR-1, IN-4."""
    slices = partitions(
        device("a", draws("s", m=3), multi=multi), device("b", draws("s", k=1)), sets={"s": {"m": 4, "k": 2}}
    )
    assert state(*slices).available == (4 * 10**9, 2 * 10**9)
    assert state(*slices, *after(*slices, claim(want(), name="one"))).available == (10**9, 2 * 10**9)


def test_counters_may_be_overdrawn():
    """CTR-1."""
    before = partitions(device("a", draws("s", m=3)), sets={"s": {"m": 4}})
    held = after(*before, claim(want(), name="one"))
    assert state(*partitions(device("a", draws("s", m=3)), sets={"s": {"m": 1}}), *held).available == (-2 * 10**9,)


def test_groups_of_devices_in_use_narrow_their_set():
    """GRP-2."""
    slices = partitions(
        device("a", draws("s", ("x", "y"), m=1)),
        device("b", draws("s", ("y",), m=1)),
        device("c", draws("t", m=1)),
        sets={"s": {"m": 4}, "t": {"m": 4}},
    )
    assert state(*slices).groups == (None, None)
    assert state(*slices, *after(*slices, claim(want(), name="one"))).groups == (0b111, None)
    assert state(*slices, *after(*slices, claim(want(count=3), name="one"))).groups == (0b101, 0)


def ledger_and_views():
    pools = [pool(device("a"), name=name, node_name=name) for name in ("n1", "n2")]
    cluster = Cluster.of(pools)
    return AllocatedState(cluster.usage(ALL)), NodeViews(cluster.pools(ALL), ALL), cluster, pools


def test_only_nodes_that_see_a_changed_pool_change():
    allocated_state, views, cluster, pools = ledger_and_views()
    here, there = (views.of(cluster.node(name)) for name in ("n1", "n2"))
    before = allocated_state.in_use(there)
    (made,) = after(*pools, claim(want(), name="one"))
    assert made.status is not None
    allocated_state.commit([(("ns", "one"), made.status.allocation)])
    assert allocated_state.in_use(here).dedicated == {0}
    assert allocated_state.in_use(there) is before
    assert (allocated_state.stamp(here), allocated_state.stamp(there)) == (1, 0)
    assert allocated_state.changed_since(0) == {("d.x", "n1")}
    assert allocated_state.changed_since(allocated_state.changes) == set()


def test_what_is_given_back_is_free_again_and_its_pools_change():
    cluster = Cluster.of([pool(device("a")), pool(device("b"), name="q"), node("n1")])
    view = NodeViews(cluster.pools(ALL), ALL).of(cluster.node("n1"))
    allocated_state = AllocatedState(cluster.usage(ALL))
    (made,) = after(pool(device("a")), claim(want(), name="one"))
    allocated_state.commit([(("ns", "one"), made.status.allocation)])
    assert allocated_state.in_use(view).dedicated == {0}
    committed = allocated_state.changes
    allocated_state.release([("ns", "one"), ("ns", "nobody")])
    assert allocated_state.changed_since(committed) == {("d.x", "p")}
    assert allocated_state.in_use(view) == InUse()


def test_equal_states_have_equal_keys():
    allocated_state, views, cluster, _ = ledger_and_views()
    keys = {allocated_state.in_use(views.of(cluster.node(name))).key for name in ("n1", "n2")}
    assert len(keys) == 1
    assert InUse(dedicated=frozenset({1})).key not in keys


def test_what_waits_for_a_node_counts_once_it_is_looked_at():
    waiting = {
        name: [[(ClaimRef("ns", f"c-{name}", None), allocation(result("d", pool=name)))]] for name in ("n1", "n2")
    }
    given = AllocatedState(Usage.empty(ALL), waiting)
    devices = [("gpu.example.com", name, "d") for name in ("n1", "n2")]
    assert given.usage.is_empty
    given.look_at("n1")
    copy = given.copied()
    copy.look_at("n1")
    copy.look_at("n2")
    copy.look_at("n3")
    copy.release([("ns", "c-n1")])
    copy.look_at("n1")
    # What was given back does not come again, and changes of the copy are not the original's.
    assert [given.usage.in_use(device) for device in devices] == [True, False]
    assert [copy.usage.in_use(device) for device in devices] == [False, True]
