"""Checks across objects."""

import json

import pytest
from support.kinds import BY_MODEL
from support.validation import ALLOCATED, BASES, CLAIM, CLASS, NAMESPACE, POD, SLICE, TEMPLATE, edited, typed

from drasat import validate
from drasat.models.formats.errors import InputProblem, Source
from drasat.models.manifests.reader import Manifest
from drasat.models.validation.references import cross_checks

ADMIN = {"spec devices requests 0 exactly adminAccess": True}
LABEL = "resource.kubernetes.io/admin-access"


def manifests(*objects):
    """Manifests of (kind, mapping, edits...), each a document of one file."""
    return [
        Manifest(
            kind,
            "resource.k8s.io/v1",
            typed(kind, edited(base, {k: v for e in edits for k, v in e.items()})),
            None,
            Source("f.yaml", number),
        )
        for number, (kind, base, *edits) in enumerate(objects, 1)
    ]


def found(*objects, **options):
    return [str(problem) for problem in cross_checks(manifests(*objects), **options)]


GPU = ("DeviceClass", CLASS)
LABELLED = ("Namespace", NAMESPACE, {"metadata labels": {LABEL: "true"}})


def test_complete_input_has_no_problems():
    everything = [GPU, LABELLED, ("ResourceClaim", ALLOCATED, ADMIN), ("ResourceClaimTemplate", TEMPLATE)]
    assert found(*everything, ("ResourceSlice", SLICE), ("Pod", POD)) == []


def test_duplicate_names_both_sources():
    assert found(GPU, GPU) == [
        'f.yaml document 2: DeviceClass gpu: metadata.name: Duplicate value: "gpu": the same '
        "object is in f.yaml document 1"
    ]


def test_duplicate_is_never_lifted():
    assert len(found(GPU, GPU, GPU, skip_limits=True)) == 2


def test_missing_namespace_is_the_default_one():
    assert len(found(GPU, ("ResourceClaim", CLAIM), ("ResourceClaim", CLAIM, {"metadata namespace": ""}))) == 1


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(("ResourceClaim", CLAIM, {"metadata namespace": "other"}), id="namespace"),
        pytest.param(("ResourceClaim", CLAIM, {"metadata name": "other"}), id="name"),
        pytest.param(("ResourceClaimTemplate", TEMPLATE, {"metadata name": "claim"}), id="kind"),
    ],
)
def test_objects_that_differ_are_no_duplicates(second):
    assert found(GPU, ("ResourceClaim", CLAIM), second) == []


def test_generated_names_are_no_duplicates():
    generated = ("ResourceClaim", CLAIM, {"metadata name": "", "metadata generateName": "x-"})
    assert found(GPU, generated, generated) == []


def test_namespace_of_a_cluster_scoped_object_is_ignored():
    assert len(found(GPU, ("DeviceClass", CLASS, {"metadata namespace": "x"}))) == 1


def test_missing_class_is_a_warning_for_each_request():
    assert found(("ResourceClaim", CLAIM)) == [
        f"f.yaml document 1: ResourceClaim default/claim: warning: "
        f'spec.devices.requests{at}.deviceClassName: device class "gpu" is not in the input'
        for at in ("[0].exactly", "[1].firstAvailable[0]", "[1].firstAvailable[1]")
    ]


def test_missing_class_of_a_template_is_a_warning():
    assert "spec.spec.devices.requests[0].exactly.deviceClassName" in found(("ResourceClaimTemplate", TEMPLATE))[0]


def test_missing_claim_and_template_of_a_pod_are_warnings():
    other = ("ResourceClaim", CLAIM, {"metadata namespace": "other"})
    assert found(GPU, other, ("Pod", POD)) == [
        "f.yaml document 3: Pod default/pod: warning: spec.resourceClaims[0].resourceClaimName: "
        "ResourceClaim default/claim is not in the input",
        "f.yaml document 3: Pod default/pod: warning: "
        "spec.resourceClaims[1].resourceClaimTemplateName: ResourceClaimTemplate default/template is not in the input",
    ]


@pytest.mark.parametrize("labels", [{}, {LABEL: "false"}, {LABEL: ""}], ids=["none", "false", "empty"])
def test_admin_access_without_the_label_is_an_error(labels):
    """CLM-5."""
    asked = [GPU, ("Namespace", NAMESPACE, {"metadata labels": labels}), ("ResourceClaim", CLAIM, ADMIN)]
    (problem,) = found(*asked)
    assert (
        "document 3: ResourceClaim default/claim: spec.devices.requests[0].exactly.adminAccess: Forbidden: " in problem
    )
    assert f'`{LABEL}: "true"`' in problem
    assert found(*asked, skip_limits=True) == []


