"""Node selectors and node fit."""

import pytest
from support.model_objects import expression, node, required, selector, term

from drasat.models.cluster.node_fit import (
    NODE_FILTERS,
    SelectorError,
    node_matches,
    pod_fits,
    selector_test,
    term_matches,
)
from drasat.models.kubernetes.core import PodSpec, Taint, Toleration

NODE = node("n1", {"zone": "a", "gpus": "8", "odd": "many"})
NAME = "metadata.name"


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (("zone", "In", "a", "b"), True),
        (("zone", "In", "b"), False),
        (("rack", "In", "a"), False),
        (("zone", "NotIn", "b"), True),
        (("zone", "NotIn", "a"), False),
        (("rack", "NotIn", "a"), True),
        (("zone", "Exists"), True),
        (("rack", "Exists"), False),
        (("rack", "DoesNotExist"), True),
        (("zone", "DoesNotExist"), False),
        (("gpus", "Gt", "7"), True),
        (("gpus", "Gt", "8"), False),
        (("gpus", "Lt", "9"), True),
        (("gpus", "Lt", "8"), False),
        (("odd", "Gt", "1"), False),
        (("odd", "Lt", "1"), False),
        (("rack", "Gt", "0"), False),
    ],
)
def test_operators_on_labels(requirement, expected):
    """NODE-2."""
    assert term_matches(term(expression(*requirement)), NODE) is expected


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ((NAME, "In", "n1"), True),
        ((NAME, "In", "n2"), False),
        ((NAME, "NotIn", "n2"), True),
        ((NAME, "NotIn", "n1"), False),
        (("spec.unschedulable", "In", "true"), False),
        (("spec.unschedulable", "NotIn", "true"), True),
    ],
)
def test_the_node_name_is_the_only_field(requirement, expected):
    """NODE-2: others are empty, and no error."""
    assert term_matches(term(fields=[expression(*requirement)]), NODE) is expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ((), False),
        ((term(),), False),
        ((term(), term(expression("zone", "Exists"))), True),
        ((term(expression("zone", "In", "b")), term(expression("zone", "In", "a"))), True),
        ((term(expression("zone", "In", "a"), expression("gpus", "In", "4")),), False),
        ((term(expression("zone", "In", "a"), fields=[expression(NAME, "In", "n2")]),), False),
        ((term(expression("zone", "In", "a"), fields=[expression(NAME, "In", "n1")]),), True),
    ],
)
def test_terms_are_alternatives_of_conjunctions(terms, expected):
    """NODE-2."""
    assert node_matches(selector(*terms), NODE) is expected


def test_no_selector_restricts_nothing():
    assert node_matches(None, NODE)


def test_a_node_without_labels():
    assert node_matches(selector(term(expression("zone", "DoesNotExist"))), node("n2"))
    assert not node_matches(selector(term(expression("zone", "Exists"))), node("n2"))


@pytest.mark.parametrize(
    "broken",
    [
        term(expression("zone", "In")),
        term(expression("zone", "Exists", "a")),
        term(expression("gpus", "Gt", "eight")),
        term(expression("gpus", "Gt", "1", "2")),
        term(expression("gpus", "Gt", "-5")),
        term(expression("zone", "Near", "a")),
        term(expression("not a key", "Exists")),
        term(expression("zone", "In", "not a value")),
        term(fields=[expression(NAME, "In", "n1", "n2")]),
        term(fields=[expression(NAME, "In")]),
        term(fields=[expression(NAME, "Exists")]),
    ],
)
def test_an_unparsable_term_is_an_error_even_beside_one_that_holds(broken):
    """NODE-2: fatal, so not hidden by another term."""
    with pytest.raises(SelectorError, match="node selector"):
        node_matches(selector(term(expression("zone", "Exists")), broken), NODE)


def test_equal_selectors_are_compiled_once():
    first, second = (selector(term(expression("zone", "In", "compiled-once"))) for _ in range(2))
    assert selector_test(first) is selector_test(second)


def ids(spec, there=NODE):
    return [misfit.id for misfit in pod_fits(spec, there)]


