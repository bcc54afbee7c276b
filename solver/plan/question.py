"""What a plan is asked: units of a queue, those refused or placed beforehand, and what may be bought."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from ...models.cluster.cluster import Cluster
from ...models.formats.runtime import gc_paused
from ...models.kubernetes.core import HOSTNAME_LABEL
from ...models.kubernetes.extensions import VALUE_ANNOTATION, CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import KueueWorkload
from ...models.kubernetes.node_templates import PurchaseLimit
from ...models.kubernetes.workloads import DaemonSet
from ...models.results.common import Reason
from ...models.workload.controllers import read_controllers
from ...models.workload.expansion import QueuedUnit, expand_units, unit_runs
from ...models.workload.pod_sets import Look, looking
from ...models.workload.queue import GroupSelection, read_queue
from ...models.workload.quota import QuotaProblem, QuotaQueue
from ...models.workload.unit_classes import UnitShape
from ...problem.messages import check_deadline
from ...problem.selectors import KUEUE_QUOTA, LIFTED_PODS, NodeResourceClaims
from ..engines.engine import Session
from ..engines.outcome import ClaimConsumers, missing_reference_reasons
from ..verification.plan_replay import PlanVerifier, QueueSelection, verifier_of_plans
from .build import EarlierPlacements, PlanRequest, no_earlier_placements
from .build.gangs import forbid_coverage
from .build.nodes import build_node_catalogue
from .build.objectives import value_annotation
from .build.preferences import PREFERENCES
from .build.weights import spendable
from .outcome import UNKNOWN, PlanOutcome, check_plan
from .time_budget import PlanTimeBudget

if TYPE_CHECKING:
    from .lifted import LiftedPods


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """A cluster with its feature gates, and what is asked about its queue.

    ``namespace``, ``selector``, ``natural_gangs`` and ``group`` say which units are planned, and what is a gang.
    ``given`` are constraints for every claim. ``quota`` is what workloads need to be admitted; None: none is needed.
    ``lifted`` are running pods that may leave. ``notices`` say which fields of the input do not count. The verifier is
    asked the same question.
    """

    cluster: Cluster
    gates: FeatureGates
    policy: str
    stages: tuple[str, ...]
    gap: float
    namespace: str | None
    selector: str
    natural_gangs: bool
    group: GroupSelection | None
    given: tuple[CallerConstraint, ...]
    quota: QuotaProblem | None
    lifted: LiftedPods | None
    notices: tuple[str, ...]

    @gc_paused()
    def read(self, deadline: float | None) -> PlanQueue:
        """Read the queue. Raises ``DeadlineExceededError`` after ``deadline``, and ``ValueError`` as ``plan`` says."""
        look = None if deadline is None else partial(check_deadline, deadline)
        sets = read_queue(
            self.cluster,
            namespace=self.namespace,
            selector=self.selector,
            natural_gangs=self.natural_gangs,
            gates=self.gates,
            value=value_annotation(self.stages) or VALUE_ANNOTATION,
            group=self.group,
            prefers=PREFERENCES in self.stages,
            look=look,
        )
        charged = None if self.quota is None else QuotaQueue(self.quota, sets)
        sets = sets if charged is None else charged.sets
        counted = NodeResourceClaims(self.cluster, self.gates, KUEUE_QUOTA if charged else "")
        units = counted.planned(expand_units(self.cluster, sets, self.gates, look))
        if charged or self.lifted or self.cluster.constraint_groups:
            units = list(units)
        if charged or self.lifted:
            forbid_coverage(units, KUEUE_QUOTA if charged else LIFTED_PODS)
        refused = refused_units(self.cluster, units, charged, look)
        if self.lifted:
            refused.update(self.lifted.refused_places(units))
        return PlanQueue(self, units, refused, charged, counted.is_incomplete)

    def unread(self, seconds: Mapping[str, float]) -> PlanOutcome:
        """The answer where no time is left to read the queue twice; ``seconds`` are those of the phases."""
        return unread_plan(self.cluster, self.gates, self.policy, self.gap, self.notices, seconds)

    def verifier(self, *, buy: bool) -> AbstractContextManager[PlanVerifier | None]:
        """A process that reads the question for itself while it is answered; it knows nothing but the input."""
        if buy or self.lifted or self.quota:
            return nullcontext()
        selection = QueueSelection(self.namespace, self.selector, self.natural_gangs, self.group)
        return verifier_of_plans((self.cluster, self.gates, self.policy, self.given), selection)

    @property
    def check(self) -> partial[None]:
        """``check_plan`` for answers to this question; it wants a cluster with what is bought, and units."""
        return partial(
            check_plan,
            gates=self.gates,
            cel_errors=self.policy,
            namespace=self.namespace,
            selector=self.selector,
            caller_constraints=self.given,
            natural_gangs=self.natural_gangs,
            group=self.group,
            quota=self.quota,
        )

    def controller_notices(self, *, buy: bool) -> Iterator[str]:
        """Say what controllers ask for and is not planned."""
        yield from read_controllers(self.cluster, natural_gangs=self.natural_gangs).notices
        daemons = self.cluster.objects(DaemonSet).values() if buy else ()
        if any(one.spec.template.spec.resource_claims for one in daemons):
            yield "claims of DaemonSet pods on new nodes are not made"


@dataclass(frozen=True, slots=True)
class PlanQueue:
    """The units of a queue, and reasons by position of those that cannot be placed, which later phases add to.

    ``charged`` says which units need quota. ``is_incomplete``: devices that stand for resources of nodes leave out
    units that could be placed.
    """

    question: PlanQuestion
    units: Sequence[QueuedUnit]
    refused: dict[int, tuple[Reason, ...]]
    charged: QuotaQueue | None
    is_incomplete: bool

    def request(
        self,
        seed: int,
        time: PlanTimeBudget,
        *,
        last_stages: tuple[str, ...],
        buy: bool,
        only_new: bool,
        budget: Decimal | None,
        purchase_limits: Sequence[PurchaseLimit],
        mix: Cluster | None,
    ) -> tuple[PlanRequest, PlanRequest]:
        """What is planned when pods of DaemonSets have their places, and then when coupled units have theirs.

        The first is wider: whatever bounds its plans bounds every plan.

        Raises
        ------
        ValueError
            For annotations that cannot be read, for buying without anything to buy, and for a mix without a use.

        """
        asked, lifted = self.question, self.question.lifted
        session = Session(asked.cluster, asked.gates, asked.policy, seed, caller_constraints=asked.given)
        positions = _without(range(len(self.units)), self.refused)
        before = self._with_daemons(session, positions, time.coupling_ends())
        earlier = self._with_coupled_units(session, positions, before, time.coupling_ends(), only_new=only_new)
        forbid_coverage((self.units[place] for place in earlier.positions), "ConstraintGroups and DaemonSets")
        self.refused.update(earlier.reasons)
        whole = PlanRequest(
            session,
            self.units,
            _without(positions, before.positions),
            asked.stages,
            before,
            build_node_catalogue(asked.cluster, self._single_host_gangs(), purchase_limits) if buy else None,
            only_new,
            None if budget is None else spendable(budget),
            None if mix is None else self._target_units(mix),
            last_stages=last_stages,
            quota=self.charged,
            moves=lifted.plan_moves(self.units, {*self.refused, *earlier.positions}) if lifted else None,
            is_narrowed=self.is_incomplete or bool(lifted and lifted.is_narrowed),
        )
        return whole, replace(whole, open_positions=_without(whole.open_positions, earlier.positions), earlier=earlier)

    def _with_daemons(self, session: Session, positions: Sequence[int], deadline: float | None) -> EarlierPlacements:
        """Place the pods of DaemonSets; most queues have none."""
        found = no_earlier_placements(session)
        if any(one.node for one, _ in unit_runs(self.units)):
            from .build.groups import place_daemons

            place_daemons(session, self.units, positions, found, deadline)
        return found

    def _with_coupled_units(
        self,
        session: Session,
        positions: Sequence[int],
        before: EarlierPlacements,
        deadline: float | None,
        *,
        only_new: bool,
    ) -> EarlierPlacements:
        """Place what ConstraintGroups couple; few clusters have any, so that placing them is loaded only here."""
        if not session.cluster.constraint_groups:
            return before
        from .build.groups import place_coupled_units

        found = before.copied()
        left = _without(positions, before.positions)
        needs_quota = self.charged.member if self.charged else None
        place_coupled_units(session, self.units, left, found, deadline, only_new=only_new, needs_quota=needs_quota)
        return found

    def _single_host_gangs(self) -> int:
        """How many gangs must have one node, or one each: no label tells new nodes apart but the host name."""
        gangs = {one.gang for one, _ in unit_runs(self.units)}
        return sum(gang is not None and gang.domain == HOSTNAME_LABEL for gang in gangs)

    def _target_units(self, mix: Cluster) -> list[QueuedUnit]:
        """The units of a mix, for which the stage ``fragmentation`` leaves room. Raises ``ValueError`` for none."""
        gates = self.question.gates
        expanded = expand_units(mix, read_queue(mix, gates=gates), gates)
        units = NodeResourceClaims(self.question.cluster, gates).planned(expanded)
        refused = refused_units(self.question.cluster, units)
        if len(refused) == len(units):
            said = "; ".join(dict.fromkeys(reason.message for reasons in refused.values() for reason in reasons))
            raise ValueError(f"the mix has no unit that could be placed{': ' if said else ''}{said}")
        return [planned for place, planned in enumerate(units) if place not in refused]


def _without(positions: Sequence[int], decided: Collection[int]) -> Sequence[int]:
    """Those positions of which nothing was decided."""
    return [place for place in positions if place not in decided] if decided else positions


def refused_units(
    cluster: Cluster, queue: Sequence[QueuedUnit], quota: QuotaQueue | None = None, look: Look | None = None
) -> dict[int, tuple[Reason, ...]]:
    """Units that nothing can place, with the reasons; those of workloads that cannot be admitted among them.

    ``look`` is called after every few units.
    """
    found: dict[int, tuple[Reason, ...]] = {}
    # Units of one shape are refused for the same reasons, each with the names of its own claims.
    sound: set[UnitShape] = set()
    consumers = ClaimConsumers()
    for one, places in looking(unit_runs(queue), look):
        shape, gang = one.shape, one.gang
        if shape in sound and gang is None and quota is None and not cluster.claims:
            # No pod names a claim where there is none.
            continue
        for place in looking(places, look):
            planned = queue[place]
            reasons = [] if shape in sound else list(missing_reference_reasons(planned.unit, cluster.classes))
            if not reasons:
                sound.add(shape)
                if gang is None and quota is None and not consumers.named(planned):
                    break
            reasons += consumers.refusals(planned)
            if gang is not None and gang.problem:
                reasons.append(Reason("gang", "", gang.problem))
            member = quota.member(planned) if quota else None
            if quota and member and quota.problems[member.workload]:
                reasons.append(Reason("quota", "", quota.problems[member.workload]))
            if member and gang is not None and gang.parents:
                reasons.append(Reason("gang", "", f"{gang.parents[-1].label} is not planned with quota of Kueue"))
            if reasons:
                found[place] = tuple(reasons)
    torn = {queue[place].unit_set.gang for place in found}
    for one, places in unit_runs(queue):
        if one.gang is not None and one.gang.minimum is None and one.gang in torn:
            said = f"{one.gang.label} is placed whole or not at all: it has members that have to wait"
            found.update((place, (Reason("gang", "", said),)) for place in places if place not in found)
    return found


def unread_plan(
    cluster: Cluster, gates: FeatureGates, policy: str, gap: float, notices: Sequence[str], seconds: Mapping[str, float]
) -> PlanOutcome:
    """The plan that tells nothing, for there was no time to read the queue and to verify what is told of it."""
    controllers = sum(map(len, cluster.workload_objects.values())) + len(cluster.objects(KueueWorkload))
    unread = len(cluster.pods) + len(cluster.claims) + controllers
    said = (
        f"the time limit ended before the queue was read: no unit of {unread:,} pods, claims and controllers"
        " of the input is in this plan"
    )
    told = (*notices, said)
    return PlanOutcome(UNKNOWN, (), (), (), gates, policy, gap, True, seconds=seconds, notices=told, unread=unread)
