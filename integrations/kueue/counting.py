"""What a workload is charged for: the requests of its pods and their devices, per pod set (kueue-dra 3, 5).

Quota is a count. Nothing here looks at nodes or at what is in use; whether devices are there matters only for claims
with selectors, and for sources. Extended resources that device classes stand behind are charged as devices (5.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import DeviceClass
from ...models.kubernetes.core import Container, PodSpec
from ...models.kubernetes.kueue import KueuePodSet, KueueWorkload
from ...models.kubernetes.kueue_configuration import (
    DRA,
    EXTENDED_RESOURCE,
    OBSERVABILITY,
    REJECT_WHEN_DRA_DISABLED,
    ResourceTransformation,
)
from ...models.kubernetes.meta import Condition, key_of
from ...models.kubernetes.quantity import INT64_MAX, NANO, Quantity
from ...models.validation.findings import Path, quote_whole
from ...models.workload.pod_defaults import PodDefaults
from ...models.workload.requests import CPU, Amounts, Requests, add_requests, backing_classes, pod_requests
from .configuration import KueueConfiguration
from .device_requests import ClassMappings, DeviceRequestCounter
from .devices import NOT_FOUND, CountingError, CountingProblem, SelectorEvaluator, internal, invalid

_POD_SETS: Path = ("spec", "podSets")
_POD_SPEC: Path = ("template", "spec")
_GATE_OFF = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
_READY_MADE = "KueueDRAIntegration feature does not support use of resource claims"
_READY_MADE_REQUEUED = "DRA resource claims not supported"


@dataclass(frozen=True, slots=True)
class PodSetCharge:
    """What a pod set is charged as: for all of its pods together, ``count`` being those that are not finished.

    Amounts are thousandths of cpu, bytes, and pieces of anything else; ``pods`` is added where a queue covers it.
    """

    name: str
    count: int
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WorkloadCharge:
    """What a workload is charged as."""

    pod_sets: tuple[PodSetCharge, ...]


@dataclass(frozen=True, slots=True)
class CountingFailure:
    """Why a workload is not counted, and so in no queue (kueue-dra 3.7).

    ``error`` is the text of the condition QuotaReserved, ``requeued`` that of Requeued. ``retry``: Kueue tries again
    with back-off; otherwise it waits for an event.
    """

    error: str
    requeued: str
    retry: bool
    observable: bool = True
    """Reasons say more than ``Inadmissible`` (gate UnadmittedWorkloadsObservability)."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that Kueue sets; Requeued only if QuotaReserved changes by it."""
        reason = "Misconfigured" if self.observable else "Inadmissible"
        reserved = Condition(type="QuotaReserved", status="False", reason=reason, message=self.error)
        requeued = Condition(type="Requeued", status="False", reason="Inadmissible", message=self.requeued)
        if not self.observable:
            return reserved, requeued
        unreserved = "The workload has no reservation"
        admitted = Condition(type="Admitted", status="False", reason="NoReservation", message=unreserved)
        return admitted, reserved, requeued


def count_workload(
    workload: KueueWorkload, cluster: Cluster, configuration: KueueConfiguration, *, deadline: float | None = None
) -> WorkloadCharge | CountingFailure:
    """What a pending workload is charged as, or why it cannot be counted.

    Equal templates of a cluster are counted once. ``deadline`` is a reading of ``time.monotonic``; raises
    ``DeadlineExceededError`` when it has passed.
    """
    # The counter keeps the configuration alive, so that its identity stays its own.
    counter = cluster.memo(("Kueue counting", id(configuration)), lambda: WorkloadCounter(cluster, configuration))
    return counter.count(workload, deadline=deadline)


