"""What the document of ``quota`` says, checked against the manifests: charges, flavors, sums of quota, and evictions.

Charges and the tree are read by the text of Kueue's counting and quantities. Cycles are replayed from the document:
who holds quota when, and that what each cycle admits is available beside what those before it hold. Kueue's order and
its words are not derived.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from ...models.cluster.node_fit import node_matches, tolerates
from ...models.formats.errors import plural
from ...models.kubernetes.core import Node, NodeSelector, NodeSelectorTerm
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import (
    AdmissionCheck,
    ClusterQueue,
    KueuePodSet,
    KueueWorkload,
    LocalQueue,
    QuotaResourceGroup,
    ResourceFlavor,
)
from ...models.kubernetes.meta import ObjectMeta
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.results.common import CheckedLine
from ...models.results.quota import (
    ChangedAmount,
    QuotaAssignment,
    QuotaDocument,
    QuotaLimitReport,
    WorkloadLimit,
    WorkloadQuota,
)
from ...models.workload.quota import FlavorResource
from .documents import LATE, CheckQuestion, Lines, line
from .quota import QuotaReplay
from .quota_charges import CountedPods, UncountedError, WorkloadCharges, kueue_start, quota_amount
from .quota_objects import KueueObjects, QuotaTreeReading
from .quota_placements import placement_lines
from .state import ExpressionTimeoutError

_ORDER = "Kueue's order and words are not derived"
_POLICIES = {
    "InClusterQueue": "withinClusterQueue",
    "InCohortReclamation": "reclaimWithinCohort",
    "InCohortReclaimWhileBorrowing": "borrowWithinCohort",
}


def quota_lines(document: QuotaDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``quota``."""
    check = _QuotaCheck(document, gates, question)
    yield from check.workloads()
    yield check.cycles()
    yield check.admissions()
    yield from check.quota()
    yield from check.shares()
    yield from check.inactive()
    if document.placement:
        yield from placement_lines(document, gates, question, check.objects)
    if document.limits:
        yield from check.limits(document.limits)
    if document.joint:
        yield line("joint prices", f"{document.joint.admitted} admitted", [], "joint plans are not in the document")


