"""Devices that a request may not have (sections 7 to 9)."""

import pytest
from support.gates import ALL, INCUBATING, STABLE, without
from support.verification import (
    GPU,
    allocation,
    chip,
    claim,
    everyday,
    gpu,
    held,
    one_claim,
    partition,
    piece,
    request,
    result,
    results,
    share_id,
    shared,
    way,
)

from drasat.scenarios import objects

MODEL = f'device.attributes["{GPU}"].model'


def in_use(scene):
    scene.objects.append(held("h", result("r", "gpu-1")))


def false_in_class(scene):
    scene.find("DeviceClass", "gpu")["spec"]["selectors"] += objects.selectors("false")


def false_in_request(scene):
    scene.asked()["selectors"] = objects.selectors(f'{MODEL} == "b"')


def false_on_one(scene):
    scene.device("gpu-1")["attributes"]["model"] = objects.attribute("c")
    scene.asked()["selectors"] = objects.selectors("true", f'{MODEL} == "a"')


def missing_key(scene):
    scene.asked()["selectors"] = objects.selectors(f'device.attributes["{GPU}"].rare == 1')


def not_an_expression(scene):
    scene.asked()["selectors"] = objects.selectors("1 +")


def not_boolean(scene):
    scene.asked()["selectors"] = objects.selectors("1")


def without_value(scene):
    """Nothing can be evaluated on the device, whatever it reads."""
    scene.device("gpu-0")["attributes"]["empty"] = {}


def binding_off(scene):
    scene.device("gpu-0").update(bindingConditions=["ready"], bindingFailureConditions=["broken"])
    scene.gates = without("DRADeviceBindingConditions")


def skips(scene):
    scene.find("ResourceSlice", "n1")["spec"]["skipNodeOperations"] = ["*"]
    for one in scene.results():
        one["skipNodeOperations"] = ["*"]


def skips_off(scene):
    scene.find("ResourceSlice", "n1")["spec"]["skipNodeOperations"] = ["*"]
    scene.gates = without("DRAOptionalNodeOperations")


def taint(scene, **fields):
    scene.device("gpu-0")["taints"] = [objects.taint("hot", **fields)]


def tolerate(scene, **fields):
    """Tolerate something in the claim and, as it must be, in the result."""
    scene.asked()["tolerations"] = [fields]
    for one in scene.results():
        one["tolerations"] = [fields]


def other_key(scene):
    taint(scene)
    tolerate(scene, key="old", operator="Exists")


def other_effect(scene):
    taint(scene, effect="NoExecute")
    tolerate(scene, key="hot", operator="Exists", effect="NoSchedule")


def other_value(scene):
    taint(scene, value="very")
    tolerate(scene, key="hot", value="hardly")


def tainted_by_rule(scene):
    scene.objects.append(objects.taint_rule("rule", objects.taint("hot"), device="gpu-0", pool="n1"))


def tainted_by_empty_selector(scene):
    scene.objects.append(objects.taint_rule("rule", objects.taint("hot")))
    scene.objects[-1]["spec"]["deviceSelector"] = {}


def rule_without_selector(scene):
    scene.objects.append(objects.taint_rule("rule", objects.taint("hot")))


def too_large(scene):
    scene.asked()["capacity"] = {"requests": {"memory": "41Gi"}}


def unknown_capacity(scene):
    scene.asked()["capacity"] = {"requests": {"bandwidth": "1"}}