class WorkloadCounter:
    """Counts workloads of one cluster under one configuration."""

    def __init__(self, cluster: Cluster, configuration: KueueConfiguration) -> None:
        self._cluster = cluster
        self._configuration = configuration
        self._gates = configuration.gates
        self._mappings = ClassMappings(configuration.device_class_mappings)
        self._evaluator = SelectorEvaluator(cluster.classes)
        self._devices = DeviceRequestCounter(cluster, self._mappings, self._gates, self._evaluator)
        self._extended = ExtendedResources(cluster.classes if self._gates[EXTENDED_RESOURCE] else {}, self._mappings)
        self._defaults = PodDefaults.of(cluster)
        self._transformations = {one.input: one for one in configuration.transformations}
        self._known: dict[bytes, Requests | CountingError] = {}

    def count(self, workload: KueueWorkload, *, deadline: float | None = None) -> WorkloadCharge | CountingFailure:
        """See ``count_workload``."""
        pod_sets = workload.spec.pod_sets or ()
        entries = [entry for one in pod_sets for entry in one.template.spec.resource_claims or ()]
        counted = self._gates[DRA]
        if entries and not counted and self._gates[REJECT_WHEN_DRA_DISABLED]:
            return self._failure(_GATE_OFF, _GATE_OFF)
        if counted and any(entry.resource_claim_name is not None for entry in entries):
            return self._failure(_READY_MADE, _READY_MADE_REQUEUED)
        self._evaluator.deadline = deadline
        finished = {one.name: one.count for one in workload.status.reclaimable_pods or ()}
        namespace, _ = key_of(workload.metadata)
        charges = []
        try:
            # The claims of all pod sets come before the extended resources of the first.
            devices = [self._claims_charge(namespace, *placed) if counted else {} for placed in enumerate(pod_sets)]
            for index, pod_set in enumerate(pod_sets):
                count = max(0, pod_set.count - finished.get(pod_set.name, 0))
                spec = self._defaults.spec(namespace, pod_set.template.spec)
                each = dict(self._pod_charge(index, spec, counted))
                add_requests(each, devices[index])
                requests = {name: min(max(0, amount) * count, INT64_MAX) for name, amount in each.items()}
                charges.append(PodSetCharge(pod_set.name, count, requests))
        except CountingError as error:
            return self._failure(str(error), str(error), retry=error.retried)
        return WorkloadCharge(tuple(charges))

    def _failure(self, error: str, requeued: str, *, retry: bool = False) -> CountingFailure:
        return CountingFailure(error, requeued, retry, self._gates[OBSERVABILITY])

    def _claims_charge(self, namespace: str, index: int, pod_set: KueuePodSet) -> Requests:
        """What the claims of each pod of a set are charged as."""
        total: Requests = {}
        for number, entry in enumerate(pod_set.template.spec.resource_claims or ()):
            if entry.resource_claim_template_name is not None:
                path = (*_POD_SETS, index, *_POD_SPEC, "resourceClaims", number)
                add_requests(
                    total, self._claim_charge(path, namespace, entry.resource_claim_template_name, pod_set.name)
                )
        return total

    def _pod_charge(self, index: int, spec: PodSpec, counted: bool) -> Requests:
        """What a pod is charged as beside its claims; pods of equal content are counted once."""
        key = msgspec.json.encode((spec.containers, spec.init_containers, spec.overhead, spec.resources))
        found = self._known.get(key)
        if found is None:
            try:
                extended, backed = self._extended.charge(spec) if counted else ({}, frozenset[str]())
                found = {name: amount for name, amount in self._ordinary(spec).items() if name not in backed}
                add_requests(found, extended)
            except CountingError as error:
                found = error
            self._known[key] = found
        if isinstance(found, CountingError):
            raise found.at((*_POD_SETS, index, *_POD_SPEC))
        return found

    def _claim_charge(self, path: Path, namespace: str, template: str, pod_set: str) -> Mapping[str, int]:
        found = self._cluster.templates.get((namespace, template))
        if found is None:
            missing = f"resourceclaimtemplates.resource.k8s.io {quote_whole(template)} not found"
            failed = f"failed to get claim spec for ResourceClaimTemplate {template} in podset {pod_set}: {missing}"
            raise internal(path, failed)
        try:
            charge = self._devices.charge(found.spec.spec)
        except CountingError as error:
            raise error.at(path, template) from None
        if charge.unmapped:
            value = f"DeviceClass {charge.unmapped} is not mapped in DRA configuration for podset {pod_set}"
            raise CountingError(CountingProblem((*path, "resourceClaimTemplateName"), NOT_FOUND, value=value))
        return charge.amounts

    def _ordinary(self, spec: PodSpec) -> Requests:
        """What a pod asks for beside devices: prefixes excluded, transformed, and rounded up (kueue-dra 3.6)."""
        excluded = self._configuration.exclude_resource_prefixes
        asked = pod_requests(spec, _exact_amounts)
        kept = {name: amount for name, amount in asked.items() if not name.startswith(tuple(excluded))}
        unit = {CPU: NANO // 1000}
        return {name: -(-amount // unit.get(name, NANO)) for name, amount in self._transformed(kept).items()}

    def _transformed(self, asked: Requests) -> Requests:
        if not asked.keys() & self._transformations.keys():
            return asked
        total: Requests = {}
        for name, amount in asked.items():
            transformation = self._transformations.get(name)
            add_requests(total, {name: amount} if transformation is None else _outputs(transformation, asked, amount))
        return total


def _outputs(transformation: ResourceTransformation, asked: Requests, amount: int) -> Requests:
    """What stands for an amount of a resource, in billionths; the resource itself too, unless it is replaced."""
    multiplied = amount
    if transformation.multiply_by in asked:
        multiplied = amount * asked[transformation.multiply_by] // NANO
    outputs = {
        name: -(-Quantity.parse(factor).nano * multiplied // NANO)
        for name, factor in (transformation.outputs or {}).items()
    }
    if transformation.strategy != "Replace":
        add_requests(outputs, {transformation.input: amount})
    return outputs


def _exact_amounts(amounts: Amounts | None) -> Requests:
    """Amounts in billionths: Kueue rounds only what a pod asks for in total."""
    return {name: Quantity.parse(text).nano for name, text in (amounts or {}).items()}


class ExtendedResources:
    """The extended resources of a cluster that classes stand behind, and what they are charged to."""

    def __init__(self, classes: Mapping[str, DeviceClass], mappings: ClassMappings) -> None:
        self._backing = backing_classes(classes)
        self._mappings = mappings

    def charge(self, spec: PodSpec) -> tuple[dict[str, int], frozenset[str]]:
        """What a pod's extended resources are charged as, and the names that are therefore not charged themselves.

        Of each name it is the sum over containers or, if more, the maximum over init containers, sidecars included.
        Only what stands in ``requests`` counts (kueue-dra 9.14). Raises ``CountingError``, its path from the pod's
        ``spec``.
        """
        sums, maxima, places = self._amounts(spec)
        charged: dict[str, int] = {}
        names = sorted(name for name in sums.keys() | maxima.keys() if sums.get(name, 0) or maxima.get(name, 0))
        for name in names:
            device_class = self._backing[name]
            kinds = [
                what
                for mapping in self._mappings.with_sources(device_class)
                for source in mapping.sources or ()
                for what, one in (("counters", source.counter), ("capacity", source.capacity))
                if one is not None
            ]
            if kinds:
                detail = (
                    f"extended resource {name} resolves to DeviceClass {device_class} with {kinds[0]} configured; "
                    f"use ResourceClaimTemplates with CEL selectors for {kinds[0].removesuffix('s')}-based quota"
                )
                raise invalid(places[name], detail, name)
            amount = max(sums.get(name, 0), maxima.get(name, 0))
            if amount > INT64_MAX:
                raise invalid(places[name], "total extended resource quantity overflows int64", name)
            key = self._mappings.resource(device_class) or name
            charged[key] = min(charged.get(key, 0) + amount, INT64_MAX)
        return charged, frozenset(names)

    def _amounts(self, spec: PodSpec) -> tuple[dict[str, int], dict[str, int], dict[str, Path]]:
        """Sums over containers, maxima over init containers, and where each name is first."""
        sums: dict[str, int] = {}
        maxima: dict[str, int] = {}
        places: dict[str, Path] = {}
        for path, name, amount in self._located("containers", spec.containers or ()):
            sums[name] = sums.get(name, 0) + amount
            places.setdefault(name, path)
        for path, name, amount in self._located("initContainers", spec.init_containers or ()):
            maxima[name] = max(maxima.get(name, 0), amount)
            places.setdefault(name, path)
        return sums, maxima, places

    def _located(self, field: str, containers: Iterable[Container]) -> Iterator[tuple[Path, str, int]]:
        for index, container in enumerate(containers):
            requests = container.resources.requests if container.resources else None
            for name, text in sorted((requests or {}).items()):
                if _is_extended(name) and name in self._backing:
                    path = (field, index)
                    yield path, name, _whole_amount((*path, "resources", "requests", name), text)


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _whole_amount(path: Path, text: QuantityText) -> int:
    amount = Quantity.parse(text)
    if amount.nano <= 0:
        return 0
    if amount.nano % NANO:
        raise invalid(path, "extended resource quantity must be an integer", str(amount))
    return amount.value
