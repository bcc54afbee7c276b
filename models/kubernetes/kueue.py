"""Kinds of Kueue in the shape of v1beta2: quota, queues, workloads, and what they refer to (kueue-dra 4).

Absent fields have the defaults of the API server. Older versions are converted as they are read
(``models/manifests/conversion``). Amounts stay as written.
"""

from __future__ import annotations

from ..formats.decode import Int64, Model, QuantityText
from .core import LabelSelector, Taint, Toleration
from .meta import Condition, KindReference, KubernetesObject, NameReference
from .workloads import PodTemplateSpec

KUEUE_GROUP = "kueue.x-k8s.io"


class ResourceFlavorSpec(Model):
    """``spec`` of a ResourceFlavor: labels and taints of its nodes."""

    node_labels: dict[str, str] | None = None
    node_taints: tuple[Taint, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_name: str | None = None


class ResourceFlavor(KubernetesObject):
    """A variant of resources, such as nodes of one kind, of which quota is given."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class FlavorResourceQuota(Model):
    """The quota of one resource in one flavor, what it may borrow beyond, and what of it others may borrow."""

    name: str = ""
    nominal_quota: QuantityText = 0
    borrowing_limit: QuantityText | None = None
    lending_limit: QuantityText | None = None


class FlavorQuotas(Model):
    """The quotas of one flavor: an entry for each covered resource, in the same order."""

    name: str = ""
    resources: tuple[FlavorResourceQuota, ...] | None = None


class QuotaResourceGroup(Model):
    """Resources that a pod set gets from one flavor, and the flavors in the order they are tried."""

    covered_resources: tuple[str, ...] | None = None
    flavors: tuple[FlavorQuotas, ...] | None = None


class FairSharingSpec(Model):
    """The weight of a queue or cohort: its share of the unused quota."""

    weight: QuantityText | None = 1


class BorrowWithinCohort(Model):
    """Whether a workload that borrows may preempt workloads of other queues, up to a priority."""

    policy: str = "Never"
    max_priority_threshold: Int64 | None = None


class ClusterQueuePreemption(Model):
    """Which workloads may be preempted for one of the queue."""

    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    within_cluster_queue: str = "Never"


class FlavorFungibility(Model):
    """Whether later flavors are tried before a workload borrows, or preempts, in an earlier one."""

    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str | None = None


class AdmissionCheckRule(Model):
    """A check that workloads need, for these flavors, or for all of them if there are none."""

    name: str = ""
    on_flavors: tuple[str, ...] | None = None


class AdmissionChecksStrategy(Model):
    """The checks of a queue."""

    admission_checks: tuple[AdmissionCheckRule, ...] | None = None


class AdmissionScope(Model):
    """Whether past usage counts in the order of the queue."""

    admission_mode: str = ""


class ConcurrentAdmissionConstraints(Model):
    """The last flavor that an admission may migrate to."""

    last_acceptable_flavor_name: str | None = None


class ConcurrentAdmissionMigration(Model):
    """Whether an admission is moved to a flavor that is preferred."""

    mode: str = ""
    constraints: ConcurrentAdmissionConstraints | None = None


class ConcurrentAdmissionPolicy(Model):
    """How variants of one workload, one for each flavor, are admitted."""

    migration: ConcurrentAdmissionMigration = ConcurrentAdmissionMigration()


class ClusterQueueSpec(Model):
    """``spec`` of a ClusterQueue; without a namespace selector it takes workloads of no namespace."""

    resource_groups: tuple[QuotaResourceGroup, ...] | None = None
    cohort_name: str = ""
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: str = "None"
    fair_sharing: FairSharingSpec | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None


class ClusterQueue(KubernetesObject):
    """Quota by flavor and resource, and the rules by which workloads get it."""

    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(Model):
    """``spec`` of a Cohort."""

    parent_name: str = ""
    resource_groups: tuple[QuotaResourceGroup, ...] | None = None
    fair_sharing: FairSharingSpec | None = None


class Cohort(KubernetesObject):
    """ClusterQueues and cohorts that borrow from each other, with quota of its own."""

    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(Model):
    """``spec`` of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = "None"
    fair_sharing: FairSharingSpec | None = None


class LocalQueue(KubernetesObject):
    """The name under which workloads of a namespace get to a ClusterQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()


class SliceTopologyConstraint(Model):
    """So many pods must be in one domain of a level."""

    topology: str = ""
    size: Int64 = 0


class PodSetTopologyRequest(Model):
    """In which domains of a topology the pods of a set must, or should, be together."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Int64 | None = None
    podset_slice_required_topology_constraints: tuple[SliceTopologyConstraint, ...] | None = None
    sub_group_count: Int64 | None = None
    sub_group_index_label: str | None = None


class KueuePodSet(Model):
    """Equal pods of a workload; with a ``min_count`` a part of them may be admitted."""

    name: str = "main"
    count: Int64 = 1
    min_count: Int64 | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    topology_request: PodSetTopologyRequest | None = None


class KueueWorkloadSpec(Model):
    """``spec`` of a Workload of Kueue."""

    pod_sets: tuple[KueuePodSet, ...] | None = None
    queue_name: str = ""
    # A WorkloadPriorityClass or a PriorityClass.
    priority_class_ref: KindReference | None = None
    priority: Int64 | None = None
    active: bool = True
    maximum_execution_time_seconds: Int64 | None = None
    # While a gate is closed the workload preempts nothing.
    preemption_gates: tuple[NameReference, ...] | None = None


class PodSetAssignment(Model):
    """What a pod set got: a flavor for each resource, and the total for all of its pods."""

    name: str = "main"
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, QuantityText] | None = None
    count: Int64 | None = None
    delayed_topology_request: str | None = None


