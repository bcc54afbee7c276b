"""The search: order, steps, alternatives, the cap, and when it gives up (section 14)."""

import pytest
from support.objects import (
    attempt,
    claim,
    device,
    device_class,
    devices,
    distinct,
    either,
    fails,
    fatal,
    match,
    names,
    option,
    picks,
    pool,
    want,
)

from drasat.models.results.common import Status

IS_X, IS_Y = 'device.attributes["d.x"].kind == "X"', 'device.attributes["d.x"].kind == "Y"'
XYY = pool(device("x", kind="X"), device("y1", kind="Y"), device("y2", kind="Y"))
STABLE = dict.fromkeys(
    (
        "DRACompatibilityGroups",
        "DRAListTypeAttributes",
        "DRAOptionalNodeOperations",
        "DRADerivedAttributes",
        "DRADeviceBindingConditions",
        "DRAConsumableCapacity",
        "DRAFractionalCapacityRange",
    ),
    False,
)
STABLE["DRADeviceCompatibilityGroups"] = STABLE.pop("DRACompatibilityGroups")


def many(count, prefix="v", **fields):
    return devices(*(f"{prefix}{number:02}" for number in range(count)), **fields)


PROBLEMS = {
    "5 of 4": (pool(*many(4)), claim(want(count=5))),
    "2 generic and an X": (XYY, claim(want("a", 2), want("b", 1, IS_X))),
    "two lists": (
        XYY,
        claim(either("a", option("s", 3, IS_Y), option("t", 2)), either("b", option("s", 2), option("t", 1, IS_X))),
    ),
    "32 or 16, twice": (pool(*many(64)), claim(*(either(name, option("s", 32), option("t", 16)) for name in "ab"))),
    "all 31 or 2": (
        pool(*many(31, "a", kind="A"), *many(2, "b", kind="B")),
        claim(
            either(
                "a",
                option("s", "All", 'device.attributes["d.x"].kind == "A"'),
                option("t", 2, 'device.attributes["d.x"].kind == "A"'),
            ),
            want("b", 2, 'device.attributes["d.x"].kind == "B"'),
        ),
    ),
}


@pytest.mark.parametrize(
    ("problem", "steps"),
    [("5 of 4", 16), ("2 generic and an X", 12), ("two lists", 26), ("32 or 16, twice", 75), ("all 31 or 2", 42)],
    ids=lambda value: str(value).replace(" ", "-"),
)
def test_steps_of_combinations_are_those_published(problem, steps):
    """SRCH-2, SRCH-11: the table of section 14; any pruning or look-ahead would change the numbers."""
    assert attempt(*PROBLEMS[problem]).steps == steps


@pytest.mark.parametrize(
    ("problem", "steps"),
    [("5 of 4", 65), ("2 generic and an X", 14), ("two lists", 32)],
    ids=lambda value: str(value).replace(" ", "-"),
)
def test_the_stable_variant_walks_permutations(problem, steps):
    """SRCH-2: each further device is looked for from the start; the first solution is the same."""
    permuted = attempt(*PROBLEMS[problem], gates=STABLE)
    assert permuted.steps == steps
    assert sorted(permuted.picked) == sorted(attempt(*PROBLEMS[problem]).picked)


@pytest.mark.parametrize(("n", "k"), [(6, 3), (8, 4), (10, 2)])
def test_an_unsatisfiable_end_costs_all_combinations(n, k):
    """SRCH-11: sum of C(n, j) for j <= k, and C(n, k) for the request behind."""
    from math import comb

    answer = attempt(pool(*many(n)), claim(want("a", k), want("b", 1, "false")))
    assert answer.status is Status.UNALLOCATABLE
    assert answer.steps == sum(comb(n, j) for j in range(k + 1)) + comb(n, k)


def test_claims_requests_and_devices_are_taken_in_order():
    """SRCH-1."""
    found = picks(pool(*many(4)), claim(want("a"), want("b", 2), name="c1"), claim(want("a"), name="c2"))
    assert found == [("a", "v00"), ("b", "v01"), ("b", "v02"), ("a", "v03")]


def test_a_failing_end_undoes_earlier_choices_across_requests_and_claims():
    """SRCH-3."""
    found = picks(XYY, claim(want("a", 2), name="c1"), claim(want("b", 1, IS_X), name="c2"))
    assert found == [("a", "y1"), ("a", "y2"), ("b", "x")]


def test_a_later_request_pushes_an_earlier_one_to_a_lower_alternative():
    """SRCH-4: the first alternative with which everything behind can be solved."""
    answer = picks(pool(*many(3)), claim(either("a", option("two", 2), option("one", 1)), want("b", 2)))
    assert answer == [("a/one", "v00"), ("b", "v01"), ("b", "v02")]


def test_an_earlier_request_keeps_its_better_alternative():
    """SRCH-4: the later request makes do, although giving up one preference could save it another."""
    lists = [either(name, option("two", 2), option("one", 1)) for name in "ab"]
    assert [request for request, _ in picks(pool(*many(3)), claim(*lists))] == ["a/two", "a/two", "b/one"]


