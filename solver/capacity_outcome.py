"""What ``capacity`` found, as plain records; documents and tables are made of them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..models.gates import FeatureGates
from .attempts import Counts
from .outcome import Reason
from .tables import DemandTable


@dataclass(frozen=True, slots=True)
class Room:
    """How many copies fit somewhere.

    ``fits`` were found and verified; ``bound`` is proven, None if none is known; ``unbounded``: any number fits, and
    the other numbers say nothing. ``first_fit`` is what the scheduler reaches one by one, None if that was not decided.
    """

    fits: int = 0
    bound: int | None = None
    first_fit: int | None = None
    unbounded: bool = False

    @property
    def proven(self) -> bool:
        """Whether it is known how many fit."""
        return self.unbounded or self.fits == self.bound


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """Equal nodes with the room on each of them alone, and what stops the next copy.

    ``proof`` says why no more than the bound fit, where counting is enough; ``certified``: the bound does not rest on
    one run of a solver alone.
    """

    nodes: tuple[str, ...]
    room: Room
    reasons: tuple[Reason, ...] = ()
    tables: tuple[DemandTable, ...] = ()
    proof: str = ""
    certified: bool = False


@dataclass(frozen=True, slots=True)
class SharedRoom:
    """Nodes that reach the same devices or counters, with the room on all of them together."""

    nodes: tuple[str, ...]
    room: Room


@dataclass(frozen=True, slots=True)
class CapacityOutcome:
    """The answer to one call of ``capacity``; ``kind``, ``namespace`` and ``name`` are of what was copied.

    ``limit`` is the number of copies on one node at which counting ends, ``claims`` are what tables call the claims of
    a copy. ``notices`` say what of the question was left aside.
    """

    kind: str
    namespace: str
    name: str
    total: Room
    nodes: tuple[NodeRoom, ...]
    shared: tuple[SharedRoom, ...]
    limit: int
    claims: tuple[str, ...]
    gates: FeatureGates
    cel_errors: str
    verified: bool = False
    counts: Counts = field(default_factory=Counts)
    seconds: dict[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class CapacityInterrupted(KeyboardInterrupt):
    """Ctrl-C during the search. ``answer`` is what was known by then, and is verified."""

    def __init__(self, answer: CapacityOutcome) -> None:
        super().__init__()
        self.answer = answer


def added(rooms: list[Room]) -> Room:
    """Add the room of places that have nothing to do with each other."""
    bounds = [room.bound for room in rooms]
    firsts = [room.first_fit for room in rooms]
    return Room(
        sum(room.fits for room in rooms),
        None if None in bounds else sum(filter(None, bounds)),
        None if None in firsts else sum(filter(None, firsts)),
        any(room.unbounded for room in rooms),
    )
