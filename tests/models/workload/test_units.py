"""What is asked: pods with their claims, loose claims, claims from templates."""

import msgspec
import pytest
from support.model_objects import by_name, claim, from_template, pod, result, template

from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import Source
from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.core import PodResourceClaim
from drasat.models.kubernetes.meta import OwnerReference
from drasat.models.manifests.reader import Manifest
from drasat.models.workload.requested import merge_units, orphaned_claims, requested_units
from drasat.models.workload.units import POD_CLAIM_ANNOTATION, generated_claim_name


def owned(name, pod_name, entry, uid="", **fields):
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod_name, uid=uid, controller=True)
    return claim(name, annotations={POD_CLAIM_ANNOTATION: entry}, owner_references=(owner,), **fields)


def asked(*objects, **selection):
    return requested_units(Cluster.of(objects), **selection)


def shape(found):
    return [(unit.name, [ref.name for ref in unit.claims]) for unit in found]


def test_units_come_in_the_order_read():
    found = asked(claim("z"), pod("p2", by_name("c2")), claim("c2"), claim("a"), pod("p1", by_name("c1")), claim("c1"))
    assert shape(found) == [("z", ["z"]), ("p2", ["c2"]), ("a", ["a"]), ("p1", ["c1"])]


def test_a_pods_claims_come_in_its_order():
    (unit,) = asked(pod("p", by_name("second", "b"), by_name("first", "a")), claim("a"), claim("b"))
    assert [(ref.entry, ref.name) for ref in unit.claims] == [("second", "b"), ("first", "a")]


def test_allocated_claims_stay_with_the_pod_but_are_not_asked():
    """SCHED-2."""
    (unit,) = asked(pod("p", by_name("a"), by_name("b")), claim("a", result("d")), claim("b"))
    assert [ref.name for ref in unit.claims] == ["a", "b"]
    assert [ref.name for ref in unit.requested_claims] == ["b"]
    assert [ref.allocated for ref in unit.claims] == [True, False]


@pytest.mark.parametrize(
    "objects",
    [
        (pod("p"),),
        (pod("p", by_name("a")), claim("a", result("d"))),
        (claim("a", result("d")),),
        (claim("a", deletion_timestamp="2026-01-01T00:00:00Z"),),
        (pod("p", by_name("a"), phase="Succeeded"), claim("a")),
        (pod("p", by_name("a"), phase="Failed"), claim("a")),
        (pod("p", by_name("a"), deletion_timestamp="2026-01-01T00:00:00Z"), claim("a")),
    ],
    ids=[
        "pod without claims",
        "allocated pod",
        "allocated claim",
        "deleting claim",
        "succeeded pod",
        "failed pod",
        "deleting pod",
    ],
)
def test_what_is_not_asked(objects):
    assert asked(*objects) == ()


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Unknown"])
def test_pods_that_run_or_will_are_asked(phase):
    assert len(asked(pod("p", by_name("a"), phase=phase), claim("a"))) == 1


def test_a_pod_on_a_node_stays_there():
    (unit,) = asked(pod("p", by_name("a"), node_name="n7"), claim("a"))
    assert unit.node_name == "n7"
    assert asked(claim("a"))[0].node_name is None


def test_a_shared_claim_is_in_both_units():
    """SCHED-2."""
    first, second = asked(pod("p1", by_name("a")), pod("p2", by_name("a")), claim("a"))
    assert first.claims[0].claim is second.claims[0].claim


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ((pod("p", by_name("a")),), "ResourceClaim default/a not found"),
        ((pod("p", by_name("a")), claim("a", namespace="other")), "ResourceClaim default/a not found"),
        ((pod("p", from_template("e", "t")),), "ResourceClaimTemplate default/t not found"),
        ((pod("p", PodResourceClaim(name="e")),), "entry e names no claim and no template"),
        (
            (pod("p", by_name("a")), claim("a", deletion_timestamp="2026-01-01T00:00:00Z")),
            "ResourceClaim default/a is being deleted",
        ),
        (
            (pod("p", from_template("e"), statuses={"e": "x"}), owned("x", "q", "e"), template()),
            "ResourceClaim default/x was not created for Pod p",
        ),
        (
            (pod("p", from_template("e"), statuses={"e": "x"}, uid="1"), owned("x", "p", "e", uid="2"), template()),
            "ResourceClaim default/x was not created for Pod p",
        ),
    ],
    ids=["no claim", "other namespace", "no template", "empty entry", "deleting", "other owner", "other uid"],
)
def test_problems_keep_a_unit_from_being_placed(objects, problem):
    """SCHED-1."""
    unit = asked(*objects, namespace="default")[0]
    assert unit.problems == (problem,)


