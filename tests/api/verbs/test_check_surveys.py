"""``drasat.check`` of documents that place nothing: each kind is read, true ones hold, and forged ones fail."""

import importlib
import json
import pkgutil
from functools import cache
from typing import get_args, get_type_hints

import msgspec
import pytest

import drasat
from drasat.models import results
from drasat.verbs import check as checking


def record_kinds():
    """The kinds of all documents that verbs write."""
    found = set()
    for part in pkgutil.iter_modules(results.__path__):
        module = importlib.import_module(f"{results.__name__}.{part.name}")
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, msgspec.Struct) and "api_version" in one.__struct_fields__:
                found.update(get_args(get_type_hints(one).get("kind")))
    return {one for one in found if one[0].isupper()}


def test_every_kind_of_document_is_read():
    assert {"InventoryResult", "StudyResult", "CheckResult"} <= record_kinds()
    assert record_kinds() <= set(checking._KINDS)


STUDY = "examples/study"
ASKED = {
    "show": ("tainted-devices", drasat.show, {}),
    "show in use": ("make-room", drasat.show, {}),
    "show partitions": ("mig-partitions", drasat.show, {}),
    "ring": ("ring-topology", drasat.topology, {}),
    "torus": ("torus-topology", drasat.topology, {}),
    "links": ("nvlink-links", lambda cluster: drasat.topology(cluster, chosen=drasat.allocate(cluster)), {}),
    "tree": ("same-island", drasat.topology, {}),
    "queues": ("kueue/d-flavors", drasat.queue_capacity, {}),
    "check": ("tainted-devices", lambda cluster: drasat.check(drasat.allocate(cluster), cluster), {}),
}


@cache
def asked(name):
    example, verb, options = ASKED[name]
    cluster = drasat.load(f"examples/{example}")
    return cluster, json.dumps(verb(cluster, **options).to_dict())


def verdicts(name, forge=lambda _: None):
    cluster, text = asked(name)
    document = json.loads(text)
    forge(document)
    return drasat.check(document, cluster).lines


@pytest.mark.parametrize("name", ASKED)
def test_true_documents_hold(name):
    found = verdicts(name)
    assert [one for one in found if one.verdict == "fails"] == []
    assert all(one.reason for one in found if one.verdict == "unchecked")


def device(document, number=0):
    return document["devices"][number]


def instance(document):
    return document["topologies"][0]["instances"][0]


FORGERIES = {
    "a device that is not there": ("show", lambda one: device(one).update(device="x"), "the input has no device"),
    "a device twice": ("show", lambda one: one["devices"].append(device(one)), "is there twice"),
    "a tainted device that is free": ("show", lambda one: device(one).update(state="free"), "is tainted"),
    "a device that nobody has": ("show", lambda one: device(one, 1).update(state="inUse"), "is not in use"),
    "a holder": ("show", lambda one: device(one).update(claims=["a/b"]), "is held by no claim"),
    "another number": ("show", lambda one: one["total"].update(free=4), "8 devices, 3 of them free"),
    "another number of a class": ("show", lambda one: one["classes"][0]["devices"].update(total=9), "class gpu"),
    "another node": ("show", lambda one: one["nodes"][0].update(name="x"), "no node x"),
    "a used device that is free": (
        "show in use",
        lambda one: next(each for each in one["devices"] if each["state"] == "inUse").update(state="free"),
        "is in use",
    ),
    "a claim that waits": (
        "show in use",
        lambda one: next(each for each in one["claims"] if each["state"] == "allocated").update(state="pending"),
        "it is allocated",
    ),
    "another place": ("ring", lambda one: instance(one)["devices"][0].update(coordinates=[7]), "stands at 0"),
    "another topology": ("ring", lambda one: one["topologies"][0].update(shape="Line"), "it is another"),
    "a larger shape": ("ring", lambda one: instance(one)["largest"].update(count=9), "a Segment of 9 has"),
    "a shape in pieces": ("torus", lambda one: instance(one)["largest"].update(count=2, devices=[0, 41]), "connected"),
    "one more free": ("torus", lambda one: instance(one).update(free=99), "of its devices are free"),
    "a queue that is not there": ("queues", lambda one: one["queues"][0].update(localQueue="x"), "no such LocalQueue"),
    "a queue elsewhere": ("queues", lambda one: one["queues"][0].update(clusterQueue="x"), "leads to ClusterQueue"),
    "more than its bound": ("queues", lambda one: one["queues"][0]["both"].update(fits=99, bound=99), "both are 99"),
    "lines that hold": ("check", lambda one: one["lines"][0].update(verdict="fails"), "lines are fails"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_document_fails(name):
    kind, forge, said = FORGERIES[name]
    found = [one for one in verdicts(kind, forge) if one.verdict == "fails"]
    assert any(said in one.reason for one in found), found


def test_studies_and_sweeps_say_that_variants_are_not_asked_again():
    cluster = drasat.load(STUDY)
    document = drasat.study(cluster, f"{STUDY}/studies/budget.yaml").to_dict()
    assert [one.verdict for one in drasat.check(document, cluster).lines] == ["unchecked"]
    document["variants"][1]["name"] = document["variants"][0]["name"]
    assert [one.verdict for one in drasat.check(document, cluster).lines] == ["fails"]


def test_what_narrowed_the_inventory_is_not_known():
    cluster = drasat.load("examples/tainted-devices")
    found = drasat.check(drasat.show(cluster, node="lab-1"), cluster)
    assert found.holds
    assert any("what --node" in one for one in found.document.not_checked)
