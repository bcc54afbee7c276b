"""The core/v1 objects beside the claims: Node, Pod with its containers, Namespace, and node selectors."""

from __future__ import annotations

from ..formats.decode import Int64, Model, QuantityText
from .meta import KubernetesObject

HOSTNAME_LABEL = "kubernetes.io/hostname"


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


class NodeAffinity(Model, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    """A pod's wishes about nodes; only the required part restricts."""

    required: NodeSelector | None = None


class Affinity(Model):
    """A pod's affinities."""

    node_affinity: NodeAffinity | None = None


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


class Volume(Model):
    """A volume of a pod, as far as it says whether the pod can leave its node."""

    name: str = ""
    empty_dir: EmptyDirSource | None = None
    host_path: PathSource | None = None
    persistent_volume_claim: ClaimedVolumeSource | None = None


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
    workload_ref: PodGroupReference | None = None
    scheduling_group: SchedulingGroup | None = None
    volumes: tuple[Volume, ...] | None = None

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


class PodStatus(Model):
    """``status`` of a Pod."""

    phase: str = ""
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


class Container(Model):
    """A container; an init container with ``restart_policy`` Always is a sidecar, which runs as long as the pod."""

    name: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str = ""
