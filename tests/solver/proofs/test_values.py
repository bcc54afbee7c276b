"""Values that matchAttribute and distinctAttribute ask for."""

from dataclasses import replace

import pytest
from support.small_problems import (
    DISTINCT,
    MATCH,
    ask,
    either,
    every,
    impossible,
    possible,
    problem,
    proven,
    tie,
    unsearchable,
)

ODD = -1


def groups(number, size):
    """Devices in groups of one value each."""
    return [value for value in range(number) for _ in range(size)]


def test_no_value_has_enough_devices():
    three = tie(MATCH, groups(4, 3))
    assert impossible(problem(12, [ask("a", 4, 12)], ties=[three])) == (
        "matchAttribute",
        "constraint 0, matchAttribute d/a: request a needs 4 devices of one value, no value has more than 3",
    )
    assert possible(problem(12, [ask("a", 3, 12)], ties=[three]))


def test_requests_that_are_tied_compete_for_the_devices_of_one_value():
    asked = [ask(name, 4, 120) for name in "abcd"]
    id_, text = unsearchable(problem(120, asked, ties=[tie(MATCH, groups(8, 15))]))
    assert id_ == "matchAttribute"
    assert text == (
        "constraint 0, matchAttribute d/a: no value can serve requests a, b, c and d; "
        "of the most frequent one, requests a, b, c and d need 16 devices, 15 can be used"
    )
    one_more = [*groups(8, 15), 7]
    asked = [ask(name, 4, 121) for name in "abcd"]
    assert proven(problem(121, asked, ties=[tie(MATCH, one_more)])) is None


def test_the_value_must_serve_each_request_from_its_own_devices():
    values = [0, 0, 1, 1, 1, 0]
    asked = [ask("gpus", 2, 4), ask("nic", 1, [4, 5])]
    assert possible(problem(6, asked, ties=[tie(MATCH, values)]))
    apart = tie(MATCH, [0, 0, 1, 1, 2, 3])
    assert impossible(problem(6, asked, ties=[apart]))[1].endswith("requests gpus and nic have no value in common")


def test_requests_that_are_not_covered_are_free():
    values = tie(MATCH, [0, 0, 1], "a")
    assert possible(problem(3, [ask("a", 2, 3), ask("b", 1, 3)], ties=[values]))
    assert impossible(problem(3, [ask("a", 2, 3), ask("b", 1, [0])], ties=[values]))[0] == "matchAttribute"


def test_lists_must_all_have_a_value_in_common():
    """Overlap in pairs is not enough."""
    circle = tie(MATCH, [(1, 2), (2, 3), (3, 1)], sets=True)
    assert impossible(problem(3, [ask("a", 3, 3)], ties=[circle]))[1].endswith("no value has more than 2")
    assert possible(problem(3, [ask("a", 2, 3)], ties=[circle]))
    assert possible(problem(3, [ask("a", 3, 3)], ties=[tie(MATCH, [(1, 2), (2, 3), (2,)], sets=True)]))


def test_useless_lists_are_looked_at_together():
    common, own = range(47), lambda device: range(47 * (device + 1), 47 * (device + 2))
    asked = [ask(f"r{number}", 1, 64) for number in range(32)]
    for useful in (31, 32):
        values = [common if device >= 64 - useful else own(device) for device in range(64)]
        found = proven(problem(64, asked, ties=[tie(MATCH, values, sets=True)]))
        assert (found is None) is (useful == 32)


def test_a_list_under_scalar_comparison_is_alone():
    alone = tie(MATCH, [ODD, ODD, 1])
    assert impossible(problem(3, [ask("a", 2, 3)], ties=[alone]))[0] == "matchAttribute"
    assert possible(problem(3, [ask("a", 1, [0, 1])], ties=[alone]))


def test_all_devices_need_the_value():
    assert possible(problem(3, [every("a", 2), ask("b", 1, 3)], ties=[tie(MATCH, [1, 1, 1])]))
    assert proven(problem(3, [every("a", 2), ask("b", 1, [2])], ties=[tie(MATCH, [1, 1, 2])])).id == "matchAttribute"


def test_an_alternative_that_is_not_covered_needs_no_value():
    request = either("a", ask("tied", 2, 2), ask("free", 2, 2))
    apart = tie(MATCH, [0, 1], "a/tied")
    assert possible(problem(2, [request], ties=[apart]))
    both = replace(apart, covers=("a",))
    assert impossible(problem(2, [request], ties=[both]))[0] == "matchAttribute"


def test_values_that_differ_only_for_a_free_request_are_not_taken_for_one():
    """Both values have one of the devices of ``a``, but only one of them suits the first alternative of ``b``."""
    tokens = tie(MATCH, [0b11, 0b11, 0b01, 0b10], "a", "b/tied")
    ties = [replace(tokens, sets=True)]
    request = either("b", ask("tied", 1, [3]), ask("other", 1, [9]))
    assert possible(problem(10, [ask("a", 2, 2), request, ask("c", 1, [9])], ties=ties))