class _QuotaCheck:
    """A document of ``quota`` beside the objects that it is about."""

    def __init__(self, document: QuotaDocument, gates: FeatureGates, question: CheckQuestion) -> None:
        self._document = document
        self._question = question
        cluster = question.cluster
        self.objects = KueueObjects(cluster)
        self._charges = WorkloadCharges(cluster, gates, question.deadline)
        self._queues = {one.metadata.name: one for one in cluster.objects(ClusterQueue).values()}
        self._local = cluster.objects(LocalQueue)
        self._flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
        self._tree = QuotaTreeReading(cluster)
        self._counted: dict[str, tuple[CountedPods, ...] | UncountedError | None] = {}
        self._told = {_key(one): one for one in document.workloads}
        start = kueue_start(cluster)
        self._ignores = start.resources.quota_check_strategy == "IgnoreUndeclared"
        self._fair = start.fair_sharing is not None
        self._replay = self._replayed()

    def workloads(self) -> Lines:
        """Check the charge and the quota of each workload."""
        names = Counter(map(_key, self._document.workloads))
        missing = [key for key, one in self.objects.workloads.items() if key not in names and one.is_read]
        wrong = [f"workload {missing[0]} is not there"] if missing else []
        wrong += [f"workload {key} is there twice" for key, times in names.items() if times > 1]
        yield line("document", f"{len(names)} workloads", wrong)
        for one in self._document.workloads:
            about = f"workload {_key(one)}"
            if self._question.is_late:
                yield line(about, one.state, [], LATE)
                continue
            workload = self.objects.workload(_key(one))
            if workload is None:
                known = "" if self.objects.complete else "it may be of a job of a kind that is not read here"
                yield line(about, one.state, [] if known else ["the input has no such workload"], known)
                continue
            try:
                yield line(about, "charge", list(self._charge_flaws(one, workload)))
                yield self._state(about, one, workload)
            except ExpressionTimeoutError:
                yield line(about, one.state, [], LATE)
            except (ValueError, ArithmeticError) as error:
                yield line(about, one.state, [f"it cannot be read: {error}"])

    def _charge(self, key: str, workload: KueueWorkload) -> tuple[CountedPods, ...] | UncountedError:
        found = self._counted.get(key)
        if found is None:
            try:
                found = self._charges.of(workload)
            except UncountedError as error:
                found = error
            self._counted[key] = found
        return found

    def _charge_flaws(self, told: WorkloadQuota, workload: KueueWorkload) -> Iterator[str]:
        # One that holds quota from the start is not counted again (3.8).
        if not told.charge:
            return
        counted = self._charge(_key(told), workload)
        if isinstance(counted, UncountedError):
            yield f"it cannot be counted: {counted}"
            return
        if [(one.pod_set, one.count) for one in told.charge] != [(one.name, one.count) for one in counted]:
            yield f"its pod sets are {', '.join(f'{one.name} of {one.count}' for one in counted)}"
            return
        for one, own in zip(told.charge, counted, strict=True):
            yield from _amount_flaws(one.requests, own.total(own.count), f"pod set {one.pod_set}")

    def _state(self, about: str, told: WorkloadQuota, workload: KueueWorkload) -> CheckedLine:
        wrong = [] if told.priority == (workload.spec.priority or 0) else [f"its priority is {workload.spec.priority}"]
        wrong += [] if told.queue == workload.spec.queue_name else [f"its queue is {workload.spec.queue_name}"]
        if told.state == "finished":
            ended = _is_true(workload, "Finished")
            return line(about, "finished", wrong if ended else [*wrong, "it has not finished"])
        if told.state == "pending":
            wrong += ["it waits, and has an assignment"] if told.assignments or told.cycle is not None else []
            waits = wrong or any(self._obstacles(told, workload))
            return line(about, "pending", wrong, "" if waits else _ORDER)
        said = f"{told.state} in {told.cluster_queue}"
        if told.cycle is None:
            return self._held(about, said, told, workload, wrong)
        wrong += self._barriers(told, workload)
        queue = self._queues.get(told.cluster_queue)
        if queue is not None:
            wrong += self._assignment_flaws(told, workload, queue)
            waits = bool(_checks(queue))
            wrong += [] if (told.state == "quotaReserved") == waits else [f"the queue has {len(_checks(queue))} checks"]
        return line(about, f"{said}, cycle {told.cycle}", wrong)

    def _held(
        self, about: str, said: str, told: WorkloadQuota, workload: KueueWorkload, wrong: Sequence[str]
    ) -> CheckedLine:
        """One that held quota from the start has what its status says."""
        admission = workload.status.admission
        if not self.objects.workloads[_key(told)].is_read:
            return line(about, said, wrong, "the flavors that its job runs in are not derived")
        if admission is None or not _is_true(workload, "QuotaReserved"):
            return line(about, said, [*wrong, "it holds no quota in the input, and no cycle admits it"])
        wrong = [*wrong] if told.cluster_queue == admission.cluster_queue else [*wrong, "its queue is another"]
        given = {one.name: one for one in admission.pod_set_assignments or ()}
        if sorted(given) != sorted(one.pod_set for one in told.assignments):
            wrong.append("its status has other pod sets")
        for one in told.assignments:
            own = given.get(one.pod_set)
            if own is not None:
                wrong += [] if one.flavors == (own.flavors or {}) else [f"pod set {one.pod_set} has other flavors"]
                wrong += [] if one.count == (own.count or 0) else [f"pod set {one.pod_set} has {own.count} pods"]
                usage = {name: quota_amount(name, text) for name, text in (own.resource_usage or {}).items()}
                wrong += _amount_flaws(one.usage, usage, f"pod set {one.pod_set}")
        admitted = _is_true(workload, "Admitted")
        wrong += [] if (told.state == "admitted") == admitted else [f"it is {'' if admitted else 'not '}admitted"]
        return line(about, said, wrong)

    def _barriers(self, told: WorkloadQuota, workload: KueueWorkload) -> list[str]:
        """Why a workload cannot be admitted in its queue, whatever quota there is (4.1)."""
        local = self._local.get((told.namespace, workload.spec.queue_name))
        queue = self._queues.get(local.spec.cluster_queue) if local is not None else None
        wrong = [] if workload.spec.active else ["it is not active"]
        if local is None or queue is None:
            return [*wrong, f"LocalQueue {workload.spec.queue_name} leads to no ClusterQueue"]
        if local.spec.stop_policy != "None":
            wrong.append(f"LocalQueue {workload.spec.queue_name} is stopped")
        if told.cluster_queue not in ("", queue.metadata.name):
            wrong.append(f"its ClusterQueue is {queue.metadata.name}")
        wrong += self._closed(queue)
        selector = queue.spec.namespace_selector
        namespace = self._question.cluster.namespaces.get(told.namespace)
        labels = (namespace.metadata.labels if namespace else None) or {}
        if selector is None or not all(one.matches(labels) for one in selector.requirements):
            wrong.append(f"ClusterQueue {queue.metadata.name} does not take its namespace")
        return wrong

    def _closed(self, queue: ClusterQueue) -> Iterator[str]:
        """Why a queue admits nothing."""
        name = queue.metadata.name
        if queue.spec.stop_policy != "None":
            yield f"ClusterQueue {name} is stopped"
        for group in queue.spec.resource_groups or ():
            for flavor in group.flavors or ():
                if flavor.name not in self._flavors:
                    yield f"there is no ResourceFlavor {flavor.name}"
        known = {one.metadata.name for one in self._question.cluster.objects(AdmissionCheck).values()}
        for check in _checks(queue):
            if check not in known:
                yield f"there is no AdmissionCheck {check}"
        if queue.spec.cohort_name in self._tree.cyclic:
            yield f"ClusterQueue {name} is below cohorts that form a cycle"

    def _assignment_flaws(self, told: WorkloadQuota, workload: KueueWorkload, queue: ClusterQueue) -> Iterator[str]:
        """What is wrong with flavors and amounts of an admission (4.3, 4.5)."""
        counted = self._charge(_key(told), workload)
        if isinstance(counted, UncountedError):
            yield f"it cannot be counted: {counted}"
            return
        pod_sets = workload.spec.pod_sets or ()
        if [one.pod_set for one in told.assignments] != [one.name for one in pod_sets]:
            yield "the pod sets of its assignments are not its own"
            return
        groups = {name: group for group in queue.spec.resource_groups or () for name in group.covered_resources or ()}
        together: dict[str, dict[str, str]] = defaultdict(dict)
        for number, (one, pod_set, own) in enumerate(zip(told.assignments, pod_sets, counted, strict=True)):
            least = own.count if pod_set.min_count is None else min(pod_set.min_count, own.count)
            if not least <= one.count <= own.count:
                yield f"pod set {one.pod_set} has {one.count} of {own.count} pods"
            yield from self._flavor_flaws(one, pod_set, own, groups)
            shared = pod_set.topology_request.pod_set_group_name if pod_set.topology_request else None
            chosen = together[shared or f"/{number}"]
            if any(chosen.setdefault(resource, flavor) != flavor for resource, flavor in one.flavors.items()):
                yield f"pod set {one.pod_set} has other flavors than those of its group"

    def _flavor_flaws(
        self, told: QuotaAssignment, pod_set: KueuePodSet, own: CountedPods, groups: Mapping[str, QuotaResourceGroup]
    ) -> Iterator[str]:
        asked = own.total(told.count)
        if "pods" in groups:
            asked["pods"] = told.count
        known = {name: amount for name, amount in asked.items() if name in groups}
        for name in sorted(asked.keys() - known.keys()):
            if asked[name] and not self._ignores:
                yield f"pod set {told.pod_set}: the queue has no quota of {name}"
        yield from _amount_flaws(told.usage, known, f"pod set {told.pod_set}")
        chosen: dict[int, str] = {}
        for name, amount in sorted(known.items()):
            if amount and name not in told.flavors:
                yield f"pod set {told.pod_set} has no flavor for {name}"
        for name, flavor in sorted(told.flavors.items()):
            group = groups.get(name)
            if group is None or flavor not in [one.name for one in group.flavors or ()]:
                yield f"pod set {told.pod_set}: the queue has no {name} of flavor {flavor}"
            elif chosen.setdefault(id(group), flavor) != flavor:
                yield f"pod set {told.pod_set} has two flavors of one resource group"
        for flavor in sorted(set(told.flavors.values())):
            if misfit := flavor_misfit(pod_set, self._flavors.get(flavor)):
                yield f"pod set {told.pod_set}: flavor {flavor} {misfit}"

    def _obstacles(self, told: WorkloadQuota, workload: KueueWorkload) -> Iterator[str]:
        """Why a workload that waits has no quota as things are at the end."""
        counted = self._charge(_key(told), workload)
        if isinstance(counted, UncountedError):
            yield str(counted)
            return
        barriers = self._barriers(told, workload)
        yield from barriers
        local = self._local.get((told.namespace, workload.spec.queue_name))
        queue = self._queues.get(local.spec.cluster_queue) if local is not None else None
        if barriers or queue is None:
            return
        place = self._tree.places[True, queue.metadata.name]
        for pod_set, own in zip(workload.spec.pod_sets or (), counted, strict=True):
            least = own.count if pod_set.min_count is None else min(pod_set.min_count, own.count)
            asked = own.total(least)
            for group in queue.spec.resource_groups or ():
                names = [name for name in group.covered_resources or () if asked.get(name)]
                fits = (
                    not flavor_misfit(pod_set, self._flavors.get(flavor.name))
                    and all(asked[name] <= self._replay.available(place, (flavor.name, name)) for name in names)
                    for flavor in group.flavors or ()
                )
                if names and not any(fits):
                    yield f"no flavor has {', '.join(names)} for pod set {pod_set.name}"

    def cycles(self) -> CheckedLine:
        """Check who holds quota when: what is evicted held some, what is admitted held none."""
        document = self._document
        holders = {
            key
            for key, one in self.objects.workloads.items()
            if one.is_read and one.workload.status.admission is not None and _is_true(one.workload, "QuotaReserved")
            if not _is_true(one.workload, "Finished")
        }
        # Whether the jobs of others run is not derived: the document says who had quota before.
        holders |= {
            key
            for key, one in self._told.items()
            if key not in self.objects.workloads or not self._is_read(key)
            if self._held_before(key)
        }
        since: dict[str, int] = {}
        evicted: dict[str, list[int]] = defaultdict(list)
        wrong: list[str] = []
        numbers = [one.number for one in document.cycles]
        if numbers != sorted(set(numbers)) or any(not 0 <= one <= document.cycles_run for one in numbers):
            wrong.append(f"the cycles are not in order, or are more than {document.cycles_run}")
        for cycle in document.cycles:
            for key in (*cycle.admitted, *cycle.evicted, *cycle.waiting):
                wrong += [] if key in self._told else [f"cycle {cycle.number}: {key} is no workload"]
            for key in cycle.admitted:
                wrong += [f"cycle {cycle.number}: {key} has quota already"] if key in holders else []
                holders.add(key)
                since[key] = cycle.number
            for key in cycle.evicted:
                idle = self.objects.workload(key)
                if key not in holders and (idle is None or idle.spec.active):
                    wrong.append(f"cycle {cycle.number}: {key} is evicted, and has no quota")
                holders.discard(key)
                since.pop(key, None)
                evicted[key].append(cycle.number)
        for key, one in self._told.items():
            reserved = one.state in ("quotaReserved", "admitted")
            if reserved != (key in holders) and one.state != "finished":
                wrong.append(f"{key} is {one.state}, and {'has' if key in holders else 'has no'} quota by the cycles")
            if reserved and one.cycle != since.get(key):
                wrong.append(f"{key} was admitted in cycle {since.get(key)}")
            if [each.cycle for each in one.evictions] != evicted[key]:
                wrong.append(f"{key} has other evictions than the cycles")
            wrong += self._eviction_flaws(one)
        return line("cycles", plural(document.cycles_run, "cycle"), wrong)

    def _is_read(self, key: str) -> bool:
        found = self.objects.workloads.get(key)
        return found is not None and found.is_read

    def _held_before(self, key: str) -> bool:
        """Whether the first that the cycles say of a workload is that it loses quota, or that it has some."""
        for cycle in self._document.cycles:
            if key in cycle.admitted:
                return False
            if key in cycle.evicted:
                return True
        return self._told[key].state in ("quotaReserved", "admitted")

    def _eviction_flaws(self, told: WorkloadQuota) -> Iterator[str]:
        """A workload is preempted only if a queue of its cohorts has the policy (4.7)."""
        workload = self.objects.workload(_key(told))
        local = self._local.get((told.namespace, workload.spec.queue_name)) if workload is not None else None
        admission = workload.status.admission if workload is not None else None
        name = admission.cluster_queue if admission else local.spec.cluster_queue if local else ""
        if (True, name) not in self._tree.places:
            return
        near = [one for one in self._tree.queues_beside(name) if one in self._queues]
        for one in told.evictions:
            if not one.preempted:
                continue
            asked = [name] if one.preempted == "InClusterQueue" else [each for each in near if each != name]
            policies = [self._queues[each].spec.preemption for each in asked if each in self._queues]
            allowed = any(
                one.preempted == "InCohortFairSharing"
                or (one.preempted == "InClusterQueue" and each.within_cluster_queue != "Never")
                or (one.preempted != "InClusterQueue" and each.reclaim_within_cohort != "Never")
                for each in policies
            )
            if one.preempted == "InCohortFairSharing":
                allowed = self._fair and bool(policies)
            if not allowed or (one.preempted not in _POLICIES and one.preempted != "InCohortFairSharing"):
                yield f"{_key(told)}: no queue preempts it by {one.preempted}"

    def _replayed(self) -> QuotaReplay:
        """The tree with what is used at the end; ``_lacking`` gets what a cycle admits without quota."""
        replay = QuotaReplay(self._tree.holders)
        by_cycle: dict[int, list[tuple[WorkloadQuota, int, Mapping[FlavorResource, int]]]] = defaultdict(list)
        self._lacking: list[str] = []
        for one in self._document.workloads:
            place = self._tree.places.get((True, one.cluster_queue))
            if one.state not in ("quotaReserved", "admitted") or place is None:
                continue
            try:
                usage = self._usage(one)
            except (ValueError, ArithmeticError):
                continue
            if one.cycle is None:
                replay.charge(place, usage)
            else:
                by_cycle[one.cycle].append((one, place, usage))
        for number, waiting in sorted(by_cycle.items()):
            # The document does not say in which order a cycle admits.
            while waiting:
                fitting = [each for each in waiting if not any(replay.lacking(each[1], each[2]))]
                for _, place, usage in fitting:
                    if not any(replay.lacking(place, usage)):
                        replay.charge(place, usage)
                left = [each for each in waiting if each not in fitting]
                for told, place, usage in left if not fitting else ():
                    (flavor, resource), most = next(replay.lacking(place, usage))
                    self._lacking.append(f"cycle {number}: {_key(told)} has no {resource} of {flavor}: {most} are left")
                    replay.charge(place, usage)
                waiting = left if fitting else []
        return replay

    def _usage(self, told: WorkloadQuota) -> Mapping[FlavorResource, int]:
        """What a workload uses: its assignments, without pods that have finished."""
        workload = self.objects.workload(_key(told))
        finished = {one.name: one.count for one in (workload.status.reclaimable_pods if workload else None) or ()}
        total: Counter[FlavorResource] = Counter()
        for one in told.assignments:
            kept = max(0, one.count - finished.get(one.pod_set, 0)) if told.cycle is None else one.count
            for resource, text in one.usage.items():
                amount = quota_amount(resource, text)
                if resource in one.flavors:
                    part = amount if kept == one.count else amount // one.count * kept
                    total[one.flavors[resource], resource] += part
        return total

    def admissions(self) -> CheckedLine:
        """Check that quota was there for what cycles admitted (4.2)."""
        number = sum(one.cycle is not None and one.state != "pending" for one in self._document.workloads)
        return line("cycles", f"quota for {plural(number, 'admission')}", self._lacking)

    def quota(self) -> Lines:
        """Check the amounts of each queue and cohort."""
        rows: dict[tuple[bool, str], list[int]] = defaultdict(list)
        for number, one in enumerate(self._document.quota):
            rows[not one.cohort, one.node].append(number)
        closed = {name for name, one in self._queues.items() if any(self._closed(one))}
        for key, place in self._tree.places.items():
            holder = self._tree.holders[place]
            told = {(self._document.quota[n].flavor, self._document.quota[n].resource) for n in rows.get(key, ())}
            left = sorted(holder.nominal.keys() - told)
            if left and not (key[0] and key[1] in closed) and (key[0] or self._has_open_queue(place, closed)):
                yield line(holder.label, "amounts", [f"{left[0][1]} of flavor {left[0][0]} is not there"])
        for (is_queue, name), numbers in rows.items():
            place_ = self._tree.places.get((is_queue, name))
            about = f"{'ClusterQueue' if is_queue else 'Cohort'} {name}"
            if place_ is None:
                yield line(about, "amounts", ["the input has no such node"])
                continue
            wrong: list[str] = []
            for number in numbers:
                wrong += self._row_flaws(number, place_)
            yield line(about, plural(len(numbers), "amount"), wrong)

    def _has_open_queue(self, place: int, closed: Iterable[str]) -> bool:
        gone = set(closed)
        return any(name not in gone for name in self._tree.queues_below(place))

    def _row_flaws(self, number: int, place: int) -> Iterator[str]:
        one, holder = self._document.quota[number], self._tree.holders[place]
        pair = one.flavor, one.resource
        whole, kept, used = self._replay.amounts(place, pair)
        nominal = holder.nominal.get(pair, 0)
        expected = {
            "nominal": nominal,
            "used": used,
            "borrowed": max(0, used - (whole if holder.is_cohort else nominal)),
            "lendable": whole - kept if holder.parent is not None else 0,
        }
        if not holder.is_cohort:
            expected["available"] = max(0, self._replay.available(place, pair))
        for name, amount in expected.items():
            text = getattr(one, name)
            try:
                told = None if text is None else quota_amount(one.resource, text)
            except ValueError as error:
                yield f"{name} of {one.resource} cannot be read: {error}"
                continue
            if told != amount:
                yield f"{name} of {one.resource} in {one.flavor} is {amount}, not {told}"

    def shares(self) -> Lines:
        """Check the weighted shares (4.8)."""
        if not self._document.shares and not self._fair:
            return
        wrong: list[str] = []
        for one in self._document.shares:
            place = self._tree.places.get((not one.cohort, one.node))
            if place is None:
                wrong.append(f"the input has no {one.node}")
                continue
            share = self._tree.share(self._replay, place)
            if (share is None) != (one.share is None) or abs(float(share or 0) - (one.share or 0)) > _ROUNDING:
                wrong.append(f"the share of {one.node} is {'infinite' if share is None else float(share):}")
        yield line("shares", plural(len(self._document.shares), "share"), wrong)

    def inactive(self) -> Lines:
        """Check the queues that admit nothing."""
        closed = {name for name, one in self._queues.items() if any(self._closed(one))}
        told = self._document.inactive.keys()
        wrong = [f"ClusterQueue {name} admits workloads" for name in sorted(told - closed)]
        wrong += [f"ClusterQueue {name} admits nothing" for name in sorted(closed - told)]
        yield line("document", f"{len(told)} inactive queues", wrong)

    def limits(self, told: QuotaLimitReport) -> Lines:
        """Check the amounts of what is lacking and of changes; that a change admits a workload is not derived."""
        for one in told.workloads:
            wrong = [
                *self._missing_flaws(one),
                *(f for c in one.changes for f in self._change_flaws(c.owner, c.cohort, c.field, c.amounts)),
            ]
            about = f"limits of {', '.join(one.workloads[:1])}"
            yield line(about, plural(len(one.changes), "change"), wrong, "" if wrong else "cycles are not run again")
        for price in told.prices:
            known = (not price.cohort, price.owner) in self._tree.places
            wrong = [] if known else [f"the input has no {price.owner}"]
            wrong += [f"{key} is no workload" for key in (*price.admitted, *price.lost) if key not in self._told]
            said = f"{price.more} more of {price.resource}"
            yield line(f"price of {price.owner}", said, wrong, "" if wrong else "cycles are not run again")

    def _missing_flaws(self, told: WorkloadLimit) -> Iterator[str]:
        yield from (f"{key} is no workload" for key in told.workloads if key not in self._told)
        place = self._tree.places.get((True, told.cluster_queue))
        for one in told.missing if place is not None else ():
            left = max(0, self._replay.available(place or 0, (one.flavor, one.resource)))
            if quota_amount(one.resource, one.available) != left:
                yield f"{left} of {one.resource} in {one.flavor} is available"

    def _change_flaws(self, owner: str, cohort: bool, field: str, amounts: Iterable[ChangedAmount]) -> Iterator[str]:
        place = self._tree.places.get((not cohort, owner))
        if place is None:
            yield f"the input has no {owner}"
            return
        holder = self._tree.holders[place]
        now = {"nominalQuota": holder.nominal, "borrowingLimit": holder.borrowing_limit}.get(
            field, holder.lending_limit
        )
        for one in amounts:
            before, after, more = (quota_amount(one.resource, text) for text in (one.before, one.after, one.more))
            if before != now.get((one.flavor, one.resource), 0) or after != before + more:
                yield f"{field} of {one.resource} in {one.flavor} is {now.get((one.flavor, one.resource), 0)}"


