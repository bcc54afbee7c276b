"""What ``allocate`` found: outcomes of units, tables of rejected devices by demand, and values of objective stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import Reason, RejectedDevices, SoftEntry, Status
from ...models.workload.units import ClaimRef, Unit
from ...problem.constraints import draws_counters
from ...problem.problem import BoundedValue, Demand, InUse, Problem, groups_compatible

if TYPE_CHECKING:
    from ...encoders.objectives.stage import AllocationStage


@dataclass(frozen=True, slots=True)
class NodeClassFailure:
    """Nodes on which a unit fails in the same way; ``message`` is the scheduler's (SCHED-6).

    ``proof`` counts on the first of them what is not there, if counting is enough; ``certified``: the no is sure.
    """

    nodes: tuple[str, ...]
    message: str
    tables: tuple[DemandTable, ...]
    proof: Reason | None = None
    certified: bool = False


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """A unit with its node and what its claims got, or why they got nothing.

    ``allocations`` are the new ones only; ``failures`` are the node classes that were tried, the largest first;
    ``objective`` is what the stages came to, if any were asked for; ``soft_entries`` what became of soft entries.
    """

    unit: Unit
    outcome: Status
    node: str | None = None
    reasons: tuple[Reason, ...] = ()
    allocations: tuple[tuple[ClaimRef, AllocationResult], ...] = ()
    failures: tuple[NodeClassFailure, ...] = ()
    objective: Objective = ()
    soft_entries: tuple[SoftEntry, ...] = ()


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
    return tuple(_demand_table(demand, problem, checks, known) for demand in problem.demands)


def _demand_table(
    demand: Demand,
    problem: Problem,
    checks: _DeviceChecks,
    known: dict[Hashable, tuple[int, tuple[RejectedDevices, ...]]],
) -> DemandTable:
    # Demands that are alike share these objects.
    alike = id(demand.failures), id(demand.amounts), demand.admin
    if alike not in known:
        known[alike] = _rejected_devices(demand, problem, checks)
    fitting, fallen = known[alike]
    # All is never content with nothing (SRCH-6).
    needed = max(demand.count, 1) if demand.all_devices else demand.count
    return DemandTable(demand.claim, demand.request, demand.subrequest, needed, problem.size, fitting, fallen)


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
    rivals = [_OtherNode(other) for other in others]
    return tuple(_bounded_stage(stage, number, rivals) for number, stage in enumerate(best))


class _OtherNode:
    """What another node can still do to the best answer."""

    def __init__(self, objective: Objective | None) -> None:
        self._objective = objective
        self.beaten = False

    def meet(self, stage: int, part: int, value: int) -> int:
        """Return its bound for a part, and note what follows from that for the parts to come."""
        if self._objective is None:
            return 0
        own = _part_value(self._objective[stage], part)
        self.beaten = own.bound > value
        if own.value < value:
            # From here on its bounds are about better answers only.
            self._objective = None
        return own.bound


def _part_value(stage: StageValue, number: int) -> BoundedValue:
    """An answer that costs nothing has no parts."""
    return stage.parts[number] if number < len(stage.parts) else BoundedValue(0, 0)


def _bounded_stage(stage: StageValue, number: int, rivals: Sequence[_OtherNode]) -> StageValue:
    parts = []
    for position, part in enumerate(stage.parts):
        met = [rival.meet(number, position, part.value) for rival in rivals if not rival.beaten]
        parts.append(BoundedValue(part.value, min([part.bound, *met])))
    return StageValue(stage.stage, tuple(parts))
