"""ConstraintGroups: which claims they are about, and which of their requests."""

import pytest
from support.model_objects import SPEC, by_name, claim, from_template, pod, result, template

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.core import LabelSelector, LabelSelectorRequirement
from drasat.models.kubernetes.extensions import (
    ConstraintGroup,
    ConstraintGroupSpec,
    Entry,
    GroupClaim,
    GroupPod,
    requests_in_claim,
)
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.manifests.reader import read_manifests
from drasat.models.workload.groups import GroupError, group_members


def asking(name, namespace="default", **labels):
    """A claim with one request r."""
    return ResourceClaim(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or None), spec=SPEC)


def named(*names):
    return tuple(GroupClaim(name=name) for name in names)


def labelled(**labels):
    return LabelSelector(match_labels=labels)


def found(*objects, namespace="default", **spec):
    """The names of the claims, which all are in the group's namespace."""
    group = ConstraintGroup(metadata=ObjectMeta(name="g", namespace=namespace), spec=ConstraintGroupSpec(**spec))
    keys = group_members(group, Cluster.of(objects))
    assert {key[0] for key in keys} <= {namespace}
    return [name for _, name in keys]


def test_a_group_is_read_from_its_manifest():
    mapping = {
        "apiVersion": "drasat.dev/v1alpha1",
        "kind": "ConstraintGroup",
        "metadata": {"name": "g"},
        "spec": {
            "claims": [{"name": "a"}],
            "claimSelector": {"matchExpressions": [{"key": "x", "operator": "In", "values": ["y"]}]},
            "pods": [{"name": "p", "claims": ["gpu"]}],
            "podSelector": {},
            "sameNodeLabel": "rack",
            "constraints": [{"matchAttribute": "a.b/c", "weight": 4}],
        },
    }
    manifests, problems, _ = read_manifests([mapping])
    assert problems == []
    (group,) = Cluster.build(manifests).constraint_groups.values()
    assert group.spec == ConstraintGroupSpec(
        claims=named("a"),
        claim_selector=LabelSelector(
            match_expressions=(LabelSelectorRequirement(key="x", operator="In", values=("y",)),)
        ),
        pods=(GroupPod(name="p", claims=("gpu",)),),
        pod_selector=LabelSelector(),
        same_node_label="rack",
        constraints=(Entry(match_attribute="a.b/c", weight=4),),
    )


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"claim": []}, "spec.claim"),
        ({"constraints": [{"weigth": 1}]}, "spec.constraints[0].weigth"),
        ({"pods": [{"claim": "x"}]}, "spec.pods[0].claim"),
    ],
)
def test_unknown_fields_are_refused(spec, field):
    mapping = {
        "apiVersion": "drasat.dev/v1alpha1",
        "kind": "ConstraintGroup",
        "metadata": {"name": "g", "managedFields": []},
        "spec": spec,
    }
    manifests, (problem,), _ = read_manifests([mapping])
    assert manifests == []
    assert (problem.field, problem.message.split(":")[0]) == (field, "Forbidden")


def test_claims_by_name_in_the_order_given():
    assert found(asking("a"), asking("b"), asking("c"), claims=named("c", "a", "c")) == ["c", "a"]


def test_an_allocated_claim_is_a_member_like_others():
    assert found(claim("a", result("gpu-0")), asking("b"), claims=named("a", "b")) == ["a", "b"]


def test_claims_of_other_namespaces_are_others():
    objects = asking("a"), asking("a", namespace="other"), asking("b", namespace="other")
    assert found(*objects, namespace="other", claim_selector=LabelSelector()) == ["a", "b"]
    with pytest.raises(GroupError, match=r"^ConstraintGroup default/g: ResourceClaim default/b not found$"):
        found(*objects, claims=named("a", "b"))


def test_claims_by_labels():
    objects = asking("a", app="x"), asking("b", app="y"), asking("c"), asking("d", app="x", tier="z")
    assert found(*objects, claim_selector=labelled(app="x")) == ["a", "d"]
    assert found(*objects, claim_selector=labelled(app="x", tier="z")) == ["d"]
    assert found(*objects, claim_selector=labelled(app="nobody")) == []
    tests = (
        LabelSelectorRequirement(key="app", operator="Exists"),
        LabelSelectorRequirement(key="app", operator="NotIn", values=("y",)),
    )
    assert found(*objects, claim_selector=LabelSelector(match_expressions=tests)) == ["a", "d"]


