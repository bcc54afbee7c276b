"""Counters, consumable capacity and compatibility groups."""

from dataclasses import replace

import pytest
from support.small_problems import (
    UNIT,
    InUse,
    ask,
    drawing,
    either,
    grouped,
    impossible,
    left,
    partitions,
    possible,
    problem,
    proven,
    sharing,
    unsearchable,
)

from drasat.problem.problem import Counters
from drasat.solver.proofs import find_witness


def test_partitions_of_one_counter_set_draw_too_much():
    halves = partitions(*[(0, [20])] * 4)
    asked = problem(4, [ask("a", 2, 4), ask("b", 2, 4)], counters=halves)
    assert impossible(asked, left(79)) == (
        "counters",
        "counter memory of counter set gpu-0: requests a and b need at least 80, 79 left",
    )
    assert possible(asked, left(80))


def test_amounts_are_written_as_in_manifests():
    slices = partitions(*[(0, [20 << 30])] * 4)
    asked = problem(4, [ask("a", 4, 4)], counters=slices)
    assert impossible(asked, left(60 << 30))[1].endswith("request a needs at least 80Gi, 60Gi left")


def test_a_request_takes_different_devices_so_that_the_smallest_counts_once():
    mixed = partitions((0, [1]), (0, [4]), (0, [4]))
    asked = problem(3, [ask("a", 2, 3)], counters=mixed)
    assert impossible(asked, left(4))[1].endswith("request a needs at least 5, 4 left")
    assert possible(asked, left(5))


@pytest.mark.parametrize(("small", "fits"), [(16, True), (17, False)])
def test_mig_slices_of_eight_gpus(small, fits):
    """Eight of 3g (3 compute, 4 memory) and some of 2g (2 and 2), on GPUs of 7 and 8."""
    devices = [(gpu, size) for gpu in range(8) for size in ([3, 4], [3, 4], [2, 2], [2, 2], [2, 2])]
    large = [device for device, (_, size) in enumerate(devices) if size == [3, 4]]
    little = [device for device, (_, size) in enumerate(devices) if size == [2, 2]]
    claims = [*[[ask("large", 1, large)]] * 8, *[[ask("small", 1, little)]] * small]
    asked = problem(40, *claims, counters=partitions(*devices, counters=("compute", "memory")))
    found = proven(asked, left(*[7, 8] * 8))
    assert (found is None) is fits
    if not fits:
        assert unsearchable(asked, left(*[7, 8] * 8)) == (
            "counters",
            "counter compute of 8 counter sets: 25 requests of 25 claims need at least 58, 56 left",
        )


def test_what_is_left_is_rounded_down_in_every_counter_set():
    """Six are left of each set, in all enough for three, but one of four fits into each."""
    fours = partitions(*[(number, [4]) for number in (0, 0, 1, 1)])
    asked = problem(4, [ask("a", 3, 4)], counters=fours)
    assert impossible(asked, left(6, 6)) == (
        "counters",
        "request a needs 3 devices, what is left of the counters has room for 2",
    )
    assert possible(asked, left(6, 8))


def test_requests_that_draw_from_one_set_only_are_counted_alone():
    devices = partitions((0, [4]), (0, [4]), (1, [4]), (1, [4]))
    asked = problem(4, [ask("a", 1, [0, 1]), ask("b", 1, [0, 1]), ask("c", 1, 4)], counters=devices)
    assert impossible(asked, left(6, 8))[1].startswith("counter memory of counter set gpu-0: requests a and b")
    assert possible(asked, left(8, 6))


def test_devices_that_draw_nothing_are_a_way_out():
    devices = partitions((0, [4]), (0, [4]))
    assert possible(problem(3, [ask("a", 2, 3)], counters=devices), left(4))
    assert impossible(problem(3, [ask("a", 3, 3)], counters=devices), left(4))[0] == "counters"


def test_a_list_draws_at_least_what_its_cheapest_alternative_does():
    devices = partitions((0, [4]), (0, [1]), (0, [4]))
    request = either("a", ask("large", 1, [0]), ask("small", 1, [1]))
    asked = problem(3, [request, ask("b", 1, [2])], counters=devices)
    assert possible(asked, left(5))
    assert impossible(asked, left(4))[1].endswith("requests a and b need at least 5, 4 left")


def test_pools_where_a_device_gives_are_left_out():
    """What the first device gives makes room for the second (CTR-2)."""
    devices = partitions((0, [-4]), (0, [8]))
    asked = problem(2, [ask("a", 2, 2)], counters=devices)
    assert possible(asked, left(4))
    assert proven(asked, left(3)) is None


def test_overdrawn_rows_are_no_credit():
    devices = partitions((0, [2]), (1, [2]))
    asked = problem(2, [ask("a", 2, 2)], counters=replace(devices, pool_of_row=(0, 1)))
    assert impossible(asked, left(2, -5))[0] == "devices"
    one = problem(2, [ask("a", 1, 2)], counters=asked.counters)
    assert possible(one, left(2, -5))
    # Nor where a device is listed that could not be used.
    assert find_witness(one, left(2, -5), ((0, 1),)) is None


