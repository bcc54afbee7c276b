import pickle

import pytest
from support.data import cases

from drasat.models.kubernetes.quantity import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, NANO, Quantity

FORMATS = {"D": DECIMAL_SI, "B": BINARY_SI, "E": DECIMAL_EXPONENT}

# text, canonical text, format, value, milli, integer as CEL sees it, double
READ = [
    ("0", "0", "D", 0, 0, 0, 0.0),
    ("-0", "0", "D", 0, 0, 0, 0.0),
    ("0.0", "0", "D", 0, 0, None, 0.0),
    ("0Gi", "0", "B", 0, 0, 0, 0.0),
    ("0Ei", "0", "B", 0, 0, None, 0.0),
    (".", "0", "D", 0, 0, 0, 0.0),
    ("+", "0", "D", 0, 0, 0, 0.0),
    ("k", "0", "D", 0, 0, 0, 0.0),
    ("Mi", "0", "B", 0, 0, 0, 0.0),
    ("e3", "0", "E", 0, 0, 0, 0.0),
    ("+5", "5", "D", 5, 5000, 5, 5.0),
    ("1.", "1", "D", 1, 1000, 1, 1.0),
    ("1.0", "1", "D", 1, 1000, None, 1.0),
    (".5", "500m", "D", 1, 500, None, 0.5),
    ("1.50", "1500m", "D", 2, 1500, None, 1.5),
    ("-1.5", "-1500m", "D", -2, -1500, None, -1.5),
    ("2000", "2k", "D", 2000, 2000000, 2000, 2000.0),
    ("00012k", "12k", "D", 12000, 12000000, 12000, 12000.0),
    ("1.555k", "1555", "D", 1555, 1555000, 1555, 1555.0),
    ("1.5555k", "1555500m", "D", 1556, 1555500, None, 1555.5),
    ("1u", "1u", "D", 1, 1, None, 1e-06),
    ("0.123456789", "123456789n", "D", 1, 124, None, 0.12345678900000001),
    ("1M", "1M", "D", 10**6, 10**9, 10**6, 1e6),
    ("1T", "1T", "D", 10**12, 10**15, 10**12, 1e12),
    ("9E", "9E", "D", 9 * 10**18, 9 * 10**21, 9 * 10**18, 9e18),
    ("10E", "10E", "D", 10**19, 10**22, None, 1e19),
    ("1.5E", "1500P", "D", 15 * 10**17, 15 * 10**20, 15 * 10**17, 1.5e18),
    ("999999999999999999", "999999999999999999", "D", 10**18 - 1, 10**21 - 1000, 10**18 - 1, 1e18),
    ("1234567890123456789", "1234567890123456789", "D", 1234567890123456789, None, None, 1.234567890123457e18),
    ("1Ki", "1Ki", "B", 1024, 1024000, 1024, 1024.0),
    ("1024Mi", "1Gi", "B", 2**30, 2**30 * 1000, 2**30, float(2**30)),
    ("1536Mi", "1536Mi", "B", 3 * 2**29, None, 3 * 2**29, 1610612736.0),
    ("1.5Gi", "1536Mi", "B", 3 * 2**29, None, None, 1610612736.0),
    ("0.5Ki", "512", "B", 512, 512000, None, 512.0),
    ("0.9Ki", "921600m", "B", 922, 921600, None, 921.6),
    ("0.1Mi", "104857600m", "B", 104858, 104857600, None, 104857.6),
    ("0.000001Ki", "1024u", "D", 1, 2, None, 0.0010240000000000002),
    ("-2Gi", "-2Gi", "B", -(2**31), None, -(2**31), -float(2**31)),
    ("16Ti", "16Ti", "B", 2**44, None, 2**44, float(2**44)),
    ("100Ti", "100Ti", "B", 100 * 2**40, None, None, 1.099511627776e14),
    ("1Pi", "1Pi", "B", 2**50, None, None, float(2**50)),
    ("7Ei", "7Ei", "B", 7 * 2**60, None, None, float(7 * 2**60)),
    ("8Ei", "9223372036854775807", "B", 2**63 - 1, None, None, 2.0**63),
    ("-9Ei", "-9223372036854775807", "B", -(2**63) + 1, None, None, -(2.0**63)),
    ("1e3", "1e3", "E", 1000, 10**6, 1000, 1000.0),
    ("1E3", "1e3", "E", 1000, 10**6, 1000, 1000.0),
    ("1E+03", "1e3", "E", 1000, 10**6, 1000, 1000.0),
    ("1e4", "10e3", "E", 10000, 10**7, 10000, 10000.0),
    ("1e2", "100", "E", 100, 10**5, 100, 100.0),
    ("15e-1", "1500e-3", "E", 2, 1500, None, 1.5),
    ("123456e-6", "123456e-6", "E", 1, 124, None, 0.123456),
    ("1e21", "1e21", "E", 10**21, None, None, 1e21),
    ("1e400", "10e399", "E", 10**400, None, None, float("inf")),
    ("-1e400", "-10e399", "E", -(10**400), None, None, float("-inf")),
]


