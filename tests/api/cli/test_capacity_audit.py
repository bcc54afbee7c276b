"""``drasat capacity --audit``."""

import json

import pytest

EXAMPLES = {
    "whole-gpus": ["--pod", "ml/training"],
    "mig-partitions": ["--claim", "inference/flexible"],
    "shared-cpus": ["--claim", "apps/batch"],
    "ring-topology": [],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_bound_of_every_node_is_audited(drasat, examples, name):
    done = drasat("capacity", "-f", examples / name, *EXAMPLES[name], "--audit", "50s", "-o", "json")
    document = json.loads(done.out)
    assert document["total"]["proven"]
    assert {(one["proofKind"], one["certified"]) for one in document["nodes"]} == {("audited", True)}


def test_an_audit_without_time_leaves_what_a_bound_rests_on(drasat, examples):
    done = drasat(
        "capacity", "-f", examples / "whole-gpus", "--pod", "ml/training", "--audit", "0.000001", "-o", "json"
    )
    assert "audited" not in {one["proofKind"] for one in json.loads(done.out)["nodes"]}


def test_a_bad_duration_is_one_line(drasat, examples):
    done = drasat("capacity", "-f", examples / "ring-topology", "--audit", "soon")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "--audit: 'soon' is not a duration" in done.err