DEDICATED = Taint(key="dedicated", value="ml", effect="NoSchedule")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PodSpec(), []),
        (PodSpec(node_name="n1"), []),
        (PodSpec(node_name="n2"), ["nodeName"]),
        (PodSpec(node_name=""), []),
        (PodSpec(node_selector={"zone": "a", "gpus": "8"}), []),
        (PodSpec(node_selector={"zone": "a", "gpus": "4"}), ["nodeSelector"]),
        (PodSpec(node_selector={"rack": ""}), ["nodeSelector"]),
        (PodSpec(affinity=required(term(expression("zone", "In", "a")))), []),
        (PodSpec(affinity=required(term(expression("zone", "In", "b")))), ["nodeAffinity"]),
        (PodSpec(affinity=required()), ["nodeAffinity"]),
        (
            PodSpec(node_selector={"zone": "b"}, affinity=required(term(expression("zone", "In", "b")))),
            ["nodeSelector", "nodeAffinity"],
        ),
    ],
)
def test_where_a_pod_wants_to_be(spec, expected):
    assert ids(spec) == expected


def test_an_unparsable_affinity_term_just_does_not_hold():
    broken = term(expression("zone", "Near"))
    assert ids(PodSpec(affinity=required(broken))) == ["nodeAffinity"]
    assert ids(PodSpec(affinity=required(broken, term(expression("zone", "Exists"))))) == []


@pytest.mark.parametrize(
    ("taint", "toleration", "fits"),
    [
        (DEDICATED, None, False),
        (DEDICATED, Toleration(key="dedicated", value="ml"), True),
        (DEDICATED, Toleration(key="dedicated", operator="Equal", value="ml", effect="NoSchedule"), True),
        (DEDICATED, Toleration(key="dedicated", value="web"), False),
        (DEDICATED, Toleration(key="dedicated", operator="Exists"), True),
        (DEDICATED, Toleration(key="other", operator="Exists"), False),
        (DEDICATED, Toleration(operator="Exists"), True),
        (DEDICATED, Toleration(operator="Exists", effect="NoExecute"), False),
        (DEDICATED, Toleration(key="dedicated", operator="Like", value="ml"), False),
        (Taint(key="x", effect="NoExecute"), None, False),
        (Taint(key="x", effect="PreferNoSchedule"), None, True),
    ],
)
def test_node_taints_and_tolerations(taint, toleration, fits):
    spec = PodSpec(tolerations=(toleration,) if toleration else None)
    assert ids(spec, node(taints=(taint,))) == ([] if fits else ["nodeTaint"])


def test_every_taint_needs_its_toleration():
    there = node(taints=(DEDICATED, Taint(key="b", effect="NoExecute")))
    misfits = pod_fits(PodSpec(tolerations=(Toleration(key="dedicated", operator="Exists"),)), there)
    assert [misfit.message for misfit in misfits] == ["node(s) had untolerated taint {b: }"]


def test_an_unschedulable_node_can_be_tolerated():
    there = node(unschedulable=True)
    tolerant = PodSpec(tolerations=(Toleration(key="node.kubernetes.io/unschedulable", operator="Exists"),))
    assert ids(PodSpec(), there) == ["nodeUnschedulable"]
    assert ids(tolerant, there) == []


def test_a_pod_on_its_node_is_only_driven_away_by_no_execute():
    bound = PodSpec(node_name="n1")
    assert ids(bound, node(unschedulable=True, taints=(DEDICATED,))) == []
    assert ids(bound, node(taints=(Taint(key="x", effect="NoExecute"),))) == ["nodeTaint"]


def test_all_misfits_are_told_in_the_filters_order():
    spec = PodSpec(node_selector={"zone": "b"}, affinity=required())
    assert ids(spec, node(unschedulable=True, taints=(DEDICATED,))) == [
        "nodeSelector",
        "nodeAffinity",
        "nodeUnschedulable",
        "nodeTaint",
    ]
    assert next(id_ for id_, _ in NODE_FILTERS) == "nodeName"


def test_messages_name_what_is_missing():
    spec = PodSpec(node_name="n9", node_selector={"zone": "b", "rack": "1"})
    assert [str(misfit.message) for misfit in pod_fits(spec, NODE)] == [
        "node(s) didn't match the requested node name n9",
        "node(s) didn't match Pod's node affinity/selector: no label zone=b, rack=1",
    ]
