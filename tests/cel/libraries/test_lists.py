from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/lists", "slice_checks_its_bounds"), ids=itemgetter(0))
def test_slice_checks_its_bounds(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "flatten_goes_as_deep_as_asked"), ids=itemgetter(0))
def test_flatten_goes_as_deep_as_asked(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "sort_by_orders_by_keys"), ids=itemgetter(0))
def test_sort_by_orders_by_keys(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "sort_needs_one_comparable_type"), ids=itemgetter(0))
def test_sort_needs_one_comparable_type(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "reverse_turns_round"), ids=itemgetter(0))
def test_reverse_turns_round(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "distinct_keeps_the_first_of_equals"), ids=itemgetter(0))
def test_distinct_keeps_the_first_of_equals(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "range_counts_from_zero"), ids=itemgetter(0))
def test_range_counts_from_zero(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/lists", "cel_4_includes_looks_into_lists_and_at_scalars"), ids=itemgetter(0))
def test_CEL_4_includes_looks_into_lists_and_at_scalars(check, row):
    """CEL-4"""
    check(*row)
