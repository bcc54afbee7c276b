"""The first node by name that fits, and what any walk over nodes comes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..models.claims import ResourceClaim
from ..models.core import Node
from ..problem.in_use import Ledger
from .attempts import Attempt, Ending, Engine

# After these another node may still fit.
PASSING = frozenset({Ending.NONE, Ending.UNKNOWN})

Placed = tuple[int, Attempt]
"""The position of a node, and the attempt made there."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk came to: the attempt that decides, if any, and those that failed.

    ``interrupted``: Ctrl-C came, and there is an answer all the same.
    """

    decisive: Placed | None
    failed: list[Placed]
    interrupted: bool = False


class NodeWalk(Protocol):
    """A way to find a node for claims."""

    def walk(self, claims: Sequence[ResourceClaim], positions: Iterable[int]) -> Walked:
        """Ask nodes, by position, in order."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Takes the first node that fits; ``deadline`` is a reading of ``time.monotonic``."""

    engine: Engine
    nodes: Sequence[Node]
    ledger: Ledger
    deadline: float | None

    def walk(self, claims: Sequence[ResourceClaim], positions: Iterable[int]) -> Walked:
        """Ask until a node decides."""
        failed: list[Placed] = []
        for position in positions:
            attempt = self.engine.attempt(self.nodes[position], claims, self.ledger, self.deadline)
            if attempt.ending not in PASSING:
                return Walked((position, attempt), failed, attempt.interrupted)
            failed.append((position, attempt))
        return Walked(None, failed)
