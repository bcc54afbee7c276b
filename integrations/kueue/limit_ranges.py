"""What pods ask for once LimitRanges and RuntimeClasses have added to it, and what Kueue refuses because of limits.

Workloads have templates of pods, which no server has completed. Kueue does so before it counts them (kueue-dra 3.6 and
3.8): with overhead of the RuntimeClass, and LimitRanges' defaults for containers. Limits stand for absent requests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import QuantityText
from ...models.kubernetes.core import Container, LimitRange, LimitRangeItem, PodSpec, ResourceRequirements, RuntimeClass
from ...models.kubernetes.kueue import KueuePodSet
from ...models.kubernetes.quantity import Quantity
from ...models.validation.findings import Path
from ...models.workload.requests import Amounts, Requests, container_requests, pod_requests
from .devices import INVALID, CountingProblem, joined

_CONTAINER, _POD = "Container", "Pod"
_ABOVE_LIMITS = "resources validation failed"
_ABOVE_OWN = "requests must not exceed its limits"
_OUT_OF_RANGE = "resources didn't satisfy LimitRange constraints"
_ABOVE_MAX = "requests must not be above the limitRange max"
_BELOW_MIN = "requests must not be below the limitRange min"
_CONTAINER_FIELDS = (("initContainers", "init_containers"), ("containers", "containers"))


class PodDefaults:
    """What the objects of a cluster add to templates of pods, and demand of them."""

    def __init__(self, cluster: Cluster) -> None:
        self._overheads = {
            one.metadata.name: one.overhead.pod_fixed
            for one in cluster.objects(RuntimeClass).values()
            if one.overhead is not None and one.overhead.pod_fixed
        }
        items: dict[str, list[LimitRangeItem]] = defaultdict(list)
        for (namespace, _), one in cluster.objects(LimitRange).items():
            limits = one.spec.limits or ()
            # Kueue finds no others.
            if any(item.type == _CONTAINER for item in limits):
                items[namespace].extend(map(_completed, limits))
        self._ranges = {namespace: _summary(found) for namespace, found in items.items()}

    @classmethod
    def of(cls, cluster: Cluster) -> PodDefaults:
        """Those of a cluster, read once."""
        return cluster.memo("defaults of pods", lambda: cls(cluster))

    def pod_sets(self, namespace: str, given: Sequence[KueuePodSet]) -> tuple[KueuePodSet, ...]:
        """Pod sets with completed templates."""
        return tuple(self._of_set(namespace, one) for one in given)

    def _of_set(self, namespace: str, one: KueuePodSet) -> KueuePodSet:
        spec = self.spec(namespace, one.template.spec)
        return one if spec is one.template.spec else replace(one, template=replace(one.template, spec=spec))

    def spec(self, namespace: str, given: PodSpec) -> PodSpec:
        """The completed specification of a pod; the same object if nothing is added."""
        spec = given
        overhead = self._overheads.get(spec.runtime_class_name or "")
        if overhead and not spec.overhead:
            spec = replace(spec, overhead=overhead)
        item = self._ranges.get(namespace, {}).get(_CONTAINER)
        if item is not None and (item.default or item.default_request):
            init, main = ([_filled(one, item) for one in getattr(spec, name) or ()] for _, name in _CONTAINER_FIELDS)
            spec = replace(spec, init_containers=tuple(init) or None, containers=tuple(main) or None)
        return spec

    def refusal(self, namespace: str, pod_sets: Sequence[KueuePodSet]) -> str:
        """Why Kueue does not admit these pod sets, completed ones, in its words; empty if nothing is wrong."""
        ranges = self._ranges.get(namespace, {})
        above = [problem for place, spec in _placed(pod_sets) for problem in _above_limits(place, spec)]
        if above:
            return f"{_ABOVE_LIMITS}: {joined(above)}"
        outside = [problem for place, spec in _placed(pod_sets) for problem in _out_of_ranges(place, spec, ranges)]
        return f"{_OUT_OF_RANGE}: {joined(outside)}" if outside else ""


def _completed(item: LimitRangeItem) -> LimitRangeItem:
    """With the API server's defaults: a maximum is the default limit; that, or a minimum, the default request."""
    if item.type != _CONTAINER:
        return item
    default = {**(item.max or {}), **(item.default or {})}
    return replace(
        item, default=default, default_request={**(item.min or {}), **default, **(item.default_request or {})}
    )


