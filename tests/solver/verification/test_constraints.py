"""Constraints between the devices of a claim (section 13)."""

import pytest
from support.gates import without
from support.verification import GPU, NIC, allocation, claim, gpu, one_claim, piece, request, result, wanted

from drasat.scenarios import objects

MATCH, DISTINCT = "matchAttribute", "distinctAttribute"
VERSION = objects.version
NOTHING: dict[str, object] = {}


def constrained(kind, values, *, requests=None, attribute=f"{GPU}/x", **semantics):
    """Request r has devices with these values of an attribute (None: without it), in this order."""
    devices = [gpu(index) for index in range(len(values))]
    for device, value in zip(devices, values, strict=True):
        if value is not None:
            device["attributes"]["x"] = objects.attribute(value)
    given = [result("r", device["name"]) for device in devices]
    constraint = {kind: attribute, **objects.present(requests=requests), **semantics}
    return one_claim([piece(devices)], [request("r", len(values))], given, constraints=[constraint])


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        pytest.param([1, 1, 1], set(), id="CON-4 equal"),
        pytest.param([1, 1, 2], {"CON-7"}, id="CON-4 different"),
        pytest.param([1, "1"], {"CON-7"}, id="CON-4 different types"),
        pytest.param([1, True], {"CON-7"}, id="CON-4 true is not 1"),
        pytest.param([VERSION("1.0.0+a"), VERSION("1.0.0+b")], {"CON-7"}, id="CON-4 versions compare as text"),
        pytest.param(["1.0.0", VERSION("1.0.0")], {"CON-7"}, id="CON-4 a version is no string"),
        pytest.param([1, None], {"CON-3"}, id="CON-3 missing"),
        pytest.param([None], {"CON-3"}, id="CON-3 missing on the only device"),
        pytest.param([["a", "b"], ["b", "c"], "b"], set(), id="CON-7 one in common"),
        pytest.param([[1, 2], [2, 3], [3, 1]], {"CON-7"}, id="CON-7 pairwise is not enough"),
        pytest.param([[1, 2], ["1", "2"]], {"CON-7"}, id="CON-7 different base types"),
        pytest.param([NOTHING], {"CON-7"}, id="CON-8 no value"),
    ],
)
def test_devices_that_must_match(values, rules):
    """CON-4, CON-7"""
    scene = constrained(MATCH, values)
    if NOTHING in values:
        scene.asked()["deviceClassName"] = "any"  # an expression would fail on such a device
    assert scene.rules() == rules


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        pytest.param([1, 2, 3], set(), id="CON-5 different"),
        pytest.param([1, 2, 1], {"CON-7"}, id="CON-6 first and last are equal"),
        pytest.param([1, "1", True], set(), id="CON-5 different types"),
        pytest.param([1, None], {"CON-3"}, id="CON-3 missing"),
        pytest.param([[1, 2], [3], 4], set(), id="CON-7 disjoint"),
        pytest.param([[1, 2], [2, 3]], {"CON-7"}, id="CON-7 overlapping"),
        pytest.param([[1, 1], [2]], set(), id="CON-7 twice in one list"),
        pytest.param([[1], ["1"]], set(), id="CON-7 different base types"),
        pytest.param([NOTHING], {"CON-8"}, id="CON-8 no value on the only device"),
        pytest.param([1, NOTHING], {"CON-8"}, id="CON-8 no value on the second"),
    ],
)
def test_devices_that_must_differ(values, rules):
    """CON-5, CON-7"""
    scene = constrained(DISTINCT, values)
    if NOTHING in values:
        scene.asked()["deviceClassName"] = "any"
    assert scene.rules() == rules


@pytest.mark.parametrize(
    ("kind", "values", "rules"),
    [
        pytest.param(MATCH, [1, 1], set(), id="CON-4 equal"),
        pytest.param(MATCH, [1, 2], {"CON-4"}, id="CON-4 different"),
        pytest.param(MATCH, [[1], [1]], {"CON-9"}, id="CON-9 match of lists"),
        pytest.param(MATCH, [[1]], set(), id="CON-9 match of one list"),
        pytest.param(MATCH, [1, [1]], {"CON-9"}, id="CON-9 match of scalar and list"),
        pytest.param(DISTINCT, [1, 2], set(), id="CON-5 different"),
        pytest.param(DISTINCT, [1, 2, 1], {"CON-5"}, id="CON-5 equal"),
        pytest.param(DISTINCT, [[5], 2, 3], set(), id="CON-9 distinct, a list first"),
        pytest.param(DISTINCT, [[5], 2, 2], {"CON-5"}, id="CON-9 distinct, then equal"),
        pytest.param(DISTINCT, [2, [5]], {"CON-9"}, id="CON-9 distinct, a list second"),
        pytest.param(DISTINCT, [[5], [6]], {"CON-9"}, id="CON-9 distinct, two lists"),
    ],
)
def test_lists_while_their_feature_is_off(kind, values, rules):
    """CON-9"""
    scene = constrained(kind, values)
    scene.gates = without("DRAListTypeAttributes")
    assert scene.rules() == rules


