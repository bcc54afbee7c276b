"""What Kueue charges workloads for, read from the text on counting (kueue-dra 3 and 5) and from the manifests alone.

Nothing is asked of the integration that counts for the cycles. Pods' requests are those of the verifier, devices are
those that slices publish, and each step has the number of its paragraph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaimSpec
from ...models.kubernetes.core import PodSpec
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import KueuePodSet, KueueWorkload
from ...models.kubernetes.kueue_configuration import (
    DRA,
    EXTENDED_RESOURCE,
    PRIORITIZED_LIST,
    REJECT_WHEN_DRA_DISABLED,
    Configuration,
    DeviceAmountSource,
    DeviceClassMapping,
)
from ...models.kubernetes.meta import PoolId, key_of
from ...models.kubernetes.quantity import INT64_MAX, NANO, Quantity
from ...models.kubernetes.slices import ResourceSlice, capacity_drawn
from ...models.workload.pod_defaults import PodDefaults
from .pod_amounts import pod_takes
from .published import PublishedDevice
from .state import VerifierExpressions

Request = ExactDeviceRequest | DeviceSubRequest
_MILLI = NANO // 1000


class UncountedError(Exception):
    """Why Kueue cannot count a workload, so that it has no charge (3.7)."""


@dataclass(frozen=True, slots=True)
class CountedPods:
    """A pod set: ``count`` pods that are not finished, and what each of them is charged, by resource.

    Amounts are thousandths of cpu, and whole units of all else.
    """

    name: str
    count: int
    each: Mapping[str, int]

    def total(self, count: int) -> dict[str, int]:
        """What so many pods are charged, as far as an int64 holds it."""
        return {name: min(max(0, amount) * count, INT64_MAX) for name, amount in self.each.items()}


def kueue_start(cluster: Cluster) -> Configuration:
    """The configuration that Kueue starts with: of several the one read last."""
    found = (one.object for one in reversed(cluster.read))
    return next((one for one in found if isinstance(one, Configuration)), Configuration())


def quota_amount(resource: str, written: QuantityText) -> int:
    """An amount of quota: cpu in thousandths, all else in whole units, rounded up."""
    nano = Quantity.parse(written).nano
    return min(-(-nano // (_MILLI if resource == "cpu" else NANO)), INT64_MAX)


class WorkloadCharges:
    """Charges of the workloads of a cluster; raises ``ExpressionTimeoutError`` after the deadline."""

    def __init__(self, cluster: Cluster, gates: FeatureGates, deadline: float | None) -> None:
        start = kueue_start(cluster)
        self._cluster = cluster
        self._resources = start.resources
        self._on = start.gates
        self._mappings = start.resources.device_class_mappings or ()
        self._expressions = VerifierExpressions(gates, deadline)
        self._defaults = PodDefaults.of(cluster)
        # Class selectors of Kueue see what the API has, whatever the scheduler's gates are.
        self._every = [one for slice_ in cluster.slices for one in _devices_of(slice_)]

    def of(self, workload: KueueWorkload) -> tuple[CountedPods, ...]:
        """The charge of each pod set (3.1). Raises ``UncountedError``."""
        pod_sets, namespace = workload.spec.pod_sets or (), key_of(workload.metadata)[0]
        finished = {one.name: one.count for one in workload.status.reclaimable_pods or ()}
        entries = [entry for one in pod_sets for entry in one.template.spec.resource_claims or ()]
        if entries and not self._on[DRA] and self._on[REJECT_WHEN_DRA_DISABLED]:
            raise UncountedError("claims are not counted with the gate KueueDRAIntegration off")
        if self._on[DRA] and any(entry.resource_claim_name is not None for entry in entries):
            raise UncountedError("it uses a claim that is there already (3.3)")
        return tuple(
            CountedPods(one.name, max(0, one.count - finished.get(one.name, 0)), self._pod(namespace, one))
            for one in pod_sets
        )

    def _pod(self, namespace: str, pod_set: KueuePodSet) -> Mapping[str, int]:
        spec = self._defaults.spec(namespace, pod_set.template.spec)
        each = self._requests(spec)
        for entry in (spec.resource_claims or ()) if self._on[DRA] else ():
            if entry.resource_claim_template_name is None:
                continue
            template = self._cluster.templates.get((namespace, entry.resource_claim_template_name))
            if template is None:
                raise UncountedError(f"there is no ResourceClaimTemplate {entry.resource_claim_template_name}")
            each.update(self._claim(template.spec.spec))
        return each

    def _requests(self, spec: PodSpec) -> Counter[str]:
        """Requests beside claims (3.6): prefixes left out, transformed, extended resources charged as devices (5.1)."""
        asked = pod_takes(spec, _billionths)
        del asked["pods"]
        backed, names = self._extended(spec) if self._on[DRA] and self._on[EXTENDED_RESOURCE] else (Counter(), set())
        left_out = tuple(self._resources.exclude_resource_prefixes or ())
        kept = {name: amount for name, amount in asked.items() if not name.startswith(left_out)}
        total = Counter[str]()
        for name, amount in self._transformed(kept).items():
            if name not in names:
                total[name] = -(-amount // (_MILLI if name == "cpu" else NANO))
        total.update(backed)
        return total

    def _transformed(self, asked: Mapping[str, int]) -> Counter[str]:
        rules = {one.input: one for one in self._resources.transformations or ()}
        total = Counter[str]()
        for name, amount in asked.items():
            rule = rules.get(name)
            if rule is None or rule.strategy != "Replace":
                total[name] += amount
            if rule is not None:
                times = asked.get(rule.multiply_by, NANO) if rule.multiply_by else NANO
                for output, factor in (rule.outputs or {}).items():
                    total[output] += -(-Quantity.parse(factor).nano * (amount * times // NANO) // NANO)
        return total

    def _backed(self, spec: PodSpec) -> Iterator[tuple[str, str]]:
        """Extended resources that containers request and classes back, with the class: the youngest, then by name."""
        every = (*(spec.containers or ()), *(spec.init_containers or ()))
        asked = {name for one in every for name in ((one.resources and one.resources.requests) or {})}
        for name in sorted(asked):
            backing = [
                (one.metadata.creation_timestamp or "", one.metadata.name)
                for one in self._cluster.classes.values()
                if one.spec.extended_resource_name == name
            ]
            newest = max((made for made, _ in backing), default="")
            if "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.") and backing:
                yield name, min(device_class for made, device_class in backing if made == newest)

    def _extended(self, spec: PodSpec) -> tuple[Counter[str], set[str]]:
        """What extended resources are charged as, and the names that are not charged themselves."""
        total, names = Counter[str](), set[str]()
        for name, device_class in self._backed(spec):
            together, highest = 0, 0
            for one in spec.containers or ():
                together += _whole(((one.resources and one.resources.requests) or {}).get(name, 0))
            for one in spec.init_containers or ():
                highest = max(highest, _whole(((one.resources and one.resources.requests) or {}).get(name, 0)))
            if not max(together, highest):
                continue
            names.add(name)
            mapping = self._mapping(device_class)
            if mapping is not None and mapping.sources:
                raise UncountedError(f"{name} is of DeviceClass {device_class}, which has sources (5.1)")
            total[mapping.name if mapping else name] += max(together, highest)
        return total, names

    def _mapping(self, device_class: str) -> DeviceClassMapping | None:
        """The first mapping of a class counts (3.4)."""
        return next((one for one in self._mappings if device_class in (one.device_class_names or ())), None)

    def _claim(self, spec: ResourceClaimSpec) -> Counter[str]:
        """What a claim is charged (3.2 to 3.5)."""
        requests = spec.devices.requests or ()
        forms = [(one, tuple(self._forms(one))) for one in requests]
        self._check_devices([one for one in requests if one.exactly and one.exactly.selectors])
        total = Counter[str]()
        for request, alternatives in forms:
            charges = [self._devices(one) for one in alternatives if not _is_admin(one)]
            if len({frozenset(one) for one in charges if one}) > 1:
                raise UncountedError(f"alternatives of request {request.name} are of several resources")
            for name in {name for one in charges for name in one}:
                total[name] += max(one.get(name, 0) for one in charges)
        return total

    def _forms(self, request: DeviceRequest) -> Iterator[Request]:
        if request.first_available and not self._on[PRIORITIZED_LIST]:
            raise UncountedError(f"request {request.name} has alternatives")
        if not request.first_available and request.exactly is None:
            raise UncountedError(f"request {request.name} is empty")
        for one in request.first_available or ([request.exactly] if request.exactly else []):
            if not _is_admin(one) and one.allocation_mode not in ("ExactCount", ""):
                raise UncountedError(f"request {request.name} is for {one.allocation_mode} devices")
            yield one

    def _devices(self, request: Request) -> Mapping[str, int]:
        name, number = request.device_class_name, request.count or 0
        if not name:
            return {}
        mapping = self._mapping(name)
        if mapping is None:
            raise UncountedError(f"DeviceClass {name} is not mapped")
        sourced = [one for one in self._mappings if name in (one.device_class_names or ()) and one.sources]
        if not sourced:
            return {mapping.name: number}
        return {
            one.name: min(
                sum(self._sourced(source.counter, source.capacity, request) for source in one.sources or ()), INT64_MAX
            )
            for one in sourced
        }

    def _sourced(
        self, counter: DeviceAmountSource | None, capacity: DeviceAmountSource | None, request: Request
    ) -> int:
        """The largest amount of a device that may be meant, times their number (5.2, 5.3)."""
        total = 0
        for source, is_counter in ((counter, True), (capacity, False)):
            if source is None:
                continue
            own = source.device_selector.cel.expression if source.device_selector and source.device_selector.cel else ""
            texts = [*([own] if own else []), *self._selectors(request)]
            current = _current_devices(self._cluster.slices, source.driver)
            found = [one for one in current if self._selects(texts, one, request)]
            if len(found) < (request.count or 0):
                raise UncountedError(f"only {len(found)} devices of {request.device_class_name} match")
            amounts = [
                amount
                for one in found
                for amount in (_drawn(one, source.name) if is_counter else _offered(one, source.name, request))
            ]
            if not amounts:
                raise UncountedError(f"no device has {source.name}")
            total += max(0, *amounts) * (request.count or 0)
        return total

    def _selectors(self, request: Request) -> list[str]:
        found = self._cluster.classes.get(request.device_class_name)
        if found is None:
            raise UncountedError(f"there is no DeviceClass {request.device_class_name}")
        every = (*(found.spec.selectors or ()), *(request.selectors or ()))
        return [one.cel.expression if one.cel else "" for one in every]

    def _selects(self, texts: Iterable[str], device: PublishedDevice, request: Request) -> bool:
        for text in texts:
            refusal = self._expressions.refuses(text, device)
            if refusal is not None and refusal.fatal:
                raise UncountedError(f"a selector of DeviceClass {request.device_class_name} fails")
            if refusal is not None:
                return False
        return True

    def _check_devices(self, requests: Iterable[DeviceRequest]) -> None:
        """Requests with selectors take the first devices of the cluster that match, one after the other (3.5)."""
        asked = [one.exactly for one in requests if one.exactly]
        drivers = [
            {source.driver for each in one.sources or () for source in (each.counter, each.capacity) if source}
            if (one := self._mapping(request.device_class_name)) is not None
            else set()
            for request in asked
        ]
        only = set().union(*drivers) if drivers and all(drivers) else None
        taken: set[int] = set()
        for request in asked:
            texts, wanted = self._selectors(request), request.count or 0
            for place, entry in enumerate(self._every) if wanted else ():
                allowed = place not in taken and (only is None or entry.driver in only)
                if allowed and self._selects(texts, entry, request):
                    taken.add(place)
                    wanted -= 1
                    if not wanted:
                        break
            if wanted:
                raise UncountedError(f"too few devices of DeviceClass {request.device_class_name} match its selectors")


def _is_admin(request: Request) -> bool:
    return isinstance(request, ExactDeviceRequest) and bool(request.admin_access)


def _billionths(written: Mapping[str, QuantityText]) -> Counter[str]:
    return Counter({name: Quantity.parse(text).nano for name, text in written.items()})


def _whole(written: QuantityText) -> int:
    nano = max(0, Quantity.parse(written).nano)
    if nano % NANO:
        raise UncountedError("an extended resource is no whole number (5.1)")
    return nano // NANO


def _devices_of(slice_: ResourceSlice) -> Iterator[PublishedDevice]:
    pool = slice_.spec.driver, slice_.spec.pool.name
    return (PublishedDevice(one, slice_, (*pool, one.name)) for one in slice_.spec.devices or ())


def _current_devices(slices: Iterable[ResourceSlice], driver: str) -> Iterator[PublishedDevice]:
    """Devices of the newest generation of each complete pool of a driver (5.2)."""
    pools: dict[PoolId, list[ResourceSlice]] = {}
    for one in slices:
        if one.spec.driver == driver:
            pools.setdefault((driver, one.spec.pool.name), []).append(one)
    for own in pools.values():
        newest = max(one.spec.pool.generation for one in own)
        current = [one for one in own if one.spec.pool.generation == newest]
        if all(one.spec.pool.resource_slice_count == len(current) for one in current):
            for one in current:
                yield from _devices_of(one)


def _drawn(entry: PublishedDevice, counter: str) -> Iterator[int]:
    for taken in entry.device.consumes_counters or ():
        if counter in (taken.counters or {}):
            yield max(0, Quantity.parse((taken.counters or {})[counter].value).value)


def _offered(entry: PublishedDevice, name: str, request: Request) -> Iterator[int]:
    offered = (entry.device.capacity or {}).get(name)
    if offered is not None:
        asked = (request.capacity.requests or {}).get(name) if request.capacity else None
        amount = capacity_drawn(offered, None if asked is None else Quantity.parse(asked))
        if amount is not None:
            yield amount.value
