"""Decide about coupled units together, and build what each of them gets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from ...models.claims import AllocationResult
from ...models.core import Node
from ...models.identity import ObjectKey, PoolId
from ...models.pools import Pool, united
from ...models.selection import SelectorError
from ...problem.in_use import Ledger
from ...problem.landscape import Surveyor
from ...problem.lenient import lenient
from ...problem.messages import Names, claim_text
from ...problem.outcomes import DeadlineExceededError, FatalError
from ...problem.policies import STRICT
from ...problem.records import Problem
from ...problem.relations import tolerant
from ...problem.shapes import NodeView
from ...problem.visible import Visible
from ..attempts import Session
from ..counting import by_counting
from ..decision import Answer, BestDecider, Decider, Decision
from ..node_engine import NodeEngine, first_trouble, names_of
from ..outcome import ALLOCATED, ERROR, UNALLOCATABLE, UNKNOWN, Reason, UnitOutcome
from ..placement import unplaced
from ..search import Pick
from ..soft_entries import soft_entries
from .coupling import Coupled, Seat
from .held import HeldClaim, held_claims, held_pool
from .posing import Ground, JointPosing

# Nodes that each seat may go to at first: most questions have an answer on few.
FEW_NODES = 8


class JointEngine(NodeEngine):
    """Places coupled units, with the decider of the engine that was asked for."""

    def __init__(self, session: Session, decider: Decider, ledger: Ledger, deadline: float | None) -> None:
        super().__init__(session, decider)
        self._ledger = ledger
        self._deadline = deadline

    def place(
        self, coupled: Coupled, nodes_of: Sequence[Sequence[Node]], made: Mapping[ObjectKey, AllocationResult]
    ) -> list[UnitOutcome]:
        """Find nodes and devices for all units, or for none; nothing is committed.

        ``nodes_of`` are the nodes that suit each seat, in order; ``made`` is what was allocated meanwhile.
        """
        self._expressions.deadline = self._compiler.deadline = self._deadline
        try:
            return self._place(coupled, nodes_of, made)
        except SelectorError as error:
            return _all(coupled, ERROR, Reason("nodeSelector", "", f"gather pool information: {error}"))
        except _Aborted as error:
            return _all(coupled, ERROR, error.reason)
        except DeadlineExceededError as error:
            return _all(coupled, UNKNOWN, Reason("timeLimit", "", str(error)))

    def _place(
        self, coupled: Coupled, nodes_of: Sequence[Sequence[Node]], made: Mapping[ObjectKey, AllocationResult]
    ) -> list[UnitOutcome]:
        keys = dict.fromkeys(key for tie in coupled.ties for key in tie.claims)
        held = held_claims(self._session.cluster, keys, made)
        visible = self._visible(coupled)
        open_ = [self._able(seat, own, visible) for seat, own in zip(coupled.seats, nodes_of, strict=True)]
        kept = [self._different(own, open_, visible, coupled) for own in open_]
        decision = Decision(Answer.NO, certified=True)
        for chosen in _tries(kept):
            posed = self._pose(coupled, chosen, held, visible)
            decision = self._decided(posed, visible)
            if decision.answer is Answer.YES:
                return self._allocated_to(coupled, posed, decision)
        if decision.answer is Answer.NO:
            return _all(coupled, *_refused(coupled))
        return _all(coupled, UNKNOWN, Reason("timeLimit", "", decision.message))

    def _able(self, seat: Seat, nodes: Sequence[Node], visible: Visible) -> list[Node]:
        """Leave out nodes where the seat finds too few devices even alone. Raises ``_Aborted``."""
        question = self._compiler.question(seat.claims)
        able = []
        known: dict[Hashable, bool] = {}
        for node in nodes:
            view = self._views.of(node, visible)
            in_use = self._ledger.in_use(view)
            key = view.shape.index, in_use.key
            if key not in known:
                with _told(seat, view):
                    problem = lenient(self._compiler.problem(question, view.shape))
                known[key] = by_counting(problem, in_use, self._deadline)[1] is None
            if known[key]:
                able.append(node)
        return able

    def _visible(self, coupled: Coupled) -> Visible:
        claims = [claim for seat in coupled.seats for claim in seat.claims]
        entries = [entry for tie in coupled.ties for entry in tie.group.spec.constraints or ()]
        return self._compiler.visible(claims, entries)

    def _different(
        self, nodes: Sequence[Node], nodes_of: Sequence[Sequence[Node]], visible: Visible, coupled: Coupled
    ) -> list[Node]:
        """Keep as many of equal nodes as there are seats: more of them make no difference."""
        labels = sorted({tie.group.spec.same_node_label for tie in coupled.ties} - {""})
        open_to = [{id(node) for node in own} for own in nodes_of]
        kept: Counter[Hashable] = Counter()
        different = []
        for node in nodes:
            view = self._views.of(node, visible)
            own = node.metadata.labels or {}
            suits = tuple(id(node) in others for others in open_to)
            # Pools that other nodes may see too are not like any other.
            far = tuple(pool.id for pool in view.pools if not _is_local(pool))
            key = view.shape.index, self._ledger.in_use(view).key, tuple(map(own.get, labels)), suits, far
            kept[key] += 1
            if kept[key] <= len(coupled.seats):
                different.append(node)
        return different

    def _pose(
        self, coupled: Coupled, nodes: Sequence[Sequence[Node]], held: Sequence[HeldClaim], visible: Visible
    ) -> _Posed:
        ground = self._ground(list({id(node): node for own in nodes for node in own}.values()), held, visible)
        posing = JointPosing(self._compiler, ground, held, self._session.cluster.nodes.values())
        problem = posing.pose(coupled, nodes)
        return _Posed(problem if self.decider.in_order else lenient(problem), ground.whole, posing)

    def _decided(self, posed: _Posed, visible: Visible) -> Decision:
        """Decide, or find the error that alone stands in the way (CELC-4). Raises ``_Aborted``."""
        with _named(posed):
            decision = self._decide(posed, posed.problem, visible)
            if self._session.policy != STRICT or decision.answer is not Answer.NO or not decision.troubled:
                return decision
            found = self._decide(posed, tolerant(posed.problem), visible)
            trouble = first_trouble(posed.problem, found.picks) if found.answer is Answer.YES else None
            if trouble is not None:
                raise trouble
        return decision

    def _decide(self, posed: _Posed, problem: Problem, visible: Visible) -> Decision:
        in_use = self._ledger.in_use(posed.whole)
        if not self._session.stages:
            return self.decider.decide(problem, in_use, self._deadline)
        landscape = Surveyor(self._session.cluster).survey(posed.whole, visible)
        seen = replace(problem, landscape=landscape)
        return cast("BestDecider", self.decider).best(seen, in_use, self._deadline, self._session.work)

    def _ground(self, nodes: Sequence[Node], held: Sequence[HeldClaim], visible: Visible) -> Ground:
        views = {node.metadata.name: self._views.of(node, visible) for node in nodes}
        seen: dict[PoolId, list[Pool]] = defaultdict(list)
        for pool in dict.fromkeys(pool for view in views.values() for pool in view.pools):
            seen[pool.id].append(pool)
        pools = [united(own) or own[0] for own in seen.values()]
        stand_ins = held_pool(self._session.cluster, held)
        pools += [stand_ins] if stand_ins else []
        able = next((view for view in views.values() if view.shape.node_skips), next(iter(views.values())))
        whole = self._views.of_pools(able.node, pools, visible)
        home: dict[tuple[str, str, str], int] = {}
        for number, view in enumerate(views.values()):
            for device in view.devices:
                home.setdefault(device.id, number)
        return Ground(whole, views, tuple(home.get(device.id, len(views)) for device in whole.devices))

    def _allocated_to(self, coupled: Coupled, posed: _Posed, decision: Decision) -> list[UnitOutcome]:
        served = posed.posing.served
        found: list[UnitOutcome] = []
        soft = soft_entries(posed.problem, decision.picks, posed.posing.keys)
        for number, seat in enumerate(coupled.seats):
            picks = [pick for pick in decision.picks if served[pick.demand].seat == number]
            node = next(node for pick in picks if (node := served[pick.demand].node))
            own = [demand for demand, one in enumerate(served) if one.seat == number and one.node is node]
            renumbered = [Pick(own.index(pick.demand), pick.device) for pick in picks]
            view = replace(posed.whole, node=node)
            with _told(seat, view):
                made = self._builder.build(seat.claims, [served[demand].ask for demand in own], renumbered, view)
            allocations = dict(zip((ref.key for ref in seat.asked), made, strict=True))
            found += _outcomes(seat, node, allocations)
        first = replace(found[0], soft=soft, objective=decision.objective)
        return [first, *found[1:]]


@dataclass(frozen=True, slots=True)
class _Posed:
    """A joint question with what its numbers mean."""

    problem: Problem
    whole: NodeView
    posing: JointPosing


class _Aborted(Exception):
    """An error that is the end of it, with names filled in."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


