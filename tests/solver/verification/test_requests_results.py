"""What an allocation repeats, and for which nodes it is (section 15)."""

import pytest
from support.gates import ALL, STABLE, without
from support.verification import GPU, everyday, gpu, on, one_claim, piece, request, result, results, wanted, way

from drasat.scenarios import objects

TOLERATION = {"key": "hot", "operator": "Exists"}


def full():
    """Everything that a result can repeat."""
    device = gpu(0, bindingConditions=["ready"], bindingFailureConditions=["broken"])
    published = piece([device])
    published["spec"]["skipNodeOperations"] = ["*"]
    given = result(
        "r", "gpu-0", adminAccess=True, tolerations=[TOLERATION], bindingConditions=["ready"],
        bindingFailureConditions=["broken"], skipNodeOperations=["*"],
    )  # fmt: skip
    asked = request("r", adminAccess=True, tolerations=[TOLERATION])
    scene = one_claim([published], [asked], [given])
    scene.find("Node", "n1")["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
    return scene


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adminAccess", None),
        ("adminAccess", False),
        ("tolerations", None),
        ("tolerations", [TOLERATION, TOLERATION]),
        ("tolerations", [{"key": "old", "operator": "Exists"}]),
        ("bindingConditions", None),
        ("bindingConditions", ["broken"]),
        ("bindingFailureConditions", None),
        ("skipNodeOperations", None),
        ("skipNodeOperations", ["NodeUnprepareResources"]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_copies_that_differ(field, value):
    """RES-2"""
    scene = full()
    assert scene.rules() == set()
    scene.results()[0][field] = value
    assert scene.rules() == {"RES-2"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adminAccess", True),
        ("tolerations", [TOLERATION]),
        ("bindingConditions", ["ready"]),
        ("bindingFailureConditions", ["broken"]),
        ("skipNodeOperations", ["*"]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_copies_of_nothing(field, value):
    """RES-2"""
    scene = everyday()
    scene.results()[0][field] = value
    assert scene.rules() == {"RES-2"}


def test_what_is_copied_depends_on_features():
    """RES-2, TNT-4: tolerations are copied though taints do not count."""
    scene = full()
    scene.gates = without("DRADeviceTaints")
    assert scene.rules() == set()
    scene.gates = ALL.for_version("1.37")
    assert scene.rules() == {"RES-2"}
    scene.results()[0].pop("skipNodeOperations")
    assert scene.rules() == set()


# Configuration.


def opaque(number):
    return objects.opaque(GPU, {"number": number})


def from_class(number, *requests):
    return {"source": "FromClass", **objects.present(requests=list(requests)), **opaque(number)}


def from_claim(number, *requests):
    return {"source": "FromClaim", **objects.present(requests=list(requests)), **opaque(number)}


def configured():
    """Requests r (of two alternatives, the second chosen) and t of class gpu, and u of class any."""
    asked = [objects.first_available("r", [("big", wanted(9)), ("small", wanted())]), request("t")]
    asked.append(request("u", class_name="any"))
    config = [
        opaque(1),
        {"requests": ["t"], **opaque(2)},
        {"requests": ["r/big"], **opaque(3)},
        {"requests": ["r/small", "r/big"], **opaque(4)},
        {"requests": ["r", "t", "u"], **opaque(5)},
    ]
    given = [result(name, f"gpu-{index}") for index, name in enumerate(["r/small", "t", "u"])]
    scene = one_claim(
        [piece([gpu(index) for index in range(3)])], asked, given, config=config, class_config=[opaque(7), opaque(8)]
    )
    scene.allocation()["devices"]["config"] = [
        from_class(7, "r/small", "t"),
        from_class(8, "r/small", "t"),
        from_claim(1),
        from_claim(2, "t"),
        from_claim(4, "r/small", "r/big"),
        from_claim(5),
    ]
    return scene


def config(scene):
    return scene.allocation()["devices"]["config"]


def drop_class_entry(scene):
    config(scene).pop(0)


def repeat_class_entry(scene):
    config(scene).insert(0, from_class(7, "r/small", "t"))


def swap_class_entries(scene):
    config(scene)[:2] = reversed(config(scene)[:2])


def claim_before_class(scene):
    config(scene).insert(0, config(scene).pop(2))


def drop_claim_entry(scene):
    config(scene).pop(3)


def add_claim_entry(scene):
    config(scene).insert(4, from_claim(3, "r/big"))


def change_parameters(scene):
    config(scene)[2]["opaque"]["parameters"] = {"number": 0}


def change_source(scene):
    config(scene)[-1]["source"] = "FromClass"


def forget_a_user(scene):
    config(scene)[0]["requests"] = ["t"]


def not_widened(scene):
    config(scene)[5]["requests"] = ["r", "t", "u"]


def widened_too_far(scene):
    config(scene)[3].pop("requests")


def narrowed(scene):
    config(scene)[4]["requests"] = ["r/small"]


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("class entry dropped", drop_class_entry, "RES-3"),
        way("class entry twice", repeat_class_entry, "RES-3"),
        way("class entries swapped", swap_class_entries, "RES-3"),
        way("claim before class", claim_before_class, "RES-3", "RES-4"),
        way("claim entry dropped", drop_claim_entry, "RES-4"),
        way("claim entry of another alternative", add_claim_entry, "RES-4"),
        way("other parameters", change_parameters, "RES-4"),
        way("wrong source", change_source, "RES-3", "RES-4"),
        way("a user of the class is missing", forget_a_user, "RES-5"),
        way("not widened to all", not_widened, "RES-5"),
        way("widened too far", widened_too_far, "RES-5"),
        way("narrowed to the chosen", narrowed, "RES-5"),
    ],
)
def test_configuration_that_differs(edit, rules):
    scene = configured()
    assert scene.rules() == set()
    edit(scene)
    assert scene.rules() == rules


def test_a_class_used_by_all_is_for_all():
    """RES-5"""
    scene = everyday()
    scene.find("DeviceClass", "gpu")["spec"]["config"] = [opaque(7)]
    scene.allocation()["devices"]["config"] = [from_class(7)]
    assert scene.rules() == set()
    scene.allocation()["devices"]["config"] = [from_class(7, "r")]
    assert scene.rules() == {"RES-5"}


# Node selectors.

ZONE = objects.on_nodes_with("zone", "x")
RACK = objects.on_nodes_with("rack", "1", "2")


def term(*requirements):
    return {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}


def requirement(key, *values, operator="In"):
    return {"key": key, "operator": operator, **objects.present(values=list(values))}


def spread(*places, selector, **fields):
    """One device from a slice at each of these places."""
    published = [piece([gpu(0, **fields)], f"s{number}", where=where) for number, where in enumerate(places)]
    given = [result("r", "gpu-0", f"s{number}") for number in range(len(places))]
    scene = one_claim(published, [request("r", len(places))], given, selector=selector)
    scene.find("Node", "n1")["metadata"]["labels"] |= {"zone": "x", "rack": "1"}
    return scene


IN_ZONE, IN_RACK = requirement("zone", "x"), requirement("rack", "1", "2")
EVERYWHERE = {"allNodes": True}


@pytest.mark.parametrize(
    ("places", "selector"),
    [
        pytest.param([EVERYWHERE], None, id="RES-7 all nodes"),
        pytest.param([ZONE], term(IN_ZONE), id="RES-7 zone"),
        pytest.param([ZONE, EVERYWHERE], term(IN_ZONE), id="RES-7 zone and all nodes"),
        pytest.param([ZONE, RACK], term(IN_ZONE, IN_RACK), id="RES-7 zone and rack"),
        pytest.param([ZONE, RACK], term(requirement("rack", "2", "1"), IN_ZONE), id="RES-7 in any order"),
        pytest.param([ZONE, ZONE], term(IN_ZONE), id="RES-7 zone once"),
        pytest.param([ZONE, objects.on_node("n1")], on(), id="RES-7 node"),
    ],
)
def test_node_selectors_say_what_the_devices_demand(places, selector):
    assert spread(*places, selector=selector).rules() == set()


@pytest.mark.parametrize(
    ("places", "selector"),
    [
        pytest.param([EVERYWHERE], on(), id="RES-7 too narrow"),
        pytest.param([EVERYWHERE], {"nodeSelectorTerms": []}, id="RES-7 without terms"),
        pytest.param([ZONE], None, id="RES-7 missing"),
        pytest.param([objects.on_node("n1")], None, id="RES-7 missing for a node"),
        pytest.param([objects.on_node("n1")], on("n2"), id="RES-7 another node"),
        pytest.param([ZONE], term(IN_ZONE, IN_RACK), id="RES-7 extra requirement"),
        pytest.param([ZONE, RACK], term(IN_ZONE), id="RES-7 requirement missing"),
        pytest.param([ZONE, ZONE], term(IN_ZONE, IN_ZONE), id="RES-7 requirement twice"),
        pytest.param([ZONE], term(requirement("zone", "y")), id="RES-7 another value"),
        pytest.param([ZONE], term(requirement("zone", operator="Exists")), id="RES-7 another operator"),
        pytest.param(
            [ZONE, RACK],
            {"nodeSelectorTerms": [*term(IN_ZONE)["nodeSelectorTerms"], *term(IN_RACK)["nodeSelectorTerms"]]},
            id="RES-7 two terms are an or",
        ),
    ],
)
def test_node_selectors_that_say_something_else(places, selector):
    assert spread(*places, selector=selector).rules() == {"RES-7"}


def test_a_device_may_bind_to_its_node():
    """RES-7"""
    assert spread(ZONE, selector=on(), bindsToNode=True).rules() == set()
    assert spread(ZONE, selector=term(IN_ZONE), bindsToNode=True).rules() == {"RES-7"}


def test_the_stable_variant_has_never_heard_of_devices_that_bind():
    """RES-7, FEAT-3"""
    scene = spread(ZONE, selector=term(IN_ZONE), bindsToNode=True)
    scene.gates = STABLE
    assert scene.rules() == set()
    scene.allocation()["nodeSelector"] = on()
    assert scene.rules() == {"RES-7"}


def test_devices_that_choose_their_nodes_are_asked_themselves():
    """RES-7"""
    scene = spread({"perDeviceNodeSelection": True}, selector=term(IN_ZONE), **ZONE)
    assert scene.rules() == set()
    scene.device("gpu-0", "s0").pop("nodeSelector")
    scene.device("gpu-0", "s0")["allNodes"] = True
    assert scene.rules() == {"RES-7"}


def test_selectors_of_two_terms_cannot_be_combined():
    """RES-7: the allocation is an error, whatever it says."""
    scene = spread({"perDeviceNodeSelection": True}, selector=term(IN_ZONE), **ZONE)
    terms = scene.device("gpu-0", "s0")["nodeSelector"]["nodeSelectorTerms"]
    terms.append(terms[0])
    assert scene.rules() == {"RES-7"}


def test_the_fields_of_other_objects_do_not_matter():
    """RES-8: a time of allocation is no error."""
    scene = everyday()
    scene.allocation()["allocationTimestamp"] = "2026-01-01T00:00:00Z"
    assert scene.rules() == set()
    scene.results()[:] = results("r", "gpu-0", "gpu-1")
    assert scene.rules() == set()
