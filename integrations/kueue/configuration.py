"""The configuration that Kueue runs with: that of the input, with Kueue's defaults (kueue-dra 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...cel.errors import CelCompileError
from ...cel.selector import compile_selector
from ...models.cluster.cluster import Cluster
from ...models.kubernetes.kueue_configuration import (
    GATE_DEFAULTS,
    Configuration,
    DeviceClassMapping,
    ResourceTransformation,
)
from ...models.validation.kueue_configuration import configuration_problems


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Shares of unused quota decide: which preemption strategies are tried, in this order."""

    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KueueConfiguration:
    """What Kueue has read at its start; without a configuration in the input it has the defaults."""

    device_class_mappings: tuple[DeviceClassMapping, ...] = ()
    transformations: tuple[ResourceTransformation, ...] = ()
    exclude_resource_prefixes: tuple[str, ...] = ()
    # What becomes of resources that no group of the queue covers; empty: the workload waits.
    quota_check_strategy: str = ""
    fair_sharing: FairSharing | None = None
    gates: Mapping[str, bool] = field(default_factory=lambda: dict(GATE_DEFAULTS))

    @classmethod
    def of(cls, read: Configuration) -> KueueConfiguration:
        """The record of a configuration as it was read."""
        strategies = read.fair_sharing.preemption_strategies or () if read.fair_sharing is not None else None
        return cls(
            device_class_mappings=read.resources.device_class_mappings or (),
            transformations=read.resources.transformations or (),
            exclude_resource_prefixes=read.resources.exclude_resource_prefixes or (),
            quota_check_strategy=read.resources.quota_check_strategy or "",
            fair_sharing=None if strategies is None else FairSharing(strategies),
            gates=read.gates,
        )

    @property
    def source_drivers(self) -> frozenset[str]:
        """The drivers whose devices sources of mappings look at."""
        sources = (source for mapping in self.device_class_mappings for source in mapping.sources or ())
        return frozenset(one.driver for source in sources for one in (source.counter, source.capacity) if one)


def kueue_configuration(cluster: Cluster) -> KueueConfiguration:
    """The configuration of the cluster; of several the one read last. ``start_errors`` says whether Kueue takes it."""
    found = _read_last(cluster)
    return KueueConfiguration() if found is None else KueueConfiguration.of(found)


def start_errors(cluster: Cluster) -> list[str]:
    """Why Kueue does not start with the configuration of the cluster, in its words; empty if it does."""
    found = _read_last(cluster)
    return [] if found is None else [str(one) for one in configuration_problems(found, _compile_problem)]


def _read_last(cluster: Cluster) -> Configuration | None:
    objects = (manifest.object for manifest in reversed(cluster.read))
    return next((one for one in objects if isinstance(one, Configuration)), None)


def _compile_problem(text: str) -> str:
    try:
        compile_selector(text)
    except CelCompileError as error:
        return str(error)
    return ""
