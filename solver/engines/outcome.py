"""What ``allocate`` found: outcomes of units, tables of rejected devices, values of objective stages, reasons in words.

A unit with missing references is tried on no node (SCHED-1, SCHED-3). ``deletion_filter`` reduces a set of reasons to a
minimal one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import TYPE_CHECKING, Generic, TypeVar

from ...models.cluster.node_fit import Misfit
from ...models.formats.errors import plural
from ...models.kubernetes.claims import CONSUMERS_MAX, AllocationResult, ResourceClaim
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import ClaimAnswer, ProofKind, Reason, RejectedDevices, SoftEntry, Status
from ...models.workload.node_room import ROOM
from ...models.workload.units import Allocations, ClaimRef, Unit
from ...problem.constraints import draws_counters
from ...problem.messages import CountedSum, claim_text
from ...problem.problem import BoundedValue, Demand, InUse, Problem, groups_compatible

if TYPE_CHECKING:
    from ...encoders.objectives.stage import AllocationStage
    from ...models.workload.expansion import QueuedUnit


@dataclass(frozen=True, slots=True)
class NodeClassFailure:
    """Nodes on which a unit fails in the same way; ``message`` is the scheduler's (SCHED-6).

    ``proof`` counts on the first of them what is not there, if counting is enough, and ``counted`` is the sum.
    ``proof_kind`` is what the no rests on.
    """

    nodes: tuple[str, ...]
    message: str
    tables: tuple[DemandTable, ...]
    proof: Reason | None = None
    proof_kind: ProofKind = ProofKind.SOLVER
    counted: CountedSum | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """A unit with its node and what its claims got, or why they got nothing.

    ``allocations`` are the new ones only; ``failures`` are the node classes that were tried, the largest first;
    ``objective`` is what the stages came to, if any were asked for; ``soft_entries`` what became of soft entries.
    ``audited``: the verifier's own formulation has no allocation on any node either. ``underived``: there is a node
    without a failure of which the verifier does not find either that it is none for the unit.
    """

    unit: Unit
    outcome: Status
    node: str | None = None
    reasons: tuple[Reason, ...] = ()
    allocations: Allocations = ()
    failures: tuple[NodeClassFailure, ...] = ()
    objective: Objective = ()
    soft_entries: tuple[SoftEntry, ...] = ()
    audited: bool = False
    underived: bool = False

    @property
    def proof_kind(self) -> ProofKind | None:
        """What a no rests on; None for other outcomes. What the pod itself lacks on its nodes, anyone can check."""
        if self.outcome is not Status.UNALLOCATABLE:
            return None
        if self.audited:
            return ProofKind.AUDITED
        if self.underived:
            return ProofKind.SOLVER
        return ProofKind.weakest(failure.proof_kind for failure in self.failures) or ProofKind.WITNESS


@dataclass(frozen=True, slots=True)
class Statistics:
    """The work done; 0 for what an engine does not count.

    ``steps`` are those of the search, ``conflicts`` those of the solver. ``devices`` are all of the cluster,
    ``classes`` the lots of the largest model that the solver was asked with (devices that nothing tells apart count as
    one there), without any model the number of different devices; ``literals`` are the variables of all models.
    ``cel_lowered``, ``cel_tabulated`` and ``cel_lazy`` are the expressions over devices in them, by encoding (CELC-9).
    """

    steps: int = 0
    conflicts: int = 0
    cel_evaluations: int = 0
    no_goods: int = 0
    cel_lowered: int = 0
    cel_tabulated: int = 0
    cel_lazy: int = 0
    devices: int = 0
    classes: int = 0
    literals: int = 0


AnswerT = TypeVar("AnswerT")


class SearchInterrupted(KeyboardInterrupt, Generic[AnswerT]):
    """Ctrl-C during a question. ``answer`` is the best there was by then: what was decided counts, and is verified."""

    def __init__(self, answer: AnswerT) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class AllocationOutcome:
    """The answer to one call of ``allocate``. ``verified``: the independent checker found nothing wrong.

    ``notices`` say what of the question was left aside.
    """

    engine: str
    units: tuple[UnitOutcome, ...]
    gates: FeatureGates
    cel_errors: str
    verified: bool = False
    statistics: Statistics = field(default_factory=Statistics)
    seconds: dict[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def outcome(self) -> Status:
        """The gravest of the units' outcomes."""
        return worst_outcome([unit.outcome for unit in self.units])

    def counts(self) -> Counter[Status]:
        """Count the units by outcome."""
        return Counter(unit.outcome for unit in self.units)


def worst_outcome(outcomes: Sequence[Status]) -> Status:
    """Return the gravest outcome, which decides about the whole; no outcomes count as allocated."""
    return min(outcomes, key=list(Status).index, default=Status.ALLOCATED)


