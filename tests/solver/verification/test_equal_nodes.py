"""Placements on nodes of a class, of which one was judged: what is nearly equal is told apart.

Each test is about placements that are judged one by one, too.
"""

from importlib import import_module

import pytest
from msgspec.structs import replace
from support.verification import (
    GPU,
    Scene,
    allocation,
    chip,
    claim,
    classes,
    gpu,
    nodes,
    on,
    partition,
    piece,
    request,
    result,
    results,
    share_id,
    way,
)
from support.verification import held as taken

from drasat.models.kubernetes.extensions import CONSTRAINTS_ANNOTATION
from drasat.models.validation.entries import read_caller_constraints
from drasat.scenarios import objects
from drasat.solver.verification.bundles import EqualBundles, NodeBundles, UnitKind
from drasat.solver.verification.payments import SharedPrices
from drasat.solver.verification.verify import Replay


@pytest.fixture(autouse=True, params=[10**6, 0], ids=["one by one", "by classes"])
def how_nodes_are_judged(request, monkeypatch):
    """Classes are worth it for many placements, and here they are told for few."""
    monkeypatch.setattr(import_module("drasat.solver.verification.verify"), "_FEW_PLACEMENTS", request.param)


MODEL_A = objects.selectors(f'device.attributes["{GPU}"].model == "a"')
SAME_NUMA = {"matchAttribute": f"{GPU}/numa"}


def twins():
    """Claims a, b and c of one template: two GPUs of model a on one NUMA node, on nodes n1, n2 and n3."""
    names = ("n1", "n2", "n3")
    published = [
        piece([gpu(index, attributes={"uuid": f"{name}-{index}"}) for index in range(6)], name) for name in names
    ]
    wanted = [request("r", 2, selectors=MODEL_A)]
    asked = [claim(name, *wanted, constraints=[SAME_NUMA]) for name in "abc"]
    scene = Scene([*nodes(*names), *classes(), *published, *asked])
    for name, node in zip("abc", names, strict=True):
        given = [result("r", f"gpu-{index}", node) for index in range(2)]
        scene.place({name: allocation(given, selector=on(node))}, node)
    return scene


def other_model(scene):
    scene.device("gpu-1", "n3")["attributes"]["model"] = objects.attribute("b")


def no_model(scene):
    del scene.device("gpu-1", "n3")["attributes"]["model"]


def other_numa(scene):
    scene.device("gpu-1", "n3")["attributes"]["numa"] = objects.attribute(1)


def without_value(scene):
    scene.device("gpu-1", "n3")["attributes"]["uuid"] = {}


def tainted(scene):
    scene.device("gpu-1", "n3")["taints"] = [objects.taint("hot")]


def binding(scene):
    scene.device("gpu-1", "n3").update(bindingConditions=["ready"], bindingFailureConditions=["broken"])


def failing(scene):
    scene.device("gpu-1", "n3").update(bindingFailureConditions=["broken"])


def consuming(scene):
    scene.device("gpu-1", "n3")["consumesCounters"] = [objects.consumption("none", {"slices": 1})]


def skipping(scene):
    scene.find("ResourceSlice", "n3")["spec"]["skipNodeOperations"] = ["*"]


def sharing(scene):
    scene.device("gpu-1", "n3")["allowMultipleAllocations"] = True


def twice(scene):
    scene.results("c")[1]["device"] = "gpu-0"


def of_another_node(scene):
    scene.results("c")[1]["pool"] = "n2"


def of_another_pool_that_is_taken(scene):
    for one in scene.results("c"):
        one["pool"] = "n2"


def unpublished(scene):
    scene.results("c")[1]["device"] = "gpu-9"


def taken_before(scene):
    scene.units[2]["node"] = "n2"
    scene.units[2]["claims"]["c"] = scene.allocation("b")


def one_device_less(scene):
    del scene.results("c")[1]


def other_request(scene):
    scene.results("c")[1]["request"] = "q"


def with_share(scene):
    scene.results("c")[1]["shareID"] = share_id(1)


def with_admin_access(scene):
    scene.results("c")[1]["adminAccess"] = True


def with_toleration(scene):
    scene.results("c")[1]["tolerations"] = [{"key": "hot", "operator": "Exists"}]


def for_another_node(scene):
    scene.allocation("c")["nodeSelector"] = on("n2")


def for_all_nodes(scene):
    del scene.allocation("c")["nodeSelector"]


def with_config(scene):
    scene.allocation("c")["devices"]["config"] = [{"source": "FromClaim", **objects.opaque(GPU, {"number": 1})}]


