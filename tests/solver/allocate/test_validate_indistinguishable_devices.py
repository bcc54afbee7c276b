"""What ``validate`` says of expressions over ``devices`` (CELC-1, CELC-5, CELC-6)."""

import json

import pytest
from support.manifests import obj

from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.allocate.validate import validate

COMPARING = "devices.all(d, devices.exists(e, d != e))"
PLAIN = "devices.all(d, d.attributes['d.x'].n == 1)"
LABEL = "drasat.dev/constraints"


def device(name, n=0, **more):
    return {"name": name, "attributes": {"n": {"int": n}}, **more}


def pool(*devices, name="p", node="n1", generation=1, **spec):
    where = {"nodeName": node} if node else {"allNodes": True}
    details = {"name": name, "generation": generation, "resourceSliceCount": 1}
    published = {"driver": "d.x", "pool": details, "devices": list(devices), **where, **spec}
    return obj("ResourceSlice", f"{name}-{node or 'all'}-{generation}", published)


def device_class(*selectors, name="any"):
    return obj("DeviceClass", name, {"selectors": [{"cel": {"expression": text}} for text in selectors]})


def request(name="r", class_name="any", *selectors):
    exactly = {"deviceClassName": class_name, "count": 2}
    return {"name": name, "exactly": exactly | {"selectors": [{"cel": {"expression": text}} for text in selectors]}}


def claim(*constraints, requests=None, annotated=()):
    devices = {"requests": requests or [request()], "constraints": list(constraints)}
    entries = {"CONSTRAINTS": json.dumps(annotated)} if annotated else {}
    return obj("ResourceClaim", "c", {"devices": devices}, namespace="ns", **entries)


def template(*constraints, **kwargs):
    made = claim(*constraints, **kwargs)
    return {**made, "kind": "ResourceClaimTemplate", "spec": {"spec": made["spec"]}}


def group(*constraints):
    return obj("ConstraintGroup", "g", {"claims": [{"name": "c"}], "constraints": list(constraints)}, namespace="ns")


def cel(expression, **more):
    return {"cel": {"expression": expression}, **more}


def told(*objects, skip=False):
    return [
        f"{'' if one.severity == 'error' else 'warning: '}{one.kind} {one.name}: {one.field}: {one.message}"
        for one in validate([list(objects)], FeatureGates.all_on(), skip_validation=skip)[0]
    ]


FIELD = "spec.devices.constraints[0].cel.expression"
ALIKE = "compares devices, and to it d.x/p/a and d.x/p/b are one: driver, attributes and capacity are equal"
TWINS = pool(device("a"), device("b"), device("c", 1))


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (claim(cel("devices.size()")), FIELD),
        (template(cel("devices.size()")), f"spec.{FIELD}"),
        (claim(annotated=[cel("devices.size()")]), f"metadata.annotations[{LABEL}][0].cel.expression"),
        (template(annotated=[cel("devices.size()")]), f"metadata.annotations[{LABEL}][0].cel.expression"),
        (group(cel("devices.size()")), "spec.constraints[0].cel.expression"),
    ],
    ids=["claim", "template", "annotation", "annotated template", "group"],
)
def test_expressions_are_compiled_wherever_they_stand(made, field):
    """CELC-1."""
    objects = [device_class(), made, *([claim()] if made["kind"] == "ConstraintGroup" else [])]
    (message,) = told(*objects)
    reason = 'Invalid value: "devices.size()": must evaluate to bool or the unknown type, not int'
    assert message == f"{made['kind']} ns/{made['metadata']['name']}: {field}: {reason}"


def test_the_first_field_that_is_unknown_is_told():
    (message,) = told(device_class(), claim(cel("devices.all(d, d.name == 'a')")))
    assert message.endswith("compilation failed: ERROR: <input>:1:17: undefined field 'name'")


def test_what_may_cost_too_much_is_refused():
    """CELC-6: 32 devices at most are estimated."""
    deep = "devices.all(a, devices.all(b, devices.all(c, devices.all(d, true))))"
    assert told(device_class(), claim(cel(deep))) == [
        f"ResourceClaim ns/c: {FIELD}: Forbidden: too complex, exceeds cost limit"
    ]
    assert told(device_class(), claim(cel(deep)), skip=True) == []


def test_too_long_an_expression_is_refused_for_that():
    """CELC-1."""
    (message,) = told(device_class(), claim(cel("devices.all(d, true)" + " " * 10240)))
    assert message == f"ResourceClaim ns/c: {FIELD}: Too long: may not be more than 10240 bytes"


def test_equal_devices_are_warned_of():
    """CELC-5."""
    assert told(TWINS, device_class(), claim(cel(COMPARING))) == [f"warning: ResourceClaim ns/c: {FIELD}: {ALIKE}"]