def test_further_shares_draw_no_counters():
    devices = partitions((0, [4]))
    claims = [[ask("a", 1, 1)] for _ in range(3)]
    assert possible(problem(1, *claims, counters=devices, shared=frozenset({0})), left(4))
    in_use = left(0, shares={0: 1})
    assert possible(problem(1, *claims, counters=devices, shared=frozenset({0})), in_use)


def test_admin_access_draws_counters_like_anyone():
    """CTR-2, DEV-15: two claims may look at the same device, and each draws."""
    asked = problem(1, *[[ask("a", 1, 1, admin=True)] for _ in range(2)], counters=partitions((0, [4])))
    assert impossible(asked, left(7))[0] == "counters"
    assert possible(asked, left(8))


def sharers(number, amount, *capacities, count=1):
    size = len(capacities)
    claims = [[ask("a", count, size, amounts=drawing(amount, size))] for _ in range(number)]
    return problem(size, *claims, **sharing(*capacities))


def test_shares_take_more_than_the_capacity():
    assert impossible(sharers(3, 4, 8)) == (
        "capacity",
        "capacity memory of 1 shared device: 3 requests of 3 claims need at least 12, 8 left",
    )
    assert possible(sharers(2, 4, 8))


def test_capacity_is_rounded_down_on_every_device():
    assert impossible(sharers(3, 4, 7, 7))[1] == (
        "3 requests of 3 claims need 3 devices, what is left of the capacities has room for 2"
    )
    assert possible(sharers(3, 4, 7, 8))


def test_one_request_uses_a_shared_device_once():
    assert impossible(sharers(1, 1, 9, 9, count=3))[0] == "devices"
    assert possible(sharers(1, 1, 9, 9, count=2))


def test_what_others_consume_is_not_left():
    in_use = InUse(shares={0: 1}, consumed={0: 5 * UNIT})
    assert impossible(sharers(2, 2, 8), in_use)[1].endswith("need at least 4, 3 left")
    assert possible(sharers(1, 2, 8), in_use)


def test_shares_without_amounts_have_no_bound():
    assert possible(sharers(9, 0, 1))


def test_dedicated_devices_consume_nothing():
    """CAP-7: their capacity is a filter."""
    asked = replace(sharers(2, 4, 4, 4), shared=frozenset({0}))
    assert possible(asked)
    assert impossible(replace(sharers(3, 4, 4, 4), shared=frozenset({0})))[0] in ("devices", "capacity")


def test_admin_access_to_a_dedicated_device_consumes_nothing():
    claims = [[ask("look", 1, [1], admin=True, amounts=drawing(3, 2))] for _ in range(2)]
    assert possible(problem(2, *claims, **(sharing(4, 4) | {"shared": frozenset({0})})))


def test_requests_of_different_sizes_need_their_total():
    large, small = drawing(6, 2), drawing(3, 2)
    claims = [[ask("a", 1, 2, amounts=large)], [ask("b", 1, 2, amounts=large)], [ask("c", 1, 2, amounts=small)]]
    assert possible(problem(2, *claims, **sharing(9, 8)))
    assert impossible(problem(2, *claims, **sharing(8, 6)))[1].endswith("need at least 15, 14 left")


def test_devices_of_one_counter_set_need_a_common_group():
    free = Counters((("gpu-0", "memory"),), (0,), dict.fromkeys(range(4), ((0, 0),)))
    in_use = InUse(available=(UNIT,), groups=(None,))

    def asked(count, *groups):
        return problem(4, [ask("a", count, 4)], counters=free, groups=grouped(*groups))

    assert impossible(asked(3, 0b011, 0b011, 0b101, 0b101), in_use) == (
        "compatibilityGroups",
        "request a needs 3 devices, at most 2 are compatible on their counter sets",
    )
    assert possible(asked(2, 0b011, 0b011, 0b101, 0b101), in_use)
    assert possible(asked(3, 0b011, 0b111, 0b101, 0b101), in_use)
    assert impossible(asked(3, 0, 0, 0b011, 0b011), in_use)[0] == "compatibilityGroups"
    assert possible(asked(3, 0, 0, 0, 0b011), in_use)


def test_a_shared_device_is_one_device_for_a_request_whatever_its_groups():
    free = Counters((("gpu-0", "memory"),), (0,), dict.fromkeys(range(3), ((0, 0),)))
    in_use = InUse(available=(UNIT,), groups=(None,))
    fields = {"counters": free, "shared": frozenset({0})}
    asked = problem(3, [ask("a", 3, 3)], groups=grouped(0b011, 0b011, 0b101), **fields)
    assert impossible(asked, in_use)[1] == "request a needs 3 devices, at most 2 are compatible on their counter sets"
    assert possible(problem(3, [ask("a", 3, 3)], groups=grouped(0b011, 0b011, 0b111), **fields), in_use)
