"""Groups: entries over several claims and labels of nodes, on what claims hold in the end (CON-*, CELC-*, TOPO-*)."""

import pytest
from support.verification import GPU, Scene, allocation, claim, classes, gpu, on, piece, request, result, results

from drasat.models.workload.groups import GroupError
from drasat.scenarios import objects

NUMA, INDEX = f"{GPU}/numa", f"device.attributes['{GPU}'].index"
RACK = "rack"


def group(*entries, claims=("a", "b"), **spec):
    """A group of these claims; entries are as in the API."""
    chosen = {"claims": [{"name": name} for name in claims]}
    return {
        "kind": "ConstraintGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {**chosen, "constraints": list(entries), **spec},
    }


def scene(*groups, a=("gpu-0",), b=("gpu-1",), nodes=("n1", "n1"), racks=("x", "y"), before=(), more=()):
    """Claims a and b with GPUs of two nodes (0 and 1: numa 0; 2 and 3: numa 1); ``before``: those held already."""
    made = [objects.node(name, {RACK: rack} if rack else {}) for name, rack in zip(("n1", "n2"), racks, strict=True)]
    published = [piece([gpu(index) for index in range(4)], name) for name in ("n1", "n2")]
    found = Scene([*made, *classes(), *published, *groups, *more])
    for name, taken, node in zip("ab", (a, b), nodes, strict=True):
        asked = claim(name, request("r", len(taken)))
        made_now = allocation(results("r", *taken, pool=node), selector=on(node))
        if name in before:
            found.objects.append({**asked, "status": {"allocation": made_now}})
        else:
            found.objects.append(asked)
            found.place({name: made_now}, node=node)
    return found


def rules(found, **options):
    return [(one.rule, one.claim) for one in found.violations(groups=True, **options)]


MATCH = {"matchAttribute": NUMA}
APART = {"distinctAttribute": NUMA}


@pytest.mark.parametrize(
    ("entry", "taken", "broken"),
    [
        pytest.param(MATCH, "gpu-1", [], id="CON-4 equal"),
        pytest.param(MATCH, "gpu-2", ["CON-7"], id="CON-4 different"),
        pytest.param(APART, "gpu-1", ["CON-7"], id="CON-5 equal"),
        pytest.param(APART, "gpu-2", [], id="CON-5 different"),
        pytest.param({**MATCH, "requests": ["a/r"]}, "gpu-2", [], id="CON-1 only one claim is meant"),
        pytest.param({**MATCH, "requests": ["a/r", "b/r"]}, "gpu-2", ["CON-7"], id="CON-1 both claims are meant"),
        pytest.param({**MATCH, "requests": ["r"]}, "gpu-2", ["CON-7"], id="CON-1 a request of all claims"),
        pytest.param({**MATCH, "weight": 3}, "gpu-2", [], id="SOFT-1 a wish"),
        pytest.param({"matchAttribute": f"{GPU}/none"}, "gpu-2", ["CON-3", "CON-3"], id="CON-3 missing"),
        pytest.param(
            {**APART, "distinctSemantics": {"mode": "AllDistinct"}}, "gpu-1", ["SEM-5"], id="SEM-5 equal with semantics"
        ),
    ],
)
def test_attributes_are_compared_over_claims(entry, taken, broken):
    assert rules(scene(group(entry), b=[taken])) == [(rule, "") for rule in broken]


def test_without_groups_in_question_nothing_is_said():
    found = scene(group(MATCH), b=["gpu-2"])
    assert found.violations() == []


def test_the_group_and_the_entry_are_named():
    (found,) = scene(group({**MATCH, "name": "near"}), b=["gpu-2"]).violations(groups=True)
    assert str(found).startswith("CON-7: ConstraintGroup default/g, entry near: the devices have no value in common")


@pytest.mark.parametrize(
    ("expression", "broken"),
    [
        pytest.param("devices.size() == 3", [], id="CELC-2 all devices"),
        pytest.param(f"devices[0].attributes['{GPU}'].index == 2", [], id="CELC-7 claims are in the order of names"),
        pytest.param(f"devices[2].attributes['{GPU}'].index == 2", ["CELC-2"], id="CELC-7 not in the order placed"),
        pytest.param(f"devices[0].attributes['{GPU}'].nothing == 2", ["CELC-4"], id="CELC-4 an error"),
    ],
)
def test_expressions_are_evaluated_over_claims(expression, broken):
    entry = {"cel": {"expression": expression}}
    found = scene(group(entry, claims=("b", "a")), a=["gpu-2"], b=["gpu-0", "gpu-1"])
    found.units.reverse()
    assert rules(found) == [(rule, "") for rule in broken]


