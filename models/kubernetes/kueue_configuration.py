"""The configuration with which Kueue starts (``config.kueue.x-k8s.io``), as far as quota and checks go (kueue-dra 2).

It is a file in a ConfigMap, under the key ``controller_manager_config.yaml``, and no object of the API.
"""

from __future__ import annotations

from ..formats.decode import Int64, Model, QuantityText
from .claims import DeviceSelector
from .core import LabelSelector
from .meta import KubernetesObject

CONFIGURATION_GROUP = "config.kueue.x-k8s.io"
CONFIGURATION_KEY = "controller_manager_config.yaml"
DRA = "KueueDRAIntegration"
EXTENDED_RESOURCE = "KueueDRAIntegrationExtendedResource"
PARTITIONABLE_DEVICES = "KueueDRAIntegrationPartitionableDevices"
CONSUMABLE_CAPACITY = "KueueDRAIntegrationConsumableCapacity"
PRIORITIZED_LIST = "KueueDRAIntegrationPrioritizedList"
REJECT_WHEN_DRA_DISABLED = "KueueDRARejectWorkloadsWhenDRADisabled"
OBSERVABILITY = "UnadmittedWorkloadsObservability"
QUOTA_CHECK_STRATEGY = "QuotaCheckStrategy"
CLEANUP_ON_EVICTION = "CleanupProvisioningRequestsOnEviction"
# Kueue's defaults (kueue-dra 1), of the gates that decide something here.
GATE_DEFAULTS = {
    DRA: True,
    EXTENDED_RESOURCE: True,
    PARTITIONABLE_DEVICES: True,
    CONSUMABLE_CAPACITY: False,
    PRIORITIZED_LIST: False,
    REJECT_WHEN_DRA_DISABLED: True,
    OBSERVABILITY: True,
    QUOTA_CHECK_STRATEGY: False,
    CLEANUP_ON_EVICTION: True,
}
# Gates that cannot be on while ``DRA`` is off (kueue-dra 9.1).
DEPENDENT_GATES = (EXTENDED_RESOURCE, PARTITIONABLE_DEVICES, CONSUMABLE_CAPACITY, PRIORITIZED_LIST)
FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
# The lists of preemption strategies that there are.
STRATEGY_LISTS = ((FINAL_SHARE,), (INITIAL_SHARE,), (FINAL_SHARE, INITIAL_SHARE))


class DeviceAmountSource(Model):
    """A counter, or a capacity, of a driver's devices that is charged instead of their number."""

    name: str = ""
    driver: str = ""
    device_selector: DeviceSelector | None = None


class DeviceClassSource(Model):
    """One of the two: what is charged for a device of the mapped classes."""

    counter: DeviceAmountSource | None = None
    capacity: DeviceAmountSource | None = None


class DeviceClassMapping(Model):
    """A resource of quotas, and the device classes that are charged to it."""

    name: str = ""
    device_class_names: tuple[str, ...] | None = None
    sources: tuple[DeviceClassSource, ...] | None = None


class ResourceTransformation(Model):
    """A resource of pods, and what is charged for one unit of it; ``Retain`` charges the resource itself, too."""

    input: str = ""
    strategy: str | None = None
    outputs: dict[str, QuantityText] | None = None
    multiply_by: str = ""


class ResourcesConfiguration(Model):
    """How requests of pods become amounts of quota."""

    exclude_resource_prefixes: tuple[str, ...] | None = None
    transformations: tuple[ResourceTransformation, ...] | None = None
    device_class_mappings: tuple[DeviceClassMapping, ...] | None = None
    quota_check_strategy: str | None = None


class FairSharingConfiguration(Model):
    """Fair sharing is on."""

    preemption_strategies: tuple[str, ...] | None = None


class IntegrationsConfiguration(Model):
    """The kinds of jobs that Kueue manages."""

    frameworks: tuple[str, ...] | None = None
    external_frameworks: tuple[str, ...] | None = None


class RequeuingStrategy(Model):
    """When, and how often, a workload comes back after an eviction."""

    timestamp: str | None = None
    backoff_limit_count: Int64 | None = None
    backoff_base_seconds: Int64 | None = None
    backoff_max_seconds: Int64 | None = None


class WaitForPodsReady(Model):
    """A workload is evicted unless its pods are ready in time."""

    timeout: str | None = None
    block_admission: bool | None = None
    requeuing_strategy: RequeuingStrategy | None = None
    recovery_timeout: str | None = None


class Configuration(KubernetesObject):
    """What Kueue reads once, as it starts."""

    namespace: str | None = None
    resources: ResourcesConfiguration = ResourcesConfiguration()
    fair_sharing: FairSharingConfiguration | None = None
    feature_gates: dict[str, bool] | None = None
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: LabelSelector | None = None
    integrations: IntegrationsConfiguration | None = None
    wait_for_pods_ready: WaitForPodsReady | None = None

    @property
    def gates(self) -> dict[str, bool]:
        """The feature gates, with Kueue's defaults."""
        return {**GATE_DEFAULTS, **(self.feature_gates or {})}
