"""The rules of a whole plan, checked jointly, on the queue as it is read anew from the cluster.

Every unit of the queue is in the plan once (PLAN-ONCE) and on a node of the cluster (PLAN-NODE); nodes have room for
what pods take beside those that run (PLAN-ROOM); gangs are placed whole or not at all (PLAN-GANG), in one domain
(PLAN-DOMAIN); only claims of placed units are allocated (PLAN-CLAIM). How claims are allocated is a matter of the rules
of allocation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, is_
from time import monotonic
from types import MappingProxyType

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.plan import PlanStage
from ...models.workload.expansion import (
    OwnAllocations,
    UnitExpander,
    UnplacedRun,
    single_units,
    unit_parts,
    unmade_unit,
)
from ...models.workload.pod_sets import looking
from ...models.workload.queue import GroupSelection, read_queue
from ...models.workload.quota import Admissions, QuotaProblem, QuotaQueue
from ...models.workload.unit_classes import UnitSet
from ...models.workload.units import ClaimRef, Unit
from .gangs import gang_findings, tree_findings
from .nodes import NodeLoads, purchase_findings, room_findings
from .payments import value_findings
from .plan_replay import PlacedUnit, PlanReplay, allocates_all, placement_order
from .pod_rules import have_pod_rules, pod_rule_findings
from .preferences import preference_value
from .published import Finding
from .quota import admitted_pod, quota_findings
from .verify import VerificationTimeoutError, Violation


def plan_violations(
    cluster: Cluster,
    units: Sequence[PlacedUnit],
    gates: FeatureGates,
    cel_errors: str = "strict",
    *,
    order: Sequence[int] | None = None,
    namespace: str | None = None,
    selector: str = "",
    caller_constraints: Sequence[CallerConstraint] = (),
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
) -> list[Violation]:
    """Check that a plan can be carried out, and that it is about the queue.

    Beside the rules of allocation (NODE-2 for nodes that do not suit a pod or are not its own, SCHED-2 for claims
    without an allocation, with two, or with one that the node cannot use) these may be broken:

    - PLAN-ONCE: every unit of the queue is in the plan once, and nothing else is; an order has every placed unit once.
    - PLAN-NODE: units go to nodes of the cluster.
    - PLAN-CLAIM: claims are those of the queue; only claims of placed units are allocated, each once, for a unit
      that has it; no unit is placed a claim of which cannot be had (SCHED-1).
    - PLAN-ROOM: what units take of a node is left there by the pods that run.
    - PLAN-GANG: of a gang all members are placed, or as many as are enough together with those that run, or none;
      none of a gang whose group is not there.
    - PLAN-COVERAGE: the members of a coverage group that are placed or run add up to its demand, or none is placed.
    - PLAN-DOMAIN: the nodes of a gang's members, those that run included, have one value of the gang's label.
    - PLAN-TREE: who is placed below a CompositePodGroup is there with enough of its groups, in its domain.
    - PLAN-PORT, PLAN-VOLUME, PLAN-ANTI-AFFINITY, PLAN-AFFINITY, PLAN-SPREAD: what pods say of one another holds for
      each unit when it is placed, in the order of the plan (``pod_rules``).
    - PLAN-LIMIT: no more nodes are bought than templates, limits of NodePools (R16) and reservations (R17) allow.
    - PLAN-QUOTA: pods of workloads are placed only if these are admitted, and for each admission quota is available
      beside those before it (4.2), in strict queues in order (4.6); PLAN-FLAVOR: pods have what the flavors of their
      pod set add, and pod sets of a group have the same; PLAN-COUNT: as many pods are placed as are admitted, all of a
      pod set or as many as it needs at least (4.5).
    - PLAN-VALUE: stages that count units, money or nodes have the value that the plan has.

    Parameters
    ----------
    cluster
        What was read, with the nodes that are to be bought.
    units
        All units of the queue, placed or not.
    gates, cel_errors, caller_constraints
        As for ``verify``.
    order
        The order in which units were placed, as positions in ``units``; None: in their own. A claim that units share
        is allocated for the first of them.
    namespace, selector
        What the queue was narrowed to.
    natural_gangs, group
        As for ``read_queue``.
    replay
        Whether allocations are checked; False for the first units of a plan that were checked before.
    quota, admissions
        The quota that there is, and what the plan admits.
    stages
        What the plan says that its stages come to.
    moved
        Running pods that move: units of the plan that no stage about units counts.
    deadline
        When to give up, as a reading of ``time.monotonic``.
    queue_deadline
        When to give up reading the queue and comparing it with the plan; that of a few units is always read.
    begun
        A replay that has begun; it counts if it is of this very plan, and has a deadline of its own.

    Returns
    -------
    list of Violation
        Empty for a valid plan.

    Raises
    ------
    VerificationTimeoutError
        If no allocation was found to be wrong until the deadline.
    QueueTimeoutError
        If the queue was not read and compared until its deadline.

    """
    about = cluster, gates, cel_errors, caller_constraints
    if begun is not None and replay and begun.is_of([units[one] for one in placement_order(units, order)], about):
        replayed = begun
    else:
        replayed = PlanReplay(units if replay else (), about, order, deadline)
    narrowed = natural_gangs, quota, admissions or {}, group
    queue = Queue(cluster, gates, namespace, selector, *narrowed, deadline=queue_deadline)
    found = [*queue.compare(units), *_plan_findings(cluster, units, gates, order, queue)]
    members = ((one.gang, unit.node, one.coverage) for unit, one in queue.known if one.gang is not None)
    found += gang_findings(cluster, members, stages)
    placed = [
        (unit.node, one, not moved or (unit.namespace, unit.unit.name) not in moved)
        for unit, one in queue.known
        if unit.node is not None
    ]
    found += value_findings(cluster, gates, placed, stages)
    found += _preference_findings(cluster, units, stages)
    wrong: list[Violation] = []
    late: VerificationTimeoutError | None = None
    try:
        wrong = replayed.result() if replay and replayed.has_work else []
    except VerificationTimeoutError as error:
        late = error
    if not replayed.has_rooms:
        pairs = ((unit.node, unit.unit.pod) for unit, _ in queue.known if unit.node is not None)
        found += room_findings(cluster, NodeLoads(cluster, gates), pairs)
    told = [*(Violation(finding.rule, "", finding.message) for finding in found), *wrong]
    if late is not None and not told:
        raise late
    return told


def _plan_findings(
    cluster: Cluster, units: Sequence[PlacedUnit], gates: FeatureGates, order: Sequence[int] | None, queue: Queue
) -> Iterator[Finding]:
    for _, unit in single_units(units):
        if unit.node is not None and unit.node not in cluster.nodes:
            yield Finding("PLAN-NODE", f"{unit_label(unit)} is on node {unit.node}, which is not there")
        # Units that nobody has made were compared with the queue.
        if (unit.allocations or unit.node is not None) and unmade_unit(unit) is None:
            yield from claim_findings(unit)
    there = [(number, unit) for number, unit in single_units(units) if unit.node is not None]
    if order is not None and sorted(order) != [number for number, _ in there]:
        yield Finding("PLAN-ONCE", "the order does not have every placed unit once")
    placed = ((unmade_unit(unit), unit) for _, unit in there)
    pods = (unit.unit.pod if unmade is None else unmade.unit_set.pod for unmade, unit in placed)
    if have_pod_rules(cluster, (pod for pod in pods if pod is not None)):
        yield from pod_rule_findings(cluster, list(_placed_pods(cluster, units, order)))
    yield from purchase_findings(cluster)
    grouped = ((one.gang, unit.node) for unit, one in queue.known if one.gang is not None and one.gang.parents)
    yield from tree_findings(
        cluster, gates, (((gang.namespace, gang.name), node) for gang, node in grouped if node is not None)
    )
    if queue.quota is not None:
        pairs = ((queue.quota.member_of_set(one), unit.node) for unit, one in queue.known)
        members = ((member, node) for member, node in pairs if member is not None)
        yield from quota_findings(queue.quota, queue.admissions, members)


def _preference_findings(
    cluster: Cluster, units: Sequence[PlacedUnit], stages: Sequence[PlanStage]
) -> Iterator[Finding]:
    """The stage ``preferences``, where its value is another."""
    for stage in stages:
        if stage.stage == "preferences":
            pods = ((unit.unit.pod, unit.node) for unit in units if unit.node is None or unit.node in cluster.nodes)
            value = preference_value(cluster, [(pod, node) for pod, node in pods if pod is not None])
            if value != stage.value:
                yield Finding("PLAN-VALUE", f"the stage {stage.stage} is said to be {stage.value}, and is {value}")


def _placed_pods(
    cluster: Cluster, units: Sequence[PlacedUnit], order: Sequence[int] | None
) -> Iterator[tuple[str, Pod, str]]:
    for number in placement_order(units, order):
        pod, node = units[number].unit.pod, units[number].node
        if pod is not None and node is not None and node in cluster.nodes:
            yield unit_label(units[number]), pod, node


def unit_label(unit: PlacedUnit) -> str:
    """A unit in words: its own name, and the kind of its owner."""
    return f"{unit.kind} {unit.unit.namespace}/{unit.unit.name}"


# The names of units depend on these, and on their numbers.
_naming = attrgetter("name", "namespace", "name_prefix", "is_copied", "first", "name_numbers")


class _RequestedUnits:
    """The units that are to be in the plan, as sets: of each unit a mark says whether it was seen."""

    def __init__(self, sets: Iterable[UnitSet]) -> None:
        self._sets: dict[tuple[str, str, str], list[tuple[UnitSet, Sequence[int] | Mapping[int, int], bytearray]]] = {}
        for one in sets:
            numbers = one.numbers
            places = numbers if isinstance(numbers, range) else {number: place for place, number in enumerate(numbers)}
            own = self._sets.setdefault((one.kind, one.namespace, one.name), [])
            own.append((one, places, bytearray(len(numbers))))

    def take(self, unit: PlacedUnit) -> UnitSet | str | None:
        """The set of a unit, which is seen now; a text if it was seen before, None for one that is in no set."""
        number = unit.replica
        for one, places, seen in self._sets.get((unit.kind, unit.namespace, unit.name), ()):
            if number in places:
                place = places.index(number) if isinstance(places, range) else places[number]
                if seen[place]:
                    return "seen before"
                seen[place] = 1
                return one
        return None

    def take_run(self, run: UnplacedRun[PlacedUnit]) -> bool:
        """Whether all units of a run are in one set, under the same names, in no gang and not seen; now they are."""
        own, numbers = run.unit_set, run.numbers
        for one, places, seen in self._sets.get((own.kind, own.namespace, own.name), ()):
            if isinstance(places, range) and numbers and numbers[0] in places:
                first = places.index(numbers[0])
                after = first + len(numbers)
                is_known = places[first:after] == numbers and _naming(one) == _naming(own) and one.gang is None
                if is_known and not any(seen[first:after]):
                    seen[first:after] = b"\1" * len(numbers)
                    return True
        return False

    def missing(self) -> tuple[int, UnitSet | None, int]:
        """How many units were not seen, with the set and the number of the first of them."""
        left = [(one, seen) for own in self._sets.values() for one, _, seen in own if not all(seen)]
        if not left:
            return 0, None, 0
        one, seen = left[0]
        return sum(marks.count(0) for _, marks in left), one, one.numbers[seen.index(0)]


class QueueTimeoutError(Exception):
    """The deadline passed before the queue was read and compared with the plan: nothing is known of it."""


class Queue:
    """The queue, read anew; ``namespace`` and ``selector`` narrow it as in ``models.queue.planned``.

    It and ``compare`` raise ``QueueTimeoutError`` after the deadline.
    """

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        namespace: str | None,
        selector: str,
        natural_gangs: bool = False,
        quota: QuotaProblem | None = None,
        admissions: Admissions = MappingProxyType({}),
        group: GroupSelection | None = None,
        deadline: float | None = None,
    ) -> None:
        self._deadline = deadline
        about = namespace, selector, gates, natural_gangs, group
        read = partial(read_queue, namespace=namespace, selector=selector, gates=gates, natural_gangs=natural_gangs)
        # A part of a plan is looked at again: that is the same queue.
        sets = cluster.memo(("verification.queue", *about), lambda: read(cluster, group=group, look=self._look))
        self.quota = None if quota is None else QuotaQueue(quota, sets)
        self.admissions = admissions
        sets = sets if self.quota is None else self.quota.sets
        self._requested, self._cluster = _RequestedUnits(sets), cluster
        # The latest sets that were compared, what makes units of them, and how many claims these have if all is equal.
        self._latest: tuple[UnitSet | None, UnitSet | None, UnitExpander | None, int | None] = None, None, None, None
        self._expander = UnitExpander(cluster, gates)
        self.known: list[tuple[PlacedUnit, UnitSet]] = []

    def _look(self) -> None:
        if self._deadline is not None and monotonic() > self._deadline:
            raise QueueTimeoutError

    def compare(self, units: Sequence[PlacedUnit]) -> Iterator[Finding]:
        """Yield how the plan differs from the queue; ``known`` gets its units with their sets.

        Those that are not placed, and in no gang and no workload, have no part in other rules.

        Pods and claims are made and compared for placed units only: the others have nothing in the plan but a name.
        """
        for unit in looking(self._single(units), self._look):
            requested = self._requested.take(unit)
            if requested is None:
                yield Finding("PLAN-ONCE", f"{unit_label(unit)} is not in the queue")
            elif isinstance(requested, str):
                yield Finding("PLAN-ONCE", f"{unit_label(unit)} is in the plan twice")
            else:
                if unit.node is not None or requested.gang is not None or self.quota is not None:
                    self.known.append((unit, requested))
                if self._will_be_right(unit, requested):
                    continue
                if unit.node is not None or unit.allocations:
                    expected = self._expander.unit(requested, unit.replica)
                    if self.quota is not None:
                        pod = admitted_pod(self.quota, self.admissions, requested, expected.pod)
                        expected = expected if pod is expected.pod else expected.with_pod(pod)
                    yield from _differences(unit, expected)
                elif (unit.unit.namespace, unit.unit.name) != (unit.namespace, requested.unit_name(unit.replica)):
                    yield _another(unit)
        missing, first, number = self._requested.missing()
        if first is not None:
            such = f"such as {first.namespace}/{first.unit_name(number)}"
            yield Finding("PLAN-ONCE", f"{missing} units of the queue are not in the plan, {such}")

    def _will_be_right(self, unit: PlacedUnit, requested: UnitSet) -> bool:
        """Whether a unit is still to be made, of the very set that is requested, and each of its claims gets devices.

        Units of a set are all made in one way, which is not that of the solver.
        """
        unmade = unmade_unit(unit) if self.quota is None else None
        if unmade is None or not isinstance(unit.allocations, OwnAllocations) or unit.allocations.planned is not unmade:
            return False
        planned, number, expander = unmade.unit_set, unmade.number, unmade.expander
        if not all(map(is_, self._latest, (planned, requested, expander))):
            shape, is_about = requested.shape, expander is not None and expander.is_about(self._cluster)
            are_open = all(one.key is None and not one.problem for one in shape.claims)
            is_same = is_about and _naming(planned) == _naming(requested) and planned.kind == requested.kind
            is_same = is_same and planned.pod == requested.pod and planned.claim == requested.claim
            self._latest = planned, requested, expander, len(shape.claims) if is_same and are_open else None
        return number == unit.replica and len(unit.allocations) == self._latest[3]

    def _single(self, units: Sequence[PlacedUnit]) -> Iterator[PlacedUnit]:
        """The units that are to be compared one by one: all but those of runs that the queue has as they are."""
        for part in unit_parts(units):
            if not isinstance(part, UnplacedRun):
                yield part
            elif self.quota is not None or not self._requested.take_run(part):
                yield from part


def _differences(unit: PlacedUnit, requested: Unit) -> Iterator[Finding]:
    given = unit.unit
    is_same_pod = given.pod is requested.pod or given.pod == requested.pod
    if given.name != requested.name or given.namespace != requested.namespace or not is_same_pod:
        yield _another(unit)
    if len(given.claims) != len(requested.claims) or not all(map(_same_claim, given.claims, requested.claims)):
        yield Finding("PLAN-CLAIM", f"{unit_label(unit)} has other claims in the queue")


def _another(unit: PlacedUnit) -> Finding:
    return Finding("PLAN-ONCE", f"{unit_label(unit)} is another in the queue")


def _same_claim(given: ClaimRef, requested: ClaimRef) -> bool:
    """Made claims may have other names: where names clash they depend on what else is asked about."""
    if (given.namespace, given.entry, given.generated) != (requested.namespace, requested.entry, requested.generated):
        return False
    if given.name == requested.name or not given.generated or given.claim is None:
        return given.name == requested.name and given.claim == requested.claim
    return replace(given.claim, metadata=replace(given.claim.metadata, name=requested.name)) == requested.claim


def claim_findings(unit: PlacedUnit) -> Iterator[Finding]:
    """Claims that are allocated without reason, or twice, and placed units with claims that cannot be had."""
    if (
        unit.node is not None
        and allocates_all(unit.unit, unit.allocations)
        and not any(ref.problem for ref in unit.unit.claims)
    ):
        return
    own = [ref.key for ref in unit.unit.claims]
    given = [ref.key for ref, _ in unit.allocations]
    if len(given) < len(unit.allocations):
        count = plural(len(unit.allocations), "allocation")
        yield Finding("PLAN-CLAIM", f"{unit_label(unit)} has {count} for {plural(len(given), 'claim')}")
    if unit.node is not None and given == own and len(set(own)) == len(own) and not unit.unit.problems:
        return
    name = unit_label(unit)
    if unit.node is None and given:
        yield Finding("PLAN-CLAIM", f"{name} is not placed, but claim {'/'.join(given[0])} is allocated for it")
    for key in dict.fromkeys(given):
        if key not in own:
            yield Finding("PLAN-CLAIM", f"{name} has no claim {'/'.join(key)}, which is allocated for it")
        if given.count(key) > 1:
            yield Finding("PLAN-CLAIM", f"{name}: claim {'/'.join(key)} is allocated twice")
    if unit.node is not None:
        for problem in unit.unit.problems:
            yield Finding("PLAN-CLAIM", f"{name} is placed, but {problem}")
