"""Rules of what makes pods and orders them, of amounts of resources, and of annotations for plans."""

import pytest
from support.validation import BASES, CLAIM, POD, assert_problems, problems, rows

from drasat.models.kubernetes.extensions import AnnotationError, annotation_problems, read_annotations

from .test_references import found as cross_found

A = "metadata annotations"


AMOUNTS = rows("validation/workloads", "amounts")
ANNOTATIONS = rows("validation/workloads", "annotations")
JOBS = rows("validation/workloads", "jobs")
DEPLOYMENTS = rows("validation/workloads", "deployments")
STATEFUL_SETS = rows("validation/workloads", "stateful_sets")
PRIORITY_CLASSES = rows("validation/workloads", "priority_classes")
WORKLOADS = rows("validation/workloads", "workloads")
POD_GROUPS = rows("validation/workloads", "pod_groups")
TABLES = [
    ("Pod", AMOUNTS),
    ("Pod", ANNOTATIONS),
    ("ResourceClaim", ANNOTATIONS),
    ("Job", JOBS),
    ("Deployment", DEPLOYMENTS),
    ("ReplicaSet", DEPLOYMENTS),
    ("StatefulSet", [*STATEFUL_SETS, *DEPLOYMENTS]),
    ("PriorityClass", PRIORITY_CLASSES),
    ("Workload", WORKLOADS),
    ("PodGroup", POD_GROUPS),
]


@pytest.mark.parametrize(
    ("kind", "edits", "expected"),
    [pytest.param(kind, *one.values, id=f"{kind}-{one.id}") for kind, table in TABLES for one in table],
)
def test_rules(kind, edits, expected):
    assert_problems(problems(kind, edits), expected)


@pytest.mark.parametrize("kind", ["NodeTemplate", "Job", "Deployment", "StatefulSet", "Workload", "PodGroup"])
def test_the_usual_objects_are_fine(kind):
    assert problems(kind, {}) == []


@pytest.mark.parametrize(
    ("kind", "start", "steps"), [("Job", "spec.template.spec", "spec template spec"), ("Pod", "spec", "spec")]
)
def test_names_that_lead_nowhere_are_warnings(kind, start, steps):
    entry = {f"{steps} resourceClaims": [{"name": "x", "resourceClaimTemplateName": "gone"}]}
    told = cross_found((kind, BASES[kind], {**entry, f"{steps} priorityClassName": "high"}))
    name = BASES[kind]["metadata"]["name"]
    assert [one.partition(f"{kind} default/{name}: ")[2] for one in told] == [
        f"warning: {start}.priorityClassName: PriorityClass high is not in the input: priority 0",
        f"warning: {start}.resourceClaims[0].resourceClaimTemplateName: ResourceClaimTemplate default/gone is not in "
        "the input",
    ]


@pytest.mark.parametrize("spec", [{"priority": 5, "priorityClassName": "x"}, {"priorityClassName": "high"}])
def test_priorities_that_are_known_are_fine(spec):
    pod = {**POD, "spec": spec}
    assert cross_found(("Pod", pod), ("PriorityClass", BASES["PriorityClass"])) == []


def test_groups_may_name_claims_and_pods_of_jobs():
    chosen = {"claims": [{"name": "job-0-one"}], "pods": [{"name": "job-2"}]}
    group = {"metadata": {"name": "g"}, "spec": {**chosen, "constraints": [{"matchAttribute": "a/b"}]}}
    template = ("ResourceClaimTemplate", BASES["ResourceClaimTemplate"])
    device_class = ("DeviceClass", BASES["DeviceClass"])
    assert cross_found(("ConstraintGroup", group), ("Job", BASES["Job"]), template, device_class) == []
    assert len(cross_found(("ConstraintGroup", group))) == 2


def test_annotations_of_python_objects_are_refused_when_they_are_read():
    with pytest.raises(AnnotationError, match=r"^metadata.annotations\[drasat.dev/value\]: Invalid value: \"x\": must"):
        read_annotations({"drasat.dev/value": "x"})
    with pytest.raises(AnnotationError, match=r"^metadata.annotations\[example.com/worth\]: "):
        read_annotations({"example.com/worth": "much"}, value="example.com/worth")


def test_other_annotations_say_nothing():
    assert list(annotation_problems({"example.com/gang": ""})) == []
    assert read_annotations({"example.com/gang": ""}) == read_annotations(None) == (None,) * 5


def test_claims_have_no_groups_of_pods():
    found = problems("ResourceClaim", {A: {"drasat.dev/gang-domain": "zone"}}, CLAIM)
    assert_problems(found, ("structure metadata.annotations[drasat.dev/gang-domain]: Forbidden",))


def test_a_pod_group_has_at_most_four_claims_each_by_name_or_by_template():
    """PGC-1"""
    named = [{"name": f"c{number}", "resourceClaimName": "x"} for number in range(5)]
    assert problems("PodGroup", {"spec resourceClaims": named[:4]}) == []
    (most,) = problems("PodGroup", {"spec resourceClaims": named})
    assert most.startswith("spec.resourceClaims: Too many: 5")
    assert problems("PodGroup", {"spec resourceClaims": [{**named[0], "resourceClaimTemplateName": "t"}]})
