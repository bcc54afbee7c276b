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


class _FullCollections:
    """Full collections of the process, off while at least one caller has suspended them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._suspensions = 0
        self._threshold = gc.get_threshold()

    def off(self) -> None:
        """Suspend full collections until ``on`` was called as often as this."""
        with self._lock:
            if not self._suspensions:
                self._threshold = gc.get_threshold()
                gc.set_threshold(*self._threshold[:2], _NEVER)
            self._suspensions += 1

    def on(self) -> None:
        """End one suspension."""
        with self._lock:
            self._suspensions -= 1
            if not self._suspensions:
                gc.set_threshold(*self._threshold)


_full_collections = _FullCollections()


@contextmanager
def gc_young_only() -> Iterator[None]:
    """Collect among young objects only. May be nested, and entered by several threads."""
    _full_collections.off()
    try:
        yield
    finally:
        _full_collections.on()
