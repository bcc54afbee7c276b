"""Documents in every format and for every outcome: valid, equal between runs, and readable again."""

import json
import os
import random
import subprocess
import sys

import jsonschema
import pytest
import yaml
from support.families import FAMILIES, member
from support.mappings import CLASS, claim, hopeless, pod, pool, template, wish

import drasat
from drasat.models.results.schema import results_schema

SICK = {"cel": {"expression": 'device.attributes["gpu.example.com"].gone'}}
BY_OUTCOME = {
    "Allocated": [CLASS, pool(), claim(), template(), pod("p", "@t")],
    "Unallocatable": [CLASS, pool(), claim(), claim("d", wish(count=2))],
    "Error": [CLASS, pool(), claim(), claim("d", wish(selectors=[SICK]))],
    "Unknown": hopeless(),
}
CODES = {"Allocated": 0, "Unallocatable": 1, "Error": 1, "Unknown": 3}


@pytest.fixture(params=CODES)
def outcome(request):
    return request.param


@pytest.fixture
def ask(drasat, tmp_path, outcome):
    path = tmp_path / "input.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": BY_OUTCOME[outcome]}))
    return lambda output: drasat(
        "allocate", "-f", path, "--engine", "backtracking", "--time-limit", "100ms", "-o", output
    )


def without_steps(document):
    """A search that is cut off makes as many steps as the machine lets it."""
    return {**document, "statistics": {**document["statistics"], "steps": 0}}


def test_json_and_yaml_follow_the_schema_and_say_the_same(ask, outcome):
    done = ask("json")
    document = json.loads(done.out)
    jsonschema.Draft202012Validator(results_schema()).validate(document)
    assert (done.code, document["outcome"]) == (CODES[outcome], outcome)
    assert without_steps(yaml.safe_load(ask("yaml").out)) == without_steps(document)


def test_manifests_and_names_are_of_what_was_allocated(ask, outcome):
    written = list(yaml.safe_load_all(ask("manifests").out))
    names = [f"resourceclaim.resource.k8s.io/{one['metadata']['name']}" for one in written]
    assert ask("name").out.splitlines() == names
    assert len(names) == (2 if outcome == "Allocated" else 1)
    assert all(one["status"]["allocation"]["devices"]["results"] for one in written)


@pytest.mark.parametrize("output", ["table", "wide"])
def test_tables_have_a_row_for_every_claim(ask, outcome, output):
    done = ask(output)
    claims = {one["name"] for unit in json.loads(ask("json").out)["units"] for one in unit["claims"]}
    column = done.out.splitlines()[0].split().index("CLAIM")
    assert {line.split()[column] for line in done.out.splitlines()[1:]} == claims
    assert (outcome in done.err) == (outcome != "Allocated")


def key(manifest):
    return manifest["kind"], manifest["metadata"].get("namespace", "default"), manifest["metadata"]["name"]


def exclusive(manifests):
    """Devices that only one claim may hold."""
    return [
        (one["driver"], one["pool"], one["device"])
        for manifest in manifests
        for one in manifest["status"]["allocation"]["devices"].get("results") or ()
        if not one.get("shareID") and not one.get("adminAccess")
    ]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_what_was_allocated_is_held_when_it_is_read_again(family, seed):
    objects = [dict(one) for one in member(family, seed)]
    first = drasat.allocate(drasat.load(objects)).manifests()
    done = {key(manifest) for manifest in first}
    rest = [one for one in objects if one["kind"] != "Pod" and key(one) not in done]
    second = drasat.allocate(drasat.load([*rest, *first])).manifests()
    assert not {key(manifest) for manifest in second} & done
    assert not {*exclusive(first)} & {*exclusive(second)}


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_order_of_what_is_asked_matters(family):
    for seed in range(3):
        objects = list(member(family, seed))
        asked = [one for one in objects if one["kind"] in ("Pod", "ResourceClaim")]
        rest = [one for one in objects if one not in asked]
        random.Random(seed).shuffle(rest)
        answers = {drasat.allocate(drasat.load(given)).to_json() for given in (objects, [*rest, *asked])}
        assert len(answers) == 1


@pytest.mark.parametrize("output", ["json", "manifests"])
def test_documents_do_not_depend_on_the_hash_seed(examples, output):
    code = "from drasat.__main__ import main; main()"
    command = [sys.executable, "-c", code, "allocate", "-f", examples / "shared-cpus", "-o", output]
    outs = {
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert len(outs) == 1
