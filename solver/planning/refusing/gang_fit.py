"""How many members of a gang find a place beside a plan, one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ....models.claims import AllocationResult
from ....models.identity import ObjectKey
from ....models.planned_sets import Gang
from ....models.running_pods import less
from ....problem.in_use import Ledger
from ...attempts import Ending
from .state import State
from .survey import Surveyor
from .wish import Wish

# Values of the label that are tried, those with most nodes first.
_MOST_DOMAINS = 16
# Members that are tried.
MOST_MEMBERS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """So many members that found a place on ``nodes``, the first that found none, and the state that they leave.

    ``is_cut``: not all were tried.
    """

    placed: int
    left: Wish | None
    state: State
    nodes: Sequence[int]
    domain: str = ""
    is_cut: bool = False

    @property
    def told(self) -> str:
        """How many they are, in words."""
        return f"at least {self.placed}" if self.is_cut else str(self.placed)


def best_fit(surveyor: Surveyor, gang: Gang, members: Sequence[Wish], state: State) -> Fit:
    """Place members in order, each on the first node that takes it, in the domain where most of them find a place.

    There must be a domain. Another order might place more of them.
    """
    tried = islice(_domains(surveyor, gang), _MOST_DOMAINS)
    fits = (_fit(surveyor, members, state, nodes, domain) for domain, nodes in tried)
    return max(fits, key=lambda fit: fit.placed)


def open_nodes(surveyor: Surveyor, gang: Gang) -> list[int]:
    """The nodes where members may be, in order: where there is a domain, those of values that are not ruled out."""
    return sorted(node for _, nodes in _domains(surveyor, gang) for node in nodes)


def _domains(surveyor: Surveyor, gang: Gang) -> Iterator[tuple[str, Sequence[int]]]:
    """The nodes of each value of the label, most nodes first; members that run already say which one it is."""
    if gang.domain is None:
        yield "", range(len(surveyor.nodes))
        return
    values: dict[str, list[int]] = defaultdict(list)
    running: set[str | None] = set()
    there = frozenset(gang.placed)
    for position, node in enumerate(surveyor.nodes):
        value = (node.metadata.labels or {}).get(gang.domain)
        if node.metadata.name in there:
            running.add(value)
        if value is not None:
            values[value].append(position)
    listed = sorted(values, key=lambda value: (-len(values[value]), value))
    yield from ((f"{gang.domain}={value}", values[value]) for value in listed if running <= {value})


def _fit(surveyor: Surveyor, members: Sequence[Wish], state: State, nodes: Sequence[int], domain: str) -> Fit:
    seating = _Seating(surveyor, state, frozenset(nodes))
    left: Wish | None = None
    for wish in members[:MOST_MEMBERS]:
        if not seating.seat(wish) and left is None:
            left = wish
    is_cut = len(members) > MOST_MEMBERS
    return Fit(seating.placed, left and left.after(seating.made), seating.state, nodes, domain, is_cut)


class _Seating:
    """Puts units on nodes, each on the first that takes it; ``state`` is what they leave."""

    def __init__(self, surveyor: Surveyor, state: State, among: Container[int]) -> None:
        self._surveyor = surveyor
        self._before = state
        self._among = among
        self._rooms = dict(state.rooms)
        # What failed for equal units fails for the next: room and devices only become fewer.
        self._waiting: dict[Hashable, list[int]] = {}
        self.state = State(Ledger(state.ledger.usage), self._rooms)
        self.made: dict[ObjectKey, AllocationResult] = {}
        self.placed = 0

    def seat(self, asked: Wish) -> bool:
        """Find a place for a unit; False: there is none."""
        wish = asked.after(self.made)
        if wish.key not in self._waiting:
            may = self._surveyor.open_nodes(wish, self._before)
            self._waiting[wish.key] = [node for node in reversed(may) if node in self._among]
        waiting = self._waiting[wish.key]
        while waiting:
            if self._take(wish, waiting[-1]):
                return True
            waiting.pop()
        return False

    def _take(self, wish: Wish, position: int) -> bool:
        name = self._surveyor.name(position)
        if self.state.lacks(name, wish.requests):
            return False
        attempt = self._surveyor.attempt(wish, self.state, position)
        if attempt.ending is not Ending.ALLOCATED:
            return False
        made = dict(zip((ref.key for ref in wish.unit.asked), attempt.allocations, strict=True))
        self.made.update(made)
        self.state.ledger.commit(made.items())
        self._rooms[name] = less(self._rooms[name], wish.requests)
        self.placed += 1
        return True
