"""Planned sets as units: names, claims of their own, shared claims, manifests."""

import pytest
from support.manifests import claim, cluster, entry, maker, pod, template

from drasat.models.workload.expansion import UnitExpander, UnitRanges, expand_units, unit_runs
from drasat.models.workload.queue import read_queue
from drasat.models.workload.requested import all_units


def units(*objects):
    built = cluster(*objects)
    return [(one.number, one.unit) for one in expand_units(built, read_queue(built))]


def names(*objects):
    return [(unit.name, [ref.name for ref in unit.claims]) for _, unit in units(*objects)]


@pytest.mark.parametrize("kind", ["Job", "Deployment", "ReplicaSet", "StatefulSet"])
def test_each_replica_has_a_name_and_claims_of_its_own(kind):
    spec = {"parallelism": 2} if kind == "Job" else {"replicas": 2}
    made = maker(kind, "web", entry("gpu", template="t"), entry("all", claim="c"), spec=spec)
    found = units(made, template(), claim("c"))
    assert [(number, unit.name, [ref.name for ref in unit.claims]) for number, unit in found] == [
        (0, "web-0", ["web-0-gpu", "c"]),
        (1, "web-1", ["web-1-gpu", "c"]),
    ]
    assert found[0][1].claims[1].claim is found[1][1].claims[1].claim
    assert [ref.generated for ref in found[0][1].claims] == [True, False]


def test_made_pods_have_labels_of_the_template_and_no_past():
    made = maker("Job", "web", labels={"app": "x"}, owner=("CronJob", "c"), VALUE="2")
    ((_, unit),) = units(made)
    assert (unit.labels, unit.namespace, unit.node_name) == ({"app": "x"}, "default", None)
    assert unit.pod.metadata.owner_references is None
    assert unit.pod.metadata.annotations == {"drasat.dev/value": "2"}


def test_copies_of_a_pod():
    found = units(pod("p", entry("gpu", template="t"), REPLICAS="2", VALUE="3"), template())
    assert [(unit.name, [ref.name for ref in unit.claims]) for _, unit in found] == [
        ("p-0", ["p-0-gpu"]),
        ("p-1", ["p-1-gpu"]),
    ]
    assert found[0][1].pod.metadata.annotations == {"drasat.dev/value": "3"}


def test_copies_of_a_loose_claim_are_printed_under_their_own_names():
    written = claim("c", REPLICAS="2", VALUE="3", status={}, labels={"a": "b"})
    written["metadata"]["uid"] = "u"
    found = [unit.claims[0] for _, unit in units(written)]
    assert [ref.name for ref in found] == [ref.claim.metadata.name for ref in found] == ["c-0", "c-1"]
    assert found[0].raw == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c-0", "labels": {"a": "b"}, "annotations": {"drasat.dev/value": "3"}},
        "spec": written["spec"],
    }


@pytest.mark.parametrize("replicas", ["0", "1"])
def test_one_copy_is_a_copy_and_no_copy_is_nothing(replicas):
    assert [name for name, _ in names(claim("c", REPLICAS=replicas))] == ["c-0"][: int(replicas)]


def test_single_objects_keep_their_names():
    assert names(pod("p", entry("x", template="t")), claim("c"), template()) == [("p", ["p-x"]), ("c", ["c"])]


def test_pods_that_are_there_have_the_claims_that_allocate_gives_them():
    built = cluster(pod("q", entry("x", template="t")), pod("p", entry("x", claim="c")), template(), claim("c"))
    found = {one.unit.name: [ref.key for ref in one.unit.claims] for one in expand_units(built, read_queue(built))}
    assert found == {unit.name: [ref.key for ref in unit.claims] for unit in all_units(built)}


def test_names_are_kept_apart():
    """By their kind if other pods would have them; claims by a number."""
    objects = [
        maker("Deployment", "web", entry("x", template="t")),
        maker("StatefulSet", "web", entry("x", template="t")),
        maker("Job", "web", entry("x", template="t")),
        maker("Job", "run", entry("x", template="t")),
        pod("run-0", entry("x", template="t")),
        pod("a-b", entry("c", template="t")),
        pod("a", entry("b-c", template="t")),
        template(),
    ]
    found = names(*objects)
    assert [name for name, _ in found] == [
        "web-deployment-0", "web-0", "web-job-0", "run-job-0", "run-0", "a-b", "a",
    ]  # fmt: skip
    made = [name for _, own in found for name in own]
    assert len(set(made)) == len(made)
    assert made[-2:] == ["a-b-c", "a-b-c-2"]


