"""YAML scalars: the values kubectl's reader gives them (recorded from sigs.k8s.io/yaml v1.6.0)."""

import pytest
from support.data import cases

from drasat.models.formats.yaml import ScalarError, key_text, resolve, resolve_tagged

TAG = "tag:yaml.org,2002:"


@pytest.mark.parametrize("text", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
def test_true(text):
    assert resolve(text) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
def test_false(text):
    assert resolve(text) is False


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_null(text):
    assert resolve(text) is None


@pytest.mark.parametrize(("text", "value"), cases("models/yaml-scalars", "integers"))
def test_integers(text, value):
    assert resolve(text) == value
    assert type(resolve(text)) is int


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.", 1.0),
        ("1.0", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("+.5", 0.5),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1.e3", 1000.0),
        ("1e+3", 1000.0),
        ("+12e03", 12000.0),
        ("1_0.5", 10.5),
        ("-.1_0", -0.1),
        (".8_7", 0.87),
        ("1e-400", 0.0),
        ("18446744073709551616", 18446744073709551616.0),
        ("-9223372036854775809", -9223372036854775808.0),
        ("0777777777777777777777777", 7.777777777777778e23),
    ],
)
def test_floats(text, value):
    assert resolve(text) == value
    assert type(resolve(text)) is float


@pytest.mark.parametrize("text", cases("models/yaml-scalars", "strings"))
def test_strings(text):
    assert resolve(text) == text


@pytest.mark.parametrize("text", [".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", ".NAN", "1" * 400, "-" + "9" * 400])
def test_numbers_that_are_not_finite_are_refused(text):
    with pytest.raises(ScalarError):
        resolve(text)


def test_a_huge_number_is_not_shown_in_full():
    with pytest.raises(ScalarError) as caught:
        resolve("7" * 100_000)
    assert len(str(caught.value)) < 60


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("!", "123", "123"),
        (TAG + "str", "123", "123"),
        (TAG + "str", "yes", "yes"),
        (TAG + "str", "", ""),
        (TAG + "str", "2001-01-01", "2001-01-01"),
        (TAG + "timestamp", "2001-01-01", "2001-01-01"),
        (TAG + "int", "3", 3),
        (TAG + "float", "3", 3),
        (TAG + "float", "3.5", 3.5),
        (TAG + "bool", "yes", True),
        (TAG + "null", "", None),
        (TAG + "binary", "aGVsbG8=", "hello"),
        (TAG + "binary", "aGVs\nbG8=", "hello"),
    ],
)
def test_tags(tag, text, value):
    found = resolve_tagged(text, tag)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        (TAG + "int", "x"),
        (TAG + "int", "1.0"),
        (TAG + "int", "yes"),
        (TAG + "int", ""),
        (TAG + "float", "yes"),
        (TAG + "bool", "1"),
        (TAG + "bool", "x"),
        (TAG + "null", "x"),
        (TAG + "null", "1"),
        (TAG + "binary", "***"),
        (TAG + "binary", "/w=="),
        (TAG + "float", ".inf"),
        (TAG + "foo", "x"),
        ("!foo", "x"),
        (TAG + "python/name:os.system", "x"),
    ],
)
def test_values_that_do_not_fit_their_tag_and_unknown_tags_are_refused(tag, text):
    with pytest.raises(ScalarError):
        resolve_tagged(text, tag)


def test_unknown_tag_is_named_in_short_form():
    with pytest.raises(ScalarError, match="unknown tag !!foo"):
        resolve_tagged("x", TAG + "foo")


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("a", "a"),
        ("1", "1"),
        ("0x10", "16"),
        ("017", "15"),
        ("1_0", "10"),
        ("yes", "true"),
        ("off", "false"),
        ("1.5", "1.5"),
        ("1.0", "1"),
        ("-0.0", "-0"),
        ("1e3", "1000"),
        ("100000.0", "100000"),
        ("123456.5", "123456.5"),
        ("1e6", "1e+06"),
        ("1.5e6", "1.5e+06"),
        ("-1.5e6", "-1.5e+06"),
        ("1234567.0", "1.234567e+06"),
        ("123456789.5", "1.2345679e+08"),
        ("1e21", "1e+21"),
        ("1e-4", "0.0001"),
        ("0.00012345", "0.00012345"),
        ("1e-5", "1e-05"),
        ("1.25e-7", "1.25e-07"),
        ("2001-01-01", "2001-01-01"),
    ],
)
def test_keys_become_strings(written, key):
    assert key_text(resolve(written)) == key


@pytest.mark.parametrize("value", [None, [], {}, 1e300], ids=["null", "list", "mapping", "beyond-single-precision"])
def test_keys_without_a_text_are_refused(value):
    with pytest.raises(ScalarError):
        key_text(value)
