"""What ``plan`` found, and the check of a plan as a whole."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, groupby
from operator import eq
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeAlias

from msgspec import Raw, Struct, json
from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.formats.runtime import gc_paused
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node
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
from ...models.workload.expansion import (
    OwnAllocations,
    QueuedUnit,
    UnitRanges,
    UnplacedRun,
    allocation_results,
    single_units,
    unit_parts,
    unit_runs,
)
from ...models.workload.gangs import covered_amounts
from ...models.workload.quota import Admissions
from ...models.workload.running import RunningPod
from ...models.workload.unit_classes import OwnerKind, UnitSet
from ...models.workload.units import Allocations, Unit
from ...problem.messages import claim_text
from ..allocate.check import VerificationError
from ..engines.outcome import claim_answers
from ..verification.payments import cannot_be_better
from ..verification.plans import plan_violations
from ..verification.verify import Violation

OPTIMAL = "Optimal"
FEASIBLE = "Feasible"
INFEASIBLE = "Infeasible"
UNKNOWN = "Unknown"


class PlannedUnitOutcome(Struct, frozen=True):
    """A unit of the queue: where it goes and what its claims get, or why it is not placed.

    ``kind``, ``namespace`` and ``name`` are its owner's, ``replica`` its number there; ``unit`` holds its own name, and
    may be made when it is looked at. ``allocations`` are the new ones only: a claim that several units share is in the
    first of them. ``order`` is its number, from 1, in an order in which the units can be placed one after the other.
    """

    queued: QueuedUnit
    node: str | None = None
    reasons: tuple[Reason, ...] = ()
    allocations: Allocations = ()
    order: int | None = None

    @property
    def kind(self) -> OwnerKind:
        """The kind of the owner."""
        return self.queued.unit_set.kind

    @property
    def namespace(self) -> str:
        """The namespace of the owner."""
        return self.queued.unit_set.namespace

    @property
    def name(self) -> str:
        """The name of the owner."""
        return self.queued.unit_set.name

    @property
    def replica(self) -> int:
        """The number of the unit among those of its owner."""
        return self.queued.number

    @property
    def unit(self) -> Unit:
        """The pod or the loose claim, with all claims."""
        return self.queued.unit

    @property
    def gang(self) -> str:
        """The name of its gang; empty without one."""
        gang = self.queued.unit_set.gang
        return gang.name if gang else ""

    @property
    def outcome(self) -> Literal["Placed", "NotPlaced"]:
        """Whether it has a node."""
        return "NotPlaced" if self.node is None else "Placed"


class UnplacedUnits(UnplacedRun[Any]):
    """Units of one set that follow one another in a queue, from its place ``first`` on."""

    _tell: Callable[..., PlannedUnit] | None = None

    def __init__(
        self, queue: Sequence[QueuedUnit], unit_set: UnitSet, numbers: Sequence[int], first: int, why: ReasonsByUnit
    ) -> None:
        self.unit_set, self.numbers = unit_set, numbers
        self._queue, self._first, self._why = queue, first, why

    def __getitem__(self, index: int) -> Any:
        queue, number, place = self._queue, self.numbers[index], self._first + range(len(self))[index]
        planned = queue.unit(self.unit_set, number) if isinstance(queue, UnitRanges) else queue[place]
        found = PlannedUnitOutcome(planned, None, self._why.of(place, planned))
        return self._tell(found, place) if self._tell else found

    def told(self, tell: Callable[..., PlannedUnit], audited: Container[int]) -> Iterator[UnplacedUnits]:
        """These as documents have them, in runs of those with the same reasons, of which an audit found all or none."""
        first, places = 0, range(self._first, self._first + len(self))
        for _, alike in groupby(places, lambda place: (id(self._why.found.get(place)), place in audited)):
            after = first + sum(1 for _ in alike)
            run = UnplacedUnits(self._queue, self.unit_set, self.numbers[first:after], places[first], self._why)
            run._tell, first = tell, after
            yield run

    def encoded(self) -> Iterator[Raw]:
        """The JSON of each: that of the last, with the names and numbers of the others."""
        own, last, encode, is_right = self.unit_set, self.numbers[-1], json.encode, True
        parts = [one.split(str(last)) for one in encode(self[-1]).decode().split(own.unit_name(last))]
        # A claim that was made for a pod before may have any name.
        claimed = self._queue.maker.claims.owners if isinstance(self._queue, UnitRanges) else ()
        for index, number in enumerate(self.numbers):
            name = own.unit_name(number)
            text = name.join([str(number).join(one) for one in parts])
            # The first shows whether the last one's name or number stands elsewhere, too, or a name has to be escaped.
            is_right = is_right and (index > 0 or text == encode(self[0]).decode())
            yield Raw(text if is_right and (own.namespace, name) not in claimed else encode(self[index]))


class PlannedUnits(Sequence[Any]):
    """The units of a plan, or those of its document, which are told: those with nodes, and others in runs."""

    def __init__(self, parts: Sequence[Any], tell: Callable[..., PlannedUnit] | None = None) -> None:
        self._parts, self._tell = parts, tell
        self._ends = list(accumulate(len(one) if isinstance(one, UnplacedUnits) else 1 for one in parts))

    @classmethod
    def of(
        cls, queue: Sequence[QueuedUnit], placed: Mapping[int, PlannedUnitOutcome], why: ReasonsByUnit
    ) -> PlannedUnits:
        """The units of a queue, of which those that are placed are given by their places."""
        parts: list[PlannedUnitOutcome | UnplacedUnits] = []
        there = sorted(placed)
        for one, places in unit_runs(queue):
            first = start = places[0]
            if len(places) == 1 and first in placed:
                parts.append(placed[first])
                continue
            number, after = queue[first].number, start + len(places)
            numbers = one.numbers if len(places) > 1 else range(number, number + 1)
            for place in (*there[bisect_left(there, start) : bisect_left(there, after)], after):
                if first < place:
                    parts.append(UnplacedUnits(queue, one, numbers[first - start : place - start], first, why))
                if place < after:
                    parts.append(placed[place])
                first = place + 1
        return cls(parts)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | PlannedUnits) and len(other) == len(self) and all(map(eq, self, other))

    @property
    def parts(self) -> Iterable[Any]:
        """The units, with runs as they are."""
        return map(self._told, self._parts, chain((0,), self._ends)) if self._tell else self._parts

    def _told(self, part: Any, place: int) -> Any:
        return self._tell(part, place) if self._tell and not isinstance(part, UnplacedUnits) else part

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(one if isinstance(one, UnplacedUnits) else (one,) for one in self.parts)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple([self[one] for one in range(len(self))[place]])
        place = range(len(self))[place]
        index = bisect_right(self._ends, place)
        part = self._told(self._parts[index], place)
        return part[place - self._ends[index]] if isinstance(part, UnplacedUnits) else part


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


class ReasonsByUnit:
    """Reasons of the units of a queue that have no node; those of equal units are written when they are looked at.

    ``classes`` are by signature. Units at places in ``found`` have reasons of their own.
    """

    def __init__(
        self,
        queue: Sequence[QueuedUnit],
        found: Mapping[int, tuple[Reason, ...]] = MappingProxyType({}),
        classes: Mapping[bytes, tuple[Reason, ...] | SharedReasons] = MappingProxyType({}),
    ) -> None:
        self._queue, self.found, self._classes = queue, found, classes

    def of(self, place: int, planned: QueuedUnit) -> tuple[Reason, ...]:
        """The reasons of the unit at a place."""
        own = self.found.get(place)
        if own is not None:
            return own
        asked = planned if isinstance(self._queue, UnitRanges) else self._queue[place]
        shared = self._classes.get(asked.unit_set.signature, ())
        return shared.of(asked.unit) if isinstance(shared, SharedReasons) else shared

    def beside(self, others: Mapping[int, tuple[Reason, ...]]) -> ReasonsByUnit:
        """These, and others of single units that count before them."""
        return ReasonsByUnit(self._queue, {**self.found, **others}, self._classes)


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
    units: Sequence[PlannedUnitOutcome]
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
        numbers = ((unit.order, position) for position, unit in single_units(self.units) if unit.order is not None)
        return tuple(position for _, position in sorted(numbers))

    def recounted_stages(self, *, is_moving: bool) -> tuple[PlanStage, ...]:
        """The stages that the verifier counts again: of plans that move running pods those about units and domains."""
        own = ("admitted", "free-domains", "priority")
        return tuple(one for one in self.objective if not is_moving or one.stage.partition("=")[0] in own)

    def with_derived_witnesses(self, queue: Sequence[QueuedUnit]) -> PlanOutcome:
        """The answer in which stages whose values may be better rest on the solver, as the verifier reads them."""
        if all(one.proof is not ProofKind.WITNESS for one in self.objective):
            return self
        unplaced = {queue[place].unit_set.shape for place, unit in single_units(self.units) if unit.node is None}
        unplaced |= {part.unit_set.shape for part in unit_parts(self.units) if isinstance(part, UnplacedRun)}
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
        return sum(unit.node is not None for _, unit in single_units(self.units))


PlacementByUnit: TypeAlias = Mapping[int, tuple[Node, Allocations]]
"""By place in the queue: the node, and what the unit's claims get."""
TellPlaced: TypeAlias = Callable[[PlacementByUnit], None]
"""Told of units when they are placed."""


