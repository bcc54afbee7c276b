"""What sequential schedulers prefer: each scores what a unit makes of a node; the lowest score wins.

Of equal scores the first node by name has it, so that a scheduler that scores nothing takes the first that fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .floor import NodeState
from .fragmentation import Mix


class Choice(Protocol):
    """A preference. Scores depend on nothing but the two states."""

    @property
    def takes_first(self) -> bool:
        """The first node that fits is taken; no other is looked at."""
        ...

    def score(self, before: NodeState, after: NodeState) -> float:
        """How much it is disliked. Raises ``TimeOverError``."""
        ...


class FirstFit:
    """The first node by name that fits."""

    takes_first = True

    def score(self, before: NodeState, after: NodeState) -> float:
        """All nodes are as good."""
        return 0.0


class BestFit:
    """The node on which the least is left, as a sum over free devices and the resources that the queue asks for.

    Each counts in parts of the most that any node has of it at the start. Of nodes of which no amounts are known,
    devices alone count.
    """

    takes_first = False

    def __init__(self, mix: Mix, states: Iterable[NodeState]) -> None:
        self._mix = mix
        self._most: dict[str, int] = {}
        self._devices = 1
        for state in states:
            self._devices = max(self._devices, sum(mix.free(state.devices).values()))
            for name, amount in (state.room or {}).items():
                self._most[name] = max(self._most.get(name, 1), amount)

    def score(self, before: NodeState, after: NodeState) -> float:
        """What is left."""
        room = sum(amount / self._most[name] for name, amount in (after.room or {}).items())
        return room + sum(self._mix.free(after.devices).values()) / self._devices


class FragmentationDescent:
    """Fragmentation gradient descent: the node whose fragmentation for the mix grows the least."""

    takes_first = False

    def __init__(self, mix: Mix) -> None:
        self._mix = mix

    def score(self, before: NodeState, after: NodeState) -> float:
        """By how much it grows, for all units of the queue together."""
        return self._mix.wasted(after) - self._mix.wasted(before)
