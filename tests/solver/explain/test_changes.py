"""Changes to a question: of claims, requests, what is held, and the pod."""

import dataclasses

import pytest
from msgspec.structs import replace
from support.gates import ALL
from support.objects import (
    NODE,
    after,
    claim,
    config,
    device,
    device_class,
    devices,
    distinct,
    either,
    match,
    node,
    option,
    pool,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.extensions import Entry, annotated_entries, with_entries
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.workload.requested import requested_units
from drasat.solver.engines.engine import Session
from drasat.solver.explain.what_if import TrialLimitError, WhatIf, WhatIfTrials


def scene(*objects):
    cluster = Cluster.of([device_class(), node(NODE), *objects])
    return WhatIf(cluster, requested_units(cluster)[-1], ALL)


def asked(found, number=0):
    return found.claims[number].spec.devices


def test_a_request_is_changed_in_the_unit_and_in_the_cluster():
    before = scene(claim(want("r", 3), want("s", 2)))
    changed = before.with_request(0, "s", lambda spec: replace(spec, count=1))
    assert [one.exactly.count for one in asked(changed).requests] == [3, 1]
    assert [one.exactly.count for one in asked(before).requests] == [3, 2]
    assert changed.cluster.claims["ns", "c"] is changed.claims[0]


@pytest.mark.parametrize(("name", "counts"), [("r/two", [1, 9, 3]), ("r", [9, 9, 9]), ("other", [1, 2, 3])])
def test_an_alternative_is_changed_or_all_of_them(name, counts):
    listed = either("r", option("one", 1), option("two", 2), option("three", 3))
    changed = scene(claim(listed)).with_request(0, name, lambda spec: replace(spec, count=9))
    assert [one.count for one in asked(changed).requests[0].first_available] == counts


def test_a_request_goes_with_what_is_about_nothing_else():
    entries = [match("d.x/a"), match("d.x/b", "r"), distinct("d.x/c", "r", "s"), match("d.x/d", "r/one")]
    whole = claim(want("r"), want("s"), constraints=entries, configs=[config(1, "r"), config(2, "s")])
    left = asked(scene(whole).without_request(0, "r"))
    assert [one.name for one in left.requests] == ["s"]
    assert [(one.match_attribute or one.distinct_attribute, one.requests) for one in left.constraints] == [
        ("d.x/a", None),
        ("d.x/c", ("s",)),
    ]
    assert [one.opaque.parameters for one in left.config] == [2]


def test_a_request_goes_with_entries_of_the_annotation_that_are_about_nothing_else():
    entries = [Entry(match_attribute="d.x/a"), Entry(requests=("r/one",), name="own"), Entry(requests=("s", "r"))]
    asking = claim(want("r"), want("s"))
    annotated = with_entries(asking.metadata, entries)
    left = scene(replace(asking, metadata=annotated)).without_request(0, "r").claims[0]
    assert [one.requests for one in annotated_entries(left.metadata)] == [None, ("s",)]
    assert scene(asking).without_request(0, "r").claims[0].metadata.annotations is None


def test_an_entry_that_is_given_goes_for_all_claims():
    given = (Entry(match_attribute="d.x/b"), Entry(match_attribute="d.x/c"))
    whole = dataclasses.replace(scene(claim(want(), constraints=[match("d.x/a")])), caller_constraints=given)
    assert whole.without_entry(0, 2).caller_constraints == given[:1]
    assert whole.without_entry(0, 2).claims == whole.claims
    assert whole.without_entry(0, 0).caller_constraints == given


def test_an_entry_goes_by_its_number():
    whole = scene(claim(want(), constraints=[match("d.x/a"), match("d.x/b"), match("d.x/c")]))
    assert [one.match_attribute for one in asked(whole.without_entry(0, 1)).constraints] == ["d.x/a", "d.x/c"]
    assert asked(scene(claim(want(), constraints=[match("d.x/a")])).without_entry(0, 0)).constraints is None


def test_entries_of_the_annotation_come_after_those_of_the_spec():
    annotated = with_entries(ObjectMeta(), [Entry(match_attribute="d.x/b"), Entry(match_attribute="d.x/c", weight=3)])
    asking = claim(want(), constraints=[match("d.x/a")])
    whole = scene(replace(asking, metadata=replace(asking.metadata, annotations=annotated.annotations)))
    changed = whole.without_entry(0, 1)
    assert [one.match_attribute for one in asked(changed).constraints] == ["d.x/a"]
    assert annotated_entries(changed.claims[0].metadata) == (Entry(match_attribute="d.x/c", weight=3),)


def held():
    there = (pool(*devices("a", "b", "c")),)
    return scene(*there, *after(*there, claim(want(count=2), name="x")), claim(want(count=3)))


def test_a_claim_gives_up_all_it_has():
    assert held().allocated_state().usage.dedicated == {("d.x", "p", "a"), ("d.x", "p", "b")}
    assert not held().without_claims([("ns", "x")]).allocated_state().usage.dedicated


def test_a_claim_gives_up_one_device():
    left = held().without_device(("ns", "x"), ("d.x", "p", "a"))
    assert left.allocated_state().usage.dedicated == {("d.x", "p", "b")}
    assert left.allocated_state().usage.held_by(("ns", "x")) == (("d.x", "p", "b"),)


def test_a_claim_without_allocation_has_nothing_to_give_up():
    before = held()
    assert before.without_device(("ns", "c"), ("d.x", "p", "a")) is before


def test_a_scene_without_a_pod_has_none_to_change():
    before = held()
    assert before.with_pod(lambda spec: replace(spec, node_name="n")) is before


def trials(found, deadline=None, **options):
    return WhatIfTrials(Session(found.cluster, ALL, "strict", 0), deadline, **options)


def test_what_fits_is_allocated_beside_what_is_held():
    before = held()
    asks = trials(before)
    assert not asks.fits(before, before.cluster.node(NODE))
    assert asks.fits(before.without_claims([("ns", "x")]), before.cluster.node(NODE))
    assert asks.fits(before.with_request(0, "r", lambda spec: replace(spec, count=1)), before.cluster.node(NODE))


def test_attempts_are_counted_for_each_unit():
    before = scene(pool(device("a")), claim(want(count=2)))
    asks = trials(before, most=1)
    assert not asks.fits(before, before.cluster.node(NODE))
    with pytest.raises(TrialLimitError):
        asks.fits(before, before.cluster.node(NODE))
    asks.renew()
    assert not asks.fits(before, before.cluster.node(NODE))


def test_attempts_end_with_the_time():
    before = scene(pool(device("a")), claim(want()))
    with pytest.raises(TrialLimitError):
        trials(before, deadline=0.0).fits(before, before.cluster.node(NODE))
