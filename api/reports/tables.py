"""Plain tables, as kubectl prints them, and parts of lines that several reports have."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import UNSET, UnsetType

from ..models.formats.errors import one_line

if TYPE_CHECKING:
    from rich.tree import Tree

_UNBOUNDED = 10_000
_HEIGHT = 25
# A column of texts counts as this wide where columns are dropped: longer texts go on in the next line.
_TEXT_WIDTH = 30
DROP_ORDER = (
    "flags",
    "share",
    "consumed",
    "generation",
    "whole nodes",
    "free devices",
    "wasted of all",
    "gangs",
    "steps",
    "first fit",
    "at most",
    "other resources",
    "taints",
    "unavailable",
    "shared",
    "pods",
    "memory",
    "cpu",
    "use",
    "blocked",
    "size",
    "shape",
    "request",
    "kind",
    "namespace",
)
"""The columns that go, the first one first, while a table is wider than the terminal."""
_GOOD, _BAD, _OPEN = "green", "red", "yellow"
# Words of the API and of documents, which are no names of objects.
_OUTCOME_STYLES = {
    **dict.fromkeys(("Allocated", "Placed", "Optimal"), _GOOD),
    **dict.fromkeys(("Unallocatable", "NotPlaced", "Error", "Infeasible"), _BAD),
    **dict.fromkeys(("Unknown", "Feasible"), _OPEN),
}
_STATE_STYLES = {
    **_OUTCOME_STYLES,
    **dict.fromkeys(("free", "complete", "allocated", "proven", "equal", "equivalent"), _GOOD),
    **dict.fromkeys(("orphaned", "invalid", "unreachable", "unavailable", "different"), _BAD),
    **dict.fromkeys(("pending", "incomplete", "tainted", "blocked", "unknown", "chosen"), _OPEN),
}
_STATE_COLUMNS = ("OUTCOME", "STATE", "RELATION")


def format_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, wide: bool = False) -> str:
    """Rows under headers, for stdout.

    On a terminal outcomes have colours, columns are dropped by ``DROP_ORDER`` while the table is too wide, unless it is
    to be ``wide``, and long cells go on in the next line, between words. Elsewhere every row is one line.
    """
    lines = [[header.upper() for header in headers], *([one_line(cell) for cell in row] for row in rows)]
    terminal = sys.stdout.isatty()
    if not terminal and all(cell.isascii() for line in lines for cell in line):
        # A table that needs no layout is written without rich, which takes long to load.
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "".join("  ".join(map(str.ljust, line, widths)) + "\n" for line in lines)
    return _layout_with_rich(lines[0], lines[1:], terminal, wide)


def _layout_with_rich(headers: Sequence[str], rows: Sequence[Sequence[str]], terminal: bool, wide: bool = False) -> str:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = [list(column) for column in zip(headers, *rows, strict=True)]
    full = [max(map(cell_len, column)) for column in columns]
    # Headers stay on one line.
    words = ([header, *(word for cell in cells for word in cell.split(" "))] for header, *cells in columns)
    least = [max(map(cell_len, column)) for column in words]
    available = get_terminal_size().columns if terminal else _UNBOUNDED
    dropped: list[str] = []
    if terminal and not wide:
        needed = [min(width, max(word, _TEXT_WIDTH)) for width, word in zip(full, least, strict=True)]
        dropped = _columns_to_drop(headers, needed, available)
    kept = [number for number, header in enumerate(headers) if header not in dropped]
    widths = _share_width([least[number] for number in kept], [full[number] for number in kept], available)
    # A terminal that is narrower than the words breaks the lines by itself. It has a height as well: rich takes the
    # width of a terminal without capabilities from nowhere else.
    total = max(available, sum(widths) + _GAP * len(widths))
    console = Console(file=StringIO(), force_terminal=terminal, width=total, height=_HEIGHT)
    grid = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for number, width in zip(kept, widths, strict=True):
        grid.add_column(headers[number], overflow="fold", width=width)
    for row in rows:
        grid.add_row(*(Text(row[number], _style(headers[number], row[number])) for number in kept))
    console.print(grid, soft_wrap=not terminal)
    if dropped:
        console.print(Text(f"columns left out, see -o wide: {', '.join(dropped).lower()}", "dim"), soft_wrap=True)
    return cast("StringIO", console.file).getvalue()


_GAP = 2


def _share_width(least: Sequence[int], full: Sequence[int], available: int) -> list[int]:
    """The width of each column: its full one where that is possible, and never less than its longest word."""
    spare = available - sum(least) - _GAP * (len(least) - 1)
    widths = list(least)
    by_need = sorted(range(len(least)), key=lambda number: full[number] - least[number])
    for place, number in enumerate(by_need):
        more = max(0, min(full[number] - least[number], spare // (len(by_need) - place)))
        widths[number] += more
        spare -= more
    return widths


def _columns_to_drop(headers: Sequence[str], widths: Sequence[int], available: int) -> list[str]:
    """The headers of the columns without which the table fits, or of all that may go."""
    left = dict(zip(headers, widths, strict=True))
    dropped: list[str] = []
    for header in map(str.upper, DROP_ORDER):
        if sum(left.values()) + _GAP * (len(left) - 1) <= available:
            break
        if header in left:
            del left[header]
            dropped.append(header)
    return dropped


def _style(header: str, cell: str) -> str:
    """The colour of an outcome or a state; rich leaves colours out where NO_COLOR is set."""
    return (_STATE_STYLES if header in _STATE_COLUMNS else _OUTCOME_STYLES).get(cell, "")


_ANSI_COLOURS = {_GOOD: 32, _BAD: 31, _OPEN: 33}
_OUTCOME_WORD = re.compile(rf"(?<![\w/.-])(?:{'|'.join(_OUTCOME_STYLES)})(?![\w/.-])")


def colour_outcome(line: str) -> str:
    """The line for stdout, on a terminal with a colour for its first outcome, unless NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return line
    return _OUTCOME_WORD.sub(lambda word: f"\x1b[{_ANSI_COLOURS[_OUTCOME_STYLES[word[0]]]}m{word[0]}\x1b[0m", line, 1)


