from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/list-folds", "min_takes_the_first_least"), ids=itemgetter(0))
def test_min_takes_the_first_least(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/list-folds", "max_takes_the_first_greatest"), ids=itemgetter(0))
def test_max_takes_the_first_greatest(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/list-folds", "sum_is_checked_for_overflow"), ids=itemgetter(0))
def test_sum_is_checked_for_overflow(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/list-folds", "sorted_lists_are_recognised"), ids=itemgetter(0))
def test_sorted_lists_are_recognised(check, row):
    check(*row)
