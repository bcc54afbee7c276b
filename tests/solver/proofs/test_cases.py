"""Proofs by cases, and what all proofs have in common."""

import pytest
from support.small_problems import MATCH, ask, either, impossible, left, partitions, possible, problem, proven, tie

from drasat.solver.proofs.amounts import overdrawn_counters
from drasat.solver.proofs.counting import Tally


def test_each_alternative_is_refuted_for_its_own_reason():
    """One needs a value that is not there, the other a counter."""
    devices = partitions((0, [4]), (0, [4]), (1, [4]), (1, [4]))
    request = either("a", ask("pair", 2, [0, 2]), ask("near", 2, [0, 1]))
    ties = [tie(MATCH, [0, 0, 1, 1], "a/pair")]
    assert impossible(problem(4, [request], ties=ties, counters=devices), left(4, 4)) == (
        "firstAvailable",
        "request a: no alternative is possible"
        "; with pair, constraint 0, matchAttribute d/a: request a/pair needs 2 devices of one value, "
        "no value has more than 1"
        "; with near, counter memory of counter set gpu-0: request a/near needs at least 8, 4 left",
    )
    assert possible(problem(4, [request], ties=ties, counters=devices), left(8, 4))


def test_alternatives_that_fail_alike_keep_the_id():
    request = either("a", ask("two", 2, [0, 1]), ask("both", 2, [1, 0]))
    asked = problem(3, [request], [ask("b", 2, [1, 2])])
    assert impossible(asked)[0] == "devices"


def test_alternatives_are_combined():
    """Every alternative goes with some of the other request's, but the counts of no pair do."""
    first = either("a", ask("left", 1, [0]), ask("right", 1, [1]))
    second = either("b", ask("left", 1, [0]), ask("right", 1, [1]))
    assert possible(problem(2, [first, second]))
    third = either("c", ask("left", 1, [0]), ask("right", 1, [1]))
    assert impossible(problem(2, [first, second, third]))[0] == "devices"


def test_values_and_alternatives_are_combined():
    """With the large alternative no value has room, with the small one another request has none."""
    request = either("a", ask("large", 2, 4), ask("small", 1, [0]))
    other = ask("b", 1, [2, 3]), ask("c", 1, [2, 3])
    id_, text = impossible(problem(4, [request, *other], ties=[tie(MATCH, [0, 0, 1, 1])]))
    assert id_ == "matchAttribute"
    assert "no value can serve requests a, b and c" in text
    assert possible(problem(4, [request, *other], ties=[tie(MATCH, [1, 0, 1, 1])]))


def test_too_many_cases_leave_the_question_open():
    """Each constraint has many values, and every pair of them fails: that is not a matter of counting."""
    size = 144
    ties = [tie(MATCH, [device // 12 for device in range(size)]), tie(MATCH, [device % 12 for device in range(size)])]
    assert proven(problem(size, [ask("a", 2, size)], ties=ties)) is None


@pytest.mark.parametrize("shared", [frozenset(), frozenset(range(8))])
def test_no_proof_speaks_against_an_easy_claim(shared):
    assert possible(problem(8, [ask("gpu", 1, 8)], shared=shared))


def test_cases_have_in_common_what_is_made_of_the_question():
    """A smaller case is no smaller question: what is left of counters stays, what draws from them changes."""
    asked = problem(4, [ask("a", 2, 4)], counters=partitions(*[(0, [4])] * 4))
    whole = Tally.of(asked, left(8), ((0, 1, 2, 3),))
    made = [case.once("name", lambda tally: [tally.needs]) for case in (whole, whole.with_masks({0: 3}), whole)]
    assert all(one is made[0] for one in made)
    assert overdrawn_counters(whole) is None
    assert crowded(whole.with_masks({0: 1}))
    assert not crowded(whole.with_masks({0: 3}))


def crowded(case):
    return overdrawn_counters(case) is not None
