"""Kinds of Grove, KServe and NVIDIA that make pods or claims, and PodGroups of other schedulers (groups 7.2, KND-8)."""

from __future__ import annotations

from ..formats.decode import Int64, Model
from .claims import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from .core import PodSpec
from .meta import KubernetesObject, NameReference, ObjectMeta


class PackConstraint(Model):
    """Levels of a topology: pods must, or should, be in one domain of them."""

    required: str | None = None
    preferred: str | None = None


class GroveTopologyConstraint(Model):
    """Where each replica is; ``pack_domain`` is the older spelling of ``pack.required``."""

    pack: PackConstraint | None = None
    pack_domain: str | None = None


class ResourceSharingFilter(Model):
    """Whose pods get a shared claim."""

    child_clique_names: tuple[str, ...] | None = None
    child_scaling_group_names: tuple[str, ...] | None = None


class ResourceSharing(Model):
    """A claim that pods share; ``scope`` says how many there are (KND-6)."""

    name: str = ""
    namespace: str = ""
    scope: str = ""
    filter: ResourceSharingFilter | None = None


class PodCliqueSpec(Model):
    """Equal pods of a clique."""

    pod_spec: PodSpec = PodSpec()
    replicas: Int64 | None = None
    min_available: Int64 | None = None
    starts_after: tuple[str, ...] | None = None


class PodCliqueTemplate(Model):
    """A clique to be made."""

    name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    spec: PodCliqueSpec = PodCliqueSpec()
    topology_constraint: GroveTopologyConstraint | None = None
    resource_sharing: tuple[ResourceSharing, ...] | None = None


class PodCliqueScalingGroup(Model):
    """Cliques that are scaled together."""

    name: str = ""
    clique_names: tuple[str, ...] | None = None
    replicas: Int64 | None = None
    min_available: Int64 | None = None
    topology_constraint: GroveTopologyConstraint | None = None
    resource_sharing: tuple[ResourceSharing, ...] | None = None


class PodCliqueSetTemplate(Model):
    """What a replica of a PodCliqueSet is made of."""

    cliques: tuple[PodCliqueTemplate, ...] | None = None
    pod_clique_scaling_groups: tuple[PodCliqueScalingGroup, ...] | None = None
    topology_constraint: GroveTopologyConstraint | None = None
    resource_sharing: tuple[ResourceSharing, ...] | None = None


class PodCliqueSetSpec(Model):
    """``spec`` of a PodCliqueSet."""

    replicas: Int64 | None = None
    template: PodCliqueSetTemplate = PodCliqueSetTemplate()


class PodCliqueSet(KubernetesObject):
    """Cliques of pods, in gangs."""

    spec: PodCliqueSetSpec = PodCliqueSetSpec()


class TopologyLevel(Model):
    """A level of a topology, and the node label of it."""

    domain: str = ""
    key: str = ""


class ClusterTopologyBindingSpec(Model):
    """``spec`` of a ClusterTopologyBinding."""

    levels: tuple[TopologyLevel, ...] | None = None


class ClusterTopologyBinding(KubernetesObject):
    """The node labels of Grove's topology levels."""

    spec: ClusterTopologyBindingSpec = ClusterTopologyBindingSpec()


class ModelParallelism(Model):
    """How a model is spread over pods."""

    data: Int64 | None = None
    data_local: Int64 | None = None
    pipeline: Int64 | None = None


class ServiceScaling(Model):
    """The least that an autoscaler keeps."""

    min_replicas: Int64 | None = None


class InferenceWorkload(Model):
    """Pods that serve a model; with ``worker`` each replica is a group of pods."""

    replicas: Int64 | None = None
    scaling: ServiceScaling | None = None
    parallelism: ModelParallelism | None = None
    template: PodSpec | None = None
    worker: PodSpec | None = None


class InferenceScheduler(Model):
    """The pods that route requests."""

    replicas: Int64 | None = None
    template: PodSpec | None = None


class InferenceRouter(Model):
    """What stands before the pods that serve."""

    scheduler: InferenceScheduler | None = None


class LLMInferenceServiceSpec(InferenceWorkload):
    """``spec`` of an LLMInferenceService and of its configurations."""

    prefill: InferenceWorkload | None = None
    router: InferenceRouter | None = None
    base_refs: tuple[NameReference, ...] | None = None


class LLMInferenceService(KubernetesObject):
    """A model that is served."""

    spec: LLMInferenceServiceSpec = LLMInferenceServiceSpec()


class LLMInferenceServiceConfig(KubernetesObject):
    """Parts of LLMInferenceServices that several share."""

    spec: LLMInferenceServiceSpec = LLMInferenceServiceSpec()


class ComputeDomainChannel(Model):
    """The channel that each pod of a ComputeDomain gets."""

    resource_claim_template: NameReference = NameReference()


class ComputeDomainSpec(Model):
    """``spec`` of a ComputeDomain."""

    num_nodes: Int64 | None = None
    channel: ComputeDomainChannel | None = None


class ComputeDomain(KubernetesObject):
    """Nodes that share memory over NVLink while pods of the domain run there (KND-9)."""

    spec: ComputeDomainSpec = ComputeDomainSpec()


CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"


def channel_template(domain: ComputeDomain) -> ResourceClaimTemplate | None:
    """The claim template that the controller makes for the pods of a ComputeDomain; None if the domain names none."""
    channel = domain.spec.channel
    if channel is None or not channel.resource_claim_template.name:
        return None
    exactly = ExactDeviceRequest(device_class_name=CHANNEL_CLASS, allocation_mode="ExactCount", count=1)
    claim = DeviceClaim(requests=(DeviceRequest(name="channel", exactly=exactly),))
    metadata = ObjectMeta(name=channel.resource_claim_template.name, namespace=domain.metadata.namespace)
    spec = ResourceClaimTemplateSpec(spec=ResourceClaimSpec(devices=claim))
    return ResourceClaimTemplate(metadata=metadata, spec=spec)


class MinMemberSpec(Model):
    """``spec`` of a PodGroup of another scheduler."""

    min_member: Int64 | None = None


class CoschedulingPodGroup(KubernetesObject):
    """PodGroup of ``scheduling.x-k8s.io``."""

    spec: MinMemberSpec = MinMemberSpec()


class VolcanoPodGroup(KubernetesObject):
    """PodGroup of ``scheduling.volcano.sh``."""

    spec: MinMemberSpec = MinMemberSpec()