def two_drivers(attribute, nic_attributes, kind=MATCH):
    """A GPU with ``x`` 1, and an interface with these attributes."""
    published = [
        piece([gpu(0, attributes={"x": 1})]),
        piece([objects.device("nic-0", nic_attributes)], "nic", "n1", NIC),
    ]
    given = [result("g", "gpu-0"), result("n", "nic-0", driver=NIC)]
    asked = [request("g"), request("n", class_name="any")]
    return one_claim(published, asked, given, constraints=[{kind: attribute}])


@pytest.mark.parametrize(
    ("attributes", "rules"),
    [
        pytest.param({f"{GPU}/x": 1}, set(), id="CON-2 qualified"),
        pytest.param({"x": 1}, {"CON-3"}, id="CON-2 bare, of another driver"),
        pytest.param({f"{NIC}/x": 1}, {"CON-3"}, id="CON-2 another domain"),
    ],
)
def test_bare_names_belong_to_the_driver(attributes, rules):
    assert two_drivers(f"{GPU}/x", attributes).rules() == rules


def test_the_qualified_spelling_comes_first():
    """CON-2, CEL-10"""
    scene = constrained(MATCH, [1, 2])
    for name in ("gpu-0", "gpu-1"):
        scene.device(name)["attributes"][f"{GPU}/x"] = objects.attribute(7)
    assert scene.rules() == set()


def pairs(requests):
    """Requests r (alternative s) and t, whose devices differ in x."""
    devices = [gpu(index, attributes={"x": index}) for index in range(2)]
    asked = [objects.first_available("r", [("s", wanted())]), request("t")]
    constraint = {MATCH: f"{GPU}/x", **objects.present(requests=requests)}
    given = [result("r/s", "gpu-0"), result("t", "gpu-1")]
    return one_claim([piece(devices)], asked, given, constraints=[constraint])


@pytest.mark.parametrize(
    ("requests", "rules"),
    [
        pytest.param([], {"CON-7"}, id="CON-1 all"),
        pytest.param(["r", "t"], {"CON-7"}, id="CON-1 by request"),
        pytest.param(["r/s", "t"], {"CON-7"}, id="CON-1 by alternative"),
        pytest.param(["r"], set(), id="CON-1 one request"),
        pytest.param(["r/other", "t"], set(), id="CON-1 an alternative that was not chosen"),
    ],
)
def test_a_constraint_is_for_the_requests_it_names(requests, rules):
    assert pairs(requests).rules() == rules


def test_constraints_do_not_look_across_claims():
    """CON-1"""
    scene = constrained(DISTINCT, [1])
    twin = gpu(1, attributes={"x": 1})
    scene.find("ResourceSlice", "n1")["spec"]["devices"].append(twin)
    scene.objects.append(claim("b", request("r"), constraints=[{DISTINCT: f"{GPU}/x"}]))
    scene.units[0]["claims"]["b"] = allocation([result("r", "gpu-1")])
    assert scene.rules() == set()


def test_with_both_attributes_only_the_match_counts():
    """CLM-2"""
    scene = constrained(MATCH, [1, 1])
    scene.claim()["constraints"][0][DISTINCT] = f"{GPU}/x"
    assert scene.rules() == set()


def derived(expression, name=f"{GPU}/x", kind=MATCH, values=(1, 2)):
    scene = constrained(kind, list(values))
    scene.asked()["derivedAttributes"] = [{"name": name, "expression": expression}]
    return scene


X = f'device.attributes["{GPU}"].x'


@pytest.mark.parametrize(
    ("expression", "rules"),
    [
        pytest.param(f"{X} / 3", set(), id="CON-12 equal once computed"),
        pytest.param(f"{X} + 1", {"CON-7"}, id="CON-12 different still"),
        pytest.param(f"[1, 2, 3].filter(x, x > {X})", set(), id="CON-12 list"),
        pytest.param('semver("1.2.3")', set(), id="CON-12 version"),
        pytest.param(f'semver("1.2.3+" + string({X}))', {"CON-7"}, id="CON-12 versions compare as text"),
        pytest.param(f"dyn(optional.of({X} / 3))", set(), id="CON-12 optional"),
        pytest.param("1.5", {"CON-12"}, id="CON-12 double"),
        pytest.param("dyn(1u)", {"CON-12"}, id="CON-12 unsigned"),
        pytest.param("[[1]]", {"CON-12"}, id="CON-12 list of lists"),
        pytest.param("[dyn(1), dyn('a')]", {"CON-12"}, id="CON-12 mixed list"),
        pytest.param("[1].filter(x, x > 1)", {"CON-7"}, id="CON-12 empty list"),
        pytest.param(f'device.attributes["{GPU}"].none', {"CON-12"}, id="CON-12 run-time error"),
        pytest.param("1 +", {"CON-12"}, id="CON-12 syntax error"),
    ],
)
def test_attributes_may_be_computed(expression, rules):
    assert derived(expression).rules() == rules


