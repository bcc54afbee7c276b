"""``drasat.provision``: the state of a cluster goes on, events as mappings, who gives quota, frames."""

import random

import pytest
import yaml
from support.provisioning_play import STANDARD, check, config, flavor, kueue, queue, workload

import drasat
from drasat.integrations.provisioning.event_forms import EVENT_FORMS

LOCAL = kueue("LocalQueue", "lq", {"clusterQueue": "cq"}, namespace="team")
AROUND = [config(), check(), queue(), flavor("f1", "z1"), flavor("f2", "z2"), LOCAL]
ADMISSION = {
    "clusterQueue": "cq",
    "podSetAssignments": [
        {"name": "ps1", "flavors": {"cpu": "f2"}, "resourceUsage": {"cpu": "4"}, "count": 4},
        {"name": "ps2", "flavors": {"cpu": "f2"}, "resourceUsage": {"cpu": "1500m"}, "count": 3},
    ],
}


def loaded(*objects):
    return drasat.load(*AROUND, *(objects or [workload(*STANDARD)]))


def reserved(**status):
    return workload(*STANDARD) | {"status": {"admission": ADMISSION, **status}}


def progress(state, since, **fields):
    return {"name": "check1", "state": state, "message": "", "lastTransitionTime": since, **fields}


def request(attempt, *conditions):
    name = f"wl-check1-{attempt}"
    owners = [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "wl", "uid": "uid-wl"}]
    sets = [
        {"podTemplateRef": {"name": f"ppt-{name}-{one}"}, "count": count} for one, count in (("ps1", 4), ("ps2", 3))
    ]
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "namespace": "team", "ownerReferences": owners},
        "spec": {"provisioningClassName": "class1", "parameters": {"p1": "v1"}, "podSets": sets},
        "status": {"conditions": list(conditions)},
    }


FAILED = {
    "type": "Failed",
    "status": "True",
    "reason": "x",
    "message": "no",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def test_quota_of_the_input_keeps_its_flavors():
    result = drasat.provision(loaded(reserved()), quota="events")
    [template] = [one for one in result.manifests() if one["metadata"]["name"] == "ppt-wl-check1-1-ps1"]
    assert template["template"]["spec"]["nodeSelector"] == {"zone": "z2"}


def test_a_snapshot_goes_on_where_the_cluster_is():
    """A request of the second attempt fails: the retries of the status count, and its times."""
    status = reserved(admissionChecks=[progress("Pending", "2026-01-01T00:00:10Z", retryCount=1)])
    result = drasat.provision(loaded(status, request(2, FAILED)), quota="events")
    [one] = result.workloads
    assert (one.checks[0].state, one.checks[0].requeue_after_seconds, one.requeue_at) == ("Retry", 120, 120)
    later = drasat.provision(loaded(status, request(2, FAILED)), events=[{"time": 120, "tick": None}])
    assert [one.name for one in later.requests] == ["wl-check1-3"]


def test_without_quota_nothing_is_asked():
    result = drasat.provision(loaded(), quota="events")
    assert (result.requests, result.manifests()) == ((), [])


@pytest.mark.parametrize("quota", ["kueue", "free"])
def test_both_schedulers_give_quota_of_an_empty_queue(quota):
    result = drasat.provision(loaded(), quota=quota)
    assert [one.name for one in result.requests] == ["wl-check1-1"]


def test_events_may_be_mappings():
    answer = {"request": "team/wl-check1-1", "type": "Provisioned"}
    result = drasat.provision(loaded(), events=[{"time": "1m", "condition": answer}])
    assert [one.state for one in result.workloads] == ["admitted"]
    with pytest.raises(drasat.InputError, match="unknown event 'x'"):
        drasat.provision(loaded(), events=[{"time": 1, "x": 1}])


def test_equal_input_gives_equal_documents():
    assert drasat.provision(loaded()).to_json() == drasat.provision(loaded()).to_json()


@pytest.mark.parametrize(("table", "rows"), [("timeline", 2), ("requests", 2), ("workloads", 1)])
def test_frames_have_a_row_for_each_thing(table, rows):
    assert len(drasat.provision(loaded()).to_frame(table)) == rows


def test_claims_that_managed_resources_do_not_see_are_named():
    """Section 2 of provisioning-request: such a check asks for nothing."""
    [pods] = STANDARD[:1]
    spec = pods["template"]["spec"] | {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpu"}]}
    own = workload(pods | {"template": {"spec": spec}})
    objects = [config(managedResources=["example.com/gpu"]), *AROUND[1:], own]
    result = drasat.provision(drasat.load(*objects), quota="free")
    assert [one.state for one in result.workloads] == ["admitted"]
    assert any("Kueue does not look at claims" in line for line in result.reasons())


def test_what_is_made_can_be_read_back():
    cluster = drasat.load(*AROUND, reserved())
    made = drasat.provision(cluster, quota="events").manifests()
    again = drasat.provision(drasat.load(*AROUND, reserved(), *made), quota="events")
    assert yaml.safe_dump(again.manifests()) == yaml.safe_dump(made)
    assert again.timeline[0].created == ()


ATOMS = [None, True, 0, -1, 1.5, "", "team/wl", "wl", "team/wl-check1-1", "Failed", "x/y/z", "PodTemplate", [], 10**20]
KEYS = ["workload", "request", "type", "status", "flavors", "counts", "by", "kind", "name", "metadata", "spec", "ps1"]


def random_value(rng, depth=0):
    if depth > 3 or rng.random() < 0.5:
        return rng.choice(ATOMS)
    if rng.random() < 0.7:
        return {rng.choice(KEYS): random_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return [random_value(rng, depth + 1) for _ in range(rng.randrange(3))]


@pytest.mark.parametrize("seed", range(5))
def test_any_event_happens_or_is_refused(seed):
    rng = random.Random(seed)
    cluster = loaded()
    outcomes = set()
    for _ in range(100):
        fitting = {"reserve": "team/wl", "tick": None, "apply": rng.choice(AROUND), "finish": "team/wl"}
        names = [rng.choice([*fitting, *EVENT_FORMS]) for _ in range(2)]
        events = [
            {"time": time, name: fitting[name] if name in fitting and rng.random() < 0.8 else random_value(rng)}
            for time, name in enumerate(names)
        ]
        try:
            drasat.provision(cluster, events=events)
            outcomes.add("happened")
        except drasat.InputError:
            outcomes.add("refused")
    assert outcomes == {"happened", "refused"}
