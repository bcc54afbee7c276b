"""What is asked about bundles: copies of several units on one node, whose devices and other resources they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....problem.records import InUse, Problem
from ...search import Pick

Picks = tuple[Pick, ...]


@dataclass(frozen=True, slots=True)
class BundleUnit:
    """A class of equal units that this node may take: its number, and one of them as a Problem.

    A unit without claims is a Problem without any. ``needs`` is what one takes of each of the node's resources,
    ``most`` how many there are at most.
    """

    index: int
    problem: Problem
    most: int
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BundleQuestion:
    """One node: its unit classes, whose Problems are about the same devices, and what is in use of these.

    ``left`` is what the node has left of each resource beside devices (cpu, memory, pods). ``meters`` count what is
    taken of devices that other nodes reach, too: for each by device how much taking it counts.
    """

    units: tuple[BundleUnit, ...]
    in_use: InUse
    left: tuple[int, ...] = ()
    meters: tuple[Mapping[int, int], ...] = ()


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
