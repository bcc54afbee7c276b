"""The queue as kinds of units that nothing tells apart, gangs aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....models.kubernetes.claims import AllocationResult, ResourceClaim
from ....models.kubernetes.core import PodSpec
from ....models.workload.expansion import QueuedUnit
from ....models.workload.requests import Requests, sum_requests
from ....models.workload.unit_classes import UnitShape
from ....models.workload.units import ClaimRef

UnitTuple = tuple[QueuedUnit, ...]
"""Units that go to one node together: one, or several that share a claim without devices."""


@dataclass(frozen=True, slots=True, eq=False)
class ColocatedUnits:
    """A party of the queue, by the places of its units there."""

    places: tuple[int, ...]
    party: UnitTuple

    @property
    def asked(self) -> tuple[ClaimRef, ...]:
        """The claims that need devices, each once."""
        refs: dict[object, ClaimRef] = {}
        for planned in self.party:
            for ref in planned.unit.requested_claims:
                refs.setdefault(ref.key, ref)
        return tuple(refs.values())


@dataclass(frozen=True, eq=False)
class UnitClass:
    """Equal parties of the queue, in its order; ``shapes`` are those of the units in each of them."""

    index: int
    entries: Sequence[ColocatedUnits]
    shapes: tuple[UnitShape, ...]

    @cached_property
    def claims(self) -> list[ResourceClaim]:
        """The claims of one party that need devices."""
        return [ref.claim for ref in self.entries[0].asked if ref.claim is not None]

    @cached_property
    def specs(self) -> list[PodSpec]:
        """The specs of its pods."""
        return [planned.unit.pod.spec for planned in self.entries[0].party if planned.unit.pod is not None]

    @cached_property
    def earlier(self) -> list[AllocationResult]:
        """What its claims hold already, which ties it to nodes (SCHED-2)."""
        return [made for planned in self.entries[0].party for made in planned.unit.existing_allocations()]

    @cached_property
    def requests(self) -> Requests:
        """What it takes of a node's allocatable."""
        return sum_requests(shape.requests for shape in self.shapes)

    @property
    def size(self) -> int:
        """How many units a party has."""
        return len(self.shapes)


def group_unit_classes(entries: Iterable[ColocatedUnits], first: int = 0) -> list[UnitClass]:
    """Put equal parties together, in the order of the first of each, and number them from ``first``."""
    found: dict[tuple[bytes, ...], list[ColocatedUnits]] = defaultdict(list)
    for entry in entries:
        found[colocated_signature(entry)].append(entry)
    return [
        UnitClass(index, own, tuple(planned.unit_set.shape for planned in own[0].party))
        for index, own in enumerate(found.values(), first)
    ]


def colocated_signature(entry: ColocatedUnits) -> tuple[bytes, ...]:
    """Equal for equal parties."""
    return tuple(planned.unit_set.shape.signature for planned in entry.party)
