"""Inner loops look up what they can be about; what that leaves out must not matter."""

import pytest
from support.random_expressions import EITHER, TRUE, device, lowered, verdicts

from drasat.cel.values import UInt
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.kubernetes.semver import Version

# Values of all types in one attribute: some are equal across types, some cannot be compared, one is not there.
MIXED = [1, UInt(1), 1.0, "1", True, Version.parse("1.0.0"), Version.parse("1.0.0+b"), [1, 2], Quantity.parse("1")]
GRID = """devices.all(d, devices.filter(o, d != o &&
    ((d.@row == o.@row && (d.@col == o.@col + 1 || d.@col == o.@col - 1)) ||
     (d.@col == o.@col && (d.@row == o.@row + 1 || d.@row == o.@row - 1)))).size() >= 2)"""


def _mixed(size):
    items = [device(n=number, m=value, l=[number, number + 1]) for number, value in enumerate(MIXED)]
    return [*items, device(n=len(MIXED), l=[0])][:size]


@pytest.mark.parametrize("outer", ["all(a, {})", "exists(a, {})", "exists_one(a, {})", "filter(a, {}).size() == 1"])
@pytest.mark.parametrize(
    "inner",
    [
        "devices.exists(b, a.@m == b.@m && a.@n != b.@n)",
        "devices.exists(b, b.@m == a.@m && a.@n < b.@n)",
        "devices.all(b, a.@m != b.@m || a.@n >= b.@n)",
        "devices.all(b, !(b.@m == a.@m) || b.@n == a.@n)",
        "devices.exists_one(b, a.@m == b.@m)",
        "devices.filter(b, a.@n == b.@n - 1 || a.@m == b.@m).size() == 2",
        "devices.map(b, a.@m == b.@m, b.@n).sum() > 3",
        "devices.exists(b, !(a.@n != b.@n) && b.@m == 1)",
        "devices.exists(b, b.@n in a.@l && a.@n < b.@n)",
        "devices.exists(b, a.@n in b.@l && b.@n < a.@n)",
        "devices.exists(b, b.@m in a.@l)",
        "devices.exists(b, a.@l.includes(b.@m))",
        "devices.exists(b, b.@m.includes(a.@n))",
        "devices.exists(b, !!(a.@n == b.@n) && b.@none)",
    ],
)
def test_joins_give_what_all_pairs_give(outer, inner):
    items = _mixed(len(MIXED) + 1)
    text = "devices." + outer.format(inner)
    for first in range(0, len(items) - 4, 3):
        verdicts(text, items[first : first + 5])
    assert verdicts(text, items, most_total=2)


def test_the_grid_is_lowered_without_looking_at_all_pairs():
    """65,536 pairs; the budget allows fewer steps than that."""
    items = [device(row=row, col=col) for row in range(16) for col in range(16)]
    formulas, found = lowered(GRID, items, most_total=4, budget=40_000)
    corner = [int(number in (0, 1, 16, 17)) for number in range(256)]
    line = [int(number in (0, 1, 2, 3)) for number in range(256)]
    assert formulas.holds(found.true, corner)
    assert not formulas.holds(found.true, line)


@pytest.mark.parametrize(
    "text",
    [
        "devices.all(a, devices.exists(b, a.@peers.includes(b.@n)))",
        "devices.all(a, devices.exists(b, b.@n in a.@peers))",
        "devices.all(a, devices.filter(b, b.@n == a.@n + 1 || b.@n == a.@n - 1).size() >= 1)",
        "devices.all(a, devices.all(b, a.@n != b.@n + 1 || a == b))",
        "devices.all(a, devices.all(b, a.@group == b.@group))",
        "devices.map(d, d.@group).distinct().all(g, devices.filter(d, d.@group == g).size() < 3)",
    ],
)
def test_steps_grow_with_the_pairs_that_may_match(text):
    items = [device(n=number, group=number % 8, peers=[number - 1, number + 1]) for number in range(300)]
    assert lowered(text, items, most_total=4, budget=30_000)[1].error == ~0


def test_elements_that_a_loop_cannot_tell_apart_are_looked_at_once():
    items = [device(group=number % 3, n=number) for number in range(200)]
    text = "devices.all(a, devices.all(b, a.@group + 1 >= b.@group))"
    formulas, found = lowered(text, items, most_total=4, budget=3_000)
    assert formulas.holds(found.true, [int(number in (0, 1, 3, 4)) for number in range(200)])
    assert not formulas.holds(found.true, [int(number in (0, 2)) for number in range(200)])


def test_values_missing_in_different_ways_are_not_taken_for_one():
    from drasat.cel.values import CelMap

    bare = CelMap({"driver": "y", "attributes": CelMap(), "capacity": CelMap()}.items())
    items = [device(i=1), device(j=1), bare]
    assert verdicts("devices.all(d, has(d.@i)) || devices.size() > 2", items) >= {TRUE}
    assert verdicts("devices.all(d, d.?attributes['x'].?i.hasValue())", items) == EITHER