def format_tree(tree: Tree) -> str:
    """Lay a tree out, every branch on its line."""
    from rich.console import Console

    console = Console(file=StringIO(), force_terminal=sys.stdout.isatty(), width=_UNBOUNDED, height=_HEIGHT)
    console.print(tree, soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in cast("StringIO", console.file).getvalue().splitlines())


def display_cells(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    """Rows of data for printing: lists with commas, and what is None as kubectl prints it."""
    return [[_display_cell(cell) for cell in row] for row in rows]


def _display_cell(cell: object) -> str:
    if isinstance(cell, list):
        return ", ".join(map(str, cell))
    return "<none>" if cell is None else str(cell)


# More names than these are only counted.
_MOST_NAMES = 3


class TimedDocument(Protocol):
    """A document that may have wall times."""

    @property
    def timings(self) -> dict[str, float] | UnsetType:
        """Seconds of each phase."""


def timing_lines(document: TimedDocument) -> Iterator[str]:
    """Wall times of the phases, if the document has them."""
    if document.timings is not UNSET:
        yield ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in document.timings.items())


def display_unit(pod: str | None, claims: Sequence[str]) -> str:
    """Name a unit: the pod, or its loose claims."""
    return f"pod {pod}" if pod else f"claim {', '.join(claims)}"


def display_names(names: Sequence[str], count: int | None = None) -> str:
    """The first few names, and how many more; with a count all names, and how many of it are left."""
    count, shown = (len(names), names[:_MOST_NAMES]) if count is None else (count, names)
    summary = ", ".join(name or "any node" for name in shown)
    return f"{summary} and {count - len(shown)} more" if count > len(shown) else summary