def incomplete(scene):
    scene.find("ResourceSlice", "n3")["spec"]["pool"]["resourceSliceCount"] = 2


def elsewhere(scene):
    scene.find("ResourceSlice", "n3")["spec"]["nodeName"] = "n2"


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("one attribute is another", other_model, "DEV-3"),
        way("one attribute is missing", no_model, "CEL-6"),
        way("an attribute of a constraint is another", other_numa, "CON-7"),
        way("an attribute that nothing reads has no value", without_value, "CEL-6"),
        way("a taint", tainted, "DEV-10"),
        way("a binding condition", binding, "RES-2"),
        way("a binding failure condition", failing, "RES-2"),
        way("counters of nobody", consuming, "POOL-9"),
        way("node operations are skipped", skipping, "DEV-9", "RES-2"),
        way("a shared device", sharing, "CAP-8"),
        way("a device repeated", twice, "DEV-13", "DEV-1"),
        way("a device of another node", of_another_node, "POOL-1"),
        way("all devices of another node", of_another_pool_that_is_taken, "POOL-1"),
        way("a device of nobody", unpublished, "POOL-8"),
        way("devices of an earlier claim", taken_before, "DEV-1"),
        way("a device less", one_device_less, "PRE-7"),
        way("another request", other_request, "RES-1", "PRE-7"),
        way("a share id", with_share, "CAP-7"),
        way("admin access that nobody asked for", with_admin_access, "RES-2"),
        way("a toleration that nobody asked for", with_toleration, "RES-2"),
        way("another node's selector", for_another_node, "RES-7"),
        way("no selector", for_all_nodes, "RES-7"),
        way("a config that nobody asked for", with_config, "RES-4"),
        way("a pool without all slices", incomplete, "POOL-6"),
        way("a slice of another node", elsewhere, "POOL-1"),
    ],
)
def test_a_node_that_is_nearly_equal_to_faultless_ones_is_told_apart(edit, rules):
    assert twins().rules() == set()
    scene = twins()
    edit(scene)
    found = scene.violations()
    assert {one.rule for one in found} == rules
    assert {one.claim for one in found} == {"default/c"}


def held(scene):
    del scene.units[:2]


@pytest.mark.parametrize(
    "edit", [other_model, other_numa, without_value, tainted, consuming, sharing, incomplete, held]
)
def test_a_node_that_is_nearly_equal_to_others_is_read_for_itself(edit):
    """What bounds make of a node is what they would make of it without any other; equal nodes are read once."""
    scene = twins()
    edit(scene)
    cluster, placements = scene.question()
    replay = Replay(cluster, scene.gates)
    for one in placements if edit is held else ():
        replay.enter(one)
    kind = UnitKind(None, (cluster.claims["default", "a"],))
    equal = EqualBundles(replay.context, [kind])
    for name in ("n1", "n2", "n3"):
        given = replay.context, replay.loads, cluster.node(name)
        alone, known = NodeBundles(*given), NodeBundles(*given, equal=equal)
        asked = [(kind, 9)], SharedPrices()
        assert known.face(*asked) == alone.face(*asked)
    assert len(equal.known) == 2


def test_annotated_entries_are_judged_for_each_claim():
    scene = twins()
    written = '[{"distinctAttribute": "gpu.example.com/numa"}]'
    scene.find("ResourceClaim", "c")["metadata"]["annotations"] = {"drasat.dev/constraints": written}
    assert [one.claim for one in scene.violations()] == ["default/c"]


def test_entries_of_every_claim_are_judged_for_each_claim():
    """CON-7: what they read of devices stands in no claim."""
    scene = twins()
    for name in "abc":
        del scene.find("ResourceClaim", name)["spec"]["devices"]["constraints"]
    other_numa(scene)
    cluster, placements = scene.question()
    replay = Replay(cluster, scene.gates, caller_constraints=read_caller_constraints([SAME_NUMA]))
    replay.expect(claim for one in placements for claim, _ in one.claims)
    assert [(one.rule, one.claim) for one in replay.violations(placements)] == [("CON-7", "default/c")]


def test_a_claim_with_entries_of_its_own_is_judged_though_others_have_its_spec():
    """CON-7."""
    scene = twins()
    cluster, placements = scene.question()
    (claim, made), spec = placements[2].claims[0], placements[0].claims[0][0].spec
    written = '[{"distinctAttribute": "gpu.example.com/numa"}]'
    own = replace(claim, spec=spec, metadata=replace(claim.metadata, annotations={CONSTRAINTS_ANNOTATION: written}))
    asked = [*placements[:2], placements[2]._replace(claims=((own, made),))]
    replay = Replay(cluster, scene.gates)
    replay.expect(claim for one in (asked[2], *asked[:2]) for claim, _ in one.claims)
    assert [one.claim for one in replay.violations(asked)] == ["default/c"]


