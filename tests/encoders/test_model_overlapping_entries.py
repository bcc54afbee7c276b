"""Several entries about the same requests: none may be counted twice; and what proofs leave to the model."""

from random import Random

import pytest
from support.modelling import question
from support.objects import DRIVER, claim, device, distinct, either, match, option, pool, want

from drasat.models.results.common import Status
from drasat.problem.filters import usable_devices
from drasat.problem.messages import DeadlineExceededError
from drasat.solver.engines.search import Search
from drasat.solver.proofs import find_witness

ATTRIBUTES = ("x", "y", "many")
KINDS = (match, match, distinct)


def test_a_claim_with_an_entry_twice_is_one_claim():
    """CON-4: two claims of one device each, on three values."""
    entries = [match(f"{DRIVER}/x")] * 2
    supply = pool(*(device(f"d{number}", x=number) for number in range(3)))
    asked = question(supply, *(claim(want(), name=name, constraints=entries) for name in "ab"))
    assert find_witness(asked.problem, asked.in_use, usable_devices(asked.problem, asked.in_use)) is None
    assert asked.decision().status is Status.ALLOCATED


def member(rng):
    """Few devices with few values, and claims whose entries overlap, are repeated, and name alternatives."""
    devices = [
        device(
            f"d{number}",
            multi=rng.random() < 0.2 or None,
            x=rng.randrange(3),
            y=rng.randrange(2),
            many=tuple(sorted(rng.sample(range(4), rng.randint(1, 3)))),
        )
        for number in range(rng.randint(2, 6))
    ]
    return [pool(*devices), *(_claim(rng, f"c{number}") for number in range(rng.randint(1, 3)))]


def _claim(rng, name):
    requests = [_request(rng, f"r{number}") for number in range(rng.randint(1, 2))]
    names = [request.name for request in requests]
    names += [f"{one.name}/{sub.name}" for one in requests for sub in one.first_available or ()]
    entries = [
        rng.choice(KINDS)(f"{DRIVER}/{rng.choice(ATTRIBUTES)}", *rng.sample(names, rng.randint(0, len(names))))
        for _ in range(rng.randint(1, 4))
    ]
    return claim(*requests, name=name, constraints=[*entries, *rng.sample(entries, rng.randint(0, len(entries)))])


def _request(rng, name):
    if rng.random() < 0.3:
        return either(name, option("first", rng.randint(1, 3)), option("second", rng.randint(1, 2)))
    return want(name, rng.choice((1, 1, 2)))


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_proofs_and_model_agree_with_the_search(first):
    """CON-1 to CON-7, DEV-13, SRCH-12."""
    answers = set()
    for seed in range(first, first + 100):
        asked = question(*member(Random(f"overlapping/{seed}")))
        possible = Search(asked.problem, asked.in_use).run() is not None
        found = find_witness(asked.problem, asked.in_use, usable_devices(asked.problem, asked.in_use))
        assert not (possible and found), (seed, found)
        assert (asked.taken() is not None) == (asked.taken(together=False) is not None) == possible, seed
        answers.add(possible)
    assert answers == {True, False}


def test_a_passed_deadline_ends_the_proofs():
    asked = question(pool(device("a", x=1)), claim(want()))
    with pytest.raises(DeadlineExceededError):
        find_witness(asked.problem, asked.in_use, usable_devices(asked.problem, asked.in_use), deadline=0.0)


def test_very_many_lists_are_left_to_the_model():
    """CON-7: that lists exclude each other is proven by putting them into clusters, which takes the square of them."""
    for size, proof in ((3, "distinctAttribute"), (513, None)):
        supply = pool(*(device(f"d{number}", many=(9, 10 + number)) for number in range(size)))
        asked = question(supply, claim(want(count=2), constraints=[distinct(f"{DRIVER}/many")]))
        found = find_witness(asked.problem, asked.in_use, usable_devices(asked.problem, asked.in_use))
        assert (found and found.id) == proof
    assert asked.decision().status is Status.UNALLOCATABLE
