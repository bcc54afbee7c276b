"""``drasat.check``: true documents hold, each forged one fails where it was forged, and what is none is refused."""

import copy
import json
import random
from contextlib import suppress

import pytest

import drasat
from drasat.models.formats.errors import InputError
from drasat.models.results.common import CheckDocument
from drasat.solver.plan.build.objectives import STAGE_NAMES
from drasat.solver.verification.payments import STAGE_SENSES

EXAMPLES = ("tainted-devices", "mig-partitions", "whole-gpus", "pcie-lists", "rails", "nic-and-gpu", "shared-cpus")


def cluster_of(example):
    return drasat.load(f"examples/{example}")


def failing(document, cluster, **options):
    return [one for one in drasat.check(document, cluster, **options).lines if one.verdict == "fails"]


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("verb", [drasat.allocate, drasat.explain])
def test_true_documents_hold(example, verb):
    cluster = cluster_of(example)
    found = drasat.check(verb(cluster), cluster)
    assert found.holds
    assert found.document.holding == sum(one.verdict == "holds" for one in found.lines) > 0


def unit(document, name):
    return next(one for one in document["units"] if name in (one["pod"], *map(claim_name, one["claims"])))


def claim_name(claim):
    return claim if isinstance(claim, str) else f"{claim['namespace']}/{claim['name']}"


def results(document, name):
    return unit(document, name)["claims"][0]["allocation"]["devices"]["results"]


def witness(document, name="lab/five"):
    return unit(document, name)["failures"][0]["witness"]