def test_units_are_the_same_in_every_run():
    objects = [
        maker("Job", "j", entry("x", template="t"), spec={"parallelism": 3}),
        template(),
        claim("c", REPLICAS="2"),
    ]
    assert names(*objects) == names(*objects)


def jobs(**replicas):
    ask = entry("x", template="t")
    return [maker("Job", name.replace("_", "-"), ask, spec={"parallelism": n}) for name, n in replicas.items()]


@pytest.mark.parametrize(
    "objects",
    [
        jobs(a=12, b=9),
        # Claims of both would be named a-1-x.
        [*jobs(a=12), pod("a-1", entry("x", template="t"))],
        [*jobs(a=12), claim("a-3-x")],
        [*jobs(a=12), pod("a", entry("1-x", template="t"))],
        [maker("Job", "a", entry("1-x", template="t"), spec={"parallelism": 12}), *jobs(a_1=12)],
        [maker("StatefulSet", "a", entry("x", template="t"), spec={"replicas": 12}), *jobs(a=12)],
        [maker("Job", "a", entry("x", template="t"), entry("x-1", template="t"), spec={"parallelism": 12})],
        [pod("p", entry("x", template="t"), REPLICAS="12"), *jobs(p_0=12)],
    ],
)
def test_claims_have_the_same_names_in_whatever_order_units_are_looked_at(objects):
    """Units are made when they are looked at, unless names could be the same."""
    built = cluster(*objects, template())
    sets = read_queue(built)
    in_order = UnitExpander(built)
    expected = [in_order.unit(one, number) for one in sets for number in one.numbers]
    found = [one.unit for one in expand_units(built, sets)]
    for unit, made in reversed([*zip(found, expected, strict=True)]):
        assert [(ref.name, ref.claim) for ref in unit.claims] == [(ref.name, ref.claim) for ref in made.claims]
        assert (unit.pod, unit.namespace, unit.name) == (made.pod, made.namespace, made.name)
    keys = [ref.key for unit in found for ref in unit.claims if ref.generated]
    assert len(set(keys)) == len(keys)


def replicas(number):
    built = cluster(maker("Deployment", "web", entry("gpu", template="t"), spec={"replicas": number}), template())
    return expand_units(built, read_queue(built))


def test_a_unit_of_a_range_is_made_when_its_place_is_asked_for_and_kept():
    queue = replicas(1000)
    assert isinstance(queue, UnitRanges)
    assert (len(queue), queue[7].unit.name, queue[-1].unit.name) == (1000, "web-7", "web-999")
    assert queue[7] is queue[7]
    assert list(queue)[7] is queue[7]
    assert queue.unit(queue[8].unit_set, 8).unit is not queue[8].unit
    assert queue.unit(queue[8].unit_set, 8).unit.pod == queue[8].unit.pod
    assert [one.number for one in queue[3:6]] == [3, 4, 5]
    with pytest.raises(IndexError):
        queue[1000]


def test_places_of_one_set_that_follow_one_another_are_a_run():
    built = cluster(
        maker("Deployment", "a", spec={"replicas": 4}), pod("b"), maker("Deployment", "c", spec={"replicas": 7})
    )
    queue = expand_units(built, read_queue(built))
    listed = list(queue)
    for places in (range(12), range(3, 9), [0, 2, 4, 11], []):
        runs = [(one.name, list(own)) for one, own in unit_runs(queue, places)]
        assert [place for _, own in runs for place in own] == list(places)
        assert all({listed[place].unit_set.name for place in own} == {name} for name, own in runs)
        assert len({name for name, _ in runs}) == len(runs)
        assert [(one.name, *own) for one, own in unit_runs(listed, places)] == [
            (name, place) for name, own in runs for place in own
        ]