@dataclass(frozen=True, slots=True)
class DemandTable:
    """What becomes of the devices when one demand looks at them, each alone."""

    claim: int
    request: str
    subrequest: str
    needed: int
    devices: int
    fitting: int
    fallen: tuple[RejectedDevices, ...]

    @property
    def label(self) -> str:
        """The name in results: ``request`` or ``request/subrequest``."""
        return f"{self.request}/{self.subrequest}" if self.subrequest else self.request

    @property
    def is_short(self) -> bool:
        """Fewer devices fit than are needed, so that no search is needed to say no."""
        return self.fitting < self.needed

    def __str__(self) -> str:
        """One line, as in "64 devices: 40 class selector, 20 in use, 4 taint dedicated=ml:NoSchedule"."""
        total = f"{self.devices} device{'' if self.devices == 1 else 's'}"
        return ": ".join(filter(None, (total, ", ".join(map(str, self.fallen)))))


# Filters that say which devices are meant; their details differ without telling more than the name.
SELECTOR_FILTERS = frozenset({"classSelector", "requestSelector"})


def demand_tables(problem: Problem, in_use: InUse) -> tuple[DemandTable, ...]:
    """Tables of all demands, in order."""
    checks = _DeviceChecks(problem, in_use)
    known: dict[Hashable, tuple[int, tuple[RejectedDevices, ...]]] = {}
    tables = []
    for demand in problem.demands:
        # Demands that are alike share these objects.
        alike = id(demand.failures), id(demand.amounts), demand.admin
        if alike not in known:
            known[alike] = _rejected_devices(demand, problem, checks)
        # All is never content with nothing (SRCH-6).
        needed = max(demand.count, 1) if demand.all_devices else demand.count
        row = demand.claim, demand.request, demand.subrequest, needed, problem.size
        tables.append(DemandTable(*row, *known[alike]))
    return tuple(tables)


def _rejected_devices(
    demand: Demand, problem: Problem, checks: _DeviceChecks
) -> tuple[int, tuple[RejectedDevices, ...]]:
    """Count the devices that pass all tests, and those that fall at each."""
    firsts = Counter(checks.first(demand, device) for device in range(problem.size))
    fitting = firsts.pop(None, 0)
    rows = sorted(((count, *key) for key, count in firsts.items() if key), key=lambda row: (-row[0], row[1:]))
    return fitting, tuple(RejectedDevices(filter_, detail, count) for count, filter_, detail in rows)


class _DeviceChecks:
    """Checks of a device against what is in use."""

    def __init__(self, problem: Problem, in_use: InUse) -> None:
        self._problem = problem
        self._in_use = in_use
        self._short_pools = {
            pool
            for pool, available in zip(problem.counters.pool_of_row, in_use.available, strict=True)
            if available < 0
        }
        self._dynamic: tuple[tuple[str, Callable[[Demand, int], bool]], ...] = (
            ("inUse", self._is_held),
            ("capacityInUse", self._lacks_capacity),
            ("counters", self._lacks_counters),
            ("compatibilityGroups", self._is_incompatible),
        )

    def first(self, demand: Demand, device: int) -> tuple[str, str] | None:
        """Find the first test that the device fails: selectors, then other holders, then the other tests."""
        failed = demand.failures[device]
        selecting = [failure for failure in failed if failure.filter in SELECTOR_FILTERS]
        if selecting:
            return selecting[0].filter, "error" if selecting[0].error else ""
        if self._is_held(demand, device):
            return "inUse", ""
        if failed:
            return failed[0].filter, failed[0].detail
        return next(((name, "") for name, check in self._dynamic if check(demand, device)), None)

    def _is_held(self, demand: Demand, device: int) -> bool:
        return not demand.admin and device in self._in_use.dedicated

    def _lacks_capacity(self, demand: Demand, device: int) -> bool:
        consumed, totals = self._in_use.consumed, self._problem.capacities.totals
        return any(consumed.get(row, 0) + amount > totals[row] for row, amount in demand.amounts.get(device, ()))

    def _lacks_counters(self, demand: Demand, device: int) -> bool:
        counters, available = self._problem.counters, self._in_use.available
        amounts = counters.consumption.get(device, ())
        if not amounts or not draws_counters(self._problem, self._in_use, device):
            return False
        if counters.pool_of_row[amounts[0][0]] in self._short_pools:
            return True
        return any(amount > available[row] for row, amount in amounts)

    def _is_incompatible(self, demand: Demand, device: int) -> bool:
        membership = self._problem.groups.membership.get(device, ())
        if not draws_counters(self._problem, self._in_use, device):
            return False
        return any(not groups_compatible(self._in_use.groups[place], groups) for place, groups in membership)


