"""The configuration that Kueue was started with, and the defaults of its feature gates (kueue-dra 1, 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.kueue_configuration import Configuration, DeviceClassMapping, ResourceTransformation

DRA = "KueueDRAIntegration"
EXTENDED_RESOURCE = "KueueDRAIntegrationExtendedResource"
PARTITIONABLE_DEVICES = "KueueDRAIntegrationPartitionableDevices"
CONSUMABLE_CAPACITY = "KueueDRAIntegrationConsumableCapacity"
PRIORITIZED_LIST = "KueueDRAIntegrationPrioritizedList"
REJECT_WHEN_DRA_DISABLED = "KueueDRARejectWorkloadsWhenDRADisabled"
OBSERVABILITY = "UnadmittedWorkloadsObservability"
DEFAULT_GATES: Mapping[str, bool] = MappingProxyType(
    {
        DRA: True,
        EXTENDED_RESOURCE: True,
        PARTITIONABLE_DEVICES: True,
        CONSUMABLE_CAPACITY: False,
        PRIORITIZED_LIST: False,
        REJECT_WHEN_DRA_DISABLED: True,
        OBSERVABILITY: True,
    }
)
"""Gates that change what is counted or said, and whether they are on by default."""


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Fair sharing is on, with the strategies of preemption in the order they are tried (kueue-dra 4.8)."""

    preemption_strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KueueConfiguration:
    """What Kueue was started with; ``gates`` has every gate of ``DEFAULT_GATES``."""

    device_class_mappings: tuple[DeviceClassMapping, ...] = ()
    transformations: tuple[ResourceTransformation, ...] = ()
    exclude_resource_prefixes: tuple[str, ...] = ()
    quota_check_strategy: str = ""
    fair_sharing: FairSharing | None = None
    gates: Mapping[str, bool] = field(default_factory=lambda: DEFAULT_GATES)


def kueue_configuration(cluster: Cluster) -> KueueConfiguration:
    """The configuration of the input; without one, Kueue's defaults."""
    given = next(iter(cluster.objects(Configuration).values()), None)
    if given is None:
        return KueueConfiguration()
    resources = given.resources
    return KueueConfiguration(
        device_class_mappings=resources.device_class_mappings or (),
        transformations=resources.transformations or (),
        exclude_resource_prefixes=resources.exclude_resource_prefixes or (),
        quota_check_strategy=resources.quota_check_strategy or "",
        fair_sharing=FairSharing(given.fair_sharing.preemption_strategies or ()) if given.fair_sharing else None,
        gates={**DEFAULT_GATES, **(given.feature_gates or {})},
    )