@pytest.mark.parametrize(
    ("text", "canonical", "form", "value", "milli", "integer", "double"), READ, ids=[r[0] for r in READ]
)
def test_text_is_read_exactly(text, canonical, form, value, milli, integer, double):
    quantity = Quantity.parse(text)
    assert str(quantity) == canonical
    assert quantity.format == FORMATS[form]
    assert quantity.value == value
    assert milli is None or quantity.milli == milli
    assert quantity.integer == integer
    assert float(quantity) == double


@pytest.mark.parametrize("row", READ, ids=[r[0] for r in READ])
def test_canonical_text_means_the_same_amount(row):
    assert Quantity.parse(row[1]) == Quantity.parse(row[0])


REGEX = "quantities must match the regular expression"
SUFFIX = "unable to parse quantity's suffix"
REFUSED = [
    ("", REGEX),
    ("1 ", REGEX),
    (" 1", REGEX),
    ("1.2.3", REGEX),
    ("1e3k", REGEX),
    ("1E3E", REGEX),
    ("1٣", REGEX),
    ("\uff11", REGEX),
    ("1\n", REGEX),
    ("1_0", REGEX),
    ("nan", REGEX),
    ("inf", REGEX),
    ("0x10", REGEX),
    ("1K", SUFFIX),
    ("200K", SUFFIX),
    ("1mi", SUFFIX),
    ("1e", SUFFIX),
    ("1e+", SUFFIX),
    ("1k-", SUFFIX),
    ("1Ki5", SUFFIX),
    ("1nn", SUFFIX),
    ("1eE", SUFFIX),
    ("+-5", SUFFIX),
    ("Pi", "unable to parse numeric part of quantity"),
    ("-.Ei", "unable to parse numeric part of quantity"),
    ("1e99999999999", "too many digits or too big an exponent"),
    ("1e-99999999999", "too many digits or too big an exponent"),
    ("9" * 100_000, "too many digits or too big an exponent"),
    (10**5000, "too many digits or too big an exponent"),
    (True, REGEX),
    (None, REGEX),
    (float("nan"), REGEX),
    (float("inf"), REGEX),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_bad_text_is_refused_in_one_line(text, message):
    with pytest.raises(ValueError, match="quantit") as caught:
        Quantity.parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


FINE = [
    ("0.0000000001", 1),
    ("0.1n", 1),
    ("-0.1n", -1),
    ("1.0000000001", NANO + 1),
    ("-1.0000000001", -NANO - 1),
    ("1e-10", 1),
    ("1e-400", 1),
    ("0e-400", 0),
    ("0." + "0" * 300, 0),
    ("0.1234567891", 123456790),
    ("1.5n", 2),
    ("2.0n", 2),
]


@pytest.mark.parametrize(("text", "nano"), FINE, ids=[r[0][:16] for r in FINE])
def test_finer_than_nano_is_rounded_away_from_zero(text, nano):
    assert Quantity.parse(text).nano == nano


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5, "5"),
        (-3, "-3"),
        (0.5, "500m"),
        (1.25, "1250m"),
        (2000, "2k"),
        (1e-05, "10e-6"),
        (1e16, "10e15"),
        (10**400, None),
    ],
)
def test_bare_numbers_of_manifests_are_read_as_their_text(number, text):
    quantity = Quantity.parse(number)
    assert quantity == Quantity.parse(repr(number))
    assert text is None or str(quantity) == text


