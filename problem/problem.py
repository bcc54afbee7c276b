"""The Problem: one question about one node's devices, compiled to plain integers.

Devices are numbered in visiting order (POOL-11), demands (an exact request, or one alternative of a list) in the order
the search reaches them. Nothing here knows Kubernetes or a solver; names stand beside the numbers for messages only.
Amounts are exact integers in units of 10^-9.

A ``Constraint`` is monotonic and inside one claim, so that a search prunes with it. A ``Relation`` is judged when every
request that it covers has its devices (CELC-3): expressions over ``devices``, topologies, predicates, entries that span
claims, and soft entries, which only cost something. Methods of ``Problem`` derive other Problems: of several questions
side by side, with fewer devices, without soft entries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from .messages import FatalError, Message

RESULT_LIMIT = 32
"""Most devices in one claim's result (PRE-11, SRCH-8)."""
Amounts = tuple[tuple[int, int], ...]
"""Pairs of a row (of capacities or of counters) and an amount."""


@dataclass(frozen=True, slots=True)
class FilterFailure:
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
    error_devices: dict[int, FilterFailure] = field(default_factory=dict)
    """Candidates whose visit is a fatal error (CEL-6, CEL-7)."""
    untakeable: frozenset[int] = frozenset()
    """Under ``all_devices``: listed devices that can never be taken (SRCH-6)."""
    amounts: dict[int, Amounts] = field(default_factory=dict)
    """What a candidate's capacities would be drawn on (CAP-3)."""
    node_draws: dict[int, Amounts] = field(default_factory=dict)
    """What a candidate takes of its node (NAR-1), by row of ``Problem.node_limits``; in a plan by resource."""
    constraints: tuple[int, ...] = ()
    failures: tuple[tuple[FilterFailure, ...], ...] = ()
    """For each device of the problem every filter that it fails."""

    def restricted(self, allowed: Callable[[Demand, int], bool]) -> Demand:
        """Leave only devices that are allowed; an All demand that lists another one cannot be served."""
        others = frozenset(device for device in self.candidates if not allowed(self, device))
        if self.all_devices:
            return replace(self, untakeable=self.untakeable | others)
        return replace(self, candidates=tuple(device for device in self.candidates if device not in others))

    def without_error_devices(self) -> Demand:
        """Leave out the candidates whose visit is a fatal error."""
        kept = tuple(device for device in self.candidates if device not in self.error_devices)
        return replace(self, candidates=kept, error_devices={})

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
    errors: dict[int, dict[int, FilterFailure]] = field(default_factory=dict)
    """Derived attributes that could not be computed (CON-12)."""
    position: int = 0
    min_size: int = 1
    overlap: bool = False
    """Distinct sets may overlap if no member is in all of them: never to be pruned with (SEM-6)."""
    lists_only: bool = False
    """Only lists are values (SEM-2)."""
    label: str = ""
    """How messages name it."""

    def renumbered(self, claims: int, demands: Mapping[int, int]) -> Constraint:
        """Return the constraint after its claim moved by so many, on the ``demands`` that have new numbers."""
        return replace(
            self,
            claim=self.claim + claims,
            tokens={demands[one]: tokens for one, tokens in self.tokens.items() if one in demands},
            errors={demands[one]: errors for one, errors in self.errors.items() if one in demands},
        )

    @property
    def lack(self) -> str:
        """Say what a device without a token lacks."""
        if self.min_size > 1:
            return f"fewer than {self.min_size} values of {self.attribute}"
        return f"{self.attribute} is no list" if self.lists_only else f"{self.attribute} missing"


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

    def renumbered(self, demands: Mapping[int, int]) -> Claim:
        """Return the claim with new numbers of its demands, without requests that lose one."""
        kept = (one for one in self.requests if all(number in demands for number in one.demands))
        return Claim(tuple(replace(one, demands=tuple(demands[number] for number in one.demands)) for one in kept))


@dataclass(frozen=True, slots=True)
class Counters:
    """Counter rows of the pools, and what each device draws from them (section 11)."""

    names: tuple[tuple[str, str], ...] = ()
    """Counter set and counter of each row."""
    pool_of_row: tuple[int, ...] = ()
    consumption: dict[int, Amounts] = field(default_factory=dict)

    def overdrawn_pools(self, available: Sequence[int]) -> dict[int, int]:
        """Return by pool the first of its rows that is overdrawn already: it blocks all that draw any (CTR-2).

        ``available`` are the rows' remains.
        """
        found: dict[int, int] = {}
        for row, left in enumerate(available):
            if left < 0:
                found.setdefault(self.pool_of_row[row], row)
        return found


@dataclass(frozen=True, slots=True)
class CompatibilityGroups:
    """Compatibility groups: for each device the sets it draws from and its groups there (section 12).

    Groups are a bit set whose bit 0 says that there are any; 0 means none.
    """

    sets: tuple[tuple[int, str], ...] = ()
    """Pool and name of each counter set."""
    membership: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)


