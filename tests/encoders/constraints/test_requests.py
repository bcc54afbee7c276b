"""exactCount, all, firstAvailable, sharing and the limit of results."""

import pytest
from support.modelling import fits, picked, question
from support.objects import DRIVER, after, claim, device, devices, draws, either, option, partitions, pool, want

GPUS = pool(*devices("a", "b", "c", "d"))


@pytest.mark.parametrize(("count", "possible"), [(1, True), (4, True), (5, False)])
def test_a_request_gets_as_many_devices_as_it_counts(count, possible):
    assert fits(GPUS, claim(want(count=count))) == possible
    if possible:
        assert len(set(picked(GPUS, claim(want(count=count))))) == count


@pytest.mark.parametrize(("counts", "possible"), [((2, 2), True), ((2, 3), False), ((4,), True), ((1, 1, 1, 2), False)])
def test_a_dedicated_device_serves_one_request_of_all_claims(counts, possible):
    """DEV-1."""
    one = claim(*(want(f"r{number}", count) for number, count in enumerate(counts)))
    several = [claim(want(count=count), name=f"c{number}") for number, count in enumerate(counts)]
    assert fits(GPUS, one) == possible
    assert fits(GPUS, *several) == possible


def test_all_takes_every_device_of_its_list():
    """SRCH-6."""
    assert sorted(picked(GPUS, claim(want(count="All")))) == [("r", name) for name in "abcd"]


@pytest.mark.parametrize(("other", "possible"), [(0, True), (1, False)])
def test_all_leaves_nothing_to_others(other, possible):
    asking = [want("all", "All", f"device.attributes['{DRIVER}'].x == 1"), want("r", 1 + other)]
    supply = pool(device("a", x=1), device("b", x=1), device("c", x=0))
    assert fits(supply, claim(*asking)) == possible


def test_all_of_nothing_fails():
    """SRCH-6: an empty list is no success."""
    assert not fits(GPUS, claim(want(count="All", select="false")))


def test_all_fails_where_one_of_its_devices_is_taken():
    """SRCH-6, DEV-14."""
    held = after(GPUS, claim(want(), name="before"))
    assert not fits(GPUS, *held, claim(want(count="All")))


def preferred(*objects):
    """The demands that are served once preference has been asked."""
    asked = question(*objects)
    labels = (asked.problem.demands[pick.demand].label for pick in asked.decision().picks)
    return list(dict.fromkeys(labels))


@pytest.mark.parametrize(("first", "second", "chosen"), [(4, 1, "r/first"), (5, 1, "r/second"), (5, 5, None)])
def test_a_list_is_served_by_one_of_its_alternatives(first, second, chosen):
    """SRCH-4."""
    asking = claim(either("r", option("first", first), option("second", second)))
    assert preferred(GPUS, asking) == ([chosen] if chosen else [])


def test_a_later_request_pushes_a_list_to_a_lower_alternative():
    """SRCH-4: the whole rest of the problem counts."""
    asking = claim(either("r", option("three", 3), option("one", 1)), want("s", 3))
    assert fits(GPUS, asking)
    assert len(picked(GPUS, asking)) == 4


def test_an_alternative_for_all_devices():
    asking = claim(either("r", option("all", "All"), option("one", 1)), want("s", 1))
    found = picked(GPUS, asking)
    assert {label for label, _ in found} == {"r/one", "s"}


@pytest.mark.parametrize(("sizes", "possible"), [((16, 16), True), ((17, 16), False)])
def test_a_claim_gets_at_most_32_devices(sizes, possible):
    """SRCH-8: each alternative alone is small enough, together they are not."""
    supply = pool(*devices(*(f"d{number:02}" for number in range(40))))
    lists = [either(f"r{size}{n}", option("large", size), option("none", 1, "false")) for n, size in enumerate(sizes)]
    assert fits(supply, claim(*lists)) == possible


def test_a_shareable_device_serves_each_request_once():
    """DEV-13: two requests share it, one request for two devices does not get it twice."""
    supply = pool(device("s", multi=True))
    assert fits(supply, claim(want("r1"), want("r2")))
    assert fits(supply, claim(want("r1"), name="c1"), claim(want("r2"), name="c2"))
    assert not fits(supply, claim(want("r", 2)))


def test_equal_requests_share_what_can_be_shared():
    supply = pool(device("s", multi=True), device("t", multi=True))
    found = picked(supply, claim(*(want(f"r{number}", 2) for number in range(5))))
    assert len(set(found)) == 10


def test_equal_devices_are_one_lot_and_equal_requests_one_branch():
    """One variable instead of 32 times 256."""
    supply = [pool(*devices(*(f"d{n}-{m:03}" for m in range(128))), name=f"p{n}") for n in range(2)]
    model = question(*supply, claim(*(want(f"r{number}") for number in range(32)))).model()
    assert len(model.reduced.classes) == 1
    assert model.rows.variables == 1


def test_devices_that_draw_differently_are_not_one_lot():
    supply = partitions(
        device("a", draws("s", m=1)), device("b", draws("s", m=1)), device("c", draws("s", m=2)), sets={"s": {"m": 4}}
    )
    assert [lot.size for lot in question(*supply, claim(want())).model().reduced.classes] == [2, 1]
