"""Tables of plain text."""

import sys
from collections import Counter
from random import Random

import pytest

from drasat.reports.tables import _layout_with_rich, colour_outcome, format_table

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


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of so many columns, with colours or without."""

    def of(columns, colours=False):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color" if colours else "dumb")

    monkeypatch.delenv("NO_COLOR", raising=False)
    return of


def test_on_a_terminal_long_cells_go_on_in_the_next_line_between_words(terminal):
    terminal(60)
    text = "no device of the class is free on any of the nodes that the pod may use"
    lines = [line.rstrip() for line in format_table(["node", "reason"], [["gpu-node-01", text]]).splitlines()]
    assert len(lines) > 2
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(" ".join(lines[1:]).split()) == f"gpu-node-01 {text}"


@pytest.mark.parametrize("columns", [10, 30, 70, 200])
@pytest.mark.parametrize("wide", [False, True])
def test_words_are_never_divided(terminal, columns, wide):
    terminal(columns)
    words = ["a" * 64, "b" * 20, "c" * 40]
    printed = format_table(["node", "kind", "claims"], [[words[0], words[1], f"{words[2]} and {words[2]}"]], wide=wide)
    kept = words if wide or columns == 200 else [words[0], words[2]]
    assert all(word in printed.split() for word in kept)


@pytest.mark.parametrize("seed", range(60))
def test_no_letter_is_lost_and_no_word_divided_at_any_width(terminal, seed):
    rng = Random(seed)
    terminal(rng.randint(1, 150))
    words = [chr(97 + number % 26) * rng.randint(1, 40) + str(number) for number in range(rng.randint(4, 40))]
    columns = rng.randint(1, 6)
    rows = [[" ".join(rng.choices(words, k=rng.randint(0, 6))) for _ in range(columns)] for _ in range(4)]
    printed = format_table([f"h{number}" for number in range(columns)], rows).split()
    assert Counter(printed[columns:]) == Counter(word for row in rows for cell in row for word in cell.split())


HEADERS = ["namespace", "claim", "driver", "share", "flags"]
ROWS = [["n" * 20, "c" * 20, "d" * 20, "s" * 20, "f" * 20]]


@pytest.mark.parametrize(
    ("columns", "dropped"),
    [
        (108, []),
        (107, ["flags"]),
        (86, ["flags"]),
        (85, ["flags", "share"]),
        (64, ["flags", "share"]),
        (63, ["flags", "share", "namespace"]),
        (42, ["flags", "share", "namespace"]),
    ],
)
def test_columns_are_dropped_in_their_order_while_the_table_is_too_wide(terminal, columns, dropped):
    terminal(columns)
    head, _, *below = (line.rstrip() for line in format_table(HEADERS, ROWS).splitlines())
    assert head.lower().split() == [header for header in HEADERS if header not in dropped]
    assert below == ([f"columns left out, see -o wide: {', '.join(dropped)}"] if dropped else [])
    assert format_table(HEADERS, ROWS, wide=True).splitlines()[0].lower().split() == HEADERS


def test_without_a_terminal_rows_are_lines_with_all_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert [line.split() for line in format_table(HEADERS, ROWS).lower().splitlines()] == [HEADERS, *ROWS]


def test_outcomes_have_colours_on_a_terminal(terminal):
    terminal(80, colours=True)
    printed = format_table(
        ["pod", "outcome"], [["Allocated-not", "Allocated"], ["p", "Unallocatable"], ["q", "Unknown"]]
    )
    coloured = ((32, "Allocated"), (31, "Unallocatable"), (33, "Unknown"))
    assert all(f"\x1b[{code}m{word}" in printed for code, word in coloured)
    assert "\x1b[32mAllocated-not" not in printed


def test_words_that_are_states_in_other_columns_have_none(terminal):
    terminal(80, colours=True)
    assert "\x1b[3" not in format_table(["claim"], [["free"]])
    assert "\x1b[32mfree" in format_table(["state"], [["free"]])


def test_no_color_is_respected(terminal, monkeypatch):
    terminal(80, colours=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in format_table(["outcome"], [["Allocated"]])


def test_lines_have_a_colour_for_their_outcome(terminal, monkeypatch):
    terminal(80, colours=True)
    assert colour_outcome("Optimal: 2 of 2") == "\x1b[32mOptimal\x1b[0m: 2 of 2"
    assert colour_outcome("claim a/Error-1: Unallocatable") == "claim a/Error-1: \x1b[31mUnallocatable\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour_outcome("Optimal: 2 of 2") == "Optimal: 2 of 2"


def test_lines_have_none_without_a_terminal_that_knows_colours(terminal, monkeypatch):
    terminal(80)
    assert colour_outcome("Optimal") == "Optimal"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert colour_outcome("Optimal") == "Optimal"