def members_of_mask(mask: int) -> Iterator[int]:
    """Yield the numbers that a bit set has, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def groups_after_joining(state: int | None, groups: int) -> int:
    """Return the state of a counter set after a device with these groups came (GRP-2).

    The first device decides whether groups count; where allocations have mixed both, the others are overlooked.
    """
    if state is None:
        return groups
    return state & groups if state and groups else state


def groups_compatible(state: int | None, groups: int) -> bool:
    """Tell whether a device with these groups may join what a counter set already holds (GRP-3)."""
    return state is None or state == groups == 0 or state & groups > 1


@dataclass(frozen=True, slots=True)
class Capacities:
    """Capacity rows, several a device: name and total."""

    names: tuple[str, ...] = ()
    totals: tuple[int, ...] = ()
    rows: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def remaining(self, consumed: Mapping[int, int]) -> list[int]:
        """Return what is left of each row; ``consumed`` has what is taken of some."""
        return [total - consumed.get(row, 0) for row, total in enumerate(self.totals)]


@dataclass(frozen=True, slots=True)
class NodeContext:
    """What objectives see of a node beside what the rules do; empty where nothing is optimised.

    By device: its pool, its driver and whether the node reaches it; for each attribute that says what lies close
    together, a number per value, 0 for none. By capacity row: its total in millionths of the largest device of the
    cluster. By counter row: its total. By row of either: what one of it counts, as a numerator and a denominator.
    """

    pools: tuple[int, ...] = ()
    drivers: tuple[int, ...] = ()
    reachable: tuple[bool, ...] = ()
    groupings: tuple[tuple[int, ...], ...] = ()
    weights: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()
    capacity_scarcity: tuple[tuple[int, int], ...] = ()
    counter_scarcity: tuple[tuple[int, int], ...] = ()


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
    groups: CompatibilityGroups = CompatibilityGroups()
    relations: tuple[Relation, ...] = ()
    """What is judged on complete sets."""
    permutations: bool = False
    """Each further device of a request is looked for from the start again, as the stable variant does (SRCH-2)."""
    fatal_constraints: bool = True
    """A device that All must take and a constraint forbids is an error of the whole attempt (SRCH-7)."""
    invalid_pools: bool = False
    """Some pool that the node sees is invalid (POOL-13)."""
    node_context: NodeContext = NodeContext()
    node_limits: tuple[tuple[str, int], ...] = ()
    """Resources of the node, and how much of them the devices may take; sums of ``Demand.node_draws`` keep below."""

    @staticmethod
    def side_by_side(problems: Sequence[Problem]) -> Problem:
        """Ask several questions about one place together, in their order.

        What is placed one after the other can be placed together and the other way round, as long as nothing has admin
        access: all rules beyond one claim are about what is taken by then, whoever took it. What has admin access is in
        nobody's way once it is allocated (IN-3), but within one question it is in the way of all that comes later
        (DEV-1), so that fewer copies may fit together than one after the other. See ``without_admin``.
        """
        claims: list[Claim] = []
        demands: list[Demand] = []
        constraints: list[Constraint] = []
        relations: list[Relation] = []
        for problem in problems:
            moved = {demand.index: demand.index + len(demands) for demand in problem.demands}
            shift, first = len(claims), len(constraints)
            claims += [claim.renumbered(moved) for claim in problem.claims]
            constraints += [constraint.renumbered(shift, moved) for constraint in problem.constraints]
            relations += [relation.renumbered(shift, moved) for relation in problem.relations]
            demands += [
                replace(
                    demand,
                    index=moved[demand.index],
                    claim=demand.claim + shift,
                    constraints=tuple(number + first for number in demand.constraints),
                )
                for demand in problem.demands
            ]
        return replace(
            problems[0],
            claims=tuple(claims),
            demands=tuple(demands),
            constraints=tuple(constraints),
            relations=tuple(relations),
        )

    def keeps_node_limits(self, picks: Iterable[tuple[int, int]]) -> bool:
        """Whether the node has what these devices take of it, given as demands and devices (NAR-7)."""
        left = [limit for _, limit in self.node_limits]
        for demand, device in picks if left else ():
            for row, amount in self.demands[demand].node_draws.get(device, ()):
                left[row] -= amount
        return all(amount >= 0 for amount in left)

    @property
    def has_admin(self) -> bool:
        """Whether a request has admin access."""
        return any(demand.admin for demand in self.demands)

    @property
    def has_lists(self) -> bool:
        """Whether a request lists alternatives."""
        return any(request.listed for claim in self.claims for request in claim.requests)

    def without_admin(self) -> Problem:
        """Leave out the requests with admin access.

        Whatever copies fit one after the other fit so too: they take less, hold as much, every constraint is about
        fewer devices, and what is judged on complete sets is left out with them. The last of them fits as it is: what
        it takes is in no later one's way.
        """
        ordinary = [demand for demand in self.demands if not demand.admin]
        demands = {demand.index: place for place, demand in enumerate(ordinary)}
        covering = [number for number, one in enumerate(self.constraints) if one.tokens.keys() & demands.keys()]
        entries = {number: place for place, number in enumerate(covering)}
        return replace(
            self,
            claims=tuple(claim.renumbered(demands) for claim in self.claims),
            demands=tuple(
                replace(demand, index=place, constraints=tuple(entries[number] for number in demand.constraints))
                for place, demand in enumerate(ordinary)
            ),
            constraints=tuple(self.constraints[number].renumbered(0, demands) for number in covering),
            relations=tuple(one.renumbered(0, demands) for one in self.relations if one.demands <= demands.keys()),
        )

    def restricted(self, allowed: Callable[[Demand, int], bool]) -> Problem:
        """Leave only devices that are allowed; a request for all devices gets none if one of them is not."""
        return replace(self, demands=tuple(demand.restricted(allowed) for demand in self.demands))

    def without_devices(self, devices: Collection[int]) -> Problem:
        """Leave out devices; a request for all devices that lists one of them cannot be served."""
        return self.restricted(lambda _demand, device: device not in devices)

    def order_independent(self) -> Problem:
        """Make the answer the same in whatever order devices are visited.

        Whether a search runs into an error depends on what it tries before. An engine that does not try the same cannot
        run into the same errors: a device whose test goes wrong is never used, and a device that an All request cannot
        add makes only this choice impossible.
        """
        demands = self.demands
        if any(demand.error_devices for demand in demands):
            demands = tuple(demand.without_error_devices() for demand in demands)
        return replace(self, demands=demands, fatal_constraints=False)

    @property
    def soft_relations(self) -> tuple[Relation, ...]:
        """The relations that need not hold."""
        return tuple(relation for relation in self.relations if not relation.hard)

    def without_soft(self) -> Problem:
        """Leave out the relations that need not hold: whether claims fit never depends on them (SOFT-1)."""
        if not self.soft_relations:
            return self
        return replace(self, relations=tuple(relation for relation in self.relations if relation.hard))

    def with_errors_as_true(self) -> Problem:
        """Let errors of relations count as true; the problem itself if no relation must hold."""
        if not any(relation.hard for relation in self.relations):
            return self
        relations = tuple(replace(one, errors_count_as_true=True) if one.hard else one for one in self.relations)
        return replace(self, relations=relations)


Member = tuple[int, int]
"""A demand and a device taken for it, by their numbers in the Problem."""


@dataclass(frozen=True, slots=True)
class RelationError:
    """A condition could not be judged: the text of a run-time error (CELC-4)."""

    message: Message


class RelationCondition(Protocol):
    """What must hold of a set of devices; plain data of numbers, or a text with what it is asked about."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the devices can matter (CELC-7)."""
        raise NotImplementedError

    def visible_key(self, device: int) -> Hashable:
        """Return what it sees of a device: devices with equal sights are interchangeable for it."""
        raise NotImplementedError

    def demand_key(self, demand: int) -> Hashable:
        """Return what tells demands apart that take the same device."""
        raise NotImplementedError

    def evaluate(self, members: Sequence[Member]) -> bool | RelationError:
        """Judge a complete set, in result order: by demand, then by device (CELC-2)."""
        raise NotImplementedError

    def renumbered(self, demands: Mapping[int, int]) -> RelationCondition:
        """Return the condition after the demands that it covers got new numbers."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Relation:
    """An entry that is judged on complete sets.

    ``id`` is that of its encoder, ``claims`` are those that it spans, ``position`` is its number among the entries of
    a claim and ``label`` how messages name it; ``demands`` are those that it applies to (CON-1). Without a ``weight``
    it must hold; with one, violating it costs that much (SOFT-1), with ``per_pair`` for each pair (SOFT-2).
    """

    id: str
    claims: tuple[int, ...]
    position: int
    label: str
    demands: frozenset[int]
    condition: RelationCondition
    weight: int | None = None
    per_pair: bool = False
    fatal: bool = False
    """Trouble aborts the allocation when a search meets it: policy ``kube`` (CELC-4)."""
    errors_count_as_true: bool = False
    """Trouble counts as true: to find out whether errors alone stand in the way (CELC-4)."""

    @property
    def hard(self) -> bool:
        """It must hold."""
        return self.weight is None

    def verdict(self, members: Sequence[Member]) -> bool | RelationError:
        """Judge all members that it covers; it holds if there are none (SEM-0)."""
        covered = sorted(member for member in members if member[0] in self.demands)
        if not covered:
            return True
        found = self.condition.evaluate(covered)
        return True if self.errors_count_as_true and isinstance(found, RelationError) else found

    def renumbered(self, claims: int, demands: Mapping[int, int]) -> Relation:
        """Return the relation after its claims moved by so many, and its demands got new numbers."""
        return replace(
            self,
            claims=tuple(claim + claims for claim in self.claims),
            demands=frozenset(demands[demand] for demand in self.demands),
            condition=self.condition.renumbered(demands),
        )


def trap_error(failure: FilterFailure, claim: int, device: int) -> FatalError:
    """Return the fatal error of visiting a device whose evaluation goes wrong (CEL-6)."""
    return FatalError(failure.filter, failure.error, claim=claim, device=device)


@dataclass(frozen=True, slots=True)
class BoundedValue:
    """What one part of a stage came to: its value, and a bound that no choice gets below.

    The bound holds for choices that are no worse in all parts before it.
    """

    value: int
    bound: int

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.bound >= self.value
