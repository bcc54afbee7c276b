"""What is planned: sets of equal units in the order read, and what makes units interchangeable."""

from decimal import Decimal

import pytest
from support.manifests import (
    OTHER,
    allocated,
    by_signature,
    claim,
    cluster,
    container,
    device_class,
    entry,
    maker,
    node,
    obj,
    pod,
    template,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.workload.queue import read_queue

EXISTING = {"resourceClaimStatuses": [{"name": "own", "resourceClaimName": "made"}]}


def named(*objects, **options):
    return [(one.kind, one.name, one.replicas) for one in read_queue(cluster(*objects), **options)]


def alike(first, second, *others):
    """Whether the two objects are interchangeable."""
    one, two = read_queue(cluster(first, second, *others))[:2]
    return one.signature == two.signature


def test_everything_that_waits_is_planned_in_the_order_read():
    objects = [
        claim("loose"),
        pod("p"),
        maker("Deployment", "d", spec={"replicas": 2}),
        claim("of-pod"),
        pod("q", entry("own", claim="of-pod")),
        maker("Job", "j", spec={"parallelism": 3}),
        maker("StatefulSet", "s"),
        maker("ReplicaSet", "r"),
        allocated("had"),
    ]
    assert named(*objects) == [
        ("ResourceClaim", "loose", 1),
        ("Pod", "p", 1),
        ("Deployment", "d", 2),
        ("Pod", "q", 1),
        ("Job", "j", 3),
        ("StatefulSet", "s", 1),
        ("ReplicaSet", "r", 1),
    ]


@pytest.mark.parametrize(
    "gone",
    [
        pod("p", status={"phase": "Succeeded"}),
        pod("p", spec={"nodeName": "n"}),
        pod("p", entry("own", claim="had"), spec={"nodeName": "n"}),
        obj("Pod", "p", {}, namespace="default")
        | {"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        maker("Job", "j", spec={"suspend": True}),
        pod("p", REPLICAS="0") | {"status": {"phase": "Failed"}},
    ],
)
def test_what_has_ended_or_runs_is_not_planned(gone):
    assert named(gone, allocated("had"), node("n")) == []


def test_a_pod_on_a_node_that_waits_for_a_claim_is_planned_there():
    (one,) = read_queue(cluster(pod("p", entry("own", claim="c"), spec={"nodeName": "n"}), claim("c")))
    assert one.shape.node_name == "n"


def test_claims_of_finished_pods_are_not_loose():
    assert named(pod("p", entry("own", claim="c"), status={"phase": "Succeeded"}), claim("c")) == []


def test_claims_made_for_pods_are_not_loose():
    made = claim("p-own-x7k2", owner=("Pod", "p"))
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "own"}
    assert named(made, pod("p", entry("own", template="t")), template()) == [("Pod", "p", 1)]


def test_claims_that_were_added_come_last():
    built = cluster(claim("b"), pod("p"))
    added = ResourceClaim(metadata=ObjectMeta(name="a", namespace="default"))
    assert [one.name for one in read_queue(built.with_claims([added]))] == ["b", "p", "a"]
    assert [one.name for one in read_queue(built.without(pods=[("default", "p")]))] == ["b"]


def test_a_queue_can_be_narrowed():
    objects = [
        pod("a", labels={"app": "x"}),
        pod("b", namespace="other"),
        claim("c", labels={"app": "x"}),
        maker("Job", "j", labels={"app": "x"}),
    ]
    assert [name for _, name, _ in named(*objects, selector="app=x")] == ["a", "c", "j"]
    assert [name for _, name, _ in named(*objects, namespace="other")] == ["b"]
    with pytest.raises(ValueError, match="selector"):
        named(*objects, selector="!!")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("a"), pod("b", namespace="other", labels={"x": "y"})),
        (pod("a", cpu="1"), pod("b", cpu="1000m")),
        (pod("a", cpu="1"), pod("b", spec={"containers": [{}, container("500m"), container("500m")]})),
        (pod("a"), pod("b", spec={"schedulerName": "x", "hostNetwork": True, "nodeSelector": {}})),
        (pod("a", spec={"nodeSelector": {"a": "1", "b": "2"}}), pod("b", spec={"nodeSelector": {"b": "2", "a": "1"}})),
        (pod("a", entry("x", template="t")), pod("b", entry("other", template="u"))),
        (pod("a", entry("x", template="t")), maker("Job", "j", entry("x", template="t"))),
        (pod("a", entry("x", claim="c")), pod("b", entry("x", template="t"))),
        (claim("a"), claim("b", namespace="other")),
        (claim("a", VALUE="2"), claim("b", VALUE="2.0")),
        (claim("a"), claim("b", VALUE="1")),
        (claim("a"), claim("b", {"devices": {"requests": claim("x")["spec"]["devices"]["requests"], "config": [
            {"opaque": {"driver": "d", "parameters": {}}}]}})),
        (pod("a", spec={"priority": 7}), pod("b", spec={"priorityClassName": "seven"})),
        (
            pod("a", spec={"tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5}]}),
            pod("b", spec={"tolerations": [{"key": "k", "operator": "Exists"}]}),
        ),
        (pod("a", entry("x", claim="missing"), entry("x2", claim="missing")), pod("b", entry("x", claim="missing"))),
    ],
)  # fmt: skip
def test_units_that_a_plan_cannot_tell_apart(first, second):
    others = [
        template(),
        template("u"),
        template(namespace="other"),
        claim("c"),
        obj("PriorityClass", "seven", value=7),
    ]
    assert alike(first, second, *others)


AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}}  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        pod("b", cpu="1"),
        pod("b", spec={"nodeSelector": {"a": "1"}}),
        pod("b", spec={"affinity": AFFINITY}),
        pod("b", spec={"tolerations": [{"key": "k", "operator": "Exists"}]}),
        pod("b", spec={"priority": 1}),
        pod("b", spec={"overhead": {"cpu": "1"}}),
        pod("b", entry("x", template="t")),
        pod("b", entry("x", claim="missing")),
        pod("b", entry("x", claim="had")),
        pod("b", entry("x", claim="open"), spec={"nodeName": "n"}),
        pod("b", VALUE="2"),
        pod("b", GANG="g"),
        claim("b"),
    ],
)
def test_units_that_a_plan_can_tell_apart(other):
    assert not alike(pod("a"), other, template(), allocated("had"), claim("open"))


@pytest.mark.parametrize("other", [claim("b", OTHER), claim("b", CONSTRAINTS='[{"matchAttribute": "a/b"}]')])
def test_claims_that_a_plan_can_tell_apart(other):
    assert not alike(claim("a"), other)


def test_annotations_of_templates_count_for_their_claims():
    marked = template("u", metadata={"annotations": {"drasat.dev/constraints": '[{"matchAttribute": "a/b"}]'}})
    assert not alike(pod("a", entry("x", template="t")), pod("b", entry("x", template="u")), template(), marked)
    own = template("u", CONSTRAINTS='[{"matchAttribute": "a/b"}]')
    assert alike(pod("a", entry("x", template="u")), pod("b", entry("x", template="v")), own, template(
        "v", metadata={"annotations": {"drasat.dev/constraints": '[{"matchAttribute": "a/b"}]'}}))  # fmt: skip


def test_pods_with_claims_of_their_own_are_alike_those_that_share_one_are_not():
    own = [claim("c1"), claim("c2")]
    assert alike(pod("a", entry("x", claim="c1")), pod("b", entry("x", claim="c2")), *own)
    sharing = [pod(name, entry("x", claim="c1")) for name in ("p", "q")]
    (first, second, third) = read_queue(cluster(*sharing, pod("r", entry("x", claim="c2")), *own))
    assert first.signature == second.signature != third.signature
    assert [one.shape.claims[0].key for one in (first, third)] == [("default", "c1"), None]


@pytest.mark.parametrize(
    ("first", "shared"),
    [
        (maker("Job", "j", entry("x", claim="c"), spec={"parallelism": 2}), True),
        (maker("Job", "j", entry("x", claim="c"), spec={"parallelism": 1}), False),
        (pod("p", entry("x", claim="c"), REPLICAS="2"), True),
        (pod("p", entry("x", claim="c"), entry("y", claim="c")), False),
    ],
)
def test_all_replicas_share_a_claim_that_has_a_name(first, shared):
    (one,) = read_queue(cluster(first, claim("c")))
    assert [shape.key for shape in one.shape.claims] == [("default", "c") if shared else None]


