"""The core/v1 objects beside the claims: Node, Pod with its containers, Namespace, volumes, and selectors."""

from __future__ import annotations

import msgspec

from ..formats.decode import Int64, Model, QuantityText
from .meta import Condition, KubernetesObject, Requirement

HOSTNAME_LABEL = "kubernetes.io/hostname"
# What an absent hostIP means: all addresses of the node.
ANY_ADDRESS = "0.0.0.0"


class NodeSelectorRequirement(Model):
    """One test of a node label (or, in ``match_fields``, of ``metadata.name``)."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(Model):
    """Requirements that must hold together (NODE-2)."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(Model):
    """Terms of which one must hold (NODE-2)."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class LabelSelectorRequirement(NodeSelectorRequirement):
    """A test of one label: In, NotIn, Exists or DoesNotExist."""


class LabelSelector(Model):
    """Labels that must be there, and tests of labels; an empty selector selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All tests; they may be used only if they pass ``check``."""
        labels = tuple(Requirement(key, "In", (value,)) for key, value in (self.match_labels or {}).items())
        return labels + tuple(
            Requirement(one.key, one.operator, one.values or ()) for one in self.match_expressions or ()
        )


_AFFINITY_FIELDS = {
    "required": "requiredDuringSchedulingIgnoredDuringExecution",
    "preferred": "preferredDuringSchedulingIgnoredDuringExecution",
}


class PreferredNodeTerm(Model):
    """A term that a node of a pod had better match, and what that counts, from 1 to 100."""

    weight: Int64 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Model, rename=_AFFINITY_FIELDS):
    """A pod's wishes about nodes; only the required part restricts."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredNodeTerm, ...] | None = None


class PodAffinityTerm(Model):
    """Pods by labels and namespaces, and the node label whose value a node must share with theirs, or must not."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class PreferredPodTerm(Model):
    """A term about other pods that had better hold, and what each of these pods counts, from 1 to 100."""

    weight: Int64 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Model, rename=_AFFINITY_FIELDS):
    """The pods near which a pod goes, or from which it stays away; all required terms must hold."""

    required: tuple[PodAffinityTerm, ...] | None = None
    preferred: tuple[PreferredPodTerm, ...] | None = None


class Affinity(Model):
    """A pod's affinities."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Model):
    """How far the numbers of selected pods in domains of a node label may differ."""

    max_skew: Int64 = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int64 | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] | None = None


class Taint(Model):
    """A node taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(Model):
    """A pod's toleration of node taints."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class NodeSpec(Model):
    """``spec`` of a Node."""

    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class NodeStatus(Model):
    """``status`` of a Node; ``declared_features`` serves DEV-9."""

    allocatable: dict[str, QuantityText] | None = None
    capacity: dict[str, QuantityText] | None = None
    declared_features: tuple[str, ...] | None = None


class Node(KubernetesObject):
    """A node of the cluster."""

    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class PodResourceClaim(Model):
    """An entry of ``spec.resourceClaims``: a claim, or a template to make one from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Model):
    """Which claim was made for an entry of ``spec.resourceClaims``; None: none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class PodGroupReference(Model):
    """``spec.workloadRef``: the group of a Workload that the pod belongs to (Kubernetes 1.35)."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class SchedulingGroup(Model):
    """``spec.schedulingGroup``: the PodGroup that the pod belongs to (Kubernetes 1.36 and later)."""

    pod_group_name: str | None = None


class EmptyDirSource(Model):
    """A directory that lives as long as the pod; with the medium ``Memory`` it is none of the node's disk."""

    medium: str = ""


class PathSource(Model):
    """A directory of the node."""

    path: str = ""


class ClaimedVolumeSource(Model):
    """A volume that a PersistentVolumeClaim holds."""

    claim_name: str = ""


class ResourceRequests(Model):
    """What a PersistentVolumeClaim, or the pods of a NodeClaim, ask for."""

    requests: dict[str, QuantityText] | None = None


class PersistentVolumeClaimSpec(Model):
    """``spec`` of a PersistentVolumeClaim; ``volume_name`` is the PersistentVolume it is bound to."""

    access_modes: tuple[str, ...] | None = None
    storage_class_name: str | None = None
    volume_name: str = ""
    resources: ResourceRequests = ResourceRequests()