class Admission(Model):
    """The queue whose quota a workload holds."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] | None = None


class ReclaimablePods(Model):
    """So many pods of a set have finished: their quota is free."""

    name: str = ""
    count: Int64 = 0


class RequeueState(Model):
    """How often a workload was put back, and until when it waits."""

    count: Int64 | None = None
    requeue_at: str | None = None


class PodSetUpdate(Model):
    """What a check adds to the pods of a set."""

    name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None


class AdmissionCheckState(Model):
    """The state of one check of a workload: Pending, Ready, Retry or Rejected."""

    name: str = ""
    state: str = ""
    message: str = ""
    last_transition_time: str | None = None
    requeue_after_seconds: Int64 | None = None
    retry_count: Int64 | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] | None = None


class PodSetRequest(Model):
    """What a pod set asks for, as Kueue counted it: the total for all of its pods."""

    name: str = ""
    resources: dict[str, QuantityText] | None = None


class PreemptionGateState(Model):
    """Whether a gate is open."""

    name: str = ""
    position: str = ""
    last_transition_time: str | None = None


class EvictionCount(Model):
    """How often a workload was evicted for a reason."""

    reason: str = ""
    underlying_cause: str = ""
    count: Int64 = 0


class SchedulingStats(Model):
    """What happened to a workload."""

    evictions: tuple[EvictionCount, ...] | None = None


class KueueWorkloadStatus(Model):
    """``status`` of a Workload of Kueue: it holds quota while it has an admission."""

    admission: Admission | None = None
    conditions: tuple[Condition, ...] | None = None
    reclaimable_pods: tuple[ReclaimablePods, ...] | None = None
    admission_checks: tuple[AdmissionCheckState, ...] | None = None
    requeue_state: RequeueState | None = None
    resource_requests: tuple[PodSetRequest, ...] | None = None
    accumulated_past_execution_time_seconds: Int64 | None = None
    cluster_name: str | None = None
    nominated_cluster_names: tuple[str, ...] | None = None
    preemption_gates: tuple[PreemptionGateState, ...] | None = None
    # On these pods of the workload ran, and they failed.
    unhealthy_nodes: tuple[NameReference, ...] | None = None
    scheduling_stats: SchedulingStats | None = None


class KueueWorkload(KubernetesObject):
    """Pods that are admitted together, or in part: the kind Workload of Kueue's group."""

    spec: KueueWorkloadSpec = KueueWorkloadSpec()
    status: KueueWorkloadStatus = KueueWorkloadStatus()

    def condition(self, name: str) -> Condition | None:
        """The condition of this type, if the workload has it."""
        return next((one for one in self.status.conditions or () if one.type == name), None)


class WorkloadPriorityClass(KubernetesObject):
    """A number with a name: the priority of workloads, apart from that of their pods."""

    value: Int64 = 0
    description: str = ""


class AdmissionCheckParameters(Model):
    """The object that says more about a check."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(Model):
    """``spec`` of an AdmissionCheck."""

    controller_name: str = ""
    parameters: AdmissionCheckParameters | None = None


class AdmissionCheckStatus(Model):
    """``status`` of an AdmissionCheck."""

    conditions: tuple[Condition, ...] | None = None


class AdmissionCheck(KubernetesObject):
    """What must be so, beside quota, before a workload starts."""

    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: AdmissionCheckStatus = AdmissionCheckStatus()


class KueueTopologyLevel(Model):
    """A level of a topology: the label of nodes whose values are its domains."""

    node_label: str = ""


class KueueTopologySpec(Model):
    """``spec`` of a Topology, from the widest level to the narrowest."""

    levels: tuple[KueueTopologyLevel, ...] | None = None


class KueueTopology(KubernetesObject):
    """The levels at which nodes are near each other: the kind Topology of Kueue's group."""

    spec: KueueTopologySpec = KueueTopologySpec()
