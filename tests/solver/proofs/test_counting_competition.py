"""Requests that compete for dedicated devices: Hall's condition."""

from itertools import combinations
from random import Random

import pytest
from support.small_problems import InUse, ask, either, impossible, possible, problem, proven, unsearchable

from drasat.solver.proofs.counting import deficient_sets, union_of_masks


def singles(count, size):
    return problem(size, [ask(f"r{number}", 1, size) for number in range(count)])


@pytest.mark.parametrize("size", [2, 5, 12, 31])
def test_one_more_request_than_devices(size):
    id_, text = unsearchable(singles(size + 1, size))
    assert id_ == "devices"
    assert text.endswith(f"need {size + 1} devices, {size} can be used")
    assert possible(singles(size, size))


def test_requests_are_named_while_they_are_few():
    pair = problem(4, [ask("a", 1, [0]), ask("b", 1, [0]), ask("c", 1, 4)])
    assert impossible(pair)[1] == "requests a and b need 2 devices, 1 can be used"
    assert unsearchable(singles(7, 6))[1] == "requests r0, r1, r2 and 4 more need 7 devices, 6 can be used"


def test_claims_compete_as_requests_do():
    claims = [[ask("gpus", 4, 128)] for _ in range(33)]
    assert unsearchable(problem(128, *claims))[1] == "33 requests of 33 claims need 132 devices, 128 can be used"
    assert possible(problem(128, *claims[:32]))


def test_the_deficient_set_is_found_among_overlapping_ones():
    """No two of the requests are in each other's way, the four are."""
    choices = [(0, 1), (1, 2), (0, 2), (0, 1, 2)]
    asked = problem(6, [ask(f"r{number}", 1, devices) for number, devices in enumerate(choices)])
    assert impossible(asked)[1] == "requests r0, r1, r2 and r3 need 4 devices, 3 can be used"
    assert possible(problem(6, [ask(f"r{number}", 1, devices) for number, devices in enumerate(choices[:3])]))


def test_earlier_choices_are_changed_for_later_requests():
    assert possible(problem(4, [ask("a", 2, 4), ask("b", 1, [0]), ask("c", 1, [1])]))


def test_a_list_asks_for_its_least_alternative():
    first = either("a", ask("two", 2, [0, 1]), ask("one", 1, [1]))
    assert possible(problem(2, [first, ask("b", 1, 2)]))
    assert impossible(problem(2, [first, ask("b", 2, 2)]))[1] == "requests a and b need 3 devices, 2 can be used"


def test_shared_devices_serve_everyone_once():
    shared = frozenset({0})
    asked = problem(2, [ask("a", 2, 2)], [ask("b", 2, 2)], shared=shared)
    assert impossible(asked)[1] == "2 requests of 2 claims need 2 devices of their own, 1 can be used"
    assert possible(problem(2, [ask("a", 2, 2)], [ask("b", 1, 2)], shared=shared))
    assert possible(problem(1, *[[ask("a", 1, 1)] for _ in range(9)], shared=shared))


def test_admin_access_competes_within_its_claim_only():
    admin, normal = ask("a", 1, 1, admin=True), ask("b", 1, 1)
    assert impossible(problem(1, [admin, normal]))[0] == "devices"
    assert possible(problem(1, [normal], [admin]))
    assert possible(problem(1, [admin], [admin]))
    # Here the order decides, which is not counted.
    assert proven(problem(1, [admin], [normal])) is None


def test_devices_in_use_are_not_there_for_anyone():
    assert impossible(singles(2, 3), InUse(dedicated=frozenset({0, 1})))[0] == "devices"


def fits(wanted):
    """Hall's condition, set by set."""
    masks = list(wanted)
    return all(
        sum(wanted[mask] for mask in chosen) <= union_of_masks(chosen).bit_count()
        for size in range(1, len(masks) + 1)
        for chosen in combinations(masks, size)
    )


def test_deficient_sets_are_found_exactly_where_there_are_any():
    random, failing = Random(1), 0
    for _ in range(400):
        size = random.randint(1, 9)
        wanted = {random.randrange(1, 1 << size): random.randint(1, 3) for _ in range(random.randint(1, 7))}
        sets = deficient_sets(wanted)
        assert bool(sets) is not fits(wanted)
        assert not sets or sum(wanted[mask] for mask in sets) > union_of_masks(sets).bit_count()
        failing += bool(sets)
    assert 100 < failing < 350
