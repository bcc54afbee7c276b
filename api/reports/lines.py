"""Lines and parts of lines that reports of several results have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec import UNSET, UnsetType

# More names than these are only counted.
_NAMES = 3


class Timed(Protocol):
    """A document that may have wall times."""

    @property
    def timings(self) -> dict[str, float] | UnsetType:
        """Seconds of each phase."""


def timings(document: Timed) -> Iterator[str]:
    """Wall times of the phases, if the document has them."""
    if document.timings is not UNSET:
        yield ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in document.timings.items())


def named(names: tuple[str, ...]) -> str:
    """The first few names, and how many more."""
    told = ", ".join(name or "any node" for name in names[:_NAMES])
    return f"{told} and {len(names) - _NAMES} more" if len(names) > _NAMES else told
