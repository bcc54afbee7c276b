"""Allocations from pools that the node does not have, or not like that (section 5)."""

import pytest
from support.gates import without
from support.verification import (
    GPU,
    allocation,
    chip,
    claim,
    everyday,
    gpu,
    on,
    one_claim,
    piece,
    request,
    result,
    results,
    way,
)

from drasat.scenarios import objects


def test_an_allocation_on_its_node_is_valid():
    """POOL-1, POOL-4"""
    assert everyday().violations() == []


def other_node(scene):
    scene.results()[1].update(pool="n2")


def unknown_device(scene):
    scene.results()[1].update(device="gpu-9")


def unknown_pool(scene):
    scene.results()[1].update(pool="n3")


def unknown_driver(scene):
    scene.results()[1].update(driver="other.example.com")


def too_few_slices(scene):
    scene.find("ResourceSlice", "n1")["spec"]["pool"].update(resourceSliceCount=2)


def too_many_slices(scene):
    scene.objects.append(piece([gpu(8)], "more", "n1"))


def newer_generation(scene):
    """The device is only in the older of two generations that the node sees."""
    scene.objects.append(piece([gpu(0)], "newer", "n1", generation=2))


def obsolete(scene):
    """Incomplete here, while another node has a newer generation."""
    too_few_slices(scene)
    scene.objects.append(piece([gpu(0)], "newer", "n1", where=objects.on_node("n2"), generation=2))


def same_name_twice(scene):
    scene.find("ResourceSlice", "n1")["spec"]["devices"].append(gpu(3))


def counters_of_nobody(scene):
    scene.device("gpu-3")["consumesCounters"] = [objects.consumption("none", {"slices": 1})]


def nobodys_selection(scene):
    """A slice for no node at all."""
    scene.find("ResourceSlice", "n1")["spec"].pop("nodeName")


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("another node's device", other_node, "POOL-1"),
        way("slice without node selection", nobodys_selection, "POOL-1"),
        way("unknown device", unknown_device, "POOL-8"),
        way("unknown pool", unknown_pool, "POOL-8"),
        way("unknown driver", unknown_driver, "POOL-8"),
        way("older generation", newer_generation, "POOL-3"),
        way("too few slices", too_few_slices, "POOL-6"),
        way("too many slices", too_many_slices, "POOL-6"),
        way("obsolete pool", obsolete, "POOL-5"),
        way("device name twice", same_name_twice, "POOL-9"),
        way("unknown counter set", counters_of_nobody, "POOL-9"),
    ],
)
def test_pools_that_do_not_offer_the_device(edit, rules):
    scene = everyday()
    edit(scene)
    assert scene.rules() == rules


def unknown_counter(scene):
    scene.device("half-b")["consumesCounters"][0]["counters"] = objects.counters({"other": 1})


def set_twice(scene):
    sets = scene.find("ResourceSlice", "n1-counters")["spec"]["sharedCounters"]
    sets.append(sets[0])


@pytest.mark.parametrize(
    ("edit", "rules"),
    [way("unknown counter", unknown_counter, "POOL-9"), way("counter set twice", set_twice, "POOL-9")],
)
def test_pools_with_wrong_counters_are_invalid(edit, rules):
    scene = one_claim(chip(), [request("r")], results("r", "half-a"))
    assert scene.rules() == set()
    edit(scene)
    assert scene.rules() == rules


def test_counters_of_another_pool_are_not_seen():
    """POOL-10: even of the same driver."""
    devices, counters = chip()
    for part in (devices, counters):
        part["spec"]["pool"]["resourceSliceCount"] = 1
    counters["spec"]["pool"]["name"] = "elsewhere"
    assert one_claim([devices, counters], [request("r")], results("r", "half-a")).rules() == {"POOL-9"}


def test_an_old_generation_that_is_complete_for_the_node_still_counts():
    """POOL-7"""
    scene = everyday()
    scene.objects.append(piece([gpu(0)], "newer", "n1", where=objects.on_node("n2"), generation=2))
    assert scene.rules() == set()


def test_a_pool_may_be_complete_only_with_the_slices_of_other_nodes():
    """POOL-6: which the node does not have for that."""
    scene = everyday()
    scene.find("ResourceSlice", "n1")["spec"]["pool"]["resourceSliceCount"] = 2
    scene.objects.append(piece([gpu(8)], "far", "n1", where=objects.on_node("n2"), count=2))
    assert scene.rules() == set()
    scene.results()[0].update(device="gpu-8")
    assert scene.rules() == {"POOL-1"}


def test_two_nodes_may_publish_devices_of_one_name():
    """POOL-9: duplicates on other nodes are not looked at."""
    scene = everyday()
    scene.find("ResourceSlice", "n1")["spec"]["pool"]["resourceSliceCount"] = 2
    scene.objects.append(piece([gpu(0)], "far", "n1", where=objects.on_node("n2"), count=2))
    assert scene.rules() == set()


def test_slices_with_partitions_are_ignored_while_that_feature_is_off():
    """POOL-2: their pool counts them nevertheless."""
    published = chip()
    published[0]["spec"]["devices"] = [gpu(0)]
    scene = one_claim(published, [request("r")], results("r", "gpu-0"))
    scene.gates = without("DRAPartitionableDevices")
    assert scene.rules() == set()
    published[0]["spec"] |= {"perDeviceNodeSelection": True}
    published[0]["spec"]["devices"][0]["allNodes"] = True
    published[0]["spec"].pop("nodeName")
    assert scene.rules() == {"POOL-2"}


