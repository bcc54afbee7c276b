"""Bounds on a request or a claim alone."""

from support.small_problems import (
    NOTHING,
    InUse,
    ask,
    either,
    every,
    impossible,
    left,
    partitions,
    possible,
    problem,
    proven,
)


def test_more_devices_than_could_be_used():
    asked = problem(8, [ask("gpus", 9, 8)])
    assert impossible(asked) == ("devices", "request gpus needs 9 devices, 8 can be used")
    assert possible(problem(8, [ask("gpus", 8, 8)]))


def test_devices_in_use_do_not_count():
    asked = problem(3, [ask("a", 2, 3)])
    assert impossible(asked, InUse(dedicated=frozenset({0, 2})))[1] == "request a needs 2 devices, 1 can be used"
    assert possible(asked, InUse(dedicated=frozenset({0})))


def test_admin_access_may_take_devices_in_use():
    asked = problem(2, [ask("a", 2, 2, admin=True)])
    assert possible(asked, InUse(dedicated=frozenset({0, 1})))


def test_a_list_fails_only_with_all_of_its_alternatives():
    large, small = ask("large", 3, 2), ask("small", 2, 2)
    assert possible(problem(2, [either("r", large, small)]))
    both = problem(2, [either("r", large, ask("huge", 4, 2))])
    assert impossible(both) == (
        "devices",
        "request r/large needs 3 devices, 2 can be used; request r/huge needs 4 devices, 2 can be used",
    )


def test_all_takes_all_or_nothing():
    assert (
        impossible(problem(2, [every("r", ())]))[1] == "request r takes all devices that it selects, and there are none"
    )
    taken = InUse(dedicated=frozenset({1}))
    assert impossible(problem(2, [every("r", 2)]), taken) == (
        "devices",
        "request r takes all of the 2 devices that it selects, not all of them can be used",
    )
    assert possible(problem(2, [every("r", 2)]))


def test_an_alternative_that_takes_all_of_nothing_is_none():
    assert possible(problem(2, [either("r", every("all", ()), ask("one", 1, 2))]))
    assert impossible(problem(2, [either("r", every("all", ()), ask("three", 3, 2))]))[0] == "devices"


def test_a_device_that_cannot_be_judged_is_no_help():
    asked = problem(2, [ask("r", 2, 2, traps=(1,))])
    assert proven(asked).id == "devices"


def test_a_single_partition_that_does_not_fit_is_not_usable():
    asked = problem(2, [ask("r", 2, 2)], counters=partitions((0, [4]), (0, [9])))
    assert impossible(asked, left(8))[0] == "devices"


def test_a_claim_gets_at_most_32_devices():
    wide, narrow = ask("wide", 17, 40), ask("narrow", 16, 40)
    first = either("a", ask("none", 1, ()), wide)
    assert impossible(problem(40, [first, narrow])) == (
        "resultLimit",
        "requests a/wide and narrow: 33 devices at least, one claim may get 32",
    )
    assert possible(problem(40, [ask("a", 16, 40), narrow]))
    assert possible(problem(40, [wide], [narrow]))


def test_a_request_for_nothing_is_served():
    assert possible(problem(1, [ask("r", 0, ())], [ask("s", 1, 1)]))


def test_nothing_is_proven_about_no_claims():
    assert proven(problem(0)) is None
    assert proven(problem(3, []), NOTHING) is None