def negative_capacity(scene):
    scene.device("gpu-0")["capacity"]["memory"]["value"] = "-1"


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("in use", in_use, "DEV-1"),
        way("binding conditions off", binding_off, "DEV-2"),
        way("class selector false", false_in_class, "DEV-3"),
        way("request selector false", false_in_request, "DEV-3"),
        way("second selector false on one device", false_on_one, "DEV-3"),
        way("missing key", missing_key, "CEL-6"),
        way("syntax error", not_an_expression, "CEL-6"),
        way("not boolean", not_boolean, "CEL-6"),
        way("attribute without value (CEL-3)", without_value, "CEL-6"),
        way("node cannot skip operations", skips, "DEV-9"),
        way("skipped operations off", skips_off, "DEV-9"),
        way("taint", taint, "DEV-10"),
        way("taint of another key", other_key, "DEV-10"),
        way("taint of another effect", other_effect, "DEV-10"),
        way("taint of another value", other_value, "DEV-10"),
        way("taint of a rule (TNT-5)", tainted_by_rule, "DEV-10"),
        way("taint of a rule for all (TNT-6)", tainted_by_empty_selector, "DEV-10"),
        way("more than the device has", too_large, "CAP-6"),
        way("capacity the device lacks", unknown_capacity, "CAP-2"),
        way("negative capacity", negative_capacity, "CAP-6"),
    ],
)
def test_devices_the_request_may_not_have(edit, rules):
    scene = everyday()
    edit(scene)
    assert scene.rules() == rules


def tolerated(scene):
    taint(scene, value="very")
    tolerate(scene, key="hot", value="very")


def harmless(scene):
    taint(scene, effect="None")


def taints_off(scene):
    taint(scene)
    scene.gates = without("DRADeviceTaints")


def rules_off(scene):
    tainted_by_rule(scene)
    scene.gates = without("DRADeviceTaintRules")


def can_skip(scene):
    skips(scene)
    scene.find("Node", "n1")["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}


def stable_skips(scene):
    scene.find("ResourceSlice", "n1")["spec"]["skipNodeOperations"] = ["*"]
    scene.gates = ALL.for_version("1.37")


def admin_holds(scene):
    scene.objects.append(held("h", result("r", "gpu-1", adminAccess=True)))


def guarded(scene):
    """CEL-8: what is false first keeps the error of a later selector away, but here nothing fails."""
    scene.asked()["selectors"] = objects.selectors(f'{MODEL} == "a" || device.attributes["{GPU}"].rare == 1')


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(tolerated, id="TNT-2 tolerated"),
        pytest.param(harmless, id="TNT-1 effect None"),
        pytest.param(taints_off, id="TNT-4 taints off"),
        pytest.param(rules_off, id="TNT-5 rules off"),
        pytest.param(rule_without_selector, id="TNT-6 a rule without selector"),
        pytest.param(can_skip, id="DEV-9 node can skip operations"),
        pytest.param(stable_skips, id="DEV-9 only experimental looks at skipped operations"),
        pytest.param(admin_holds, id="IN-3 held by an administrator"),
        pytest.param(guarded, id="CEL-8 guarded"),
    ],
)
def test_devices_the_request_may_have(edit):
    scene = everyday()
    edit(scene)
    assert scene.rules() == set()


@pytest.mark.parametrize(
    ("gates", "seen"),
    [
        pytest.param(ALL, True, id="experimental"),
        pytest.param(INCUBATING.with_({"DRAConsumableCapacity": False}), True, id="incubating, sharing off"),
        pytest.param(STABLE, False, id="stable"),
    ],
)
def test_what_expressions_see_of_sharing(gates, seen):
    """CEL-1, FEAT-3: the stable variant hides that a device may be shared."""
    sharing = objects.selectors("device.allowMultipleAllocations")
    copied = {"shareID": share_id(1), "consumedCapacity": {"memory": "10Gi"}} if gates.consumable_capacity else {}
    scene = one_claim([piece([shared("d")])], [request("r", selectors=sharing)], [result("r", "d", **copied)])
    scene.gates = gates
    assert scene.rules() == (set() if seen else {"DEV-3"})
    sharing[0]["cel"]["expression"] = "!device.allowMultipleAllocations"
    assert scene.rules() == ({"DEV-3"} if seen else set())


def twice(first, second, *, published=None, same_claim=True):
    """Requests r and s get one device, in one claim or in two of one unit."""
    fields = [{"adminAccess": True} if admin else {} for admin in (first, second)]
    published = published or [piece([gpu(0)])]
    name = published[0]["spec"]["devices"][0]["name"]
    taken = [result(request_name, name, **extra) for request_name, extra in zip("rs", fields, strict=True)]
    asked = [request(request_name, **extra) for request_name, extra in zip("rs", fields, strict=True)]
    if same_claim:
        return one_claim(published, asked, taken)
    scene = one_claim(published, asked[:1], taken[:1])
    scene.objects.append(claim("b", asked[1]))
    scene.units[0]["claims"]["b"] = allocation(taken[1:])
    return scene


