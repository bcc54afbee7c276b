from operator import itemgetter

import pytest

IS_QUANTITY_WITHOUT_ERROR = [
    ("isQuantity(s)", "false", 11),
    ("isQuantity('Mi')", "true", 1),
    ("isQuantity('1Gi')", "true", 1),
    ("isQuantity('200K')", "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", IS_QUANTITY_WITHOUT_ERROR, ids=itemgetter(0))
def test_is_quantity_without_error(check, row):
    check(*row)


ADD_AND_SUB_ARE_EXACT = [
    ("q.add(q)", "quantity(2Gi)", 3),
    ("q.add(i)", "quantity(1073741827)", 3),
    ("q.sub(q)", "quantity(0)", 3),
    ("q.sub(i)", "quantity(1073741821)", 3),
    ("quantity('70k') == quantity('50k').add(quantity('20k'))", "error: no such overload", 5),
    ("quantity('50k').add(quantity('20k')) == quantity('70k')", "true", 5),
    ("quantity('70k') == quantity('50k').add(20000)", "error: no such overload", 4),
    ("quantity('50k').add(20000) == quantity('50k').add(20000)", "error: no such overload", 5),
    ("quantity('50k').add(20000).add(1).sub(quantity('1'))", "quantity(70k)", 5),
    ("quantity('50k').add(20000).compareTo(quantity('70k'))", "0", 4),
    ("quantity('1').compareTo(quantity('1').add(1))", "-1", 4),
    ("quantity('1').isGreaterThan(quantity('1').add(1))", "false", 4),
    ("quantity('1').sub(quantity('1').add(1))", "quantity(-1)", 4),
    ("quantity('1').add(quantity('1').add(1))", "quantity(3)", 4),
    ("[quantity('1')] == [quantity('1').add(0)]", "true", 24),
    ("quantity('1').add(0) in [quantity('1')]", "true", 14),
    ("quantity('1') in [quantity('1').add(0)]", "false", 14),
    ("type(quantity('1').add(1))", "kubernetes.Quantity", 3),
    ("q.add(dyn('a'))", "error: no such overload: add(kubernetes.Quantity, string)", 2),
    ("[quantity('1'),quantity('1').add(0)].distinct()", "[quantity(1)]", 32),
]  # fmt: skip


@pytest.mark.parametrize("row", ADD_AND_SUB_ARE_EXACT, ids=itemgetter(0))
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


QUANTITIES_IN_TEXT_AND_EQUALITY = [
    ("sets.contains([quantity('1')],[quantity('1')])", "true", 24),
    ("quantity('1Gi')", "quantity(1Gi)", 1),
    ("quantity('1K')", "error: unable to parse quantity's suffix", 1),
    ("quantity('Pi')", "error: unable to parse numeric part of quantity", 1),
    ("quantity('70k') == quantity('70000')", "true", 3),
    ("dyn(1) == quantity('1')", "false", 2),
    ("quantity('1') == dyn(1)", "error: no such overload", 2),
    ("quantity('1') != dyn(1)", "true", 2),
    ("dyn('1') == quantity('1')", "false", 2),
    ("quantity('1') in [quantity('1')]", "true", 13),
    ("dyn(1) in [quantity('1')]", "false", 12),
    ("quantity('1') in [dyn(1)]", "false", 1),
    ("type(quantity('1'))", "kubernetes.Quantity", 2),
    ("dyn([quantity('1'),quantity('2')]).max()", "error: no such overload: max(list)", 15),
    ("quantity('1').includes(quantity('1'))", "true", 3),
    ("quantity('1').includes(1)", "false", 2),
    ("[quantity('1')].includes(1)", "false", 12),
    ("[dyn(1),dyn(quantity('1')),dyn(5)].max()", "error: no such overload", 15),
    ("[dyn(quantity('1'))].max()", "error: no such overload: max(list)", 13),
    ("[dyn(1),dyn(quantity('1'))].isSorted()", "error: no such overload", 14),
    ("[dyn(quantity('1')),dyn(1)].isSorted()", "error: no such overload: isSorted(list)", 14),
    ("[dyn(3),dyn(quantity('1')),dyn(1)].isSorted()", "error: no such overload", 15),
    ("[quantity('1'),quantity('1000m')].distinct()", "[quantity(1)]", 31),
    ("[dyn(quantity('1')),dyn(1)].distinct()", "[quantity(1), 1]", 31),
]  # fmt: skip


@pytest.mark.parametrize("row", QUANTITIES_IN_TEXT_AND_EQUALITY, ids=itemgetter(0))
def test_quantities_in_text_and_equality(check, row):
    check(*row)
