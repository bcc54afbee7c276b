"""The question about coupled units: on which nodes it is asked, how it is posed, and how it is decided."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from ...models.claims import ResourceClaim
from ...models.core import Node
from ...models.pools import PoolDevice
from ...models.reach import Located, per_device
from ...problem.in_use import Ledger
from ...problem.landscape import Surveyor
from ...problem.lenient import lenient
from ...problem.messages import Names
from ...problem.outcomes import FatalError
from ...problem.policies import STRICT
from ...problem.records import InUse, Problem
from ...problem.relations import tolerant
from ...problem.shapes import NodeView
from ..attempts import Session
from ..counting import by_counting
from ..decision import Answer, BestDecider, Decision
from ..node_engine import NodeEngine, decisive_error, first_trouble, names_of
from ..outcome import Reason
from .coupling import Coupled, Seat, Suited
from .errors import reason_of, told
from .ground import Ground, ground_of
from .held import held_claims
from .posing import Posed, joint_names, posed
from .thinning import thinned

# Nodes that each seat may go to at first: most questions have an answer on few.
FEW_NODES = 8

Nodes = Sequence[Sequence[Node]]


class Asking:
    """One set of coupled units in front of an engine; ``errors`` are those met where a seat cannot be served."""

    def __init__(
        self, session: Session, engine: NodeEngine, ledger: Ledger, deadline: float | None, coupled: Coupled
    ) -> None:
        self.session = session
        self.engine = engine
        self.ledger = ledger
        self.deadline = deadline
        self.coupled = coupled
        self.errors: list[Reason] = []
        self.held = held_claims(session.cluster, dict.fromkeys(key for tie in coupled.ties for key in tie.claims))
        claims = [claim for seat in coupled.seats for claim in seat.claims]
        entries = [entry for tie in coupled.ties for entry in tie.group.spec.constraints or ()]
        self._visible = engine.compiler.visible(claims, entries)
        self._surveyor = Surveyor(session.cluster) if session.stages else None

    def tries(self, suited: Sequence[Suited]) -> Iterator[Nodes]:
        """Yield nodes to ask about, the first few of each seat before all; none where a seat has none.

        The last ones are all that make a difference. Whoever looks for the best asks about all at once.
        """
        able = [list(self._able(seat, own.nodes)) for seat, own in zip(self.coupled.seats, suited, strict=True)]
        kept = self._thinned(able)
        if not all(kept):
            return
        if not self.session.stages and any(len(own) > FEW_NODES for own in kept):
            yield [own[:FEW_NODES] for own in kept]
        yield kept

    def _able(self, seat: Seat, nodes: Sequence[Node]) -> Iterator[Node]:
        """Leave out nodes where the seat finds too few devices even alone, and those that are in trouble for it."""
        question = self.engine.compiler.question(seat.claims)
        known: dict[Hashable, bool] = {}
        for node in nodes:
            view = self.engine.views.of(node, question.visible)
            in_use = self.ledger.in_use(view)
            key = view.shape.index, in_use.key
            if key not in known:
                known[key] = self._is_able(seat, view, in_use)
            if known[key]:
                yield node

    def _is_able(self, seat: Seat, view: NodeView, in_use: InUse) -> bool:
        compiler = self.engine.compiler
        try:
            problem = compiler.problem(compiler.question(seat.claims), view.shape)
        except FatalError as error:
            where = f"node {view.node.metadata.name}: "
            self.errors.append(reason_of(error, names_of(seat.claims, view), where))
            return False
        able = by_counting(lenient(problem), in_use, self.deadline)[1] is None
        wrong = None if self.session.policy != STRICT else decisive_error(problem, in_use, self.engine.decider.in_order)
        if wrong is not None:
            where = f"node {view.node.metadata.name}: "
            self.errors.append(reason_of(wrong, names_of(seat.claims, view), where))
        return able

    def _thinned(self, nodes: Nodes) -> list[list[Node]]:
        """Leave out nodes that make no difference."""
        views = {node.metadata.name: self.engine.views.of(node, self._visible) for own in nodes for node in own}
        labels = sorted({tie.group.spec.same_node_label for tie in self.coupled.ties} - {""})
        held = {id_ for one in self.held for devices in one.requests.values() for id_ in devices}
        return thinned(nodes, views, self._state, labels, held)

    def _state(self, view: NodeView) -> Hashable:
        """Return what is in use on a node, and what objectives see of it."""
        landscape = self._surveyor and self._surveyor.survey(view, self._visible)
        return self.ledger.in_use(view).key, landscape

    def may_part(self, seat: Seat) -> bool:
        """Tell whether pods that share a claim could be on several nodes after all: it may be usable on each of them.

        A request that only devices of nodes serve ties its claim to one.
        """
        units = [{ref.key for ref in unit.asked} for unit in seat.units]
        shared = {place for place, ref in enumerate(seat.asked) if sum(ref.key in own for own in units) > 1}
        far = [self._served_from_afar(seat, node) for node in self.session.cluster.nodes.values()] if shared else []
        requests = [(place, name) for place, claim in enumerate(seat.claims) for name in _requests(claim)]
        tied = {place for place, name in requests if not any((place, name) in own for own in far)}
        return not shared <= tied

    def _served_from_afar(self, seat: Seat, node: Node) -> set[tuple[int, str]]:
        """Find the requests, by claim and name, for which there are devices that do not belong to the node."""
        compiler = self.engine.compiler
        question = compiler.question(seat.claims)
        view = self.engine.views.of(node, question.visible)
        try:
            demands = compiler.problem(question, view.shape).demands
        except FatalError:
            return set()
        own = {number for number, device in enumerate(view.devices) if _located(device).node_name}
        return {(one.claim, one.request) for one in demands if not own.issuperset(one.candidates)}

    def pose(self, nodes: Nodes) -> Posed:
        """Pose the question about these nodes. Raises ``AbortedError`` and ``UndecidedError``."""
        ground = self._ground(nodes)
        everywhere = self.session.cluster.nodes.values()
        with told(self.names(ground)):
            found = posed(self.engine.compiler, ground, self.coupled, nodes, self.held, everywhere)
        return found if self.engine.decider.in_order else replace(found, problem=lenient(found.problem))

    def _ground(self, nodes: Nodes) -> Ground:
        views = {node.metadata.name: self.engine.views.of(node, self._visible) for own in nodes for node in own}
        ids = [id_ for one in self.held for devices in one.requests.values() for id_ in devices]
        return ground_of(views, self.engine.views, self.session.cluster, ids, self._visible)

    def names(self, ground: Ground) -> Names:
        """Names for the numbers of a question about this ground."""
        return joint_names(self.coupled, self.held, ground)

    def decided(self, posed: Posed) -> Decision:
        """Decide, or find the error that alone stands in the way (CELC-4). Raises ``AbortedError``."""
        with told(self.names(posed.ground)):
            decision = self.decide(posed, posed.problem)
            if self.session.policy != STRICT or decision.answer is not Answer.NO or not decision.troubled:
                return decision
            found = self.decide(posed, tolerant(posed.problem))
            trouble = first_trouble(posed.problem, found.picks) if found.answer is Answer.YES else None
            if trouble is not None:
                raise trouble
        return decision

    def decide(self, posed: Posed, problem: Problem) -> Decision:
        """Decide about a problem that is posed like this one. Raises ``FatalError`` and ``DeadlineExceededError``."""
        decider, in_use = self.engine.decider, self.ledger.in_use(posed.ground.whole)
        if self._surveyor is None:
            return decider.decide(problem, in_use, self.deadline)
        seen = replace(problem, landscape=self._surveyor.survey(posed.ground.whole, self._visible))
        return cast("BestDecider", decider).best(seen, in_use, self.deadline, self.session.work)


def _located(device: PoolDevice) -> Located:
    return device.device if per_device(device.slice) else device.slice.spec


def _requests(claim: ResourceClaim) -> Iterator[str]:
    return (request.name for request in claim.spec.devices.requests or ())
