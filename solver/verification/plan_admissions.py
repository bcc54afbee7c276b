"""Admissions in the document of a plan with quota of Kueue, checked against the manifests (kueue-dra 4.1 to 4.5).

Which unit is of which workload follows from who owns it. Workloads that hold quota keep it, and quota has to be there
for the others, in any order: what a plan chooses is not Kueue's order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.core import Toleration
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import ClusterQueue, KueueWorkload, LocalQueue, ResourceFlavor
from ...models.results.common import CheckedLine
from ...models.results.plan import PlanDocument, PlannedUnit, PlannedWorkload
from ...models.results.quota import QuotaAssignment, WorkloadQuota
from ...models.workload.quota import FlavorResource
from ...models.workload.units import Unit
from .documents import LATE, CheckQuestion, Lines, line
from .quota import QuotaReplay
from .quota_admissions import AdmissionRules, is_true
from .quota_charges import quota_amount
from .quota_objects import KueueObjects, QuotaTreeReading
from .state import ExpressionTimeoutError

_ROUNDS_OF_KUEUE = "whom Kueue's cycles evict is not in the document"
_JOBS = "what jobs that run hold is not derived"


def flavor_labels(cluster: Cluster, flavors: Iterable[str]) -> dict[str, str] | None:
    """The node labels that flavors ask for together; None if they ask for two values of one."""
    known = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
    found: dict[str, str] = {}
    for name in flavors:
        for key, value in ((known[name].spec.node_labels if name in known else None) or {}).items():
            if found.setdefault(key, value) != value:
                return None
    return found


class FlavoredPods:
    """Pods of workloads with quota as Kueue starts them: with labels and tolerations of their flavors.

    ``assignments`` are those of each workload, by ``namespace/name``.
    """

    def __init__(
        self, assignments: Mapping[str, Sequence[QuotaAssignment]], cluster: Cluster, objects: KueueObjects
    ) -> None:
        self._assignments = assignments
        self._cluster = cluster
        self._objects = objects
        self._flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}

    def unit(self, workload: str, unit: Unit, node: str | None) -> Unit:
        """The unit with the flavors of its pod set; of several that it may be of the first that suits its node."""
        assignments = self._assignments.get(workload, ())
        if not assignments or unit.pod is None:
            return unit
        made = self._objects.workload(workload)
        templates = {one.name: one.template.spec for one in (made.spec.pod_sets if made else None) or ()}
        own = [one for one in assignments if templates.get(one.pod_set) == unit.pod.spec] or list(assignments)
        there = self._cluster.nodes.get(node or "")
        labels_there = (there.metadata.labels if there else None) or {}
        asked = [(one, flavor_labels(self._cluster, one.flavors.values()) or {}) for one in own]
        chosen, added = next((pair for pair in asked if pair[1].items() <= labels_there.items()), asked[0])
        tolerations: list[Toleration] = list(unit.pod.spec.tolerations or ())
        for name in dict.fromkeys(chosen.flavors.values()):
            tolerations += (self._flavors[name].spec.tolerations if name in self._flavors else None) or ()
        spec = replace(
            unit.pod.spec,
            node_selector={**(unit.pod.spec.node_selector or {}), **added} or None,
            tolerations=tuple(dict.fromkeys(tolerations)) or None,
        )
        return unit.with_pod(replace(unit.pod, spec=spec))


class PlanAdmissions:
    """The workloads of the document of a plan, and which of its units are theirs."""

    def __init__(self, document: PlanDocument, gates: FeatureGates, question: CheckQuestion) -> None:
        self._document = document
        self._question = question
        cluster = question.cluster
        self._cluster = cluster
        self._objects = KueueObjects(cluster)
        self._tree = QuotaTreeReading(cluster)
        self._rules = AdmissionRules(cluster, gates, question.deadline, self._tree)
        self._queues = {one.metadata.name: one for one in cluster.objects(ClusterQueue).values()}
        self._told = {f"{one.namespace}/{one.name}": one for one in document.workloads or ()}
        self._owned: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for key, found in self._objects.workloads.items():
            if not is_true(found.workload, "Finished"):
                for owner in found.owners[-1:] if self._holds(key) else found.owners:
                    self._owned[owner].append(key)
        assigned = {key: _assignments(one) for key, one in self._told.items() if one.outcome == "Admitted"}
        self._flavored = FlavoredPods(assigned, cluster, self._objects)
        self._units: dict[str, list[PlannedUnit]] = defaultdict(list)
        for unit in document.units:
            if key := self.workload_of(unit):
                self._units[key].append(unit)

    def workload_of(self, told: PlannedUnit) -> str:
        """The workload of a unit as ``namespace/name``; empty for one that needs no quota."""
        owned = self._owned.get((told.kind, told.namespace, told.name))
        owned = owned or self._owned.get(("Pod", told.namespace, told.unit)) or []
        own = f"{told.namespace}/{told.gang}"
        # Replicas of one owner may be of a workload each, which has them as its gang.
        return owned[0] if len(owned) == 1 else own if own in owned or own in self._told else ""

    def unit(self, told: PlannedUnit, unit: Unit) -> Unit:
        """The unit with what the flavors of its workload add to its pod."""
        return self._flavored.unit(self.workload_of(told), unit, told.node)

    def priority(self, told: PlannedUnit) -> int | None:
        """The priority of the workload of a unit, where that counts and not the pod's own."""
        found = self._objects.workload(self.workload_of(told))
        return None if found is None else found.spec.priority

    def _holds(self, key: str) -> bool:
        """Whether a workload keeps the quota that it has in the input."""
        found = self._objects.workloads[key]
        workload, told = found.workload, self._told.get(key)
        admission = workload.status.admission
        if not found.is_read or admission is None or not is_true(workload, "QuotaReserved"):
            return False
        queue = self._queues.get(admission.cluster_queue)
        local = self._local(workload)
        stopped = [one.spec.stop_policy == "HoldAndDrain" for one in (queue, local) if one is not None]
        if any(stopped) or not workload.spec.active or is_true(workload, "Finished"):
            return False
        # What Kueue's cycles evict waits again, or has quota anew.
        anew = told is not None and (told.outcome == "NotAdmitted" or any(one.usage for one in told.pod_sets))
        return not (anew and self._document.quota_mode == "kueue")

    def _local(self, workload: KueueWorkload) -> LocalQueue | None:
        namespace = workload.metadata.namespace or "default"
        return self._cluster.objects(LocalQueue).get((namespace, workload.spec.queue_name))

    def lines(self) -> Lines:
        """Check each workload, that quota is there for all, and what queues use."""
        missing = [key for key in self._units if key not in self._told]
        wrong = [f"workload {missing[0]} is not there"] if missing else []
        names = Counter(f"{one.namespace}/{one.name}" for one in self._document.workloads or ())
        wrong += [f"workload {key} is there twice" for key, times in names.items() if times > 1]
        yield line("document", plural(len(names), "workload"), wrong)
        for key, told in self._told.items():
            about, said = f"workload {key}", f"{told.outcome} in {told.queue or 'no queue'}"
            found = self._objects.workload(key)
            if self._question.is_late:
                yield line(about, said, [], LATE)
            elif found is None:
                known = "" if self._objects.complete else "it may be of a job of a kind that is not read here"
                yield line(about, said, [] if known else ["the input has no such workload"], known)
            else:
                try:
                    unchecked = "" if told.outcome == "Admitted" else "why it is not placed is not derived"
                    yield line(about, said, list(self._flaws(key, told, found)), unchecked)
                except ExpressionTimeoutError:
                    yield line(about, said, [], LATE)
                except (ValueError, ArithmeticError) as error:
                    yield line(about, said, [f"it cannot be read: {error}"])
        yield from self._quota_lines()

    def _flaws(self, key: str, told: PlannedWorkload, workload: KueueWorkload) -> Iterator[str]:
        placed = [one for one in self._units[key] if one.node is not None]
        admitted = sum(one.admitted for one in told.pod_sets)
        if told.outcome != "Admitted" and placed:
            yield f"{plural(len(placed), 'pod')} of it are placed"
        elif told.outcome == "Admitted" and len(placed) != admitted:
            yield f"{admitted} of its pods are admitted, and {len(placed)} are placed"
        elif told.outcome == "NotAdmitted" and any(one.admitted or one.usage or one.flavors for one in told.pod_sets):
            yield "it is charged, and not admitted"
        if [one.name for one in told.pod_sets] != [one.name for one in workload.spec.pod_sets or ()]:
            yield "its pod sets are others"
            return
        for one, pod_set in zip(told.pod_sets, workload.spec.pod_sets or (), strict=True):
            if not one.admitted <= one.count <= pod_set.count:
                yield f"pod set {one.name} has {pod_set.count} pods"
        if told.outcome == "NotAdmitted":
            yield from self._rules.queue_flaws(told.queue, told.namespace, workload)
            return
        yield from self._domain_flaws(workload, placed)
        if self._holds(key):
            yield from _held_flaws(told, workload)
            return
        queue = self._queues.get(told.queue)
        as_quota = _as_quota(told)
        yield from self._rules.barriers(as_quota, workload)
        if queue is not None:
            yield from self._rules.assignment_flaws(as_quota, workload, queue)
        rejected = [one.name for one in workload.status.admission_checks or () if one.state == "Rejected"]
        yield from (f"admission check {name} rejected it" for name in rejected)

    def _domain_flaws(self, workload: KueueWorkload, placed: Sequence[PlannedUnit]) -> Iterator[str]:
        """A required topology: all pods are on nodes of one domain."""
        for one in workload.spec.pod_sets or ():
            request = one.topology_request
            if request is None or not request.required or not (one.count > 1 or request.pod_set_group_name):
                continue
            nodes = [self._cluster.nodes.get(unit.node or "") for unit in placed]
            values = {(node.metadata.labels or {}).get(request.required) for node in nodes if node is not None}
            if len(values) > 1 or None in values:
                yield f"its pods are in {len(values)} domains of {request.required}, or in none"

    def _quota_lines(self) -> Lines:
        """Check that quota is there (4.2), and what each queue uses then."""
        replay = QuotaReplay(self._tree.holders)
        waiting: list[tuple[str, int, Mapping[FlavorResource, int]]] = []
        jobs = [key for key, one in self._objects.workloads.items() if not one.is_read and key not in self._told]
        unread = _JOBS if jobs or not self._objects.complete else ""
        for key, found in self._objects.workloads.items():
            told, admission = self._told.get(key), found.workload.status.admission
            if self._holds(key) and admission is not None:
                place = self._tree.places.get((True, admission.cluster_queue))
                if place is not None:
                    replay.charge(place, _held_usage(found.workload))
            elif told is not None and (told.outcome == "Admitted" or self._document.quota_mode == "kueue"):
                place = self._tree.places.get((True, told.queue))
                # Of amounts that cannot be read the workload's own line tells.
                with suppress(ValueError, ArithmeticError):
                    waiting += [(f"workload {key}", place, _usage(told))] if place is not None else []
        lacking = [
            f"{label} has no {resource} of {flavor}: {left} are left"
            for label, (flavor, resource), left in replay.admit_in_any_order(waiting)
        ]
        said = f"quota for {plural(len(waiting), 'admission')}"
        by_cycles = _ROUNDS_OF_KUEUE if self._document.quota_mode == "kueue" else ""
        if lacking and by_cycles:
            yield line("queues", said, [], by_cycles)
        else:
            yield line("queues", said, lacking, unread)
        strict = {name for name, one in self._queues.items() if one.spec.queueing_strategy == "StrictFIFO"}
        if not by_cycles and any(one.queue in strict and one.outcome == "NotAdmitted" for one in self._told.values()):
            yield line("queues", "order of strict queues", [], "which workload comes first is not derived")
        yield from self._usage_lines(replay, by_cycles or unread)

    def _usage_lines(self, replay: QuotaReplay, unchecked: str) -> Lines:
        told = {(one.queue, one.flavor, one.resource): one for one in self._document.queues or ()}
        for (is_queue, name), place in self._tree.places.items():
            if not is_queue:
                continue
            nominal, wrong, used_wrong = self._tree.holders[place].nominal, list[str](), list[str]()
            for pair in sorted(nominal.keys() | {key[1:] for key in told if key[0] == name}):
                one, used = told.get((name, *pair)), replay.amounts(place, pair)[2]
                if one is None:
                    wrong.append(f"{pair[1]} of flavor {pair[0]} is not there")
                    continue
                own = nominal.get(pair, 0)
                try:
                    read, *found = (quota_amount(pair[1], text) for text in (one.nominal, one.used, one.borrowed))
                except (ValueError, ArithmeticError) as error:
                    wrong.append(f"{pair[1]} in {pair[0]} cannot be read: {error}")
                    continue
                if read != own:
                    wrong.append(f"nominal of {pair[1]} in {pair[0]} is {own}")
                if found != [used, max(0, used - own)]:
                    used_wrong.append(f"used of {pair[1]} in {pair[0]} is {used}")
            rows = plural(sum(key[0] == name for key in told), "amount")
            yield _usage_line(name, rows, wrong, used_wrong, unchecked)
        known = {name for is_queue, name in self._tree.places if is_queue}
        lost = sorted({key[0] for key in told} - known)
        if lost:
            yield line(f"ClusterQueue {lost[0]}", "amounts", ["the input has no such queue"])


