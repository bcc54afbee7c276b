"""What is merged comes apart again: equal requests, equal claims, and what must stay alone."""

from support.modelling import fits, question
from support.objects import DRIVER, claim, device, devices, distinct, either, match, option, pool, want

A = f"{DRIVER}/a"


def merged_requests(*objects):
    """How many requests the model speaks of."""
    return len(question(*objects).model().merged.requests)


def test_an_alternative_takes_a_shareable_device_once_for_each_request_that_it_serves():
    """DEV-13: a list that goes to its second alternative leaves no second share to the one that does not."""
    supply = pool(device("s", multi=True, kind=1), device("t", kind=2), device("u", kind=3))
    kind = "device.attributes['d.x'].kind {}".format
    lists = [either(name, option("two", 2, kind("< 3")), option("one", 1, kind("== 3"))) for name in ("r1", "r2")]
    blocking = want("r", select=kind("== 2"))
    assert merged_requests(supply, claim(*lists)) == 1
    assert fits(supply, claim(*lists))
    assert not fits(supply, claim(*lists, blocking))
    assert not fits(supply, *(claim(one, name=one.name) for one in lists), claim(blocking))


def test_an_entry_that_covers_no_request_ties_nothing():
    """CON-1: equal claims with it are still served."""
    for entry in (match(A, "nobody"), distinct(A, "nobody")):
        asking = [claim(want(), name=name, constraints=[entry]) for name in ("c1", "c2")]
        assert fits(pool(*devices("a", "b")), *asking)
        assert merged_requests(pool(*devices("a", "b")), *asking) == 1


def test_claims_with_two_entries_stay_apart():
    """Counts by value say nothing about pairs of values."""
    supply = pool(*(device(f"d{n}", a=n % 2, b=n // 2) for n in range(4)))
    asking = [claim(want(count=2), name=name, constraints=[match(A), match(f"{DRIVER}/b")]) for name in ("c1", "c2")]
    assert merged_requests(supply, *asking) == 2
    assert not fits(supply, *asking)


def test_distinct_over_two_requests_keeps_claims_apart():
    """CON-11: values of one request are in the way of the other's."""
    supply = pool(*(device(f"d{n}", a=n // 2) for n in range(4)))
    asking = [claim(want("r"), want("s"), name=name, constraints=[distinct(A)]) for name in ("c1", "c2")]
    assert merged_requests(supply, *asking) > 1
    assert fits(supply, *asking)


def test_another_list_between_two_equal_ones_keeps_them_apart():
    """SRCH-4: earlier lists are preferred, so that the one in the middle has its say before the last."""
    supply = pool(*devices("a", "b", "c"))
    same = [either(name, option("two", 2), option("one", 1)) for name in ("r", "t")]
    other = either("s", option("one", 1), option("any", 1, "true"))
    assert merged_requests(supply, claim(same[0], other, same[1])) == 3
    assert merged_requests(supply, claim(*same, other)) == 2


def test_requests_for_different_amounts_stay_apart():
    supply = pool(device("s", multi=True, capacity={"memory": "10"}))
    asking = [want(f"r{amount}", capacity={"memory": str(amount)}) for amount in (4, 6)]
    assert merged_requests(supply, claim(*asking)) == 2
    assert fits(supply, claim(*asking))
    assert not fits(supply, claim(*asking, want("more", capacity={"memory": "1"})))