@dataclass(frozen=True, slots=True)
class StageValue:
    """A stage with what its parts came to, in numbers that mean the same on every node."""

    stage: str
    parts: tuple[BoundedValue, ...]

    @property
    def value(self) -> int:
        """The sum of the parts' values."""
        return sum(part.value for part in self.parts)

    @property
    def bound(self) -> int:
        """A number that no answer gets below that is no worse in the stages and parts before."""
        return sum(part.bound for part in self.parts)

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return all(part.proven for part in self.parts)


Objective = tuple[StageValue, ...]


def zero_objective(stages: Iterable[AllocationStage]) -> Objective:
    """List the values of an answer that nothing beats in any stage."""
    return tuple(StageValue(stage.id, ()) for stage in stages)


def objective_vector(objective: Objective) -> tuple[tuple[int, ...], ...]:
    """Return what to compare answers by: stage by stage, part by part; parts at the end may be left out if 0."""
    return tuple(_without_trailing_zeros([part.value for part in stage.parts]) for stage in objective)


def _without_trailing_zeros(values: list[int]) -> tuple[int, ...]:
    while values and not values[-1]:
        values.pop()
    return tuple(values)


def is_zero_objective(objective: Objective) -> bool:
    """Tell whether nothing can be better."""
    return not any(stage.value for stage in objective)


def bound_over_nodes(best: Objective, others: Sequence[Objective | None]) -> Objective:
    """Bound the best answer by what other nodes could still come to; None for a node about which nothing is known.

    A part's bound on a node holds for answers that are no worse there in all parts before. It may be used as long as
    these were no better than the best answer's, which such an answer could then be as well.
    """
    others_left = [_OtherNode(other) for other in others]
    found = []
    for number, stage in enumerate(best):
        parts = []
        for position, part in enumerate(stage.parts):
            met = [rival.meet(number, position, part.value) for rival in others_left if not rival.beaten]
            parts.append(BoundedValue(part.value, min([part.bound, *met])))
        found.append(StageValue(stage.stage, tuple(parts)))
    return tuple(found)


class _OtherNode:
    """What another node can still do to the best answer."""

    def __init__(self, objective: Objective | None) -> None:
        self._objective = objective
        self.beaten = False

    def meet(self, stage: int, part: int, value: int) -> int:
        """Return its bound for a part, and note what follows from that for the parts to come."""
        if self._objective is None:
            return 0
        # An answer that costs nothing has no parts.
        parts = self._objective[stage].parts
        own = parts[part] if part < len(parts) else BoundedValue(0, 0)
        self.beaten = own.bound > value
        if own.value < value:
            # From here on its bounds are about better answers only.
            self._objective = None
        return own.bound


# How messages begin that say what the node has too little of for the devices (NAR-6, NAR-7).
DEVICE_ROOM_TEXTS = ("Insufficient ", "pod level ")
# The id of a reason where no filter takes devices away: there are too few to begin with.
DEVICES_REASON = "devices"


def device_reasons(
    failures: Sequence[NodeClassFailure], claims: Sequence[str], nodes: int | None = None
) -> tuple[Reason, ...]:
    """Say for the largest class of nodes which requests find too few devices; ``claims`` are the names by number.

    ``nodes`` is the number of all nodes, where others do not suit the pod.
    """
    if not failures:
        return ()
    total = sum(len(failure.nodes) for failure in failures) if nodes is None else nodes
    where = f"{len(failures[0].nodes)} of {plural(total, 'node')}"
    reasons = class_reasons(failures[0], claims)
    return tuple(Reason(one.id, one.claim, f"{where}: {one.message}") for one in reasons)


def class_reasons(failure: NodeClassFailure, claims: Sequence[str]) -> tuple[Reason, ...]:
    """Say which requests find too few devices on nodes of one class."""
    if failure.message.startswith("invalid resource pools"):
        return (Reason("pool", "", failure.message),)
    if failure.message.startswith(DEVICE_ROOM_TEXTS):
        return (Reason(ROOM, "", failure.message),)
    if failure.proof and not any(table.is_short for table in failure.tables):
        return (failure.proof,)
    if not failure.tables:
        # The engine says no more than that.
        return (Reason("combination", "", failure.message),)
    requests = [list(own) for _, own in groupby(failure.tables, key=lambda table: (table.claim, table.request))]
    reasons = []
    for table in chain.from_iterable(own for own in requests if all(table.is_short for table in own)):
        # The filter at which most devices fall, of those that are meant if there are any.
        fallen = [row.filter for row in table.fallen]
        main = next(iter([one for one in fallen if one not in SELECTOR_FILTERS] or fallen), DEVICES_REASON)
        needs = f"request {table.label} needs {table.needed}, {table.fitting} fit"
        reasons.append(Reason(main, claims[table.claim], f"{needs} of {table}"))
    together = "each request finds enough devices alone, but not all of them together"
    return tuple(reasons) or (Reason("combination", "", together),)


