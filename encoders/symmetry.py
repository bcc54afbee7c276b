"""A Problem with equal things put together: what the model speaks of instead of devices, requests and claims.

Equal requests of one claim merge, and equal claims where the parts can be told apart again. Requests of one claim are
equal if they ask the same and the same entries cover them: every rule inside a claim is about the claim's devices as a
whole. An entry holds in each claim alone, so that counts over several claims may have no split. Claims merge only where
a split always exists (``_can_be_split``); ``solution`` makes it.

Devices that no rule and no objective tells apart are a symmetry class.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from ..problem.constraints import INCOMPARABLE, has_first_only_values, pools_with_negative_draws, sets_as_scalars
from ..problem.problem import RESULT_LIMIT, Constraint, Demand, InUse, Problem, Relation, Request
from ..problem.topology import TopologyCondition


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


Signature = Callable[[int], Hashable]
"""What a rule sees of a device: devices of one symmetry class must look equal to every rule."""


class SignatureSource(Protocol):
    """Whatever must be able to tell devices apart: a rule, or an objective."""

    @property
    def sign(self) -> Callable[[MergedProblem], Signature | None]:
        """Return what it sees of a device, None if it tells none apart."""
        raise NotImplementedError


def no_signature(_merged: MergedProblem) -> None:
    """Sign for a rule that only counts."""


Candidates = Sequence[tuple[int, ...]]


def merge_equal_requests(
    problem: Problem,
    in_use: InUse,
    candidates: Candidates,
    *,
    merging: bool = True,
    labels: Sequence[Hashable] | None = None,
    units: Sequence[UnitCopies] = (),
    equal_claims: Mapping[int, Hashable] | None = None,
) -> MergedProblem:
    """Merge what is equal; without ``merging`` every request stays alone.

    ``candidates`` are the usable devices of each demand; demands with different ``labels`` are never equal. Claims of
    ``units`` may be left out, a unit at a time. Claims that have a key in ``equal_claims`` are one with those of an
    equal key and no others: they are equal, and the caller can tell them apart.
    """
    problem = replace(problem, constraints=tuple(map(sets_as_scalars, problem.constraints)))
    keys = _MergeKeys(problem, candidates, labels)
    alone = not merging or bool(pools_with_negative_draws(problem))
    every = range(len(problem.claims))
    apart = frozenset(every) if alone else claims_with_admin_access(problem, units)
    # Where claims may be left out, preference is no question of order.
    groups = list(_group_equal_claims(problem, keys, apart, equal_claims or {}, preferring=not units))
    builder = _MergeBuilder(problem, candidates)
    for claims in groups:
        constraints = keys.entries.get(claims[0], ())
        ordered = any(has_first_only_values(problem.constraints[number]) for number in constraints)
        for positions in _group_equal_requests(problem.claims[claims[0]].requests, keys, alone or ordered):
            builder.add(claims, positions)
        builder.constrain(claims, constraints)
    entries, relations = tuple(builder.constraints), tuple(builder.relations())
    merged_units = tuple(units)
    return MergedProblem(
        problem, in_use, tuple(builder.requests), tuple(builder.alternatives), entries, relations, merged_units
    )


class _MergeKeys:
    """What must be equal of two demands that are to be merged."""

    def __init__(self, problem: Problem, candidates: Candidates, marks: Sequence[Hashable] | None) -> None:
        self._problem = problem
        self._candidates = candidates
        self._marks = marks or (None,) * len(candidates)
        # By claim the numbers of its own entries.
        self.entries: dict[int, list[int]] = defaultdict(list)
        for number, constraint in enumerate(problem.constraints):
            self.entries[constraint.claim].append(number)

    def of(self, number: int) -> Hashable:
        demand, candidates = self._problem.demands[number], self._candidates[number]
        amounts = tuple(map(demand.amounts.get, candidates)) if demand.amounts else ()
        values = tuple(self._values(demand, constraint, candidates) for constraint in demand.constraints)
        related = tuple(self._related(demand))
        drawn = tuple(map(demand.node_draws.get, candidates)) if demand.node_draws else ()
        what = demand.count, demand.all_devices, demand.admin, candidates
        return what, amounts, drawn, values, related, self._marks[number]

    def _related(self, demand: Demand) -> Iterator[Hashable]:
        """Yield the relations that cover a demand; to one that minds the order no other demand is equal.

        One of a single claim is known by its place among the claim's entries, as equal claims have equal ones.
        """
        for number, relation in enumerate(self._problem.relations):
            if demand.index in relation.demands:
                condition, alone = relation.condition, len(relation.claims) == 1
                known = (relation.position,) if alone else (-1, number)
                yield known, demand.index if condition.ordered else condition.demand_key(demand.index)

    def _values(self, demand: Demand, number: int, candidates: Iterable[int]) -> Hashable:
        constraint = self._problem.constraints[number]
        tokens = constraint.tokens[demand.index]
        # Numbers count from the claim's own first entry.
        return number - self.entries[constraint.claim][0], tuple(map(tokens.get, candidates))

    def request(self, request: Request) -> Hashable:
        return request.listed, tuple(map(self.of, request.demands))

    def claim(self, number: int) -> Hashable:
        own = [self._problem.constraints[entry] for entry in self.entries.get(number, ())]
        entries = tuple((one.kind, one.sets) for one in own)
        related = tuple(one.condition for one in self._problem.relations if number in one.claims)
        return entries, related, tuple(map(self.request, self._problem.claims[number].requests))


def _group_equal_claims(
    problem: Problem, keys: _MergeKeys, apart: Container[int], same: Mapping[int, Hashable], preferring: bool
) -> Iterator[tuple[int, ...]]:
    """Group claims that are equal and can be told apart again, in order of the first; those ``apart`` stay alone.

    Preference looks at list requests in order (SRCH-4), so that no other list may come between two merged ones.
    """
    groups: dict[Hashable, list[int]] = {}
    lists = 0
    for claim in range(len(problem.claims)):
        listed = preferring and any(request.listed for request in problem.claims[claim].requests)
        key: Hashable = same.get(claim, claim)
        if claim not in same and len(problem.claims) > 1 and claim not in apart and _can_be_split(problem, claim, keys):
            key = keys.claim(claim)
        previous = groups.get((key, lists if listed else -1))
        if previous is None:
            lists += listed
            groups[key, lists if listed else -1] = [claim]
        else:
            previous.append(claim)
    return map(tuple, groups.values())


def _can_be_split(problem: Problem, claim: int, keys: _MergeKeys) -> bool:
    """Tell whether merged copies of a claim can always be told apart again.

    Without entries they can: a device is free for one claim or shareable, and each request takes what it needs. With
    one scalar matchAttribute the model counts claims by value. With one scalar distinctAttribute over one request no
    value is taken more often than there are claims, and dealing devices out by value gives no claim a value twice.
    With one shape in a topology over equal requests the model counts the shapes, and each claim gets one of them.
    """
    requests = problem.claims[claim].requests
    demands = [problem.demands[number] for request in requests for number in request.demands]
    if any(demand.all_devices for demand in demands) or sum(one.listed for one in requests) > 1:
        return False
    most = sum(max((problem.demands[number].count for number in one.demands), default=0) for one in requests)
    if most > RESULT_LIMIT:
        return False
    entries = (problem.constraints[number] for number in keys.entries.get(claim, ()))
    own = [one for one in entries if one.tokens]
    related = [one for one in problem.relations if claim in one.claims]
    if related:
        return not own and len(related) == 1 and _is_dealt_by_relation(problem, requests, related[0], keys)
    if not own:
        return True
    lists = any(request.listed for request in requests)
    return len(own) == 1 and not lists and not own[0].sets and _SPLIT_TESTS[own[0].kind](own[0])


def _is_dealt_by_relation(problem: Problem, requests: Iterable[Request], relation: Relation, keys: _MergeKeys) -> bool:
    """Tell whether a claim gets whole sets of devices for a relation, all of them for equal requests."""
    covered = [request for request in requests if not relation.demands.isdisjoint(request.demands)]
    lists = any(request.listed for request in covered)
    return is_split_by_placements(problem, relation) and not lists and len(set(map(keys.request, covered))) == 1


def _has_no_incomparable(constraint: Constraint) -> bool:
    return all(INCOMPARABLE not in tokens.values() for tokens in constraint.tokens.values())


_SPLIT_TESTS: dict[str, Callable[[Constraint], bool]] = {
    "matchAttribute": _has_no_incomparable,
    "distinctAttribute": lambda constraint: len(constraint.tokens) == 1 and _has_no_incomparable(constraint),
}


def _group_equal_requests(requests: Sequence[Request], keys: _MergeKeys, alone: bool) -> Iterator[tuple[int, ...]]:
    """Group a claim's requests that are equal, lists only if no other list is between them (SRCH-4)."""
    if alone or len(requests) == 1:
        yield from ((position,) for position in range(len(requests)))
        return
    lists = [position for position, request in enumerate(requests) if request.listed]
    run = {p: n for n, (_, ps) in enumerate(groupby(lists, key=lambda p: keys.request(requests[p]))) for p in ps}
    groups: dict[Hashable, list[int]] = {}
    for position, request in enumerate(requests):
        groups.setdefault((run.get(position, -1), keys.request(request)), []).append(position)
    yield from map(tuple, groups.values())