@contextmanager
def _told(seat: Seat, view: NodeView) -> Iterator[None]:
    """Fill the names of a seat and its node into errors."""
    try:
        yield
    except FatalError as error:
        raise _Aborted(_reason(error, names_of(seat.claims, view))) from None


@contextmanager
def _named(posed: _Posed) -> Iterator[None]:
    """Fill the names of a joint question into errors."""
    try:
        yield
    except FatalError as error:
        devices = tuple(device.id for device in posed.whole.devices)
        names = Names(tuple(posed.posing.keys), devices, tuple(pool.id for pool in posed.whole.pools))
        raise _Aborted(_reason(error, names)) from None


def _reason(error: FatalError, names: Names) -> Reason:
    claim = "" if error.claim is None else claim_text(names.claims[error.claim])
    return Reason(error.rule, claim, names.fill(error.message, claim=error.claim, device=error.device, pool=error.pool))


def _tries(nodes: Sequence[Sequence[Node]]) -> Iterator[Sequence[Sequence[Node]]]:
    """Yield the first few nodes of each seat, then all; nothing where a seat has none."""
    if not all(nodes):
        return
    few = [own[:FEW_NODES] for own in nodes]
    if any(len(own) > FEW_NODES for own in nodes):
        yield few
    yield nodes


def _is_local(pool: Pool) -> bool:
    return all(device.slice.spec.node_name for device in pool.devices)


def _outcomes(seat: Seat, node: Node, allocations: Mapping[ObjectKey, AllocationResult]) -> Iterator[UnitOutcome]:
    """Give each unit of a seat what nobody before it got already."""
    left = dict(allocations)
    for unit in seat.units:
        pairs = tuple((ref, left.pop(ref.key)) for ref in unit.asked if ref.key in left)
        yield UnitOutcome(unit, ALLOCATED, node.metadata.name, allocations=pairs)


def _refused(coupled: Coupled) -> tuple[str, Reason]:
    names = ", ".join(tie.label for tie in coupled.ties)
    units = ", ".join(unit.name for unit in coupled.units)
    text = f"{units} cannot be allocated together as {names} demands"
    if any(len(seat.units) > 1 for seat in coupled.seats):
        return UNKNOWN, Reason("constraintGroup", "", f"{text}, with pods that share a claim on one node")
    return UNALLOCATABLE, Reason("constraintGroup", "", text)


def _all(coupled: Coupled, outcome: str, reason: Reason) -> list[UnitOutcome]:
    return [unplaced(unit, outcome, [reason]) for unit in coupled.units]