def test_claims_with_derived_attributes_are_judged_one_by_one():
    scene = twins()
    for name in "abc":
        derived = {"name": f"{GPU}/numa", "expression": f'device.attributes["{GPU}"].uuid'}
        scene.asked(name)["derivedAttributes"] = [derived]
    assert scene.rules() == {"CON-7"}


def partitions_of_one_chip(*given):
    """Claims a, b and c, each with one partition of the chip."""
    asked = [claim(name, request("r")) for name in "abc"]
    scene = Scene([*nodes("n1"), *classes(), *chip(), *asked])
    for name, device in zip("abc", given, strict=False):
        scene.place({name: allocation(results("r", device))})
    return scene


def test_equal_partitions_draw_from_their_counters_one_after_the_other():
    assert partitions_of_one_chip("half-a", "half-b").rules() == set()
    found = partitions_of_one_chip("half-a", "half-b", "whole").violations()
    assert [(one.rule, one.claim) for one in found] == [("CTR-2", "default/c")]
    scene = partitions_of_one_chip("half-a", "half-b", "half-c")
    scene.find("ResourceSlice", "n1")["spec"]["devices"].append(partition("half-c", 2))
    assert [(one.rule, one.claim) for one in scene.violations()] == [("CTR-2", "default/c")]


def test_two_partitions_of_one_claim_are_counted_together():
    """A first claim with two halves is faultless; a second one of the class takes more than is left."""
    asked = [claim(name, request("r", 2)) for name in "ab"]
    devices = [partition(f"part-{index}", 1) for index in range(4)]
    sets = [objects.counter_set("chip", {"slices": 3})]
    published = [piece(devices, count=2), piece([], "n1-counters", "n1", count=2, shared_counters=sets)]
    scene = Scene([*nodes("n1"), *classes(), *published, *asked])
    scene.place({"a": allocation(results("r", "part-0", "part-1"))})
    scene.place({"b": allocation(results("r", "part-2", "part-3"))})
    assert [(one.rule, one.claim) for one in scene.violations()] == [("CTR-2", "default/b")]


def test_claims_of_one_unit_do_not_share_a_device():
    asked = [claim(name, request("r")) for name in "abc"]
    scene = Scene([*nodes("n1"), *classes(), piece([gpu(0), gpu(1)]), *asked])
    scene.place({"a": allocation(results("r", "gpu-0"))})
    scene.place({name: allocation(results("r", "gpu-1")) for name in "bc"})
    assert [(one.rule, one.claim) for one in scene.violations()] == [("DEV-1", "default/c")]


NODES = ("n1", "n2", "n3")


def rows_of_two(*devices):
    """Claims a to f, two on each of the nodes n1 to n3: a GPU each, on the last node these."""
    published = [
        piece([gpu(index, attributes={"uuid": f"{name}-{index}"}) for index in range(3)], name) for name in NODES
    ]
    scene = Scene([*nodes(*NODES), *classes(), *published, *(claim(name, request("r")) for name in "abcdef")])
    taken = ["gpu-0", "gpu-1", "gpu-0", "gpu-1", *devices]
    for number, name in enumerate("abcdef"):
        node = NODES[number // 2]
        scene.place({name: allocation([result("r", taken[number], node)], selector=on(node))}, node)
    return scene


@pytest.mark.parametrize(
    ("devices", "wrong"), [(("gpu-0", "gpu-1"), []), (("gpu-1", "gpu-0"), []), (("gpu-0", "gpu-0"), ["default/f"])]
)
def test_what_follows_on_a_node_depends_on_what_is_there(devices, wrong):
    """DEV-1."""
    assert [one.claim for one in rows_of_two(*devices).violations()] == wrong


def test_after_a_broken_rule_a_node_is_judged_for_itself():
    """DEV-1: the sequence of the last node begins with a fault, and goes on like those of the others."""
    scene = rows_of_two("gpu-9", "gpu-1")
    assert [one.claim for one in scene.violations()] == ["default/e"]


def test_devices_in_use_tell_nodes_apart():
    """DEV-1."""
    scene = rows_of_two("gpu-0", "gpu-1")
    scene.objects.append(taken("x", result("r", "gpu-1", "n3")))
    assert [one.claim for one in scene.violations()] == ["default/f"]
