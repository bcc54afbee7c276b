"""Compare engines: the same input allocated by several engines, side by side.

Answers are compared unit by unit with those of the first engine (``compare_units``), and by what they leave free
(``leftover_devices``). The real scheduler's allocator gets lists of units in one question (``UnitList``): talking to
it takes time, which is not the allocator's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import monotonic
from typing import TypeAlias

import msgspec
from msgspec.structs import replace as replace_struct

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import apply_taint_rules, per_device
from ...models.formats.errors import PeerError, plural
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Node
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.kubernetes.slices import Device
from ...models.manifests.writer import is_allocated
from ...models.results.common import Reason, Status
from ...models.results.comparison import DIFFERENT, EQUAL, EQUIVALENT, AnswerRelation, LeftOver
from ...models.workload.node_resources import NodeResourcesOfDevices, PodDemand
from ...models.workload.node_room import NodeRooms, plugin_resources, unknown_room_notices
from ...models.workload.requests import is_extended_claim
from ...models.workload.units import ClaimRef, Unit
from ...peers.answers import PodVerdict
from ...peers.clients import KubeScheduler
from ...peers.requests import PodRequest, ScheduleRequest, features_of_gates
from ..allocate.allocate import TIME_LIMIT, allocate, units_to_place
from ..allocate.check import check_allocations, verification_ends, verified_outcomes
from ..allocate.nodes import SuitableNodes, pod_suitability_key
from ..allocate.placement import unplaced_outcome
from ..allocate.unsupported import check_engine_support, ignored_soft_entries
from ..engines.kube_scheduler import NAME as KUBE_SCHEDULER
from ..engines.kube_scheduler import check_peer_policy, named_classes, with_seeded_share_ids
from ..engines.outcome import AllocationOutcome, Statistics, UnitOutcome, misfit_reasons, missing_reference_reasons
from ..engines.registry import check_engine

DEFAULT_ENGINES = ("backtracking", KUBE_SCHEDULER)


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One engine's answer, and how long the search took each time; ``version`` is that of a peer."""

    engine: str
    answer: AllocationOutcome
    seconds: tuple[float, ...]
    left: LeftOver
    version: str = ""

    @property
    def median_seconds(self) -> float:
        """The median of the times."""
        return median(self.seconds)

    @property
    def admitted(self) -> int:
        """The number of units that got all they ask for."""
        return self.answer.counts()[Status.ALLOCATED]

    @property
    def verdict(self) -> tuple[str, int]:
        """The outcome and the number of admitted units, which must be equal."""
        return self.answer.outcome, self.admitted


@dataclass(frozen=True, slots=True)
class EngineComparison:
    """The answers of all engines in the order asked for, and every unit's against that of the first engine.

    ``skipped`` has the engines that could not answer, each with the reason.
    """

    runs: tuple[EngineRun, ...]
    units: tuple[UnitComparison, ...]
    skipped: Mapping[str, str]

    @property
    def same_verdict(self) -> bool:
        """Whether all engines that decided agree on outcome and number."""
        return len({run.verdict for run in self.decided}) <= 1

    @property
    def decided(self) -> tuple[EngineRun, ...]:
        """The runs that were done within the time limit."""
        return tuple(run for run in self.runs if not run.answer.counts()[Status.UNKNOWN])

    @property
    def all_decided(self) -> bool:
        """Whether no engine ran into the time limit, and there is something to compare."""
        return len(self.decided) == len(self.runs) > 1

    @property
    def identical(self) -> bool:
        """Whether every unit has the same outcome, node and devices in all runs."""
        return all(unit.relation == "equal" for unit in self.units)

    @property
    def parting(self) -> UnitComparison | None:
        """The first unit with different answers, else the first with unequal ones; None: all answers are equal."""
        different = [unit for unit in self.units if unit.relation == DIFFERENT]
        unequal = (unit for unit in self.units if unit.relation != "equal")
        return different[0] if different else next(unequal, None)


