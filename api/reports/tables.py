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
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for header in headers:
        grid.add_column(header.upper(), overflow="fold")
    for row in rows:
        grid.add_row(*(Text(one_line(cell)) for cell in row))
    terminal = sys.stdout.isatty()
    console = Console(file=StringIO(), force_terminal=terminal, width=None if terminal else _UNBOUNDED)
    if terminal:
        console.width = max(console.width, _NARROWEST)
    console.print(grid, soft_wrap=not terminal)
    return cast("StringIO", console.file).getvalue()
