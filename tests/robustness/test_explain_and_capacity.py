"""``explain`` and ``capacity`` with bad input, strange names and edges: one line or an answer, never a traceback."""

import json
import os
import subprocess
import sys

import pytest
from support.mappings import CLASS, GONE, claim, node, pod, pool, template, wish

import drasat as package

VERBS = ["explain", "capacity"]
CODE = "from drasat.__main__ import main; main()"
HERE = [CLASS, node(), pool()]
LISTED = {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu", "count": 2**40},
                                          {"name": "b", "deviceClassName": "gpu", "count": 3}]}  # fmt: skip


def written(path, *objects):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return path


def refused(done):
    """Whether nothing was computed, and one line said why."""
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert "defect" not in done.err
    return done.err


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "input.json"),
        ("[1, 2]", "input.json"),
        ('{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}', "ResourceClaim"),
        (json.dumps(claim("c", wish(count=-1))), "must be greater than zero"),
        (json.dumps(claim("c", {"name": "r"})), "exactly one of"),
        (json.dumps(claim("A_B")), "A_B"),
    ],
    ids=["broken", "no-object", "no-spec", "count", "forms", "name"],
)
def test_bad_manifests_are_code_2(drasat, tmp_path, verb, text, problem):
    path = tmp_path / "input.json"
    path.write_text(text)
    done = drasat(verb, "-f", path)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err
    assert all(line.startswith("drasat: ") for line in done.err.splitlines())
    assert "defect" not in done.err


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_not_there_is_code_2(drasat, tmp_path, verb):
    assert "nothing.yaml" in refused(drasat(verb, "-f", tmp_path / "nothing.yaml"))


@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_file_is_code_2(drasat, tmp_path, verb):
    path = tmp_path / "empty.yaml"
    path.write_text("")
    assert "is empty" in refused(drasat(verb, "-f", path))


def test_where_nothing_asks_nothing_is_explained_or_copied(drasat, tmp_path):
    path = written(tmp_path / "input.json", *HERE)
    done = drasat("explain", "-f", path)
    assert (done.code, done.out) == (0, "")
    assert "nothing to explain" in done.err
    assert "nothing in the input asks for devices" in refused(drasat("capacity", "-f", path))


@pytest.mark.parametrize("verb", VERBS)
def test_the_manifests_may_come_from_stdin(verb):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*HERE, claim()]})
    done = subprocess.run(
        [sys.executable, "-c", CODE, verb, "-f", "-"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {"explain": "fits on n1", "capacity": "2 more fit, proven"}[verb] in done.stdout


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (["--claim", "a/b/c"], "ResourceClaim a/b/c not found"),
        (["--claim", ""], "ResourceClaim default/ not found"),
        (["--claim", "/c"], "ResourceClaim /c not found"),
        (["--template", "c"], "ResourceClaimTemplate default/c not found"),
        (["--pod", "other/p"], "Pod other/p not found"),
        (["--claim", "c", "--template", "t"], "give only one of them"),
        (["--template", "t", "--pod", "p"], "give only one of them"),
        (["--pod", "p"], "ResourceClaim default/c, which all copies share, has no allocation yet; allocate it first"),
        ([], "say which: Pod default/p, ResourceClaimTemplate default/t, ResourceClaim default/d"),
        (["--claim", "c", "--limit", "-1"], "the limit of copies must be above zero, not -1"),
        (["--claim", "c\n\x1b[31m"], "not found"),
    ],
)
def test_what_is_to_be_copied_must_be_there_and_be_one_thing(drasat, tmp_path, asked, problem):
    path = written(tmp_path / "input.json", *HERE, claim(), claim("d"), template(), pod("p", "c"))
    assert problem in refused(drasat("capacity", "-f", path, *asked))


def test_many_things_to_copy_are_only_counted(drasat, tmp_path):
    path = written(tmp_path / "input.json", *HERE, *(claim(f"c{number}") for number in range(6)))
    line = refused(drasat("capacity", "-f", path))
    assert line.endswith("ResourceClaim default/c0, ResourceClaim default/c1, ResourceClaim default/c2 and 3 more\n")


