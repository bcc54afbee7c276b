from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/times", "parts_of_the_calendar"), ids=itemgetter(0))
def test_parts_of_the_calendar(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/times", "parts_of_the_clock"), ids=itemgetter(0))
def test_parts_of_the_clock(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/times", "durations_in_text"), ids=itemgetter(0))
def test_durations_in_text(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/times", "timestamps_in_text"), ids=itemgetter(0))
def test_timestamps_in_text(check, row):
    check(*row)
