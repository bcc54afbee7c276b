"""What the document of ``quota`` says, checked against the manifests: charges, flavors, sums of quota, and evictions.

Charges and the tree are read by the text of Kueue's counting and quantities. Cycles are replayed from the document:
who holds quota when, and that what each cycle admits is available beside what those before it hold. Kueue's order and
its words are not derived.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import ClusterQueue, KueueWorkload, LocalQueue
from ...models.results.common import CheckedLine
from ...models.results.quota import ChangedAmount, QuotaDocument, QuotaLimitReport, WorkloadLimit, WorkloadQuota
from ...models.workload.quota import FlavorResource
from .documents import LATE, CheckQuestion, Lines, line
from .quota import QuotaReplay
from .quota_admissions import AdmissionRules, amount_flaws, checks_of, is_true, workload_key
from .quota_charges import kueue_start, quota_amount
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
        self._queues = {one.metadata.name: one for one in cluster.objects(ClusterQueue).values()}
        self._local = cluster.objects(LocalQueue)
        self._tree = QuotaTreeReading(cluster)
        self._rules = AdmissionRules(cluster, gates, question.deadline, self._tree)
        self._told = {workload_key(one): one for one in document.workloads}
        self._fair = kueue_start(cluster).fair_sharing is not None
        self._replay = self._replayed()

    def workloads(self) -> Lines:
        """Check the charge and the quota of each workload."""
        names = Counter(map(workload_key, self._document.workloads))
        missing = [key for key, one in self.objects.workloads.items() if key not in names and one.is_read]
        wrong = [f"workload {missing[0]} is not there"] if missing else []
        wrong += [f"workload {key} is there twice" for key, times in names.items() if times > 1]
        yield line("document", f"{len(names)} workloads", wrong)
        for one in self._document.workloads:
            about = f"workload {workload_key(one)}"
            if self._question.is_late:
                yield line(about, one.state, [], LATE)
                continue
            workload = self.objects.workload(workload_key(one))
            if workload is None:
                known = "" if self.objects.complete else "it may be of a job of a kind that is not read here"
                yield line(about, one.state, [] if known else ["the input has no such workload"], known)
                continue
            try:
                yield line(about, "charge", list(self._rules.charge_flaws(one, workload)))
                yield self._state(about, one, workload)
            except ExpressionTimeoutError:
                yield line(about, one.state, [], LATE)
            except (ValueError, ArithmeticError) as error:
                yield line(about, one.state, [f"it cannot be read: {error}"])

    def _state(self, about: str, told: WorkloadQuota, workload: KueueWorkload) -> CheckedLine:
        wrong = [] if told.priority == (workload.spec.priority or 0) else [f"its priority is {workload.spec.priority}"]
        wrong += [] if told.queue == workload.spec.queue_name else [f"its queue is {workload.spec.queue_name}"]
        if told.state == "finished":
            ended = is_true(workload, "Finished")
            return line(about, "finished", wrong if ended else [*wrong, "it has not finished"])
        if told.state == "pending":
            wrong += ["it waits, and has an assignment"] if told.assignments or told.cycle is not None else []
            wrong += self._rules.queue_flaws(told.cluster_queue, told.namespace, workload)
            waits = wrong or any(self._rules.obstacles(told, workload, self._replay))
            return line(about, "pending", wrong, "" if waits else _ORDER)
        said = f"{told.state} in {told.cluster_queue}"
        if told.cycle is None:
            return self._held(about, said, told, workload, wrong)
        wrong += self._rules.barriers(told, workload)
        queue = self._queues.get(told.cluster_queue)
        if queue is not None:
            wrong += self._rules.assignment_flaws(told, workload, queue)
            waits = bool(checks_of(queue))
            wrong += (
                [] if (told.state == "quotaReserved") == waits else [f"the queue has {len(checks_of(queue))} checks"]
            )
        return line(about, f"{said}, cycle {told.cycle}", wrong)

    def _held(
        self, about: str, said: str, told: WorkloadQuota, workload: KueueWorkload, wrong: Sequence[str]
    ) -> CheckedLine:
        """One that held quota from the start has what its status says."""
        admission = workload.status.admission
        if not self.objects.workloads[workload_key(told)].is_read:
            return line(about, said, wrong, "the flavors that its job runs in are not derived")
        if admission is None or not is_true(workload, "QuotaReserved"):
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
                wrong += amount_flaws(one.usage, usage, f"pod set {one.pod_set}")
        admitted = is_true(workload, "Admitted")
        wrong += [] if (told.state == "admitted") == admitted else [f"it is {'' if admitted else 'not '}admitted"]
        return line(about, said, wrong)

    def cycles(self) -> CheckedLine:
        """Check who holds quota when: what is evicted held some, what is admitted held none."""
        document = self._document
        holders = {
            key
            for key, one in self.objects.workloads.items()
            if one.is_read and one.workload.status.admission is not None and is_true(one.workload, "QuotaReserved")
            if not is_true(one.workload, "Finished")
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
        workload = self.objects.workload(workload_key(told))
        local = self._local.get((told.namespace, workload.spec.queue_name)) if workload is not None else None
        admission = workload.status.admission if workload is not None else None
        name = admission.cluster_queue if admission else local.spec.cluster_queue if local else ""
        if (True, name) not in self._tree.places:
            return
        near = [one for one in self._tree.queues_beside(name) if one in self._queues]
        for one in told.evictions:
            if (one.reason == "Preempted") != bool(one.preempted):
                yield f"{workload_key(told)}: {one.reason}, and preempted by {one.preempted or 'nothing'}"
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
                yield f"{workload_key(told)}: no queue preempts it by {one.preempted}"

    def _replayed(self) -> QuotaReplay:
        """The tree with what is used at the end; ``_lacking`` gets what a cycle admits without quota."""
        replay = QuotaReplay(self._tree.holders)
        by_cycle: dict[int, list[tuple[str, int, Mapping[FlavorResource, int]]]] = defaultdict(list)
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
                by_cycle[one.cycle].append((workload_key(one), place, usage))
        # The document does not say in which order a cycle admits.
        for number, waiting in sorted(by_cycle.items()):
            for key, (flavor, resource), most in replay.admit_in_any_order(waiting):
                self._lacking.append(f"cycle {number}: {key} has no {resource} of {flavor}: {most} are left")
        return replay

    def _usage(self, told: WorkloadQuota) -> Mapping[FlavorResource, int]:
        """What a workload uses: its assignments, without pods that have finished."""
        workload = self.objects.workload(workload_key(told))
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
        closed = {name for name, one in self._queues.items() if any(self._rules.closed(one))}
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
        expected: dict[str, int | None] = {
            "nominal": nominal,
            "used": used,
            "borrowed": max(0, used - (whole if holder.is_cohort else nominal)),
            "lendable": whole - kept if holder.parent is not None else 0,
        }
        expected["available"] = None if holder.is_cohort else max(0, self._replay.available(place, pair))
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
        closed = {name for name, one in self._queues.items() if any(self._rules.closed(one))}
        told = self._document.inactive.keys()
        wrong = [f"ClusterQueue {name} admits workloads" for name in sorted(told - closed)]
        wrong += [f"ClusterQueue {name} admits nothing" for name in sorted(closed - told)]
        yield line("document", f"{len(told)} inactive queues", wrong)

    def limits(self, told: QuotaLimitReport) -> Lines:
        """Check the amounts of what is lacking and of changes; that a change admits a workload is not derived."""
        for one in told.workloads:
            try:
                wrong = list(self._missing_flaws(one))
                for change in one.changes:
                    wrong += self._change_flaws(change.owner, change.cohort, change.field, change.amounts)
            except ValueError as error:
                wrong = [f"it cannot be read: {error}"]
            about = f"limits of {', '.join(one.workloads[:1])}"
            yield line(about, plural(len(one.changes), "change"), wrong, "cycles are not run again")
        for price in told.prices:
            known = (not price.cohort, price.owner) in self._tree.places
            wrong = [] if known else [f"the input has no {price.owner}"]
            wrong += [f"{key} is no workload" for key in (*price.admitted, *price.lost) if key not in self._told]
            said = f"{price.more} more of {price.resource}"
            yield line(f"price of {price.owner}", said, wrong, "cycles are not run again")

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