def test_claims_made_from_templates_have_names_and_labels():
    objects = template(labels={"app": "x"}), pod("p", from_template("gpu")), asking("z")
    assert found(*objects, claims=named("p-gpu")) == ["p-gpu"]
    assert found(*objects, claim_selector=labelled(app="x")) == ["p-gpu"]


PODS = (
    template(),
    asking("shared"),
    pod("p", from_template("gpu"), by_name("nic", "shared"), labels={"job": "x"}),
    pod("q", from_template("gpu"), labels={"job": "x"}),
    pod("r", from_template("gpu"), labels={"job": "y"}),
)


def test_pods_by_labels_with_all_their_claims():
    assert found(*PODS, pod_selector=labelled(job="x")) == ["p-gpu", "shared", "q-gpu"]


def test_of_selected_pods_only_the_named_entries():
    assert found(*PODS, pod_selector=labelled(job="x"), pods=(GroupPod(claims=("gpu",)),)) == ["p-gpu", "q-gpu"]
    assert found(*PODS, pod_selector=labelled(job="x"), pods=(GroupPod(claims=("nic",)),)) == ["shared"]


def test_pods_by_name_beside_selected_ones():
    pods = GroupPod(name="p", claims=("nic",)), GroupPod(name="r")
    assert found(*PODS, pods=pods) == ["shared", "r-gpu"]
    assert found(*PODS, pods=pods, pod_selector=labelled(job="x")) == ["shared", "r-gpu", "p-gpu", "q-gpu"]


def test_an_entry_is_not_mistaken_for_a_claim_of_its_name():
    objects = template(), asking("gpu"), pod("p", from_template("gpu"), by_name("nic", "gpu"))
    assert found(*objects, pods=(GroupPod(name="p", claims=("nic",)),)) == ["gpu"]
    assert found(*objects, pods=(GroupPod(name="p", claims=("gpu",)),)) == ["p-gpu"]


def test_two_entries_of_one_claim():
    objects = asking("c"), pod("p", by_name("one", "c"), by_name("two", "c"))
    assert found(*objects, pods=(GroupPod(name="p", claims=("two",)),)) == ["c"]


def test_pods_that_are_over_have_no_members():
    objects = template(), pod("p", from_template("gpu"), phase="Succeeded"), pod("q", from_template("gpu"))
    assert found(*objects, pod_selector=LabelSelector()) == ["q-gpu"]
    assert found(*objects, pods=(GroupPod(name="p"),)) == []


def test_what_is_named_must_be_there():
    for pods, message in (
        (GroupPod(name="nobody"), "Pod default/nobody not found"),
        (GroupPod(name="p", claims=("cpu",)), "Pod default/p has no claim 'cpu' in spec.resourceClaims"),
        (GroupPod(claims=("cpu",)), "the selected pods have no claim 'cpu' in spec.resourceClaims"),
    ):
        with pytest.raises(GroupError, match=f"^ConstraintGroup default/g: {message}$"):
            found(*PODS, pods=(pods,), pod_selector=labelled(job="x"))


@pytest.mark.parametrize("reference", ["other", "a/other", "z/r", "r/first", "a/r/first"])
def test_requests_must_be_there(reference):
    entry = Entry(match_attribute="a.b/c", requests=("r", reference))
    with pytest.raises(GroupError, match=f"none of its claims has request '{reference}'$"):
        found(asking("a"), asking("b"), claims=named("a", "b"), constraints=(entry,))


def test_requests_that_are_there():
    entry = Entry(match_attribute="a.b/c", requests=("r", "a/r"))
    assert found(asking("a"), asking("b"), claims=named("a", "b"), constraints=(entry,)) == ["a", "b"]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        (None, ()),
        ((), ()),
        (("gpu",), ("gpu",)),
        (("a/gpu",), ("gpu",)),
        (("a/gpu/large",), ("gpu/large",)),
        (("b/gpu",), None),
        (("b/gpu", "nic", "a/cpu"), ("nic", "cpu")),
    ],
)
def test_references_as_one_claim_sees_them(requests, expected):
    assert requests_in_claim(Entry(requests=requests), "a") == expected
