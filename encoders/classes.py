"""A Problem with equal things put together: what the model speaks of instead of devices, requests and claims."""

from __future__ import annotations

from dataclasses import dataclass

from ..problem.problem import Constraint, InUse, Problem, Relation


@dataclass(frozen=True, slots=True)
class MergedAlternative:
    """One way to serve a merged request: the request itself, or one of its alternatives.

    ``demands`` has the demand of each copy, claim by claim; ``count`` is the number of devices for one copy,
    ``per_claim`` the number of copies in one claim, ``candidates`` the devices that any copy could take.
    """

    index: int
    request: int
    demands: tuple[int, ...]
    per_claim: int
    count: int
    all_devices: bool
    admin: bool
    candidates: tuple[int, ...]

    @property
    def copies(self) -> int:
        """Number of equal requests."""
        return len(self.demands)

    @property
    def claims(self) -> int:
        """Number of equal claims that the copies come from."""
        return len(self.demands) // self.per_claim


@dataclass(frozen=True, slots=True)
class MergedRequest:
    """Equal requests: of one claim, or of several claims that are equal as a whole.

    ``claims`` are the claims' numbers, ``alternatives`` the numbers of the ways to serve it, in order of preference.
    """

    index: int
    name: str
    claims: tuple[int, ...]
    listed: bool
    alternatives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedConstraint:
    """Equal entries of equal claims; ``record`` is the first of them, ``alternatives`` are those it covers."""

    record: Constraint
    claims: tuple[int, ...]
    alternatives: tuple[int, ...]

    @property
    def position(self) -> int:
        """Number of the entry in its claim."""
        return self.record.position


@dataclass(frozen=True, slots=True)
class MergedRelation:
    """A relation with the alternatives that it covers.

    Claims that it spans are merged with others only where each claim gets a set of its own. ``copies`` is
    the number of claims that each get a set of devices of their own for it; ``record`` is the first's.
    """

    index: int
    record: Relation
    alternatives: tuple[int, ...]

    @property
    def claims(self) -> tuple[int, ...]:
        """Claims that it spans."""
        return self.record.claims

    @property
    def position(self) -> int:
        """Number of the entry in its claim."""
        return self.record.position

    copies: int = 1


@dataclass(frozen=True, slots=True)
class SymmetryClass:
    """Devices that no rule tells apart, ascending: the model only counts how many of them are taken."""

    index: int
    devices: tuple[int, ...]
    alternatives: tuple[int, ...]
    """Branches that could take them."""

    @property
    def representative(self) -> int:
        """The device that stands for all."""
        return self.devices[0]

    @property
    def size(self) -> int:
        """Number of devices."""
        return len(self.devices)


@dataclass(frozen=True, slots=True)
class UnitCopies:
    """Equal units that may be served or not, each as a whole: by copy the numbers of its claims."""

    claims: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class MergedProblem:
    """A Problem whose requests and claims are merged, its devices not yet.

    Claims of ``units`` may be left out, a unit at a time; all others must be served.
    """

    problem: Problem
    in_use: InUse
    requests: tuple[MergedRequest, ...]
    alternatives: tuple[MergedAlternative, ...]
    constraints: tuple[MergedConstraint, ...]
    relations: tuple[MergedRelation, ...] = ()
    units: tuple[UnitCopies, ...] = ()

    def claim_of(self, alternative: MergedAlternative) -> int:
        """Find the first claim that an alternative belongs to."""
        return self.problem.demands[alternative.demands[0]].claim


@dataclass(frozen=True, slots=True)
class SymmetryReducedProblem:
    """A Problem with its devices in symmetry classes."""

    merged: MergedProblem
    classes: tuple[SymmetryClass, ...]
    classes_of: tuple[tuple[int, ...], ...]
    """For each alternative the symmetry classes that it could take from."""
