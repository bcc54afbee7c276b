"""The process that runs: whether it can be forked, and garbage collection while very many lasting objects are made.

Every collection would walk these again.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


_lock = threading.Lock()
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


def is_safe_to_fork() -> bool:
    """Whether a process can be forked, and has a processor of its own: not beside threads, and not in workers."""
    # Small inputs need no other process.
    import multiprocessing

    if sys.platform != "linux" or threading.active_count() > 1 or multiprocessing.parent_process() is not None:
        return False
    return len(os.sched_getaffinity(0)) > 1
