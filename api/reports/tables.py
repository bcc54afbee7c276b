"""Plain tables, as kubectl prints them, and parts of lines that several reports have."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Protocol, cast

from msgspec import UNSET, UnsetType

from ..models.formats.errors import one_line

_UNBOUNDED = 10_000
# Columns; a terminal with fewer breaks lines by itself, as squeezed columns could not be read.
_NARROWEST = 80


def format_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under headers, for stdout: on a terminal long cells wrap, elsewhere every row stays on its line."""
    lines = [[header.upper() for header in headers], *([one_line(cell) for cell in row] for row in rows)]
    terminal = sys.stdout.isatty()
    if not terminal and all(cell.isascii() for line in lines for cell in line):
        # A table that needs no layout is written without rich, which takes long to load.
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "".join("  ".join(map(str.ljust, line, widths)) + "\n" for line in lines)
    return _layout_with_rich(lines[0], lines[1:], terminal)


def _layout_with_rich(headers: Sequence[str], rows: Sequence[Sequence[str]], terminal: bool) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for header in headers:
        grid.add_column(header, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    console = Console(file=StringIO(), force_terminal=terminal, width=None if terminal else _UNBOUNDED)
    if terminal:
        console.width = max(console.width, _NARROWEST)
    console.print(grid, soft_wrap=not terminal)
    return cast("StringIO", console.file).getvalue()


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
