"""Lists of a cluster, read through kubectl from a small API server."""

import json
import os
import subprocess
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from support.clusters_to_read import cluster
from support.list_api import RESOURCE_VERSION, ListApi

from drasat.integrations.snapshot.kubectl import Access, Deadline, SnapshotError, read_cluster, unread_lines
from drasat.models.kubernetes.kinds import KINDS

from .conftest import write_kubectl

GROUPS = sorted({kind.group for kind in KINDS.values()})


def read(api, namespace=None, page_size=500, context=None, seconds=60, **options):
    access = Access(context, str(api.kubeconfig(**options)))
    return read_cluster(access, namespace, Deadline(seconds), page_size)


def identity(one):
    return one["kind"], one["apiVersion"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def listed(api, plural):
    """The queries with which a list was asked for."""
    paths = map(urlsplit, api.requests)
    return [parse_qs(path.query) for path in paths if path.path.endswith(f"/{plural}")]


def test_all_objects_are_read(each_kubectl, tmp_path):
    with ListApi(cluster(), tmp_path) as api:
        found = read(api)
    assert sorted(map(identity, found.objects)) == sorted(map(identity, cluster()))
    assert all(one in cluster() for one in found.objects)


def test_lists_are_read_page_by_page(each_kubectl, tmp_path):
    with ListApi(cluster(pods=7), tmp_path) as api:
        found = read(api, page_size=3)
        assert [query["limit"] for query in listed(api, "pods")] == [["3"]] * 3
    assert sum(one["kind"] == "Pod" for one in found.objects) == 7


def test_each_list_has_its_resource_version(kubectl, tmp_path):
    with ListApi(cluster(), tmp_path) as api:
        found = read(api)
    kinds = {one.kind: one for one in found.kinds}
    assert {one.resource_version for one in found.kinds} == {RESOURCE_VERSION}
    assert (kinds["Pod"].objects, kinds["ResourceSlice"].api_version) == (3, "resource.k8s.io/v1")


@pytest.mark.parametrize("times", [1, 2])
def test_a_list_whose_token_expires_is_read_again(each_kubectl, tmp_path, times):
    with ListApi(cluster(pods=7), tmp_path, expiring={"pods": times}) as api:
        found = read(api, page_size=3)
        last = listed(api, "pods")[-1]
    names = [one["metadata"]["name"] for one in found.objects if one["kind"] == "Pod"]
    assert sorted(names) == [f"learner-{number}" for number in range(7)]
    # The last attempt has no token that could expire.
    assert ("limit" in last) == (times == 1)


def test_a_kind_that_may_not_be_read_is_named(each_kubectl, tmp_path):
    with ListApi(cluster(), tmp_path, forbidden=["namespaces"]) as api:
        found = read(api)
    (forbidden,) = (one for one in found.unread if one.reason == "Forbidden")
    assert forbidden.title == "Namespace"
    assert "alice@corp.example" in forbidden.message
    assert any(line.startswith("may not read Namespace: ") for line in unread_lines(found.unread))


def test_kinds_that_the_server_does_not_have_are_named(kubectl, tmp_path):
    with ListApi(cluster(), tmp_path, hidden=["DeviceTaintRule"]) as api:
        found = read(api)
    absent = {one.title for one in found.unread if one.reason == "NotServed"}
    assert {"DeviceTaintRule.resource.k8s.io", "Job.batch", "ConstraintGroup.drasat.dev"} <= absent
    assert "Pod" not in absent
    assert len(absent) + len(found.kinds) == sum(known.served for known in KINDS.values())


def test_the_newest_version_that_both_know_is_read(kubectl, tmp_path):
    versions = {"resource.k8s.io": ["v9", "v1beta2", "v1beta1", "v1"]}
    with ListApi(cluster(), tmp_path, versions=versions) as api:
        found = read(api)
    assert {one.api_version for one in found.kinds if one.kind == "ResourceSlice"} == {"resource.k8s.io/v1"}


def test_an_older_server_is_read_in_its_version(kubectl, tmp_path):
    with ListApi(cluster(), tmp_path, versions={"resource.k8s.io": ["v1beta1"]}) as api:
        found = read(api)
    assert {one.api_version for one in found.kinds if one.kind == "ResourceSlice"} == {"resource.k8s.io/v1beta1"}


def test_a_namespace_restricts_what_is_in_namespaces(kubectl, tmp_path):
    other = {**cluster()[-1], "metadata": {"name": "other", "namespace": "elsewhere"}}
    with ListApi([*cluster(), other], tmp_path) as api:
        found = read(api, "elsewhere")
    assert [one["metadata"]["name"] for one in found.objects if one["kind"] == "Pod"] == ["other"]
    assert sum(one["kind"] == "Node" for one in found.objects) == 2


def test_the_context_is_passed_on(each_kubectl, tmp_path):
    with ListApi(cluster(), tmp_path) as api:
        assert read(api, context="second", contexts=("broken", "second")).objects
        with pytest.raises(SnapshotError, match='context "third" does not exist'):
            read(api, context="third")


def test_no_secret_and_no_config_map_is_asked_for(kubectl, tmp_path):
    with ListApi(cluster(), tmp_path) as api:
        read(api)
        assert not [path for path in api.requests if "secrets" in path or "configmaps" in path]


def test_a_server_that_does_not_answer_is_one_line(each_kubectl, tmp_path):
    with ListApi(cluster(), tmp_path) as api:
        path = api.kubeconfig()
    with pytest.raises(SnapshotError, match=r"kubectl: The connection to the server .*refused") as error:
        read_cluster(Access(None, str(path)), None, Deadline(60))
    assert "\n" not in str(error.value)


def test_without_kubectl_it_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SnapshotError, match="kubectl is not on the PATH"):
        read_cluster(Access(), None, Deadline(60))


