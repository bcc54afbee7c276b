"""Garbage collection while very many lasting objects are made, which every collection would walk again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# The threshold that no number of middle collections reaches.
_NEVER = 2**31 - 1


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect nothing while only reference counts free objects.

    New objects count as old afterwards, so that no collection walks them for being new.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # Objects that other code has frozen must stay frozen.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


_lock = Lock()
# The thresholds found by those who have suspended full collections, the original one first.
_suspended: list[tuple[int, int, int]] = []


@contextmanager
def gc_young_only() -> Iterator[None]:
    """Collect among young objects only. May be nested, and entered by several threads."""
    with _lock:
        threshold = gc.get_threshold()
        if not _suspended:
            gc.set_threshold(*threshold[:2], _NEVER)
        _suspended.append(threshold)
    try:
        yield
    finally:
        with _lock:
            threshold = _suspended.pop()
            if not _suspended:
                gc.set_threshold(*threshold)