# Of allocate on examples/tainted-devices: what is changed, and what is said of it.
FORGERIES = {
    "another device": (lambda one: results(one, "lab/plain")[0].update(device="gpu-9"), "POOL-8"),
    "a device with a taint": (lambda one: results(one, "lab/plain")[0].update(device="gpu-0"), "DEV-10"),
    "another pool": (lambda one: results(one, "lab/plain")[0].update(pool="lab-2"), "POOL-1"),
    "a request that is not there": (lambda one: results(one, "lab/plain")[0].update(request="more"), "RES-1"),
    "a device less": (lambda one: results(one, "lab/plain").pop(), "PRE-7"),
    "another node": (lambda one: unit(one, "lab/plain").update(node="lab-2"), "POOL-1"),
    "a node that is not there": (lambda one: unit(one, "lab/plain").update(node="lab-7"), "no such node"),
    "another claim": (lambda one: unit(one, "lab/plain")["claims"][0].update(name="five"), "lab/five"),
    "no allocation": (lambda one: unit(one, "lab/plain")["claims"][0].update(allocation=None), "has no allocation"),
    "a unit twice": (lambda one: one["units"].append(one["units"][0]), "is there twice"),
    "a unit less": (lambda one: one["units"].pop(0), "such as claim lab/"),
    "a witness needs more": (lambda one: witness(one).update(needed=6), "it says 6 needed"),
    "a witness has less": (lambda one: witness(one).update(available=1), "1 available"),
    "a witness has enough": (lambda one: witness(one).update(needed=2), "2 needed and 2 available"),
    "another device in a witness": (lambda one: witness(one)["devices"].__setitem__(0, "a/b/c"), "a/b/c is not among"),
    "a device less in a witness": (lambda one: witness(one)["devices"].pop(), "is among those counted"),
    "another request in a witness": (lambda one: witness(one)["requests"][0].update(request="r"), "has 0 requests r"),
    "another claim in a witness": (lambda one: witness(one)["requests"][0].update(claim="a/b"), "a/b has 0 requests"),
    "another kind of witness": (lambda one: witness(one).update(kind="resultLimit"), "there is enough"),
    "a witness on another node": (
        lambda one: unit(one, "lab/five")["failures"][0].update(names=["lab-2"]),
        "the manifests 5 and 0",
    ),
    "a no without its witness": (
        lambda one: [each.update(witness=None) for each in unit(one, "lab/five")["failures"]],
        None,
    ),
    "another outcome": (lambda one: one.update(outcome="Allocated"), "it is Unallocatable"),
    "a better proof": (lambda one: one.update(certified=False), "certified is false"),
    "no proof": (lambda one: one.update(proof=None), "proof is None"),
    "a proof that is better than the units'": (lambda one: one.update(proof="audited"), "proof is audited"),
    "a no of some nodes that is not certified": (
        lambda one: unit(one, "lab/five")["failures"][0].update(certified=False),
        "certified is false, and proof witness",
    ),
    "a node of two kinds": (
        lambda one: unit(one, "lab/five")["failures"][1].update(names=["lab-1"]),
        "node lab-1 is of two kinds",
    ),
    "a refused unit on a node": (lambda one: unit(one, "lab/five").update(node="lab-1"), "it is on node lab-1"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_allocation_fails(name):
    forge, said = FORGERIES[name]
    cluster = cluster_of("tainted-devices")
    document = drasat.allocate(cluster).to_dict()
    assert not failing(document, cluster)
    forge(document)
    lines = drasat.check(document, cluster).lines
    if said is None:
        # What is not there cannot be wrong, and proves nothing.
        assert [one.verdict for one in lines if one.said.startswith("Unallocatable")] == ["unchecked"]
        assert "lab-1" in next(one.reason for one in lines if one.verdict == "unchecked")
    else:
        assert [one for one in lines if one.verdict == "fails" and said in one.reason], lines


def test_a_refusal_that_has_an_allocation_fails_with_an_audit():
    cluster = cluster_of("tainted-devices")
    document = drasat.allocate(cluster).to_dict()
    plain = unit(document, "lab/plain")
    plain.update(outcome="Unallocatable", node=None, failures=copy.deepcopy(unit(document, "lab/five")["failures"]))
    plain["claims"][0]["allocation"] = None
    assert ["has an allocation on node lab-1" in one.reason for one in failing(document, cluster, audit=True)].count(
        True
    )


def test_explained_units_stand_beside_those_that_are_placed():
    cluster = cluster_of("tainted-devices")
    document = drasat.explain(cluster).to_dict()
    unit(document, "lab/plain")["allocations"][0]["allocation"]["devices"]["results"][0]["device"] = "gpu-0"
    assert failing(document, cluster)
    witness(document)["needed"] = 99
    assert any("it says 99 needed" in one.reason for one in failing(document, cluster))


def test_soft_entries_are_about_claims_of_their_unit():
    """Otherwise what they say of the allocation is about nothing."""
    cluster = cluster_of("soft-constraints")
    document = drasat.allocate(cluster).to_dict()
    next(one for one in document["units"] if one["softEntries"])["softEntries"][0]["claim"] = "default/none"
    assert [one.reason for one in failing(document, cluster)] == ["soft entries are about claim default/none"]


def test_what_narrowed_the_question_is_given_again():
    cluster = cluster_of("whole-gpus")
    document = drasat.allocate(cluster, claims=["ml/pair"])
    assert failing(document, cluster)
    other = drasat.allocate(cluster, node="gpu-node-1")
    assert failing(other, cluster, node="gpu-node-1") == []


HOSTILE = {
    "cut off": ('{"kind": "AllocationResult", "units": [', "line 1"),
    "no mapping": ("[1, 2]", "is no mapping"),
    "another kind": (json.dumps({"kind": "Pod"}), "'Pod' is no document"),
    "a kind that is none": (json.dumps({"kind": {"a": 1}}), "is no document"),
    "nothing": ("", "has 0 documents"),
    "two documents": ("kind: A\n---\nkind: B\n", "has 2 documents"),
    "nested deeply": ("[" * 100_000, "nested deeper"),
    "nested deeply within": ('{"kind": "AllocationResult", "units": ' + "[" * 5_000 + "]" * 5_000 + "}", "nested"),
    "not text": (b"\xff\xfe\xfa", "valid UTF"),
    "a number as text": ({"units.0.claims": 3}, "units[0].claims"),
    "text as a number": ({"certified": "yes"}, "certified"),
    "a field less": ({"verified": None}, "verified"),
    "another version": ({"apiVersion": "drasat.dev/v9"}, "apiVersion"),
    "an unknown outcome": ({"outcome": "Perhaps"}, "Perhaps"),
}


def _document():
    return drasat.allocate(cluster_of("tainted-devices")).to_dict()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_document_is_refused_in_one_line(name, tmp_path):
    given, said = HOSTILE[name]
    if isinstance(given, dict):
        document = _document()
        for path, value in given.items():
            *places, last = path.split(".")
            place = document
            for one in places:
                place = place[int(one) if one.isdigit() else one]
            place[last] = value
        given = json.dumps(document)
    path = tmp_path / "result.txt"
    path.write_bytes(given if isinstance(given, bytes) else given.encode())
    with pytest.raises(InputError, match=r"result\.txt") as raised:
        drasat.check(path, cluster_of("tainted-devices"))
    assert said in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 1000


def test_documents_may_be_yaml_or_results(tmp_path):
    cluster = cluster_of("tainted-devices")
    result = drasat.allocate(cluster)
    path = tmp_path / "result.yaml"
    path.write_text(result.to_yaml())
    found = [drasat.check(one, cluster).document for one in (path, result, result.document, result.to_dict())]
    assert found.count(found[0]) == 4
    assert isinstance(found[0], CheckDocument)


def test_bad_arguments_are_refused_in_one_line():
    cluster, document = cluster_of("tainted-devices"), _document()
    with pytest.raises(ValueError, match='node "x" is not in the input'):
        drasat.check(document, cluster, node="x")
    document["featureGates"] = {"Magic": True}
    with pytest.raises(ValueError, match="unknown feature gate"):
        drasat.check(document, cluster)
    with pytest.raises(InputError, match=r"nowhere\.json"):
        drasat.check("nowhere.json", cluster)


def test_a_document_changed_anywhere_never_raises_anything_else():
    """Values of a document are replaced by others at random: every line is judged, or the document is refused."""
    cluster, chance = cluster_of("mig-partitions"), random.Random(7)
    original = drasat.allocate(cluster).to_dict()
    for _ in range(150):
        document = copy.deepcopy(original)
        place = document
        while isinstance(place, dict | list) and place:
            key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or not place[key] or chance.random() < 0.05:
                place[key] = chance.choice(["", "x/y", -1, 2**62, 1.5, None, [], {}, True, "9" * 30, "\x00"])
                break
            place = place[key]
        with suppress(InputError, ValueError):
            drasat.check(document, cluster)


def test_the_time_limit_leaves_lines_unchecked():
    cluster = cluster_of("tainted-devices")
    found = drasat.check(_document(), cluster, time_limit=1e-9)
    assert found.holds
    assert {one.reason for one in found.lines if one.verdict == "unchecked"} == {"the time limit passed"}


def test_lines_are_a_frame():
    cluster = cluster_of("tainted-devices")
    frame = drasat.check(_document(), cluster).to_frame()
    assert list(frame.columns) == ["about", "said", "verdict", "reason"]
    assert set(frame.verdict) == {"holds"}


def test_stages_have_the_sense_of_their_names():
    cluster = cluster_of("whole-gpus")
    document = drasat.plan(cluster).to_dict()
    assert {one["sense"] for one in document["objective"]} == {
        STAGE_SENSES[one["stage"].partition("=")[0]] for one in document["objective"]
    }
    first = document["objective"][0]
    first.update(sense="min" if first["sense"] == "max" else "max")
    assert any("its sense is" in one.reason for one in failing(document, cluster))
    first.update(stage="best")
    assert any("there is no such stage" in one.reason for one in failing(document, cluster))


def test_every_stage_has_a_sense():
    assert STAGE_SENSES.keys() == set(STAGE_NAMES)


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda one: one.update(proof="audited"), "the weakest of the units is"),
        (lambda one: one.update(certified=not one["certified"]), "certified is"),
        (lambda one: one["units"][-1]["failures"][0].update(proof="solver"), "certified is true, and proof solver"),
    ],
)
def test_a_better_proof_of_an_explanation_fails(forge, said):
    cluster = cluster_of("mig-partitions")
    document = drasat.explain(cluster).to_dict()
    assert not failing(document, cluster)
    forge(document)
    assert any(said in one.reason for one in failing(document, cluster))