def placed_outcomes(
    queue: Sequence[QueuedUnit],
    assigned: PlacementByUnit,
    order: Iterable[int],
    told: Mapping[int, PlannedUnitOutcome] = MappingProxyType({}),
    first: int = 1,
) -> dict[int, PlannedUnitOutcome]:
    """The units with nodes, by their places in a queue of what is admitted, in the order of the plan from a number on.

    What was ``told`` of them before counts as long as it is so.
    """
    found: dict[int, PlannedUnitOutcome] = {}
    for number, place in enumerate(order, first):
        (node, made), one = assigned[place], told.get(place)
        if one is None or one.allocations is not made or one.order != number or one.node != node.metadata.name:
            one = PlannedUnitOutcome(queue[place], node.metadata.name, (), made, number)
        found[place] = one
    return found


def planned_nodes(
    cluster: Cluster, bought: Mapping[str, Sequence[Node]], assigned: Collection[tuple[Node, Allocations]]
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
    held = _held_devices(cluster, chain.from_iterable(allocation_results(made) for _, made in assigned))
    places = [map(homes[pool].get, names) for pool, names in held.items() if pool in homes]
    # None stands for devices that are published no more.
    used: Counter[str | None] = Counter(chain.from_iterable(places))
    listed = [name for name in cluster.nodes if name not in templates] + list(templates)
    return tuple(
        PlannedNode(name, name in templates, templates.get(name, ""), own[name], used[name], units[name])
        for name in listed
    )


def covered_groups(queue: Sequence[QueuedUnit], assigned: Container[int]) -> Iterator[CoveredGroup]:
    """What the units with nodes come to in each coverage group of a queue; these are ``assigned``, by position."""
    runs = [(one, places) for one, places in unit_runs(queue) if one.gang is not None and one.gang.demand]
    pairs = [(one, place in assigned) for one, places in runs for place in places]
    members, placed = Counter(one.gang for one, _ in pairs), Counter(one.gang for one, is_placed in pairs if is_placed)
    for gang, amount in covered_amounts(pairs).items():
        demand, covered = (display_number(Fraction(one)) for one in (gang.demand or 0, amount))
        yield CoveredGroup(gang.namespace, gang.name, demand, covered, members[gang], placed[gang])


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


P = ParamSpec("P")


def _raising(find: Callable[P, list[Violation]]) -> Callable[P, None]:
    @gc_paused()
    def check(*given: P.args, **named: P.kwargs) -> None:
        violations = find(*given, **named)
        if violations:
            raise VerificationError(violations)

    return check


check_plan = _raising(plan_violations)
"""Check a plan as a whole, see ``plan_violations``, whose timeouts it raises. Raises ``VerificationError``."""


def planned_units(found: PlanOutcome) -> Sequence[PlannedUnit]:
    """The units of a plan as documents have them, each of which is made when it is looked at."""
    given = (unit.allocations for _, unit in single_units(found.units))
    made = chain.from_iterable(one for one in given if not isinstance(one, OwnAllocations))
    shared = {ref.key: allocation for ref, allocation in made if not ref.generated or ref.group}
    tell, runs = partial(_tell_unit, shared, found.audited), unit_parts(found.units)
    parts = (one.told(tell, found.audited) if isinstance(one, UnplacedUnits) else (one,) for one in runs)
    return PlannedUnits([*chain.from_iterable(parts)], tell)


def _tell_unit(shared: Mapping[ObjectKey, Any], audited: Container[int], one: PlannedUnitOutcome, place: int) -> Any:
    own = {ref.key: made for ref, made in one.allocations}
    if one.node is not None and len(own) < len(one.unit.claims):
        own |= {ref.key: shared[ref.key] for ref in one.unit.claims if ref.key in shared}
    told = one.kind, one.namespace, one.name, one.replica, one.unit.name, one.gang, one.node, one.outcome, one.order
    proof = ProofKind.AUDITED if place in audited else None
    return PlannedUnit(*told, one.reasons, claim_answers(one.unit, own), proof)
