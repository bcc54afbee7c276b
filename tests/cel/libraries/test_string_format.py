from operator import itemgetter

import pytest
from support.data import cases

SCIENTIFIC_CLAUSE = [
    ("'%e'.format([1234.5])", '"1.234500\u00d710\u2070\u00b3"', 1),
    ("'%e'.format([0.0/0.0])", '"   NaN"', 12),
    ("'%e'.format([0.0])", '"0.000000\u00d710\u2070\u2070"', 1),
    ("'%e'.format([1e100])", '"1.000000\u00d710\u00b9\u2070\u2070"', 1),
    ("'%e'.format([-0.0])", '"0.000000\u00d710\u2070\u2070"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", SCIENTIFIC_CLAUSE, ids=itemgetter(0))
def test_scientific_clause(check, row):
    check(*row)


FIXED_POINT_CLAUSE = [
    ("'%f'.format([1.5])", '"1.500000"', 1),
    ("'%f'.format([0.0/0.0])", '"NaN"', 12),
    ("'%f'.format([-1.0/0.0])", '"-\u221e"', 12),
    ("'%f'.format(['Infinity'])", '"\u221e"', 1),
    ("'%f'.format([-0.0000001])", '"-0.000000"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", FIXED_POINT_CLAUSE, ids=itemgetter(0))
def test_fixed_point_clause(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/string-format", "precision"), ids=itemgetter(0))
def test_precision(check, row):
    check(*row)


DECIMAL_CLAUSE = [
    ("'%d'.format([1])", '"1"', 1),
    ("'%d'.format([-5])", '"-5"', 1),
    ("'%d'.format([1u])", '"1"', 1),
    ("(s+'%d%d').format([1])", "error: index 1 out of range", 21),
]  # fmt: skip


@pytest.mark.parametrize("row", DECIMAL_CLAUSE, ids=itemgetter(0))
def test_decimal_clause(check, row):
    check(*row)


BINARY_CLAUSE = [
    ("'%b'.format([5])", '"101"', 1),
    ("'%b'.format([-5])", '"-101"', 1),
    ("'%b'.format([5u])", '"101"', 1),
    ("'%b'.format([true])", '"1"', 1),
    ("'%b'.format([0])", '"0"', 1),
    ("'%b'.format([false])", '"0"', 1),
    ("'%x'.format([\"\\u20ac%b\\u20ac\\u00e9\"])", '"e282ac2562e282acc3a9"', 1),
    ("'%s'.format([\".AZaaaa\\\"Z.\\tA%b\"])", '".AZaaaa\\"Z.\\tA%b"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", BINARY_CLAUSE, ids=itemgetter(0))
def test_binary_clause(check, row):
    check(*row)


OCTAL_CLAUSE = [
    ("'%o'.format([8])", '"10"', 1),
    ("'%o'.format([-8])", '"-10"', 1),
    ("'%o'.format([8u])", '"10"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", OCTAL_CLAUSE, ids=itemgetter(0))
def test_octal_clause(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/string-format", "hexadecimal_clause"), ids=itemgetter(0))
def test_hexadecimal_clause(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/string-format", "string_clause"), ids=itemgetter(0))
def test_string_clause(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/string-format", "other_text_and_bad_clauses"), ids=itemgetter(0))
def test_other_text_and_bad_clauses(check, row):
    check(*row)
