"""What is asked about bundles: copies of several units on one node, whose devices and other resources they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....problem.records import InUse, Problem
from ...search import Pick

if TYPE_CHECKING:
    from .measures import Measure

Picks = tuple[Pick, ...]


@dataclass(frozen=True, slots=True)
class BundleUnit:
    """A class of equal units that this node may take: its number, and one of them as a Problem.

    A unit without claims is a Problem without any. ``needs`` is what one takes of each of the node's resources,
    ``most`` how many there are at most; ``size`` says as how many units one counts. Not ``measured`` are those that
    only show what else would fit: no measure sees them.
    """

    index: int
    problem: Problem
    most: int
    needs: tuple[int, ...] = ()
    measured: bool = True
    size: int = 1


@dataclass(frozen=True, slots=True)
class BundleQuestion:
    """One node: its unit classes, whose Problems are about the same devices, and what is in use of these.

    ``left`` is what the node has left of each resource beside devices (cpu, memory, pods). ``meters`` count what is
    taken of devices that other nodes reach, too: for each by device how much taking it counts. ``measures`` say what a
    bundle costs otherwise. In the usage of a column they are numbered after the meters, so that a question with
    measures has as many meters as all others, be they empty.
    """

    units: tuple[BundleUnit, ...]
    in_use: InUse
    left: tuple[int, ...] = ()
    meters: tuple[Mapping[int, int], ...] = ()
    measures: tuple[Measure, ...] = ()

    def usage(self, bundle: Bundle) -> tuple[tuple[int, int], ...]:
        """What a bundle counts on meters and costs by measures: a number, and how much if that is anything."""
        taken = bundle.devices
        metered = [sum(amounts.get(device, 0) for device in taken) for amounts in self.meters]
        measured = [measure.value(self.units, bundle) for measure in self.measures]
        return tuple((number, amount) for number, amount in enumerate([*metered, *measured]) if amount)


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one node takes jointly: for each unit of the question the picks of each copy, by the unit's own numbers.

    Allocated one after the other in this order, every copy is a valid allocation beside those before it.
    """

    copies: tuple[tuple[Picks, ...], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of copies of each unit."""
        return tuple(map(len, self.copies))

    @property
    def devices(self) -> list[int]:
        """The device of each pick."""
        return [pick.device for copies in self.copies for picks in copies for pick in picks]

    def kept(self, chosen: Sequence[Sequence[int]]) -> Bundle:
        """Keep these copies of each unit; the rest is a bundle still, unless some device gives counters."""
        pairs = zip(self.copies, chosen, strict=True)
        return Bundle(tuple(tuple(copies[place] for place in sorted(own)) for copies, own in pairs))
