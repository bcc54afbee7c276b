"""What ``plan`` found, and the check of a plan as a whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.formats.gc import gc_paused
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey, PoolId
from ...models.results.common import ProofKind, Reason
from ...models.results.plan import (
    CoveredGroup,
    PlannedNode,
    PlannedUnit,
    PlannedWorkload,
    PlanStage,
    PlanStep,
    PlanVictim,
    QueueUsage,
    ShadowPrice,
    StageDuals,
    display_number,
)
from ...models.workload.expansion import QueuedUnit
from ...models.workload.gangs import covered_amounts
from ...models.workload.node_room import unknown_room_notices
from ...models.workload.pod_sets import Look, looking
from ...models.workload.queue import GroupSelection
from ...models.workload.quota import Admissions, QuotaProblem, QuotaQueue
from ...models.workload.running import RunningPod
from ...models.workload.unit_classes import OwnerKind, UnitShape
from ...models.workload.units import ClaimRef, Unit
from ...problem.messages import claim_text
from ..allocate.check import VerificationError
from ..engines.outcome import ClaimConsumers, claim_answers, missing_reference_reasons
from ..verification.payments import cannot_be_better
from ..verification.plan_replay import PlanReplay
from ..verification.plans import plan_violations

OPTIMAL = "Optimal"
FEASIBLE = "Feasible"
INFEASIBLE = "Infeasible"
UNKNOWN = "Unknown"
PLACED = "Placed"
NOT_PLACED = "NotPlaced"


def unknown_rooms(nodes: Iterable[Node], queue: Sequence[QueuedUnit], *, buys: bool) -> tuple[str, ...]:
    """Say which nodes have unknown room. The one without a name stands for unknown nodes; what is bought is known."""
    listed = [node for node in nodes if node.metadata.name or not buys]
    return unknown_room_notices(listed, (planned.unit for planned in queue))


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
    for place, planned in enumerate(looking(queue, look)):
        shape, gang = planned.unit_set.shape, planned.unit_set.gang
        reasons = [] if shape in sound else list(missing_reference_reasons(planned.unit, cluster.classes))
        if not reasons:
            sound.add(shape)
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
    for place, planned in enumerate(queue):
        gang = planned.unit_set.gang
        if gang is not None and gang.minimum is None and gang in torn and place not in found:
            said = f"{gang.label} is placed whole or not at all: it has members that have to wait"
            found[place] = (Reason("gang", "", said),)
    return found


@dataclass(frozen=True, slots=True)
class PlannedUnitOutcome:
    """A unit of the queue: where it goes and what its claims get, or why it is not placed.

    ``kind``, ``namespace`` and ``name`` are its owner's, ``replica`` its number there; ``unit`` holds its own name.
    ``allocations`` are the new ones only: a claim that several units share is in the first of them. ``order`` is its
    number, from 1, in an order in which the units can be placed one after the other.
    """

    kind: OwnerKind
    namespace: str
    name: str
    replica: int
    unit: Unit
    gang: str = ""
    node: str | None = None
    reasons: tuple[Reason, ...] = ()
    allocations: tuple[tuple[ClaimRef, AllocationResult], ...] = ()
    order: int | None = None

    @staticmethod
    def of(
        planned: QueuedUnit,
        node: str | None,
        reasons: tuple[Reason, ...],
        allocations: tuple[tuple[ClaimRef, AllocationResult], ...],
        order: int | None = None,
    ) -> PlannedUnitOutcome:
        """Write down what became of a unit of the queue."""
        own = planned.unit_set
        gang = own.gang.name if own.gang else ""
        place = own.kind, own.namespace, own.name, planned.number, planned.unit, gang, node
        return PlannedUnitOutcome(*place, reasons, allocations, order)

    @property
    def outcome(self) -> str:
        """``Placed`` or ``NotPlaced``."""
        return NOT_PLACED if self.node is None else PLACED


# Outcomes never change, but for what is written late.
_set = object.__setattr__


class UnplacedUnitOutcome(PlannedUnitOutcome):
    """A unit that has no node, and shares its reasons with equal ones until somebody looks at them."""

    __slots__ = ("_place", "_why")

    @classmethod
    def at(cls, place: int, planned: QueuedUnit, why: ReasonsByUnit) -> UnplacedUnitOutcome:
        """The unit at a place of the queue."""
        own, found = planned.unit_set, cls.__new__(cls)
        _set(found, "kind", own.kind)
        _set(found, "namespace", own.namespace)
        _set(found, "name", own.name)
        _set(found, "replica", planned.number)
        _set(found, "unit", planned.unit)
        _set(found, "gang", own.gang.name if own.gang else "")
        _set(found, "node", None)
        _set(found, "allocations", ())
        _set(found, "order", None)
        _set(found, "_place", place)
        _set(found, "_why", why)
        return found

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there.
        if name == "reasons":
            return self._why.get(self._place, ())
        raise AttributeError(name)


@dataclass(frozen=True, slots=True, eq=False)
class SharedReasons:
    """The reasons of equal units, written for one of them."""

    reasons: tuple[Reason, ...]
    unit: Unit

    def of(self, other: Unit) -> tuple[Reason, ...]:
        """The reasons of another unit, with the names of its own claims."""
        pairs = zip(self.unit.claims, other.claims, strict=True)
        names = {claim_text(ref.key): claim_text(own.key) for ref, own in pairs}
        return tuple(
            replace_fields(reason, claim=names[reason.claim]) if reason.claim in names else reason
            for reason in self.reasons
        )


class ReasonsByUnit(Mapping[int, tuple[Reason, ...]]):
    """Reasons by place in the queue; those of equal units are written when they are looked at."""

    def __init__(
        self, queue: Sequence[QueuedUnit] = (), found: Mapping[int, tuple[Reason, ...] | SharedReasons] | None = None
    ) -> None:
        self._queue = queue
        self._found = found or {}

    def __getitem__(self, place: int) -> tuple[Reason, ...]:
        found = self._found[place]
        return found.of(self._queue[place].unit) if isinstance(found, SharedReasons) else found

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def beside(self, others: Mapping[int, tuple[Reason, ...]]) -> ReasonsByUnit:
        """These, and others that count before them."""
        written = others._found if isinstance(others, ReasonsByUnit) else others  # noqa: SLF001 - the class's own
        return ReasonsByUnit(self._queue, {**self._found, **written})


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A running pod that a plan moves, as it runs and as the plan has it."""

    running: RunningPod
    unit: PlannedUnitOutcome