@pytest.mark.parametrize(
    ("first", "second", "same_claim", "rules"),
    [
        pytest.param(False, False, True, {"DEV-1"}, id="DEV-1 two requests"),
        pytest.param(False, False, False, {"DEV-1"}, id="DEV-1 two claims"),
        pytest.param(True, False, True, {"DEV-1"}, id="DEV-1 admin, then normal"),
        pytest.param(True, False, False, {"DEV-1"}, id="DEV-1 admin, then normal in another claim"),
        pytest.param(False, True, True, {"DEV-1"}, id="DEV-1 normal, then admin in the same claim"),
        pytest.param(True, True, True, {"DEV-1"}, id="DEV-1 admin twice in one claim"),
        pytest.param(False, True, False, set(), id="DEV-1 normal, then admin in another claim"),
        pytest.param(True, True, False, set(), id="DEV-1 admin in two claims"),
    ],
)
def test_a_device_is_not_taken_twice(first, second, same_claim, rules):
    assert twice(first, second, same_claim=same_claim).rules() == rules


def test_a_unit_may_not_have_what_an_earlier_unit_took():
    """DEV-1"""
    scene = everyday()
    scene.objects.append(claim("b", request("r")))
    scene.place({"b": allocation(results("r", "gpu-2"))})
    assert scene.rules() == set()
    scene.results("b")[0]["device"] = "gpu-0"
    assert [(found.rule, found.claim) for found in scene.violations()] == [("DEV-1", "default/b")]


def test_a_unit_may_have_what_an_earlier_unit_only_administers():
    """IN-3"""
    scene = one_claim([piece([gpu(0)])], [request("r", adminAccess=True)], [result("r", "gpu-0", adminAccess=True)])
    scene.objects.append(claim("b", request("r")))
    assert scene.place({"b": allocation(results("r", "gpu-0"))}).rules() == set()


def test_an_administrator_may_have_a_device_in_use():
    """DEV-15: but tolerates its taints like anybody."""
    scene = one_claim([piece([gpu(0)])], [request("r", adminAccess=True)], [result("r", "gpu-0", adminAccess=True)])
    scene.objects.append(held("h", result("r", "gpu-0")))
    assert scene.rules() == set()
    taint(scene)
    assert scene.rules() == {"DEV-10"}


def test_a_request_needs_different_devices():
    """DEV-13: even of devices that many may share."""
    given = [result("r", "d", shareID=share_id(number), consumedCapacity={"memory": "1Gi"}) for number in (1, 2)]
    scene = one_claim([piece([shared("d")])], [request("r", 2, capacity={"requests": {"memory": "1Gi"}})], given)
    assert scene.rules() == {"DEV-13"}


def test_a_dedicated_hold_keeps_a_shared_device_to_itself():
    """CAP-10"""
    given = [result("r", "d", shareID=share_id(1), consumedCapacity={"memory": "10Gi"})]
    scene = one_claim([piece([shared("d")])], [request("r")], given)
    assert scene.rules() == set()
    scene.objects.append(held("h", result("r", "d")))
    assert scene.rules() == {"DEV-1"}


def test_partitions_need_their_feature():
    """DEV-7"""
    published = [piece([partition("half-a", 2), gpu(0)])]
    scene = one_claim(published, [request("r")], results("r", "gpu-0"))
    scene.gates = without("DRAPartitionableDevices")
    assert scene.rules() == set()
    scene.results()[0]["device"] = "half-a"
    assert scene.rules() == {"DEV-7"}


def test_a_message_names_claim_request_and_device():
    scene = one_claim(chip(), [request("r")], results("r", "half-a"))
    in_use_already = held("h", result("r", "half-a"))
    scene.objects.append(in_use_already)
    found = [str(violation) for violation in scene.violations()]
    assert found[0] == f"DEV-1: claim default/a: request r, device {GPU}/n1/half-a: the device is in use"
