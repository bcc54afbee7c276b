"""Place coupled units together: each seat on a node, all claims with their devices, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...models.claims import AllocationResult
from ...models.core import Node
from ...models.identity import ObjectKey
from ...models.selection import SelectorError
from ...problem.in_use import Ledger
from ...problem.lenient import without
from ...problem.messages import claim_text
from ...problem.outcomes import DeadlineExceededError
from ..attempts import Session
from ..decision import Answer, Decision
from ..node_engine import NodeEngine, names_of
from ..outcome import ALLOCATED, ERROR, UNKNOWN, Reason, UnitOutcome
from ..result_nodes import cannot_be_combined
from ..search import Pick
from ..soft_entries import SoftEntry, soft_entries
from .asking import Asking, Nodes
from .coupling import Coupled, Seat, Suited
from .errors import AbortedError, told
from .ground import UndecidedError
from .held import HELD_POOL
from .posing import Posed
from .refusing import Refusal

Allocations = Mapping[ObjectKey, AllocationResult]


class JointEngine:
    """Places coupled units, in the way of an engine. ``interrupted``: Ctrl-C came while the last ones were placed."""

    def __init__(self, session: Session, engine: NodeEngine, ledger: Ledger, deadline: float | None) -> None:
        self._session = session
        self._engine = engine
        self._ledger = ledger
        self._deadline = deadline
        self.interrupted = False

    def place(self, coupled: Coupled, suited: Sequence[Suited]) -> list[UnitOutcome]:
        """Find nodes and devices for all units, or for none; nothing is committed.

        ``suited`` are the nodes that each seat may go to, whatever devices they have.
        """
        self.interrupted = False
        self._engine.expressions.deadline = self._engine.compiler.deadline = self._deadline
        try:
            return self._place(coupled, suited)
        except SelectorError as error:
            reason = Reason("nodeSelector", "", f"gather pool information: {error}")
            return _all(coupled, ERROR, reason)
        except AbortedError as error:
            return _all(coupled, ERROR, error.reason)
        except UndecidedError as error:
            return _all(coupled, UNKNOWN, Reason("constraintGroup", "", str(error)))
        except DeadlineExceededError as error:
            return _all(coupled, UNKNOWN, Reason("timeLimit", "", str(error)))

    def _place(self, coupled: Coupled, suited: Sequence[Suited]) -> list[UnitOutcome]:
        asking = Asking(self._session, self._engine, self._ledger, self._deadline, coupled)
        decision, posed = Decision(Answer.NO, certified=True), None
        for nodes in asking.tries(suited):
            posed = asking.pose(nodes)
            decision = asking.decided(posed)
            if decision.answer is Answer.YES:
                self.interrupted = decision.interrupted
                return self._allocated(asking, nodes, posed, decision)
        if decision.answer is Answer.UNKNOWN:
            return _all(coupled, UNKNOWN, Reason("timeLimit", "", decision.message))
        if asking.errors:
            return _all(coupled, ERROR, asking.errors[0])
        return Refusal(asking, suited, posed).outcomes()

    def _allocated(self, asking: Asking, nodes: Nodes, posed: Posed, decision: Decision) -> list[UnitOutcome]:
        """Build the results; devices whose selectors cannot be combined are an error of the scheduler's (RES-7).

        An engine that chooses devices in no order chooses others if there are any.
        """
        try:
            return self._built(asking.coupled, nodes, posed, decision)
        except AbortedError:
            if self._engine.decider.in_order:
                raise
            devices = enumerate(posed.ground.whole.devices)
            awkward = {number for number, one in devices if one.id[1] != HELD_POOL and cannot_be_combined(one)}
            other = asking.decide(posed, without(posed.problem, awkward))
            if other.answer is not Answer.YES:
                raise
            return self._built(asking.coupled, nodes, posed, other)

    def _built(self, coupled: Coupled, nodes: Nodes, posed: Posed, decision: Decision) -> list[UnitOutcome]:
        found: list[UnitOutcome] = []
        for number, seat in enumerate(coupled.seats):
            node, allocations = self._seated(number, seat, nodes[number], posed, decision)
            found += _outcomes(seat, node, allocations)
        soft = soft_entries(posed.problem, decision.picks, posed.draft.keys)
        own = len(soft) - sum(not relation.hard for relation in posed.tied)
        # An entry of a group is no claim's, even if it covers one only.
        told_ = (*soft[:own], *(replace(entry, claim="") for entry in soft[own:]))
        return _with_soft(found, told_, decision)

    def _seated(
        self, number: int, seat: Seat, nodes: Sequence[Node], posed: Posed, decision: Decision
    ) -> tuple[Node, Allocations]:
        """Build what a seat gets, and find on which node; one that asks for no device is on its first."""
        served = posed.draft.served
        picks = [pick for pick in decision.picks if served[pick.demand].seat == number]
        node = next((node for pick in picks if (node := served[pick.demand].node)), nodes[0])
        own = [demand for demand, one in enumerate(served) if one.seat == number and one.node is node]
        renumbered = [Pick(own.index(pick.demand), pick.device) for pick in picks]
        view = replace(posed.ground.whole, node=node)
        with told(names_of(seat.claims, view)):
            made = self._engine.builder.build(seat.claims, [served[demand].ask for demand in own], renumbered, view)
        return node, dict(zip((ref.key for ref in seat.asked), made, strict=True))


def _outcomes(seat: Seat, node: Node, allocations: Allocations) -> Iterator[UnitOutcome]:
    """Give each unit of a seat what nobody before it got already."""
    left = dict(allocations)
    for unit in seat.units:
        pairs = tuple((ref, left.pop(ref.key)) for ref in unit.asked if ref.key in left)
        yield UnitOutcome(unit, ALLOCATED, node.metadata.name, allocations=pairs)


def _with_soft(found: Sequence[UnitOutcome], soft: Iterable[SoftEntry], decision: Decision) -> list[UnitOutcome]:
    """Give each unit its own soft entries, and the first one those of groups and what the objective came to."""
    owner = {claim_text(ref.key): place for place, one in enumerate(found) for ref, _ in one.allocations}
    own: list[list[SoftEntry]] = [[] for _ in found]
    for entry in soft:
        own[owner.get(entry.claim, 0)].append(entry)
    told_ = [replace(one, soft=tuple(entries)) for one, entries in zip(found, own, strict=True)]
    return [replace(told_[0], objective=decision.objective), *told_[1:]]


def _all(coupled: Coupled, outcome: str, reason: Reason) -> list[UnitOutcome]:
    return [UnitOutcome(unit, outcome, reasons=(reason,)) for unit in coupled.units]
