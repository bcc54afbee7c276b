"""Explains a unit that cannot be allocated: its nodes by class, the conflict of each, and what would help."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...models.claims import ResourceClaim
from ...models.core import Node
from ...models.identity import ObjectKey
from ...models.pools import COMPLETE
from ...models.selection import Misfit, SelectorError, node_matches, pod_fits
from ...models.units import Unit
from ...problem.in_use import Ledger
from ...problem.messages import claim_text
from ...problem.outcomes import DeadlineExceededError
from ..attempts import Session
from ..cp_sat_run import Limits
from ..outcome import ERROR, Reason, UnitOutcome
from .case import Case, UnaskableError, Workbench
from .conflict import Conflict, minimal_conflict
from .offer import Offer
from .records import NodeClass, UnitExplanation
from .relaxing import MOST, Place, Relaxer
from .restricted import counted_out
from .scene import Scene
from .sentences import Sentences
from .trials import Trials, TrialsOverError
from .views import request_views

# Classes of nodes that are explained, the largest first.
MOST_CLASSES = 16

# Changes after which the reasons that are left can be told without compiling anew.
_GUARDED = frozenset({"constraint", "requestSelector", "classSelector", "toleration", "request", "featureGate"})


Groups = list[tuple[tuple[Misfit | None, Hashable], list[Node]]]
"""Nodes on which a unit meets the same, with why they do not suit it at all, if they do not."""


@dataclass(frozen=True, slots=True)
class _Explained:
    """A class of nodes, and the place where relaxations may be tried, if there is one."""

    told: NodeClass
    place: Place | None


class Explainer:
    """Explains units, each in the state in which its turn comes; ``nodes`` are those that were asked about."""

    def __init__(self, session: Session, nodes: Mapping[str, Node], deadline: float | None) -> None:
        self._session = session
        self._nodes = nodes
        self._deadline = deadline
        self._bench = Workbench(session)
        self._bench.limit(deadline)
        self._trials = Trials(session, deadline)

    def explain(
        self, answer: UnitOutcome, allocated: Mapping[ObjectKey, ResourceClaim], ledger: Ledger, ties: str = ""
    ) -> UnitExplanation:
        """Explain a unit that got nothing; ``allocated`` are the claims of earlier units, with what they got.

        ``ties`` names the groups that tie it to others, with which it was asked about: it is explained alone, or not
        at all if it fits alone, as others are then in the way.
        """
        unit = _current(answer.unit, allocated)
        whole = UnitExplanation(answer.unit, answer.outcome, reasons=answer.reasons)
        if unit.problems or any(reason.id == "deviceClass" for reason in answer.reasons):
            return whole
        self._trials.renew()
        cluster = self._session.cluster.with_claims(allocated.values())
        scene = Scene(cluster, unit, self._session.gates, self._session.given)
        try:
            groups = self._groups(unit, ledger)
            alone = self._fitting(scene, groups) if ties else None
            if alone is not None:
                reason = Reason("constraintGroup", "", f"alone it fits on {alone.metadata.name}")
                return dataclasses.replace(whole, reasons=(*answer.reasons, reason))
            explained = [self._class(unit, nodes, misfit, ledger) for (misfit, _), nodes in groups[:MOST_CLASSES]]
        except (DeadlineExceededError, TrialsOverError):
            return dataclasses.replace(whole, complete=False)
        except SelectorError:
            return whole
        relaxer = Relaxer(scene, self._trials, self._rest)
        done = relaxer.run([one.place for one in explained if one.place is not None])
        return dataclasses.replace(
            whole,
            reasons=(*_tied(ties), *(answer.reasons if answer.outcome == ERROR else ())),
            classes=tuple(_joined([one.told for one in explained])),
            relaxations=tuple(relaxer.found[:MOST]),
            complete=done and len(groups) <= MOST_CLASSES,
        )

    def _groups(self, unit: Unit, ledger: Ledger) -> Groups:
        """Put nodes together on which the unit meets the same, the largest groups first."""
        claims = [ref.claim for ref in unit.asked if ref.claim is not None]
        groups: dict[tuple[Misfit | None, Hashable], list[Node]] = defaultdict(list)
        for node in self._nodes.values():
            misfit = _misfit(unit, node)
            groups[misfit, None if misfit else self._bench.key(node, claims, ledger)].append(node)
        return sorted(groups.items(), key=lambda item: -len(item[1]))

    def _fitting(self, scene: Scene, groups: Groups) -> Node | None:
        """Find a node on which the unit fits alone. Raises ``TrialsOverError``."""
        return next((nodes[0] for _, nodes in groups if self._trials.fits(scene, nodes[0])), None)

    def _class(self, unit: Unit, nodes: Sequence[Node], misfit: Misfit | None, ledger: Ledger) -> _Explained:
        names = tuple(node.metadata.name for node in nodes)
        if misfit is not None:
            return _Explained(NodeClass(names, (Reason(misfit.id, "", misfit.message),)), Place(nodes[0], None))
        claims = [ref.claim for ref in unit.asked if ref.claim is not None]
        try:
            case = self._bench.case(nodes[0], claims, ledger)
        except UnaskableError as error:
            return _Explained(NodeClass(names, (error.reason,)), None)
        conflict = self._conflict(case)
        if conflict is None:
            reason = Reason("combination", "", "the reasons could not be taken apart within the limit")
            return _Explained(NodeClass(names, (reason,), minimal=False, certified=False), None)
        words = Sentences(case, conflict.reasons)
        told = NodeClass(
            names, words.all(), request_views(words), tuple(_notes(case)), conflict.minimal, conflict.certified
        )
        return _Explained(told, Place(nodes[0], words))

    def _conflict(self, case: Case, without: Offer | None = None) -> Conflict | None:
        limits = Limits(self._deadline, self._session.work, self._session.seed)
        reason = without.reason if without else None
        return minimal_conflict(case.model, limits, lambda reasons: counted_out(case, reasons), reason)

    def _rest(self, scene: Scene, words: Sentences, node: Node, offer: Offer) -> Sentences | None:
        """Find what is left in the way after the strongest change of an offer."""
        case, change = words.case, offer.rungs[-1]
        if change.id in _GUARDED and not _is_one_of_many(case, offer):
            conflict = self._conflict(case, offer)
            return Sentences(case, conflict.reasons) if conflict else None
        changed = change.apply(scene)
        try:
            case = self._bench.case(node, changed.claims, changed.ledger())
        except (UnaskableError, DeadlineExceededError):
            return None
        conflict = self._conflict(case)
        return Sentences(case, conflict.reasons) if conflict else None


def _tied(ties: str) -> tuple[Reason, ...]:
    """Say that what is told is not the whole question."""
    text = f"tied to other units by {ties}: what follows is about this one alone"
    return (Reason("constraintGroup", "", text),) if ties else ()


def _is_one_of_many(case: Case, offer: Offer) -> bool:
    """Tell whether an offer drops one of several equal requests, which one guard stands for."""
    if offer.rungs[-1].id != "request" or offer.reason is None:
        return False
    return any(one.copies > 1 for one in case.model.merged.branches if one.request == offer.reason.subject)


def _current(unit: Unit, allocated: Mapping[ObjectKey, ResourceClaim]) -> Unit:
    """Let claims that earlier units share with this one have their allocations."""
    refs = tuple(dataclasses.replace(ref, claim=allocated.get(ref.key, ref.claim)) for ref in unit.claims)
    return dataclasses.replace(unit, claims=refs)


def _misfit(unit: Unit, node: Node) -> Misfit | None:
    """Find why the node does not suit, whatever devices it has (NODE-2, SCHED-2). Raises ``SelectorError``."""
    misfits = pod_fits(unit.pod.spec, node) if unit.pod else []
    if misfits:
        return misfits[0]
    for ref in unit.claims:
        status = ref.claim.status if ref.claim else None
        if status and status.allocation and not node_matches(status.allocation.node_selector, node):
            return Misfit("allocatedClaim", f"claim {claim_text(ref.key)} is allocated for other nodes")
    return None


def _notes(case: Case) -> Iterator[str]:
    """Name pools whose devices nobody can have."""
    for pool in case.view.pools:
        if pool.status != COMPLETE:
            yield f"pool {'/'.join(pool.id)} is {pool.status}, its devices do not count: {pool.reason}"


def _joined(classes: Sequence[NodeClass]) -> Iterator[NodeClass]:
    """Put classes together that differ in nothing that is told."""
    groups: dict[NodeClass, list[NodeClass]] = defaultdict(list)
    for one in classes:
        groups[dataclasses.replace(one, nodes=())].append(one)
    for key, members in groups.items():
        yield dataclasses.replace(key, nodes=tuple(sorted(name for one in members for name in one.nodes)))
