"""Soft entries on the command line: what is told of them, and what is refused (SOFT-1, SOFT-3)."""

import json

import pytest
from support.manifests import obj

from drasat.models.cluster.cluster import Cluster
from drasat.models.workload.requested import requested_units
from drasat.solver.allocate.load import load
from drasat.solver.allocate.unsupported import check_engine_support, ignored_soft_entries
from drasat.verbs.allocate import allocate

SUPPLY = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: d.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {side: {string: left}}}
  - {name: b, attributes: {side: {string: right}}}
  - {name: c, attributes: {side: {string: right}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: any}
spec: {}
"""
TWO = {"requests": [{"name": "r", "exactly": {"deviceClassName": "any", "count": 2}}]}
SIDE = {"matchAttribute": "d.example.com/side"}


def claim(*entries, name="c", **devices):
    return obj("ResourceClaim", name, {"devices": {**TWO, **devices}}, CONSTRAINTS=json.dumps(entries))


def group(*entries, **spec):
    return obj("ConstraintGroup", "g", {"claims": [{"name": "c"}], "constraints": entries, **spec})


@pytest.fixture
def cluster(tmp_path):
    """Write and read a cluster with these objects."""

    def read(*mappings) -> Cluster:
        return load(written(tmp_path, *mappings))

    return read


def written(folder, *mappings):
    path = folder / "input.yaml"
    path.write_text("---\n".join([SUPPLY, *(json.dumps(one) + "\n" for one in mappings)]))
    return path


WISHES = claim({**SIDE, "name": "same", "weight": 7}, {"distinctAttribute": "d.example.com/side", "weight": 2})


def test_the_document_lists_each_entry(cluster):
    (unit,) = allocate(cluster(WISHES)).to_dict()["units"]
    assert unit["softEntries"] == [
        {"claim": "default/c", "name": "same", "id": "matchAttribute", "weight": 7, "kept": True, "cost": 0},
        {"claim": "default/c", "name": "#1", "id": "distinctAttribute", "weight": 2, "kept": False, "cost": 2},
    ]


@pytest.mark.parametrize("output", ["table", "wide"])
def test_tables_are_followed_by_a_line_for_each(drasat, tmp_path, output):
    done = drasat("allocate", "-f", written(tmp_path, WISHES), "-o", output)
    assert done.code == 0
    assert done.err.splitlines() == [
        "claim default/c: matchAttribute entry same, weight 7: kept",
        "claim default/c: distinctAttribute entry #1, weight 2: violated, costs 2",
    ]


def test_an_unallocated_unit_has_none(cluster):
    must = claim({"cel": {"expression": "false"}}, {**SIDE, "weight": 7})
    (unit,) = allocate(cluster(must), engine="backtracking").units
    assert (unit.outcome, unit.soft_entries) == ("Unallocatable", ())


def test_backtracking_warns_that_it_does_not_mind_them(drasat, tmp_path):
    path = written(tmp_path, WISHES)
    done = drasat("allocate", "-f", path, "--engine", "backtracking")
    notice = "engine backtracking does not mind soft entries: those of claim default/c"
    assert done.err.splitlines()[0] == f"drasat: warning: {notice}"
    assert json.loads(drasat("allocate", "-f", path, "--engine", "backtracking", "-o", "json").out)["notices"] == [
        notice
    ]
    assert json.loads(drasat("allocate", "-f", path, "-o", "json").out)["notices"] == []


def test_comparisons_warn_too(drasat, tmp_path):
    done = drasat("compare", "-f", written(tmp_path, WISHES), "--engines", "auto,backtracking", "-o", "json")
    assert [len(engine["notices"]) for engine in json.loads(done.out)["engines"]] == [0, 1]
    assert done.err.startswith("drasat: warning: engine backtracking does not mind soft entries")


def test_groups_with_soft_entries_are_named(cluster):
    found = cluster(claim(), group({**SIDE, "weight": 1}))
    assert ignored_soft_entries("kube-scheduler", found, requested_units(found)) == (
        "engine kube-scheduler does not mind soft entries: those of ConstraintGroup default/g",
    )
    assert ignored_soft_entries("cp-sat", found, requested_units(found)) == ()


REFUSED = [
    ([claim(SIDE)], "entry #0 of claim default/c"),
    ([claim({**SIDE, "name": "same"})], "entry same of claim default/c"),
    ([claim(constraints=[{"cel": {"expression": "true"}}])], "cel of constraint #0 of claim default/c"),
    (
        [claim(constraints=[SIDE, {**SIDE, "matchSemantics": {"mode": "Identical"}}])],
        "semantics of constraint #1 of claim default/c",
    ),
    ([claim(), group(SIDE)], "ConstraintGroup default/g"),
    ([claim(), group(sameNodeLabel="rack")], "ConstraintGroup default/g"),
    ([claim(*[SIDE] * 7)], ", ".join(f"entry #{number} of claim default/c" for number in range(5)) + " and 2 more"),
]


@pytest.mark.parametrize(("mappings", "told"), REFUSED)
def test_kube_scheduler_refuses_what_it_cannot_honour(drasat, tmp_path, mappings, told):
    """SOFT-3: before anything is computed, and without the peer."""
    path = written(tmp_path, *mappings)
    done = drasat("allocate", "--engine", "kube-scheduler", "-f", path)
    assert (done.code, done.out) == (2, "")
    reason = f"engine kube-scheduler cannot honour {told}\n"
    assert done.err == f"drasat: {reason}"
    compared = drasat("compare", "--engines", "kube-scheduler,auto", "-f", path)
    assert compared.code == 3
    assert compared.err.endswith(f"drasat: warning: kube-scheduler could not answer: {reason}")


def test_kube_scheduler_takes_what_is_soft_or_about_others(cluster):
    taken = {**claim(SIDE, name="o"), "status": {"allocation": {}}}
    about_it = {**group(SIDE, claims=[{"name": "o"}]), "metadata": {"name": "other"}}
    asked = claim({**SIDE, "weight": 1}, constraints=[SIDE])
    found = cluster(asked, taken, about_it, group({**SIDE, "weight": 1}))
    assert [unit.name for unit in requested_units(found)] == ["c"]
    check_engine_support("kube-scheduler", found, requested_units(found))


def test_a_bad_annotation_is_bad_input(drasat, tmp_path):
    bad = claim({**SIDE, "weight": "heavy"})
    path = written(tmp_path, bad)
    for words in (["allocate"], ["allocate", "--skip-validation"], ["validate"]):
        done = drasat(*words, "-f", path)
        assert done.code == 2
        (line,) = [one for one in (done.err + done.out).splitlines() if "annotations" in one]
        assert "ResourceClaim c: metadata.annotations[drasat.dev/constraints][0].weight: Invalid value" in line


def test_what_has_no_meaning_is_never_lifted(drasat, tmp_path):
    path = written(tmp_path, claim({**SIDE, "weight": 0}))
    done = drasat("allocate", "--skip-validation", "-f", path)
    assert done.code == 2
    assert "metadata.annotations[drasat.dev/constraints][0].weight: Invalid value: 0" in done.err


def test_a_group_that_names_what_is_not_there_is_bad_input(drasat, tmp_path):
    path = written(tmp_path, claim(), group({**SIDE, "requests": ["r", "c/other"]}))
    done = drasat("allocate", "-f", path)
    assert (done.code, done.err) == (2, "drasat: ConstraintGroup default/g: none of its claims has request 'c/other'\n")