def test_a_claim_made_from_a_template():
    """SCHED-1."""
    made = template(labels={"team": "ml"}, annotations={"note": "x"})
    (unit,) = asked(pod("p", from_template("gpu"), uid="42"), made)
    (ref,) = unit.claims
    assert (ref.key, ref.generated, ref.entry) == (("default", "p-gpu"), True, "gpu")
    assert ref.claim.spec is made.spec.spec
    assert ref.claim.metadata.labels == {"team": "ml"}
    assert ref.claim.metadata.annotations == {"note": "x", POD_CLAIM_ANNOTATION: "gpu"}
    assert ref.claim.metadata.owner_references == (
        OwnerReference(api_version="v1", kind="Pod", name="p", uid="42", controller=True),
    )


def test_a_pod_without_uid_cannot_be_referred_to():
    (unit,) = asked(pod("p", from_template("gpu")), template())
    assert unit.claims[0].claim.metadata.owner_references is None


def test_a_generated_claim_can_be_printed_and_read_again():
    (unit,) = asked(pod("p", from_template("gpu"), uid="42"), template(labels={"team": "ml"}))
    (ref,) = unit.claims
    assert ref.raw["apiVersion"] == "resource.k8s.io/v1"
    assert ref.raw["kind"] == "ResourceClaim"
    assert msgspec.convert(ref.raw, ResourceClaim) == ref.claim


def test_a_generated_claim_keeps_the_templates_own_spelling():
    written = {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu", "unknownField": 1}]}}
    raw = {"kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": written}}
    source = Source("f", 1)
    cluster = Cluster.build(
        [
            Manifest("ResourceClaimTemplate", "resource.k8s.io/v1beta1", template(), raw, source),
            Manifest("Pod", "v1", pod("p", from_template("gpu")), {}, source),
        ]
    )
    ref = requested_units(cluster)[0].claims[0]
    assert ref.raw["apiVersion"] == "resource.k8s.io/v1beta1"
    assert ref.raw["spec"] == written


@pytest.mark.parametrize(
    ("pod_name", "entry", "taken", "expected"),
    [
        ("p", "gpu", (), "p-gpu"),
        ("p", "gpu", ("p-gpu",), "p-gpu-2"),
        ("p", "gpu", ("p-gpu", "p-gpu-2", "p-gpu-4"), "p-gpu-3"),
        ("p" * 250, "gpu", (), "p" * 250 + "-gp"),
        ("p" * 252, "gpu", (), "p" * 252),
        ("p" * 250, "gpu", ("p" * 250 + "-gp",), "p" * 250 + "-2"),
    ],
)
def test_generated_names(pod_name, entry, taken, expected):
    name = generated_claim_name(pod_name, entry, taken)
    assert name == expected
    assert len(name) <= 253


def test_generated_names_that_collide_get_a_number():
    found = asked(pod("a", from_template("b-c")), pod("a-b", from_template("c")), template(), claim("a-b-c-2"))
    assert shape(found) == [("a", ["a-b-c"]), ("a-b", ["a-b-c-3"]), ("a-b-c-2", ["a-b-c-2"])]


def test_generated_names_do_not_depend_on_what_is_selected():
    objects = (pod("a", from_template("b-c")), pod("a-b", from_template("c"), labels={"x": "y"}), template())
    assert shape(asked(*objects, selector="x=y")) == [("a-b", ["a-b-c-2"])]


@pytest.mark.parametrize(
    "existing",
    [
        owned("p-gpu-x7k2p", "p", "gpu"),
        owned("p-gpu", "p", "gpu", uid="42"),
        claim("p-gpu", annotations={POD_CLAIM_ANNOTATION: "gpu"}),
    ],
    ids=["owner", "owner with uid", "name and annotation"],
)
def test_a_claim_made_before_is_found_again(existing):
    found = asked(pod("p", from_template("gpu"), uid="42"), template(), existing)
    assert shape(found) == [("p", [existing.metadata.name])]
    assert not found[0].claims[0].generated


