from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/sets", "contains_all_of_the_other"), ids=itemgetter(0))
def test_contains_all_of_the_other(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/sets", "intersects_when_one_is_shared"), ids=itemgetter(0))
def test_intersects_when_one_is_shared(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/sets", "equivalent_when_each_contains_the_other"), ids=itemgetter(0))
def test_equivalent_when_each_contains_the_other(check, row):
    check(*row)
