"""Entries that are judged on complete sets among the reasons: expressions, shapes, overlapping sets, predicates."""

from collections import Counter
from random import Random

import pytest
from support.explaining import explained, reasons, relaxations, unit
from support.gates import ALL
from support.objects import after, claim, device, device_class, either, match, node, option, pool, taint, want
from support.related import Related
from support.soft import cel, near, wishing
from support.topology import asking, grid_of, line_of, shape, together, topology

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.extensions import ConstraintGroup, ConstraintGroupSpec, Entry, GroupClaim, Predicate
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.cp_sat import Limits
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine, cp_sat_engine
from drasat.solver.explain.conflict import ExplanationCompiler, minimal_unsatisfiable_subset
from drasat.solver.explain.explain import explain

KIND = "device.attributes['d.x'].kind == '{}'"
TWO_B = "devices.filter(d, d.attributes['d.x'].kind == 'b').size() >= 2"
KINDS = pool(*(device(f"d{number}", kind=kind) for number, kind in enumerate("aaabb")))
OVERLAPPING = {"distinctAttribute": "d.x/s", "distinctSemantics": {"mode": "EmptyIntersection"}}
HELD = Entry(match_attribute="d.x/island", name="island")


def cluster_of(related):
    return Cluster.of([device_class(), node(), *related.objects()])


def agrees(seed, **options):
    """Check the reasons of a random claim; how many there are, 0 if it fits."""
    related = Related(Random(seed))
    cluster = cluster_of(related)
    asked = next(one for one in requested_units(cluster) if one.pod)
    bench = ExplanationCompiler(Session(cluster, ALL, "strict", 0, **options))
    case = bench.compile(
        cluster.node("n1"), [ref.claim for ref in asked.requested_claims], AllocatedState(cluster.usage(ALL))
    )
    conflict = minimal_unsatisfiable_subset(case.model, Limits(), lambda _reasons: False)
    assert related.possible(case, case.model.guards) == (conflict is None), seed
    if conflict is None:
        return 0
    assert conflict.minimal, seed
    assert conflict.confirmed, seed
    assert not related.possible(case, conflict.reasons), (seed, conflict.reasons)
    for reason in conflict.reasons:
        rest = [one for one in conflict.reasons if one != reason]
        assert related.possible(case, rest), (seed, reason)
    return len(conflict.reasons)


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_reasons_are_impossible_together_and_each_is_needed(start):
    found = Counter(agrees(seed) for seed in range(start, start + 20))
    assert found[2]
    assert found[3]


@pytest.mark.parametrize("encoding", ["table", "lazy"])
def test_so_they_are_however_expressions_are_asked(encoding):
    assert sum(agrees(seed, cel_encoding=encoding) > 0 for seed in range(80, 110)) > 10


def test_every_change_that_helps_lets_the_search_find_an_allocation_too(register):
    helped = []

    class Noting:
        def __init__(self, session):
            self._session = session
            self._real = cp_sat_engine(session)

        def allocate_on(self, *question):
            found = self._real.allocate_on(*question)
            if found.status is Status.ALLOCATED:
                helped.append((self._session, question))
            return found

    register("cp-sat", Noting)
    told = sum(len(one.relaxations) for seed in range(20) for one in explain(cluster_of(Related(Random(seed)))).units)
    assert 0 < told <= len(helped)
    for session, (place, claims, state, _) in helped:
        assert backtracking_engine(session).allocate_on(place, claims, state, None).status is Status.ALLOCATED


def test_a_request_that_another_one_completes_is_no_reason_alone():
    # Two devices of r fit anywhere on the line; only three in a row are not free.
    asked = wishing(claim(want("r", 2), want("s", 1)), shape("Segment"))
    assert reasons(topology("Line", "at"), line_of(5, 2), asked) == [
        ("exactCount", "request r of claim ns/c needs 2 devices"),
        ("exactCount", "request s of claim ns/c needs 1 device"),
        ("topology", "entry #0 of claim ns/c, topology: a Segment in t"),
    ]


@pytest.mark.parametrize("others", [(), (OVERLAPPING,)])
def test_counts_that_an_expression_excludes_are_reasons(others):
    asked = wishing(claim(want("r", 1), want("s", 2)), cel("devices.size() == 4", weight=None), *others)
    found = reasons(pool(*(device(name, s=(1,)) for name in "abcdef"), device("g", s=(2,))), asked)
    assert [id_ for id_, _ in found] == ["exactCount", "exactCount", "cel"]


