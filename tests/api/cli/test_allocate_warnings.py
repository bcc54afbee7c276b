"""Warnings about what is no error but hardly meant."""

import json

import pytest

from drasat.cli.main import run_application
from drasat.scenarios import objects

TEXT = "drasat: warning: claim ns/c is named only by pods that are finished or being deleted: not asked for\n"


@pytest.fixture
def finished(tmp_path):
    """A claim of a pod that is done."""
    claim = objects.claim("c", objects.claim_spec([objects.exactly("r", objects.wanted("any"))]))
    claim["metadata"]["namespace"] = "ns"
    entry = {"name": "e", "resourceClaimName": "c"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}}
    pod |= {"spec": {"resourceClaims": [entry]}, "status": {"phase": "Succeeded"}}
    path = tmp_path / "finished.json"
    items = [objects.node("n1"), objects.device_class("any"), claim, pod]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@pytest.mark.parametrize(
    ("options", "said"), [([], True), (["-n", "ns"], True), (["-n", "other"], False), (["-l", "a=b"], False)]
)
def test_a_claim_that_nobody_asks_for_any_more(finished, monkeypatch, capsys, options, said):
    monkeypatch.setattr("sys.argv", ["drasat", "allocate", "-f", str(finished), *options])
    with pytest.raises(SystemExit) as end:
        run_application()
    assert end.value.code == 0
    assert (TEXT in capsys.readouterr().err) is said


def test_pods_that_are_still_to_be_made_are_asked_about(finished, monkeypatch, capsys):
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"}}
    made["spec"] = {"replicas": 2, "selector": {"matchLabels": {"a": "d"}}}
    entry = {"name": "e", "resourceClaimTemplateName": "t"}
    made["spec"]["template"] = {
        "metadata": {"labels": {"a": "d"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [entry]},
    }
    template = objects.claim("t", objects.claim_spec([objects.exactly("r", objects.wanted("any"))]))
    template |= {"kind": "ResourceClaimTemplate", "spec": {"spec": template["spec"]}}
    template["metadata"]["namespace"] = "ns"
    documents = json.loads(finished.read_text())
    finished.write_text(json.dumps({**documents, "items": [*documents["items"], made, template]}))
    monkeypatch.setattr("sys.argv", ["drasat", "allocate", "-f", str(finished), "-o", "json"])
    with pytest.raises(SystemExit) as end:
        run_application()
    assert end.value.code == 1
    units = json.loads(capsys.readouterr().out)["units"]
    assert [unit["pod"] for unit in units] == ["ns/d-0", "ns/d-1"]


def test_the_last_releases_option_for_the_encoding_works_with_one_line(drasat, examples):
    read = ("allocate", "-o", "json", "-f", str(examples / "whole-gpus"))
    code, out, err = drasat(*read, "--cel-road", "tabulate")
    line = "drasat: warning: --cel-road is now --cel-encoding, and its value tabulate is now table\n"
    now = drasat(*read, "--cel-encoding", "table")
    assert (code, out, err) == (now.code, now.out, line + now.err)
    assert code == 0
