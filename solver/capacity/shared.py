"""The room on nodes that reach the same devices or counters, where the sum of what fits on each alone is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...models.kubernetes.core import Node
from ...problem.constraints import pools_with_negative_draws
from ...problem.in_use import AllocatedState
from ...problem.problem import DeadlineExceededError, FatalError
from ..engines.copies import restrict_devices
from .node import (
    CopyEngine,
    CopyFeasibility,
    CopyProblem,
    CountedCopies,
    Picks,
    count_copies,
    deadline_slice,
    tighten_upper_bound,
)
from .records import Room, total_room


@dataclass(frozen=True, slots=True, eq=False)
class SharedNode:
    """A node with its question, and the room on it alone; places with equal ``same`` are one place for copies."""

    node: Node
    scene: CopyProblem
    alone: CountedCopies
    keys: tuple[Hashable, ...]
    same: Hashable


PlacedCopy = tuple[SharedNode, Picks]
"""A copy: where it is, and what it takes."""


def count_on_shared_nodes(
    engine: CopyEngine, places: Sequence[SharedNode], ledger: AllocatedState, limit: int, deadline: float | None
) -> tuple[Room, list[PlacedCopy]]:
    """Find how many copies fit on all these nodes together.

    Where several nodes reach the very same, a copy on one of them could as well be on another, and one is enough, as is
    one on which any number fits. Otherwise nodes are filled one after the other, and what fits on each alone, or on one
    node that reaches what all of them reach, is more than fits together.
    """
    distinct = list({place.same: place for place in reversed(places)}.values())[::-1]
    alone = total_room([place.alone.answer.room for place in distinct])
    if len(distinct) == 1 or alone.unbounded:
        enough = next((place for place in distinct if place.alone.answer.room.unbounded), distinct[0])
        return alone, [(enough, picks) for picks in enough.alone.copies]
    firsts, first_fit = _first_fit_in_turn(engine, distinct, ledger, limit, deadline_slice(deadline, 4))
    best = [*_most_in_turn(engine, distinct, ledger, limit, deadline_slice(deadline, 3))]
    placed = max(best, firsts, key=len)
    # A copy on one node that gives counters back may make room on another, which neither has alone.
    giving = any(pools_with_negative_draws(place.scene.problem) for place in distinct)
    bound = None if giving else _joint_bound(engine, distinct, ledger, len(placed), alone.bound, deadline)
    return Room(len(placed), bound, first_fit), placed


def _first_fit_in_turn(
    engine: CopyEngine, places: Sequence[SharedNode], ledger: AllocatedState, limit: int, deadline: float | None
) -> tuple[list[PlacedCopy], int | None]:
    """Fill node after node as the scheduler would; the number is None where that was not decided."""
    running, placed, decided = AllocatedState(ledger.usage), list[PlacedCopy](), True
    for number, place in enumerate(places):
        filled = engine.fill(place.scene, running, limit, deadline_slice(deadline, len(places) - number))
        placed += [(place, picks) for picks in filled.copies]
        decided = decided and filled.decided
    return placed, len(placed) if decided else None


def _most_in_turn(
    engine: CopyEngine, places: Sequence[SharedNode], ledger: AllocatedState, limit: int, deadline: float | None
) -> Iterator[PlacedCopy]:
    """Fill node after node with as many copies as fit beside those before: first with what only this node reaches."""
    running = AllocatedState(ledger.usage)
    reached = Counter(key for place in places for key in place.keys)
    turns = [
        (place, scene)
        for scenes in (_exclusive_problem, _whole_problem)
        for place in places
        for scene in (scenes(place, reached),)
    ]
    for number, (place, scene) in enumerate(turns):
        until = deadline_slice(deadline, len(turns) - number)
        for picks in count_copies(engine, scene, running, limit, until)[1].copies:
            engine.commit(place.scene, running, picks)
            yield place, picks


def _exclusive_problem(place: SharedNode, reached: Mapping[Hashable, int]) -> CopyProblem:
    """Return the question about those devices that no other of these nodes reaches."""
    devices = place.scene.view.devices
    problem = restrict_devices(place.scene.problem, lambda _, device: reached[devices[device].id] < 2)
    return replace(place.scene, problem=problem)


def _whole_problem(place: SharedNode, _reached: Mapping[Hashable, int]) -> CopyProblem:
    return place.scene


def _joint_bound(
    engine: CopyEngine,
    places: Sequence[SharedNode],
    ledger: AllocatedState,
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
    in_use, _ = engine.state(scene, AllocatedState(ledger.usage))
    return tighten_upper_bound(CopyFeasibility(scene.problem, in_use, engine.joint), fitting, bound, deadline)
