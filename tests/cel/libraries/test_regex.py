from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/regex", "find_all_takes_successive_matches"), ids=itemgetter(0))
def test_find_all_takes_successive_matches(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/regex", "find_takes_the_leftmost_match"), ids=itemgetter(0))
def test_find_takes_the_leftmost_match(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/regex", "matches_is_not_anchored"), ids=itemgetter(0))
def test_matches_is_not_anchored(check, row):
    check(*row)
