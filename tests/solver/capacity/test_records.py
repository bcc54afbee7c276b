"""What copies are made of: which object, and the names, claims and pods of its copies."""

import pytest
from msgspec.structs import replace
from support.objects import after, claim, device_class, devices, node, pod, pool, template, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceClass, DeviceClassSpec
from drasat.models.kubernetes.core import Container, PodSpec, ResourceRequirements
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.workloads import Deployment, PodTemplateSpec, ReplicasSpec
from drasat.solver.capacity.records import CLAIM, POD, TEMPLATE, find_copy_source


def cluster(*objects):
    return Cluster.of([node(), device_class(), pool(*devices("a", "b")), *objects])


def names(found, copies=3):
    return [[ref.name for ref in found.copy(number).claims] for number in range(copies)]


def held(name):
    (made,) = after(pool(*devices("a", "b")), claim(want(), name=name))
    return made


def test_copies_of_a_claim_are_loose_claims_with_its_spec_and_labels():
    asked = claim(want(count=2), name="c")
    asked = replace(asked, metadata=replace(asked.metadata, labels={"team": "x"}))
    found = find_copy_source(cluster(asked), claim="ns/c")
    copy = found.copy(4)
    assert (found.kind, found.namespace, found.name, found.claims) == (CLAIM, "ns", "c", ("ns/c",))
    assert copy.pod is None
    (ref,) = copy.requested_claims
    assert ref.claim.spec == asked.spec
    assert ref.claim.metadata.labels == {"team": "x"}
    assert ref.claim.status is None


def test_an_allocated_claim_is_copied_without_its_allocation():
    found = find_copy_source(cluster(held("c")), claim="ns/c")
    (ref,) = found.copy(0).requested_claims
    assert ref.claim.status is None
    assert ref.key != ("ns", "c")


def test_copies_are_made_once():
    found = find_copy_source(cluster(claim(want())))
    assert found.copy(2) is found.copy(2)
    assert found.copy(0) is not found.copy(1)


@pytest.mark.parametrize("length", [1, 246, 248, 250, 253])
def test_copies_have_names_of_their_own_however_long_the_first_is(length):
    name = "n" * length
    found = find_copy_source(cluster(claim(want(), name=name)))
    made = [ref for (ref,) in names(found, 12)]
    assert len({*made, name}) == 13
    assert max(map(len, made)) <= 253


def test_names_that_are_taken_are_passed_over():
    found = find_copy_source(cluster(claim(want(), name="c"), held("c-copy-0"), held("c-copy-0-2")), claim="ns/c")
    assert names(found, 2) == [["c-copy-0-3"], ["c-copy-1"]]


def test_copies_of_a_template_have_its_labels():
    found = find_copy_source(cluster(template(want(), labels={"a": "b"})))
    (ref,) = found.copy(0).requested_claims
    assert (found.kind, found.claims) == (TEMPLATE, ("ns/t",))
    assert ref.claim.metadata.labels == {"a": "b"}


def test_a_pods_copies_have_new_claims_for_templates_and_share_the_named_ones():
    found = find_copy_source(cluster(template(want()), held("named"), pod("@t", "named", "@t")))
    assert found.kind == POD
    assert names(found, 2) == [["p-copy-0-e0", "named", "p-copy-0-e2"], ["p-copy-1-e0", "named", "p-copy-1-e2"]]
    assert [ref.name for ref in found.copy(0).requested_claims] == ["p-copy-0-e0", "p-copy-0-e2"]
    assert found.claims == ("ns/p-e0", "ns/p-e2")


def test_a_pods_copies_are_on_no_node_yet():
    found = find_copy_source(cluster(template(want()), pod("@t", node_name="n1", node_selector={"zone": "a"})))
    spec = found.copy(1).pod.spec
    assert (spec.node_name, spec.node_selector) == (None, {"zone": "a"})


def test_a_pod_is_meant_where_template_and_claim_are_its_own():
    there = cluster(template(want()), held("named"), pod("@t", "named"))
    assert find_copy_source(there).kind == POD


@pytest.mark.parametrize(
    ("objects", "kind"),
    [
        ((claim(want()),), CLAIM),
        ((template(want()),), TEMPLATE),
        ((claim(want()), pod()), CLAIM),
        ((claim(want()), pod("c", phase="Succeeded")), CLAIM),
        ((template(want()), pod("@t", phase="Failed")), TEMPLATE),
        ((template(want()), held("x"), pod("@t")), POD),
    ],
    ids=["claim", "template", "pod-without-claims", "finished-pod", "failed-pod", "pod"],
)
def test_the_only_thing_that_asks_needs_no_name(objects, kind):
    assert find_copy_source(cluster(*objects)).kind == kind


def test_several_things_that_ask_are_named_pods_first():
    there = cluster(pod("@t", name="q"), template(want()), template(want(), name="u"), claim(want()))
    with pytest.raises(ValueError, match=r"say which: Pod ns/q, ResourceClaimTemplate ns/u, ResourceClaim ns/c$"):
        find_copy_source(there)


def test_a_template_and_a_claim_of_other_namespaces_are_not_the_pods():
    far = replace(template(want()), metadata=ObjectMeta(name="t", namespace="far"))
    with pytest.raises(ValueError, match="Pod ns/p, ResourceClaimTemplate far/t"):
        find_copy_source(cluster(far, pod("@t")))


@pytest.mark.parametrize(("given", "key"), [("c", "default/c"), ("ns/d", "ns/d"), ("other/c", "other/c")])
def test_a_name_without_namespace_is_of_the_default_one(given, key):
    with pytest.raises(ValueError, match=f"^ResourceClaim {key} not found$"):
        find_copy_source(cluster(claim(want())), claim=given)


def test_a_named_claim_must_be_allocated_as_its_nodes_are_not_known():
    with pytest.raises(ValueError, match="ResourceClaim ns/open, which all copies share, has no allocation yet"):
        find_copy_source(cluster(claim(want(), name="open"), pod("open")))


def test_a_pod_whose_claim_is_missing_is_no_bad_usage():
    found = find_copy_source(cluster(pod("gone")))
    assert found.copy(0).problems


def test_devices_of_the_cluster_are_not_needed_to_make_copies():
    assert names(find_copy_source(Cluster.of([claim(want())])), 1) == [["c-copy-0"]]


def test_a_pod_that_is_still_to_be_made_is_copied_by_its_name():
    """Also if it is the only thing that asks, and if its resources are extended ones that a class backs."""
    container = Container(name="c", resources=ResourceRequirements(limits={"example.com/gpu": "1"}))
    made = Deployment(
        metadata=ObjectMeta(name="web", namespace="ns"),
        spec=ReplicasSpec(replicas=3, template=PodTemplateSpec(spec=PodSpec(containers=(container,)))),
    )
    backing = DeviceClass(
        metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name="example.com/gpu")
    )
    for name in (None, "ns/web-2"):
        found = find_copy_source(Cluster.of([made, backing]), pod=name)
        assert [ref.entry for ref in found.copy(0).claims] == ["extended-resources"]
    with pytest.raises(ValueError, match="Pod ns/web-3 not found"):
        find_copy_source(Cluster.of([made, backing]), pod="ns/web-3")