def test_two_constraints_need_a_pair_of_values():
    """Either constraint alone can be met."""
    numa, root = tie(MATCH, [0, 0, 1, 1]), tie(MATCH, [0, 1, 0, 1])
    assert impossible(problem(4, [ask("a", 2, 4)], ties=[numa, root])) == (
        "matchAttribute",
        "constraint 0, matchAttribute d/a: no value can serve request a; "
        "of the most frequent one, constraint 1, matchAttribute d/a: "
        "request a needs 2 devices of one value, no value has more than 1",
    )
    assert possible(problem(5, [ask("a", 2, 5)], ties=[tie(MATCH, [0, 0, 1, 1, 1]), tie(MATCH, [0, 1, 0, 1, 1])]))


def test_constraints_are_numbered_within_their_claim():
    ties = [tie(MATCH, [0, 1, 2, 3]), tie(MATCH, [0, 0, 1, 1], claim=1), tie(MATCH, [0, 1, 2, 3], claim=1)]
    asked = problem(4, [ask("a", 1, 4)], [ask("b", 2, 4)], ties=ties)
    assert impossible(asked)[1].startswith("constraint 1, matchAttribute d/a: request b needs 2")


def tied_claims(number, count, values, sets=False):
    size = len(values)
    claims = [[ask("gpus", count, size)] for _ in range(number)]
    return problem(size, *claims, ties=[tie(MATCH, values, claim=claim, sets=sets) for claim in range(number)])


@pytest.mark.parametrize(
    ("room", "count", "values"),
    [
        pytest.param(16, 3, groups(16, 4), id="one-a-value"),
        pytest.param(32, 3, groups(16, 8), id="two-a-value"),
        pytest.param(3, 2, [0, 0, 0, 1, 1, 2, 2, 2], id="remainders"),
    ],
)
def test_a_value_has_room_for_whole_claims_only(room, count, values):
    id_, text = unsearchable(tied_claims(room + 1, count, values))
    assert id_ == "matchAttribute"
    wanted = f"{room + 1} claims of {count} devices with one value of d/a each"
    assert text == f"{wanted}: {len(set(values))} values have room for {room}"
    assert proven(tied_claims(room, count, values)) is None


def test_one_claim_of_many_that_no_value_can_serve():
    """There are as many values as claims, but one claim wants more of its value than there is."""
    size, claims = 60, [[ask("gpus", 1, 60)] for _ in range(20)]
    ties = [tie(MATCH, groups(20, 3), claim=claim) for claim in range(20)]
    assert proven(problem(size, *claims, ties=ties)) is None
    claims[13] = [ask("gpus", 3, size), ask("nic", 1, size)]
    id_, text = unsearchable(problem(size, *claims, ties=ties))
    assert id_ == "matchAttribute"
    assert text.endswith("of the most frequent one, requests gpus and nic need 4 devices, 3 can be used")


def test_33_claims_of_4_on_16_groups_of_8():
    assert unsearchable(tied_claims(33, 4, groups(16, 8)))[0] == "devices"
    assert unsearchable(tied_claims(33, 4, groups(16, 9)))[1].endswith("16 values have room for 32")
    assert possible(tied_claims(32, 4, groups(16, 8)))


def test_a_device_with_a_list_counts_for_each_of_its_values():
    """Two claims of two need a pair with a common value each; three devices have one, the last has none with them."""
    values = [(0,), (0,), (0,), (1,)]
    assert impossible(tied_claims(2, 2, values, sets=True))[1].endswith("2 values have room for 1")
    assert possible(tied_claims(2, 2, [(0,), (0,), (0, 1), (1,)], sets=True))


def test_claims_that_want_different_numbers_are_counted_by_the_least():
    values = groups(3, 3)
    claims = [[ask("gpus", 2, 9)], [ask("gpus", 2, 9)], [ask("gpus", 3, 9)], [ask("gpus", 2, 9)]]
    ties = [tie(MATCH, values, claim=claim) for claim in range(4)]
    text = impossible(problem(9, *claims, ties=ties))[1]
    assert text == "4 claims of 2 devices or more with one value of d/a each: 3 values have room for 3"
    assert possible(problem(9, *claims[:3], ties=ties[:3]))


def test_claims_of_several_requests_need_room_for_each():
    """One group has gpus for two claims and a nic for one."""
    values = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    gpus, nics = [0, 1, 2, 3, 5, 6, 7, 8], [4, 9]
    claims = [[ask("gpus", 2, gpus), ask("nic", 1, [*nics, 3])] for _ in range(3)]
    ties = [tie(MATCH, values, claim=claim) for claim in range(3)]
    assert impossible(problem(10, *claims, ties=ties))[0] == "matchAttribute"
    assert possible(problem(10, *claims[:2], ties=ties[:2]))