@dataclass(frozen=True, slots=True)
class PlannedQuota:
    """What is admitted, by place of the workload in the question, and the records of workloads and queues.

    ``by_cycles``: Kueue's cycles admit, and not the plan.
    """

    admissions: Admissions
    workloads: tuple[PlannedWorkload, ...]
    queues: tuple[QueueUsage, ...]
    by_cycles: bool = False


@dataclass(frozen=True, slots=True)
class PlanStatistics:
    """Sizes: units and nodes, the classes they fall into, columns generated, rounds of pricing."""

    units: int = 0
    unit_classes: int = 0
    nodes: int = 0
    node_classes: int = 0
    devices: int = 0
    columns: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The answer to one call of ``plan``. ``verified``: the independent checker found nothing wrong with the whole.

    ``units`` are in the order of the queue, ``nodes`` in the cluster's, with those to be bought behind them; ``bought``
    are these as objects, by the name of their template. ``seconds`` are wall times of the phases.
    ``quota`` is there where quota counts. ``shadow_prices`` say what one more unit, node or unit of budget changes;
    there are none where nothing can be bought, or no linear program was solved in time. ``moves`` are the running pods
    among the units, and ``steps`` an order in which all that the plan says can be carried out; ``removed`` are nodes
    that go, with their prices. ``lost`` are running units without a place: ``Pod`` or ``ResourceClaim`` with a key;
    ``victims`` are these pods as documents have them. ``duals`` are there where they are asked for.
    ``coverage`` says what coverage groups have.
    With ``unread`` the time limit ended before the queue was read, and nothing is told: so many pods, claims and
    controllers of the input may have units.
    ``audited`` are the positions of units of which an audit found, too, that no node has a place for them.
    """

    outcome: str
    units: tuple[PlannedUnitOutcome, ...]
    nodes: tuple[PlannedNode, ...]
    objective: tuple[PlanStage, ...]
    gates: FeatureGates
    cel_errors: str
    gap: float
    verified: bool = False
    bought: Mapping[str, tuple[Node, ...]] = field(default_factory=dict)
    statistics: PlanStatistics = field(default_factory=PlanStatistics)
    seconds: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    quota: PlannedQuota | None = None
    shadow_prices: tuple[ShadowPrice, ...] = ()
    moves: tuple[PlannedMove, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    removed: tuple[tuple[str, Fraction], ...] = ()
    duals: tuple[StageDuals, ...] | None = None
    lost: tuple[tuple[str, ObjectKey], ...] = ()
    victims: tuple[PlanVictim, ...] = ()
    audited: frozenset[int] = frozenset()
    coverage: tuple[CoveredGroup, ...] = ()
    unread: int = 0

    @property
    def asked(self) -> int:
        """How many units the queue has."""
        return len(self.units)

    @property
    def order(self) -> tuple[int, ...]:
        """The positions of the placed units in the order in which they can be placed."""
        numbers = ((unit.order, position) for position, unit in enumerate(self.units) if unit.order is not None)
        return tuple(position for _, position in sorted(numbers))

    def recounted_stages(self, *, is_moving: bool) -> tuple[PlanStage, ...]:
        """The stages that the verifier counts again: of plans that move running pods those about units and domains."""
        own = ("admitted", "free-domains", "priority")
        return tuple(one for one in self.objective if not is_moving or one.stage.partition("=")[0] in own)

    def with_derived_witnesses(self, queue: Sequence[QueuedUnit]) -> PlanOutcome:
        """The answer in which stages whose values may be better rest on the solver, as the verifier reads them."""
        if all(one.proof is not ProofKind.WITNESS for one in self.objective):
            return self
        pairs = zip(self.units, queue, strict=False)
        unplaced = {planned.unit_set.shape for unit, planned in pairs if unit.node is None}
        stages = (
            one
            if one.proof is not ProofKind.WITNESS or cannot_be_better(one, unplaced)
            else replace_fields(one, proof=ProofKind.SOLVER)
            for one in self.objective
        )
        return replace(self, objective=tuple(stages))

    @property
    def placed(self) -> int:
        """How many of them have a node."""
        return sum(unit.node is not None for unit in self.units)


def unread_plan(
    cluster: Cluster, gates: FeatureGates, policy: str, gap: float, notices: Sequence[str], seconds: Mapping[str, float]
) -> PlanOutcome:
    """The plan that tells nothing, for there was no time to read the queue and to verify what is told of it."""
    controllers = sum(map(len, cluster.workload_objects.values()))
    unread = len(cluster.pods) + len(cluster.claims) + controllers
    said = (
        f"the time limit ended before the queue was read: no unit of {unread:,} pods, claims and controllers"
        " of the input is in this plan"
    )
    told = (*notices, said)
    return PlanOutcome(UNKNOWN, (), (), (), gates, policy, gap, True, seconds=seconds, notices=told, unread=unread)


def planned_nodes(
    cluster: Cluster,
    bought: Mapping[str, Sequence[Node]],
    assigned: Collection[tuple[Node, Sequence[tuple[ClaimRef, AllocationResult]]]],
) -> tuple[PlannedNode, ...]:
    """Count devices of nodes' own, those that are held, and planned units; ``assigned`` are the nodes of these."""
    templates = {node.metadata.name: name for name, nodes in bought.items() for node in nodes}
    units = Counter(node.metadata.name for node, _ in assigned)
    newest: dict[PoolId, int] = defaultdict(int)
    for slice_ in cluster.slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest[pool], slice_.spec.pool.generation)
    # A device that is published twice is one device.
    homes: dict[PoolId, dict[str, str]] = defaultdict(dict)
    for slice_ in cluster.slices:
        name, pool = slice_.spec.node_name, (slice_.spec.driver, slice_.spec.pool.name)
        if name and slice_.spec.pool.generation == newest[pool]:
            homes[pool].update(dict.fromkeys([device.name for device in slice_.spec.devices or ()], name))
    own = Counter(chain.from_iterable(devices.values() for devices in homes.values()))
    held = _held_devices(cluster, (allocation for _, made in assigned for _, allocation in made))
    places = [map(homes[pool].get, names) for pool, names in held.items() if pool in homes]
    # None stands for devices that are published no more.
    used: Counter[str | None] = Counter(chain.from_iterable(places))
    listed = [name for name in cluster.nodes if name not in templates] + list(templates)
    return tuple(
        PlannedNode(
            name=name,
            new=name in templates,
            template=templates.get(name, ""),
            devices=own[name],
            used=used[name],
            units=units[name],
        )
        for name in listed
    )


