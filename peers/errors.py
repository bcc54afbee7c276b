"""What goes wrong with a peer."""

from __future__ import annotations


class PeerError(RuntimeError):
    """A peer is missing or cannot be trusted: it crashed, hung, ran out of memory or talked nonsense. One line.

    Never means that something cannot be allocated: such an answer is a verdict.
    """
