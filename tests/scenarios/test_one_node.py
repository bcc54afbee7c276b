"""Questions that are hard for a search: valid, of the sizes that their names tell, and with the answer they state."""

from collections import Counter
from functools import partial
from itertools import pairwise

import pytest
from support.gates import ALL

from drasat.models.workload.requested import requested_units
from drasat.scenarios.one_node import (
    QUESTIONS,
    easy,
    hopeless,
    partitioned,
    tied_claims,
    tied_lists,
    tied_requests,
    too_many,
)
from drasat.solver.allocate.allocate import allocate

FORMS = ("claims", "requests", "counts")
LARGE_AND_SMALL = {"3g.20gb": 1, "2g.10gb": 2}
ONE_MORE = {"3g.20gb": 1, "2g.10gb": 3}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_they_are_about_one_unit_on_one_node_with_complete_pools(question, load):
    cluster = load(question.objects())
    assert len(requested_units(cluster)) == 1
    (node,) = cluster.nodes.values()
    assert {pool.status for pool in cluster.pools(ALL).pools_for(node)} == {"complete"}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_they_are_the_same_each_time(question):
    assert question.objects() == question.objects()


@pytest.mark.parametrize(
    ("name", "devices", "claims", "asked"),
    [
        ("8 of 64, then an impossible one", 64, 1, 9),
        ("13 of 12 devices", 12, 1, 13),
        ("32 of 31 devices", 31, 1, 32),
        ("33 claims of 4, each of one of 16 groups of 8", 128, 33, 132),
        ("32 of 64 with one value in all lists", 64, 1, 32),
        ("4 times 4 of 8 groups of 15", 120, 1, 16),
        ("4 times 4 of 7 groups of 15, then one of 16", 121, 1, 16),
        ("8 x 3g and 17 x 2g on 8 GPUs, claims", 208, 25, 25),
        ("8 x 3g and 17 x 2g on 8 GPUs, requests", 208, 1, 25),
        ("8 x 3g and 16 x 2g on 8 GPUs, counts", 208, 1, 24),
    ],
)
def test_sizes(name, devices, claims, asked, load):
    cluster = load(QUESTIONS[name].objects())
    assert cluster.summary()["devices"] == devices
    assert len(cluster.claims) == claims
    requests = [request for claim in cluster.claims.values() for request in claim.spec.devices.requests]
    assert sum(request.exactly.count or 1 for request in requests) == asked


def test_one_device_too_many_is_asked_for_at_every_size():
    sizes = [name for name in QUESTIONS if name.endswith(" devices")]
    assert sizes == [f"{size + 1} of {size} devices" for size in range(12, 32)]


def test_of_two_forms_that_differ_by_one_thing_one_fits():
    assert Counter(question.fits for name, question in QUESTIONS.items() if "devices" not in name) == {
        True: 6,
        False: 7,
    }


@pytest.mark.parametrize(
    ("objects", "fits"),
    [
        (partial(hopeless, 8, 3), False),
        (partial(too_many, 6), False),
        (partial(tied_claims, 4, groups=2, members=4, size=2), True),
        (partial(tied_claims, 5, groups=2, members=4, size=2), False),
        (partial(tied_lists, 4, values=6), True),
        (partial(tied_lists, 4, values=6, fits=False), False),
        (partial(tied_requests, [3, 3, 3], requests=2, size=2), False),
        (partial(tied_requests, [3, 3, 4], requests=2, size=2), True),
        *(
            (partial(partitioned, LARGE_AND_SMALL, gpus=1, form=form), True)
            for form in ("claims", "requests", "counts")
        ),
        *((partial(partitioned, ONE_MORE, gpus=1, form=form), False) for form in FORMS),
    ],
)
def test_small_ones_have_the_stated_answer(objects, fits, load):
    found = allocate(load(objects()), engine="backtracking")
    assert found.outcome == ("Allocated" if fits else "Unallocatable")


@pytest.mark.parametrize(
    "sizes",
    [
        [partial(tied_lists, size, values=8) for size in (4, 5, 6)],
        [partial(tied_claims, 2 * groups + 1, groups=groups, members=4, size=2) for groups in (1, 2)],
        [partial(tied_requests, [size] * 3, requests=2, size=size // 2 + 1) for size in (3, 5, 7)],
    ],
    ids=["lists", "claims", "requests"],
)
def test_a_search_takes_several_times_as_many_steps_at_each_size(sizes, load):
    steps = [allocate(load(objects()), engine="backtracking").statistics.steps for objects in sizes]
    assert all(large > 2.5 * small for small, large in pairwise(steps))


def test_a_hopeless_question_takes_as_many_first_as_told(load):
    steps = [allocate(load(hopeless(8, some)), engine="backtracking").statistics.steps for some in (2, 3)]
    # SRCH-11: every subset of up to so many devices, and once more for each full one.
    assert steps == [1 + 8 + 28 + 28, 1 + 8 + 28 + 56 + 56]


def _links(cluster):
    return [
        set(device.attributes["links"].strings) for slice_ in cluster.slices for device in slice_.spec.devices or ()
    ]


@pytest.mark.parametrize(("fits", "shared"), [(True, 32), (False, 31)])
def test_lists_of_which_only_the_later_half_shares_a_value(fits, shared, load):
    lists = _links(load(tied_lists(fits=fits)))
    assert {len(links) for links in lists} == {47}
    counts = [Counter(value for links in half for value in links) for half in (lists[:32], lists[32:])]
    assert (max(counts[0].values()), max(counts[1].values())) == (31, shared)
    assert not set(counts[0]) & set(counts[1])


def test_an_easy_question_may_have_many_nodes(load):
    cluster = load(easy(8, nodes=5))
    assert (len(cluster.nodes), cluster.summary()["devices"]) == (5, 40)
    assert allocate(cluster, engine="backtracking").outcome == "Allocated"