@pytest.mark.parametrize(
    ("made", "name", "field"),
    [
        (template(cel(COMPARING)), "c", f"spec.{FIELD}"),
        (claim(annotated=[cel(PLAIN), cel(COMPARING)]), "c", f"metadata.annotations[{LABEL}][1].cel.expression"),
    ],
    ids=["template", "annotation"],
)
def test_equal_devices_are_warned_of_wherever_the_expression_stands(made, name, field):
    assert told(TWINS, device_class(), made) == [f"warning: {made['kind']} ns/{name}: {field}: {ALIKE}"]


def test_claims_of_a_group_may_get_devices_of_several_nodes():
    far = [pool(device("a"), node="n1"), pool(device("b"), name="q", node="n2")]
    alike = ALIKE.replace("p/b", "q/b")
    assert told(*far, device_class(), claim(), group(cel(COMPARING))) == [
        f"warning: ConstraintGroup ns/g: spec.constraints[0].cel.expression: {alike}"
    ]
    assert told(*far, device_class(), claim(cel(COMPARING))) == []


@pytest.mark.parametrize(
    "slices",
    [
        [pool(device("a"), device("b", 1))],
        [pool(device("a"), device("b", allowMultipleAllocations=True))],
        [pool(device("a"), device("b", attributes={"n": {"bool": False}}))],
        [pool(device("a"), device("b", capacity={"m": {"value": "1"}}))],
        [pool(device("a")), pool(device("b"), name="q", node="n2")],
        [pool(device("a"), generation=1), pool(device("b"), generation=2)],
        [pool(device("a")), pool(device("b"), name="q", driver="other")],
    ],
    ids=["value", "shared", "type", "capacity", "node", "generation", "driver"],
)
def test_devices_that_differ_or_never_meet_are_not(slices):
    assert told(*slices, device_class(), claim(cel(COMPARING))) == []


@pytest.mark.parametrize(
    "slices",
    [
        [pool(device("a")), pool(device("b"), name="q", node="")],
        [pool(device("a"), node=""), pool(device("b"), name="q")],
        [pool(device("a", capacity={"m": {"value": "1Gi"}}), device("b", capacity={"m": {"value": "1024Mi"}}))],
        [
            pool(
                device("a", attributes={"d.x/n": {"int": 0}, "l": {"ints": [1]}}),
                device("b", attributes={"l": {"ints": [1]}, "n": {"int": 0}}),
            )
        ],
        [
            pool(
                device("a", nodeName="n1"),
                device("c", nodeName="n2"),
                device("b", nodeName="n1"),
                nodeName=None,
                perDeviceNodeSelection=True,
            )
        ],
    ],
    ids=["all nodes last", "all nodes first", "amount", "other spelling", "devices of nodes"],
)
def test_devices_that_are_equal_as_values_are(slices):
    (message,) = told(*slices, device_class(), claim(cel(COMPARING)))
    assert "d.x/p/a" in message
    assert "/b are one" in message


@pytest.mark.parametrize(
    ("classes", "made", "warned"),
    [
        ([device_class("device.driver == 'd.x'")], claim(cel(COMPARING)), True),
        ([device_class("device.driver == 'e.x'")], claim(cel(COMPARING)), False),
        ([device_class("device.nope")], claim(cel(COMPARING)), None),
        ([device_class()], claim(cel(COMPARING), requests=[request("r", "any", "device.driver == 'e.x'")]), False),
        ([device_class("device.attributes['d.x'].none == 1")], claim(cel(COMPARING)), False),
        (
            [device_class(), device_class("false", name="no")],
            claim(cel(COMPARING, requests=["s"]), requests=[request("r"), request("s", "no")]),
            False,
        ),
        (
            [device_class(), device_class("false", name="no")],
            claim(cel(COMPARING, requests=["r"]), requests=[request("r"), request("s", "no")]),
            True,
        ),
        ([device_class()], claim(cel(PLAIN)), False),
        (
            [device_class(), device_class("false", name="no")],
            claim(
                cel(COMPARING, requests=["r/two"]),
                requests=[
                    {
                        "name": "r",
                        "firstAvailable": [
                            {"name": "one", "deviceClassName": "no", "count": 2},
                            {"name": "two", "deviceClassName": "any", "count": 2},
                        ],
                    }
                ],
            ),
            True,
        ),
    ],
)
def test_only_devices_that_the_requests_may_get_count(classes, made, warned):
    messages = told(TWINS, *classes, made)
    if warned is None:
        assert not any("compares devices" in message for message in messages)
    else:
        assert [ALIKE in message for message in messages] == [True] * warned


def test_equal_claims_do_not_ask_for_the_same_again():
    many = [{**claim(cel(COMPARING)), "metadata": {"name": f"c{number}", "namespace": "ns"}} for number in range(50)]
    assert len(told(TWINS, device_class("device.driver == 'd.x'"), *many)) == 50
