from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/optionals", "zero_values_are_none"), ids=itemgetter(0))
def test_zero_values_are_none(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/optionals", "unwrap_drops_what_is_none"), ids=itemgetter(0))
def test_unwrap_drops_what_is_none(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/optionals", "first_and_last_are_optional"), ids=itemgetter(0))
def test_first_and_last_are_optional(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/optionals", "optional_values"), ids=itemgetter(0))
def test_optional_values(check, row):
    check(*row)
