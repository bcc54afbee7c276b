"""ConstraintGroups tell units apart that are alike otherwise."""

import pytest
from support.manifests import by_signature, claim, cluster, entry, maker, obj, pod, template

from drasat.models.workload.queue import read_queue

MATCH = [{"matchAttribute": "a/b"}]


def group(name="g", **spec):
    return obj("ConstraintGroup", name, {"constraints": MATCH, **spec})


def alike(*objects):
    """The names of interchangeable units."""
    sets = read_queue(cluster(*objects))
    return [[one.unit_name(number) for one in same for number in one.numbers] for same in by_signature(sets).values()]


@pytest.mark.parametrize(
    "chosen", [{"claims": [{"name": "a"}, {"name": "b"}]}, {"claimSelector": {"matchLabels": {"in": "yes"}}}]
)
def test_members_are_alike_among_themselves(chosen):
    claims = [claim("a", labels={"in": "yes"}), claim("b", labels={"in": "yes"}), claim("c"), claim("d")]
    assert alike(*claims, group(**chosen)) == [["a", "b"], ["c", "d"]]


def test_members_of_two_groups_are_not_alike():
    claims = [claim(name) for name in "abcd"]
    groups = [group("g", claims=[{"name": "a"}, {"name": "b"}]), group("h", claims=[{"name": "b"}, {"name": "c"}])]
    assert alike(*claims, *groups) == [["a"], ["b"], ["c"], ["d"]]


def test_claims_that_an_entry_names_are_told_apart():
    entries = [{"matchAttribute": "a/b", "requests": ["a/r", "b/r"]}]
    named = {"claims": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "constraints": entries}
    assert alike(*[claim(name) for name in "abc"], group(**named)) == [["a", "b"], ["c"]]


def test_groups_of_another_namespace_do_not_matter():
    other = group(claimSelector={}) | {"metadata": {"name": "g", "namespace": "other"}}
    assert alike(claim("a"), claim("b"), other) == [["a", "b"]]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"pods": [{"name": "p"}]}, [["p"], ["q", "j-0", "j-1"]]),
        ({"pods": [{"name": "p", "claims": ["y"]}]}, [["p"], ["q", "j-0", "j-1"]]),
        ({"pods": [{"name": "j-1"}]}, [["p", "q", "j-0"], ["j-1"]]),
        ({"podSelector": {"matchLabels": {"app": "x"}}}, [["p", "j-0", "j-1"], ["q"]]),
        ({"podSelector": {}, "pods": [{"claims": ["none"]}]}, [["p", "q", "j-0", "j-1"]]),
        ({"claims": [{"name": "j-0-x"}]}, [["p", "q", "j-1"], ["j-0"]]),
    ],
)
def test_replicas_are_split_where_groups_tell_them_apart(chosen, expected):
    entries = [entry("x", template="t"), entry("y", template="t")]
    objects = [
        pod("p", *entries, labels={"app": "x"}),
        pod("q", *entries),
        maker("Job", "j", *entries, spec={"parallelism": 2}, labels={"app": "x"}),
    ]
    assert alike(*objects, template(), group(**chosen)) == expected


def test_what_is_split_loses_no_replica():
    job = maker("Job", "j", entry("x", template="t"), spec={"parallelism": 5})
    sets = read_queue(cluster(job, template(), group(pods=[{"name": "j-1"}, {"name": "j-3"}])))
    assert [tuple(one.numbers) for one in sets] == [(0, 2, 4), (1, 3)]
