"""What a pod takes from a node's allocatable, counted as kube-scheduler counts it.

Amounts are exact integers: thousandths of cpu, bytes of memory and storage, pieces of anything else.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from .base import QuantityText
from .containers import Container, ResourceRequirements
from .core import PodSpec
from .quantity import BINARY_SI, DECIMAL_SI, NANO, Quantity

CPU = "cpu"
PODS = "pods"

Requests = dict[str, int]
Amounts = Mapping[str, QuantityText]

_SIDECAR = "Always"
# What may be given for the pod as a whole; of these only huge pages may not be overcommitted.
_POD_LEVEL = (CPU, "memory")
_HUGE_PAGES = "hugepages-"


def effective_requests(spec: PodSpec, apart: Collection[str] = ()) -> Requests:
    """What the pod takes of each resource, its overhead and 1 of ``pods`` included.

    It is the sum over containers and sidecars or, if more, what an init container takes with the sidecars before it.
    Requests of the pod as a whole stand in place of both. Resources in ``apart`` are left out (those that device
    classes back), as is what is zero.
    """
    total = _containers_requests(spec)
    if spec.resources is not None:
        total |= _pod_level(spec.resources, total)
    add(total, in_units(spec.overhead))
    kept = {name: amount for name, amount in sorted(total.items()) if amount and name not in apart}
    return {**kept, PODS: 1}


def requests_of(container: Container) -> Amounts:
    """What a container asks for, as written; a request that is absent is the limit."""
    resources = container.resources
    return {} if resources is None else {**(resources.limits or {}), **(resources.requests or {})}


def in_units(amounts: Amounts | None) -> Requests:
    """Amounts as integers, rounded up: cpu in thousandths, all else whole."""
    return {name: _amount(name, text) for name, text in (amounts or {}).items()}


def add(total: Requests, more: Mapping[str, int]) -> None:
    """Add requests to a total."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def summed(requests: Iterable[Mapping[str, int]]) -> Requests:
    """What several take together."""
    total: Requests = {}
    for own in requests:
        add(total, own)
    return total


def written(resource: str, amount: int) -> str:
    """An amount in units as manifests have it: ``1500m`` of cpu, ``2Gi`` of memory."""
    if resource == CPU:
        return str(Quantity.from_nano(amount * NANO // 1000))
    return str(Quantity.from_nano(amount * NANO, DECIMAL_SI if amount % 1024 else BINARY_SI))


@lru_cache(maxsize=1 << 14)
def _amount(name: str, text: QuantityText) -> int:
    quantity = Quantity.parse(text)
    return quantity.milli if name == CPU else quantity.value


def _containers_requests(spec: PodSpec) -> Requests:
    total = _sum(spec.containers or ())
    sidecars: Requests = {}
    highest: Requests = {}
    for container in spec.init_containers or ():
        own = in_units(requests_of(container))
        if container.restart_policy == _SIDECAR:
            add(total, own)
            add(sidecars, own)
            own = sidecars
        else:
            add(own, sidecars)
        _raise(highest, own)
    _raise(total, highest)
    return total


def _pod_level(resources: ResourceRequirements, containers: Requests) -> Requests:
    """Pod-level requests; without one the containers' counts, without these the pod-level limit."""
    asked = _supported(in_units(resources.requests))
    limits = _supported(in_units(resources.limits))
    return {**{name: amount for name, amount in limits.items() if name not in containers}, **asked}


def _supported(amounts: Requests) -> Requests:
    return {name: amount for name, amount in amounts.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)}


def _sum(containers: Iterable[Container]) -> Requests:
    return summed(in_units(requests_of(container)) for container in containers)


def _raise(highest: Requests, other: Requests) -> None:
    for name, amount in other.items():
        highest[name] = max(highest.get(name, 0), amount)