def test_finished_pods_share_nothing():
    over = pod("q", entry("x", claim="c"), status={"phase": "Failed"})
    (one,) = read_queue(cluster(pod("p", entry("x", claim="c")), over, claim("c")))
    assert one.shape.claims[0].key is None


def test_claims_that_were_made_count_by_their_content():
    made = [claim("made"), template(), pod("p", entry("own", template="t"), status=EXISTING)]
    assert alike(*made[2:], pod("q", entry("own", template="t")), *made[:2])


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([entry("x", claim="gone")], "ResourceClaim default/gone not found"),
        ([entry("x", template="gone")], "ResourceClaimTemplate default/gone not found"),
    ],
)
def test_what_is_missing_is_a_problem_of_the_unit(entries, problem):
    (one,) = read_queue(cluster(pod("p", *entries)))
    assert one.shape.problems == (problem,)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, 5),
        ({"priority": -3, "priorityClassName": "high"}, -3),
        ({"priorityClassName": "high"}, 1000),
        ({"priorityClassName": "unknown"}, 0),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
    ],
)
def test_priority(spec, expected):
    classes = [
        obj("PriorityClass", "high", value=1000, globalDefault=False),
        obj("PriorityClass", "low", value=5, globalDefault=True),
        obj("PriorityClass", "more", value=9, globalDefault=True),
    ]
    (one, loose) = read_queue(cluster(*classes, pod("p", spec=spec), claim("c")))
    assert (one.shape.priority, loose.shape.priority) == (expected, 0)


def test_weights_come_from_the_annotation_that_is_named():
    built = cluster(pod("a", VALUE="2.50"), pod("b"), maker("Job", "j", VALUE="3", marks={"VALUE": "4"}))
    assert [one.shape.value for one in read_queue(built)] == [Decimal("2.5"), 1, 4]
    assert [one.shape.value for one in read_queue(built, value="example.com/worth")] == [1, 1, 1]


def test_bad_annotations_of_python_objects_name_object_and_field():
    bad = ResourceClaim(metadata=ObjectMeta(name="c", annotations={"drasat.dev/replicas": "x"}))
    with pytest.raises(ValueError, match=r"^ResourceClaim default/c: metadata.annotations\[drasat.dev/replicas\]: Inv"):
        read_queue(Cluster.of([bad]))


def test_signatures_are_the_same_in_every_order_and_run():
    objects = [pod("a", entry("x", template="t"), cpu="1"), claim("c"), template(), device_class()]
    one, two = (read_queue(cluster(*order)) for order in (objects, objects[::-1]))
    assert {item.name: item.signature for item in one} == {item.name: item.signature for item in two}


def test_interchangeable_sets_are_found_together():
    objects = [claim("a"), pod("p"), claim("b"), maker("Job", "j", spec={"parallelism": 4})]
    sets = read_queue(cluster(*objects))
    assert [[one.name for one in same] for same in by_signature(sets).values()] == [["a", "b"], ["p", "j"]]
    assert sets[0].shape is sets[2].shape


def test_more_units_than_can_be_planned_are_refused_in_one_line():
    """A manifest may ask for any number."""
    many = [maker("Deployment", f"d{number}", spec={"replicas": 500_000}) for number in range(3)]
    with pytest.raises(ValueError, match=r"^the queue has 1,500,000 units, and no more than 1,000,000 are planned$"):
        read_queue(cluster(*many))
    assert [one.replicas for one in read_queue(cluster(*many[:2]))] == [500_000] * 2


class OutOfTimeError(Exception):
    """A time limit that has passed."""


def out_of_time():
    raise OutOfTimeError


def test_reading_a_long_queue_ends_where_its_caller_says_so():
    """SRCH-10: the caller looks at its deadline after every few objects."""
    many = [pod(f"p{number}") for number in range(300)]
    with pytest.raises(OutOfTimeError):
        named(*many, look=out_of_time)
    assert len(named(*many, look=lambda: None)) == 300
    # Nothing of an end that came too early is kept.
    built = cluster(*many)
    with pytest.raises(OutOfTimeError):
        read_queue(built, look=out_of_time)
    assert len(read_queue(built)) == 300


def test_a_short_queue_is_read_in_any_case():
    assert len(named(*(pod(f"p{number}") for number in range(3)), look=out_of_time)) == 3
