"""matchAttribute and distinctAttribute, over scalars and lists, and what merging claims makes of them."""

from itertools import groupby
from random import Random

import pytest
from support.modelling import fits, picked, question
from support.objects import DRIVER, attribute, claim, device, distinct, either, match, option, pool, want

A = f"{DRIVER}/a"
SCALARS = {"DRAListTypeAttributes": False}


def valued(*values, **fields):
    """A pool with a device for each value of attribute ``a``; None: it has none."""
    return pool(
        *(
            device(f"d{number:02}", **fields, **({} if value is None else {"a": value}))
            for number, value in enumerate(values)
        )
    )


@pytest.mark.parametrize("gates", [None, SCALARS], ids=["lists", "scalars"])
@pytest.mark.parametrize(
    ("values", "count", "possible"),
    [
        ([1, 2, 1, 2, 2], 3, True),
        ([1, 2, 1, 2, 3], 3, False),
        ([1, "1", True], 2, False),
        ([None, None, 1], 2, False),
        ([None, None, 1], 1, True),
    ],
)
def test_matching_devices_have_one_value(values, count, possible, gates):
    """CON-3, CON-4."""
    assert fits(valued(*values), claim(want(count=count), constraints=[match(A)]), gates=gates) == possible


@pytest.mark.parametrize("gates", [None, SCALARS], ids=["lists", "scalars"])
@pytest.mark.parametrize(
    ("values", "count", "possible"), [([1, 2, 1], 2, True), ([1, 2, 1], 3, False), ([1, "1", True, None], 3, True)]
)
def test_distinct_devices_have_no_value_twice(values, count, possible, gates):
    """CON-5, CON-6."""
    assert fits(valued(*values), claim(want(count=count), constraints=[distinct(A)]), gates=gates) == possible


@pytest.mark.parametrize(
    ("values", "possible"),
    [([(1, 2), (2, 3), (3, 1)], False), ([(1, 2), (2, 3), (2, 4)], True), ([(1, 2), 2, 2], True)],
)
def test_lists_match_by_a_member_of_all(values, possible):
    """CON-7: that they overlap in pairs is not enough."""
    assert fits(valued(*values), claim(want(count=3), constraints=[match(A)])) == possible


@pytest.mark.parametrize("seed", range(20))
def test_lists_of_few_among_many_values_match_as_sets_do(seed):
    """CON-7: equal devices are one lot, of which several may be taken."""
    rng = Random(seed)
    values = [tuple(rng.sample(range(7), rng.randint(1, 2))) for _ in range(5)] * 2
    most = max(sum(member in value for value in values) for member in range(7))
    for count in (most, most + 1):
        given = claim(want("r", count - 1), either("s", option("o", 1), option("p", 2)), constraints=[match(A)])
        assert fits(valued(*values), given) == (count == most)


@pytest.mark.parametrize(("values", "possible"), [([(1, 2), (3, 4), 5], True), ([(1, 2), (3, 4), 2], False)])
def test_lists_are_distinct_if_they_are_disjoint(values, possible):
    """CON-7."""
    assert fits(valued(*values), claim(want(count=3), constraints=[distinct(A)])) == possible


def test_a_list_among_scalars_matches_nothing_else():
    """CON-9: alone it is accepted."""
    supply = valued((1, 2), (1, 2))
    assert fits(supply, claim(want(), constraints=[match(A)]), gates=SCALARS)
    assert not fits(supply, claim(want(count=2), constraints=[match(A)]), gates=SCALARS)


@pytest.mark.parametrize(("values", "possible"), [([(1, 2), 3, 4], True), ([3, (1, 2), 4], False)])
def test_a_list_among_scalars_is_distinct_as_the_first_only(values, possible):
    """CON-9: order decides."""
    assert fits(valued(*values), claim(want(count=3), constraints=[distinct(A)]), gates=SCALARS) == possible


def test_a_constraint_reaches_over_requests():
    """CON-11."""
    supply = valued(1, 1, 1, 2, 2, 2, 2)
    asking = [want("r", 3), want("s", 1)]
    assert fits(supply, claim(*asking, constraints=[match(A)]))
    assert not fits(supply, claim(*asking, want("t", 1), constraints=[match(A)]))
    assert fits(supply, claim(*asking, want("t", 1), constraints=[match(A, "r", "s")]))


