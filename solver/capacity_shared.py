"""The room on nodes that reach the same devices or counters, where the sum of what fits on each alone is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..models.core import Node
from ..problem.in_use import Ledger
from ..problem.order import giving_pools
from ..problem.outcomes import DeadlineExceededError, FatalError
from .capacity_copies import restricted
from .capacity_engine import CopyEngine, Picks, Scene, slice_of
from .capacity_node import Measured, count_copies
from .capacity_outcome import Room, added
from .capacity_search import Together, ceiling


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node with its question, and the room on it alone; places with equal ``same`` are one place for copies."""

    node: Node
    scene: Scene
    alone: Measured
    keys: tuple[Hashable, ...]
    same: Hashable


Placed = tuple[Place, Picks]
"""A copy: where it is, and what it takes."""


def share(
    engine: CopyEngine, places: Sequence[Place], ledger: Ledger, limit: int, deadline: float | None
) -> tuple[Room, list[Placed]]:
    """Find how many copies fit on all these nodes together.

    Where several nodes reach the very same, a copy on one of them could as well be on another, and one is enough, as is
    one on which any number fits. Otherwise nodes are filled one after the other, and what fits on each alone, or on one
    node that reaches what all of them reach, is more than fits together.
    """
    distinct = list({place.same: place for place in reversed(places)}.values())[::-1]
    alone = added([place.alone.answer.room for place in distinct])
    if len(distinct) == 1 or alone.unbounded:
        enough = next((place for place in distinct if place.alone.answer.room.unbounded), distinct[0])
        return alone, [(enough, picks) for picks in enough.alone.copies]
    firsts, first_fit = _in_turn(engine, distinct, ledger, limit, slice_of(deadline, 4))
    best = [*_each_at_best(engine, distinct, ledger, limit, slice_of(deadline, 3))]
    placed = max(best, firsts, key=len)
    # A copy on one node that gives counters back may make room on another, which neither has alone.
    giving = any(giving_pools(place.scene.problem) for place in distinct)
    bound = None if giving else _bound(engine, distinct, ledger, len(placed), alone.bound, deadline)
    return Room(len(placed), bound, first_fit), placed


def _in_turn(
    engine: CopyEngine, places: Sequence[Place], ledger: Ledger, limit: int, deadline: float | None
) -> tuple[list[Placed], int | None]:
    """Fill node after node as the scheduler would; the number is None where that was not decided."""
    running, placed, decided = Ledger(ledger.usage), list[Placed](), True
    for number, place in enumerate(places):
        filled = engine.fill(place.scene, running, limit, slice_of(deadline, len(places) - number))
        placed += [(place, picks) for picks in filled.copies]
        decided = decided and filled.decided
    return placed, len(placed) if decided else None


def _each_at_best(
    engine: CopyEngine, places: Sequence[Place], ledger: Ledger, limit: int, deadline: float | None
) -> Iterator[Placed]:
    """Fill node after node with as many copies as fit beside those before: first with what only this node reaches."""
    running = Ledger(ledger.usage)
    reached = Counter(key for place in places for key in place.keys)
    turns = [(place, scene) for scenes in (_own, _whole) for place in places for scene in (scenes(place, reached),)]
    for number, (place, scene) in enumerate(turns):
        until = slice_of(deadline, len(turns) - number)
        for picks in count_copies(engine, scene, running, limit, until)[1].copies:
            engine.commit(place.scene, running, picks)
            yield place, picks


def _own(place: Place, reached: Mapping[Hashable, int]) -> Scene:
    """Return the question about those devices that no other of these nodes reaches."""
    devices = place.scene.view.devices
    problem = restricted(place.scene.problem, lambda _, device: reached[devices[device].id] < 2)
    return replace(place.scene, problem=problem)


def _whole(place: Place, _reached: Mapping[Hashable, int]) -> Scene:
    return place.scene


def _bound(
    engine: CopyEngine,
    places: Sequence[Place],
    ledger: Ledger,
    fitting: int,
    bound: int | None,
    deadline: float | None,
) -> int | None:
    """Ask a node that reaches everything; what does not fit there does not fit anywhere."""
    if bound is None or bound == fitting:
        return bound
    try:
        scene = engine.united([place.scene for place in places])
    except (FatalError, DeadlineExceededError):
        return bound
    if scene is None:
        return bound
    # A ledger of its own: this one knows the node by its name.
    in_use, _ = engine.state(scene, Ledger(ledger.usage))
    return ceiling(Together(scene.problem, in_use, engine.joint), fitting, bound, deadline)
