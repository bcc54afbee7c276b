"""Place units one after the other: the first node by name that fits, each unit beside what earlier ones took."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import msgspec

from ..models.claims import AllocationResult, ResourceClaim
from ..models.core import Node
from ..models.entries import annotated_entries
from ..models.identity import ObjectKey
from ..models.pod_claims import ClaimRef
from ..models.selection import SelectorError
from ..models.units import Unit
from ..problem.in_use import Ledger
from ..problem.messages import claim_text
from .attempts import Attempt, Ending, Engine, Session
from .failed_nodes import FailedNodes
from .first_node import FirstFit, NodeWalk
from .joint.coupling import Coupled, Seat, Suited, loosened
from .open_nodes import OpenNodes
from .outcome import ALLOCATED, ERROR, UNALLOCATABLE, UNKNOWN, NodeClassFailure, Reason, UnitOutcome
from .reasons import device_reasons
from .refusals import refusals
from .suitable_nodes import SuitableNodes, place_key

if TYPE_CHECKING:
    from .joint.placing import JointEngine
    from .node_engine import NodeEngine

_encode = msgspec.msgpack.Encoder().encode


@dataclass(slots=True)
class _Candidates:
    """Nodes for units that are alike: those that suit the pod, and of these the ones still open."""

    suitable: SuitableNodes
    open: OpenNodes


class Placer:
    """Places units on ``nodes``, which are by name, in their order; ``deadline`` is a reading of ``time.monotonic``.

    ``walk`` is how a node is found, by default the first that fits; ``barred`` are units, by namespace and name, with
    nodes that are not for them when they are placed together with others. ``interrupted``: Ctrl-C came while the last
    unit was placed, which has an answer nevertheless. ``notices`` say what of the question was left aside.
    """

    def __init__(
        self,
        session: Session,
        engine: Engine,
        ledger: Ledger,
        nodes: Mapping[str, Node],
        deadline: float | None,
        walk: NodeWalk | None = None,
        barred: Container[tuple[ObjectKey, str]] = (),
    ) -> None:
        self._session = session
        self._engine = engine
        self._ledger = ledger
        self._nodes = list(nodes.values())
        self._names = list(nodes)
        self._deadline = deadline
        self._walk = walk or FirstFit(engine, self._nodes, ledger, deadline)
        self._barred = barred
        self.interrupted = False
        self.notices: list[str] = []
        self._timed_out = False
        self._made: dict[ObjectKey, AllocationResult] = {}
        self._suited: dict[bytes, SuitableNodes] = {}
        self._candidates: dict[tuple[bytes, bytes], _Candidates] = {}
        self._joint: JointEngine | None = None

    def place(self, unit: Unit) -> UnitOutcome:
        """Find a node and devices for a unit, and commit them."""
        if self._timed_out:
            return unplaced(unit, UNKNOWN, [Reason("timeLimit", "", "the time limit passed before this was tried")])
        reasons = refusals(unit, self._session.cluster.classes)
        if reasons:
            return unplaced(unit, UNALLOCATABLE, reasons)
        asked = [ref for ref in unit.asked if ref.key not in self._made]
        try:
            candidates = self._candidates_for(unit, asked)
        except SelectorError as error:
            return unplaced(unit, ERROR, [Reason("nodeSelector", "", str(error))])
        return self._placed(unit, asked, candidates)

    def place_together(self, coupled: Coupled) -> list[UnitOutcome]:
        """Find nodes and devices for all of the coupled units, and commit them, or for none.

        What is tied by soft entries only is placed one by one if that fails, and ``notices`` say so (SOFT-1).
        """
        answers = self._together(coupled)
        soft = ", ".join(tie.label for tie in coupled.ties if tie.is_soft)
        if not soft or all(answer.outcome == ALLOCATED for answer in answers):
            return answers
        parts = loosened(coupled)
        if len(parts) == 1 and answers[0].outcome == UNALLOCATABLE:
            # A no never depends on soft entries.
            return answers
        self.notices.append(f"not all units fit together: soft entries are left aside, those of {soft}")
        return [answer for part in parts for answer in self._part(part)]

    def _part(self, part: Unit | Coupled) -> list[UnitOutcome]:
        return [self.place(part)] if isinstance(part, Unit) else self._together(part)

    def _together(self, coupled: Coupled) -> list[UnitOutcome]:
        refused = [reason for unit in coupled.units for reason in refusals(unit, self._session.cluster.classes)]
        if refused:
            return [unplaced(unit, UNALLOCATABLE, refused) for unit in coupled.units]
        try:
            suited = [self._common_nodes(seat) for seat in coupled.seats]
        except SelectorError as error:
            return [unplaced(unit, ERROR, [Reason("nodeSelector", "", str(error))]) for unit in coupled.units]
        if self._joint is None:
            from .joint.placing import JointEngine

            engine = cast("NodeEngine", self._engine)
            self._joint = JointEngine(self._session, engine, self._ledger, self._deadline)
        answers = self._joint.place(coupled, suited)
        self.interrupted |= self._joint.interrupted
        for answer in answers:
            if answer.outcome == ALLOCATED:
                self._commit(answer)
        return answers

    def _common_nodes(self, seat: Seat) -> Suited:
        """Find the nodes that suit all units of a seat, in order. Raises ``SelectorError``."""
        suitable = [self._candidates_for(unit, unit.asked).suitable for unit in seat.units]
        common = set.intersection(*map(set, suitable))
        reasons = dict.fromkeys(reason for one in suitable for reason in one.reasons)
        keys = [(unit.namespace, unit.name) for unit in seat.units]
        nodes = (
            position
            for position in sorted(common)
            if not any((key, self._names[position]) in self._barred for key in keys)
        )
        return Suited(tuple(self._nodes[position] for position in nodes), tuple(reasons))

    def _placed(self, unit: Unit, asked: Sequence[ClaimRef], candidates: _Candidates) -> UnitOutcome:
        walked = self._walk.walk(_claims(asked), candidates.open)
        self.interrupted = walked.interrupted
        # What failed before this unit's own allocation is known to fail until something changes.
        candidates.open.fail((position, attempt, self._pools(position)) for position, attempt in walked.failed)
        if walked.decisive is None:
            return self._nowhere(unit, asked, candidates)
        position, attempt = walked.decisive
        answer = self._ended(unit, asked, self._nodes[position], attempt)
        if answer.outcome == ALLOCATED:
            self._commit(answer)
        return answer

    def _ended(self, unit: Unit, asked: Sequence[ClaimRef], node: Node, attempt: Attempt) -> UnitOutcome:
        """Turn an attempt that decides about the unit into its outcome."""
        if attempt.ending is Ending.ALLOCATED:
            pairs = tuple(zip(asked, attempt.allocations, strict=True))
            return UnitOutcome(
                unit,
                ALLOCATED,
                node.metadata.name,
                allocations=pairs,
                objective=attempt.objective,
                soft=attempt.soft,
            )
        claim = "" if attempt.claim is None else claim_text(asked[attempt.claim].key)
        reason = Reason(attempt.rule, claim, f"node {node.metadata.name}: {attempt.message}")
        self._timed_out = attempt.ending is Ending.TIMEOUT
        return unplaced(unit, UNKNOWN if self._timed_out else ERROR, [reason])

    def _commit(self, answer: UnitOutcome) -> None:
        made = [(ref.key, allocation) for ref, allocation in answer.allocations]
        self._made.update(made)
        self._ledger.commit(made)

    def _nowhere(self, unit: Unit, asked: Sequence[ClaimRef], candidates: _Candidates) -> UnitOutcome:
        failed = candidates.open.failed
        report = failed.report()
        error = self._decisive_error(asked, failed)
        if error is not None:
            return unplaced(unit, ERROR, [error], report)
        names = [claim_text(ref.key) for ref in asked]
        reasons = [*device_reasons(report, names), *candidates.suitable.reasons]
        outcome = UNKNOWN if failed.undecided else UNALLOCATABLE
        return unplaced(unit, outcome, reasons or [Reason("nodes", "", "there are no nodes")], report)

    def _decisive_error(self, asked: Sequence[ClaimRef], failed: FailedNodes) -> Reason | None:
        """Word the error that may be why nothing fits (policy ``strict``), for this unit's own claims."""
        position = failed.first_erring
        if position is None:
            return None
        node = self._nodes[position]
        again = self._engine.attempt(node, _claims(asked), self._ledger, self._deadline)
        return Reason("expression", "", f"node {node.metadata.name}: {again.error or failed[position].error}")

    def _pools(self, position: int) -> Iterable[tuple[str, str]]:
        pools = self._session.cluster.pools(self._session.gates).pools_for(self._nodes[position])
        return (pool.id for pool in pools)

    def _candidates_for(self, unit: Unit, asked: Sequence[ClaimRef]) -> _Candidates:
        """Find the nodes that suit the pod and its claims that are allocated already (SCHED-2).

        Raises ``SelectorError``.
        """
        earlier = [*unit.held(self._made)]
        spec = unit.pod.spec if unit.pod else None
        place = place_key(spec, earlier)
        key = place, _encode([(claim.spec, annotated_entries(claim.metadata)) for claim in _claims(asked)])
        if key not in self._candidates:
            if place not in self._suited:
                self._suited[place] = SuitableNodes(self._nodes, spec, earlier)
            suitable = self._suited[place]
            self._candidates[key] = _Candidates(suitable, OpenNodes(suitable, FailedNodes(self._names), self._ledger))
        return self._candidates[key]


def _claims(refs: Sequence[ClaimRef]) -> list[ResourceClaim]:
    return [ref.claim for ref in refs if ref.claim is not None]


def unplaced(
    unit: Unit, outcome: str, reasons: Sequence[Reason], failures: tuple[NodeClassFailure, ...] = ()
) -> UnitOutcome:
    """Make the outcome of a unit that got nothing."""
    return UnitOutcome(unit, outcome, reasons=tuple(reasons), failures=failures)