def test_every_alternative_starts_with_all_candidates():
    """SRCH-5."""
    assert picks(XYY, claim(either("a", option("s", 3, IS_Y), option("t", 1)))) == [("a/t", "x")]


def test_all_of_nothing_fails():
    """SRCH-6."""
    assert fails(pool(*many(2)), claim(want("a", "All", "false")))


def test_all_of_nothing_is_followed_by_the_next_alternative():
    """SRCH-6."""
    assert names(pool(*many(2)), claim(either("a", option("s", "All", "false"), option("t")))) == ["v00"]


def test_all_gives_up_at_the_first_device_that_cannot_be_taken():
    """SRCH-6: a device picked before is listed and cannot be had."""
    assert fails(pool(*many(2)), claim(want("a"), want("b", "All")))


def test_all_has_only_one_combination():
    """SRCH-6: the request before may choose otherwise, All may not."""
    found = picks(XYY, claim(want("a"), want("b", "All", IS_X)))
    assert found == [("a", "y1"), ("b", "x")]


def test_a_constraint_against_all_aborts_everything():
    """SRCH-7: although another alternative would do."""
    text = fatal(XYY, claim(either("a", option("s", "All"), option("t")), constraints=[match("d.x/kind")]))
    reason = "because a claim constraint would not be satisfied"
    assert text == f"claim ns/c, request s: cannot add device d.x/p/y1 {reason}"


def test_a_constraint_against_all_aborts_although_an_earlier_choice_would_avoid_it():
    """SRCH-7."""
    asked = claim(want("a"), want("b", "All", IS_Y), constraints=[match("d.x/kind")])
    assert "cannot add device d.x/p/y1" in fatal(XYY, asked)


@pytest.mark.parametrize(("first", "chosen"), [((30, 1), "t"), ((33, 2), "t"), ((16, 1), "s")])
def test_the_cap_sends_a_list_request_to_its_next_alternative(first, chosen):
    """SRCH-8: 32 devices a claim, across its requests."""
    asked = claim(either("a", option("s", first[0]), option("t", first[1])), want("b", 16))
    assert picks(pool(*many(48)), asked)[0][0] == f"a/{chosen}"


def test_the_cap_passes_through_exact_requests_without_other_choices():
    """SRCH-8: no other device helps, so that 20 of 40 do not cost their combinations."""
    asked = claim(either("a", option("s", 13), option("t", 1)), want("b", 20))
    assert attempt(pool(*many(40)), asked).steps < 50


def test_the_cap_is_an_ordinary_failure_if_an_alternative_failed_otherwise():
    """SRCH-8: then the request before tries on: its combinations are walked."""
    lists = either("b", option("s", 31), option("t", 1, "false"))
    answer = attempt(pool(*many(8)), claim(want("a", 2), lists))
    assert answer.status is Status.UNALLOCATABLE
    assert answer.steps == 1 + 8 + 28 * 4


def test_the_cap_of_one_claim_means_nothing_to_another():
    """SRCH-8: it ends at the boundary of the claim."""
    found = picks(pool(*many(40)), claim(want("a", 20), name="c1"), claim(want("a", 20), name="c2"))
    assert len(found) == 40


def test_nothing_asked_is_done_at_once():
    """SRCH-9."""
    answer = attempt(pool(*many(2)))
    assert (answer.status, answer.allocations, answer.steps) == (Status.ALLOCATED, (), 1)


def test_a_passed_deadline_ends_the_search():
    """SRCH-10."""
    answer = attempt(pool(*many(30)), claim(want("a", 31)), limit=0)
    assert (answer.status, answer.rule) == (Status.UNKNOWN, "timeLimit")
    assert answer.message.startswith("filter operation aborted")


def test_what_fits_is_found_whatever_stands_in_the_way():
    """SRCH-12: the only solution is the last of the combinations."""
    members = [device(f"v{number}", group=number // 3, slot=number % 3) for number in range(9)]
    asked = claim(
        want("a", 3, 'device.attributes["d.x"].group == 2 || device.attributes["d.x"].slot != 2'),
        constraints=[match("d.x/group"), distinct("d.x/slot")],
    )
    assert names(pool(*members), asked) == ["v6", "v7", "v8"]


def test_the_search_needs_no_recursion():
    """SRCH-3: a thousand devices deep, many times Python's own limit."""
    asked = [claim(want("a", 32), name=f"c{number}") for number in range(40)]
    pools = [pool(*many(64, f"p{number}-"), name=f"p{number:02}") for number in range(20)]
    assert len(names(*pools, *asked)) == 1280


def test_a_class_is_looked_up_by_the_alternative_too():
    """SRCH-5: each alternative has its own class."""
    only_x = device_class("only-x", IS_X)
    asked = claim(either("a", option("s", 2, cls="only-x"), option("t", 1, cls="only-x")))
    assert picks(XYY, only_x, asked) == [("a/t", "x")]