@dataclass
class _MergeBuilder:
    """Numbers what is merged."""

    problem: Problem
    candidates: Candidates

    def __post_init__(self) -> None:
        self.requests: list[MergedRequest] = []
        self.alternatives: list[MergedAlternative] = []
        self.constraints: list[MergedConstraint] = []

    def add(self, claims: Sequence[int], positions: Sequence[int]) -> None:
        """Add the requests at these positions of these claims as one."""
        requested = [self.problem.claims[claim].requests[position] for claim in claims for position in positions]
        first, number = requested[0], len(self.requests)
        alternatives = []
        for rank in range(len(first.demands)):
            alternatives.append(len(self.alternatives))
            self._branch(number, tuple(request.demands[rank] for request in requested), len(positions))
        self.requests.append(MergedRequest(number, first.name, tuple(claims), first.listed, tuple(alternatives)))

    def _branch(self, request: int, demands: tuple[int, ...], per_claim: int) -> None:
        demand = self.problem.demands[demands[0]]
        self.alternatives.append(
            MergedAlternative(
                len(self.alternatives),
                request,
                demands,
                per_claim,
                demand.count,
                demand.all_devices,
                demand.admin,
                self.candidates[demand.index],
            )
        )

    def constrain(self, claims: Sequence[int], numbers: Iterable[int]) -> None:
        """Add the entries of these claims, by the numbers of the first claim's; not those that cover no request."""
        for number in numbers:
            record = self.problem.constraints[number]
            covered = tuple(
                alternative.index for alternative in self.alternatives if alternative.demands[0] in record.tokens
            )
            if covered:
                self.constraints.append(MergedConstraint(record, tuple(claims), covered))

    def relations(self) -> Iterator[MergedRelation]:
        """Yield the relations that cover anything, numbered; of equal claims those of the first."""
        number = 0
        for record in self.problem.relations:
            covered = [alternative for alternative in self.alternatives if alternative.demands[0] in record.demands]
            if covered:
                copies = covered[0].claims if len(record.claims) == 1 else 1
                yield MergedRelation(number, record, tuple(alternative.index for alternative in covered), copies)
                number += 1


