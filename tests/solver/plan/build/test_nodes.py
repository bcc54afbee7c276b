"""Nodes that nothing planned can tell apart are one kind."""

from support.plan_building import (
    HOST,
    device,
    fabric,
    gpus,
    holding,
    node,
    nodes,
    obj,
    of,
    placed,
    planning,
    posed,
    published,
    running,
    template,
    to_buy,
    user,
    where,
)


def kinds(*given, **options):
    """Names of the nodes of each kind."""
    return [[one.metadata.name for one in kind.nodes] for kind in posed(*given, **options).node_classes]


def test_equal_nodes_are_one_kind():
    assert kinds(*nodes("n2", "n1", "n3"), user("a")) == [["n1", "n2", "n3"]]


def test_numbers_of_devices_tell_nodes_apart():
    assert kinds(*nodes("n1", "n2"), *nodes("n3", devices=2), user("a")) == [["n1", "n2"], ["n3"]]


def test_attributes_that_nobody_reads_do_not_matter():
    given = [one for name in ("n1", "n2") for one in (node(name), gpus(name, uuid=f"{name}-x"))]
    assert kinds(*given, user("a")) == [["n1", "n2"]]


def test_attributes_that_a_claim_reads_matter():
    given = [one for name in ("n1", "n2", "n3") for one in (node(name), gpus(name, model="b" if name == "n2" else "a"))]
    picky = template("picky", of(1, "gpu", 'device.attributes["gpu.example.com"].model == "a"'))
    assert kinds(*given, picky, user("a", spec="picky")) == [["n1", "n3"], ["n2"]]
    assert kinds(*given, user("a")) == [["n1", "n2", "n3"]]


def test_labels_that_nobody_reads_do_not_matter():
    given = [*gpus_of("n1", "n2"), node("n1", "a"), node("n2", "b")]
    assert kinds(*given, user("a")) == [["n1", "n2"]]


def gpus_of(*names):
    return [gpus(name) for name in names]


def test_labels_that_a_gang_asks_for_matter():
    given = [*gpus_of("n1", "n2", "n3"), node("n1", "a"), node("n2", "b"), node("n3", "a")]
    found = posed(*given, user("a", GANG="g", GANG_DOMAIN="zone"))
    assert [[one.metadata.name for one in kind.nodes] for kind in found.node_classes] == [["n1", "n3"], ["n2"]]
    assert [kind.labels for kind in found.node_classes] == [{"zone": "a"}, {"zone": "b"}]


def test_labels_that_a_selector_asks_for_matter():
    given = [*gpus_of("n1", "n2"), node("n1", "a"), node("n2", "b")]
    found = posed(*given, user("a"), user("b", spec="t2"))
    assert len(found.node_classes) == 1
    chosen = obj("Pod", "c", {"containers": [{"name": "m"}], "nodeSelector": {"zone": "a"}})
    found = posed(*given, user("a"), chosen)
    assert [sorted(kind.suitable_classes) for kind in found.node_classes] == [[0, 1], [0]]


def test_a_node_that_suits_nobody_is_in_no_kind():
    chosen = obj("Pod", "c", {"containers": [{"name": "m"}], "nodeSelector": {"zone": "a"}})
    assert kinds(*gpus_of("n1", "n2"), node("n1", "a"), node("n2", "b"), chosen) == [["n1"]]


