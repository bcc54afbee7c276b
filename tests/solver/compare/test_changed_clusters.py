"""Clusters with a queue of another length, and with nodes added or removed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import drasat
from drasat.models.workload.queue import read_queue
from drasat.scenarios import objects
from drasat.solver.compare.changed_clusters import ClusterChange, NodeChange, scaled_queue

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def claim_spec(count=1):
    return objects.claim_spec([objects.exactly("gpu", objects.wanted("gpu", count=count))])


def pod(name, *claims, gang=None, node=None, owner=None):
    made = objects.pod(name, [objects.by_claim(claim, claim) for claim in claims], "lab")
    if gang:
        made["metadata"]["annotations"] = {"drasat.dev/gang": gang}
    if node:
        made["spec"]["nodeName"] = node
    if owner:
        made["metadata"]["ownerReferences"] = [owner]
    return made


def job(name, pods):
    template = {"spec": {"containers": [{"name": "main"}], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "lab", "uid": f"uid-{name}"},
        "spec": spec,
    }


def owned_by(name):
    return {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-{name}", "controller": True}


def nodes(count=2, labels=None):
    made = []
    for number in range(count):
        node = objects.node(f"n{number}")
        node["metadata"]["labels"] = {"rack": f"r{number}", **(labels or {})}
        devices = [objects.device(f"gpu-{index}", {}) for index in range(2)]
        made += [node, objects.resource_slice(f"s{number}", "d.x", f"n{number}", {"nodeName": f"n{number}"}, devices)]
    return made


def loaded(*items):
    return drasat.load([objects.device_class("gpu"), *items])


def asked(cluster):
    """The number of units by namespace and owner."""
    found = Counter()
    for one in read_queue(cluster):
        found[f"{one.namespace}/{one.name}"] += one.replicas
    return dict(found)


def test_a_queue_of_double_length_has_all_owners_twice():
    cluster = loaded(*nodes(), objects.claim("c", claim_spec(), "lab"), pod("a", "c"), job("j", 3))
    twice = scaled_queue(cluster, 2)
    assert asked(twice) == {"lab/a": 1, "lab/j": 3, "lab-x2/a": 1, "lab-x2/j": 3}
    assert drasat.plan(twice).placed == 8
    assert sorted(asked(scaled_queue(twice, 2)).values()) == sorted(asked(scaled_queue(cluster, 4)).values())


def test_a_scaled_queue_asks_for_so_many_units():
    cluster = drasat.load(EXAMPLES / "plan-queue")
    counts = {factor: sum(asked(scaled_queue(cluster, factor)).values()) for factor in (0, 0.3, 1, 1.5, 2, 2.4, 3)}
    assert {factor: counts[factor] for factor in (0, 1, 2, 3)} == {0: 0, 1: 10, 2: 20, 3: 30}
    # Owners and gangs are taken whole: the largest has six units.
    assert all(abs(counts[factor] - 10 * factor) <= 3 for factor in counts)


def test_gangs_of_copies_are_gangs_of_their_own():
    cluster = loaded(*nodes(), pod("a", gang="g"), pod("b", gang="g"))
    twice = scaled_queue(cluster, 2)
    assert {(one.gang.namespace, one.gang.name) for one in read_queue(twice)} == {("lab", "g"), ("lab-x2", "g")}
    assert asked(scaled_queue(cluster, 1.4)) == {"lab/a": 1, "lab/b": 1}


def test_what_runs_is_not_copied():
    held = objects.allocated(
        objects.claim("c", claim_spec(), "lab"), [objects.result("gpu", "d.x", "n0", "gpu-0")], "n0"
    )
    running = pod("a", "c", node="n0", owner=owned_by("j"))
    cluster = loaded(*nodes(), held, running, job("j", 2), job("done", 1), pod("b", node="n0", owner=owned_by("done")))
    assert asked(cluster) == {"lab/j": 1}
    # The copy of a Job has none of its pods yet.
    assert asked(scaled_queue(cluster, 2)) == {"lab/j": 1, "lab-x2/j": 2}
    assert sum(pod.spec.node_name != "" for pod in scaled_queue(cluster, 2).pods.values() if pod.spec.node_name) == 2


def test_a_part_of_the_queue_leaves_no_claims_of_absent_pods():
    claims = [objects.claim(name, claim_spec(), "lab") for name in ("c0", "c1", "c2")]
    cluster = loaded(*nodes(), *claims, pod("p0", "c0"), pod("p1", "c1"))
    assert asked(cluster) == {"lab/p0": 1, "lab/p1": 1, "lab/c2": 1}
    assert sum(asked(scaled_queue(cluster, 0.34)).values()) == 1
    found = asked(scaled_queue(cluster, 1.34))
    assert sum(found.values()) == 4
    assert asked(cluster).items() <= found.items()


def test_names_of_namespaces_that_are_there_are_not_taken():
    cluster = loaded(*nodes(), objects.namespace("lab"), objects.namespace("lab-x2"), pod("a"))
    twice = scaled_queue(cluster, 2)
    assert asked(twice) == {"lab/a": 1, "lab-copy-x2/a": 1}
    assert "lab-copy-x2" in twice.namespaces


def test_every_example_of_a_queue_can_be_doubled():
    for name in ("plan-queue", "plan-controllers", "plan-buy", "study", "rails", "same-island", "compute-domain"):
        cluster = drasat.load(EXAMPLES / name)
        once = sum(one.replicas for one in read_queue(cluster) if not one.node)
        assert sum(one.replicas for one in read_queue(scaled_queue(cluster, 2)) if not one.node) == 2 * once, name


@pytest.mark.parametrize("name", ["story-1-batch-jobs", "c-borrowing"])
def test_copies_of_jobs_go_to_copies_of_their_local_queues(name):
    """They are workloads of the same ClusterQueues, and compete for one quota."""
    cluster = drasat.load(EXAMPLES / "kueue" / name)
    once, twice = drasat.quota(cluster), drasat.quota(scaled_queue(cluster, 2))
    waiting = [one for one in once.workloads if one.cycle is not None or one.state == "pending"]
    assert len(twice.workloads) == len(once.workloads) + len(waiting)
    assert {one.cluster_queue for one in twice.workloads} == {one.cluster_queue for one in once.workloads}


@pytest.mark.parametrize(
    ("change", "placed"),
    [
        (ClusterChange(), 4),
        (ClusterChange(removed=(NodeChange(selector="rack=r0"),)), 2),
        (ClusterChange(removed=(NodeChange(selector="rack", count=1),)), 2),
        (ClusterChange(added=(NodeChange(selector="rack=r1", count=2),)), 8),
        (ClusterChange(added=(NodeChange(selector="rack", count=1),)), 6),
        (ClusterChange(added=(NodeChange(template="t", count=2),)), 10),
        (ClusterChange(removed=(NodeChange(selector="rack"),), added=(NodeChange(template="t", count=1),)), 3),
        (ClusterChange(added=(NodeChange(template="t", count=2),), scale=0.5), 5),
    ],
)
def test_nodes_make_room(change, placed):
    slices = [{"driver": "d.x", "devices": [{"name": f"gpu-{number}"} for number in range(3)]}]
    template = {
        "apiVersion": "drasat.dev/v1alpha1",
        "kind": "NodeTemplate",
        "metadata": {"name": "t"},
        "spec": {"price": "1", "slices": slices},
    }
    claims = [objects.claim(f"c{number}", claim_spec()) for number in range(10)]
    result = drasat.plan(change.apply(loaded(*nodes(), template, *claims)))
    assert (result.placed, result.document.verified) == (placed, True)


def test_pods_of_removed_nodes_wait_again_if_a_controller_makes_them():
    """Pods of no controller are gone with their node, and what they held as well."""
    held = objects.allocated(
        objects.claim("c", claim_spec(), "lab"), [objects.result("gpu", "d.x", "n0", "gpu-0")], "n0"
    )
    bare = pod("bare", "c", node="n0")
    cluster = loaded(*nodes(), held, bare, pod("a", node="n0", owner=owned_by("j")), job("j", 1))
    assert asked(cluster) == {}
    less = ClusterChange(removed=(NodeChange(selector="rack=r0"),)).apply(cluster)
    assert asked(less) == {"lab/j": 1}
    assert list(less.nodes) == ["n1"]
    assert (less.device_count, len(less.claims)) == (2, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ClusterChange(removed=(NodeChange(selector="rack=r0", count=2),)),
            "there is 1 node with labels rack=r0, not 2",
        ),
        (
            ClusterChange(added=(NodeChange(selector="rack=r9", count=1),)),
            "there is no node with labels rack=r9 to copy",
        ),
        (ClusterChange(added=(NodeChange(template="t", count=1),)), "there is no NodeTemplate 't', known are: none"),
    ],
)
def test_nodes_that_are_not_there_are_an_error(change, message):
    with pytest.raises(ValueError, match=message):
        change.apply(loaded(*nodes()))
