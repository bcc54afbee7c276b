"""Results that do not answer what the claim asks for (sections 6 and 14)."""

import pytest
from support.gates import ALL, without
from support.verification import (
    GPU,
    Scene,
    allocation,
    claim,
    classes,
    everyday,
    everything,
    gpu,
    held,
    nodes,
    one_claim,
    piece,
    request,
    result,
    results,
    wanted,
    way,
)

from drasat.scenarios import objects

MODEL_A = f'device.attributes["{GPU}"].model == "a"'
RARE = f'device.attributes["{GPU}"].rare == 1'


def four():
    """Two GPUs of model a, two of model b."""
    return piece([gpu(index) for index in range(4)])


def one_device_less(scene):
    scene.results().pop()


def one_device_more(scene):
    scene.results().append(result("r", "gpu-2"))


def no_results(scene):
    scene.allocation()["devices"] = {}
    scene.allocation().pop("nodeSelector")


def unasked(scene):
    scene.results().append(result("other", "gpu-2"))


def alternative_of_an_exact_request(scene):
    scene.results()[1]["request"] = "r/s"


def unknown_class(scene):
    scene.asked()["deviceClassName"] = "none"


def unknown_mode(scene):
    scene.asked()["allocationMode"] = "Some"


def empty_selector(scene):
    scene.asked()["selectors"] = [{}]


def empty_class_selector(scene):
    scene.find("DeviceClass", "gpu")["spec"]["selectors"].append({})


def nothing_asked(scene):
    """A request in neither form."""
    scene.claim()["requests"][0].pop("exactly")


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("one device too few", one_device_less, "PRE-7"),
        way("one device too many", one_device_more, "PRE-7"),
        way("no devices", no_results, "PRE-7"),
        way("request the claim does not have", unasked, "RES-1"),
        way("alternative the claim does not have", alternative_of_an_exact_request, "RES-1", "PRE-7"),
        way("unknown class", unknown_class, "PRE-6"),
        way("unknown mode", unknown_mode, "PRE-10"),
        way("selector without expression", empty_selector, "PRE-4"),
        way("class selector without expression", empty_class_selector, "PRE-4"),
        way("request in no form", nothing_asked, "SRCH-4", "RES-1"),
    ],
)
def test_results_that_do_not_answer_the_request(edit, rules):
    scene = everyday()
    edit(scene)
    assert scene.rules() == rules


def test_results_come_in_the_order_of_the_requests():
    """RES-1"""
    scene = one_claim([four()], [request("r"), request("s")], [result("r", "gpu-0"), result("s", "gpu-1")])
    assert scene.rules() == set()
    scene.results().reverse()
    assert scene.rules() == {"RES-1"}


def test_a_claim_has_at_most_32_devices():
    """PRE-11"""
    published = [piece([gpu(index) for index in range(33)])]
    given = results("r", *(f"gpu-{index}" for index in range(32)))
    scene = one_claim(published, [request("r", 32)], given)
    assert scene.rules() == set()
    scene.asked()["count"] = 33
    scene.results().append(result("r", "gpu-32"))
    assert scene.rules() == {"PRE-11"}


def test_a_claim_without_requests_gets_nothing():
    """PRE-13"""
    scene = one_claim([four()], [], [], selector=None)
    assert scene.rules() == set()
    scene.allocation()["devices"] = {"results": results("r", "gpu-0")}
    assert scene.rules() == {"RES-1"}


def alternatives(*taken):
    """Two of model a, or else one of any model; then one more."""
    preferred = ("two", wanted(2, selectors=objects.selectors(MODEL_A)))
    asked = [objects.first_available("r", [preferred, ("one", wanted())]), request("s")]
    return one_claim([four()], asked, taken)


@pytest.mark.parametrize(
    ("taken", "rules"),
    [
        pytest.param([("r/two", 0), ("r/two", 1), ("s", 2)], set(), id="SRCH-4 the first alternative"),
        pytest.param([("r/one", 3), ("s", 2)], set(), id="SRCH-4 the second alternative"),
        pytest.param([("r/two", 0), ("r/two", 1), ("r/one", 3), ("s", 2)], {"SRCH-4"}, id="SRCH-4 both"),
        pytest.param([("s", 2)], {"SRCH-4"}, id="SRCH-4 none"),
        pytest.param([("r/two", 0), ("s", 2)], {"PRE-7"}, id="PRE-7 half of an alternative"),
        pytest.param([("r/two", 0), ("r/two", 3), ("s", 2)], {"DEV-3"}, id="DEV-3 the alternative's own selector"),
        pytest.param([("r/three", 0), ("s", 2)], {"RES-1", "SRCH-4"}, id="RES-1 unknown alternative"),
        pytest.param([("r", 0), ("s", 2)], {"RES-1", "SRCH-4"}, id="RES-1 no alternative named"),
        pytest.param([("s", 2), ("r/one", 3)], {"RES-1"}, id="RES-1 order"),
    ],
)
def test_a_list_is_answered_by_one_alternative(taken, rules):
    assert alternatives(*(result(name, f"gpu-{index}") for name, index in taken)).rules() == rules


