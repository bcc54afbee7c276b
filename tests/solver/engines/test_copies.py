"""Copies side by side in one Problem."""

from dataclasses import replace

import pytest
from support.gates import ALL
from support.objects import (
    NODE,
    claim,
    device,
    device_class,
    devices,
    distinct,
    draws,
    either,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.problem.compiler import Compiler
from drasat.problem.node_state import AllocatedState
from drasat.problem.problem import InUse, Problem
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews
from drasat.solver.engines.copies import only_unlimited_devices, per_copy
from drasat.solver.engines.engine import Pick
from drasat.solver.engines.search import Search

MEMBERS = pool(*(device(f"d{number}", kind="ab"[number % 2], rail=number // 2) for number in range(6)))
SHARES = pool(device("s", multi=True, capacity={"mem": shared("9", default="1", min="0")}), device("t", multi=True))
SLICED = partitions(*(device(f"p{number}", draws("s", n=1)) for number in range(3)), sets={"s": {"n": 2}})


def compiled(*objects, copies=1):
    """The problem of the first claim, so many times, on the node; and what is in use."""
    claims = [item for item in objects if type(item).__name__ == "ResourceClaim"]
    cluster = Cluster.of([*objects, node(), device_class()])
    expressions = ExpressionEvaluator()
    compiler = Compiler(cluster.classes, ALL, expressions, "strict")
    question = compiler.question(claims * copies)
    view = NodeViews(cluster.pools(ALL), ALL).of(cluster.node(NODE), question.visible)
    return compiler.problem(question, view.shape), AllocatedState(cluster.usage(ALL)).in_use(view)


ASKED = [
    (MEMBERS, claim(want("q", 2), want("r"))),
    (MEMBERS, claim(want("q"), want("r"), constraints=[match("d.x/rail"), distinct("d.x/kind", "q")])),
    (MEMBERS, claim(either("q", option("x", 2), option("y")), constraints=[match("d.x/rail")])),
    (*SLICED, claim(want(count="All"))),
    (SHARES, claim(want(capacity={"mem": "2"}))),
    (MEMBERS, claim(want("q", admin=True), want("r", 2))),
]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_copies_are_what_so_many_claims_compile_to(asked, copies):
    once, _ = compiled(*asked)
    expected, _ = compiled(*asked, copies=copies)
    assert Problem.side_by_side([once] * copies) == expected


@pytest.mark.parametrize("asked", ASKED[:3])
def test_picks_are_told_apart_by_copy(asked):
    once, in_use = compiled(*asked)
    picks = Search(Problem.side_by_side([once] * 2), in_use).run()
    first, second = per_copy(once, picks, 2)
    assert len(first) + len(second) == len(picks)
    assert not {pick.device for pick in first} & {pick.device for pick in second}
    assert {pick.demand for pick in (*first, *second)} <= set(range(len(once.demands)))


def test_picks_of_no_copies():
    once, _ = compiled(*ASKED[0])
    assert per_copy(once, (), 2) == [(), ()]
    assert per_copy(once, (Pick(3, 4),), 2) == [(), (Pick(1, 4),)]


def test_requests_with_admin_access_are_left_out_with_their_part_of_constraints():
    entries = [match("d.x/rail", "q"), match("d.x/rail"), distinct("d.x/kind", "r")]
    once, in_use = compiled(MEMBERS, claim(want("q", admin=True), want("r"), want("s"), constraints=entries))
    left = once.without_admin()
    assert once.has_admin
    assert not left.has_admin
    alone, _ = compiled(
        MEMBERS, claim(want("r"), want("s"), constraints=[match("d.x/rail"), distinct("d.x/kind", "r")])
    )
    renumbered = tuple(
        replace(one, position=place, label=f"constraint #{place}") for place, one in enumerate(left.constraints)
    )
    assert replace(left, constraints=renumbered) == alone
    assert Search(left, in_use).run() is not None


def test_a_claim_of_admin_access_alone_asks_for_nothing_more():
    left = compiled(MEMBERS, claim(want(admin=True)))[0].without_admin()
    assert [one.requests for one in left.claims] == [()]
    assert left.demands == left.constraints == ()


def test_only_shares_that_consume_nothing_are_free():
    # The first share takes the default of a capacity, the second has none to take; the others are whole devices.
    problem, _ = compiled(SHARES, pool(*devices("x"), name="q"), claim(want()))
    assert len(problem.demands[0].candidates) == 3
    (free,) = only_unlimited_devices(problem).demands[0].candidates
    assert free in problem.shared
    assert not problem.demands[0].amounts.get(free)


def test_all_devices_are_free_only_if_each_of_them_is():
    problem, _ = compiled(pool(device("s", multi=True), device("t")), claim(want(count="All")))
    limited = only_unlimited_devices(problem)
    assert Search(problem, InUse()).run() is not None
    assert Search(limited, InUse()).run() is None


def test_restricted_demands_keep_everything_else():
    problem, _ = compiled(MEMBERS, claim(want("q"), want("r")))
    limited = problem.restricted(lambda demand, device: device == demand.index)
    assert [demand.candidates for demand in limited.demands] == [(0,), (1,)]
    back = [replace(demand, candidates=problem.demands[0].candidates) for demand in limited.demands]
    assert tuple(back) == problem.demands


def test_nothing_is_free_among_whole_devices():
    problem, _ = compiled(pool(*devices("a", "b")), claim(want()))
    assert only_unlimited_devices(problem).demands[0].candidates == ()
