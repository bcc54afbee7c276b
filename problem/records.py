"""The Problem: one question about one node's devices, compiled to plain integers.

Devices are numbered in visiting order (POOL-11), demands (an exact request, or one alternative of a list) in the order
the search reaches them. Nothing here knows Kubernetes or a solver; names stand beside the numbers for messages only.
Amounts are exact integers in units of 10^-9.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from .messages import Message
from .relations import Relation

RESULT_LIMIT = 32
"""Most devices in one claim's result (PRE-11, SRCH-8)."""

Amounts = tuple[tuple[int, int], ...]
"""Pairs of a row (of capacities or of counters) and an amount."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A filter that a candidate fails: its stable id, and details, e.g. which taint.

    ``error`` is not empty if evaluating the filter went wrong; it is then the text of the fatal error.
    """

    filter: str
    detail: str = ""
    error: Message = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What devices are chosen for: an exact request or one alternative of a list request."""

    index: int
    claim: int
    request: str
    subrequest: str
    class_name: str
    count: int
    """Devices needed; under ``all_devices`` the number listed."""
    all_devices: bool
    admin: bool
    candidates: tuple[int, ...] = ()
    """Devices to visit, in order; under ``all_devices`` those that must all be taken."""
    traps: dict[int, Failure] = field(default_factory=dict)
    """Candidates whose visit is a fatal error (CEL-6, CEL-7)."""
    barred: frozenset[int] = frozenset()
    """Under ``all_devices``: listed devices that can never be taken (SRCH-6)."""
    amounts: dict[int, Amounts] = field(default_factory=dict)
    """What a candidate's capacities would be drawn on (CAP-3)."""
    constraints: tuple[int, ...] = ()
    failures: tuple[tuple[Failure, ...], ...] = ()
    """For each device of the problem every filter that it fails."""

    @property
    def own_name(self) -> str:
        """The request's or subrequest's own name, as messages have it."""
        return self.subrequest or self.request

    @property
    def label(self) -> str:
        """The name in results: ``request`` or ``request/subrequest``."""
        return f"{self.request}/{self.subrequest}" if self.subrequest else self.request


@dataclass(frozen=True, slots=True)
class Constraint:
    """A matchAttribute or distinctAttribute entry of a claim that a search can prune with (section 13).

    ``tokens[demand][device]`` is the device's value: in scalar mode a number per distinct value, in set mode a bit set.
    A device without one cannot be used. ``position`` is its number among the entries of its claim, ``min_size`` the
    number of members that matching sets must have in common (SEM-4).
    """

    claim: int
    kind: Literal["matchAttribute", "distinctAttribute"]
    attribute: str
    sets: bool
    tokens: dict[int, dict[int, int]]
    errors: dict[int, dict[int, Failure]] = field(default_factory=dict)
    """Derived attributes that could not be computed (CON-12)."""
    position: int = 0
    min_size: int = 1
    overlap: bool = False
    """Distinct sets may overlap if no member is in all of them: never to be pruned with (SEM-6)."""
    listed: bool = False
    """Only lists are values (SEM-2)."""
    label: str = ""
    """How messages name it."""

    @property
    def lack(self) -> str:
        """Say what a device without a token lacks."""
        if self.min_size > 1:
            return f"fewer than {self.min_size} values of {self.attribute}"
        return f"no list {self.attribute}" if self.listed else f"no {self.attribute}"


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a claim: its demands in order, several only if it is a list."""

    name: str
    listed: bool
    demands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: its requests, and which of the problem's constraints are its own."""

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """Counter rows of the pools, and what each device draws from them (section 11)."""

    names: tuple[tuple[str, str], ...] = ()
    """Counter set and counter of each row."""
    pool_of_row: tuple[int, ...] = ()
    consumption: dict[int, Amounts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Groups:
    """Compatibility groups: for each device the sets it draws from and its groups there (section 12).

    Groups are a bit set whose bit 0 says that there are any; 0 means none.
    """

    sets: tuple[tuple[int, str], ...] = ()
    """Pool and name of each counter set."""
    membership: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)


def joined_groups(state: int | None, groups: int) -> int:
    """Return the state of a counter set after a device with these groups came (GRP-2).

    The first device decides whether groups count; where allocations have mixed both, the others are overlooked.
    """
    if state is None:
        return groups
    return state & groups if state and groups else state


def compatible(state: int | None, groups: int) -> bool:
    """Tell whether a device with these groups may join what a counter set already holds (GRP-3)."""
    return state is None or state == groups == 0 or state & groups > 1


@dataclass(frozen=True, slots=True)
class Capacities:
    """Capacity rows, several a device: name and total."""

    names: tuple[str, ...] = ()
    totals: tuple[int, ...] = ()
    rows: dict[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Landscape:
    """What objectives see of a node beside what the rules do; empty where nothing is optimised.

    By device: its pool, its driver and whether the node reaches it; for each attribute that says what lies close
    together, a number per value, 0 for none. By capacity row: its total in millionths of the largest device of the
    cluster. By counter row: its total.
    """

    pools: tuple[int, ...] = ()
    drivers: tuple[int, ...] = ()
    reachable: tuple[bool, ...] = ()
    groupings: tuple[tuple[int, ...], ...] = ()
    weights: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InUse:
    """What is taken before the search starts, by the numbers of the Problem.

    ``available`` are the counter rows' remains (CTR-1); ``groups`` the running state of each counter set (GRP-2):
    None for nothing placed, 0 for devices without groups, else the common groups with bit 0.
    """

    dedicated: frozenset[int] = frozenset()
    shares: dict[int, int] = field(default_factory=dict)
    consumed: dict[int, int] = field(default_factory=dict)
    available: tuple[int, ...] = ()
    groups: tuple[int | None, ...] = ()

    @property
    def key(self) -> Hashable:
        """Equal for equal states."""
        return self.dedicated, tuple(self.shares.items()), tuple(self.consumed.items()), self.available, self.groups


@dataclass(frozen=True, slots=True)
class Problem:
    """One question: can these claims be allocated from these devices, on one node."""

    size: int
    """Number of devices."""
    claims: tuple[Claim, ...]
    demands: tuple[Demand, ...]
    constraints: tuple[Constraint, ...] = ()
    shared: frozenset[int] = frozenset()
    """Multi-allocatable devices."""
    capacities: Capacities = Capacities()
    counters: Counters = Counters()
    groups: Groups = Groups()
    relations: tuple[Relation, ...] = ()
    """What is judged on complete sets."""
    permutations: bool = False
    """Each further device of a request is looked for from the start again, as the stable variant does (SRCH-2)."""
    fatal_constraints: bool = True
    """A device that All must take and a constraint forbids is an error of the whole attempt (SRCH-7)."""
    invalid_pools: bool = False
    """Some pool that the node sees is invalid (POOL-13)."""
    landscape: Landscape = Landscape()
