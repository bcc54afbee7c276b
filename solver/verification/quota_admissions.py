"""Whether Kueue may admit workloads as a document says: charges, queues that are open, flavors, and counts of pods.

It is read from the text on flavors and partial admission (kueue-dra 4.1, 4.3, 4.5). What is left of quota is a matter
of the tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import node_matches, tolerates
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
from ...models.results.quota import QuotaAssignment, WorkloadQuota
from .quota import QuotaReplay
from .quota_charges import CountedPods, UncountedError, WorkloadCharges, kueue_start, quota_amount
from .quota_objects import QuotaTreeReading


class AdmissionRules:
    """What Kueue asks of an admission; ``queues`` are ClusterQueues by name."""

    def __init__(self, cluster: Cluster, gates: FeatureGates, deadline: float | None, tree: QuotaTreeReading) -> None:
        self._cluster = cluster
        self._tree = tree
        self._charges = WorkloadCharges(cluster, gates, deadline)
        self._counted: dict[str, tuple[CountedPods, ...] | UncountedError] = {}
        self._local = cluster.objects(LocalQueue)
        self._flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
        self._ignores = kueue_start(cluster).resources.quota_check_strategy == "IgnoreUndeclared"
        self._queues = {one.metadata.name: one for one in cluster.objects(ClusterQueue).values()}

    def _charge(self, key: str, workload: KueueWorkload) -> tuple[CountedPods, ...] | UncountedError:
        found = self._counted.get(key)
        if found is None:
            try:
                found = self._charges.of(workload)
            except UncountedError as error:
                found = error
            self._counted[key] = found
        return found

    def charge_flaws(self, told: WorkloadQuota, workload: KueueWorkload) -> Iterator[str]:
        """What is wrong with the charge of a workload."""
        # One that holds quota from the start is not counted again (3.8).
        if not told.charge:
            return
        counted = self._charge(workload_key(told), workload)
        if isinstance(counted, UncountedError):
            yield f"it cannot be counted: {counted}"
            return
        if [(one.pod_set, one.count) for one in told.charge] != [(one.name, one.count) for one in counted]:
            yield f"its pod sets are {', '.join(f'{one.name} of {one.count}' for one in counted)}"
            return
        for one, own in zip(told.charge, counted, strict=True):
            yield from amount_flaws(one.requests, own.total(own.count), f"pod set {one.pod_set}")

    def barriers(self, told: WorkloadQuota, workload: KueueWorkload) -> list[str]:
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
        wrong += self.closed(queue)
        selector = queue.spec.namespace_selector
        namespace = self._cluster.namespaces.get(told.namespace)
        labels = (namespace.metadata.labels if namespace else None) or {}
        if selector is None or not all(one.matches(labels) for one in selector.requirements):
            wrong.append(f"ClusterQueue {queue.metadata.name} does not take its namespace")
        return wrong

    def queue_flaws(self, told: str, namespace: str, workload: KueueWorkload) -> Iterator[str]:
        """Whether one that waits is in another ClusterQueue than that of its LocalQueue, or that which it held."""
        admission = workload.status.admission
        local = self._local.get((namespace, workload.spec.queue_name))
        held = "" if admission is None else admission.cluster_queue
        if told not in ("", held, local.spec.cluster_queue if local is not None else ""):
            yield f"its ClusterQueue is not {told}"

    def closed(self, queue: ClusterQueue) -> Iterator[str]:
        """Why a queue admits nothing."""
        name = queue.metadata.name
        if queue.spec.stop_policy != "None":
            yield f"ClusterQueue {name} is stopped"
        for group in queue.spec.resource_groups or ():
            for flavor in group.flavors or ():
                if flavor.name not in self._flavors:
                    yield f"there is no ResourceFlavor {flavor.name}"
        known = {one.metadata.name for one in self._cluster.objects(AdmissionCheck).values()}
        for check in checks_of(queue):
            if check not in known:
                yield f"there is no AdmissionCheck {check}"
        if queue.spec.cohort_name in self._tree.cyclic:
            yield f"ClusterQueue {name} is below cohorts that form a cycle"

    def assignment_flaws(self, told: WorkloadQuota, workload: KueueWorkload, queue: ClusterQueue) -> Iterator[str]:
        """What is wrong with flavors and amounts of an admission (4.3, 4.5)."""
        counted = self._charge(workload_key(told), workload)
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
        yield from amount_flaws(told.usage, known, f"pod set {told.pod_set}")
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
            if misfit := _flavor_misfit(pod_set, self._flavors.get(flavor)):
                yield f"pod set {told.pod_set}: flavor {flavor} {misfit}"

    def obstacles(self, told: WorkloadQuota, workload: KueueWorkload, replay: QuotaReplay) -> Iterator[str]:
        """Why a workload that waits has no quota as things are at the end."""
        counted = self._charge(workload_key(told), workload)
        if isinstance(counted, UncountedError):
            yield str(counted)
            return
        barriers = self.barriers(told, workload)
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
                    not _flavor_misfit(pod_set, self._flavors.get(flavor.name))
                    and all(asked[name] <= replay.available(place, (flavor.name, name)) for name in names)
                    for flavor in group.flavors or ()
                )
                if names and not any(fits):
                    yield f"no flavor has {', '.join(names)} for pod set {pod_set.name}"


def workload_key(told: WorkloadQuota) -> str:
    """The workload as ``namespace/name``."""
    return f"{told.namespace}/{told.name}"


def is_true(workload: KueueWorkload, condition: str) -> bool:
    """Whether the input says that a condition of the workload holds."""
    found = workload.condition(condition)
    return found is not None and found.status == "True"


def checks_of(queue: ClusterQueue) -> list[str]:
    """The admission checks of a queue."""
    strategy = queue.spec.admission_checks_strategy
    return [one.name for one in (strategy.admission_checks if strategy else None) or ()]


def amount_flaws(told: Mapping[str, str], expected: Mapping[str, int], about: str) -> Iterator[str]:
    """Amounts that are not as expected; those of nothing may be left out."""
    for name in sorted({*told, *expected}):
        amount = quota_amount(name, told[name]) if name in told else 0
        if amount != expected.get(name, 0):
            yield f"{about} asks for {_written(name, expected.get(name, 0))} of {name}, not {told.get(name, '0')}"


def _written(resource: str, amount: int) -> str:
    return str(Quantity.from_nano(amount * NANO // 1000 if resource == "cpu" else amount * NANO))


def _flavor_misfit(pod_set: KueuePodSet, flavor: ResourceFlavor | None) -> str:
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
