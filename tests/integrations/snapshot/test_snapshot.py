"""The file of a snapshot: every verb reads it, equal states make equal files, and it is whole or not there."""

import gzip
import json

import pytest
from support.clusters_to_read import SECRETS, cluster, made
from support.list_api import ListApi

import drasat
from drasat.integrations.snapshot.kubectl import SnapshotError
from drasat.integrations.snapshot.snapshot import ESSENTIAL_KINDS
from drasat.models.kubernetes.kinds import KIND_NAMES


def snapshot(api, **options):
    return drasat.snapshot(kubeconfig=str(api.kubeconfig()), **options)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "out" / "cluster.json.gz"


@pytest.fixture(autouse=True)
def folder(target):
    target.parent.mkdir()


def document_of(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def test_the_file_of_a_cluster_answers_as_its_objects_do(kubectl, tmp_path, target):
    with ListApi(cluster(), tmp_path) as api:
        snapshot(api).write(target)
    sources = (drasat.snapshot(cluster()).objects, str(target))
    before, after = (drasat.plan(drasat.load(one)) for one in sources)
    assert after.to_dict() == before.to_dict()
    assert before.outcome == "Optimal"


def test_equal_states_make_equal_files(kubectl, tmp_path, target):
    files = []
    for objects in (cluster(), cluster()[::-1]):
        with ListApi(objects, tmp_path) as api:
            snapshot(api).write(target)
        files.append(target.read_bytes())
    assert files[0] == files[1]


def test_objects_are_sorted_and_without_managed_fields(tmp_path, target):
    drasat.snapshot(cluster()[::-1]).write(target)
    items = document_of(target)["items"]
    places = [(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in items]
    assert places == sorted(places)
    assert "managedFields" not in target.read_bytes().decode("latin-1") + json.dumps(items)


def test_the_file_tells_what_it_holds(tmp_path, target):
    objects = [*cluster(), made("example.com/v1", "Gadget", "g"), made("v1", "Secret", "s", "n", data={"a": "b"})]
    drasat.snapshot(objects).write(target)
    document = document_of(target)
    told = document["metadata"]["snapshot"]
    assert (document["kind"], told["redacted"], told["unread"]) == ("List", False, [])
    assert told["ignored"] == {"Gadget of example.com/v1": 1, "Secret of v1": 1}
    assert sum(one["objects"] for one in told["kinds"]) == len(document["items"]) == len(cluster())


def test_a_redacted_file_holds_no_secret(kubectl, tmp_path, target):
    objects = [*cluster(), made("acmecorp.example/v1", "Gadget", "g")]
    with ListApi(objects, tmp_path, forbidden=["namespaces"]) as api:
        snapshot(api, namespace="payments", redact=True).write(target)
    drasat.snapshot(objects, redact=True).write(target.with_name("files.json"))
    for text in (gzip.decompress(target.read_bytes()).decode(), target.with_name("files.json").read_text()):
        assert [word for word in SECRETS if word in text.lower()] == []


def test_one_key_gives_one_file_and_no_key_another_one_each_time():
    objects = [drasat.snapshot(cluster(), redact=True, redact_key=key).objects for key in ("a", "a", "b", None, None)]
    assert objects[0] == objects[1]
    assert len({json.dumps(one) for one in objects}) == 4


def test_a_file_can_be_redacted_later(tmp_path, target):
    drasat.snapshot(cluster()).write(target)
    later = drasat.snapshot(str(target), redact=True, redact_key="k")
    assert later.objects == drasat.snapshot(cluster(), redact=True, redact_key="k").objects
    assert later.names["learner-1"] == f"{later.names['learner']}-1"


@pytest.mark.parametrize("plural", ["resourceslices", "deviceclasses", "resourceclaims", "nodes", "pods"])
def test_there_is_no_snapshot_without_what_every_answer_needs(kubectl, tmp_path, plural):
    with (
        ListApi(cluster(), tmp_path, forbidden=[plural]) as api,
        pytest.raises(SnapshotError, match="no snapshot without"),
    ):
        snapshot(api)


def test_essential_kinds_are_kinds_that_are_read():
    assert ESSENTIAL_KINDS <= KIND_NAMES


def test_a_file_that_fails_leaves_the_old_one(target, monkeypatch):
    drasat.snapshot(cluster()).write(target)
    before = target.read_bytes()
    result = drasat.snapshot(cluster()[:2])
    result.objects.append({"kind": object()})
    with pytest.raises(TypeError):
        result.write(target)
    assert target.read_bytes() == before
    assert list(target.parent.iterdir()) == [target]


def test_a_name_without_gz_is_plain_text(target):
    path = target.with_name("cluster.json")
    drasat.snapshot(cluster()).write(path)
    assert json.loads(path.read_text())["kind"] == "List"
    assert path.stat().st_mode & 0o077 == 0


def test_very_regular_clusters_are_not_packed_more_than_is_read(target, monkeypatch):
    """Reading refuses files that unpack to very much more than they are."""
    from drasat.integrations.snapshot import snapshot as module

    monkeypatch.setattr(module, "PACKED_SIZE", 1)
    monkeypatch.setattr(module, "PACKED_RATIO", 3)
    drasat.snapshot([made("v1", "Namespace", f"team-{number:04}") for number in range(2000)]).write(target)
    assert len(gzip.decompress(target.read_bytes())) <= 3 * target.stat().st_size


def test_a_list_of_lists_that_is_too_deep_is_refused():
    document = {"kind": "List", "apiVersion": "v1", "items": []}
    for _ in range(10):
        document = {"kind": "List", "apiVersion": "v1", "items": [document]}
    with pytest.raises(drasat.InputError, match="too many lists"):
        drasat.snapshot(document)


def test_deep_objects_are_redacted():
    deep = {"spec": {}}
    for _ in range(240):
        deep = {"spec": deep}
    objects = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **deep}]
    assert drasat.snapshot(objects, redact=True).objects


def test_the_time_limit_holds_for_files():
    with pytest.raises(ValueError, match="within the time limit"):
        drasat.snapshot(cluster(), time_limit=1e-9)
