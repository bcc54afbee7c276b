"""Rules of ConstraintGroups, and the claims and pods that they name."""

import pytest
from support.validation import CLAIM, GROUP, POD, assert_problems, problems, rows

from .test_references import found

GROUPS = rows("validation/constraint-groups", "groups")


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
