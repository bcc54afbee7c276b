from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/strings", "char_at_counts_code_points"), ids=itemgetter(0))
def test_char_at_counts_code_points(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "last_index_of_searches_backwards"), ids=itemgetter(0))
def test_last_index_of_searches_backwards(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "index_of_searches_from_a_position"), ids=itemgetter(0))
def test_index_of_searches_from_a_position(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "replace_takes_every_occurrence_or_some"), ids=itemgetter(0))
def test_replace_takes_every_occurrence_or_some(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "split_cuts_at_separators"), ids=itemgetter(0))
def test_split_cuts_at_separators(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "substring_checks_its_bounds"), ids=itemgetter(0))
def test_substring_checks_its_bounds(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "trim_takes_what_go_calls_space"), ids=itemgetter(0))
def test_trim_takes_what_go_calls_space(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "lower_ascii_leaves_other_letters"), ids=itemgetter(0))
def test_lower_ascii_leaves_other_letters(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "upper_ascii_leaves_other_letters"), ids=itemgetter(0))
def test_upper_ascii_leaves_other_letters(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "quote_escapes_for_cel"), ids=itemgetter(0))
def test_quote_escapes_for_cel(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "join_puts_separators_between"), ids=itemgetter(0))
def test_join_puts_separators_between(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "contains_finds_parts"), ids=itemgetter(0))
def test_contains_finds_parts(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "starts_with_compares_the_beginning"), ids=itemgetter(0))
def test_starts_with_compares_the_beginning(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/strings", "ends_with_compares_the_end"), ids=itemgetter(0))
def test_ends_with_compares_the_end(check, row):
    check(*row)
