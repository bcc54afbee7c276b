"""Progress for people: a line on stderr, on a terminal only, when something takes over a second."""

from __future__ import annotations

import sys
from collections.abc import Callable

from .exits import tell


def watching() -> Callable[[str, int | None, int | None], None] | None:
    """Return what is to be called about every second; None without a terminal."""
    return _Teller().tell if sys.stderr.isatty() else None


class _Teller:
    """Says a thing when it is news."""

    def __init__(self) -> None:
        self._last = ""

    def tell(self, stage: str, value: int | None, bound: int | None) -> None:
        parts = [stage]
        if value is not None:
            parts.append(f"best so far {value}")
        if bound is not None:
            parts.append(f"at least {bound}")
        line = ", ".join(parts)
        if line != self._last:
            self._last = line
            tell(f"still searching: {line}")
