"""How the time of a plan is shared out: building, search, devices, reasons, verification; and how much fits into it.

Reading the queue is the measure of how fast this machine is just now. What later phases take is estimated from it and
from the sizes. A plan for which they would take longer than there is time is made smaller: fewer units and nodes are
looked at, or fewer of the units that the search placed are kept. So a plan is verified whenever it is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from math import ceil
from time import monotonic, process_time
from typing import TypeAlias

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates
from ...models.workload.expansion import QueuedUnit, unit_runs
from ...models.workload.node_room import remaining_allocatable
from ...models.workload.requests import PODS
from ...models.workload.unit_classes import Gang, UnitSet
from ..allocate.check import LIMIT_TOLERANCE, LIMIT_TOLERANCE_SECONDS, verification_ends
from .assign import PlanAssignment
from .build import PlanInstance, PlanRequest
from .build.weights import planned_weight, requested_devices
from .master_problem import PlanSolution

# Reading a unit of the queue takes half a step. In steps: what the instance takes for each node, what each placed unit
# takes to assign and to verify, what reading the queue and the nodes again takes, and what it takes to look once more
# at a plan of which a part was verified. All are one and a half times what was measured on 10,000 nodes with 48,000
# pods, where a step was 0.03 ms.
_QUEUE_STEPS = 0.5
_NODE_STEPS = 6.0
_ASSIGNED_STEPS = 1.5
_VERIFIED_STEPS = 2.2
_VERIFIED_DEVICE_STEPS = 1.2
_REREAD_STEPS, _READ_NODE_STEPS = 0.35, 0.7
# What the instance takes for each unit, and what writing down takes what became of it.
_BUILT_STEPS, _WRITTEN_STEPS = 0.5, 0.5
_RECHECK_STEPS = 0.3
# What part of the time the queue may be read for the first time: verification reads it again.
_READING_SHARE = 0.55
# Queues of fewer units are always planned: the pace is not known.
_SHORT_QUEUE = 2000
# What an instance without units takes for each node.
_EMPTY_NODE_STEPS = 0.9
# What part of the tolerance is for that second look.
_RECHECK_TOLERANCE = 0.7
# The pace is not trusted where queues are short, and is never measured slower or faster than this, in seconds.
_SLOWEST_STEP, _FASTEST_STEP = 120e-6, 8e-6
# What part of the limit looking for reasons may take at the end, and at most, in seconds.
_REASONS_SHARE, _MOST_REASONS_SECONDS = 0.1, 10.0
# What part of the time that is left coupled units may take, and what part looking for a plan has in any case.
_COUPLING_SHARE, _LEAST_SEARCH_SHARE = 0.5, 0.2
# First fit takes so many steps for a unit, or so many seconds where devices are hard to find, but no more than this
# part of the time that is left for the search.
_FIRST_FIT_STEPS, _FIRST_FIT_SECONDS, _FIRST_FIT_SHARE = 12.0, 3.0, 0.55


# Other programs slow phases down by so much at most; less processor time says nothing about that.
_MOST_SLOWDOWN, _LEAST_MEASURED = 10.0, 0.1
# While these phases wait, the solver or other processes may be at work.
_WAITING_PHASES = ("solve",)


def most_placed(cluster: Cluster, queue: Sequence[QueuedUnit], gates: FeatureGates) -> int | None:
    """How many units nodes take by their numbers of pods; None where a node or a unit has none."""
    if any(one.pod is None for one, _ in unit_runs(queue)):
        return None
    rooms = [None if room is None else room.get(PODS) for room in remaining_allocatable(cluster, gates).values()]
    return None if None in rooms else sum(max(0, room) for room in rooms if room is not None)


UnitRuns: TypeAlias = Sequence[tuple[UnitSet, Sequence[int]]]
"""Units as ``unit_runs`` yields them."""


def _number(units: UnitRuns) -> int:
    return sum(len(places) for _, places in units)


class PlanTimeBudget:
    """Wall times of the phases, and when each has to end. ``clock`` reads seconds; limit None: there is no end.

    ``work_clock`` reads seconds of processor time: the more the clock is ahead of it, the busier the machine is.
    """

    def __init__(
        self, limit: float | None, clock: Callable[[], float] = monotonic, work_clock: Callable[[], float] | None = None
    ) -> None:
        self._clock = clock
        self._work_clock = work_clock or (process_time if clock is monotonic else clock)
        self._limit = limit
        self._begun = self._last = clock()
        self._last_work = self._work_clock()
        self._waited = self._worked = 0.0
        self._pace = self._step = self._fastest = _FASTEST_STEP
        self._most: int | None = None
        self._runs = self._nodes = 0
        self._reread = self._recheck = 0.0
        self._steps_of: dict[bytes, float] = {}
        self.deadline = None if limit is None else self._last + limit
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """End a phase."""
        now, work = self._clock(), self._work_clock()
        self.laps[name] = now - self._last
        if name not in _WAITING_PHASES:
            self._waited += now - self._last
            self._worked += work - self._last_work
        self._last, self._last_work = now, work
        self._step = max(self._pace, self._fastest * self._slowdown)

    @property
    def _slowdown(self) -> float:
        """How many times longer phases take than the processor works on them."""
        if self._worked < _LEAST_MEASURED:
            return 1.0
        return min(max(1.0, self._waited / self._worked), _MOST_SLOWDOWN)

    def measure_pace(
        self, units: int, nodes: int = 0, most: int | None = None, runs: int | None = None, slowness: float = 1.0
    ) -> None:
        """Take the time since the beginning for that of reading so many units; verification reads all nodes, too.

        No more than ``most`` units can be placed; None: that is not known. They are read in ``runs``; None: each alone.
        A step takes at least ``slowness`` times as long as the fastest one.
        """
        pace = (self._clock() - self._begun) / max(1, units) / _QUEUE_STEPS
        self._fastest = _FASTEST_STEP * slowness
        self._pace = self._step = min(max(pace, self._fastest), _SLOWEST_STEP)
        self._runs, self._nodes, self._most = units if runs is None else runs, nodes, most
        self._reread = self._runs * (_REREAD_STEPS + _WRITTEN_STEPS) + nodes * _READ_NODE_STEPS
        self._recheck = self._runs * _RECHECK_STEPS

    def queue_ends(self) -> float | None:
        """When reading the queue has to end, so that time is left to read it again."""
        latest = self.reread_ends()
        return None if latest is None else self._begun + (latest - self._begun) * _READING_SHARE

    def has_time_to_reread(self) -> bool:
        """Whether the queue that was read can be verified with nothing placed; always if it is short."""
        latest = self.reread_ends()
        if latest is None or self._runs < _SHORT_QUEUE:
            return True
        return (latest - self._clock()) / self._step >= self._reread + self._nodes * _EMPTY_NODE_STEPS

    def reread_ends(self) -> float | None:
        """When reading the queue again has to end, and with it everything: a limit holds within twice the tolerance."""
        if self._limit is None:
            return None
        limit = max(0.0, self._limit)
        return self._begun + limit + 2 * (limit * LIMIT_TOLERANCE + LIMIT_TOLERANCE_SECONDS)

    def affordable_share(self, units: UnitRuns, nodes: int) -> float:
        """What part of these nodes and units can be planned and verified in the time that is left, from 0 to 1."""
        left, ends = self._steps_left(), self._share_of_rest(_LEAST_SEARCH_SHARE)
        if left is None or ends is None:
            return 1.0
        left = max(0.0, left - (ends - self._clock()) / self._step)
        needed = nodes * _NODE_STEPS + len(units) * _BUILT_STEPS + self._placed_steps(units)
        return 1.0 if needed <= left else left / needed

    def affordable_units(self, units: UnitRuns) -> int:
        """How many of the units, placed in this order, can be assigned and verified in the time that is left."""
        left, number = self._steps_left(), _number(units)
        if left is None:
            return number
        needed = self._placed_steps(units)
        return number if needed <= left else int(number * left / needed)

    def coupling_ends(self) -> float | None:
        """When placing units that groups couple has to end."""
        return self._share_of_rest(_COUPLING_SHARE)

    def build_ends(self) -> float | None:
        """When building has to end, so that there is time to look for a plan, or to verify one with nothing placed."""
        left, ends = self._steps_left(), self._share_of_rest(1 - _LEAST_SEARCH_SHARE)
        return None if left is None or ends is None else min(ends, self._clock() + left * self._step)

    def search_ends(self, units: UnitRuns, *, is_filled: bool = True) -> float | None:
        """When to stop searching, so that time remains for devices, reasons and verification if all are placed.

        ``is_filled``: first fit places what the search leaves, and needs time as well.
        """
        ends, least = self.first_fit_ends(units), self._share_of_rest(_LEAST_SEARCH_SHARE)
        if ends is None or least is None:
            return None
        now = self._clock()
        estimated = max(_FIRST_FIT_SECONDS, _number(units) * _FIRST_FIT_STEPS * self._step) if is_filled else 0.0
        first_fit = min((ends - now) * _FIRST_FIT_SHARE, estimated)
        return max(ends - max(0.0, first_fit), least)

    def first_fit_ends(self, units: UnitRuns) -> float | None:
        """When the plan has to be there, so that time remains for devices, reasons and verification of all units."""
        if self.deadline is None or self._limit is None:
            return None
        later = (self._reread + self._placed_steps(units)) * self._step
        return self.deadline - later - min(self._limit * _REASONS_SHARE, _MOST_REASONS_SECONDS)

    def last_first_fit(self, units: UnitRuns, nodes: int) -> float | None:
        """When it is too late to begin with first fit, which looks at all nodes before the first unit."""
        ends = self.first_fit_ends(units)
        if ends is None or self._limit is None:
            return None
        # A plan by first fit is worth half of the tolerance.
        tolerance = (self._limit * LIMIT_TOLERANCE + LIMIT_TOLERANCE_SECONDS) / 2
        return ends + tolerance - nodes * _NODE_STEPS * self._step

    def reasons_end(self, placed: UnitRuns) -> float | None:
        """When to stop looking for reasons, so that time remains to verify what is placed."""
        if self.deadline is None:
            return None
        return self.deadline - (self._reread + self._verified_steps(placed)) * self._step

    def verification_ends(self) -> float | None:
        """When to stop verifying: of the plan that part is kept which is verified by then, and looked at once more."""
        ends = None if self._limit is None else verification_ends(self._begun, self._limit)
        if ends is None or self._limit is None:
            return None
        # The limit holds within twice the tolerance, the second look included.
        tolerance = self._limit * LIMIT_TOLERANCE + LIMIT_TOLERANCE_SECONDS
        return min(ends, ends + tolerance * _RECHECK_TOLERANCE - self._recheck * self._step)

    def audit_ends(self, seconds: float) -> float:
        """When an audit of so many seconds has to end, which begins now."""
        ends = self._clock() + seconds
        return ends if self.deadline is None else min(ends, self.deadline)

    def _steps_left(self) -> float | None:
        """How many steps fit into the time that is left, but for reading the queue again."""
        if self.deadline is None or self._limit is None:
            return None
        latest = self.deadline + self._limit * LIMIT_TOLERANCE + LIMIT_TOLERANCE_SECONDS
        return max(0.0, (latest - self._clock()) / self._step - self._reread)

    def _share_of_rest(self, share: float) -> float | None:
        now = self._clock()
        return None if self.deadline is None else now + max(0.0, self.deadline - now) * share

    def _placed_steps(self, units: UnitRuns) -> float:
        number = _number(units)
        steps = number * _ASSIGNED_STEPS + self._verified_steps(units)
        return steps if self._most is None or self._most >= number else steps * self._most / number

    def _verified_steps(self, units: UnitRuns) -> float:
        known, total = self._steps_of, 0.0
        for one, places in units:
            steps = known.get(one.signature)
            if steps is None:
                devices = requested_devices([one.shape])
                steps = known[one.signature] = _VERIFIED_STEPS + _VERIFIED_DEVICE_STEPS * devices
            total += steps * len(places)
        return total


def affordable_request(request: PlanRequest, time: PlanTimeBudget) -> PlanRequest:
    """Leave out nodes and units for which there is no time; the units of the highest priority stay, and whole gangs."""
    queue, nodes = request.queue, list(() if request.only_new else request.session.cluster.nodes)
    share = time.affordable_share(list(unit_runs(queue, request.open_positions)), len(nodes))
    if share >= 1 or request.moves:
        return request
    members: dict[Gang | int, list[int]] = defaultdict(list)
    for place in request.open_positions:
        members[queue[place].unit_set.gang or place].append(place)
    kept: list[int] = []
    most = ceil(share * len(request.open_positions))
    for own in sorted(members.values(), key=lambda own: -queue[own[0]].unit_set.shape.priority):
        if len(kept) >= most:
            break
        kept += own
    number = ceil(share * len(nodes))
    names = frozenset(nodes[one * len(nodes) // number] for one in range(number))
    return replace(request, open_positions=sorted(kept), node_names=names)


def time_notices(whole: PlanRequest, request: PlanRequest) -> Iterator[str]:
    """Say what of the whole queue and of all nodes was left out for lack of time."""
    if request.node_names is None:
        return
    units, nodes = len(whole.open_positions) - len(request.earlier.coupled), len(request.session.cluster.nodes)
    if not request.open_positions:
        yield "the time limit ended before anything could be planned"
        return
    yield (
        f"the time limit left time to plan {len(request.open_positions)} of {plural(units, 'unit')} "
        f"on {len(request.node_names)} of {plural(nodes, 'node')}"
    )


def verified_part(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, assignment: PlanAssignment, verified: int
) -> tuple[PlanSolution, PlanAssignment]:
    """Cut a plan down to so many first units as were ``verified`` in time, so that no gang is torn.

    Nothing is left where nodes are bought, where ConstraintGroups count, which are verified at the end, and where
    queues admit in their order.
    """
    strict = request.quota is not None and any(node.strict for node in request.quota.problem.nodes)
    nothing = assignment.bought or assignment.cluster.constraint_groups or strict or request.moves
    kept = [] if nothing else list(assignment.order[:verified])
    ends: dict[tuple[str, ...], tuple[int, int]] = {}
    for number, place in enumerate(assignment.order):
        gang = request.queue[place].unit_set.gang
        if gang is not None:
            ends[gang.root] = ends.get(gang.root, (number, number))[0], number
    # The later gangs begin, the less they pull with them.
    for first, last in sorted(ends.values(), reverse=True):
        if last >= len(kept):
            del kept[first:]
    own = {place: assignment.assigned[place] for place in kept}
    members = [request.quota.member(request.queue[place]) for place in kept] if request.quota else []
    there = {member.workload for member in members if member is not None}
    admissions = {place: one for place, one in assignment.admissions.items() if place in there}
    part = PlanAssignment(request.session.cluster, {}, own, tuple(kept), {}, admissions)
    counted = [
        replace(
            result, value=int(planned_weight(request.queue, own, goal.weigh) * goal.scale) - goal.earlier, proven=False
        )
        for goal, result in takewhile(
            lambda pair: pair[0].weigh is not None, zip(instance.goals, solution.stages, strict=False)
        )
        if goal.weigh is not None
    ]
    # Bounds of later stages are about plans that keep what the first one reached.
    stages = (*counted[:1], *(replace(result, bound=None) for result in counted[1:])) if kept else ()
    return replace(solution, stages=stages), part
