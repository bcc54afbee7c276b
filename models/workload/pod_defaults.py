"""What the API server adds to new pods: LimitRanges' defaults for containers, and overhead of RuntimeClasses.

Pods that a server has taken have both. Templates of pods have not, and the pods that are made of them will.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..formats.decode import QuantityText
from ..kubernetes.core import Container, LimitRange, LimitRangeItem, PodSpec, ResourceRequirements, RuntimeClass
from ..kubernetes.quantity import Quantity
from ..kubernetes.workloads import PodTemplateSpec

CONTAINER = "Container"


class PodDefaults:
    """What the objects of a cluster add to templates of pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._overheads = {
            one.metadata.name: one.overhead.pod_fixed
            for one in cluster.objects(RuntimeClass).values()
            if one.overhead is not None and one.overhead.pod_fixed
        }
        items: dict[str, list[LimitRangeItem]] = defaultdict(list)
        for (namespace, _), one in cluster.objects(LimitRange).items():
            limits = one.spec.limits or ()
            # Others have no defaults, and Kueue does not find them.
            if any(item.type == CONTAINER for item in limits):
                items[namespace].extend(map(_completed, limits))
        self._ranges = {namespace: _summary(found) for namespace, found in items.items()}

    @classmethod
    def of(cls, cluster: Cluster) -> PodDefaults:
        """Those of a cluster, read once."""
        return cluster.memo("defaults of pods", lambda: cls(cluster))

    def ranges(self, namespace: str) -> Mapping[str, LimitRangeItem]:
        """What the LimitRanges of a namespace with an item for containers demand, one item of each type."""
        return self._ranges.get(namespace, {})

    def template(self, namespace: str, given: PodTemplateSpec, *, of_pods: bool = False) -> PodTemplateSpec:
        """The completed template; the same object if nothing is added. ``of_pods`` is that of ``spec``."""
        spec = self.spec(namespace, given.spec, of_pods=of_pods)
        return given if spec is given.spec else replace(given, spec=spec)

    def spec(self, namespace: str, given: PodSpec, *, of_pods: bool = False) -> PodSpec:
        """The completed specification of a pod; the same object if nothing is added.

        Where a container has a limit and no request, Kueue takes the default request of the LimitRange, for it reads
        templates. Of a pod the API server takes the limit; ``of_pods``: so it is.
        """
        spec = given
        overhead = self._overheads.get(spec.runtime_class_name or "")
        if overhead and not spec.overhead:
            spec = replace(spec, overhead=overhead)
        item = self.ranges(namespace).get(CONTAINER)
        if item is not None and (item.default or item.default_request):
            init, main = (
                tuple(_filled(one, item, of_pods) for one in containers or ()) or None
                for containers in (spec.init_containers, spec.containers)
            )
            spec = replace(spec, init_containers=init, containers=main)
        return spec


def _completed(item: LimitRangeItem) -> LimitRangeItem:
    """With the API server's defaults: a maximum is the default limit; that, or a minimum, the default request."""
    if item.type != CONTAINER:
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


def _merged(
    one: Mapping[str, QuantityText] | None,
    other: Mapping[str, QuantityText] | None,
    choose: Callable[..., QuantityText],
) -> dict[str, QuantityText]:
    """All amounts of both, and of an amount in both the one that ``choose`` takes."""
    merged = dict(one or {})
    for name, amount in (other or {}).items():
        merged[name] = (
            choose(merged[name], amount, key=lambda one: Quantity.parse(one).nano) if name in merged else amount
        )
    return merged


def _filled(container: Container, item: LimitRangeItem, of_pods: bool) -> Container:
    given = container.resources or ResourceRequirements()
    limits = {**(item.default or {}), **(given.limits or {})}
    own = {**((given.limits or {}) if of_pods else {}), **(given.requests or {})}
    requests = {**(item.default_request or {}), **own}
    return replace(container, resources=replace(given, limits=limits, requests=requests))
