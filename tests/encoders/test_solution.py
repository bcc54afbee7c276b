"""From counts back to devices: by name, always in the same way, and to whom they belong."""

from itertools import groupby

from support.modelling import question
from support.objects import DRIVER, claim, device, devices, distinct, either, match, option, pool, want

from drasat.encoders.solution import decode_solution

A = f"{DRIVER}/a"
GPUS = pool(*devices("a", "b", "c", "d", "e", "f"))
SCALARS = {"DRAListTypeAttributes": False}


def expanded(counts, *objects, choices=(), **options):
    """Claim, label and device of what is dealt out where branches take so many of each lot."""
    asked = question(*objects, **options)
    model = asked.model()
    assert len(counts) == len(model.takes)
    values = [0] * model.rows.variables
    for variable, count in zip(model.takes.values(), counts, strict=True):
        values[variable] = count
    for variable, count in zip((one for one in model.choices if one is not None), choices, strict=True):
        values[variable] = count
    demands = asked.problem.demands
    taken = decode_solution(model, values)
    return [(demands[demand].claim, demands[demand].label, asked.names[device]) for demand, device in taken]


def test_the_first_devices_by_name_are_taken():
    assert [name for _, _, name in expanded([3], GPUS, claim(want(count=3)))] == ["a", "b", "c"]


def test_equal_requests_and_claims_take_turns():
    """Nobody gets a device that another one has."""
    found = expanded([6], GPUS, *(claim(want("r"), want("s", 1), name=name) for name in "xyz"))
    assert [(number, label) for number, label, _ in found] == [(n, label) for n in range(3) for label in "rs"]
    assert sorted(name for _, _, name in found) == list("abcdef")


def test_what_comes_several_times_goes_to_different_requests():
    """DEV-13."""
    supply = pool(device("s", multi=True), device("t", multi=True))
    found = expanded([3, 3], supply, claim(*(want(f"r{number}", 2) for number in range(3))))
    assert len(set(found)) == 6
    assert all({name for _, _, name in own} == {"s", "t"} for _, own in groupby(found, key=lambda one: one[1]))


def test_the_first_copies_get_the_first_alternative():
    """SRCH-4."""
    supply = pool(*devices("a", "b", kind=1), device("c", kind=2))
    kinds = [option(f"o{kind}", 1, f"device.attributes['d.x'].kind == {kind}") for kind in (1, 2)]
    asking = claim(*(either(f"r{number}", *kinds) for number in range(3)))
    found = expanded([2, 1], supply, asking, choices=(2, 1))
    assert [label for _, label, _ in found] == ["r0/o1", "r1/o1", "r2/o2"]


def test_tied_claims_go_through_the_values_in_order():
    """CON-4: whatever the names say, no claim gets two values."""
    supply = pool(*(device(f"d{number}", a=number % 2) for number in range(8)))
    asking = [claim(want("r", 2), want("s", 1), name=name, constraints=[match(A)]) for name in "xy"]
    found = expanded([2, 2, 1, 1], supply, *asking, gates=SCALARS)
    assert found == [(0, "r", "d0"), (0, "r", "d2"), (0, "s", "d4"), (1, "r", "d1"), (1, "r", "d3"), (1, "s", "d5")]


def test_values_go_to_one_claim_after_the_other():
    """CON-5: as often as a value comes, so many claims have it."""
    supply = pool(*(device(f"d{number}", a=number // 2) for number in range(6)))
    asking = [claim(want(count=2), name=name, constraints=[distinct(A)]) for name in "xyz"]
    found = expanded([2, 2, 2], supply, *asking, gates=SCALARS)
    own = [[int(name[1:]) // 2 for _, _, name in group] for _, group in groupby(found, key=lambda one: one[0])]
    assert [len(set(values)) for values in own] == [2, 2, 2]