def test_only_the_full_name_of_a_derived_attribute_counts():
    """CON-12"""
    assert derived("1", name="x").rules() == {"CON-7"}


def test_derived_attributes_that_no_constraint_asks_for_are_not_computed():
    """CON-12"""
    assert derived("1 +", name=f"{GPU}/y", values=(1, 1)).rules() == set()


A, AB, BC, CA, CD = ["a"], ["a", "b"], ["b", "c"], ["c", "a"], ["c", "d"]


@pytest.mark.parametrize(
    ("mode", "options", "values", "rules"),
    [
        pytest.param("Identical", {}, [AB, AB], set(), id="SEM-3 equal lists"),
        pytest.param("Identical", {}, [AB, ["b", "a"]], {"SEM-3"}, id="SEM-3 another order"),
        pytest.param("Identical", {"listMode": "Set"}, [AB, ["b", "a", "b"]], set(), id="SEM-3 equal sets"),
        pytest.param("Identical", {}, ["a", A], {"SEM-3"}, id="SEM-2 a scalar is no list"),
        pytest.param("Identical", {"coerceScalarToList": True}, ["a", A], set(), id="SEM-2 made a list"),
        pytest.param("Identical", {}, [1, "1"], {"SEM-3"}, id="SEM-3 two types"),
        pytest.param("Identical", {}, [None, "a"], {"CON-3"}, id="CON-3 missing"),
        pytest.param("Identical", {}, [NOTHING], {"CON-3"}, id="CON-3 no value"),
        pytest.param("NonEmptyIntersection", {}, [AB, BC], set(), id="SEM-4 one in common"),
        pytest.param("NonEmptyIntersection", {"minSize": 2}, [AB, BC], {"SEM-4"}, id="SEM-4 not two"),
        pytest.param("NonEmptyIntersection", {}, [AB, BC, CA], {"SEM-4"}, id="SEM-4 pairwise is not enough"),
        pytest.param("NonEmptyIntersection", {}, ["a"], {"SEM-2"}, id="SEM-2 a scalar has no members"),
        pytest.param("AllDistinct", {}, [AB, ["b", "a"]], set(), id="SEM-5 lists differ in order"),
        pytest.param("AllDistinct", {"listMode": "Set"}, [AB, ["b", "a"]], {"SEM-5"}, id="SEM-5 equal sets"),
        pytest.param("PairwiseDisjoint", {}, [AB, CD], set(), id="SEM-5 disjoint"),
        pytest.param("PairwiseDisjoint", {}, [AB, CD, BC], {"SEM-5"}, id="SEM-5 two overlap"),
        pytest.param("PairwiseDisjoint", {}, ["a", A], {"SEM-2", "SEM-5"}, id="SEM-2 a scalar among lists"),
        pytest.param("EmptyIntersection", {}, [AB, BC, CA], set(), id="SEM-6 none in all"),
        pytest.param("EmptyIntersection", {}, [AB, BC], {"SEM-6"}, id="SEM-6 one in all"),
        pytest.param("EmptyIntersection", {}, [AB], {"SEM-6"}, id="SEM-6 a single device"),
        pytest.param("Nonsense", {}, [AB], {"SEM-1"}, id="SEM-1 no such mode"),
    ],
)
def test_semantics(mode, options, values, rules):
    matching = mode in ("Identical", "NonEmptyIntersection", "Nonsense")
    kind, spelling = (MATCH, "matchSemantics") if matching else (DISTINCT, "distinctSemantics")
    given = {"mode": mode, "options": {mode[0].lower() + mode[1:]: options}}
    for spelled in (spelling, "semantics"):
        scene = constrained(kind, values, **{spelled: given})
        if NOTHING in values:
            scene.asked()["deviceClassName"] = "any"
        assert scene.rules() == rules


def test_semantics_without_their_feature():
    """SEM-1"""
    scene = constrained(MATCH, ["a"], matchSemantics={"mode": "Identical"})
    assert scene.rules() == set()
    scene.gates = without("DRAListTypeAttributes")
    assert scene.rules() == {"SEM-1"}


def test_semantics_that_apply_to_no_device():
    """SEM-0"""
    semantics = {"mode": "EmptyIntersection"}
    assert constrained(DISTINCT, [AB], requests=["other"], distinctSemantics=semantics).rules() == set()
