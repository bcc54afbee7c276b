"""Connected sets of devices in a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Neighbours = Mapping[int, Sequence[int]]
"""By device those next to it."""

_Growing = tuple[tuple[int, ...], tuple[int, ...], set[int]]
"""What is chosen, what may come next, and all that is chosen or next to it."""


def components(neighbours: Neighbours) -> Iterator[list[int]]:
    """Yield the devices that hang together."""
    seen: set[int] = set()
    for start in neighbours:
        if start not in seen:
            seen.add(start)
            found = [start]
            for device in found:
                beside = [one for one in neighbours[device] if one not in seen]
                seen.update(beside)
                found += beside
            yield found


def connected_sets(neighbours: Neighbours, size: int, steps: int) -> Iterator[tuple[int, ...] | None]:
    """Yield each connected set of so many devices once (ESU, Wernicke 2006); None, and no more, after so many steps.

    A set grows from its lowest device by devices next to it that were not next to it before.
    """
    for start in neighbours:
        stack: list[_Growing] = [
            ((start,), tuple(one for one in neighbours[start] if one > start), {start, *neighbours[start]})
        ]
        while stack:
            steps -= 1
            if steps < 0:
                yield None
                return
            chosen, edge, seen = stack.pop()
            if len(chosen) == size:
                yield chosen
                continue
            for position, device in enumerate(edge):
                new = tuple(one for one in neighbours[device] if one > start and one not in seen)
                stack.append(((*chosen, device), (*edge[position + 1 :], *new), seen | {*neighbours[device]}))
