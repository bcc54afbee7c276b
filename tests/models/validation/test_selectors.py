"""Selectors of pods about nodes and other pods, and weights of preferred terms."""

import pytest
from support.validation import assert_problems, problems

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WRONG = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
PATH = "structure spec.affinity"
OUT_OF_RANGE = "Invalid value: {}: must be in the range 1-100"
UNKNOWN = 'Unsupported value: "Near"'


def term(selector=None, **fields):
    return {"topologyKey": "zone", "labelSelector": selector or {"matchLabels": {"a": "b"}}, **fields}


def weighed(weight, **fields):
    return [{"weight": weight, "podAffinityTerm": term(**fields)}]


@pytest.mark.parametrize("weight", [1, 100])
@pytest.mark.parametrize("way", ["podAffinity", "podAntiAffinity"])
def test_weights_from_1_to_100_are_fine(way, weight):
    nodes = {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}
    affinity = {"nodeAffinity": nodes, way: {PREFERRED: weighed(weight)}}
    assert_problems(problems("Pod", {"spec affinity": affinity}), [])


@pytest.mark.parametrize("weight", [0, -1, 101])
@pytest.mark.parametrize(
    ("way", "made"),
    [
        ("nodeAffinity", lambda weight: [{"weight": weight, "preference": {}}]),
        ("podAffinity", weighed),
        ("podAntiAffinity", weighed),
    ],
)
def test_other_weights_are_refused(way, made, weight):
    found = problems("Pod", {"spec affinity": {way: {PREFERRED: made(weight)}}})
    assert_problems(found, [f"{PATH}.{way}.{PREFERRED}[0].weight: {OUT_OF_RANGE.format(weight)}"])


@pytest.mark.parametrize("field", ["labelSelector", "namespaceSelector"])
@pytest.mark.parametrize("way", ["podAffinity", "podAntiAffinity"])
def test_selectors_of_terms_are_checked_whether_these_must_hold_or_not(way, field):
    place = f"{field}.matchExpressions[0].operator: {UNKNOWN}"
    wanted = [{"weight": 1, "podAffinityTerm": {**term(), field: WRONG}}]
    found = problems("Pod", {"spec affinity": {way: {REQUIRED: [{**term(), field: WRONG}], PREFERRED: wanted}}})
    paths = [f"{PATH}.{way}.{REQUIRED}[0]", f"{PATH}.{way}.{PREFERRED}[0].podAffinityTerm"]
    assert_problems(found, [f"{path}.{place}" for path in paths])


@pytest.mark.parametrize("action", ["DoNotSchedule", "ScheduleAnyway"])
def test_selectors_of_spread_constraints_are_checked(action):
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": action, "labelSelector": WRONG}
    found = problems("Pod", {"spec topologySpreadConstraints": [rule]})
    place = "topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator"
    assert_problems(found, [f"structure spec.{place}: {UNKNOWN}"])
