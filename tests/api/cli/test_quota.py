"""``drasat quota``: tables, documents, manifests, exit codes, limits and interrupts."""

import json

import pytest
import yaml
from support.kueue_cases import read_objects

import drasat as library
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.counting import PodSetCharge, WorkloadCharge
from drasat.integrations.kueue.cycles import KueueState
from drasat.models.cluster.cluster import Cluster
from drasat.problem.messages import DeadlineExceededError

API = "kueue.x-k8s.io/v1beta2"


def kueue_object(kind, name, spec, **metadata):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def objects(*requests, **queue):
    """One queue with 4 cpu, and a workload for each request."""
    quotas = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quotas]}], **queue}
    container = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": amount}}} for amount in requests]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        kueue_object("ResourceFlavor", "f", {}),
        kueue_object("ClusterQueue", "q", spec),
        kueue_object("LocalQueue", "lq", {"clusterQueue": "q"}, namespace="team"),
        *(
            kueue_object(
                "Workload",
                f"w{number}",
                {"queueName": "lq", "podSets": [{"count": 1, "template": {"spec": {"containers": [one]}}}]},
                namespace="team",
                creationTimestamp=f"2026-01-01T00:00:0{number}Z",
            )
            for number, one in enumerate(container)
        ),
    ]


@pytest.fixture
def written(tmp_path):
    def write(*args, **queue):
        path = tmp_path / "objects.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects(*args, **queue)}))
        return path

    return write


def test_all_admitted_is_exit_code_0(drasat, written):
    done = drasat("quota", "-f", written("1", "3"))
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "2 of 2 workloads have quota, 0 wait, 0 evictions; 2 cycles, nothing more happens",
    )


def test_the_document_says_who_waits_and_why(drasat, written):
    done = drasat("quota", "-f", written("3", "2", "9"), "-o", "json")
    document = json.loads(done.out)
    found = [(one["name"], one["state"], one["cycle"], one["reason"]) for one in document["workloads"]]
    assert (done.code, found) == (
        1,
        [
            ("w0", "admitted", 1, ""),
            ("w1", "pending", None, "WaitingForQuota"),
            ("w2", "pending", None, "ExceedsMaxQuota"),
        ],
    )
    (row,) = document["quota"]
    assert (row["nominal"], row["used"], row["borrowed"], row["available"]) == ("4", "3", "0", "1")


def test_manifests_are_workloads_with_their_admission(drasat, written):
    done = drasat("quota", "-f", written("3", "2"), "-o", "manifests")
    first, second = yaml.safe_load_all(done.out)
    assert first["status"]["admission"]["podSetAssignments"] == [
        {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "3"}}
    ]
    assert "admission" not in second["status"]
    assert {one["type"]: one["status"] for one in second["status"]["conditions"]}["QuotaReserved"] == "False"


def test_cycles_end_where_they_are_told_to(drasat, written):
    done = drasat("quota", "-f", written("1", "1", "1"), "--cycles", "1", "-o", "json")
    document = json.loads(done.out)
    assert (done.code, document["cyclesRun"], document["settled"]) == (3, 1, False)
    assert [one["state"] for one in document["workloads"]] == ["admitted", "pending", "pending"]


def test_a_number_of_cycles_below_one_is_refused(drasat, written):
    done = drasat("quota", "-f", written("1"), "--cycles", "0")
    assert (done.code, done.out, done.err) == (2, "", "drasat: cycles must be at least 1, not 0\n")


def test_a_stopped_queue_is_named(drasat, written):
    done = drasat("quota", "-f", written("1", stopPolicy="Hold"))
    assert done.err == "drasat: warning: ClusterQueue q: Can't admit new workloads: is stopped.\n"
    assert done.code == 1


def test_an_interrupt_keeps_the_cycles_that_ended():
    cluster = Cluster.build(read_objects(objects("1", "1", "1")))

    def press(number, _admitted, _evicted):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(library.QuotaInterrupted) as caught:
        library.quota(cluster, on_cycle=press)
    assert [one.state for one in caught.value.result.workloads] == ["admitted", "admitted", "pending"]


def test_usage_is_the_sum_of_admissions_and_within_what_the_queue_can_use():
    cluster = Cluster.build(read_objects(objects("1", "1500m", "500m", "2", "1")))
    document = library.quota(cluster).document
    used = sum(
        {"1": 1000, "1500m": 1500, "500m": 500, "2": 2000}[one.usage["cpu"]]
        for workload in document.workloads
        for one in workload.assignments
    )
    assert used == 4000 == KueueState(cluster, library_configuration(cluster)).tree.queues["q"].potential(("f", "cpu"))


def library_configuration(cluster):
    from drasat.integrations.kueue.configuration import kueue_configuration

    return kueue_configuration(cluster)


def test_frames_have_the_columns_of_the_tables():
    result = library.quota(Cluster.build(read_objects(objects("3", "2"))))
    assert list(result.to_frame()["state"]) == ["admitted", "pending"]
    assert list(result.to_frame("quota")["used"]) == ["3"]
    assert list(result.to_frame("evictions").columns) == ["workload", "cycle", "reason", "message"]


def test_a_time_limit_that_passes_while_workloads_are_counted_leaves_a_result(drasat, written):
    done = drasat("quota", "-f", written("1", "3"), "--time-limit", "0.000001s", "-o", "json")
    document = json.loads(done.out)
    assert (done.code, document["settled"], document["cyclesRun"]) == (3, False, 0)
    assert [(one["name"], one["state"]) for one in document["workloads"]] == [("w0", "pending"), ("w1", "pending")]


def test_workloads_that_are_not_counted_in_time_wait_outside_their_queues():
    cluster = Cluster.build(read_objects(objects("1", "3")))

    def count(workload):
        if workload.metadata.name == "w1":
            raise DeadlineExceededError("over")
        return WorkloadCharge((PodSetCharge("main", 1, {"cpu": 1000}),))

    state = KueueState(cluster, kueue_configuration(cluster), count)
    assert {name: state.place(one) for name, one in state.workloads.items()} == {
        "team/w0": ("q", True),
        "team/w1": None,
    }
