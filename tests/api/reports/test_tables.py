"""Tables of plain text."""

import sys

import pytest

from drasat.reports.tables import _layout_with_rich, format_table

CASES = {
    "widths": (["a", "bcd", "e"], [["x", "y", "zzzz"], ["xxxxx", "", ""]]),
    "no rows": (["a", "bcd"], []),
    "one column": (["a"], [["  y "], [""], ["x" * 300]]),
    "markup": (["a", "b"], [["[bold]x[/bold]", ":smile:"]]),
}


@pytest.mark.parametrize(("headers", "rows"), CASES.values(), ids=CASES)
def test_simple_tables_look_like_those_that_are_laid_out(headers, rows):
    assert format_table(headers, rows) == _layout_with_rich([header.upper() for header in headers], rows, False)


def test_wide_letters_count_twice():
    assert format_table(["a", "b"], [["\u4e00\u4e00", "x"], ["y", "z"]]) == "A     B\n\u4e00\u4e00  x\ny     z\n"


def test_rows_are_lines():
    assert format_table(["a", "b"], [["x\ny", "z"]]).count("\n") == 2


def test_on_a_terminal_long_cells_wrap(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    lines = format_table(["a", "b"], [["x" * 100, "y"]]).splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
