"""ProvisioningRequest with the PodTemplates it refers to, and Kueue's configuration of these requests."""

from __future__ import annotations

from ..formats.decode import Int64, Model
from .meta import Condition, KubernetesObject, NameReference
from .workloads import PodTemplateSpec

AUTOSCALING_GROUP = "autoscaling.x-k8s.io"


class PodTemplate(KubernetesObject):
    """A template of pods that other objects refer to."""

    template: PodTemplateSpec = PodTemplateSpec()


class ProvisioningPodSet(Model):
    """So many pods of a template."""

    pod_template_ref: NameReference = NameReference()
    count: Int64 = 0


class ProvisioningRequestSpec(Model):
    """``spec`` of a ProvisioningRequest: pods that need room at once, and how it is made."""

    provisioning_class_name: str = ""
    parameters: dict[str, str] | None = None
    pod_sets: tuple[ProvisioningPodSet, ...] | None = None


class ProvisioningRequestStatus(Model):
    """``status`` of a ProvisioningRequest, as the autoscaler writes it."""

    conditions: tuple[Condition, ...] | None = None
    provisioning_class_details: dict[str, str] | None = None


class ProvisioningRequest(KubernetesObject):
    """A question to the autoscaler, whether there is room for these pods or it can be made."""

    spec: ProvisioningRequestSpec = ProvisioningRequestSpec()
    status: ProvisioningRequestStatus = ProvisioningRequestStatus()


class ProvisioningRetryStrategy(Model):
    """How often, and after how long, a request that failed is made again."""

    backoff_limit_count: Int64 = 3
    backoff_base_seconds: Int64 = 60
    backoff_max_seconds: Int64 = 1800


class ProvisioningNodeSelectorUpdate(Model):
    """A node label that pods get, with the value of a detail of the request's status."""

    key: str = ""
    value_from_provisioning_class_detail: str = ""


class ProvisioningPodSetUpdates(Model):
    """What pods get when their request is provisioned."""

    node_selector: tuple[ProvisioningNodeSelectorUpdate, ...] | None = None


class ProvisioningRequestConfigSpec(Model):
    """``spec`` of a ProvisioningRequestConfig; ``managed_resources`` restricts requests to pod sets that need them."""

    provisioning_class_name: str = ""
    parameters: dict[str, str] | None = None
    managed_resources: tuple[str, ...] | None = None
    retry_strategy: ProvisioningRetryStrategy = ProvisioningRetryStrategy()
    pod_set_updates: ProvisioningPodSetUpdates | None = None
    pod_set_merge_policy: str | None = None


class ProvisioningRequestConfig(KubernetesObject):
    """What Kueue's requests look like; an AdmissionCheck refers to it."""

    spec: ProvisioningRequestConfigSpec = ProvisioningRequestConfigSpec()
