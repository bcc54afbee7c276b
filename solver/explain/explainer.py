"""Explains a unit that cannot be allocated: its nodes by class, the conflict of each, and what would help."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from ...encoders.symmetry import MergedAlternative
from ...models.cluster.node_fit import SelectorError
from ...models.cluster.pools import COMPLETE
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import NODES_NAMED, CountedWitness, ProofKind, Reason, RejectedDevices, Status
from ...models.results.explanation import DevicesForRequest, ExplainedNodes, ExplainedUnit
from ...models.workload.node_room import NodeRooms
from ...models.workload.units import Unit
from ...problem.messages import DeadlineExceededError, Justification, claim_text, witness_of
from ...problem.node_state import AllocatedState
from ...problem.shapes import group_equal_largest_first
from ..engines.cp_sat import Limits
from ..engines.engine import Session
from ..engines.outcome import UnitOutcome
from ..verification.reasons import ReasonSet
from .audit import ExplainedClass, UnitExplanation
from .changes import RelaxationOption
from .conflict import (
    COMBINATION,
    ExplanationCompiler,
    GuardedProblem,
    MinimalUnsatisfiableSubset,
    NotCompilableError,
    minimal_unsatisfiable_subset,
    proof_by_counting,
)
from .relaxation import MAX_RELAXATIONS, RelaxationNode, UnitRelaxationSearch
from .what_if import TrialLimitError, WhatIf, WhatIfTrials, node_misfit
from .wording import ReasonWording, held_reason

# Classes of nodes that are explained, the largest first.
MAX_NODE_CLASSES = 16
# Changes after which the reasons that are left can be told without compiling anew.
_GUARDED_CHANGES = frozenset({"constraint", "requestSelector", "classSelector", "toleration", "request", "featureGate"})


@dataclass(frozen=True, slots=True)
class _NodeClass:
    """A class of nodes by name, why the unit fails on them, and the place where relaxations may be tried, if any.

    ``failure`` names no nodes, so that classes that read alike are equal. ``asked`` are the reasons as an audit takes
    them, None where the node itself refuses the unit.
    """

    names: tuple[str, ...]
    failure: ExplainedNodes
    place: RelaxationNode | None
    witness: CountedWitness | None = None
    asked: ReasonSet | None = None


class Explainer:
    """Explains units, each in the state in which its turn comes; ``nodes`` are those that were asked about."""

    def __init__(self, session: Session, nodes: Mapping[str, Node], deadline: float | None) -> None:
        self._session = session
        self._nodes = nodes
        self._deadline = deadline
        self._compiler = ExplanationCompiler(session)
        self._compiler.limit(deadline)
        self._trials = WhatIfTrials(session, deadline)

    def explain(
        self,
        answer: UnitOutcome,
        whole: ExplainedUnit,
        allocated: Mapping[ObjectKey, ResourceClaim],
        allocated_state: AllocatedState,
        rooms: NodeRooms,
        ties: str = "",
    ) -> UnitExplanation:
        """Complete ``whole``, the record of a unit that got nothing, with its failures and relaxations.

        ``allocated`` are the claims of earlier units, with what they got. ``ties`` names the groups that tie the unit
        to others, with which it was asked about: it is explained alone, or not at all if it fits alone, as others are
        then in the way.
        """
        # Claims that earlier units share with this one have their allocations.
        refs = tuple(structs.replace(ref, claim=allocated.get(ref.key, ref.claim)) for ref in answer.unit.claims)
        unit = structs.replace(answer.unit, claims=refs)
        if unit.problems or any(reason.id == "deviceClass" for reason in answer.reasons):
            return UnitExplanation(whole)
        self._trials.renew()
        cluster = self._session.cluster.with_claims(allocated.values())
        what_if = WhatIf(cluster, unit, self._session.gates, self._session.caller_constraints, rooms)
        try:
            groups = self._groups(unit, allocated_state, rooms)
            alone = next((nodes[0] for nodes in groups if ties and self._trials.fits(what_if, nodes[0])), None)
            if alone is not None:
                reason = Reason("constraintGroup", "", f"alone it fits on {alone.metadata.name}")
                return UnitExplanation(structs.replace(whole, reasons=(*answer.reasons, reason)))
            explained = [self._class(unit, nodes, allocated_state, rooms) for nodes in groups[:MAX_NODE_CLASSES]]
        except (DeadlineExceededError, TrialLimitError):
            return UnitExplanation(structs.replace(whole, complete=False))
        except SelectorError:
            return UnitExplanation(whole)
        tied = Reason("constraintGroup", "", f"tied to other units by {ties}: what follows is about this one alone")
        relaxer = UnitRelaxationSearch(what_if, self._trials, self._rest)
        done = relaxer.run([one.place for one in explained if one.place is not None])
        merged = list(_merge_equal_classes(explained))
        found = structs.replace(
            whole,
            reasons=(*([tied] if ties else ()), *(answer.reasons if answer.outcome == Status.ERROR else ())),
            failures=tuple(failure for failure, _ in merged),
            relaxations=tuple(relaxer.found[:MAX_RELAXATIONS]),
            complete=done and len(groups) <= MAX_NODE_CLASSES,
        )
        return UnitExplanation(
            found, tuple(tuple(ExplainedClass(one.names, one.asked) for one in own) for _, own in merged)
        )

    def _groups(self, unit: Unit, allocated_state: AllocatedState, rooms: NodeRooms) -> list[list[Node]]:
        """Group the nodes on which the unit fails for the same reasons, the largest groups first."""
        claims = unit.claims_to_allocate

        def key(node: Node) -> Hashable:
            misfit = node_misfit(unit, node, rooms)
            if misfit is None:
                return self._compiler.key(node, claims, allocated_state)
            # How much is left of what there is too little of differs from node to node.
            return misfit.id, misfit.kind or misfit.message

        return group_equal_largest_first(self._nodes.values(), key)

    def _class(
        self, unit: Unit, nodes: Sequence[Node], allocated_state: AllocatedState, rooms: NodeRooms
    ) -> _NodeClass:
        names = tuple(node.metadata.name for node in nodes)
        misfit = node_misfit(unit, nodes[0], rooms)
        if misfit is not None:
            failure = _node_failure(Reason(misfit.id, "", misfit.message))
            return _NodeClass(names, failure, RelaxationNode(nodes[0], None))
        try:
            guarded = self._compiler.compile(nodes[0], unit.claims_to_allocate, allocated_state)
        except NotCompilableError as error:
            failure = _node_failure(error.reason)
            if error.reason.id == COMBINATION:
                failure = structs.replace(failure, proof=ProofKind.SOLVER, certified=False)
            return _NodeClass(names, failure, None)
        conflict = self._conflict(guarded)
        if conflict is None:
            reason = Reason(COMBINATION, "", "the reasons could not be taken apart within the limit")
            failure = structs.replace(_node_failure(reason), minimal=False, proof=ProofKind.SOLVER, certified=False)
            return _NodeClass(names, failure, None)
        words = ReasonWording(guarded, conflict.reasons)
        failure = ExplainedNodes(
            nodes=0,
            names=(),
            reasons=words.all(),
            minimal=conflict.minimal,
            proof=conflict.proof_kind,
            certified=conflict.proof_kind.is_checked,
            requests=tuple(_devices_for_request(words, alternative) for alternative in words.requested_alternatives),
            notes=tuple(
                f"pool {'/'.join(pool.id)} is {pool.status}, its devices do not count: {pool.reason}"
                for pool in guarded.view.pools
                if pool.status != COMPLETE
            )
            + (() if conflict.confirmed else (_SHOWN_ONCE,)),
        )
        witness = _witness(guarded, conflict.reasons) if conflict.proof_kind is ProofKind.WITNESS else None
        asked = ReasonSet(nodes[0], tuple(held_reason(guarded, one) for one in conflict.reasons), conflict.minimal)
        return _NodeClass(names, failure, RelaxationNode(nodes[0], words), witness, asked)

    def _conflict(
        self, guarded: GuardedProblem, without: RelaxationOption | None = None
    ) -> MinimalUnsatisfiableSubset | None:
        limits = Limits.of(self._session, self._deadline, self._session.work)
        reason = without.reason if without else None
        return minimal_unsatisfiable_subset(
            guarded.model, limits, lambda reasons: proof_by_counting(guarded, reasons) is not None, reason
        )

    def _rest(
        self, what_if: WhatIf, words: ReasonWording, node: Node, option: RelaxationOption
    ) -> ReasonWording | None:
        """Find what is left in the way after the strongest change of an option."""
        guarded, change = words.guarded, option.changes[-1]
        if change.id in _GUARDED_CHANGES and not _is_one_of_many(guarded, option):
            conflict = self._conflict(guarded, option)
            return ReasonWording(guarded, conflict.reasons) if conflict else None
        changed = change.apply(what_if)
        try:
            guarded = self._compiler.compile(node, changed.claims, changed.allocated_state())
        except (NotCompilableError, DeadlineExceededError):
            return None
        conflict = self._conflict(guarded)
        return ReasonWording(guarded, conflict.reasons) if conflict else None


def _witness(guarded: GuardedProblem, reasons: Collection[Justification]) -> CountedWitness | None:
    """The sum that shows by counting that reasons are impossible together."""
    found = proof_by_counting(guarded, reasons)
    if found is None or found.counted is None:
        return None
    return witness_of(guarded.names.name_devices(found.counted), list(map(claim_text, guarded.names.claims)))


_SHOWN_ONCE = "no second proof of this was found within the limit"


def _is_one_of_many(guarded: GuardedProblem, option: RelaxationOption) -> bool:
    """Tell whether an option drops one of several equal requests, which one guard stands for."""
    if option.changes[-1].id != "request" or option.reason is None:
        return False
    return any(one.copies > 1 for one in guarded.model.merged.alternatives if one.request == option.reason.subject)


def _node_failure(reason: Reason) -> ExplainedNodes:
    """A single reason, for which no solver was asked."""
    return ExplainedNodes(
        nodes=0,
        names=(),
        reasons=(reason,),
        minimal=True,
        proof=ProofKind.WITNESS,
        certified=True,
        requests=(),
        notes=(),
    )


def _merge_equal_classes(classes: Sequence[_NodeClass]) -> Iterator[tuple[ExplainedNodes, Sequence[_NodeClass]]]:
    """Put classes together whose failures read alike, and say how many nodes they have and which."""
    groups: dict[ExplainedNodes, list[_NodeClass]] = defaultdict(list)
    witnesses = {one.names[0]: one.witness for one in classes}
    for one in classes:
        groups[one.failure].append(one)
    for failure, own in groups.items():
        names = sorted(name for one in own for name in one.names)
        first = witnesses.get(names[0])
        yield structs.replace(failure, nodes=len(names), names=tuple(names[:NODES_NAMED]), witness=first), own


def _devices_for_request(words: ReasonWording, alternative: MergedAlternative) -> DevicesForRequest:
    guarded, number = words.guarded, alternative.demands[0]
    demand = guarded.problem.demands[number]
    matching = words.selected_devices(alternative)
    of_device = guarded.obstacles.of[number]
    found = [of_device[device] for device in matching if of_device[device]]
    # A reader wants to know first that a device is held by somebody.
    firsts = Counter(next((one for one in several if one.filter == "inUse"), several[0]) for several in found)
    fallen = [RejectedDevices(one.filter, one.name, count) for one, count in firsts.items()]
    return DevicesForRequest(
        claim=claim_text(guarded.names.claims[demand.claim]),
        request=demand.label,
        device_class=demand.class_name,
        needed=max(demand.count, 1),
        devices=guarded.problem.size,
        matching=len(matching),
        free=len(matching) - len(found),
        fallen=tuple(sorted(fallen, key=lambda row: (-row.devices, row.filter, row.detail))),
    )