def compare(
    cluster: Cluster,
    engines: Sequence[str] = DEFAULT_ENGINES,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "kube",
    time_limit: float | None = TIME_LIMIT,
    repeat: int = 1,
    seed: int = 0,
    peer: Callable[[], KubeScheduler] = KubeScheduler,
) -> EngineComparison:
    """Answer ``drasat.compare``, which describes the arguments.

    Answers are taken to be the same each time. Times are of the search alone: without reading, start-up and talking to
    peers, and without the verifier. ``peer`` starts kube-scheduler's allocator. Raises ``ValueError``, one line, and
    ``PeerError`` if a peer fails and nothing else could answer.
    """
    names = [check_engine(name) for name in engines]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise ValueError("compare needs at least two different engines")
    if repeat < 1:
        raise ValueError("repeat must be at least 1")
    if KUBE_SCHEDULER in names:
        check_peer_policy(cel_errors)
    gates = gates_of(feature_gates)
    cluster = cluster.with_gates(gates)
    requested = units_to_place(cluster, node, namespace, selector, gates=gates)

    def run(name: str) -> EngineRun:
        version = ""
        takes_room = bool(NodeResourcesOfDevices(cluster, gates).devices)
        listed = is_listable(requested) and not takes_room and not _differ_by_node(cluster, gates, requested)
        if name == KUBE_SCHEDULER and listed:
            nodes = list(cluster.nodes.values()) if node is None else [cluster.node(node)]
            units = UnitList(cluster, gates, requested, nodes, seed)
            with peer() as started:
                version = started.handshake.version
                schedules = [units.schedule(started, time_limit) for _ in range(repeat)]
            answer = _listed_outcome(cluster, schedules[0], requested, nodes, gates, cel_errors, time_limit)
            seconds = tuple(one.seconds for one in schedules)
        else:
            answers = [
                allocate(
                    cluster,
                    node=node,
                    namespace=namespace,
                    selector=selector,
                    engine=name,
                    feature_gates=gates,
                    cel_errors=cel_errors,
                    time_limit=time_limit,
                    seed=seed,
                )
                for _ in range(repeat)
            ]
            answer, seconds = answers[0], tuple(one.seconds["search"] for one in answers)
        return EngineRun(name, answer, seconds, leftover_devices(cluster, answer), version)

    runs: list[EngineRun] = []
    skipped: dict[str, Exception] = {}
    for name in names:
        try:
            check_engine_support(name, cluster, requested)
        except ValueError as error:
            skipped[name] = error
            continue
        try:
            runs.append(run(name))
        except PeerError as error:
            skipped[name] = error
    if not runs:
        raise next(iter(skipped.values()))
    reasons = {name: str(error) for name, error in skipped.items()}
    return EngineComparison(tuple(runs), compare_units(cluster, [one.answer for one in runs]), reasons)


def _listed_outcome(
    cluster: Cluster,
    schedule: ListSchedule,
    requested: Sequence[Unit],
    nodes: Sequence[Node],
    gates: FeatureGates,
    cel_errors: str,
    time_limit: float | None,
) -> AllocationOutcome:
    """Verify what the scheduler's allocator made of a list of units, and put it into an outcome."""
    soft = ignored_soft_entries(KUBE_SCHEDULER, cluster, requested)
    notices = (*soft, *unknown_room_notices(nodes, requested))
    started = monotonic()
    ends = verification_ends(started - schedule.seconds, time_limit)
    check = partial(check_allocations, cluster, schedule.units, gates, cel_errors, deadline=ends)
    units = verified_outcomes(schedule.units, check)
    statistics = Statistics(steps=schedule.steps, devices=cluster.summary()["devices"])
    seconds = {"search": schedule.seconds, "verify": monotonic() - started}
    return AllocationOutcome(KUBE_SCHEDULER, units, gates, cel_errors, True, statistics, seconds, notices)


_RELATIONS_BY_DISTANCE = (EQUAL, EQUIVALENT, DIFFERENT)
# Request (with its alternative) of a claim, and the devices it got, in order.
DevicesByRequest: TypeAlias = Mapping[tuple[str, str], tuple[DeviceId, ...]]


