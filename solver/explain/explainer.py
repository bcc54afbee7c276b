"""Explains a unit that cannot be allocated: its nodes by class, the conflict of each, and what would help.

The smallest relaxations with which it fits come first: single changes, then pairs, then freeing many claims. Whatever
helps must change one of the reasons of every conflict. So candidates for single changes come from the conflict of a
node, and those to go with a change that does not help alone from the conflict that is left with it (a hitting-set
tree, Reiter 1987).
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from ...encoders.symmetry import MergedAlternative
from ...models.cluster.node_fit import SelectorError
from ...models.cluster.pools import COMPLETE
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import NODES_NAMED, CountedWitness, ProofKind, Reason, RejectedDevices, Status
from ...models.results.explanation import DevicesForRequest, ExplainedNodes, ExplainedUnit, RelaxationAnswer
from ...models.workload.node_room import NodeRooms
from ...models.workload.units import Unit
from ...problem.messages import DeadlineExceededError, Justification, claim_text, witness_of
from ...problem.node_state import AllocatedState
from ...problem.shapes import group_equal_largest_first
from ..engines.cp_sat import Limits
from ..engines.engine import Session
from ..engines.outcome import UnitOutcome, deletion_filter
from ..verification.reasons import ReasonSet
from .audit import ExplainedClass, UnitExplanation
from .changes import Change, RelaxationOption, freeing_change, holding_claims, pod_changes, relaxation_options
from .conflict import (
    COMBINATION,
    ExplanationCompiler,
    GuardedProblem,
    MinimalUnsatisfiableSubset,
    NotCompilableError,
    minimal_unsatisfiable_subset,
    proof_by_counting,
)
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


# Pairs are looked for while fewer single changes help.
ENOUGH_RELAXATIONS = 3
# More are not told.
MAX_RELAXATIONS = 5
RemainingConflict = Callable[[WhatIf, ReasonWording, Node, RelaxationOption], ReasonWording | None]
"""Finds what is still impossible on a node after the strongest change of an option."""


@dataclass(frozen=True, slots=True)
class RelaxationNode:
    """A node and why the unit does not fit there; ``words`` is None if the pod itself does not."""

    node: Node
    words: ReasonWording | None


class UnitRelaxationSearch:
    """Looks for relaxations of one unit; ``rest`` finds what is impossible once an option is applied."""

    def __init__(self, what_if: WhatIf, trials: WhatIfTrials, rest: RemainingConflict) -> None:
        self._what_if = what_if
        self._trials = trials
        self._rest = rest
        self.found: list[RelaxationAnswer] = []
        self._settled: set[Hashable] = set()

    def run(self, places: Sequence[RelaxationNode]) -> bool:
        """Fill ``found``; False: stopped early."""
        try:
            for search in (self._singles, self._pairs, self._many):
                if len(self.found) < ENOUGH_RELAXATIONS:
                    search(places)
        except TrialLimitError:
            return False
        finally:
            self.found.sort(key=lambda one: (len(one.changes), one.cost))
        return True

    def _singles(self, places: Sequence[RelaxationNode]) -> None:
        for place in places:
            changes = [] if place.words else pod_changes(self._what_if, place.node)
            if changes and self._fits(place.node, *changes):
                self._record(place.node, tuple(change.message for change in changes), *changes)
        by_subject: dict[Hashable, list[tuple[Node, RelaxationOption]]] = defaultdict(list)
        for place in places:
            for option in self._offers(place.words) if place.words else ():
                by_subject[option.subject].append((place.node, option))
        for subject, listed in sorted(by_subject.items(), key=lambda item: min(one.cost for _, one in item[1])):
            if len(self.found) < MAX_RELAXATIONS:
                self._try_all(subject, listed)

    def _try_all(self, subject: Hashable, listed: Sequence[tuple[Node, RelaxationOption]]) -> None:
        """Find the cheapest change of a subject, whatever the node: another node may need less of it."""
        best: tuple[Node, Change] | None = None
        try:
            for node, option in listed:
                changes = tuple(one for one in option.changes if best is None or one.cost < best[1].cost)
                cheaper = dataclasses.replace(option, changes=changes)
                change = self._weakest(node, cheaper) if changes else None
                best = (node, change) if change else best
        finally:
            if best is not None:
                self._record(best[0], subject, best[1])

    def _offers(self, words: ReasonWording) -> Iterator[RelaxationOption]:
        """Leave out freeing what the unit itself has."""
        own = {("free", ref.key) for ref in self._what_if.unit.claims}
        return (option for option in relaxation_options(words) if option.subject not in own)

    def _fits(self, node: Node, *changes: Change) -> bool:
        return self._trials.fits(_apply_changes(self._what_if, changes), node)

    def _weakest(self, node: Node, option: RelaxationOption) -> Change | None:
        """Find the weakest change of an option with which the unit fits, by bisection if it may be; None: none does."""
        if not option.is_monotone:
            return next((one for one in option.changes if self._fits(node, one)), None)
        low, high = 0, len(option.changes) - 1
        if not self._fits(node, option.changes[-1]):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._fits(node, option.changes[middle]):
                high = middle
            else:
                low = middle + 1
        return option.changes[high]

    def _pairs(self, places: Sequence[RelaxationNode]) -> None:
        for place in places:
            if place.words is not None:
                for first in self._offers(place.words):
                    if first.subject not in self._settled and len(self.found) < ENOUGH_RELAXATIONS:
                        self._pairs_with(place.node, place.words, first)

    def _pairs_with(self, node: Node, words: ReasonWording, first: RelaxationOption) -> None:
        rest = self._rest(self._what_if, words, node, first)
        if rest is None:
            return
        for second in self._offers(rest):
            key = frozenset({first.subject, second.subject})
            if len(self.found) >= ENOUGH_RELAXATIONS or len(key) < 2 or {key, second.subject} & self._settled:
                continue
            self._settled.add(key)
            if self._fits(node, first.changes[-1], second.changes[-1]):
                # The second change is weakened as far as the strongest first one lets it, then the first.
                other = self._weakest_with(node, second, first.changes[-1])
                self._record(node, key, self._weakest_with(node, first, other), other)

    def _weakest_with(self, node: Node, option: RelaxationOption, other: Change) -> Change:
        for change in option.changes[:-1]:
            if self._fits(node, change, other):
                return change
        return option.changes[-1]

    def _many(self, places: Sequence[RelaxationNode]) -> None:
        """Free one claim after the other until the unit fits, and then keep those that need not go."""
        own = {ref.key for ref in self._what_if.unit.claims}
        for place in places:
            claims = [key for key in holding_claims(place.words) if key not in own] if place.words else []
            if len(claims) > 1 and len(self.found) < ENOUGH_RELAXATIONS:
                changes = tuple(freeing_change(claims[:size]) for size in range(1, len(claims) + 1))
                change = self._weakest(place.node, RelaxationOption("many", changes))
                if change is not None:
                    needed = self._needed(place.node, claims[: changes.index(change) + 1])
                    self._record(place.node, ("free", *needed), freeing_change(needed))

    def _needed(self, node: Node, claims: list[ObjectKey]) -> list[ObjectKey]:
        def is_enough(fewer: list[ObjectKey]) -> bool:
            return bool(fewer) and self._fits(node, freeing_change(fewer))

        return deletion_filter([[claim] for claim in claims], is_enough)

    def _record(self, node: Node, subject: Hashable, *changes: Change) -> None:
        self._settled.add(subject)
        reasons = tuple(change.reason for change in changes)
        if all(set(one.changes) != set(reasons) for one in self.found):
            cost = sum(change.cost for change in changes)
            self.found.append(RelaxationAnswer(changes=reasons, cost=cost, node=node.metadata.name))


def _apply_changes(what_if: WhatIf, changes: Sequence[Change]) -> WhatIf:
    """Make changes: what drops entries by number goes from the last one down, and whole requests go last."""
    for change in sorted(changes, key=lambda change: -change.index):
        what_if = change.apply(what_if)
    return what_if
