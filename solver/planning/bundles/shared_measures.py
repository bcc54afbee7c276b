"""What a node's bundle takes of devices that other nodes reach and that a count of devices does not say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ....encoders.collapsed import Merged
from ....encoders.encoder import Signature
from ....encoders.rows import Term
from ....encoders.stages.holding import post_implied
from .measures import Measured, Unparted
from .question import Bundle, BundleUnit


@dataclass(frozen=True, slots=True)
class _OfDevices(Unparted):
    """Looks at some devices of the node, by number."""

    devices: frozenset[int]

    def sign(self, _merged: Merged) -> Signature | None:
        """These devices are each of a kind of its own."""
        return (lambda device: device if device in self.devices else None) if self.devices else None


@dataclass(frozen=True, slots=True)
class SharedDraw(_OfDevices):
    """How much is drawn of a row of capacity of a device that several may hold, in steps of ``step``."""

    row: int = 0
    step: int = 1
    id: str = "shared-capacity"

    def terms(self, measured: Measured) -> list[Term]:
        """Each take of the device draws what its request asks for."""
        model = measured.model
        demands = model.merged.problem.demands
        found: list[Term] = []
        for (branch, lot), taken in model.takes.items():
            device = model.collapsed.lots[lot].first
            if device in self.devices:
                demand = demands[model.merged.branches[branch].demands[0]]
                found.append((taken, self._drawn(demand.amounts.get(device, ()))))
        return found

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Add up what the picks draw."""
        return sum(
            self._drawn(unit.problem.demands[pick.demand].amounts.get(pick.device, ()))
            for unit, copies in zip(units, bundle.copies, strict=True)
            for picks in copies
            for pick in picks
            if pick.device in self.devices
        )

    def _drawn(self, amounts: Collection[tuple[int, int]]) -> int:
        return sum(amount for row, amount in amounts if row == self.row) // self.step


@dataclass(frozen=True, slots=True)
class SharedUse(_OfDevices):
    """1 if anything is taken of devices that only one node may use at a time."""

    id: str = "shared-use"

    def terms(self, measured: Measured) -> list[Term]:
        """A literal that is true if one of the devices is taken."""
        model = measured.model
        takes = [
            (taken, 1) for (_, lot), taken in model.takes.items() if model.collapsed.lots[lot].first in self.devices
        ]
        if not takes:
            return []
        used = model.rows.boolean()
        post_implied(model, takes, used)
        return [(used, 1)]

    def value(self, _units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Whether a pick is one of the devices."""
        return int(not self.devices.isdisjoint(bundle.devices))
