"""Extended resources of containers that device classes stand behind, charged as devices (kueue-dra 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import DeviceClass
from ...models.kubernetes.core import Container, PodSpec
from ...models.kubernetes.quantity import INT64_MAX, NANO, Quantity
from ...models.validation.findings import Path
from ...models.workload.requests import backing_classes
from .device_requests import ClassMappings
from .devices import invalid


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
