"""A mapping that is never changed, from which others derive cheaply."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SMALL = 64


class Layered(Generic[K, V]):
    """An immutable mapping to tuples; an empty tuple stands for a missing key.

    A large base is shared between a mapping and those derived from it. What differs is in two layers above: a small
    one, copied at each update, which is merged into the middle one when it is full; and that one into a new base when
    it exceeds the base's size to the power of 2/3. So n updates of a mapping of size m cost about n * m ** (1/3).
    """

    __slots__ = ("_base", "_middle", "_recent")

    def __init__(
        self,
        base: Mapping[K, tuple[V, ...]],
        middle: Mapping[K, tuple[V, ...]] | None = None,
        recent: Mapping[K, tuple[V, ...]] | None = None,
    ) -> None:
        self._base = base
        self._middle = middle or {}
        self._recent = recent or {}

    def get(self, key: K) -> tuple[V, ...]:
        """The key's tuple, empty if the key is missing."""
        found = self._recent.get(key)
        if found is None:
            found = self._middle.get(key)
        return self._base.get(key, ()) if found is None else found

    def updated(self, changes: Mapping[K, tuple[V, ...]]) -> "Layered[K, V]":
        """A mapping with these keys changed; an empty tuple removes its key."""
        if len(changes) > _SMALL and not (self._base or self._middle or self._recent):
            return Layered(_merged({}, changes))
        recent = {**self._recent, **changes}
        if len(recent) <= _SMALL:
            return Layered(self._base, self._middle, recent)
        middle = {**self._middle, **recent}
        if len(middle) <= max(_SMALL, len(self._base) ** (2 / 3)):
            return Layered(self._base, middle)
        return Layered(_merged(self._base, middle))

    def items(self) -> Iterator[tuple[K, tuple[V, ...]]]:
        """All keys that are there, with their tuples."""
        merged = {**self._base, **self._middle, **self._recent}
        return ((key, values) for key, values in merged.items() if values)


def _merged(base: Mapping[K, tuple[V, ...]], changes: Mapping[K, tuple[V, ...]]) -> dict[K, tuple[V, ...]]:
    """The base with changes. Keys are copied with their hashes, which takes a fraction of hashing them again."""
    merged = {**base, **changes}
    for key, values in changes.items():
        if not values:
            del merged[key]
    return merged
