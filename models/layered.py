"""A mapping that is never changed, from which others derive cheaply."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SMALL = 64


class Layered(Generic[K, V]):
    """An immutable mapping to tuples; an empty tuple stands for a missing key.

    A large base is shared between a mapping and those derived from it; what differs is in a small layer above,
    which is merged into a new base when it exceeds the square root of the base. So n updates of a mapping of
    size m cost about n * sqrt(m) instead of n * m.
    """

    __slots__ = ("_base", "_recent")

    def __init__(self, base: Mapping[K, tuple[V, ...]], recent: Mapping[K, tuple[V, ...]] | None = None) -> None:
        self._base = base
        self._recent = recent or {}

    def get(self, key: K) -> tuple[V, ...]:
        """The key's tuple, empty if the key is missing."""
        found = self._recent.get(key)
        return self._base.get(key, ()) if found is None else found

    def updated(self, changes: Mapping[K, tuple[V, ...]]) -> "Layered[K, V]":
        """A mapping with these keys changed; an empty tuple removes its key."""
        recent = {**self._recent, **changes}
        if len(recent) <= max(_SMALL, int(len(self._base) ** 0.5)):
            return Layered(self._base, recent)
        merged = {**self._base, **recent}
        for key, values in recent.items():
            if not values:
                del merged[key]
        return Layered(merged)

    def items(self) -> Iterator[tuple[K, tuple[V, ...]]]:
        """All keys that are there, with their tuples."""
        merged = {**self._base, **self._recent}
        return ((key, values) for key, values in merged.items() if values)