def misfit_reasons(misfits: Iterable[Misfit], nodes: int) -> tuple[Reason, ...]:
    """Say how many nodes the pod itself does not fit, by the first test that each fails."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for misfit in misfits:
        counts[misfit.id, misfit.kind] += 1
        examples.setdefault((misfit.id, misfit.kind), misfit.message)
    return tuple(
        Reason(key[0], "", f"{count} of {plural(nodes, 'node')}: {examples[key]}")
        for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def missing_reference_reasons(unit: Unit, classes: Container[str]) -> list[Reason]:
    """List what a unit has to wait for: missing claims, else missing classes, also those of unused alternatives."""
    return [Reason("claim", "", problem) for problem in unit.problems] or [
        Reason("deviceClass", claim_text(ref.key), f"device class {name} does not exist")
        for ref in unit.requested_claims
        for name in device_class_names(ref.claim)
        if name and name not in classes
    ]


class ClaimConsumers:
    """Pods that use claims by name: ``reservedFor`` of a claim has room for so many (karpenter-dra R14)."""

    def __init__(self) -> None:
        # By the identity of a set the claims that all its pods name.
        self._named: dict[int, tuple[ClaimRef, ...]] = {}
        self._pods: dict[ObjectKey, set[str]] = {}

    def named(self, planned: QueuedUnit) -> tuple[ClaimRef, ...]:
        """The claims that the pod names, as all pods of its set do."""
        key = id(planned.unit_set)
        if key not in self._named:
            refs = planned.unit.claims if planned.unit.pod is not None else ()
            self._named[key] = tuple(ref for ref in refs if ref.entry and not ref.generated and not ref.group)
        return self._named[key]

    def refusals(self, planned: QueuedUnit) -> list[Reason]:
        """Count the pod as a consumer of the claims that it names, or say which of them have no room for it."""
        named = self.named(planned)
        if not named:
            return []
        name = planned.unit.name
        for ref in named:
            if ref.key not in self._pods:
                there = (ref.claim.status.reserved_for or ()) if ref.claim and ref.claim.status else ()
                self._pods[ref.key] = {consumer.name for consumer in there}
        full = [ref for ref in named if name not in self._pods[ref.key] and len(self._pods[ref.key]) >= CONSUMERS_MAX]
        for ref in () if full else named:
            self._pods[ref.key].add(name)
        said = f"the claim has {CONSUMERS_MAX} consumers, and no room for another one"
        return [Reason("claim", claim_text(ref.key), said) for ref in full]


def device_class_names(claim: ResourceClaim | None) -> Iterator[str]:
    """Yield the class of each request and alternative."""
    for request in (claim.spec.devices.requests if claim else None) or ():
        specs = (request.exactly,) if request.exactly else request.first_available or ()
        yield from (spec.device_class_name for spec in specs)


Item = TypeVar("Item")


def deletion_filter(blocks: Iterable[Sequence[Item]], is_enough: Callable[[list[Item]], bool]) -> list[Item]:
    """Leave items out as long as the rest is enough, so that a minimal set is left (Chinneck and Dravnieks, 1991).

    Parameters
    ----------
    blocks
        All items, in the order in which they are tried. A block is tried as a whole first, and then by halves: few of
        many items are ever needed.
    is_enough
        Tells whether so many items are enough. More items must be enough whenever fewer are.

    Returns
    -------
    list
        The items that are left, in their order. All items together are taken to be enough.

    """
    listed = [list(block) for block in blocks]
    items = list(chain.from_iterable(listed))
    kept = list(range(len(items)))

    def leave_out(block: range, *, needed: bool = False) -> bool:
        """Leave out as much of a block as possible, and tell whether that was all; ``needed``: some of it must stay."""
        nonlocal kept
        if not needed:
            rest = [number for number in kept if number not in block]
            if is_enough([items[number] for number in rest]):
                kept = rest
                return True
        if len(block) > 1:
            half = len(block) // 2
            # If the first half can go, the second cannot as well.
            leave_out(block[half:], needed=leave_out(block[:half]))
        return False

    start = 0
    for block in listed:
        leave_out(range(start, start + len(block)))
        start += len(block)
    return [items[number] for number in kept]


def claim_answers(unit: Unit, allocations: Mapping[ObjectKey, AllocationResult]) -> tuple[ClaimAnswer, ...]:
    """The documents of a unit's claims with what they got; those that had an allocation before are left out."""
    return tuple(
        ClaimAnswer(namespace=ref.namespace, name=ref.name, allocation=allocations.get(ref.key))
        for ref in unit.claims
        if ref.key in allocations or not ref.allocated
    )
