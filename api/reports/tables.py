"""Plain tables, as kubectl prints them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..models.problems import one_line

_UNBOUNDED = 10_000


def show(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headers on stdout; on a terminal long cells wrap, elsewhere every row stays on its line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header.upper(), overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    terminal = sys.stdout.isatty()
    Console(width=None if terminal else _UNBOUNDED, soft_wrap=not terminal).print(table)
