"""Rules of ConstraintGroups, and the claims and pods that they name."""

import pytest
from support.validation import CLAIM, DROP, GROUP, POD, assert_problems, problems, row

from .test_references import found

ENTRY = {"matchAttribute": "a/b"}
CHOSEN = "at least one of `claims`, `claimSelector`, `pods` or `podSelector` is required"


def selector(**fields):
    return {"spec podSelector": fields}


def expression(operator, *values, key="app"):
    return selector(matchExpressions=[{"key": key, "operator": operator, "values": list(values)}])


def requests(*names):
    return {"spec constraints": [{**ENTRY, "requests": list(names)}]}


GROUPS = [
    row("group of names", {"spec constraints": [ENTRY]}),
    row("group by label", {"spec constraints": DROP, "spec sameNodeLabel": "topology.kubernetes.io/rack"}),
    row("group without claims", {"spec claims": DROP}, f"structure spec: Required value: {CHOSEN}"),
    row("group with no claims", {"spec claims": []}, f"structure spec: Required value: {CHOSEN}"),
    row("group of everything", {"spec claims": DROP, **selector()}),
    row("group claim", {"spec claims 0 name": "A"}, 'spec.claims[0].name: Invalid value: "A"'),
    row("group claim without name", {"spec claims 0": {}}, "spec.claims[0].name: Required value"),
    row("group claim twice", {"spec claims": [{"name": "a"}] * 2}, 'spec.claims[1].name: Duplicate value: "a"'),
    row("group pod", {"spec pods": [{"name": "p", "claims": ["gpu"]}]}),
    row("group pod name", {"spec pods": [{"name": "P"}]}, 'spec.pods[0].name: Invalid value: "P"'),
    row("group pod entry", {"spec pods": [{"name": "p", "claims": ["G"]}]}, "spec.pods[0].claims[0]: Invalid value"),
    row(
        "group pod without name",
        {"spec pods": [{"claims": ["gpu"]}]},
        "structure spec.pods[0].name: Required value: without a `podSelector`",
    ),
    row("group pods selected", {"spec pods": [{"claims": ["gpu"]}], **selector(matchLabels={"app": "x"})}),
    row("group selector", expression("In", "x")),
    row(
        "group selector operator",
        expression("Gt", "1"),
        'structure spec.podSelector.matchExpressions[0].operator: Unsupported value: "Gt"',
    ),
    row("group selector values", expression("In"), "structure spec.podSelector: Invalid value: In of label app needs"),
    row("group selector key", expression("Exists", key="a b"), "structure spec.podSelector: Invalid value: 'a b' is"),
    row(
        "group selector label",
        selector(matchLabels={"app": "x y"}),
        "structure spec.podSelector: Invalid value: 'x y' is not a valid label value",
    ),
    row("group node label", {"spec sameNodeLabel": "a b"}, 'spec.sameNodeLabel: Invalid value: "a b"'),
    row(
        "group about nothing",
        {"spec constraints": []},
        "structure spec: Required value: at least one of `constraints` or `sameNodeLabel` is required",
    ),
    row("group entry", {"spec constraints": [{"weight": 1}]}, "structure spec.constraints[0]: Required value"),
    row("group requests", requests("gpu", "claim/gpu", "a.b/any/first")),
    row("group request shape", requests("G"), 'spec.constraints[0].requests[0]: Invalid value: "G": must be the name'),
    row("group request depth", requests("a/b/c/d"), "spec.constraints[0].requests[0]: Invalid value"),
    row("group request of nobody", requests("/b"), "spec.constraints[0].requests[0]: Invalid value"),
    row("group request twice", requests("a", "a"), 'spec.constraints[0].requests[1]: Duplicate value: "a"'),
]


@pytest.mark.parametrize(("edits", "expected"), GROUPS)
def test_groups(edits, expected):
    assert_problems(problems("ConstraintGroup", edits), expected)


def missing(*others, **spec):
    edits = {f"spec {name}": value for name, value in spec.items()}
    return [problem for problem in found(*others, ("ConstraintGroup", GROUP, edits)) if " ConstraintGroup " in problem]


def test_claims_that_are_named_must_be_in_the_input():
    (problem,) = missing()
    assert problem == (
        "f.yaml document 1: ConstraintGroup default/group: spec.claims[0].name: "
        "ResourceClaim default/claim is not in the input"
    )
    assert missing(("ResourceClaim", CLAIM)) == []
    assert missing(("ResourceClaim", CLAIM, {"metadata namespace": "other"})) == [problem.replace("ument 1", "ument 2")]


def test_claims_that_pods_will_get_may_be_named():
    assert missing(("Pod", POD), claims=[{"name": "pod-two"}]) == []
    assert len(missing(("Pod", POD), claims=[{"name": "other-two"}])) == 1


def test_pods_that_are_named_must_be_in_the_input():
    assert missing(("Pod", POD), claims=[], pods=[{"name": "pod"}]) == []
    (problem,) = missing(("Pod", POD), claims=[], pods=[{"name": "nobody"}])
    assert "spec.pods[0].name: Pod default/nobody is not in the input" in problem


def test_missing_claims_are_never_lifted():
    assert len(found(("ConstraintGroup", GROUP), skip_limits=True)) == 1
