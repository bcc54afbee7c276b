"""The result of ``explain`` in Python: arguments, properties, documents, frames."""

import json

import jsonschema
import pytest
from support.gpu_nodes import claim, cluster

import drasat as package


def outcomes(result):
    return {unit.claims[0]: unit.outcome for unit in result.units}


def test_only_what_is_asked_about_is_explained():
    there = cluster(claim("a", labels={"team": "x"}), claim("b"), claim("c", namespace="other"))
    assert set(outcomes(package.explain(there))) == {"team/a", "team/b", "other/c"}
    assert set(outcomes(package.explain(there, namespace="other"))) == {"other/c"}
    assert set(outcomes(package.explain(there, selector="team=x"))) == {"team/a"}
    assert set(outcomes(package.explain(there, claims=["team/b"]))) == {"team/b"}


def test_units_are_served_in_the_order_read():
    found = package.explain(cluster(claim("b", 2), claim("a")))
    assert outcomes(found) == {"team/b": "Allocated", "team/a": "Unallocatable"}
    assert found.outcome == "Unallocatable"


def test_one_node_takes_all_loose_claims_together():
    there = cluster(claim("a"), claim("b", 2), nodes=(1, 2))
    assert package.explain(there).outcome == "Allocated"
    (together,) = package.explain(there, node="n1").units
    assert together.claims == ("team/a", "team/b")
    assert together.outcome == "Unallocatable"
    assert [nodes.names for nodes in together.failures] == [("n1",)]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"cel_errors": "hide"}, "unknown policy"),
        ({"feature_gates": {"Magic": True}}, "unknown feature gate"),
        ({"feature_gates": {"DRADeviceTaints": "no"}}, "expected True or False"),
        ({"selector": "a in"}, "a in"),
        ({"claims": ["z"]}, "ResourceClaim default/z not found"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(options, problem):
    with pytest.raises(ValueError, match=problem) as raised:
        package.explain(cluster(claim()), **options)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("policy", "outcome", "told"),
    [("strict", "Error", "strict"), ("kube", "Error", "strict"), ("skip", "Unallocatable", "skip")],
)
def test_what_an_expression_that_fails_does_is_for_the_policy(policy, outcome, told):
    selectors = [{"cel": {"expression": "device.attributes['gpu.example.com'].size == 1"}}]
    found = package.explain(cluster(claim(selectors=selectors)), cel_errors=policy)
    assert (found.outcome, found.to_dict()["celErrors"]) == (outcome, told)
    (nodes,) = found.units[0].failures
    assert "no such key: size" in nodes.reasons[1].message


def test_gates_are_those_that_were_asked_for():
    taints = [{"key": "k", "effect": "NoSchedule"}]
    there = cluster(claim(), taints=taints)
    assert package.explain(there).outcome == "Unallocatable"
    found = package.explain(there, feature_gates={"DRADeviceTaints": False})
    assert found.outcome == "Allocated"
    assert found.to_dict()["featureGates"]["DRADeviceTaints"] is False


def test_progress_is_told_after_each_unit():
    seen = []
    package.explain(cluster(*(claim(name) for name in "abc")), progress=lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_timings_and_time():
    there = cluster(claim(count=3))
    assert "timings" not in package.explain(there, time_limit=None).to_dict()
    assert set(package.explain(there, timings=True).to_dict()["timings"]) == {"explain"}
    late = package.explain(there, time_limit=0.0)
    assert late.outcome == "Unknown"
    assert [reason.id for reason in late.units[0].reasons] == ["timeLimit"]
    assert not late.units[0].complete


def test_the_document_of_every_outcome_follows_the_schema(examples):
    published = json.loads((examples.parent / "docs/reference/results.schema.json").read_text())
    there = cluster(claim("a"), claim("b", 2), claim("c", 40))
    for options in ({}, {"time_limit": 0.0}, {"timings": True}, {"node": "n9"}):
        document = json.loads(package.explain(there, **options).to_json())
        jsonschema.validate(document, published)
    assert {unit.outcome for unit in package.explain(there).units} == {"Allocated", "Unallocatable", "Error"}


@pytest.mark.parametrize("example", ["mig-partitions", "multi-host"])
def test_examples_follow_the_schema_in_json_and_yaml(drasat, examples, example):
    import yaml

    published = json.loads((examples.parent / "docs/reference/results.schema.json").read_text())
    as_json = drasat("explain", "-f", examples / example, "-o", "json")
    document = json.loads(as_json.out)
    jsonschema.validate(document, published)
    assert yaml.safe_load(drasat("explain", "-f", examples / example, "-o", "yaml").out) == document
    assert as_json.code == (0 if document["outcome"] == "Allocated" else 1)


def test_many_nodes_of_a_kind_are_counted_and_five_are_named():
    found = package.explain(cluster(claim(count=3), nodes=(2,) * 8))
    (nodes,) = found.units[0].failures
    assert (nodes.nodes, nodes.names) == (8, ("n0", "n1", "n2", "n3", "n4"))


def test_the_frame_has_a_row_a_reason_and_a_change():
    pytest.importorskip("pandas")
    frame = package.explain(cluster(claim("a"), claim("b", 2))).to_frame()
    columns = ["pod", "claims", "outcome", "nodes", "what", "relaxation", "id", "claim", "message", "proof"]
    assert list(frame.columns) == columns
    assert frame["pod"].isna().all()
    told = frame[frame["claims"].str[0] == "team/b"]
    assert list(told["id"]) == ["exactCount", "inUse", "count", "freeClaim"]
    assert list(told["what"]) == ["reason", "reason", "relaxation", "relaxation"]
    assert list(told["relaxation"].dropna()) == [1, 2]
    assert next(iter(told["nodes"])) == ["n0"]
    empty = package.explain(cluster()).to_frame()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


def test_a_result_in_short_and_for_notebooks():
    pytest.importorskip("pandas")
    found = package.explain(cluster(claim("a"), claim("b", 2)))
    assert repr(found) == "ExplanationResult(Unallocatable, 1 of 2 units not allocated)"
    assert found._repr_html_().count("<tr") == 6
    assert json.loads(found.to_json()) == found.to_dict()


def test_the_cluster_is_left_as_it_was():
    there = cluster(claim("a"), claim("b", 2))
    before = package.allocate(there).to_dict()["units"]
    package.explain(there)
    package.capacity(there, claim="team/a")
    assert package.allocate(there).to_dict()["units"] == before
    assert all(one.status is None for one in there.claims.values())