def test_a_constraint_may_name_one_alternative():
    """CON-1."""
    supply = valued(1, 2, 3)
    lists = either("r", option("same", 2), option("any", 2))
    named = claim(lists, constraints=[match(A, "r/same")])
    assert {label for label, _ in picked(supply, named)} == {"r/any"}
    assert not fits(supply, claim(lists, constraints=[match(A, "r")]))


def test_two_constraints_need_devices_that_satisfy_both():
    supply = pool(device("a", a=1, b=1), device("b", a=1, b=2), device("c", a=2, b=2), device("d", a=1, b=1))
    both = [match(A), distinct(f"{DRIVER}/b")]
    assert {name for _, name in picked(supply, claim(want(count=2), constraints=both))} > {"b"}
    assert not fits(supply, claim(want(count=3), constraints=both))


@pytest.mark.parametrize(("claims", "possible"), [(4, True), (5, False)])
def test_equal_claims_are_counted_by_value(claims, possible):
    """Each of 2 values has room for two claims of 2 of its 5 devices."""
    supply = valued(*[1] * 5, *[2] * 5)
    asking = [claim(want(count=2), name=f"c{number}", constraints=[match(A)]) for number in range(claims)]
    assert fits(supply, *asking, gates=SCALARS) == possible


def test_merged_claims_get_one_value_each():
    supply = valued(*[1, 2] * 8)
    requests = [want("r", 2), want("s", 1), want("t", 1)]
    asking = [claim(*requests, name=f"c{number}", constraints=[match(A)]) for number in range(4)]
    asked = question(supply, *asking, gates=SCALARS)
    assert len(asked.model().merged.requests) == 2
    assert _values_by_claim(asked) in ([{0}, {0}, {1}, {1}], [{1}, {1}, {0}, {0}])


def test_merged_claims_with_distinct_values_get_none_twice():
    supply = valued(*[1] * 3, *[2] * 3, 3, 4)
    asking = [claim(want(count=2), name=f"c{number}", constraints=[distinct(A)]) for number in range(4)]
    asked = question(supply, *asking, gates=SCALARS)
    assert len(asked.model().merged.requests) == 1
    assert [len(values) for values in _values_by_claim(asked)] == [2] * 4


def _values_by_claim(asked):
    problem = asked.problem
    pairs = [(problem.demands[demand].claim, demand, device) for demand, device in asked.taken()]
    tokens = [
        (number, problem.constraints[0].tokens.get(demand, problem.constraints[number].tokens.get(demand))[device])
        for number, demand, device in pairs
    ]
    return [{token for _, token in group} for _, group in groupby(tokens, key=lambda pair: pair[0])]


def test_lists_of_one_value_are_as_good_as_scalars():
    supply = valued(*[(1,), 2] * 8)
    asking = [claim(want(count=2), name=f"c{number}", constraints=[match(A)]) for number in range(8)]
    assert len(question(supply, *asking).model().merged.requests) == 1
    assert fits(supply, *asking)


def test_claims_with_lists_are_not_merged():
    """Three devices [a] and one [b] have room for one claim of two only, whatever the sum says."""
    supply = valued((1, 9), (1, 8), (1, 7), (2, 6))
    asking = [claim(want(count=2), name=f"c{number}", constraints=[match(A)]) for number in range(2)]
    assert not fits(supply, *asking)


def test_a_shareable_device_serves_each_claim_of_its_value_once():
    supply = valued(1, 1, multi=True)
    asking = [claim(want(count=2), name=f"c{number}", constraints=[match(A)]) for number in range(3)]
    assert fits(supply, *asking, gates=SCALARS)
    assert not fits(supply, claim(want(count=3), constraints=[match(A)]), gates=SCALARS)


def test_a_shareable_device_is_not_distinct_from_itself():
    """CON-6: for a second request of the claim it comes with the same value."""
    supply = valued(1, multi=True)
    assert not fits(supply, claim(want("r"), want("s"), constraints=[distinct(A)]))
    assert fits(supply, claim(want("r"), want("s"), constraints=[match(A)]))


def test_values_that_cannot_serve_a_request_have_no_literal():
    """Of 32 values three devices wide none is worth a literal but the one of 4."""
    values = [number for number in range(32) for _ in range(3)] + [99] * 4
    model = question(valued(*values), claim(want(count=4), constraints=[match(A)])).model()
    witnesses = model.rows.variables - len(model.takes)
    assert witnesses == 1


def test_an_attribute_without_value_cannot_be_compared():
    """CON-8."""
    supply = pool(device("a", attributes={"a": attribute(())}))
    assert not fits(supply, claim(want(), constraints=[match(A)]))
