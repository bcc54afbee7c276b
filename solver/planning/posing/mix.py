"""``fragmentation``: how much of a target mix of units could still be placed beside a plan.

The measure of Fragmentation Gradient Descent (Weng et al., USENIX ATC'23) asks what the units of a target workload can
make of the devices that are left. Here that is a question of planning itself: the mix comes once more as unit classes
that nobody asks for, the guests, and the stage places as many of them as it can on what the plan leaves. They are never
carried out. So the value is exact, over all nodes together, and a bound proves it.

What counts nodes in use must not count those that have guests only: ``Occupied`` is the measure for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..bundles.question import BundleQuestion
from ..instance import Instance, Stage, Terms, UnitClass

NAME = "fragmentation"


@dataclass(frozen=True, slots=True)
class Mixed:
    """A unit class of the mix by its number, how often the mix has it, and how many devices one unit asks for."""

    index: int
    demand: int
    devices: int


@dataclass(frozen=True, slots=True)
class Guest:
    """A unit class that is placed beside the plan; it takes what the class ``like`` takes."""

    unit: UnitClass
    like: int


@dataclass(frozen=True, slots=True)
class Mix:
    """The guests of a mix, and the stage that places them."""

    guests: tuple[Guest, ...]
    stage: Stage

    @property
    def most(self) -> int:
        """What the stage is worth if all guests are placed."""
        return sum(self.stage.terms.units[guest.unit.index] * guest.unit.demand for guest in self.guests)

    def instance(self, instance: Instance) -> Instance:
        """Add the guests, whose numbers follow those of the units that are there."""
        return replace(instance, units=(*instance.units, *(guest.unit for guest in self.guests)))

    def question(self, question: BundleQuestion) -> BundleQuestion:
        """Let a node have guests wherever it may take what they are like; no measure sees them."""
        there = {unit.index: unit for unit in question.units}
        units = [
            replace(there[guest.like], index=guest.unit.index, most=guest.unit.demand, measured=False)
            for guest in self.guests
            if guest.like in there
        ]
        return replace(question, units=(*question.units, *units))


def target_mix(mix: Sequence[Mixed], first: int, devices: int) -> Mix:
    """Make guests of a mix, numbered from ``first``: so often the whole mix that it asks for all these devices.

    A guest counts as many as it asks for devices; units that ask for none count nothing, and are left out. Guests have
    no weight of their own, so that nothing but their stage places them.
    """
    asking = [one for one in mix if one.devices > 0 and one.demand > 0]
    once = sum(one.demand * one.devices for one in asking)
    times = max(1, -(-devices // once)) if once else 0
    units = [UnitClass(first + place, one.demand * times, weight=0) for place, one in enumerate(asking)]
    guests = tuple(Guest(unit, one.index) for unit, one in zip(units, asking, strict=True))
    weights = {guest.unit.index: one.devices for guest, one in zip(guests, asking, strict=True)}
    return Mix(guests, Stage(NAME, Terms(units=weights)))
