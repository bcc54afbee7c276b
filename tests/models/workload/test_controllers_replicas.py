"""Which replicas are still to be made."""

import pytest
from support.manifests import cluster, maker, obj, pod

from drasat.models.kubernetes.kinds import kind_of
from drasat.models.workload.controllers import read_controllers

KEY = ("default", "web")


def missing_replicas(*objects):
    """The numbers that each controller lacks; a controller that lacks none is left out."""
    found = read_controllers(cluster(*objects)).missing
    return {(kind_of(model).name, key): list(one.sets[0].numbers) for (model, key), one in found.items()}


def lacking(*objects):
    return {kind: numbers for (kind, key), numbers in missing_replicas(*objects).items() if key == KEY}


def owned(name, kind, owner="web", **options):
    return pod(name, owner=(kind, owner), **options)


def replica_set(name, owner="web", replicas=2):
    return maker("ReplicaSet", name, spec={"replicas": replicas}, owner=("Deployment", owner))


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize(("spec", "expected"), [({}, [0]), ({"replicas": 3}, [0, 1, 2]), ({"replicas": 0}, [])])
def test_replicas(kind, spec, expected):
    assert lacking(maker(kind, "web", spec=spec)) == ({kind: expected} if expected else {})


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, {}, 1),
        ({"parallelism": 4}, {}, 4),
        ({"parallelism": 4, "completions": 2}, {}, 2),
        ({"parallelism": 2, "completions": 9}, {"succeeded": 3}, 2),
        ({"parallelism": 2, "completions": 4}, {"succeeded": 3}, 1),
        ({"parallelism": 2, "completions": 4}, {"succeeded": 5}, 0),
        ({"parallelism": 2, "suspend": True}, {}, 0),
        ({"parallelism": 0}, {}, 0),
        ({"parallelism": 2}, {"conditions": [{"type": "Failed", "status": "True"}]}, 0),
        ({"parallelism": 2}, {"conditions": [{"type": "Complete", "status": "False"}]}, 2),
    ],
)
def test_a_job_makes_what_it_may_at_once(spec, status, expected):
    found = lacking(maker("Job", "web", spec=spec, status=status))
    assert found == ({"Job": list(range(expected))} if expected else {})


@pytest.mark.parametrize("kind", ["Job", "ReplicaSet"])
def test_pods_that_are_there_are_replicas(kind):
    spec = {"parallelism": 3} if kind == "Job" else {"replicas": 3}
    there = [
        owned("web-x", kind),
        owned("web-y", kind, status={"phase": "Succeeded"}),
        owned("web-z", kind, owner="other"),
        owned("web-w", "StatefulSet"),
        pod("web-v"),
        owned("web-x", kind, namespace="elsewhere"),
    ]
    assert lacking(maker(kind, "web", spec=spec), *there)[kind] == [1, 2]


def test_more_pods_than_asked_for_are_no_fewer_than_none():
    there = [owned(f"web-{letter}", "Job") for letter in "abc"]
    assert lacking(maker("Job", "web", spec={"parallelism": 2}), *there) == {}


def test_a_stateful_set_lacks_numbers():
    made = maker("StatefulSet", "web", spec={"replicas": 4, "ordinals": {"start": 5}})
    assert lacking(made) == {"StatefulSet": [5, 6, 7, 8]}
    assert lacking(made, owned("web-6", "StatefulSet")) == {"StatefulSet": [5, 7, 8]}


@pytest.mark.parametrize("with_set", [True, False])
def test_pods_of_a_deployment_are_known_through_their_replica_set(with_set):
    """Also if the ReplicaSet is not in the input; one of a Deployment that is there is not planned twice."""
    objects = [maker("Deployment", "web", spec={"replicas": 3}), owned("web-7d9-x", "ReplicaSet", owner="web-7d9")]
    found = missing_replicas(*objects, *([replica_set("web-7d9")] if with_set else []))
    assert found == {("Deployment", KEY): [1, 2]}


def test_a_replica_set_whose_deployment_is_away_is_planned():
    found = missing_replicas(replica_set("web", owner="gone"))
    assert found == {("ReplicaSet", KEY): [0, 1]}


def test_other_owners_make_nothing_here():
    daemon = pod("d", owner=("DaemonSet", "web"))
    assert missing_replicas(daemon, obj("PriorityClass", "web", value=1)) == {}