def test_slices_with_compatibility_groups_are_ignored_while_that_feature_is_off():
    """GRP-5: and the pool does not count them."""
    devices, counters = chip(groups=["x"])
    published = [devices, counters, piece([gpu(0)], "more", "n1", count=2)]
    scene = one_claim(published, [request("r")], results("r", "gpu-0"))
    scene.gates = without("DRADeviceCompatibilityGroups")
    assert scene.rules() == set()
    scene.results()[0].update(device="half-a")
    assert scene.rules() == {"GRP-5"}


def zonal(**labels):
    """A pool for zone x, seen from a node with these labels."""
    where = objects.on_nodes_with("zone", "x")
    published, given = piece([gpu(0)], "z", where=where), [result("r", "gpu-0", "z")]
    scene = one_claim([published], [request("r")], given, selector=where["nodeSelector"])
    scene.find("Node", "n1")["metadata"]["labels"] |= labels
    return scene


@pytest.mark.parametrize(
    ("labels", "rules"), [({"zone": "x"}, set()), ({"zone": "y"}, {"POOL-1"}), ({}, {"POOL-1"})], ids=["x", "y", "none"]
)
def test_slices_may_be_for_nodes_with_a_label(labels, rules):
    """NODE-1, NODE-2"""
    assert zonal(**labels).rules() == rules


def test_selectors_of_several_terms_or_operators_are_evaluated():
    """NODE-2: whatever the index of places makes of them."""
    for expression in ({"key": "zone", "operator": "Exists"}, {"key": "zone", "operator": "NotIn", "values": ["y"]}):
        scene = zonal(zone="x")
        selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        scene.find("ResourceSlice", "z")["spec"]["nodeSelector"] = selector
        scene.allocation()["nodeSelector"] = selector
        assert scene.rules() == set()


def test_a_node_selector_that_cannot_be_parsed_is_fatal_for_everybody():
    """NODE-2"""
    scene = everyday()
    where = objects.on_nodes_with("zone", "x")
    where["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"][0]["operator"] = "Like"
    scene.objects.append(piece([], "odd", where=where))
    assert scene.rules() == {"NODE-2"}


def each_its_own(node_of_second):
    """A slice in which every device says where it is."""
    devices = [gpu(0, nodeName="n1"), gpu(1, **node_of_second)]
    published = piece(devices, "each", where={"perDeviceNodeSelection": True})
    return one_claim([published], [request("r")], [result("r", "gpu-1", "each")])


@pytest.mark.parametrize(
    ("place", "rules"),
    [
        pytest.param({"nodeName": "n1"}, set(), id="DEV-4 here"),
        pytest.param({"nodeName": "n2"}, {"DEV-4"}, id="DEV-4 there"),
        pytest.param({"allNodes": True}, set(), id="DEV-4 everywhere"),
    ],
)
def test_devices_may_choose_their_nodes(place, rules):
    scene = each_its_own(place)
    if "allNodes" in place:
        scene.allocation().pop("nodeSelector")
    assert scene.rules() - {"RES-7"} == rules


def test_a_slice_of_devices_for_other_nodes_only_is_not_seen():
    """POOL-1"""
    scene = each_its_own({"nodeName": "n2"})
    scene.device("gpu-0", "each")["nodeName"] = "n2"
    assert scene.rules() == {"POOL-1"}


def test_pools_of_two_drivers_may_have_one_name():
    """CTR-5: the name alone is not an id."""
    published = [piece([gpu(0)]), piece([gpu(0)], "x", "n1", "b.io")]
    given = [result("r", "gpu-0", driver="b.io"), result("r", "gpu-0", driver=GPU)]
    assert one_claim(published, [request("r", 2, class_name="any")], given).rules() == set()


def test_a_pool_may_be_for_all_nodes_in_part():
    """POOL-1: the nodes see different devices of it, one after the other."""
    common = piece([gpu(0)], "common", "net", where={"allNodes": True}, count=2)
    own = [piece([gpu(1)], f"{name}-own", "net", where=objects.on_node(name), count=2) for name in ("n1", "n2")]
    scene = one_claim([common, *own], [request("r")], [result("r", "gpu-1", "net")])
    scene.objects.append(claim("b", request("r")))
    scene.place({"b": allocation([result("r", "gpu-0", "net")], selector=None)}, node="n2")
    assert scene.rules() == set()
    scene.find("ResourceSlice", "n2-own")["spec"]["devices"] = [gpu(2)]
    scene.results("b")[0]["device"] = "gpu-1"
    assert scene.rules() - {"RES-7"} == {"POOL-1"}


def test_a_node_name_goes_before_all_nodes():
    """NODE-1: where both are given."""
    scene = everyday()
    scene.find("ResourceSlice", "n2")["spec"]["allNodes"] = True
    scene.objects.append(claim("b", request("r")))
    scene.place({"b": allocation([result("r", "gpu-3", "n2")], selector=on("n2"))}, node="n2")
    assert scene.rules() == set()
    other_node(scene)
    assert "POOL-1" in scene.rules()


@pytest.mark.parametrize(("local", "shared", "refused"), [(2, 1, False), (1, 2, True)])
def test_slices_that_disagree_about_their_number(local, shared, refused):
    """POOL-4: a slice with a node name is asked first, whatever its name."""
    scene = everyday()
    scene.find("ResourceSlice", "n1")["spec"]["pool"].update(resourceSliceCount=local)
    scene.objects.append(piece([gpu(9)], "aaa", "n1", where={"allNodes": True}, count=shared))
    assert bool(scene.violations()) == refused