@dataclass(frozen=True, slots=True)
class UnitComparison:
    """A unit's answers in the order of the engines, and how each relates to the first one.

    ``equal``: the same outcome, node and devices; ``equivalent``: other devices (or another node) that look the same,
    as many of each kind for every request; or ``different``. ``request`` is the first one, as claim and name, that did
    not get the same.
    """

    unit: Unit
    answers: tuple[UnitOutcome, ...]
    relations: tuple[AnswerRelation, ...]
    request: tuple[str, str] | None = None

    @property
    def relation(self) -> AnswerRelation:
        """The farthest of the relations."""
        return max(self.relations, key=_RELATIONS_BY_DISTANCE.index)


def compare_units(cluster: Cluster, answers: Sequence[AllocationOutcome]) -> tuple[UnitComparison, ...]:
    """Compare unit by unit; all answers are about the same units in the same order."""
    kinds = _DeviceKinds(cluster, answers[0])
    rows = zip(*(answer.units for answer in answers), strict=True)
    compared: list[UnitComparison] = []
    for row in rows:
        mine, *others = map(devices_by_request, row)
        differing = (label for found in others for label in (*mine, *found) if mine.get(label) != found.get(label))
        relations = tuple(_relation(row[0], other, kinds) for other in row)
        compared.append(UnitComparison(row[0].unit, row, relations, next(differing, None)))
    return tuple(compared)


def _relation(one: UnitOutcome, other: UnitOutcome, kinds: _DeviceKinds) -> AnswerRelation:
    if one.outcome != other.outcome:
        return DIFFERENT
    mine, theirs = devices_by_request(one), devices_by_request(other)
    if one.node == other.node and mine == theirs:
        return EQUAL
    return EQUIVALENT if kinds.of_all(mine) == kinds.of_all(theirs) else DIFFERENT


def devices_by_request(answer: UnitOutcome) -> DevicesByRequest:
    """Find what each request got."""
    found: dict[tuple[str, str], tuple[DeviceId, ...]] = {}
    for ref, allocation in answer.allocations:
        for result in allocation.devices.results or ():
            label = "/".join(ref.key), result.request
            found[label] = (*found.get(label, ()), (result.driver, result.pool, result.device))
    return found


class _DeviceKinds:
    """The content of devices without their names and nodes: equal for devices that can replace each other."""

    def __init__(self, cluster: Cluster, answer: AllocationOutcome) -> None:
        self._devices: dict[DeviceId, Device] = {}
        for slice_ in apply_taint_rules(cluster.slices, cluster.taint_rules, answer.gates):
            spec = slice_.spec
            for device in spec.devices or ():
                self._devices[spec.driver, spec.pool.name, device.name] = device
        self._known: dict[DeviceId, bytes] = {}

    def of_all(self, devices: DevicesByRequest) -> dict[tuple[str, str], Counter[bytes]]:
        """Count each request's devices by kind."""
        return {label: Counter(map(self._kind, ids)) for label, ids in devices.items()}

    def _kind(self, id_: DeviceId) -> bytes:
        if id_ not in self._known:
            device = self._devices[id_]
            bare = replace_struct(device, name=id_[0], node_name=None, node_selector=None, all_nodes=None)
            self._known[id_] = msgspec.msgpack.encode(bare, order="deterministic")
        return self._known[id_]


def leftover_devices(cluster: Cluster, answer: AllocationOutcome) -> LeftOver:
    """Count the devices that are free when everything of the answer is in use beside what was.

    Only devices that belong to a node by name make it a whole node. Counters are not looked at: a free partition may be
    one that its neighbours make impossible.
    """
    made = [(ref.key, allocation) for unit in answer.units for ref, allocation in unit.allocations]
    usage = cluster.usage(answer.gates).plus(made)
    homes: dict[DeviceId, str | None] = {}
    for slice_ in cluster.slices:
        spec = slice_.spec
        for device in spec.devices or ():
            home = device.node_name if per_device(slice_) else spec.node_name
            homes[spec.driver, spec.pool.name, device.name] = home
    free = {id_ for id_ in homes if not usage.in_use(id_)}
    of_node: dict[str, list[bool]] = defaultdict(list)
    for id_, node in homes.items():
        if node:
            of_node[node].append(id_ in free)
    return LeftOver(devices=len(homes), free=len(free), whole_nodes=sum(all(states) for states in of_node.values()))


