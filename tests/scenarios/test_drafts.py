"""Drafts: how pools become slices and claims become what is asked."""

from collections import Counter
from random import Random

import pytest
from support.drafts import ClusterDraft, DraftPool, DraftSize, plain_draft

from drasat.scenarios import objects
from drasat.scenarios.objects import DRIVER, DraftClaim


def pool(names="abc", **fields):
    members = [objects.device(name, {"index": index}) for index, name in enumerate(names)]
    return DraftPool(DRIVER, "p", objects.on_node("n"), members, **fields)


def spread(slices):
    return [[device["name"] for device in slice_["spec"].get("devices", ())] for slice_ in slices]


@pytest.mark.parametrize(
    ("fields", "expected", "count"),
    [
        ({}, [["a", "b", "c"]], 1),
        ({"parts": 2}, [["a", "c"], ["b"]], 2),
        ({"counter_sets": [objects.counter_set("c", {"x": 1})]}, [["a", "b", "c"], []], 2),
        ({"miscounted": 1}, [["a", "b", "c"]], 2),
        ({"parts": 2, "miscounted": -1}, [["a", "c"], ["b"]], 1),
        ({"miscounted": -1}, [["a", "b", "c"]], 1),
    ],
    ids=["plain", "two parts", "counters", "too few", "too many", "never zero"],
)
def test_slices_of_a_pool(fields, expected, count):
    slices = pool(**fields).slices()
    assert spread(slices) == expected
    assert {slice_["spec"]["pool"]["resourceSliceCount"] for slice_ in slices} == {count}


def test_slices_have_names_of_their_own():
    names = [slice_["metadata"]["name"] for slice_ in pool(parts=3).slices()]
    assert len(set(names)) == 3
    assert all(name.startswith(f"p-{DRIVER}-") for name in names)


def test_further_fields_are_in_every_slice():
    made = pool(parts=2, fields={"skipNodeOperations": ["*"]}).slices()
    assert [slice_["spec"]["skipNodeOperations"] for slice_ in made] == [["*"], ["*"]]


def test_strays_come_last():
    drafted = pool()
    drafted.strays.append(drafted.slice_of("old", [], generation=0))
    assert [slice_["spec"]["pool"]["generation"] for slice_ in drafted.slices()] == [1, 0]


def test_bodies_are_requests_and_alternatives():
    first, second = objects.wanted("a"), objects.wanted("b")
    claim = DraftClaim("c", [objects.exactly("r0", first), objects.first_available("r1", [("s0", second)])])
    assert [body["deviceClassName"] for body in claim.bodies()] == ["a", "b"]
    assert claim.request_names == ["r0", "r1"]


def test_bodies_can_be_changed_in_place():
    claim = DraftClaim("c", [objects.first_available("r", [("s0", objects.wanted("a"))])])
    for body in claim.bodies():
        body["count"] = 3
    assert claim.spec()["devices"]["requests"][0]["firstAvailable"][0]["count"] == 3


@pytest.mark.parametrize("seed", range(20))
def test_some_keeps_order_and_takes_at_least_one(seed):
    chosen = ClusterDraft(Random(seed)).some(["a", "b", "c"])
    assert chosen
    assert chosen == sorted(set(chosen))


@pytest.mark.parametrize("seed", range(20))
def test_plain_drafts_keep_to_their_size(seed):
    size = DraftSize(nodes=(2, 2), devices=(3, 5), claims=(1, 2), requests=(2, 3), count=(1, 4))
    draft = plain_draft(Random(seed), size)
    assert len(draft.nodes) == len(draft.pools) == 2
    assert all(3 <= len(drafted.devices) <= 5 for drafted in draft.pools)
    assert 1 <= len(draft.claims) <= 2
    assert all(2 <= len(claim.requests) <= 3 for claim in draft.claims)
    assert all(1 <= body["count"] <= 4 for body in draft.bodies())


def test_the_first_request_is_rarely_a_narrow_one():
    firsts, later = Counter(), Counter()
    for seed in range(200):
        first, *others = plain_draft(Random(seed), DraftSize(requests=(2, 3))).bodies()
        firsts[first["deviceClassName"]] += 1
        later.update(body["deviceClassName"] for body in others)
    assert (firsts["model-a"] + firsts["first"]) / firsts.total() < 0.2
    assert (later["model-a"] + later["first"]) / later.total() > 0.4


@pytest.mark.parametrize("seed", range(30))
def test_what_is_asked_names_all_claims(seed):
    draft = plain_draft(Random(seed), DraftSize())
    made = draft.objects()
    kinds = Counter(item["kind"] for item in made)
    entries = [entry for item in made if item["kind"] == "Pod" for entry in item["spec"]["resourceClaims"]]
    if kinds["ResourceClaimTemplate"]:
        assert kinds["Pod"] == kinds["ResourceClaimTemplate"] == len(draft.claims)
        assert all("resourceClaimTemplateName" in entry for entry in entries)
    else:
        assert kinds["ResourceClaim"] == len(draft.claims)
        assert len(entries) in (0, len(draft.claims))


@pytest.mark.parametrize("seed", range(10))
def test_pods_with_wishes_are_one_pod(seed):
    draft = plain_draft(Random(seed), DraftSize())
    draft.pod_fields["nodeSelector"] = {"a": "b"}
    pods = [item for item in draft.objects() if item["kind"] == "Pod"]
    assert [pod["spec"]["nodeSelector"] for pod in pods] == [{"a": "b"}]
