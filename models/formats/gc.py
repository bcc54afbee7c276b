"""Garbage collection while very many lasting objects are made, which every collection would walk again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# So many collections of middle age never come.
_NEVER = 2**31 - 1


@contextmanager
def gc_paused() -> Iterator[None]:
    """Do without it while nothing becomes garbage but what reference counts free.

    What was made meanwhile is then old: it is not walked once more for being new.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # What somebody else has frozen must stay so.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class _FullCollections:
    """Full collections, which are off while anybody wants them off."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._suspensions = 0
        self._threshold = gc.get_threshold()

    def off(self) -> None:
        """Off until as many times on again."""
        with self._lock:
            if not self._suspensions:
                self._threshold = gc.get_threshold()
                gc.set_threshold(*self._threshold[:2], _NEVER)
            self._suspensions += 1

    def on(self) -> None:
        """The opposite of ``off``."""
        with self._lock:
            self._suspensions -= 1
            if not self._suspensions:
                gc.set_threshold(*self._threshold)


_full_collections = _FullCollections()


@contextmanager
def gc_young_only() -> Iterator[None]:
    """Look for garbage among new objects only. May be nested, and entered by several threads."""
    _full_collections.off()
    try:
        yield
    finally:
        _full_collections.on()