def covered_groups(queue: Sequence[QueuedUnit], assigned: Container[int]) -> Iterator[CoveredGroup]:
    """What the units with nodes come to in each coverage group of a queue; these are ``assigned``, by position."""
    sets = ((place, planned.unit_set) for place, planned in enumerate(queue))
    pairs = [(one, place in assigned) for place, one in sets if one.gang is not None and one.gang.demand]
    members, placed = Counter(one.gang for one, _ in pairs), Counter(one.gang for one, is_placed in pairs if is_placed)
    for gang, amount in covered_amounts(pairs).items():
        demand, covered = (display_number(Fraction(one)) for one in (gang.demand or 0, amount))
        yield CoveredGroup(
            namespace=gang.namespace,
            name=gang.name,
            demand=demand,
            covered=covered,
            members=members[gang],
            units=placed[gang],
        )


def _held_devices(cluster: Cluster, made: Iterable[AllocationResult]) -> Mapping[PoolId, set[str]]:
    """The devices that are held, by pools."""
    claims = (claim.status for claim in cluster.claims.values())
    before = [status.allocation for status in claims if status is not None and status.allocation is not None]
    found: dict[PoolId, set[str]] = defaultdict(set)
    for allocation in chain(before, made):
        for one in allocation.devices.results or ():
            if not one.admin_access:
                found[one.driver, one.pool].add(one.device)
    return found


