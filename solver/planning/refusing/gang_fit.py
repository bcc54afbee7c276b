"""How many members of a gang find a place beside a plan, one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ....models.planned_sets import Gang
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
    for position, node in enumerate(surveyor.nodes):
        value = (node.metadata.labels or {}).get(gang.domain)
        if node.metadata.name in gang.placed:
            running.add(value)
        if value is not None:
            values[value].append(position)
    listed = sorted(values, key=lambda value: (-len(values[value]), value))
    yield from ((f"{gang.domain}={value}", values[value]) for value in listed if running <= {value})


def _fit(surveyor: Surveyor, members: Sequence[Wish], state: State, nodes: Sequence[int], domain: str) -> Fit:
    rooms = dict(state.rooms)
    now = State(Ledger(state.ledger.usage), rooms)
    among = frozenset(nodes)
    # What failed for equal members fails for the next: room and devices only become fewer.
    open_: dict[object, list[int]] = {}
    placed, left = 0, None
    for wish in members[:MOST_MEMBERS]:
        if wish.key not in open_:
            open_[wish.key] = [node for node in reversed(surveyor.suited(wish)[1]) if node in among]
        if _seat(surveyor, wish, now, rooms, open_[wish.key]):
            placed += 1
        elif left is None:
            left = wish
    return Fit(placed, left, now, nodes, domain, len(members) > MOST_MEMBERS)


def _seat(
    surveyor: Surveyor, wish: Wish, state: State, rooms: dict[str, dict[str, int] | None], waiting: list[int]
) -> bool:
    """Put a member on the last node that waits and takes it; those before are out for its like."""
    while waiting:
        position = waiting[-1]
        name = surveyor.name(position)
        attempt = None if state.lacks(name, wish.requests) else surveyor.attempt(wish, state, position)
        if attempt is not None and attempt.ending is Ending.ALLOCATED:
            state.ledger.commit(zip((ref.key for ref in wish.unit.asked), attempt.allocations, strict=False))
            rooms[name] = _less(rooms.get(name), wish.requests)
            return True
        waiting.pop()
    return False


def _less(room: Mapping[str, int] | None, requests: Mapping[str, int]) -> dict[str, int] | None:
    return None if room is None else {name: amount - requests.get(name, 0) for name, amount in room.items()}
