"""How complaints are worded and placed."""

from __future__ import annotations

import pytest

from drasat.cel.errors import CelCompileError, CelError, Issue, describe, location


@pytest.mark.parametrize(
    ("text", "pos", "expected"),
    [("abc", 0, (1, 1)), ("abc", 3, (1, 4)), ("a\nbc", 2, (2, 1)), ("a\nbc", 4, (2, 3)), ("\n\n", 2, (3, 1))],
)
def test_location_counts_from_one(text: str, pos: int, expected: tuple[int, int]) -> None:
    assert location(text, pos) == expected


def test_complaint_shows_the_line_and_a_caret() -> None:
    assert describe("x + yy", [Issue(4, "no such thing")]) == "ERROR: <input>:1:5: no such thing\n | x + yy\n | ....^"


def test_complaint_shows_only_its_line_with_tabs_as_spaces() -> None:
    assert describe("a +\n\tb + c\n+ d", [Issue(9, "bad")]) == "ERROR: <input>:2:6: bad\n |  b + c\n | .....^"


def test_places_of_wide_characters_are_wide() -> None:
    assert describe("'é' + ü", [Issue(6, "bad")]) == "ERROR: <input>:1:7: bad\n | 'é' + ü\n | .\uff0e....\uff3e"


def test_complaint_about_the_whole_has_no_line() -> None:
    assert describe("a", [Issue(-1, "too deep")]) == "ERROR: <input>:-1:0: too deep"


def test_complaint_about_nothing_has_no_line() -> None:
    assert describe("", [Issue(0, "empty")]) == "ERROR: <input>:1:0: empty"


def test_complaints_are_put_in_the_order_of_their_places() -> None:
    error = CelCompileError.at("abc", [Issue(2, "second"), Issue(0, "first"), Issue(2, "third")])
    assert [issue.message for issue in error.issues] == ["first", "second", "third"]
    assert str(error).startswith("ERROR: <input>:1:1: first\n")
    assert isinstance(error, CelError)


def test_at_most_a_hundred_complaints_are_printed() -> None:
    printed = describe("a", [Issue(0, f"complaint {number}") for number in range(103)])
    assert printed.count("ERROR:") == 100
    assert printed.endswith("\n3 more errors were truncated")
