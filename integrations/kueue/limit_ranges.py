"""What Kueue refuses to admit because of what containers and pods ask for: their own limits, and LimitRanges.

Kueue completes templates of pods before it counts and judges them (kueue-dra 3.6 and 3.8), as ``PodDefaults`` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...models.formats.decode import QuantityText
from ...models.kubernetes.core import Container, LimitRangeItem, PodSpec
from ...models.kubernetes.kueue import KueuePodSet
from ...models.kubernetes.quantity import Quantity
from ...models.validation.findings import Path
from ...models.workload.pod_defaults import CONTAINER
from ...models.workload.requests import Amounts, Requests, container_requests, pod_requests
from .devices import INVALID, CountingProblem, joined

_POD = "Pod"
_ABOVE_LIMITS = "resources validation failed"
_ABOVE_OWN = "requests must not exceed its limits"
_OUT_OF_RANGE = "resources didn't satisfy LimitRange constraints"
_ABOVE_MAX = "requests must not be above the limitRange max"
_BELOW_MIN = "requests must not be below the limitRange min"


def limits_refusal(pod_sets: Sequence[KueuePodSet], ranges: Mapping[str, LimitRangeItem]) -> str:
    """Why Kueue does not admit these pod sets, completed ones, in its words; empty if nothing is wrong.

    ``ranges`` are those of the namespace, by type.
    """
    above = [problem for place, spec in _placed(pod_sets) for problem in _above_limits(place, spec)]
    if above:
        return f"{_ABOVE_LIMITS}: {joined(above)}"
    outside = [problem for place, spec in _placed(pod_sets) for problem in _out_of_ranges(place, spec, ranges)]
    return f"{_OUT_OF_RANGE}: {joined(outside)}" if outside else ""


def _placed(pod_sets: Sequence[KueuePodSet]) -> Iterator[tuple[Path, PodSpec]]:
    return ((("spec", "podSets", index, "template", "spec"), one.template.spec) for index, one in enumerate(pod_sets))


def _containers(place: Path, spec: PodSpec) -> Iterator[tuple[Path, Container]]:
    for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers or ()):
            yield (*place, field, index), container


def _above_limits(place: Path, spec: PodSpec) -> Iterator[CountingProblem]:
    for path, container in _containers(place, spec):
        resources = container.resources
        if resources is not None and resources.requests and resources.limits:
            yield from _greater(path, _nanos(resources.requests), _nanos(resources.limits), _ABOVE_OWN)


def _out_of_ranges(place: Path, spec: PodSpec, ranges: Mapping[str, LimitRangeItem]) -> Iterator[CountingProblem]:
    if (item := ranges.get(CONTAINER)) is not None:
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