SCRIPTS = {
    "hangs": "#!/bin/sh\nsleep 600 & sleep 600\n",
    "prints no JSON": "#!/bin/sh\necho '<html>'\n",
    "prints a list": "#!/bin/sh\necho '[]'\n",
    "fails silently": "#!/bin/sh\nexit 3\n",
    "prints without end": "#!/bin/sh\nyes\n",
    "is no program": "#!/nonexistent\n",
}


@pytest.mark.parametrize("behaviour", SCRIPTS)
def test_a_kubectl_that_misbehaves_is_one_line(monkeypatch, tmp_path, behaviour):
    monkeypatch.setenv("PATH", str(write_kubectl(tmp_path / "bin", SCRIPTS[behaviour])), prepend=":")
    with pytest.raises(SnapshotError) as error:
        read_cluster(Access(max_size=2**20), None, Deadline(1))
    assert "\n" not in str(error.value)
    assert str(error.value)


def test_a_server_that_repeats_a_page_is_an_error(monkeypatch, tmp_path):
    page = {"metadata": {"continue": "same"}, "items": [], "groups": [], "resources": []}
    pod = {"kind": "Pod", "name": "pods", "verbs": ["list"]}
    script = f"#!/bin/sh\ncat <<'END'\n{json.dumps({**page, 'resources': [pod]})}\nEND\n"
    monkeypatch.setenv("PATH", str(write_kubectl(tmp_path / "bin", script)), prepend=":")
    with pytest.raises(SnapshotError, match="the same page again"):
        read_cluster(Access(), None, Deadline(60))


def test_no_process_starts_in_the_main_thread(kubectl, tmp_path, monkeypatch):
    """An interrupt arrives there, and could fall between the start of a process and what ends it."""
    starters, start = [], subprocess.Popen

    def noted(*arguments, **options):
        starters.append(threading.current_thread())
        return start(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    with ListApi(cluster(), tmp_path) as api:
        read(api)
    assert len(starters) > 1
    assert threading.main_thread() not in starters


def test_an_interrupt_leaves_no_process_and_no_file(tmp_path):
    """In a process of its own, which gets the signal while kubectl hangs."""
    import signal

    folder = write_kubectl(
        tmp_path / "bin",
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.part\nmv {tmp_path}/pid.part {tmp_path}/pid\nexec sleep 600\n",
    )
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    code = "from drasat.__main__ import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", code, "snapshot", "-o", str(tmp_path / "cluster.json.gz")],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (130, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert not list(tmp_path.glob("*cluster*"))