@pytest.mark.parametrize(
    "existing",
    [claim("p-gpu"), owned("p-gpu", "q", "gpu"), owned("p-gpu", "p", "nic"), owned("p-gpu", "p", "gpu", uid="43")],
    ids=["plain claim", "other pod", "other entry", "earlier pod of the name"],
)
def test_somebody_elses_claim_is_not_taken(existing):
    unit = asked(pod("p", from_template("gpu"), uid="42"), template(), existing)[0]
    assert [ref.name for ref in unit.claims] == ["p-gpu-2"]


def test_the_pods_status_says_which_claim_was_made():
    found = asked(pod("p", from_template("gpu"), statuses={"gpu": "made"}), template(), claim("made"))
    assert shape(found) == [("p", ["made"])]


def test_an_entry_for_which_no_claim_was_needed_is_left_out():
    """SCHED-1."""
    found = asked(pod("p", from_template("gpu"), by_name("a"), statuses={"gpu": None}), template(), claim("a"))
    assert shape(found) == [("p", ["a"])]


OBJECTS = (
    pod("p1", by_name("a"), labels={"app": "web"}),
    pod("p2", by_name("b"), labels={"app": "db"}),
    claim("a"),
    claim("b", labels={"app": "web"}),
    claim("loose", labels={"app": "web"}),
    claim("loose", namespace="other"),
)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({}, ["default/p1", "default/p2", "default/loose", "other/loose"]),
        ({"namespace": "other"}, ["other/loose"]),
        ({"namespace": "none"}, []),
        ({"selector": "app=web"}, ["default/p1", "default/loose"]),
        ({"selector": "app notin (web)"}, ["default/p2", "other/loose"]),
        ({"selector": "!app", "namespace": "default"}, []),
        ({"claims": ["a"]}, ["default/p1"]),
        ({"claims": ["default/b", "other/loose"]}, ["default/p2", "other/loose"]),
        ({"claims": ["loose"], "namespace": "other"}, ["other/loose"]),
        ({"claims": []}, []),
    ],
)
def test_narrowing(selection, expected):
    assert [f"{unit.namespace}/{unit.name}" for unit in asked(*OBJECTS, **selection)] == expected


@pytest.mark.parametrize(
    ("selection", "problem"),
    [
        ({"selector": "a in"}, "cannot parse"),
        ({"claims": ["nope"]}, "ResourceClaim default/nope not found"),
        ({"claims": ["x/a"]}, "ResourceClaim x/a not found"),
    ],
)
def test_bad_selections(selection, problem):
    with pytest.raises(ValueError, match=problem):
        asked(*OBJECTS, **selection)


def test_an_allocated_claim_cannot_be_asked_for():
    with pytest.raises(ValueError, match="ResourceClaim default/a needs no allocation"):
        asked(claim("a", result("d")), claims=["a"])


def test_loose_claims_can_be_joined_to_one_unit():
    unit = merge_units(asked(claim("b"), claim("a")))
    assert [ref.name for ref in unit.claims] == ["b", "a"]
    assert (unit.pod, unit.name) == (None, "b+a")


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ((pod("p", by_name("a"), phase="Succeeded"), claim("a")), [("default", "a")]),
        ((pod("p", by_name("a"), deletion_timestamp="2026-01-01T00:00:00Z"), claim("a")), [("default", "a")]),
        ((pod("p", by_name("a"), phase="Failed"), pod("q", by_name("a")), claim("a")), []),
        ((pod("p", by_name("a"), phase="Succeeded"), claim("a", result("d"))), []),
        ((pod("p", by_name("a"), phase="Succeeded"), claim("b")), []),
        ((pod("p", from_template("a"), phase="Succeeded", statuses={"a": "b"}), claim("b")), []),
    ],
    ids=["finished", "deleting", "another pod", "allocated", "missing", "made from a template"],
)
def test_claims_that_only_pods_on_their_way_out_name(objects, found):
    cluster = Cluster.of(objects)
    assert list(orphaned_claims(cluster)) == list(orphaned_claims(cluster, "default")) == found
    assert orphaned_claims(cluster, "other") == ()
