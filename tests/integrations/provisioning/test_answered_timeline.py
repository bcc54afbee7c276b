"""A queue of workloads against a cluster that can grow: events come from answers until nothing happens any more."""

import pytest
from support.asked import CHECK, CLASS, SCALE, claim_template, node, offer, pod_set
from support.provisioning_play import check, config, flavor, kueue, workload

import drasat
from drasat.reports.provision import check_spans

LOCAL = kueue("LocalQueue", "lq", {"clusterQueue": "cq"}, namespace="team")
RETRIES = {"backoffLimitCount": 2, "backoffBaseSeconds": 60}


def queue(quota=100):
    flavors = [{"name": "f1", "resources": [{"name": "cpu", "nominalQuota": str(quota)}]}]
    group = {"coveredResources": ["cpu"], "flavors": flavors}
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "check1"}]}}
    return kueue("ClusterQueue", "cq", {"namespaceSelector": {}, "resourceGroups": [group], **strategy})


def asks(name, *pods):
    sets = [
        {"name": f"ps{number}", "count": count, "template": template} for number, (count, template) in enumerate(pods)
    ]
    return workload(*sets, name=name)


def played(*objects, of=SCALE, events=None, retries=RETRIES, **options):
    parts = [one for part in objects for one in ([part] if isinstance(part, dict) else part)]
    around = [config(provisioningClassName=of, retryStrategy=retries), check(), queue(), LOCAL]
    unlabelled = flavor("f1", "z") | {"spec": {}}
    given = [CLASS, claim_template(2), unlabelled, *around, *parts]
    return drasat.provision(drasat.load(given), answers=True, events=events, quota="free", **options)


def states(result):
    return {one.name: (one.state, one.active) for one in result.workloads}


@pytest.mark.parametrize(
    ("options", "annotation", "seconds"),
    [({}, None, 300), ({"provisioning_time": "2m"}, None, 120), ({"provisioning_time": 7}, "1m30s", 90), ({}, "8", 8)],
)
def test_workloads_start_when_their_nodes_are_there(options, annotation, seconds):
    annotations = annotation and {"drasat.dev/provisioning-time": annotation}
    offered = offer("big", 4, 10, annotations=annotations)
    result = played(offered, asks("wl", pod_set(2, gpus=2)), **options)
    [answer] = result.answers
    assert (answer.time, answer.provisioned_at, result.document.time) == (0, seconds, seconds)
    assert states(result) == {"wl": ("admitted", True)}
    [request] = result.requests
    assert set(request.true_conditions) == {"Accepted", "Provisioned"}


def test_a_request_that_never_fits_is_retried_and_then_deactivated():
    """Three attempts, with waits of 60 and 120 s that count as Kueue counts them (provisioning-request 12)."""
    result = played(node("a", 2), asks("wl", pod_set(2, gpus=2)), of=CHECK)
    assert [(one.name, one.time, one.outcome) for one in result.answers] == [
        ("wl-check1-1", 0, "Failed"),
        ("wl-check1-2", 60, "Failed"),
        ("wl-check1-3", 180, "Failed"),
    ]
    assert states(result) == {"wl": ("pending", False)}
    assert result.document.complete


def test_a_workload_that_finishes_gives_its_room_back():
    parts = node("a", 2), asks("first", pod_set(1, gpus=2)), asks("second", pod_set(1, gpus=2))
    kept = played(*parts, of=CHECK)
    assert states(kept) == {"first": ("admitted", True), "second": ("pending", False)}
    freed = played(*parts, of=CHECK, events=[{"time": 30, "finish": "team/first"}])
    assert states(freed) == {"first": ("finished", True), "second": ("admitted", True)}


def test_nodes_that_were_bought_stay():
    events = [{"time": 400, "finish": "team/first"}, {"time": 500, "apply": asks("second", pod_set(1, gpus=2))}]
    result = played(offer("big", 2, 10), asks("first", pod_set(1, gpus=2)), events=events)
    assert [sum(one.cost for one in answer.bought) for answer in result.answers] == [10, 0]
    assert result.answers[1].provisioned_at == 500


def test_requests_on_nodes_that_are_not_there_yet_wait_for_them():
    second = asks("second", pod_set(1, gpus=2))
    result = played(offer("big", 4, 10), asks("first", pod_set(1, gpus=2)), events=[{"time": 100, "apply": second}])
    assert [(one.time, one.provisioned_at) for one in result.answers] == [(0, 300), (100, 300)]
    assert [sum(one.cost for one in answer.bought) for answer in result.answers] == [10, 0]


def test_a_timeline_that_would_not_end_is_cut():
    endless = {"backoffLimitCount": 2**31 - 1, "backoffMaxSeconds": 60}
    result = played(asks("wl", pod_set(1, gpus=2)), node("a"), retries=endless, of=CHECK, time_limit=3)
    assert not result.document.complete


def test_the_chart_of_the_timeline_adds_up_to_its_length():
    result = played(node("a", 2), asks("wl", pod_set(2, gpus=2)), of=CHECK)
    spans = list(check_spans(result.document))
    assert sum(one["end"] - one["start"] for one in spans) == result.document.time == 180
    assert {one["state"] for one in spans} == {"Retry"}
    assert result.plot.names == ("timeline",)
    assert result.plot.timeline().to_dict()["data"]["values"] == spans
