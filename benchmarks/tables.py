"""Tables for the docs, and what they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator


def machine() -> str:
    """Name the processor and the interpreter."""
    return f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}"


def show(rows: Iterator[tuple[str, ...]]) -> None:
    """Print rows as they come, the first of them as the head."""
    head = next(rows)
    print(f"\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