def test_long_numbers_are_exact():
    text = "1" * 400
    assert str(Quantity.parse(text)) == text
    assert Quantity.parse(text).value == int(text)


# left, operator, right, canonical text, format, held as an integer, double
SUMS = cases("models/quantity", "sums")


@pytest.mark.parametrize(
    ("left", "operator", "right", "text", "form", "whole", "double"), SUMS, ids=[" ".join(r[:3]) for r in SUMS]
)
def test_sums_and_differences_are_written_as_upstream_does(left, operator, right, text, form, whole, double):
    a, b = Quantity.parse(left), Quantity.parse(right)
    result = a + b if operator == "+" else a - b
    assert str(result) == text
    assert result.format == FORMATS[form]
    assert (result.integer is not None) is whole
    assert float(result) == double


def test_zeros_with_many_places_can_be_added():
    assert (Quantity.parse("0." + "0" * 20) + Quantity.parse("1k")).value == 1000


def test_order_and_equality_look_at_the_amount_only():
    assert Quantity.parse("1024Mi") == Quantity.parse("1Gi") == Quantity.parse("1073741824")
    assert hash(Quantity.parse("1000m")) == hash(Quantity.parse("1"))
    assert Quantity.parse("1") != 1
    assert Quantity.parse("999M") < Quantity.parse("1G") < Quantity.parse("1Gi")
    assert sorted(map(Quantity.parse, ["1Ki", "-5", "1k", "1"]))[0] == Quantity.parse("-5")


@pytest.mark.parametrize(
    ("nano", "form", "text"),
    [
        (0, BINARY_SI, "0"),
        (2**31 * NANO, BINARY_SI, "2Gi"),
        (1536 * 2**20 * NANO, BINARY_SI, "1536Mi"),
        (1000 * NANO, BINARY_SI, "1k"),
        (1025 * NANO, BINARY_SI, "1025"),
        (2048 * NANO + 1, BINARY_SI, "2048000000001n"),
        (2**62 * NANO, BINARY_SI, "4Ei"),
        (1500 * 10**6, DECIMAL_SI, "1500m"),
        (10**21 * NANO, DECIMAL_SI, "1000E"),
        (10**21 * NANO, DECIMAL_EXPONENT, "1e21"),
        (NANO, DECIMAL_EXPONENT, "1"),
        (1, DECIMAL_EXPONENT, "1e-9"),
    ],
    ids=lambda v: str(v)[:14],
)
def test_computed_amounts_are_written_in_the_format_asked_for(nano, form, text):
    quantity = Quantity.from_nano(nano, form)
    assert str(quantity) == text
    assert Quantity.parse(text) == quantity


def test_computed_amounts_know_whether_they_are_integers():
    assert Quantity.from_nano(5 * NANO).integer == 5
    assert Quantity.from_nano(5 * NANO + 1).integer is None
    assert Quantity.from_nano(2**64 * NANO).integer is None
    assert Quantity.parse("0").integer == 0


def test_quantities_are_remembered_and_can_be_pickled():
    assert Quantity.parse("77Gi") is Quantity.parse("77Gi")
    assert Quantity.parse(1) is Quantity.parse("1")
    again = pickle.loads(pickle.dumps(Quantity.parse("1.5Gi")))
    assert again == Quantity.parse("1.5Gi")
    assert again.integer is None


def test_computed_amounts_beyond_the_cap_of_texts_keep_their_value():
    assert str(Quantity.from_nano(2**70 * NANO, BINARY_SI)) == "1024Ei"
