"""``drasat.topology``: devices in place, their states, the largest free shape before and after (TOPO-6)."""

import json
from itertools import pairwise

import jsonschema
import networkx
import pytest
from support.manifests import ADMIN_LABEL, obj
from support.topology_mappings import DRIVER, claim, device, device_class, lattice, published, topology

import drasat
from drasat.models.results.schema import results_schema


def asked(*objects, **options):
    return drasat.topology(drasat.load(list(objects)), **options)


def only(result):
    (one,) = result.topologies
    (instance,) = one.instances
    return instance


def states(instance):
    return {one.device: one.state for one in instance.devices}


def test_devices_held_by_claims_are_used_and_holes():
    """TOPO-4, TOPO-6."""
    held = claim("running", "d03", "d10")
    instance = only(asked(topology(), lattice(2, 4), device_class(), held))
    assert (instance.used, instance.free, instance.chosen) == (2, 6, 0)
    assert {name for name, state in states(instance).items() if state == "used"} == {"d03", "d10"}
    assert (instance.largest.size, instance.largest.first, instance.largest.count) == ((2, 2), (0, 1), 4)
    assert instance.left == instance.largest


def test_admin_access_uses_nothing():
    """IN-3."""
    watching = claim("watching", "d0", admin=True)
    namespace = obj("Namespace", "default", labels=ADMIN_LABEL)
    instance = only(asked(topology("Line", 1), lattice(2), device_class(), watching, namespace))
    assert (instance.used, instance.free) == (0, 2)


def test_what_an_allocation_chose_is_told_apart_with_before_and_after():
    """TOPO-6."""
    cluster = drasat.load([topology("Ring", 1), lattice(8), device_class(), claim("new", count=3)])
    result = drasat.allocate(cluster)
    instance = only(drasat.topology(cluster, chosen=result))
    chosen = {name for name, state in states(instance).items() if state == "chosen"}
    assert (len(chosen), instance.chosen, instance.free) == (3, 3, 5)
    assert (instance.largest.count, instance.left.count) == (8, 5)
    assert not {instance.devices[number].device for number in instance.left.devices} & chosen


def test_chosen_may_be_devices_and_used_stays_used():
    objects = [topology("Line", 1), lattice(4), device_class(), claim("running", "d0")]
    instance = only(asked(*objects, chosen=[(DRIVER, "n1", "d0"), (DRIVER, "n1", "d2"), (DRIVER, "n1", "none")]))
    assert states(instance) == {"d0": "used", "d1": "free", "d2": "chosen", "d3": "free"}
    assert (instance.largest.count, instance.left.count) == (3, 1)


def test_coordinates_are_those_that_are_published():
    devices = [device(f"d{place}", u=place) for place in (5, 6, 8)]
    instance = only(asked(topology("Line", 1), published(*devices)))
    assert [one.coordinates for one in instance.devices] == [(5,), (6,), (8,)]
    assert (instance.axes[0].first, instance.axes[0].size, instance.largest.first) == (5, 4, (5,))
    assert instance.links == ((0, 1),)


def test_devices_without_coordinates_are_listed_apart():
    """TOPO-3."""
    instance = only(asked(topology("Line", 1), published(device("a", u=0), device("b"))))
    assert [one.device for one in instance.unplaced] == ["b"]
    assert (len(instance.devices), instance.free) == (1, 1)


def test_levels_of_a_tree_have_their_largest_free_subtree():
    """TOPO-6."""
    devices = [device(f"d{x}{y}{n}", u=x, v=f"s{y}") for x in range(2) for y in range(2) for n in range(2)]
    cluster = drasat.load([topology("Tree"), published(*devices), device_class(), claim("a", "d000", "d010")])
    instance = only(drasat.topology(cluster, chosen=[(DRIVER, "n1", "d100")]))
    assert [one.count for one in instance.levels] == [4, 2]
    assert [one.count for one in instance.levels_left] == [3, 2]
    assert instance.devices[0].coordinates == (0, "s0")


def test_a_class_places_what_its_selectors_take():
    other = published(device("o", u=9), node="n1", pool="other")
    other["spec"]["driver"] = "other.example.com"
    placed = topology("Line", 1, deviceClassName="chip")
    assert len(only(asked(placed, lattice(3), other, device_class())).devices) == 3


