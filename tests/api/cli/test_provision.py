"""``drasat provision``: the examples' stories, documents, manifests, and events that are refused with their lines."""

import json

import jsonschema
import kubernetes_validate
import pytest
import yaml
from support.crd_text import schema_of

from drasat.models.results.schema import results_schema


@pytest.fixture
def stories(examples):
    return examples / "provisioning"


@pytest.fixture
def told(drasat, stories):
    """The document of a story, by the name of its folder."""

    def run(name, *options):
        events = ("--events", stories / name / "events.yaml") if name else ()
        done = drasat("provision", "-f", stories / "cluster.yaml", *events, "-o", "json", *options)
        assert done.code == 0, done.err
        document = json.loads(done.out)
        jsonschema.validate(document, results_schema())
        return document

    return run


def at(document, time):
    return [entry for entry in document["timeline"] if entry["time"] == time]


def reasons(document, time):
    return [event["reason"] for entry in at(document, time) for event in entry["events"]]


def requests(document):
    return [one["name"] for one in document["requests"]]


def test_the_request_has_an_entry_for_each_pod_set(told):
    """A2 of provisioning-request 9."""
    [request] = told("")["requests"]
    assert (request["name"], request["attempt"]) == ("train-nodes-1", 1)
    assert [(one["podTemplate"], one["count"]) for one in request["podSets"]] == [
        ("ppt-train-nodes-1-launcher", 1),
        ("ppt-train-nodes-1-worker", 4),
    ]


def test_a_request_that_succeeds_is_deleted_with_its_finished_workload(told):
    """G1 of provisioning-request 9."""
    document = told("success")
    assert [check["message"] for entry in at(document, 5) for check in entry["checks"]] == ["ready in 4 min"]
    assert reasons(document, 180) == ["AdmissionCheckUpdated", "Admitted"]
    assert [one["state"] for one in document["workloads"]] == ["finished"]
    assert requests(document) == []


def test_a_preempted_workload_begins_with_the_first_attempt(told):
    """G2 and D7 of provisioning-request 9."""
    document = told("preempted")
    assert reasons(document, 600)[:3] == ["EvictedDueToPreempted", "Preempted", "PreemptedWorkload"]
    assert requests(document) == ["train-nodes-1"]
    assert {one["name"]: one["state"] for one in document["workloads"]} == {
        "train": "quotaReserved",
        "urgent": "finished",
    }


def test_a_deleted_request_is_made_again_only_while_its_check_is_pending(told):
    """E10, G3 and G5 of provisioning-request 9."""
    document = told("deleted")
    [again], [gone] = at(document, 10), at(document, 300)
    name = "ProvisioningRequest team/train-nodes-1"
    assert name in again["created"]
    assert name in again["deleted"]
    assert name in gone["deleted"]
    assert gone["created"] == []
    assert (document["requests"], document["workloads"]) == ([], [])


@pytest.mark.parametrize(("reading", "times"), [("as-coded", [60, 180, 420]), ("intended", [70, 200, 450])])
def test_four_failures_deactivate_the_workload(drasat, stories, tmp_path, reading, times):
    """D2 and D3 of provisioning-request 9: both readings of the back-off, each with a failure 10 s after creation."""
    failures = [
        {"time": time + 10, "condition": {"request": f"team/train-nodes-{number}", "type": "Failed", "message": "no"}}
        for number, time in enumerate([0, *times], 1)
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, failures)))
    options = ("--events", path, "--backoff", reading, "-o", "json")
    document = json.loads(drasat("provision", "-f", stories / "cluster.yaml", *options).out)
    made = [entry["time"] for entry in document["timeline"] if entry["created"]]
    assert made == [0, *times]
    assert "AdmissionCheckRejected" in reasons(document, times[-1] + 10)
    assert [one["active"] for one in document["workloads"]] == [False]


def test_revoked_capacity_deactivates_and_activation_does_not_requeue(told):
    """C11 and D8 of provisioning-request 9, with correction 2 of section 12."""
    document = told("revoked")
    assert "AdmissionCheckRejected" in reasons(document, 3600)
    assert [one["active"] for one in document["workloads"]] == [True]
    assert requests(document) == []
    [entry] = at(document, 7200)
    assert "is not requeued" in entry["quirks"][0]
    intended = told("revoked", "--backoff", "intended")
    assert requests(intended) == ["train-nodes-1"]


def test_a_changed_configuration_replaces_requests(told):
    """E4, E5, E6 and E8 of provisioning-request 9."""
    document = told("config-changed")
    replaced, kept, gone, back = (at(document, time)[0] for time in (10, 20, 30, 40))
    assert replaced["created"]
    assert replaced["deleted"]
    assert not kept["created"]
    assert not kept["deleted"]
    assert gone["deleted"]
    assert gone["checks"][0]["message"] == "the check is not active"
    assert back["created"]
    [request] = document["requests"]
    assert [one["podSet"] for one in request["podSets"]] == ["worker"]