def check_plan(
    cluster: Cluster,
    units: Sequence[PlannedUnitOutcome],
    gates: FeatureGates,
    cel_errors: str,
    *,
    order: Sequence[int] | None = None,
    namespace: str | None = None,
    selector: str = "",
    given: Sequence[CallerConstraint] = (),
    natural_gangs: bool = False,
    group: GroupSelection | None = None,
    replay: bool = True,
    quota: QuotaProblem | None = None,
    admissions: Admissions | None = None,
    stages: Sequence[PlanStage] = (),
    moved: Collection[ObjectKey] = (),
    deadline: float | None = None,
    queue_deadline: float | None = None,
    begun: PlanReplay | None = None,
) -> None:
    """Check a plan as a whole, see ``plan_violations``, whose timeouts it raises. Raises ``VerificationError``."""
    check = partial(plan_violations, cluster, units, gates, cel_errors=cel_errors, order=order)
    with gc_paused():
        violations = check(
            namespace=namespace,
            selector=selector,
            caller_constraints=given,
            natural_gangs=natural_gangs,
            group=group,
            replay=replay,
            quota=quota,
            admissions=admissions,
            stages=stages,
            moved=moved,
            deadline=deadline,
            queue_deadline=queue_deadline,
            begun=begun,
        )
    if violations:
        raise VerificationError(violations)


def planned_units(found: PlanOutcome) -> tuple[PlannedUnit, ...]:
    """The units of a plan as documents have them."""
    got = {ref.key: allocation for unit in found.units for ref, allocation in unit.allocations}
    return tuple(
        PlannedUnit(
            kind=one.kind,
            namespace=one.namespace,
            name=one.name,
            replica=one.replica,
            unit=one.unit.name,
            gang=one.gang,
            node=one.node,
            outcome="NotPlaced" if one.node is None else "Placed",
            order=one.order,
            reasons=one.reasons,
            claims=claim_answers(one.unit, {} if one.node is None else got),
            proof=ProofKind.AUDITED if place in found.audited else None,
        )
        for place, one in enumerate(found.units)
    )