def test_a_class_that_is_not_there_or_fails_has_no_devices():
    failing = device_class()
    failing["spec"]["selectors"].append({"cel": {"expression": "device.attributes['a'].b"}})
    for classes in ([], [failing]):
        (one,) = asked(topology("Line", 1, deviceClassName="chip"), lattice(3), *classes).topologies
        assert one.instances == ()


def test_scopes_are_instances_of_their_own():
    """TOPO-3: on two nodes the same coordinates are two places; in a cluster they are one."""
    nodes = [lattice(2, node="n1"), lattice(2, node="n2")]
    for scope, names in (("Node", ["n1", "n2"]), ("Pool", [f"{DRIVER}/n1", f"{DRIVER}/n2"])):
        (one,) = asked(topology("Line", 1, scope=scope), *nodes).topologies
        assert [instance.name for instance in one.instances] == names
    with pytest.raises(drasat.InputError, match=f"devices {DRIVER}/n1/d0 and {DRIVER}/n2/d0 both have"):
        drasat.load([topology("Line", 1, scope="Cluster"), *nodes])


def test_a_node_and_names_narrow_the_question():
    cluster = drasat.load([topology("Line", 1, "b"), topology("Ring", 1, "a"), lattice(2), lattice(3, node="n2")])
    assert [one.name for one in drasat.topology(cluster).topologies] == ["a", "b"]
    (one,) = drasat.topology(cluster, names=["b"], node="n2").topologies
    assert [(instance.name, len(instance.devices)) for instance in one.instances] == [("n2", 3)]
    with pytest.raises(ValueError, match=r"^DeviceTopology c not found$"):
        drasat.topology(cluster, names=["c"])
    with pytest.raises(ValueError, match="Nothing"):
        drasat.topology(cluster, feature_gates={"Nothing": True})


def test_graphs_are_those_of_networkx():
    """TOPO-5: nodes are devices by driver, pool and name."""
    graphs = asked(topology("Ring", 1), lattice(6), device_class(), claim("a", "d2")).graphs()
    graph = graphs["t", "n1"]
    assert networkx.is_isomorphic(graph, networkx.cycle_graph(6))
    assert graph.nodes[DRIVER, "n1", "d2"] == {"coordinates": (2,), "state": "used"}


def test_a_frame_has_a_row_for_each_device():
    frame = asked(topology(), lattice(2, 3)).to_frame()
    assert list(frame.columns) == ["topology", "instance", "driver", "pool", "device", "coordinates", "state"]
    assert len(frame) == 6
    assert "d12" in asked(topology(), lattice(2, 3))._repr_html_()


def test_the_document_follows_the_published_schema(examples):
    published_schema = json.loads((examples.parent / "docs/reference/results.schema.json").read_text())
    links = published(*(device(f"d{one}", id=one, peers=[(one + 1) % 3]) for one in range(3)))
    for result in (asked(topology("Links"), links), asked(topology("Tree"), lattice(2, 2)), asked()):
        jsonschema.validate(result.to_dict(), published_schema)
        jsonschema.validate(result.to_dict(), results_schema())
    assert repr(result) == "TopologyResult(0 topologies, 0 instances)"


def test_documents_are_equal_for_equal_input():
    objects = [topology("Torus", 2), lattice(3, 4), device_class(), claim("a", "d11")]
    first, second = (asked(*objects).to_json() for _ in range(2))
    assert first == second
    assert asked(*objects).to_yaml().startswith("apiVersion: drasat.dev/v1alpha1")


def test_a_torus_of_thousands_is_surveyed():
    """TOPO-6: 16x16x16 over many slices of one pool."""
    sizes = (16, 16, 16)
    devices = lattice(*sizes)["spec"]["devices"]
    slices = []
    for number, (start, end) in enumerate(pairwise(range(0, len(devices) + 1, 128))):
        one = published(*devices[start:end], pool="p", allNodes=True)
        one["metadata"]["name"] = f"s{number}"
        one["spec"]["pool"]["resourceSliceCount"] = len(devices) // 128
        slices.append(one)
    instance = only(asked(topology("Torus", 3, scope="Pool"), *slices))
    assert (instance.largest.count, instance.largest.size, len(instance.links)) == (4096, sizes, 3 * 4096)
