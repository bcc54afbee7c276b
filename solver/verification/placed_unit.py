"""What a plan says of a unit, as far as it is checked."""

from __future__ import annotations

from typing import Protocol

from ...models.claims import AllocationResult
from ...models.pod_claims import ClaimRef
from ...models.units import Unit


class PlacedUnit(Protocol):
    """What a plan says of a unit; ``kind``, ``namespace`` and ``name`` are its owner's, ``replica`` its number there.

    ``node`` is None for one that is not placed; ``allocations`` are those that the plan makes.
    """

    @property
    def kind(self) -> str:
        """The kind of the owner."""

    @property
    def namespace(self) -> str:
        """The namespace of the owner."""

    @property
    def name(self) -> str:
        """The name of the owner."""

    @property
    def replica(self) -> int:
        """The number of the unit among those of its owner."""

    @property
    def unit(self) -> Unit:
        """The pod or the loose claim, with all claims."""

    @property
    def node(self) -> str | None:
        """Where it goes."""

    @property
    def allocations(self) -> tuple[tuple[ClaimRef, AllocationResult], ...]:
        """What its claims get."""


def label(unit: PlacedUnit) -> str:
    """A unit in words: its own name, and the kind of its owner."""
    return f"{unit.kind} {unit.unit.namespace}/{unit.unit.name}"
