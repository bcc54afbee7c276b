"""All nodes at once: equal ones are looked at once, and those that share something together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..models.cluster import Cluster
from ..models.core import Node
from ..models.selection import SelectorError
from ..problem.in_use import Ledger
from ..problem.order import giving_pools
from ..problem.outcomes import DeadlineExceededError, FatalError
from .capacity_engine import CopyEngine, Scene, slice_of
from .capacity_node import Measured, failed, measure
from .capacity_outcome import NodeRoom, Room, SharedRoom, added
from .capacity_parts import linked
from .capacity_shared import Place, Placed, share
from .outcome import Reason
from .refusals import refusals
from .suitable_nodes import SuitableNodes

NOWHERE = Room(0, 0, 0)
_TIME = Reason("timeLimit", "", "the time limit passed before this was tried")
INTERRUPTED = Reason("interrupted", "", "interrupted before this was decided")


@dataclass(slots=True)
class _Class:
    """Equal nodes, with the question on the first of them."""

    nodes: list[tuple[Node, Scene]]


class Survey:
    """Looks at nodes, and keeps what it has found by then; ``interrupted``: it was stopped before its end.

    ``rooms`` add up to the room on all nodes; ``placed`` are copies that fit at the same time, ``alone``
    those that fit on a node if there are none on nodes that it shares something with.
    """

    def __init__(
        self, cluster: Cluster, engine: CopyEngine, ledger: Ledger, limit: int, deadline: float | None
    ) -> None:
        self._answers: dict[NodeRoom, list[str]] = {}
        self.shared: list[SharedRoom] = []
        self.rooms: list[Room] = []
        self.placed: list[list[Placed]] = []
        self.alone: list[list[Placed]] = []
        self.interrupted = False
        self._cluster = cluster
        self._engine = engine
        self._ledger = ledger
        self._limit = limit
        self._deadline = deadline

    def run(self, nodes: Sequence[Node]) -> None:
        """Look at nodes, which are by name."""
        classes = self._classes(list(self._suitable(nodes)))
        measured = list(self._measured(classes))
        places = [place for one, alone in measured for place in self._places(one, alone)]
        found = {place.node.metadata.name: place for place in places}
        by_name = {name: found[name] for node in nodes if (name := node.metadata.name) in found}
        for group in linked({name: place.keys for name, place in by_name.items()}):
            self._join([by_name[name] for name in group])

    def _suitable(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Yield the nodes that a copy may be on, whatever devices they have; say of the others why not."""
        unit = self._engine.asked.copy(0)
        names = tuple(node.metadata.name for node in nodes)
        refused = refusals(unit, self._cluster.classes)
        if refused:
            self._reject(names, refused)
            return
        allocations = [ref.claim.status.allocation for ref in unit.claims if ref.claim and ref.claim.status]
        try:
            found = SuitableNodes(nodes, unit.pod.spec if unit.pod else None, list(filter(None, allocations)))
        except SelectorError as error:
            self._reject(names, [Reason("nodeSelector", "", str(error))])
            return
        positions = frozenset(found)
        yield from (nodes[position] for position in sorted(positions))
        self._reject(tuple(name for at, name in enumerate(names) if at not in positions), found.reasons)

    @property
    def answers(self) -> tuple[NodeRoom, ...]:
        """Nodes with equal answers together, those with the most room first."""
        found = [replace(answer, nodes=tuple(sorted(names))) for answer, names in self._answers.items()]
        return tuple(sorted(found, key=lambda one: (not one.room.unbounded, -one.room.fits, one.nodes)))

    def _reject(self, names: tuple[str, ...], reasons: Iterable[Reason]) -> None:
        if names:
            self._answer(NodeRoom(names, NOWHERE, tuple(reasons), certified=True))

    def _answer(self, answer: NodeRoom) -> None:
        """Note the answer for nodes where no copy is."""
        self._note(answer)
        self.rooms += [answer.room] * len(answer.nodes)

    def _note(self, answer: NodeRoom) -> None:
        self._answers.setdefault(replace(answer, nodes=()), []).extend(answer.nodes)

    def _classes(self, nodes: Iterable[Node]) -> list[_Class]:
        classes: dict[Hashable, _Class] = {}
        for node in nodes:
            try:
                scene = self._engine.scene(node, self._deadline)
            except DeadlineExceededError:
                self._answer(NodeRoom((node.metadata.name,), Room(), (_TIME,)))
            except (FatalError, SelectorError):
                self._answer(self._error(node))
            else:
                key = self._engine.state(scene, self._ledger)[1]
                classes.setdefault(key, _Class([])).nodes.append((node, scene))
        return list(classes.values())

    def _error(self, node: Node) -> NodeRoom:
        attempt = self._engine.one_more(node, self._ledger, self._deadline)
        return failed(self._engine, node, attempt, NOWHERE)

    def _measured(self, classes: Sequence[_Class]) -> Iterator[tuple[_Class, Measured]]:
        """Measure class after class, each in its share of the time; what an interrupt leaves out is not known."""
        for number, one in enumerate(classes):
            alone = Measured(NodeRoom((), Room(), (INTERRUPTED,)))
            if not self.interrupted:
                try:
                    alone = self._measure(one, slice_of(self._deadline, len(classes) - number + 1))
                except KeyboardInterrupt:
                    self.interrupted = True
            names = tuple(node.metadata.name for node, _ in one.nodes)
            alone = replace(alone, answer=replace(alone.answer, nodes=names))
            self._note(alone.answer)
            yield one, alone

    def _measure(self, one: _Class, deadline: float | None) -> Measured:
        node, scene = one.nodes[0]
        try:
            return measure(self._engine, node, scene, self._ledger, self._limit, deadline)
        except FatalError:
            return Measured(self._error(node))

    def _places(self, one: _Class, alone: Measured) -> Iterator[Place]:
        """Yield nodes with what copies may take there: nothing where it is known that none fits."""
        first = one.nodes[0][1]
        in_use, same = self._engine.state(first, self._ledger)
        fits = alone.answer.room.bound != 0 or bool(giving_pools(first.problem))
        for node, scene in one.nodes:
            keys = self._engine.keys(scene, in_use) if fits else ()
            yield Place(node, scene, alone, keys, (same, keys))

    def _join(self, places: Sequence[Place]) -> None:
        """Add nodes that share something, or a node that shares nothing."""
        alone = places[0].alone
        if len(places) == 1:
            self.rooms.append(alone.answer.room)
            self.placed.append([(places[0], picks) for picks in alone.copies])
            return
        best = max(places, key=lambda place: len(place.alone.copies))
        placed = [(best, picks) for picks in best.alone.copies]
        room = Room(len(placed), added([place.alone.answer.room for place in places]).bound)
        if not self.interrupted:
            try:
                room, placed = share(self._engine, places, self._ledger, self._limit, self._deadline)
            except KeyboardInterrupt:
                self.interrupted = True
        self.rooms.append(room)
        self.placed.append(placed)
        kinds = {id(place.alone): place for place in places}.values()
        self.alone += [[(place, picks) for picks in place.alone.copies] for place in kinds]
        self.shared.append(SharedRoom(tuple(place.node.metadata.name for place in places), room))