# Shares are written as numbers with a point.
_ROUNDING = Fraction(1, 10**6)


def _key(told: WorkloadQuota) -> str:
    return f"{told.namespace}/{told.name}"


def _is_true(workload: KueueWorkload, condition: str) -> bool:
    found = workload.condition(condition)
    return found is not None and found.status == "True"


def _checks(queue: ClusterQueue) -> list[str]:
    strategy = queue.spec.admission_checks_strategy
    return [one.name for one in (strategy.admission_checks if strategy else None) or ()]


def _amount_flaws(told: Mapping[str, str], expected: Mapping[str, int], about: str) -> Iterator[str]:
    """Amounts that are not as expected; those of nothing may be left out."""
    for name in sorted({*told, *expected}):
        amount = quota_amount(name, told[name]) if name in told else 0
        if amount != expected.get(name, 0):
            yield f"{about} asks for {_written(name, expected.get(name, 0))} of {name}, not {told.get(name, '0')}"


def _written(resource: str, amount: int) -> str:
    return str(Quantity.from_nano(amount * NANO // 1000 if resource == "cpu" else amount * NANO))


def flavor_misfit(pod_set: KueuePodSet, flavor: ResourceFlavor | None) -> str:
    """Why pods of a set cannot be of a flavor (4.3, step 2); empty if they can."""
    if flavor is None:
        return "is not there"
    spec, labels = pod_set.template.spec, flavor.spec.node_labels or {}
    if pod_set.topology_request is not None and flavor.spec.topology_name is None:
        return "has no topology"
    tolerations = (*(spec.tolerations or ()), *(flavor.spec.tolerations or ()))
    for taint in flavor.spec.node_taints or ():
        if taint.effect in ("NoSchedule", "NoExecute") and not any(tolerates(one, taint) for one in tolerations):
            return f"has taint {taint.key}, which is not tolerated"
    if any(labels.get(key, value) != value for key, value in (spec.node_selector or {}).items()):
        return "has other labels than the node selector"
    affinity = spec.affinity.node_affinity if spec.affinity else None
    terms = (affinity.required.node_selector_terms if affinity and affinity.required else None) or ()
    kept = [tuple(one for one in term.match_expressions or () if one.key in labels) for term in terms]
    node = Node(metadata=ObjectMeta(labels=labels))
    wanted = (NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=one),)) for one in kept)
    if terms and all(kept) and not any(node_matches(one, node) for one in wanted):
        return "has other labels than the node affinity"
    return ""