def test_claims_that_see_other_values_are_not_counted_together():
    ties = [tie(MATCH, [0, 0, 1, 1]), tie(MATCH, [0, 1, 0, 1], claim=1)]
    assert possible(problem(4, [ask("a", 1, 4)], [ask("b", 2, 4)], ties=ties))
    assert possible(
        problem(
            6,
            [ask("a", 2, 6)],
            [ask("b", 2, 6)],
            ties=[tie(MATCH, [0, 0, 0, 1, 2, 3]), tie(MATCH, [9, 8, 7, 1, 1, 1], claim=1)],
        )
    )


def test_claims_with_admin_access_share_their_values():
    claims = [[ask("look", 2, 2, admin=True)] for _ in range(2)]
    assert possible(problem(2, *claims, ties=[tie(MATCH, [0, 0], claim=claim) for claim in range(2)]))


def test_claims_whose_requests_derive_values_of_their_own_are_not_counted_together():
    """What is apart for the first request of a claim is together for the second."""
    claims = [[ask("a", 1, [0, 1]), ask("b", 1, [2, 3])] for _ in range(2)]
    asked = problem(4, *claims, ties=[tie(MATCH, [0, 1, 2, 3], claim=claim) for claim in range(2)])
    first, second = {0: 0, 1: 0, 2: 5, 3: 6}, dict.fromkeys(range(4), 0)
    derived = [
        replace(constraint, tokens=dict(zip(constraint.tokens, (first, second), strict=True)))
        for constraint in asked.constraints
    ]
    assert possible(replace(asked, constraints=tuple(derived)))


def test_more_picks_than_different_values():
    values = tie(DISTINCT, [0, 0, 1, 1])
    assert impossible(problem(4, [ask("a", 2, 4), ask("b", 1, 4)], ties=[values])) == (
        "distinctAttribute",
        "constraint 0, distinctAttribute d/a: requests a and b need 3 different values, there are 2",
    )
    assert possible(problem(4, [ask("a", 1, 4), ask("b", 1, 4)], ties=[values]))


def test_requests_compete_for_values():
    """Three values in all, but two of the requests find only one of them."""
    values = tie(DISTINCT, [0, 0, 0, 1, 2])
    asked = [ask("a", 1, [0, 1]), ask("b", 1, [1, 2]), ask("c", 1, 5)]
    assert impossible(problem(5, asked, ties=[values]))[1].endswith(
        "requests a and b need 2 different values, there are 1"
    )


def test_lists_must_be_disjoint():
    values = tie(DISTINCT, [(0, 1), (1, 2), (0, 2)], sets=True)
    assert impossible(problem(3, [ask("a", 2, 3)], ties=[values]))[1].endswith(
        "request a needs 4 different values, there are 3"
    )
    assert possible(problem(3, [ask("a", 2, 3)], ties=[tie(DISTINCT, [(0, 1), (1, 2), (2, 3)], sets=True)]))


def test_of_lists_with_a_common_value_only_one_is_taken():
    """There are values enough for two, but no two lists without a common one."""
    values = tie(DISTINCT, [(0, 1, 2), (0, 3, 4), (0, 5)], sets=True)
    assert impossible(problem(3, [ask("a", 2, 3)], ties=[values]))[1].endswith(
        "request a needs 2 disjoint lists, there are 1"
    )
    assert possible(problem(3, [ask("a", 2, 3)], ties=[tie(DISTINCT, [(0, 1, 2), (0, 3, 4), (5,)], sets=True)]))


def test_one_list_may_come_first_under_scalar_comparison():
    assert possible(problem(3, [ask("a", 2, 3)], ties=[tie(DISTINCT, [ODD, 0, 0])]))
    assert impossible(problem(3, [ask("a", 3, 3)], ties=[tie(DISTINCT, [ODD, ODD, 0])]))[0] == "distinctAttribute"


def test_an_alternative_that_is_not_covered_needs_no_value_of_its_own():
    request = either("b", ask("tied", 1, 2), ask("free", 1, 2))
    assert possible(problem(2, [ask("a", 1, 2), request], ties=[tie(DISTINCT, [0, 0], "a", "b/tied")]))
    assert impossible(problem(2, [ask("a", 1, 2), request], ties=[tie(DISTINCT, [0, 0])]))[0] == "distinctAttribute"


def test_the_same_device_twice_is_the_same_value_twice():
    asked = [ask("a", 1, 1), ask("b", 1, 1)]
    assert impossible(problem(1, asked, ties=[tie(DISTINCT, [0])], shared=frozenset({0})))[0] == "distinctAttribute"
    assert possible(problem(1, asked, ties=[tie(MATCH, [0])], shared=frozenset({0})))
