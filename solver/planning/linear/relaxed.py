"""What a relaxed packing of a node comes to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The best packing at these resource prices, its worth (in 1 / ``FINE``), and what it uses.

    ``device[c]`` is the best worth of c steps of one device, ``whole[n]`` that of n free devices, ``rest`` that of
    what takes no device or one that is in part in use.
    """

    resource_prices: tuple[int, ...]
    bound: int
    use: tuple[int, ...]
    worth: dict[int, int]
    device: list[int]
    whole: list[int]
    parts: list[int]
    rest: int
