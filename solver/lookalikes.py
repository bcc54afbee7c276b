"""Devices that are one and the same to an expression that compares devices (CELC-5)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import NamedTuple

from ..cel.cache import compile_selector
from ..cel.devices import ATTRIBUTES, CAPACITY, DeviceShapes, PreparedDevice
from ..cel.errors import CelError
from ..cel.values import Value
from ..models.claims import DeviceClaim, DeviceClass, DeviceSelector, DeviceSubRequest, ExactDeviceRequest
from ..models.identity import DeviceId
from ..models.manifests import Manifest
from ..models.problems import InputProblem
from ..models.reach import per_device
from ..models.slices import Device, ResourceSlice
from ..models.validation.expressions import PlacedEntry, cel_path, placed_entries
from ..models.validation.references import input_problem
from ..problem.entries import applies

# Seconds for the selectors of all expressions, and pairs that are tried for each: a warning is worth no more.
_SECONDS = 1.0
_MOST_TRIED = 1_000

_Wish = tuple[str, ...]
"""The selectors of a request and its class."""


class _Pair(NamedTuple):
    """Two devices of equal content."""

    content: PreparedDevice
    first: DeviceId
    second: DeviceId


def alike(manifests: Sequence[Manifest]) -> Iterator[InputProblem]:
    """Warn of each expression that compares devices, where two that one allocation may hold are equal to it."""
    comparing = [
        (manifest, placed)
        for manifest in manifests
        for placed in placed_entries(manifest.kind, manifest.object)
        if placed.entry.cel is not None and _compares(placed.entry.cel.expression)
    ]
    if not comparing:
        return
    slices = [one.object for one in manifests if isinstance(one.object, ResourceSlice)]
    classes = {one.object.metadata.name: one.object for one in manifests if isinstance(one.object, DeviceClass)}
    search = _Search(slices, classes)
    for manifest, placed in comparing:
        pair = search.pair_for(placed)
        if pair is not None:
            names = " and ".join("/".join(device) for device in pair[1:])
            message = f"compares devices, and to it {names} are one: driver, attributes and capacity are equal"
            yield input_problem(manifest, cel_path(placed), message, "warning")


def _compares(text: str) -> bool:
    from ..cel.device_sets import DeviceSetExpression

    return DeviceSetExpression(text).compares


class _Search:
    """Finds pairs that requests could get; requests with equal selectors are tried once."""

    def __init__(self, slices: Sequence[ResourceSlice], classes: dict[str, DeviceClass]) -> None:
        self._slices = slices
        self._classes = classes
        self._found: dict[_Wish, _Pair | None] = {}
        self._deadline = monotonic() + _SECONDS

    @cached_property
    def _together(self) -> list[_Pair]:
        return list(islice(_pairs(self._slices, anywhere=False), _MOST_TRIED))

    @cached_property
    def _any_pair(self) -> _Pair | None:
        return next(_pairs(self._slices, anywhere=True), None)

    def pair_for(self, placed: PlacedEntry) -> _Pair | None:
        """A pair that the entry may be about; claims of a group may be on several nodes."""
        if placed.claim is None:
            return self._any_pair
        found = (self._pair(wish) for wish in _wishes(placed, placed.claim, self._classes))
        return next(filter(None, found), None)

    def _pair(self, wish: _Wish) -> _Pair | None:
        if wish not in self._found:
            self._found[wish] = next((pair for pair in self._together if self._takes(wish, pair)), None)
        return self._found[wish]

    def _takes(self, wish: _Wish, pair: _Pair) -> bool:
        try:
            return all(compile_selector(text).matches(pair.content, deadline=self._deadline) for text in wish)
        except CelError:
            return False


def _wishes(placed: PlacedEntry, claim: DeviceClaim, classes: dict[str, DeviceClass]) -> Iterator[_Wish]:
    """The selectors of all requests that an entry applies to; a class that is not there has no devices."""
    for request in claim.requests or ():
        asked: list[tuple[str, ExactDeviceRequest | DeviceSubRequest]] = [
            (one.name, one) for one in request.first_available or ()
        ]
        if request.exactly is not None:
            asked.append(("", request.exactly))
        for name, wish in asked:
            device_class = classes.get(wish.device_class_name)
            if device_class is not None and applies(placed.entry, request.name, name):
                yield (*_texts(device_class.spec.selectors), *_texts(wish.selectors))


def _texts(selectors: Iterable[DeviceSelector] | None) -> Iterator[str]:
    return (selector.cel.expression for selector in selectors or () if selector.cel is not None)


def _pairs(slices: Sequence[ResourceSlice], anywhere: bool) -> Iterator[_Pair]:
    """One pair of each content; of devices that one node may use, unless ``anywhere``."""
    shapes, found = DeviceShapes(), set[Hashable]()
    known: dict[Hashable, dict[str, DeviceId]] = {}
    for slice_, device in _published(slices):
        content = shapes.prepare(device, slice_.spec.driver)
        key = _key(content) if content.error is None else None
        if key is None or key in found:
            continue
        node = "" if anywhere else _node(slice_, device)
        nodes, id_ = known.setdefault(key, {}), (slice_.spec.driver, slice_.spec.pool.name, device.name)
        other = nodes.get(node) or nodes.get("") or (next(iter(nodes.values()), None) if not node else None)
        if other is None:
            nodes[node] = id_
        elif other != id_:
            found.add(key)
            yield _Pair(content, other, id_)


def _key(content: PreparedDevice) -> Hashable:
    """The same for devices that are equal as values (CELC-5)."""
    seen = content.fresh_value()
    fields = frozenset(
        (section, domain, id_, _hashable(value))
        for section in (ATTRIBUTES, CAPACITY)
        for domain, ids in seen[section].items()
        for id_, value in ids.items()
    )
    return content.shape.driver, content.shape.shareable, fields


def _hashable(value: Value) -> Hashable:
    """A value with its type: in Python True equals 1."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else (type(value), value)


def _node(slice_: ResourceSlice, device: Device) -> str:
    """The only node that may use a device; empty if there may be several."""
    return (device.node_name if per_device(slice_) else slice_.spec.node_name) or ""


def _published(slices: Sequence[ResourceSlice]) -> Iterator[tuple[ResourceSlice, Device]]:
    """Devices of the newest generation of each pool (POOL-3)."""
    newest: dict[tuple[str, str], int] = {}
    for slice_ in slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest.get(pool, 0), slice_.spec.pool.generation)
    for slice_ in slices:
        if slice_.spec.pool.generation == newest[slice_.spec.driver, slice_.spec.pool.name]:
            yield from ((slice_, device) for device in slice_.spec.devices or ())