class PersistentVolumeClaim(KubernetesObject):
    """A claim of a pod's storage."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class VolumeNodeAffinity(Model):
    """The nodes from which a PersistentVolume can be used."""

    required: NodeSelector | None = None


class ObjectName(Model):
    """Namespace and name of an object."""

    namespace: str = ""
    name: str = ""


class PersistentVolumeSpec(Model):
    """``spec`` of a PersistentVolume; ``claim_ref`` is the claim it is bound to, or kept for."""

    access_modes: tuple[str, ...] | None = None
    capacity: dict[str, QuantityText] | None = None
    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    claim_ref: ObjectName | None = None


class PersistentVolume(KubernetesObject):
    """Storage that is there."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class TopologyLabelRequirement(Model):
    """Values of a node label."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologySelectorTerm(Model):
    """Node labels that must all have one of their values."""

    match_label_expressions: tuple[TopologyLabelRequirement, ...] | None = None


class StorageClass(KubernetesObject):
    """How storage is made, and for which nodes."""

    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class VolumeClaimTemplate(KubernetesObject):
    """What the claim of an ephemeral volume is made from."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Model):
    """A volume whose PersistentVolumeClaim is made for the pod and named ``POD-VOLUME``."""

    volume_claim_template: VolumeClaimTemplate | None = None


class DriverVolumeSource(Model):
    """A volume that a driver makes for the pod alone, where it is."""

    driver: str = ""


class Volume(Model):
    """A volume of a pod, as far as it says whether the pod can leave its node, and where it can go."""

    name: str = ""
    empty_dir: EmptyDirSource | None = None
    host_path: PathSource | None = None
    persistent_volume_claim: ClaimedVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: DriverVolumeSource | None = None


class PodSpec(Model):
    """``spec`` of a Pod, as far as node fit, amounts of resources, claims, priority, gangs and moves go."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: dict[str, QuantityText] | None = None
    resources: ResourceRequirements | None = None
    runtime_class_name: str | None = None
    priority_class_name: str = ""
    priority: Int64 | None = None
    preemption_policy: str | None = None
    workload_ref: PodGroupReference | None = None
    scheduling_group: SchedulingGroup | None = None
    volumes: tuple[Volume, ...] | None = None
    host_network: bool | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None

    @property
    def grouped(self) -> bool:
        """The pod belongs to a group of a Workload, or to a PodGroup."""
        return self.workload_ref is not None or self.scheduling_group is not None


class ExtendedResourceClaimStatus(Model):
    """Which claim was made for the extended resources that classes back."""

    resource_claim_name: str = ""


class NodeResourceAmount(Model):
    """What a claim takes of a resource of the node, as the scheduler recorded it (NAR-11)."""

    name: str = ""
    quantity: QuantityText | None = None
    per_pod: QuantityText | None = None
    per_container: QuantityText | None = None


class NodeResourceClaimStatus(Model):
    """What the devices of a claim take of the node: ``resources`` in Kubernetes 1.36, the others from 1.37 on."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] | None = None
    resources: dict[str, QuantityText] | None = None
    mapping: tuple[NodeResourceAmount, ...] | None = None
    overhead: tuple[NodeResourceAmount, ...] | None = None


# Phases of pods whose containers have ended.
FINISHED_PHASES = ("Succeeded", "Failed")


class PodStatus(Model):
    """``status`` of a Pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] | None = None
    start_time: str | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeResourceClaimStatus, ...] | None = None


class Pod(KubernetesObject):
    """A pod: the unit that takes all its claims on one node."""

    spec: PodSpec = PodSpec()
    status: PodStatus | None = None


class Namespace(KubernetesObject):
    """A namespace; its labels allow admin access (CLM-5)."""


class LimitRangeItem(Model):
    """What pods, or containers, of a namespace must ask for at least and at most, and what they get by default."""

    type: str = ""
    max: dict[str, QuantityText] | None = None
    min: dict[str, QuantityText] | None = None
    default: dict[str, QuantityText] | None = None
    default_request: dict[str, QuantityText] | None = None


class LimitRangeSpec(Model):
    """``spec`` of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] | None = None


class LimitRange(KubernetesObject):
    """Limits of a namespace. Pods of the API server have its defaults already; templates of pods have not."""

    spec: LimitRangeSpec = LimitRangeSpec()


class RuntimeOverhead(Model):
    """What each pod takes beside its containers."""

    pod_fixed: dict[str, QuantityText] | None = None


class RuntimeClass(KubernetesObject):
    """A way to run containers, which pods name by ``runtimeClassName``."""

    overhead: RuntimeOverhead | None = None


class ContainerClaim(Model):
    """An entry of the pod's ``spec.resourceClaims`` that a container uses, or one request of that claim."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Model):
    """Amounts of resources, and claims; a request that is absent is the limit, as the API server has it."""

    requests: dict[str, QuantityText] | None = None
    limits: dict[str, QuantityText] | None = None
    claims: tuple[ContainerClaim, ...] | None = None


class ContainerPort(Model):
    """A port of a container, and that of the node behind which it stands."""

    container_port: Int64 | None = None
    host_port: Int64 | None = None
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class Container(Model):
    """A container; an init container with ``restart_policy`` Always is a sidecar, which runs as long as the pod."""

    name: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str = ""
    ports: tuple[ContainerPort, ...] | None = None
