"""Records of what is planned: sets of equal units, their shapes, and gangs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from .claims import ResourceClaim, ResourceClaimSpec
from .core import Pod
from .identity import ObjectKey

MakerKind = Literal["Job", "Deployment", "StatefulSet", "ReplicaSet"]
PlannedKind = MakerKind | Literal["Pod", "ResourceClaim"]
# Who says that units are a gang: an annotation of ours, or one of the two objects of scheduling.k8s.io.
GangKind = Literal["Gang", "Workload", "PodGroup"]


@dataclass(frozen=True, slots=True)
class ClaimShape:
    """A claim of a unit, as far as it matters.

    ``spec`` is None for a claim that cannot be had, ``problem`` says why. ``constraints`` is the text of the annotation
    ``drasat.dev/constraints``. ``key`` names a claim that several units share, or that is allocated already.
    """

    spec: ResourceClaimSpec | None
    constraints: str = ""
    key: ObjectKey | None = None
    allocated: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class UnitShape:
    """What a plan needs to know of a unit; all interchangeable units of a queue have the same object, gangs aside.

    ``requests`` is what it takes of a node's allocatable (``pod_requests``), nothing for a loose claim. ``node_name``
    is the node it is on already. ``priority`` is that of its PriorityClass, ``value`` its weight. ``claims`` is in the
    order of the pod, that for extended resources is the last.
    """

    signature: bytes
    requests: Mapping[str, int]
    priority: int
    value: Decimal
    node_name: str | None
    claims: tuple[ClaimShape, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the unit can be placed nowhere: claims or templates that are missing or being deleted (SCHED-1)."""
        return tuple(claim.problem for claim in self.claims if claim.problem)


@dataclass(frozen=True, slots=True)
class Gang:
    """Units that are placed together or not at all.

    ``minimum`` is how many of them are enough, those on nodes already included; None: all of them, 0: any number.
    ``domain`` is a node label: the nodes of all members have one value of it. ``placed`` names the nodes of members
    that run already. ``problem`` says why no member can be placed: the object that members name is not there.
    """

    kind: GangKind
    namespace: str
    name: str
    minimum: int | None = None
    domain: str | None = None
    placed: tuple[str, ...] = ()
    problem: str = ""

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.kind} {self.namespace}/{self.name}"

    def too_small(self, waiting: int) -> str:
        """Say that so many members that wait, and those that run, are not enough; nothing if they are."""
        there = waiting + len(self.placed)
        if self.minimum is None or self.minimum <= there:
            return ""
        return f"{self.label} needs {self.minimum} members, and has {there}"


class PlannedSet(NamedTuple):
    """Equal units of one owner, in order; a tuple, for a queue has many.

    ``kind``, ``namespace`` and ``name`` are the owner's: a pod or loose claim owns itself. ``numbers`` says which of
    its replicas are planned, ``copied`` that their names are ``stem`` and the number. ``pod`` is the pod or its
    template, None for a loose claim, which is ``claim``. Equal ``signature``: the units are interchangeable for a plan,
    so that any of them may have any other's place.
    """

    kind: PlannedKind
    namespace: str
    name: str
    numbers: Sequence[int]
    shape: UnitShape
    signature: bytes
    gang: Gang | None = None
    pod: Pod | None = None
    claim: ResourceClaim | None = None
    stem: str = ""
    copied: bool = False

    @property
    def replicas(self) -> int:
        """How many units they are."""
        return len(self.numbers)

    def unit_name(self, number: int) -> str:
        """The name of a replica's pod or claim."""
        return f"{self.stem}-{number}" if self.copied else self.name