def _usage_line(name: str, said: str, wrong: list[str], used: list[str], unchecked: str) -> CheckedLine:
    about = f"ClusterQueue {name}"
    if unchecked and used and not wrong:
        return line(about, said, [], unchecked)
    return line(about, said, [*wrong, *used])


def _assignments(told: PlannedWorkload) -> tuple[QuotaAssignment, ...]:
    return tuple(QuotaAssignment(one.name, one.admitted, one.flavors, one.usage) for one in told.pod_sets)


def _as_quota(told: PlannedWorkload) -> WorkloadQuota:
    """A workload of a plan as documents of quota have one that a cycle admits."""
    return WorkloadQuota(
        told.namespace, told.name, "", told.queue, 0, "admitted", "", 1, "", "", (), _assignments(told), ()
    )


def _held_flaws(told: PlannedWorkload, workload: KueueWorkload) -> Iterator[str]:
    """What is wrong with one that keeps its quota: its flavors are those of its status, and nothing is charged anew."""
    admission = workload.status.admission
    given = {one.name: one for one in (admission.pod_set_assignments if admission else None) or ()}
    if admission is not None and told.queue != admission.cluster_queue:
        yield f"it holds quota of ClusterQueue {admission.cluster_queue}"
    for one in told.pod_sets:
        own = given.get(one.name)
        if own is not None and one.flavors and one.flavors != (own.flavors or {}):
            yield f"pod set {one.name} has other flavors"
        if one.usage:
            yield f"pod set {one.name} holds its quota already"


def _usage(told: PlannedWorkload) -> Counter[FlavorResource]:
    total: Counter[FlavorResource] = Counter()
    for one in told.pod_sets:
        for resource, text in one.usage.items():
            if resource in one.flavors:
                total[one.flavors[resource], resource] += quota_amount(resource, text)
    return total


def _held_usage(workload: KueueWorkload) -> Counter[FlavorResource]:
    """What a workload uses by its status, without pods that have finished."""
    finished = {one.name: one.count for one in workload.status.reclaimable_pods or ()}
    total: Counter[FlavorResource] = Counter()
    for one in (workload.status.admission.pod_set_assignments if workload.status.admission else None) or ():
        count = one.count or 0
        kept = max(0, count - finished.get(one.name, 0))
        for resource, text in (one.resource_usage or {}).items():
            if resource in (one.flavors or {}):
                amount = quota_amount(resource, text)
                total[(one.flavors or {})[resource], resource] += amount if kept == count else amount // count * kept
    return total