def _summary(items: Iterable[LimitRangeItem]) -> dict[str, LimitRangeItem]:
    """One item of each type: the least maximum, the greatest minimum, and the first of several defaults."""
    found: dict[str, LimitRangeItem] = {}
    for item in items:
        known = found.get(item.type, LimitRangeItem(type=item.type))
        found[item.type] = LimitRangeItem(
            type=item.type,
            max=_merged(known.max, item.max, min),
            min=_merged(known.min, item.min, max),
            default={**(item.default or {}), **(known.default or {})},
            default_request={**(item.default_request or {}), **(known.default_request or {})},
        )
    return found


def _merged(one: Amounts | None, other: Amounts | None, choose: Callable[..., QuantityText]) -> dict[str, QuantityText]:
    """All amounts of both, and of an amount in both the one that ``choose`` takes."""
    merged = dict(one or {})
    for name, amount in (other or {}).items():
        merged[name] = choose(merged[name], amount, key=_nano) if name in merged else amount
    return merged


def _filled(container: Container, item: LimitRangeItem) -> Container:
    given = container.resources or ResourceRequirements()
    limits = {**(item.default or {}), **(given.limits or {})}
    requests = {**(item.default_request or {}), **(given.requests or {})}
    return replace(container, resources=replace(given, limits=limits, requests=requests))


def _placed(pod_sets: Sequence[KueuePodSet]) -> Iterator[tuple[Path, PodSpec]]:
    return ((("spec", "podSets", index, "template", "spec"), one.template.spec) for index, one in enumerate(pod_sets))


def _containers(place: Path, spec: PodSpec) -> Iterator[tuple[Path, Container]]:
    for field, name in _CONTAINER_FIELDS:
        for index, container in enumerate(getattr(spec, name) or ()):
            yield (*place, field, index), container


def _above_limits(place: Path, spec: PodSpec) -> Iterator[CountingProblem]:
    for path, container in _containers(place, spec):
        resources = container.resources
        if resources is not None and resources.requests and resources.limits:
            yield from _greater(path, _nanos(resources.requests), _nanos(resources.limits), _ABOVE_OWN)


def _out_of_ranges(place: Path, spec: PodSpec, ranges: Mapping[str, LimitRangeItem]) -> Iterator[CountingProblem]:
    if (item := ranges.get(_CONTAINER)) is not None:
        for path, container in _containers(place, spec):
            limits = _nanos(container.resources.limits) if container.resources is not None else {}
            requests = _nanos(container_requests(container))
            most, least = (
                {**requests, **{name: choose(amount, requests[name]) for name, amount in limits.items()}}
                for choose in (max, min)
            )
            yield from _greater(path, most, _nanos(item.max), _ABOVE_MAX)
            yield from _greater(path, _nanos(item.min), least, _BELOW_MIN)
    if (item := ranges.get(_POD)) is not None:
        total = pod_requests(spec, _nanos)
        yield from _greater(place, total, _nanos(item.max), _ABOVE_MAX)
        yield from _greater(place, _nanos(item.min), total, _BELOW_MIN)


def _greater(path: Path, amounts: Requests, limits: Requests, detail: str) -> Iterator[CountingProblem]:
    """One problem that names all resources of which an amount is above the limit."""
    names = sorted(name for name, amount in amounts.items() if name in limits and amount > limits[name])
    if names:
        yield CountingProblem(path, INVALID, detail, names)


def _nano(amount: QuantityText) -> int:
    return Quantity.parse(amount).nano


def _nanos(amounts: Amounts | None) -> Requests:
    return {name: _nano(amount) for name, amount in (amounts or {}).items()}