def test_taints_tell_nodes_apart():
    tainted = node("n2") | {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    assert kinds(*gpus_of("n1", "n2"), node("n1"), tainted, user("a")) == [["n1"]]
    tolerant = obj("Pod", "c", {"containers": [{"name": "m"}], "tolerations": [{"operator": "Exists"}]})
    assert kinds(*gpus_of("n1", "n2"), node("n1"), tainted, user("a"), tolerant) == [["n1"], ["n2"]]


def test_room_counts_in_whole_steps():
    """Units of 2 cpu have as much room in 5 as in 4."""
    given = [*nodes("n1", cpu="4"), *nodes("n2", cpu="5"), *nodes("n3", cpu="6")]
    assert kinds(*given, user("a", cpu="2", REPLICAS="9")) == [["n1", "n2"], ["n3"]]


def test_room_that_nobody_needs_does_not_matter():
    given = [*nodes("n1", cpu="4"), *nodes("n2", cpu="400"), *nodes("n3", cpu="1", memory="1Gi")]
    assert kinds(*given, user("a", cpu="1")) == [["n1", "n2", "n3"]]


def test_a_step_is_what_all_amounts_are_multiples_of():
    found = posed(*nodes("n1", cpu="4"), user("a", cpu="1500m", REPLICAS="9"), user("b", cpu="1", REPLICAS="9"))
    (kind,) = found.node_classes
    needs = [unit.needs for unit in found.questions[kind.index].units]
    assert needs == [(3, 1), (2, 1)]
    assert kind.left == (8, 10)


def test_nodes_without_amounts_take_any_pods():
    bare = obj("Node", "n1")
    found = posed(bare, gpus("n1", 9), user("a", cpu="100", REPLICAS="3"))
    assert found.node_classes[0].left == (3, 3)
    assert len(placed(planning(bare, gpus("n1", 9), user("a", cpu="100", REPLICAS="3")))) == 3


def test_a_resource_that_a_node_does_not_list_is_not_there():
    without = obj("Node", "n1", status={"allocatable": {"memory": "1Gi"}})
    assert posed(without, gpus("n1"), user("a")).node_classes[0].left == (0, 1)
    assert placed(planning(without, gpus("n1"), user("a"))) == []


def test_capacity_counts_where_allocatable_is_absent():
    node_ = obj("Node", "n1", status={"capacity": {"cpu": "2"}})
    assert len(placed(planning(node_, gpus("n1"), user("a", REPLICAS="4")))) == 2


def test_pods_that_run_take_their_room():
    given = [*nodes("n1", "n2"), running("r", "n1", cpu="3")]
    found = posed(*given, user("a", REPLICAS="9"))
    assert [kind.left for kind in found.node_classes] == [(1, 9), (4, 9)]
    assert [kind.is_in_use for kind in found.node_classes] == [True, False]


def test_a_node_that_has_more_than_it_can_take_has_no_room():
    found = posed(*nodes("n1"), running("r", "n1", cpu="7"), user("a"))
    assert found.node_classes[0].left == (0, 1)


def test_running_pods_tell_nodes_apart_only_by_room_and_use():
    given = [*nodes("n1", "n2", "n3"), running("r", "n1"), running("s", "n2")]
    assert kinds(*given, user("a")) == [["n1", "n2"], ["n3"]]


def test_devices_in_use_tell_nodes_apart():
    given = [*nodes("n1", "n2", "n3"), holding("h", "n1", "gpu-0"), holding("i", "n2", "gpu-0")]
    found = posed(*given, user("a"))
    assert [[one.metadata.name for one in kind.nodes] for kind in found.node_classes] == [["n1", "n2"], ["n3"]]
    assert [kind.is_in_use for kind in found.node_classes] == [True, False]


def test_a_shared_device_in_use_puts_no_node_to_use():
    given = [*nodes("n1", "n2"), fabric(2), holding("h", "fabric", "f0", driver="fabric.example.com")]
    found = posed(*given, user("a", spec="f"))
    assert [kind.is_in_use for kind in found.node_classes] == [False]


def test_nodes_of_one_fabric_are_alike_and_of_two_are_not():
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
    one = published("fa", device("x"), driver="fabric.example.com", nodeSelector=selector)
    given = [node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4", "b")]
    found = posed(*given, one, user("a", spec="f"))
    assert [[one.metadata.name for one in kind.nodes] for kind in found.node_classes] == [["n1", "n2"], ["n3", "n4"]]
    assert [[pool.name for pool in kind.shared] for kind in found.node_classes] == [["fa"], []]


def test_a_pool_that_one_node_reaches_is_not_shared():
    found = posed(*nodes("n1"), fabric(2), user("a", spec="f"))
    assert found.node_classes[0].shared == ()


def test_new_nodes_are_kinds_of_their_own():
    found = posed(*nodes("n1"), to_buy("big"), user("a"), buy=True)
    assert sorted((kind.template, kind.count) for kind in found.node_classes) == [("", 1), ("big-1", 1)]


def test_a_pool_that_new_nodes_reach_is_shared():
    found = posed(fabric(1), to_buy("big", limit=3), user("a", spec="f", REPLICAS="2"), buy=True)
    (kind,) = found.node_classes
    assert [pool.name for pool in kind.shared] == ["fabric"]
    assert kind.count == 2


def test_a_single_new_node_shares_with_nobody():
    found = posed(fabric(1), to_buy("big", limit=1), user("a", spec="f", REPLICAS="2"), buy=True)
    assert found.node_classes[0].shared == ()


def test_several_new_nodes_have_no_host_name_in_common():
    gang = {"GANG": "g", "GANG_DOMAIN": HOST}
    found = posed(to_buy("big"), user("a", **gang), user("b", **gang), buy=True, apart=1)
    assert [(kind.count, kind.labels) for kind in found.node_classes] == [(1, {HOST: "big-1"}), (1, {HOST: "big-2"})]
    found = posed(to_buy("big"), *(user(name, **gang) for name in "abc"), buy=True, apart=1)
    assert [(kind.count, kind.labels) for kind in found.node_classes] == [(1, {HOST: "big-1"}), (2, {})]


def test_equal_nodes_are_used_one_after_the_other():
    found = planning(*nodes("n2", "n1", "n3", devices=1), user("a", REPLICAS="2"))
    assert sorted(where(found).values()) == ["n1", "n2"]


def test_a_cluster_of_nothing_has_no_kinds():
    assert kinds() == []
    assert kinds(*nodes("n1")) == []
    assert planning().outcome == "Optimal"


def test_what_is_held_is_on_the_only_node_that_there_is():
    """New nodes would reach it, too, but what is in use is in use by now."""
    given = [*nodes("n1"), fabric(2), holding("h", "fabric", "f0", driver="fabric.example.com"), to_buy("big")]
    found = posed(*given, user("a", spec="f"), buy=True)
    assert {kind.template: kind.is_in_use for kind in found.node_classes} == {"": True, "big-1": False}


def test_a_device_of_a_common_pool_may_be_of_one_node_alone():
    """Devices choose their nodes themselves: one that is held puts only its own node to use."""
    parts = [{"name": "own", "nodeName": "n1"}, {"name": "any", "allNodes": True}]
    pool = published("n1", *parts, driver="fabric.example.com", pool="fabric", allNodes=True)
    del pool["spec"]["allNodes"]
    pool["spec"]["perDeviceNodeSelection"] = True
    held = holding("h", "fabric", "own", driver="fabric.example.com")
    found = posed(*nodes("n1", "n2"), pool, held, user("a", spec="f"))
    assert {kind.nodes[0].metadata.name: kind.is_in_use for kind in found.node_classes} == {"n1": True, "n2": False}


def test_nodes_that_suit_nobody_still_share_what_they_reach():
    chosen = obj("Pod", "c", {"containers": [{"name": "m"}], "nodeSelector": {"zone": "a"}})
    given = [node("n1", "a"), node("n2", "b"), fabric(1), holding("h", "fabric", "f0", driver="fabric.example.com")]
    assert [kind.is_in_use for kind in posed(*given, chosen).node_classes] == [False]