def test_manifests_are_what_the_api_servers_take(drasat, stories):
    """PodTemplates against Kubernetes' schema, requests against that of their CRD."""
    for name in ("cluster.yaml", "merged"):
        done = drasat("provision", "-f", stories / name, "-o", "manifests")
        *templates, request = yaml.safe_load_all(done.out)
        for template in templates:
            kubernetes_validate.validate(template, "1.34", strict=True)
        jsonschema.validate(request, schema_of("autoscaling.x-k8s.io/v1", "ProvisioningRequest"))
        named = [one["podTemplateRef"]["name"] for one in request["spec"]["podSets"]]
        assert named == [one["metadata"]["name"] for one in templates]


def test_the_schema_of_the_crd_refuses_what_it_must(drasat, stories):
    """The schema that the manifests are checked against can fail."""
    *_, request = yaml.safe_load_all(drasat("provision", "-f", stories / "merged", "-o", "manifests").out)
    schema = schema_of("autoscaling.x-k8s.io/v1", "ProvisioningRequest")
    for spoilt in ({"podSets": []}, {"provisioningClassName": "SuperSpot"}, {"other": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(request | {"spec": request["spec"] | spoilt}, schema)


TRAIN = "team/train"
FAILED = {"request": "team/train-nodes-1", "type": "Failed"}


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("- time: 0\n  finishh: team/train\n", 1, "unknown event 'finishh'"),
        ("- time: 10\n  tick:\n\n- time: 5\n  tick:\n", 4, "is out of order: the event before it is at 10 s"),
        ("- time: 10\n  tick:\n- tick:\n", 3, "must be whole seconds"),
        ("- time: -1\n  tick:\n", 1, "must be whole seconds"),
        ("- time: 0\n  tick:\n  finish: team/train\n", 1, "has 2 events"),
        ("- 7\n", 1, "an event is an object"),
        ("- time: 5\n  finish: team/other\n", 1, "there is no workload team/other at 5 s"),
        ("- time: 5\n  finish: a/b/c\n", 1, "must be namespace/name"),
        ("- time: 5\n  condition: {request: team/x, type: Failed}\n", 1, "there is no request team/x at 5 s"),
        ("- time: 5\n  condition: {request: team/x, type: Nonsense}\n", 1, "type must be one of"),
        ("- time: 5\n  condition: {request: team/x, type: Failed, status: maybe}\n", 1, "status must be one of"),
        ("- time: 5\n  condition: {request: team/x, type: Failed, why: no}\n", 1, "unknown field 'why'"),
        ("- time: 0\n  reserve: team/train\n- time: 1\n  reserve: team/train\n", 3, "is quotaReserved already at 1 s"),
        ("- time: 0\n  reserve: {workload: team/train, flavors: {x: {cpu: spot}}}\n", 1, "has no pod set 'x'"),
        ("- time: 0\n  reserve: {workload: team/train, flavors: {worker: {cpu: x}}}\n", 1, "has no flavor 'x'"),
        ("- time: 0\n  reserve: {workload: team/train, counts: {worker: many}}\n", 1, "counts.worker"),
        ("- time: 0\n  evict: {workload: team/train, reason: Boredom}\n", 1, "reason must be one of"),
        ("- time: 0\n  finish: team/train\n- time: 0\n  preempt: team/train\n", 3, "it holds no quota"),
        ("- time: 0\n  delete: {kind: Pod, name: x}\n", 1, "kind must be one of"),
        ("- time: 0\n  delete: {kind: AdmissionCheck, name: x}\n", 1, "there is no AdmissionCheck x at 0 s"),
        ("- time: 0\n  apply: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {}}\n", 1, "can be applied"),
        ("- time: 0\n  apply: 7\n", 1, "must be an object"),
        ("- time: 0\n  refuse: Node\n", 1, "kind must be one of"),
        ('{"time": 0, "tick": null}\n\n{"time": 0, "nonsense": 1}\n', 3, "unknown event 'nonsense'"),
    ],
)
def test_bad_events_are_refused_with_their_lines(drasat, stories, tmp_path, text, line, complaint):
    path = tmp_path / "events.yaml"
    path.write_text(text)
    done = drasat("provision", "-f", stories / "cluster.yaml", "--events", path)
    assert done.code == 2
    assert done.out == ""
    [shown] = [one for one in done.err.splitlines() if complaint in one]
    assert f"line {line}:" in shown


@pytest.mark.parametrize("text", ["", "\n", "a: [", "- time: 0\n  tick: &a [*a]\n", "\x00", "--- 5\n--- [\n"])
def test_files_that_hold_no_events_are_refused(drasat, stories, tmp_path, text):
    path = tmp_path / "events.yaml"
    path.write_text(text)
    done = drasat("provision", "-f", stories / "cluster.yaml", "--events", path)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert "defect" not in done.err
    assert done.err


def test_a_limit_that_ends_first_leaves_events_out(drasat, stories):
    events = stories / "retries" / "events.yaml"
    options = ("--events", events, "--time-limit", "0.000001", "-o", "json")
    done = drasat("provision", "-f", stories / "cluster.yaml", *options)
    document = json.loads(done.out)
    assert (done.code, document["complete"], document["time"]) == (3, False, 0)


def test_a_missing_file_of_events_is_named(drasat, stories):
    done = drasat("provision", "-f", stories / "cluster.yaml", "--events", stories / "none.yaml")
    assert done.code == 2
    assert "none.yaml" in done.err
