"""Sets that contain one another, as "at least 3", "at least 4" ... of an attribute: each from a smaller one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# How many of the next smaller sets are tried: chains find theirs at once, and others are not worth a long search.
_TRIES = 64


def nested(sets: Mapping[int, Iterable[int]]) -> dict[int, tuple[int | None, list[int]]]:
    """Return for each set, by key, a large one that it contains (None: there is none), and what it has beyond it."""
    masks = {key: sum(1 << member for member in set(members)) for key, members in sets.items()}
    keys = sorted(masks, key=lambda key: (masks[key].bit_count(), key))
    return {key: _split(key, masks, keys[max(0, place - _TRIES) : place]) for place, key in enumerate(keys)}


def _split(key: int, masks: Mapping[int, int], smaller: list[int]) -> tuple[int | None, list[int]]:
    mask = masks[key]
    inner = next((other for other in reversed(smaller) if not masks[other] & ~mask), None)
    return inner, list(_members(mask if inner is None else mask & ~masks[inner]))


def _members(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
