"""Text to tokens: every class of token, and text that is none."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat.cel.lexer import parse_bytes, parse_double, parse_int, parse_string, parse_uint, tokenize
from drasat.cel.values import UInt


def kinds(text: str) -> list[str]:
    """The kinds of the tokens, without the end."""
    return [token.kind for token in tokenize(text)[0][:-1]]


@pytest.mark.parametrize(("text", "kind"), cases("cel/lexer", "text_is_one_token_of_the_kind"))
def test_text_is_one_token_of_the_kind(text: str, kind: str) -> None:
    tokens, issues = tokenize(text)
    assert [(token.kind, token.text, token.pos) for token in tokens] == [(kind, text, 0), ("end", "<EOF>", len(text))]
    assert issues == []


@pytest.mark.parametrize("mark", list("<>()[]{}.,:?+-*/%!"))
def test_every_mark_is_a_token_of_its_own(mark: str) -> None:
    assert kinds(f"{mark} {mark}") == [mark, mark]


@pytest.mark.parametrize(("text", "expected"), cases("cel/lexer", "the_longest_token_is_taken"))
def test_the_longest_token_is_taken(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_space_and_comments_are_dropped_and_places_kept() -> None:
    tokens, issues = tokenize("a // b\n\t+\f\r\nc// d")
    assert [(token.text, token.pos) for token in tokens] == [("a", 0), ("+", 8), ("c", 12), ("<EOF>", 17)]
    assert issues == []


@pytest.mark.parametrize(
    ("text", "broken"), cases("cel/lexer", "text_that_is_no_token_is_reported_up_to_where_it_breaks")
)
def test_text_that_is_no_token_is_reported_up_to_where_it_breaks(text: str, broken: str) -> None:
    _, issues = tokenize(text)
    assert issues[0].message == f"Syntax error: token recognition error at: '{broken}'"
    assert issues[0].pos == text.index(broken)


def test_reading_goes_on_after_text_that_is_no_token() -> None:
    tokens, issues = tokenize("a @ b $ c")
    assert [token.text for token in tokens] == ["a", "b", "c", "<EOF>"]
    assert [issue.pos for issue in issues] == [2, 6]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("0x10", 16),
        ("-0x10", -16),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0x7fffffffffffffff", 2**63 - 1),
    ],
)
def test_int_literal(text: str, value: int) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "0x8000000000000000", "1" * 5000])
def test_int_literal_out_of_range(text: str) -> None:
    with pytest.raises(ValueError, match="invalid int literal"):
        parse_int(text)


@pytest.mark.parametrize(("text", "value"), [("0u", 0), ("18446744073709551615u", 2**64 - 1), ("0xffU", 255)])
def test_uint_literal_is_a_uint(text: str, value: int) -> None:
    parsed = parse_uint(text)
    assert type(parsed) is UInt
    assert parsed == value


def test_uint_literal_out_of_range() -> None:
    with pytest.raises(ValueError, match="invalid uint literal"):
        parse_uint("18446744073709551616u")


@pytest.mark.parametrize(("text", "value"), [("1.5", 1.5), (".5e1", 5.0), ("-2e-1", -0.2), ("1e-400", 0.0)])
def test_double_literal(text: str, value: float) -> None:
    assert parse_double(text) == value


@pytest.mark.parametrize("text", ["1e400", "-1e309"])
def test_double_literal_out_of_range(text: str) -> None:
    with pytest.raises(ValueError, match="invalid double literal"):
        parse_double(text)


@pytest.mark.parametrize(("text", "value"), cases("cel/lexer", "string_literal"))
def test_string_literal(text: str, value: str) -> None:
    assert kinds(text) == ["string"]
    assert parse_string(text) == value


@pytest.mark.parametrize("text", [r"'\ud800'", r"'\udfff'", r"'\U00110000'", r"'\UFFFFFFFF'"])
def test_string_literal_of_no_code_point(text: str) -> None:
    with pytest.raises(ValueError, match="invalid unicode code point"):
        parse_string(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b'abc'", b"abc"),
        ("b'é'", "é".encode()),
        (r"b'\xff\377\n'", b"\xff\xff\n"),
        (r"br'\xff'", rb"\xff"),
        (r"B'''\''''", b"'"),
    ],
)
def test_bytes_literal(text: str, value: bytes) -> None:
    assert kinds(text) == ["bytes"]
    assert parse_bytes(text) == value


def test_bytes_literal_has_no_code_points() -> None:
    with pytest.raises(ValueError, match="unable to unescape string"):
        parse_bytes(r"b'\u00ff'")
