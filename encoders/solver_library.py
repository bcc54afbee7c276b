"""The solver's library. Loading it takes a second, and must not be interrupted halfway.

Native modules whose loading Ctrl-C stops are broken for the rest of the process, or lose the interrupt. Ctrl-C is
therefore held back until they are loaded.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the end. Only the main thread gets it, so that others have nothing to hold back."""
    if current_thread() is not main_thread():
        yield
        return
    held: list[FrameType | None] = []
    handler = signal.signal(signal.SIGINT, lambda _number, frame: held.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
    if held and callable(handler):
        handler(signal.SIGINT, held[0])


with defer_interrupts():
    from ortools.sat.python import cp_model

__all__ = ["cp_model"]
