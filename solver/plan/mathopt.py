"""The linear solver's library, which takes a second to load. GLOP is in it, and keeps its basis between solves."""

from __future__ import annotations

from ...encoders.solver_library import defer_interrupts

with defer_interrupts():
    from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

__all__ = ["mathopt"]