def test_alternatives_that_were_not_chosen_must_be_possible_too():
    """PRE-6: whatever comes of them."""
    scene = alternatives(result("r/one", "gpu-3"), result("s", "gpu-2"))
    scene.claim()["requests"][0]["firstAvailable"][0]["deviceClassName"] = "none"
    assert scene.rules() == {"PRE-6"}


@pytest.mark.parametrize(
    ("gate", "fields", "rule"),
    [
        pytest.param("DRAConsumableCapacity", {"capacity": {}}, "PRE-2", id="PRE-2"),
        pytest.param("DRAAdminAccess", {"adminAccess": False}, "PRE-5", id="PRE-5"),
        pytest.param(
            "DRADerivedAttributes", {"derivedAttributes": [{"name": "a.io/x", "expression": "1"}]}, "PRE-3", id="PRE-3"
        ),
    ],
)
def test_requests_may_not_use_features_that_are_off(gate, fields, rule):
    scene = everyday()
    scene.asked().update(fields)
    assert scene.rules() == set()
    scene.gates = without(gate)
    assert scene.rules() == {rule}


def test_lists_need_their_feature():
    """PRE-1"""
    scene = alternatives(result("r/one", "gpu-3"), result("s", "gpu-2"))
    scene.gates = without("DRAPrioritizedList")
    assert scene.rules() == {"PRE-1"}


@pytest.mark.parametrize(
    ("constraint", "gates", "rules"),
    [
        pytest.param({}, ALL, {"PRE-12"}, id="PRE-12 no type"),
        pytest.param({"distinctAttribute": f"{GPU}/index"}, ALL, set(), id="PRE-12 distinct"),
        pytest.param(
            {"distinctAttribute": f"{GPU}/index"}, ALL.with_({"AllAlpha": False, "AllBeta": False}), {"PRE-12"},
            id="PRE-12 distinct in stable",
        ),
    ],
)  # fmt: skip
def test_constraints_need_a_known_type(constraint, gates, rules):
    scene = everyday()
    scene.claim()["constraints"] = [constraint]
    scene.gates = gates
    assert scene.rules() == rules


# Requests for all devices.


def all_of_model_a(*devices, **fields):
    asked = objects.exactly("r", everything(selectors=objects.selectors(MODEL_A), **fields))
    return one_claim([four()], [asked], results("r", *devices))


def test_all_devices_are_all_that_are_selected():
    """PRE-8"""
    assert all_of_model_a("gpu-0", "gpu-1").rules() == set()
    assert all_of_model_a("gpu-0").rules() == {"PRE-8"}
    assert all_of_model_a("gpu-0", "gpu-1", "gpu-2").rules() == {"DEV-3"}


def held_by_another(scene):
    scene.objects.append(held("h", result("r", "gpu-1")))


def tainted(scene):
    scene.device("gpu-1")["taints"] = [objects.taint("hot")]


def consuming(scene):
    scene.device("gpu-1")["consumesCounters"] = [objects.consumption("chip", {"slices": 1})]
    scene.gates = without("DRAPartitionableDevices")


def skipping(scene):
    scene.objects.append(piece([gpu(0)], "n1-skip", "skip", where=objects.on_node("n1")))
    scene.objects[-1]["spec"]["skipNodeOperations"] = ["*"]


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(held_by_another, id="SRCH-6 in use"),
        pytest.param(tainted, id="TNT-3 tainted"),
        pytest.param(consuming, id="DEV-7 counters off"),
        pytest.param(skipping, id="DEV-9 cannot skip operations"),
    ],
)
def test_all_devices_include_those_that_cannot_be_had(edit):
    """PRE-8, SRCH-6: such a device fails the request, it cannot be left out."""
    scene = all_of_model_a("gpu-0")
    edit(scene)
    assert scene.rules() == {"PRE-8"}


