"""The linear solver's library, which takes a second to load. GLOP is in it, and keeps its basis between solves."""

from __future__ import annotations

from ...encoders.library import interrupts_later

with interrupts_later():
    from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

__all__ = ["mathopt"]