def test_what_is_held_already_counts():
    assert rules(scene(group(MATCH), before="b")) == []
    assert rules(scene(group(MATCH), b=["gpu-2"], before="b")) == [("CON-7", "")]


def test_what_all_claims_held_already_is_nobodys_fault():
    assert rules(scene(group(MATCH), b=["gpu-2"], before="ab")) == []
    assert rules(scene(group(MATCH, sameNodeLabel=RACK), b=["gpu-2"], nodes=("n1", "n2"), before="ab")) == []


def test_a_member_that_holds_nothing_is_left_aside():
    found = scene(group(MATCH), b=["gpu-2"])
    found.units.pop()
    assert rules(found) == []


def test_a_device_that_is_held_and_gone_is_left_aside():
    found = scene(group(MATCH), b=["gpu-9"], before="b")
    assert rules(found) == []


@pytest.mark.parametrize(
    ("racks", "nodes", "before", "broken"),
    [
        pytest.param(("x", "y"), ("n1", "n1"), "", [], id="NODE-2 one node"),
        pytest.param(("x", "x"), ("n1", "n2"), "", [], id="NODE-2 one value"),
        pytest.param(("x", "y"), ("n1", "n2"), "", ["NODE-2"], id="NODE-2 two values"),
        pytest.param((None, None), ("n1", "n2"), "", ["NODE-2"], id="NODE-2 no value"),
        pytest.param(("x", "x"), ("n1", "n2"), "b", [], id="NODE-2 the value of a claim from before"),
        pytest.param(("x", "y"), ("n1", "n2"), "b", ["NODE-2"], id="NODE-2 another value than a claim from before"),
    ],
)
def test_nodes_have_one_value_of_the_label(racks, nodes, before, broken):
    found = scene(group(sameNodeLabel=RACK), racks=racks, nodes=nodes, before=before)
    assert rules(found) == [(rule, "") for rule in broken]


def test_derived_attributes_are_compared():
    found = scene(group({"matchAttribute": f"{GPU}/half"}), b=["gpu-2"])
    for name in "ab":
        found.asked(name)["derivedAttributes"] = [{"name": f"{GPU}/half", "expression": f"{INDEX} / 2"}]
    assert rules(found) == [("CON-7", "")]


def topology(scope):
    spec = {"driver": GPU, "shape": "Line", "coordinates": [f"{GPU}/index"], "scope": scope}
    return {"kind": "DeviceTopology", "metadata": {"name": "line"}, "spec": spec}


def shape(**fields):
    return {"topology": {"name": "line", "shape": "Segment", **fields}}


@pytest.mark.parametrize(
    ("scope", "node", "taken", "broken"),
    [
        pytest.param("Node", "n1", "gpu-1", set(), id="TOPO-2 side by side on one node"),
        pytest.param("Node", "n1", "gpu-2", {"TOPO-2"}, id="TOPO-2 apart on one node"),
        pytest.param("Node", "n2", "gpu-1", {"TOPO-1"}, id="TOPO-1 on two nodes"),
        pytest.param("Pool", "n2", "gpu-1", {"TOPO-1"}, id="TOPO-1 of two pools"),
        pytest.param("Pool", "n1", "gpu-1", set(), id="TOPO-2 side by side in one pool"),
    ],
)
@pytest.mark.parametrize("before", ["", "b"])
def test_shapes_are_judged_over_claims(scope, node, taken, broken, before):
    found = scene(group(shape()), b=[taken], nodes=("n1", node), more=[topology(scope)], before=before)
    assert {rule for rule, _ in rules(found)} == broken


@pytest.mark.parametrize(("taken", "broken"), [("gpu-11", set()), ("gpu-13", {"TOPO-2"})])
def test_a_shape_of_the_cluster_spans_nodes(taken, broken):
    found = scene(group(shape()), a=["gpu-0"], more=[topology("Cluster")])
    far = [gpu(10 + index, attributes={"index": index}) for index in (1, 3)]
    found.find("ResourceSlice", "n1")["spec"]["devices"] = [gpu(0)]
    found.find("ResourceSlice", "n2")["spec"]["devices"] = far
    found.units[1] = {**found.units[1], "node": "n2", "claims": {"b": _one("n2", taken)}}
    assert {rule for rule, _ in rules(found)} == broken


def _one(node, device):
    return allocation([result("r", device, pool=node)], selector=on(node))


def test_a_topology_that_is_not_there():
    assert rules(scene(group(shape()))) == [("TOPO-1", "")]


def test_a_group_that_names_nobody_is_an_error():
    with pytest.raises(GroupError, match="default/c not found"):
        scene(group(MATCH, claims=("a", "c"))).violations(groups=True)