@dataclass(frozen=True, slots=True)
class ListSchedule:
    """The outcomes of the units, the search steps, and the seconds spent in the allocator alone."""

    units: tuple[UnitOutcome, ...]
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _ListedUnit:
    """A unit with the names of the nodes that suit its pod, and why others do not; ``total`` counts all nodes."""

    unit: Unit
    total: int
    nodes: tuple[str, ...] | None = None
    """None: all of them."""
    misfits: tuple[Reason, ...] = ()


def is_listable(units: Sequence[Unit]) -> bool:
    """Tell whether units can be in one ``UnitList``: all claims of a pod must be in its namespace."""
    return all(ref.key[0] == unit.namespace for unit in units for ref in unit.claims)


def _differ_by_node(cluster: Cluster, gates: FeatureGates, units: Sequence[Unit]) -> bool:
    """Tell whether units need a claim on some nodes for what device plugins of other nodes provide (KEP-5004)."""
    claims = (claim for unit in units for claim in unit.claims_to_allocate)
    return bool(plugin_resources(cluster, gates)) and any(map(is_extended_claim, claims))


class UnitList:
    """Units and nodes as one question to the scheduler's own allocator, which places the units one after the other.

    It knows devices only: a unit is listed with the nodes that suit its pod and have room. Where it depends on the
    units before whether there is room, the question ends before, and the rest is asked about beside their answers.
    Asked again, it gives the same answer, but for the seconds.
    """

    def __init__(
        self, cluster: Cluster, gates: FeatureGates, units: Sequence[Unit], nodes: Sequence[Node], seed: int
    ) -> None:
        self._cluster = cluster
        self._gates = gates
        self._nodes = nodes
        self._seed = seed
        self._units = units
        self._suitable: dict[bytes, SuitableNodes] = {}
        self._refused = {
            unit: reasons for unit in units if (reasons := missing_reference_reasons(unit, cluster.classes))
        }

    def _listed(self, unit: Unit, rooms: NodeRooms) -> _ListedUnit:
        if unit.pod is None:
            return _ListedUnit(unit, len(self._nodes))
        key = pod_suitability_key(unit.pod.spec, ())
        suitable = self._suitable.setdefault(key, SuitableNodes(self._nodes, unit.pod.spec, ()))
        demand = rooms.demand(unit.pod.spec)
        found = {name: rooms.misfit(demand, name) for name in (self._nodes[at].metadata.name for at in suitable)}
        names = tuple(name for name, misfit in found.items() if misfit is None)
        nodes = None if len(names) == len(self._nodes) else names
        crowded = misfit_reasons([misfit for misfit in found.values() if misfit], len(self._nodes))
        return _ListedUnit(unit, len(self._nodes), nodes, (*crowded, *suitable.reasons))

    def _batch(self, units: Sequence[Unit], rooms: NodeRooms) -> list[_ListedUnit]:
        """List units as long as those before, wherever they go, make no difference to the room for the next."""
        found: list[_ListedUnit] = []
        before: list[PodDemand | None] = []
        for unit in units:
            listed = self._listed(unit, rooms)
            before.append(rooms.demand(unit.pod.spec if unit.pod else None))
            names = [node.metadata.name for node in self._nodes] if listed.nodes is None else listed.nodes
            if found and before[-1] is not None and not rooms.fit_together(before, *names):
                break
            found.append(listed)
        return found

    def _request(self, batch: Sequence[_ListedUnit], made: Mapping[ObjectKey, ResourceClaim]) -> ScheduleRequest:
        cluster = self._cluster
        claims = {
            ref.key: ref.claim
            for listed in batch
            for ref in listed.unit.requested_claims
            if ref.claim is not None and ref.key not in made
        }
        return ScheduleRequest(
            nodes=self._nodes,
            pods=[_pod_request(listed) for listed in batch],
            claims=list(claims.values()),
            classes=named_classes(claims.values(), cluster),
            slices=cluster.slices,
            taint_rules=cluster.taint_rules,
            allocated=[*(claim for claim in cluster.claims.values() if is_allocated(claim)), *made.values()],
            features=features_of_gates(self._gates),
        )

    def schedule(self, peer: KubeScheduler, time_limit: float | None) -> ListSchedule:
        """Ask; ``time_limit`` in seconds is for the whole. Raises ``PeerError``."""
        rooms, made = NodeRooms(self._cluster, self._gates), dict[ObjectKey, ResourceClaim]()
        outcomes = {unit: unplaced_outcome(unit, Status.UNALLOCATABLE, why) for unit, why in self._refused.items()}
        waiting = [unit for unit in self._units if unit not in self._refused]
        steps, seconds, elapsed = 0, 0.0, 0.0
        while True:
            started = monotonic()
            left = None if time_limit is None else time_limit - elapsed
            if left is not None and left <= 0:
                over = [Reason("timeLimit", "", "the time limit passed before this was tried")]
                outcomes.update((unit, unplaced_outcome(unit, Status.UNKNOWN, over)) for unit in waiting)
                break
            batch = self._batch(waiting, rooms)
            answer = peer.schedule(replace_struct(self._request(batch, made), time_limit_seconds=left or 0.0))
            if [(pod.namespace, pod.name) for pod in answer.pods] != [_pod_key(listed.unit) for listed in batch]:
                raise PeerError(f"peer {KUBE_SCHEDULER} answered nonsense: other pods than it was asked about")
            for listed, verdict in zip(batch, answer.pods, strict=True):
                outcome = outcomes[listed.unit] = _outcome(listed, verdict, self._seed)
                steps += verdict.steps or 0
                if outcome.node is not None and listed.unit.pod is not None:
                    rooms.take(rooms.demand(listed.unit.pod.spec), outcome.node)
                made.update(
                    (ref.key, replace_struct(ref.claim, status=ResourceClaimStatus(allocation=allocation)))
                    for ref, allocation in outcome.allocations
                    if ref.claim is not None
                )
            seconds += answer.seconds
            elapsed += monotonic() - started
            waiting = waiting[len(batch) :]
            if not waiting:
                break
        return ListSchedule(tuple(outcomes[unit] for unit in self._units), steps, seconds)


