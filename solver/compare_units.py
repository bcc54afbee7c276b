"""Answers of several engines to one unit, beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ..models.cluster import Cluster
from ..models.device_taints import with_rules
from ..models.identity import DeviceId
from ..models.slices import Device
from ..models.units import Unit
from .outcome import AllocationOutcome, UnitOutcome

Relation: TypeAlias = Literal["equal", "equivalent", "different"]
EQUAL: Relation = "equal"
EQUIVALENT: Relation = "equivalent"
DIFFERENT: Relation = "different"
_DISTANCE = (EQUAL, EQUIVALENT, DIFFERENT)

# Request (with its alternative) of a claim, and the devices it got, in order.
Devices: TypeAlias = Mapping[tuple[str, str], tuple[DeviceId, ...]]


@dataclass(frozen=True, slots=True)
class UnitComparison:
    """A unit's answers in the order of the engines, and how each relates to the first one.

    ``equal``: the same outcome, node and devices; ``equivalent``: other devices (or another node) that look the same,
    as many of each kind for every request; or ``different``. ``request`` is the first one, as claim and name, that did
    not get the same.
    """

    unit: Unit
    answers: tuple[UnitOutcome, ...]
    relations: tuple[Relation, ...]
    request: tuple[str, str] | None = None

    @property
    def relation(self) -> Relation:
        """The farthest of the relations."""
        return max(self.relations, key=_DISTANCE.index)


def compare_units(cluster: Cluster, answers: Sequence[AllocationOutcome]) -> tuple[UnitComparison, ...]:
    """Compare unit by unit; all answers are about the same units in the same order."""
    kinds = _Kinds(cluster, answers[0])
    rows = zip(*(answer.units for answer in answers), strict=True)
    return tuple(_compare(row, kinds) for row in rows)


def _compare(row: tuple[UnitOutcome, ...], kinds: _Kinds) -> UnitComparison:
    first = row[0]
    relations = tuple(_relation(first, other, kinds) for other in row)
    others = (_first_other(first, other) for other in row)
    return UnitComparison(first.unit, row, relations, next(filter(None, others), None))


def _relation(one: UnitOutcome, other: UnitOutcome, kinds: _Kinds) -> Relation:
    if one.outcome != other.outcome:
        return DIFFERENT
    mine, theirs = devices_of(one), devices_of(other)
    if one.node == other.node and mine == theirs:
        return EQUAL
    return EQUIVALENT if kinds.of_all(mine) == kinds.of_all(theirs) else DIFFERENT


def _first_other(one: UnitOutcome, other: UnitOutcome) -> tuple[str, str] | None:
    mine, theirs = devices_of(one), devices_of(other)
    return next((label for label in (*mine, *theirs) if mine.get(label) != theirs.get(label)), None)


def devices_of(answer: UnitOutcome) -> Devices:
    """Find what each request got."""
    found: dict[tuple[str, str], tuple[DeviceId, ...]] = {}
    for ref, allocation in answer.allocations:
        for result in allocation.devices.results or ():
            label = "/".join(ref.key), result.request
            found[label] = (*found.get(label, ()), (result.driver, result.pool, result.device))
    return found


class _Kinds:
    """What devices look like, without their names and places; numbered as they are met."""

    def __init__(self, cluster: Cluster, answer: AllocationOutcome) -> None:
        self._devices: dict[DeviceId, Device] = {}
        for slice_ in with_rules(cluster.slices, cluster.taint_rules, answer.gates):
            spec = slice_.spec
            for device in spec.devices or ():
                self._devices[spec.driver, spec.pool.name, device.name] = device
        self._known: dict[DeviceId, bytes] = {}

    def of_all(self, devices: Devices) -> dict[tuple[str, str], Counter[bytes]]:
        """Count each request's devices by kind."""
        return {label: Counter(map(self._kind, ids)) for label, ids in devices.items()}

    def _kind(self, id_: DeviceId) -> bytes:
        if id_ not in self._known:
            device = self._devices[id_]
            bare = replace(device, name=id_[0], node_name=None, node_selector=None, all_nodes=None)
            self._known[id_] = msgspec.msgpack.encode(bare, order="deterministic")
        return self._known[id_]