def test_of_alternatives_that_are_let_go_one_is_taken_at_most():
    listed = either("r", option("a", 1, KIND.format("a")), option("b", 1, KIND.format("b")))
    asked = wishing(claim(listed, want("s", 1)), cel("devices.size() == 3", weight=None))
    assert [id_ for id_, _ in reasons(KINDS, asked)] == ["exactCount", "cel"]


def test_a_selector_of_a_request_that_is_no_reason_is_told_and_dropped():
    asked = wishing(claim(want("r", 2, KIND.format("a")), want("s")), cel(TWO_B, weight=None))
    selector = "selector 0 of request r of claim ns/c rules out 2 devices: " + KIND.format("a")
    expression = f"entry #0 of claim ns/c, cel: {TWO_B}; true of no devices that could be had"
    assert [text for _, text in reasons(KINDS, asked)] == [
        "request s of claim ns/c needs 1 device",
        selector,
        expression,
    ]
    assert relaxations(KINDS, asked) == [
        (("drop selector 0 of request r of claim ns/c",), 2),
        (("drop entry #0 (cel) of claim ns/c",), 2),
    ]


def test_an_expression_is_told_with_its_meaning():
    held = after(KINDS, claim(want("r", 1, KIND.format("b")), name="x"))
    found = dict(reasons(KINDS, *held, wishing(claim(want("r", 4)), cel(TWO_B, weight=None, name="two"))))
    assert found["inUse"] == "devices in use by claim ns/x: d3"
    assert found["cel"].startswith(f"entry two of claim ns/c, cel: {TWO_B}; ")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"shape": "Box", "size": [2, 2]}, "a Box of 2x2 in t"),
        ({"shape": "Box", "size": [2, 2], "orientation": "Fixed"}, "a Box of 2x2, as it stands, in t"),
        ({"shape": "Compact", "maxDistance": 1}, "a Compact of devices at most 1 step apart in t"),
        ({"shape": "Connected"}, "a Connected in t"),
    ],
)
def test_a_shape_is_named_with_its_extent(asked, text):
    there = grid_of(2, 3, "d01", "d12")
    entry = {"topology": {"name": "t", **asked}, "name": "near"}
    found = dict(reasons(topology("Grid", "row", "column"), there, asking(4, entry)))
    assert found["topology"] == f"entry near of claim ns/c, topology: {text}"


def test_devices_without_a_place_are_counted():
    there = pool(device("a", at=0), device("b", at=1), device("lost"))
    found = dict(reasons(topology("Line", "at"), there, asking(3, shape("Segment"))))
    assert found["topology"].endswith("a Segment in t (1 device without a place in it)")


@pytest.mark.parametrize(
    ("entry", "demand"),
    [
        (OVERLAPPING, "distinctAttribute d.x/s: no value may be on all of them"),
        (
            {
                "matchAttribute": "d.x/s",
                "matchSemantics": {"mode": "NonEmptyIntersection", "options": {"nonEmptyIntersection": {"minSize": 2}}},
            },
            "matchAttribute d.x/s: at least 2 values in common",
        ),
    ],
)
def test_what_semantics_ask_for_is_told(entry, demand):
    there = pool(device("a", s=(1, 2)), device("b", s=(2, 3)))
    asked = wishing(claim(want(count=2)), entry)
    assert reasons(there, asked)[1][1] == f"entry #0 of claim ns/c, {demand}"
    assert f"drop entry #0 ({demand.partition(':')[0]}) of claim ns/c" in [
        text for changes, _ in relaxations(there, asked) for text in changes
    ]


def test_entries_of_the_spec_are_numbered_and_those_of_the_annotation_too():
    asked = wishing(claim(want(count=2), constraints=[match("d.x/a")]), near(attribute="d.x/b", weight=None))
    there = pool(device("a", a=1, b=1), device("b", a=2, b=2))
    changes = [text for one, _ in relaxations(there, asked) for text in one]
    assert "drop constraint 0 (matchAttribute d.x/a) of claim ns/c" in changes
    assert "drop entry #0 (matchAttribute d.x/b) of claim ns/c" in changes


def test_a_lower_count_helps_that_an_even_lower_one_would_not():
    objects = topology("Grid", "row", "column"), grid_of(3, 3), asking(7, shape("Box", size=[2, 2]))
    assert (("count 4 instead of 7 in request r of claim ns/c",), 3) in relaxations(*objects)


