"""The documented checks are the tested ones."""

import os

from .page import PAGE, cell, line, page


def test_page_of_checks_is_up_to_date():
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_fine_rows_are_not_on_the_page():
    assert "pool 253 bytes" not in page()
    assert "pool 254 bytes" in page()


def test_cells_hold_no_markup():
    assert cell("a|b`c`*") == "a\\|b'c'\\*"
    assert cell("x" * 200).endswith("x ...")


def test_line_tells_severity_apart():
    assert line("r", "a.b: Required value") == "| r | error | `a.b` | Required value |"
    assert line("r", "warning a: b: c") == "| r | warning | `a` | b: c |"
    assert line("r", "structure a: b") == "| r | structure | `a` | b |"
