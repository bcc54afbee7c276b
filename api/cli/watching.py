"""Progress for people: a line on stderr, on a terminal only, when something takes over a second."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

from .exits import tell


def watching() -> Callable[[str, int | None, int | None], None] | None:
    """Return what is to be called about every second; None without a terminal."""
    return _Searching().tell if sys.stderr.isatty() else None


def watching_plan() -> Callable[[str, float, float | None], None] | None:
    """Return what is to be called whenever there is news; None without a terminal."""
    return _Planning().tell if sys.stderr.isatty() else None


class _News:
    """Says a thing when it is news."""

    def __init__(self) -> None:
        self._last = ""

    def say(self, line: str) -> None:
        if line != self._last:
            self._last = line
            tell(line)


class _Searching(_News):
    """An allocation under way."""

    def tell(self, stage: str, value: int | None, bound: int | None) -> None:
        parts = [stage]
        if value is not None:
            parts.append(f"best so far {value}")
        if bound is not None:
            parts.append(f"at least {bound}")
        self.say(f"still searching: {', '.join(parts)}")


class _Planning(_News):
    """A plan under way: its news come at any time, and are told once a second."""

    def __init__(self) -> None:
        super().__init__()
        self._told = monotonic()

    def tell(self, stage: str, value: float, bound: float | None) -> None:
        from ..plan_answers import relative_gap
        from ..reports.plan import progress

        if monotonic() - self._told >= 1:
            self._told = monotonic()
            self.say(f"still planning: {progress(stage, value, bound, relative_gap(value, bound))}")
