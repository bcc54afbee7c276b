"""JSON texts: what is accepted, what is refused and where it stands."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drasat.models.formats.errors import MAX_DEPTH, TOO_DEEP, Unreadable
from drasat.models.formats.json import JsonItems, json_documents, split_documents


def read(text: str | bytes):
    data = text.encode() if isinstance(text, str) else text
    parts = split_documents(data)
    return [parts] if isinstance(parts, Unreadable) else list(json_documents(data, parts))


def reasons(text: str | bytes) -> list[tuple[str, str]]:
    return [reason for value in read(text) if isinstance(value, Unreadable) for reason in value.reasons]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a":1}', [{"a": 1}], id="one"),
        pytest.param('{"a":1}{"b":2}', [{"a": 1}, {"b": 2}], id="adjoining"),
        pytest.param('{"a":1}\n{"b":2}\n', [{"a": 1}, {"b": 2}], id="lines"),
        pytest.param('{\n "a": 1\n}\n\n{\n "b": 2\n}', [{"a": 1}, {"b": 2}], id="indented"),
        pytest.param("[1, 2]", [[1, 2]], id="array"),
        pytest.param(" \n\t", [], id="white-space"),
        pytest.param('{"a":1}\n{"a":1}', [{"a": 1}, {"a": 1}], id="equal-texts"),
    ],
)
def test_texts_of_a_file(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('{"a":NaN}', "line 1 column 6", id="nan"),
        pytest.param('{"a":Infinity}', "line 1 column 6", id="infinity"),
        pytest.param('{"a":-Infinity}', "invalid JSON", id="minus-infinity"),
        pytest.param('{"a":' + "1" * 400 + "}", "number too large at line 1 column 6", id="400-digits"),
        pytest.param('{"a":1e400}', "number too large", id="exponent"),
        pytest.param('{"a":"\\ud800"}', "surrogate", id="lone-high-surrogate"),
        pytest.param('{"a":"\\udc00x"}', "invalid JSON", id="lone-low-surrogate"),
        pytest.param('{"a":1,}', "invalid JSON", id="trailing-comma"),
        pytest.param('{"a":01}', "invalid JSON", id="leading-zero"),
        pytest.param('{"a":[1,2', "unexpected end", id="truncated"),
        pytest.param('{\n"a": tru\n}', "line 2", id="line-number"),
        pytest.param("{'a': 1}", "invalid JSON", id="single-quotes"),
        pytest.param('{"a":1}}', "column 8", id="one-brace-too-many"),
        pytest.param('{"a":1}\n{"b":2}\n{"c":tru}', "line 3", id="third-text"),
        pytest.param('{"ä":1}\n{"ö":"ü",\n"c":tru}', "line 3", id="line-after-non-ascii"),
    ],
)
def test_bad_text_is_refused_with_its_place(text, told):
    ((field, reason),) = reasons(text)
    assert field == ""
    assert told in reason


def test_column_counts_from_the_start_of_the_line_in_a_later_text():
    """The second text starts in column 10; its bad number stands five columns further."""
    ((_, reason),) = reasons('{"a":1}  {"b":' + "9" * 400 + "}")
    assert reason == "number too large at line 1 column 15"


@pytest.mark.parametrize("depth", [MAX_DEPTH + 10, 900, 1100, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_deep_nesting_is_refused(depth, opening, closing):
    text = opening * depth + "1" + closing * depth
    assert reasons(text) == [("", TOO_DEEP)]


def test_unclosed_deep_nesting_is_refused():
    assert reasons("[" * 100_000) == [("", TOO_DEEP)]


def test_nesting_at_the_bound_is_read():
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert reasons(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a":1,"a":2}', [("", 'duplicate key "a"')], id="top"),
        pytest.param('{"a":1,"a":1}', [("", 'duplicate key "a"')], id="same-value"),
        pytest.param('{"a" :1,"a":2}', [("", 'duplicate key "a"')], id="space-before-colon"),
        pytest.param('{"a"\n:1,"a"\t:2}', [("", 'duplicate key "a"')], id="white-space-before-colon"),
        pytest.param('{"x":{"a":1,"a":2}}', [("x", 'duplicate key "a"')], id="nested"),
        pytest.param('{"x":[{"y":0},{"a":1,"a":2}]}', [("x[1]", 'duplicate key "a"')], id="in-list"),
        pytest.param('{"a":1,"a":2,"b":"\\u0022:"}', [("", 'duplicate key "a"')], id="hidden-by-escaped-quote"),
        pytest.param('{"a":1,"a":2,"b":"\\u003a"}', [("", 'duplicate key "a"')], id="hidden-by-escaped-colon"),
        pytest.param('{"a":1,"\\u0061":2}', [("", 'duplicate key "a"')], id="escaped-key"),
        pytest.param('{"a":{"b":1,"b":2},"a":3}', [("a", 'duplicate key "b"'), ("", 'duplicate key "a"')], id="both"),
        pytest.param('{"a":1,"a":2,"a":3}', [("", 'duplicate key "a"')] * 2, id="thrice"),
        pytest.param('{"a":1,"b":{"a":1}}', [], id="another-level"),
        pytest.param('{"a":"\\u003a:\\":","b":":"}', [], id="colons-in-strings"),
        pytest.param('{"a" : 1, "b" : "x ? y : z"}', [], id="spaces-and-colons"),
    ],
)
def test_duplicate_keys(text, expected):
    assert reasons(text) == expected


KEYS = st.sampled_from(["a", "b", "a:", '":', "\\u0061", '\\"', "\\u003a", " :"])
SPACES = st.sampled_from(["", " ", "\n"])


def _repeats(pairs: list[tuple[str, object]]) -> bool:
    names = [json.loads(f'"{key}"') for key, _ in pairs]
    return len(set(names)) < len(names)


@given(
    st.lists(st.tuples(KEYS.filter(lambda key: key != '":'), KEYS.filter(lambda key: key != '":')), max_size=5), SPACES
)
def test_duplicates_are_found_exactly(pairs, space):
    """Whatever escapes and spaces say, a text is refused if and only if it repeats a key."""
    text = "{" + ",".join(f'"{key}"{space}:{space}"{value}"' for key, value in pairs) + "}"
    assert bool(reasons(text)) == _repeats(pairs)


def list_text(*items: str, kind: str = "List", head: str = "", tail: str = "") -> str:
    return f'{{{head}"apiVersion":"v1","kind":"{kind}","items":[{",".join(items)}]{tail}}}'


def test_items_of_a_list_are_read_one_by_one():
    (value,) = read(list_text('{"a":1}', '{"b":2}'))
    assert isinstance(value["items"], JsonItems)
    assert list(value["items"]) == [{"a": 1}, {"b": 2}]
    assert list(value["items"]) == [{"a": 1}, {"b": 2}], "can be read again"
    assert {key: field for key, field in value.items() if key != "items"} == {"apiVersion": "v1", "kind": "List"}


def test_a_bad_item_does_not_hide_the_others():
    (value,) = read(list_text('{"a":1}', '\n{"b":1,"b":2}', '\n {"c":1e999}', "{}"))
    first, second, third, fourth = value["items"]
    assert first == {"a": 1}
    assert second.reasons == (("", 'duplicate key "b"'),)
    assert third.reasons == (("", "number too large at line 3 column 7"),)
    assert fourth == {}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(list_text("{}", head='"kind":"List",'), id="kind"),
        pytest.param(list_text("{}", tail=',"items":[]'), id="items"),
        pytest.param(list_text("{}", tail=',"metadata":{"a":1,"a":2}'), id="in-metadata"),
        pytest.param(list_text("{}", head='"x":1,"y":2,"x":{},'), id="unknown-fields"),
        pytest.param(list_text("{}", tail=',"\\u0069tems":[]'), id="escaped"),
    ],
)
def test_duplicates_in_the_envelope_of_a_list_are_found(text):
    assert reasons(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"kind":"List","items":{}}', id="items-are-no-list"),
        pytest.param('{"kind":["List"],"items":[]}', id="kind-is-no-string"),
        pytest.param('{"kind":"ConfigMap","items":[]}', id="no-list-kind"),
        pytest.param('{"items":[]}', id="no-kind"),
        pytest.param('{"kind":"Li\\u0073t","items":[1]}', id="escaped-kind"),
    ],
)
def test_other_texts_are_read_whole(text):
    assert read(text) == [json.loads(text)]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(JUNK.map(lambda junk: {"x": junk}), max_size=4), st.booleans())
def test_whatever_is_written_is_read(values, indented):
    option = orjson.OPT_INDENT_2 if indented else 0
    assert read(b"\n".join(orjson.dumps(value, option=option) for value in values)) == values


@given(st.lists(JUNK, max_size=5), st.booleans())
def test_whatever_is_listed_is_read(items, indented):
    value = {"kind": "FooList", "metadata": {"x": ":"}, "items": items}
    (found,) = read(orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else 0))
    assert list(found["items"]) == items