def _pod_request(listed: _ListedUnit) -> PodRequest:
    namespace, name = _pod_key(listed.unit)
    claims = tuple(ref.key[1] for ref in listed.unit.claims if ref.claim is not None)
    return PodRequest(namespace=namespace, name=name, claims=claims, nodes=listed.nodes)


def _pod_key(unit: Unit) -> tuple[str, str]:
    return key_of(unit.pod.metadata) if unit.pod else (unit.namespace, unit.name)


def _outcome(listed: _ListedUnit, verdict: PodVerdict, seed: int) -> UnitOutcome:
    if verdict.outcome == "allocated":
        return _allocated(listed, verdict, seed)
    if verdict.outcome == "error":
        return unplaced_outcome(listed.unit, Status.ERROR, [Reason("error", "", verdict.error)])
    if verdict.outcome == "timeout":
        over = Reason("timeLimit", "", verdict.error or "the time limit passed")
        return unplaced_outcome(listed.unit, Status.UNKNOWN, [over])
    tried, total = verdict.nodes_tried, listed.total
    summary = verdict.error or "cannot allocate all claims"
    devices = [Reason("combination", "", f"{tried} of {plural(total, 'node')}: {summary}")] if tried else []
    nodes = "the pod's claims are allocated for other nodes" if total else "there are no nodes"
    reasons = [*devices, *listed.misfits] or [Reason("nodes", "", nodes)]
    return unplaced_outcome(listed.unit, Status.UNALLOCATABLE, reasons)


def _allocated(listed: _ListedUnit, verdict: PodVerdict, seed: int) -> UnitOutcome:
    made = verdict.allocations or ()
    refs = {ref.key[1]: ref for ref in listed.unit.requested_claims}
    if len(made) != len(verdict.claims) or not refs.keys() >= set(verdict.claims):
        raise PeerError(f"peer {KUBE_SCHEDULER} answered nonsense: claims of {verdict.name} that were not asked for")
    named: list[ClaimRef] = [refs[name] for name in verdict.claims]
    pairs = tuple(
        (ref, with_seeded_share_ids(allocation, ref.claim, seed))
        for ref, allocation in zip(named, made, strict=True)
        if ref.claim is not None
    )
    return UnitOutcome(listed.unit, Status.ALLOCATED, verdict.node, allocations=pairs)