def build_symmetry_classes(
    merged: MergedProblem, sources: Sequence[SignatureSource], *, grouping: bool = True
) -> SymmetryReducedProblem:
    """Group devices by what all rules and objectives see of them; without ``grouping`` each device is alone.

    Devices that nothing could take are left out. Symmetry classes are in the order of their first devices.
    """
    takers: dict[int, list[int]] = defaultdict(list)
    for alternative in merged.alternatives:
        for device in alternative.candidates:
            takers[device].append(alternative.index)
    signs = [sign for one in sources if (sign := one.sign(merged)) is not None]
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for device in sorted(takers):
        key: Hashable = (tuple(takers[device]), *(sign(device) for sign in signs)) if grouping else device
        groups[key].append(device)
    classes = tuple(
        SymmetryClass(index, tuple(devices), tuple(takers[devices[0]])) for index, devices in enumerate(groups.values())
    )
    lots_of: list[list[int]] = [[] for _ in merged.alternatives]
    for class_ in classes:
        for alternative_index in class_.alternatives:
            lots_of[alternative_index].append(class_.index)
    return SymmetryReducedProblem(merged, classes, tuple(map(tuple, lots_of)))


def claims_with_admin_access(problem: Problem, units: Sequence[UnitCopies]) -> frozenset[int]:
    """List the claims of units with an admin request; claims of none of ``units`` are one unit.

    What it leaves to the other claims depends on which of them come before it (DEV-1).
    """
    optional = [claims for unit in units for claims in unit.claims]
    rest = set(range(len(problem.claims))).difference(*optional)
    admin = {demand.claim for demand in problem.demands if demand.admin}
    return frozenset(claim for claims in (*optional, rest) if not admin.isdisjoint(claims) for claim in claims)


def is_split_by_placements(problem: Problem, relation: Relation) -> bool:
    """Tell whether a relation is about shapes that are listed one by one and have no device in common."""
    condition = relation.condition
    if not isinstance(condition, TopologyCondition) or not relation.hard or len(relation.claims) > 1:
        return False
    return condition.enumerable and not problem.shared
