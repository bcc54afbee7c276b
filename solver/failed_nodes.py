"""Nodes on which equal units failed, put together by how they did, while nodes come and go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..problem.justification import Justification
from .attempts import Attempt, Ending
from .outcome import NodeClassFailure, Reason
from .tables import DemandTable


@dataclass(frozen=True, slots=True)
class _Key:
    """What equal failures have in common."""

    message: str
    tables: tuple[DemandTable, ...]
    witness: Justification | None
    certified: bool


@dataclass(slots=True)
class _NodeClass:
    """Nodes that fail alike, in order: their positions and names side by side."""

    key: _Key
    proof: str
    positions: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    told: NodeClassFailure | None = None

    def add(self, position: int, name: str) -> None:
        index = bisect_left(self.positions, position)
        self.positions.insert(index, position)
        self.names.insert(index, name)
        self.told = None

    def remove(self, position: int) -> None:
        index = bisect_left(self.positions, position)
        del self.positions[index], self.names[index]
        self.told = None

    def failure(self) -> NodeClassFailure:
        """What is reported; one object while the class does not change."""
        if self.told is None:
            key = self.key
            proof = Reason(key.witness.id, "", self.proof) if key.witness else None
            self.told = NodeClassFailure(tuple(self.names), key.message, key.tables, proof, key.certified)
        return self.told


class FailedNodes:
    """Attempts that failed, by the node's position; ``names`` are those of all nodes.

    Many units may ask for the report while few nodes change in between, so that it is kept up to date instead of made
    anew.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._found: dict[int, tuple[Attempt, _NodeClass]] = {}
        self._classes: dict[_Key, _NodeClass] = {}
        self._erring: set[int] = set()
        self._undecided: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __contains__(self, position: int) -> bool:
        return position in self._found

    def __getitem__(self, position: int) -> Attempt:
        return self._found[position][0]

    def add(self, position: int, attempt: Attempt) -> None:
        """Add a node that was not there."""
        key = _Key(attempt.message, attempt.tables, attempt.witness, attempt.certified)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = _NodeClass(key, attempt.proof)
        found.add(position, self._names[position])
        self._found[position] = attempt, found
        if attempt.error:
            self._erring.add(position)
        if attempt.ending is Ending.UNKNOWN:
            self._undecided.add(position)

    def remove(self, position: int) -> None:
        """Take a node away that is there."""
        _, found = self._found.pop(position)
        found.remove(position)
        if not found.positions:
            del self._classes[found.key]
        self._erring.discard(position)
        self._undecided.discard(position)

    @property
    def first_erring(self) -> int | None:
        """The first node on which an expression went wrong in a way that may be why it failed."""
        return min(self._erring, default=None)

    @property
    def undecided(self) -> bool:
        """Whether some node may fit after all."""
        return bool(self._undecided)

    def report(self) -> tuple[NodeClassFailure, ...]:
        """List the classes, the largest first, equal ones by node name."""
        found = [class_.failure() for class_ in self._classes.values()]
        return tuple(sorted(found, key=lambda failure: (-len(failure.nodes), failure.nodes)))
