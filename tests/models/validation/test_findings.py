"""How problems are worded."""

import pytest
from support.validation import problems

from drasat.models.kubernetes.meta import byte_length
from drasat.models.validation.findings import Findings, MapKey, quote, render_path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param((), "", id="object itself"),
        pytest.param(("spec", "devices", 3, "name"), "spec.devices[3].name", id="field of an item"),
        pytest.param(("spec", MapKey("a.b/c"), "value"), "spec[a.b/c].value", id="key"),
        pytest.param(("a", 0, 1, MapKey("")), "a[0][1][]", id="empty key"),
        pytest.param(("a", MapKey("x\ny")), "a[x\\ny]", id="key of two lines"),
    ],
)
def test_path_is_spelt_like_the_api(path, text):
    assert render_path(path) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a", '"a"', id="string"),
        pytest.param('a"b', '"a\\"b"', id="quote"),
        pytest.param("\u00e9", '"\u00e9"', id="letter"),
        pytest.param("a\nb", '"a\\nb"', id="line break"),
        pytest.param("\ud800", '"\\ud800"', id="lone surrogate"),
        pytest.param(0, "0", id="integer"),
        pytest.param(False, "false", id="boolean"),
        pytest.param(None, "null", id="null"),
        pytest.param({"a": [1]}, '{"a":[1]}', id="object"),
        pytest.param("x" * 201, '"' + "x" * 200 + '..."', id="long"),
        pytest.param("\n" * 201, '"' + "\\n" * 200 + '..."', id="long and unprintable"),
    ],
)
def test_value_is_quoted_on_one_line(value, text):
    assert quote(value) == text


@pytest.mark.parametrize(("text", "length"), [("abc", 3), ("\u00e9", 2), ("\U0001f600", 4), ("\ud800", 3)])
def test_length_is_in_bytes(text, length):
    assert byte_length(text) == length


def test_unique_reports_each_repetition_at_its_index():
    found = Findings()
    found.unique(("a",), ["x", "y", "x", "x"], ("name",))
    assert [str(problem) for problem in found.problems] == [
        'a[2].name: Duplicate value: "x"',
        'a[3].name: Duplicate value: "x"',
    ]


def test_no_collection_is_not_too_many():
    found = Findings()
    found.at_most(("a",), None, 0)
    found.at_most(("a",), (), 0)
    assert found.problems == []


@pytest.mark.parametrize("field", ["driver", "nodeName"])
def test_hostile_text_is_reported_not_raised(field):
    assert problems("ResourceSlice", {f"spec {field}": "\ud800" * 3})
    assert problems("ResourceSlice", {f"spec {field}": "\x00\x1b[31m" * 100_000})
