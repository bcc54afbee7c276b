from operator import itemgetter

import pytest
from support.data import cases

IS_QUANTITY_WITHOUT_ERROR = [
    ("isQuantity(s)", "false", 11),
    ("isQuantity('Mi')", "true", 1),
    ("isQuantity('1Gi')", "true", 1),
    ("isQuantity('200K')", "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", IS_QUANTITY_WITHOUT_ERROR, ids=itemgetter(0))
def test_is_quantity_without_error(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/quantities", "add_and_sub_are_exact"), ids=itemgetter(0))
def test_add_and_sub_are_exact(check, row):
    check(*row)


NUMBERS_OF_A_QUANTITY = [
    ("sign(q)", "1", 2),
    ("q.asInteger()", "1073741824", 2),
    ("q.isInteger()", "true", 2),
    ("q.asApproximateFloat()", "1.073741824e+09", 2),
    ("quantity('1.5').asInteger()", "error: cannot convert value to integer", 2),
    ("quantity('1.5').isInteger()", "false", 2),
    ("quantity('1.5').asApproximateFloat()", "1.5", 2),
    ("quantity('100Ti').asInteger()", "error: cannot convert value to integer", 2),
    ("quantity('0').asInteger()", "0", 2),
    ("sign(quantity('-1'))", "-1", 2),
    ("sign(dyn(1))", "error: no such overload: sign(int)", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", NUMBERS_OF_A_QUANTITY, ids=itemgetter(0))
def test_numbers_of_a_quantity(check, row):
    check(*row)


QUANTITIES_ARE_COMPARED_BY_AMOUNT = [
    ("quantity('1Gi').isGreaterThan(quantity('1G'))", "true", 3),
    ("q.isGreaterThan(q)", "false", 3),
    ("q.isLessThan(q)", "false", 3),
    ("q.compareTo(q)", "0", 3),
    ("q.isGreaterThan(dyn('a'))", "error: no such overload: isGreaterThan(kubernetes.Quantity, string)", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", QUANTITIES_ARE_COMPARED_BY_AMOUNT, ids=itemgetter(0))
def test_quantities_are_compared_by_amount(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/quantities", "quantities_in_text_and_equality"), ids=itemgetter(0))
def test_quantities_in_text_and_equality(check, row):
    check(*row)
