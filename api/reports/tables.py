"""Plain tables, as kubectl prints them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from typing import cast

from ..models.problems import one_line

_UNBOUNDED = 10_000
# Columns; a terminal with fewer breaks lines by itself, as squeezed columns could not be read.
_NARROWEST = 80


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under headers, for stdout: on a terminal long cells wrap, elsewhere every row stays on its line."""
    lines = [[header.upper() for header in headers], *([one_line(cell) for cell in row] for row in rows)]
    terminal = sys.stdout.isatty()
    if not terminal and all(cell.isascii() for line in lines for cell in line):
        return _padded(lines)
    return _laid_out(lines[0], lines[1:], terminal)


def _padded(lines: Sequence[Sequence[str]]) -> str:
    """What needs no layout is written without rich, which takes long to load."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join("  ".join(map(str.ljust, line, widths)) + "\n" for line in lines)


def _laid_out(headers: Sequence[str], rows: Sequence[Sequence[str]], terminal: bool) -> str:
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