def binding(scene):
    scene.device("gpu-1").update(bindingConditions=["ready"], bindingFailureConditions=["broken"])
    scene.gates = without("DRADeviceBindingConditions")


def too_small(scene):
    scene.device("gpu-1")["capacity"]["memory"]["value"] = "1Gi"
    scene.asked()["capacity"] = {"requests": {"memory": "2Gi"}}


def without_capacity(scene):
    scene.device("gpu-1").pop("capacity")
    scene.asked()["capacity"] = {"requests": {"memory": "2Gi"}}


def elsewhere(scene):
    spec = scene.find("ResourceSlice", "n1")["spec"]
    spec.pop("nodeName")
    spec["perDeviceNodeSelection"] = True
    for device in spec["devices"]:
        device["nodeName"] = "n2" if device["name"] == "gpu-1" else "n1"


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(binding, id="DEV-2 binding conditions off"),
        pytest.param(too_small, id="PRE-9 too small"),
        pytest.param(without_capacity, id="PRE-9 without the capacity"),
        pytest.param(elsewhere, id="DEV-4 for another node"),
    ],
)
def test_all_devices_leave_out_what_does_not_match(edit):
    """PRE-8, PRE-9"""
    scene = all_of_model_a("gpu-0")
    edit(scene)
    assert scene.rules() == set()


def test_all_devices_of_nothing_is_no_answer():
    """SRCH-6"""
    scene = all_of_model_a()
    for device in scene.find("ResourceSlice", "n1")["spec"]["devices"]:
        device["attributes"]["model"] = objects.attribute("b")
    scene.allocation().pop("nodeSelector")
    assert scene.rules() == {"SRCH-6"}


@pytest.mark.parametrize("kind", ["incomplete", "invalid", "obsolete", "unseen"])
@pytest.mark.parametrize("chosen", [True, False], ids=["chosen", "alternative"])
def test_all_devices_need_pools_in_order(kind, chosen):
    """PRE-8: of any driver, and even where another alternative is taken; POOL-5, POOL-14: but they must be seen."""
    other = piece([gpu(0)], "other", "other", "nic.example.com", objects.on_node("n1"), count=1 + (kind != "invalid"))
    strays = []
    if kind == "invalid":
        other["spec"]["devices"] *= 2
    if kind == "obsolete":
        strays.append(piece([], "newer", "other", "nic.example.com", objects.on_node("n2"), generation=2))
    if kind == "unseen":
        other["spec"]["nodeName"] = "n2"
    if chosen:
        asked, given = objects.exactly("r", everything()), results("r", "gpu-0")
    else:
        asked = objects.first_available("r", [("one", wanted()), ("all", everything())])
        given = results("r/one", "gpu-0")
    scene = one_claim([piece([gpu(0)]), other, *strays], [asked], given)
    assert scene.rules() == ({"PRE-8"} if kind in ("incomplete", "invalid") else set())


@pytest.mark.parametrize(
    ("policy", "rules"), [("kube", {"CEL-6"}), ("strict", {"CEL-6"}), ("skip", set())], ids=["kube", "strict", "skip"]
)
def test_a_device_with_an_error_may_be_left_out_only_where_errors_are_skipped(policy, rules):
    """CEL-7"""
    scene = all_of_model_a("gpu-0")
    scene.asked()["selectors"] = objects.selectors(MODEL_A, RARE)
    scene.device("gpu-0")["attributes"]["rare"] = objects.attribute(1)
    assert scene.rules(cel_errors=policy) == rules


def test_a_negative_capacity_stops_a_request_for_all_devices():
    """CAP-6"""
    scene = all_of_model_a("gpu-0")
    scene.device("gpu-1")["capacity"]["memory"]["value"] = "-1"
    assert scene.rules() == {"CAP-6"}


def test_all_devices_are_listed_once_for_many_units():
    """PRE-8: what is published for all nodes is seen from each of them."""
    everywhere = piece([gpu(0), gpu(1)], "net", where={"allNodes": True})
    asked = objects.exactly("r", everything(selectors=objects.selectors(f'device.attributes["{GPU}"].index == 0')))
    scene = Scene([*nodes("n1", "n2"), *classes(), everywhere, claim("a", asked), claim("b", asked)])
    scene.place({"a": allocation([result("r", "gpu-0", "net")], selector=None)})
    assert scene.rules() == set()
    scene.place({"b": allocation([result("r", "gpu-1", "net")], selector=None)}, node="n2")
    assert scene.rules() == {"DEV-3", "PRE-8"}