def test_soft_entries_are_no_reasons():
    asked = wishing(claim(want(count=6)), cel("false", weight=5), near(attribute="d.x/kind"))
    assert [id_ for id_, _ in reasons(KINDS, asked)] == ["exactCount"]


def test_an_entry_of_equal_claims_is_dropped_from_one_or_from_all():
    first, second = asking(2, shape("Segment"), name="a"), asking(2, shape("Segment"), name="b")
    objects = topology("Line", "at"), line_of(5, 1, 3), pool(device("x"), name="q"), first, second
    found = relaxations(*objects, together(first, second))
    assert (("drop entry #0 (topology) of claim ns/a (and 1 equal)",), 4) in found
    objects = topology("Line", "at"), line_of(5, 2), pool(device("x"), name="q"), asking(2, shape("Segment"), name="x")
    held = after(*objects)
    found = relaxations(*objects[:3], *held, first, second, together(first, second))
    assert (("drop entry #0 (topology) of claim ns/b",), 2) not in found
    assert (("free claim ns/x",), 3) in found


def test_dropping_a_request_takes_entries_about_it_along():
    entry = {**cel("devices.exists(d, d.attributes['d.x'].kind == 'c')", "r", weight=None), "name": "kind"}
    asked = wishing(claim(want("r"), want("s")), entry)
    assert (("drop request r of claim ns/c",), 4) in relaxations(KINDS, asked)


def test_errors_of_expressions_are_told_with_what_is_in_the_way():
    found = unit(KINDS, wishing(claim(want()), cel("devices.all(d, d.attributes['d.x'].none > 1)", weight=None)))
    assert found.outcome == "Error"
    assert "no such key: none" in found.reasons[0].message
    assert [reason.id for reason in found.failures[0].reasons] == ["exactCount", "cel"]


def test_what_is_given_in_python_is_a_reason_and_may_be_dropped():
    never = Predicate(lambda _devices: False, name="never")
    asked = claim(want("r", 2, KIND.format("a")))
    options = {"constraints": [{"matchAttribute": "d.x/kind"}, never]}
    assert reasons(KINDS, asked, **options)[1] == ("predicate", "entry never of claim ns/c, predicate")
    assert relaxations(KINDS, asked, **options) == [(("drop entry never (predicate) of claim ns/c",), 2)]


def test_a_taint_and_a_shape_together():
    there = pool(*(device(f"d{place}", at=place, taints=(taint(),) if place == 1 else None) for place in range(4)))
    found = reasons(topology("Line", "at"), there, asking(3, shape("Segment")))
    assert [id_ for id_, _ in found] == ["exactCount", "taint", "topology"]
    assert (("tolerate k:NoSchedule in request r of claim ns/c",), 1) in relaxations(
        topology("Line", "at"), there, asking(3, shape("Segment"))
    )


def group(*names):
    spec = ConstraintGroupSpec(claims=tuple(GroupClaim(name=name) for name in names), constraints=(HELD,))
    return ConstraintGroup(metadata=ObjectMeta(name="g", namespace="ns"), spec=spec)


def test_units_that_a_group_ties_are_explained_as_allocate_answers():
    islands = pool(device("a", island=1), device("b", island=2))
    first, second = explained(islands, claim(want(), name="x"), claim(want(), name="y"), group("x", "y"))
    for one in (first, second):
        assert one.outcome == "Unallocatable"
        assert not one.failures
        assert one.reasons[-1].message == "alone it fits on n1"
        assert any("x, y" in reason.message for reason in one.reasons)


def test_a_tied_unit_that_does_not_fit_alone_is_explained_alone():
    islands = pool(device("a", island=1), device("b", island=1))
    first, second = explained(islands, claim(want(), name="x"), claim(want(count=3), name="y"), group("x", "y"))
    assert first.reasons[-1].message == "alone it fits on n1"
    assert [reason.message for reason in second.reasons] == [
        "tied to other units by ConstraintGroup ns/g: what follows is about this one alone"
    ]
    assert [reason.id for reason in second.failures[0].reasons] == ["exactCount"]
    assert [one.changes[0].id for one in second.relaxations] == ["count"]


def test_tied_units_that_fit_together_have_nothing_to_explain():
    islands = pool(device("a", island=1), device("b", island=2), device("c", island=2))
    found = explained(islands, claim(want(), name="x"), claim(want(), name="y"), group("x", "y"))
    assert [one.outcome for one in found] == ["Allocated", "Allocated"]
    assert not any(one.reasons for one in found)
