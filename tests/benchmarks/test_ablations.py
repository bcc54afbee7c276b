"""Ablations replace parts by their names: a part that is renamed or gone must not be measured as if it were off."""

import ablating_cel
import ablating_plans
import pytest

PARTS = [
    part
    for parts in (ablating_plans.HEURISTICS, ablating_plans.PRICING, ablating_cel.EMITTERS, ablating_cel.LOWERING)
    for whole in parts
    for part in (whole, *whole.also)
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.attribute)
def test_every_part_is_where_the_ablation_says(part):
    original = getattr(part.owner, part.attribute)
    with part.off():
        assert getattr(part.owner, part.attribute) is not original
    assert getattr(part.owner, part.attribute) is original