ODD = [
    ("no-requests", [*HERE, claim(requests=[])], True, "any number of copies fits"),
    ("33-devices", [*HERE, claim("c", wish(count=33))], False, "0 more fit, proven"),
    ("as-many-as-an-integer-holds", [*HERE, claim("c", wish(count=2**63 - 1))], False, "0 more fit, proven"),
    ("far-too-many-in-an-alternative", [*HERE, claim("c", LISTED)], False, "0 more fit, proven"),
    ("all-of-none", [CLASS, node(), pool(0), claim("c", wish(allocationMode="All"))], False, "0 more fit, proven"),
    ("class-missing", [node(), pool(), claim()], False, "0 more fit, proven"),
    ("no-slices-no-nodes", [CLASS, claim()], False, "0 more fit, proven"),
    ("template-missing", [*HERE, pod("p", "@z")], False, "0 more fit, proven"),
    ("claim-missing", [*HERE, pod("p", "z")], False, "0 more fit, proven"),
    ("template-for-two-entries", [*HERE, template(), pod("p", "@t", "@t")], True, "1 more fit, proven"),
    ("a-device-that-is-gone-is-held", [*HERE, claim(held="zzz"), claim("d")], True, "2 more fit, proven"),
    ("for-all-nodes", [CLASS, pool(3, None, allNodes=True), claim()], True, "3 more fit, proven"),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "one_fits", "room"), [row[1:] for row in ODD], ids=[row[0] for row in ODD])
def test_edges_are_answered_alike_by_both(drasat, tmp_path, objects, one_fits, room):
    path = written(tmp_path / "input.json", *objects)
    why, many = drasat("explain", "-f", path), drasat("capacity", "-f", path)
    assert why.code == many.code == (0 if one_fits else 1)
    assert why.out
    assert room in many.out


def test_a_count_that_no_cluster_has_is_lowered_to_what_is_there(drasat, tmp_path):
    path = written(tmp_path / "input.json", *HERE, claim("c", LISTED))
    done = drasat("explain", "-f", path, "--time-limit", "20s")
    assert done.code == 1
    assert f"count 2 instead of {2**40} in request r/a of claim default/c (cost {2**40 - 2}, on n1)" in done.out
    assert "count 2 instead of 3 in request r/b of claim default/c (cost 1, on n1)" in done.out


@pytest.mark.parametrize("length", [63, 246, 250, 253])
@pytest.mark.parametrize("kind", ["claim", "template", "pod"])
def test_names_as_long_as_they_may_be_are_still_told_apart(kind, length):
    name = "n" * length
    asked = {"claim": [claim(name)], "template": [template(name)], "pod": [template(), pod(name, "@t")]}[kind]
    found = package.capacity(package.load([CLASS, node(), pool(4), *asked]), **{kind: name})
    assert (found.fits, found.proven, found.document.verified) == (4, True, True)


def test_pods_and_claims_that_are_over_are_no_question():
    gone = [claim("old", meta=GONE), template(), pod("done", "@t", phase="Succeeded"), pod("dead", "@t", meta=GONE)]
    found = package.capacity(package.load([*HERE, *gone, claim("c", wish(count=2))]), claim="c")
    assert found.fits == 1
    with pytest.raises(ValueError, match="nothing in the input asks"):
        package.capacity(package.load([*HERE, claim("old", meta=GONE)]))


@pytest.mark.parametrize(
    ("verb", "output"), [("explain", "table"), ("explain", "yaml"), ("capacity", "wide"), ("capacity", "json")]
)
def test_names_neither_fail_an_encoding_nor_drive_the_terminal(tmp_path, verb, output):
    strange = claim("r\u00f6d\x1b[31m\n", wish("\u4e00\x1b[0m", count=3))
    path = written(tmp_path / "strange.json", CLASS, node("n1"), pool(2), strange)
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", CODE, verb, "-f", path, "--skip-validation", "-o", output]
    done = subprocess.run(command, env={**ascii_only, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False)
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 1
    assert "r\u00f6d" in done.stdout.decode()
    assert all(character.isprintable() or character == "\n" for character in text)