def test_admin_access_in_an_unknown_namespace_is_a_warning():
    """CLM-5."""
    (problem,) = found(GPU, ("ResourceClaim", CLAIM, ADMIN, {"metadata namespace": "x"}), LABELLED)
    assert "warning: spec.devices.requests[0].exactly.adminAccess: " in problem
    assert 'namespace "x" is not in the input' in problem


def test_admin_access_of_templates_needs_the_label_too():
    """CLM-5."""
    (problem,) = found(
        GPU,
        ("Namespace", NAMESPACE),
        ("ResourceClaimTemplate", TEMPLATE, {"spec spec devices requests 0 exactly adminAccess": True}),
    )
    assert "spec.spec.devices.requests[0].exactly.adminAccess: Forbidden" in problem


def test_admin_access_false_needs_no_label():
    assert (
        found(
            GPU,
            ("Namespace", NAMESPACE),
            ("ResourceClaim", CLAIM, {"spec devices requests 0 exactly adminAccess": False}),
        )
        == []
    )


@pytest.mark.parametrize("part", ["driver", "pool", "device"])
def test_allocated_device_that_is_not_published_is_a_warning(part):
    asked = ("ResourceClaim", ALLOCATED, {f"status allocation devices results 0 {part}": "other"})
    (problem,) = found(GPU, asked, ("ResourceSlice", SLICE))
    assert "warning: status.allocation.devices.results[0].device: device " in problem
    assert problem.endswith("is allocated but in no ResourceSlice")


def test_ignored_kinds_are_left_alone():
    ignored = Manifest("ConfigMap", "v1", None, {}, Source("f.yaml", 1))
    assert cross_checks([ignored, ignored]) == []


def test_every_known_kind_can_be_checked():
    assert set(BASES) == set(BY_MODEL)
    assert len(found(*BASES.items(), *BASES.items())) >= len(BASES)


def test_what_could_not_be_read_is_in_the_input_all_the_same():
    unreadable = [
        InputProblem(Source("f.yaml", 1), "spec", "must be an object", "error", "ResourceClaim", name)
        for name in ("claim", "default/template")
    ]
    (left,) = found(GPU, ("Pod", POD), unreadable=unreadable)
    assert "ResourceClaimTemplate default/template is not in the input" in left


def annotations(**texts):
    return {"metadata annotations": {f"drasat.dev/{key.replace('_', '-')}": text for key, text in texts.items()}}


def covering(demand, group="g"):
    return annotations(coverage=json.dumps({"group": group, "value": 5, "demand": demand}))


def gang(domain):
    return annotations(gang="g", gang_domain=domain)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (covering(10), covering(11), "[drasat.dev/coverage]: coverage group default/g has the demand 10"),
        (gang("rack"), gang("zone"), "[drasat.dev/gang-domain]: gang default/g has the domain rack"),
    ],
    ids=["demands", "domains"],
)
def test_members_that_name_two_demands_or_domains_are_a_warning_with_both_places(first, second, said):
    """A plan refuses them, and says no place."""
    pods = [("Pod", POD, {"metadata name": name, "spec resourceClaims": []}) for name in "abc"]
    [problem] = found(*((*pod, marks) for pod, marks in zip(pods, (first, first, second), strict=True)))
    assert problem.startswith("f.yaml document 3: Pod ")
    assert f"metadata.annotations{said} in f.yaml document 1, and" in problem


def test_other_groups_namespaces_and_finished_pods_may_name_others():
    pods = [("Pod", POD, {"metadata name": name, "spec resourceClaims": []}) for name in "abcd"]
    marks = [covering(10), covering(11, "h"), {"metadata namespace": "other"} | covering(12), covering(13)]
    marks[3] |= {"status": {"phase": "Succeeded"}}
    assert found(*((*pod, edits) for pod, edits in zip(pods, marks, strict=True))) == []
    marks[3].pop("status")
    assert len(found(*((*pod, edits) for pod, edits in zip(pods, marks, strict=True)))) == 1


def test_annotations_of_a_template_count_before_those_of_its_controller():
    def controller(name, own, template):
        spec = {"template": {"metadata": {"annotations": template}, "spec": {}}}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec} | {
            "metadata": {"name": name, "annotations": own}
        }

    ten, eleven = (covering(demand)["metadata annotations"] for demand in (10, 11))
    read = [controller("a", ten, {}), controller("b", eleven, ten), controller("c", {}, eleven)]
    problems = [str(one) for one in validate(read, skip_validation=True).problems if "coverage" in str(one)]
    assert len(problems) == 1
    assert "Deployment default/c: warning: spec.template.metadata.annotations[drasat.dev/coverage]: " in problems[0]
