"""The queue as unit classes, gangs and roles.

Units that share a claim without devices go to one node. It need not be all of them. Where one claim is common to all,
each way to choose some of them is a variant, and at most one variant of a set is placed. Chains of units that share
claims, and sets with too many variants, are planned as single units beside their claims: a node has a claim once, for
all units there that name it, and one node at most has it (``SharedClaims``).

Equal gangs that are placed whole are one gang class. A gang that may be placed in part, or whose running members count,
has a gang class for whether it is placed, and one for each of its members. A gang that is bound to a domain of a node
label has all of these once for each value of the label, and one value is chosen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from ....models.kubernetes.claims import AllocationResult, ResourceClaim
from ....models.kubernetes.core import Node, PodSpec
from ....models.kubernetes.meta import ObjectKey
from ....models.workload.expansion import QueuedUnit
from ....models.workload.requests import Requests, sum_requests
from ....models.workload.unit_classes import Gang, UnitShape
from ....models.workload.units import ClaimRef
from ....problem.node_classes import group_equal
from ...engines.copies import connected_groups
from ..master_problem import CouplingRow, MasterGangClass, Terms

if TYPE_CHECKING:
    from ....models.workload.evictions import DisruptionTerms


@dataclass(frozen=True, slots=True, eq=False)
class ColocatedUnits:
    """Units of the queue that go to one node together: one, or several that share a claim without devices.

    The claims ``apart`` are planned on their own.
    """

    positions: tuple[int, ...]
    units: tuple[QueuedUnit, ...]
    apart: frozenset[ObjectKey] = frozenset()

    @property
    def unallocated_claims(self) -> tuple[ClaimRef, ...]:
        """The claims that need devices, each once, but for those that are planned apart."""
        refs: dict[object, ClaimRef] = {}
        for planned in self.units:
            for ref in planned.unit.requested_claims:
                if ref.key not in self.apart:
                    refs.setdefault(ref.key, ref)
        return tuple(refs.values())


@dataclass(frozen=True, eq=False)
class UnitClass:
    """Equal units of the queue, or equal sets of units that go together; ``shapes`` are those of one entry.

    One without entries is ``shared``, a claim that several units name.
    """

    index: int
    entries: Sequence[ColocatedUnits]
    shapes: tuple[UnitShape, ...]
    shared: ClaimRef | None = None

    @cached_property
    def claims(self) -> list[ResourceClaim]:
        """The claims of one entry that need devices."""
        refs = self.entries[0].unallocated_claims if self.shared is None else (self.shared,)
        return [ref.claim for ref in refs if ref.claim is not None]

    @property
    def apart(self) -> frozenset[ObjectKey]:
        """The claims that it names and that are planned on their own."""
        return self.entries[0].apart if self.entries else frozenset()

    @cached_property
    def _units(self) -> tuple[QueuedUnit, ...]:
        return self.entries[0].units if self.entries else ()

    @cached_property
    def specs(self) -> list[PodSpec]:
        """The specs of its pods."""
        return [planned.unit.pod.spec for planned in self._units if planned.unit.pod is not None]

    @cached_property
    def earlier(self) -> list[AllocationResult]:
        """Allocations that its claims have already, which restrict its nodes (SCHED-2)."""
        return [made for planned in self._units for made in planned.unit.existing_allocations()]

    @cached_property
    def requests(self) -> Requests:
        """The amounts that one entry takes of a node's allocatable."""
        return sum_requests(shape.requests for shape in self.shapes)

    @property
    def size(self) -> int:
        """How many units one entry has."""
        return len(self.shapes)


def group_unit_classes(entries: Iterable[ColocatedUnits], first: int = 0) -> list[UnitClass]:
    """Group equal entries, in the order of the first of each class, and number the classes from ``first``."""
    return [
        UnitClass(index, own, tuple(planned.unit_set.shape for planned in own[0].units))
        for index, own in enumerate(group_equal(entries, colocated_signature), first)
    ]


def colocated_signature(entry: ColocatedUnits) -> tuple[bytes, ...]:
    """Equal for equal entries."""
    return tuple(planned.unit_set.shape.signature for planned in entry.units)


# With more ways to choose some of the units, only those are looked at that leave out the last ones.
_MOST_VARIANTS = 64
SharingUnit = tuple[int, QueuedUnit]


def group_by_shared_claims(
    queue: Sequence[QueuedUnit], left: Iterable[int]
) -> tuple[list[ColocatedUnits], list[list[ColocatedUnits]]]:
    """Return the units that stand alone, and for each set of units that share claims its variants."""
    positions = list(left)
    sharing = _claim_sharing_sets([(position, queue[position]) for position in positions])
    shared = {position for own in sharing for position, _ in own}
    single = [ColocatedUnits((position,), (queue[position],)) for position in positions if position not in shared]
    return single, [list(_variants(own)) for own in sharing]


def omits_variants(variants: Sequence[ColocatedUnits]) -> bool:
    """Whether some ways to choose units are not among the variants, of which the first has all units.

    Where no claim is common to all units, some of them may be on one node, and others on another one.
    """
    whole = variants[0]
    in_common = frozenset.intersection(*map(_open_claims, whole.units))
    return not in_common or _variant_count(_by_shape(zip(whole.positions, whole.units, strict=True))) > len(variants)


def _open_claims(planned: QueuedUnit) -> frozenset[ObjectKey]:
    return frozenset(ref.key for ref in planned.unit.requested_claims)


# So many claims are planned apart from the units that name them; each is a question of its own on each node.
_MOST_CLAIMS_APART = 64


@dataclass
class SharedClaims:
    """Claims that are planned apart from the units that name them, by key.

    ``relaxed``: all shared claims are planned apart, and those beyond the most that are so take nothing.
    """

    relaxed: bool = False
    is_narrowed: bool = False
    refs: dict[ObjectKey, ClaimRef] = field(default_factory=dict)

    def separated(self, variants: Sequence[ColocatedUnits], *, always: bool = False) -> list[ColocatedUnits]:
        """The units of a set one by one, with what they share apart; none where the variants are all that there is.

        With ``always`` the variants do not matter; none then if there are too many claims.

        A claim with admin access is allocated together with the others of the first unit that names it, in whose way it
        is (DEV-1). As that may be any unit, it is in the way of all, and some plans are left out.
        """
        whole = variants[0]
        gangs = {planned.unit_set.gang for planned in whole.units}
        refs = {ref.key: ref for planned in whole.units for ref in planned.unit.requested_claims}
        named = Counter(key for planned in whole.units for key in _open_claims(planned))
        shared = [key for key in refs if named[key] > 1]
        pairs = zip(whole.positions, whole.units, strict=True)
        single = [ColocatedUnits((place,), (one,), _open_claims(one).intersection(shared)) for place, one in pairs]
        if self.relaxed:
            self.refs.update([(key, refs[key]) for key in shared][: _MOST_CLAIMS_APART - len(self.refs)])
            return single
        if len(self.refs) + len(shared) > _MOST_CLAIMS_APART:
            return []
        if not always and len(gangs) == 1 and not omits_variants(variants):
            return []
        self.is_narrowed |= any(map(_has_admin_access, refs.values()))
        self.refs.update((key, refs[key]) for key in shared)
        return single

    def unit_classes(self, first: int) -> list[UnitClass]:
        """The claims as unit classes without entries, numbered from ``first``."""
        return [UnitClass(index, (), (), ref) for index, ref in enumerate(self.refs.values(), first)]


def _has_admin_access(ref: ClaimRef) -> bool:
    requests = (ref.claim.spec.devices.requests if ref.claim else None) or ()
    return any(request.exactly is not None and request.exactly.admin_access for request in requests)


def _claim_sharing_sets(units: Sequence[SharingUnit]) -> list[list[SharingUnit]]:
    """Sets of units that share claims, directly or through others, in their order."""
    claims: dict[int, list[ObjectKey]] = {}
    for position, planned in units:
        keys = [claim.key for claim in planned.unit_set.shape.claims if claim.key is not None and not claim.allocated]
        if keys:
            claims[position] = keys
    by_position = dict(units)
    sets = [group for group in connected_groups(claims) if len(group) > 1]
    return [[(position, by_position[position]) for position in group] for group in sets]


def _variants(units: Sequence[SharingUnit]) -> Iterator[ColocatedUnits]:
    """Yield all ways to choose some of the units, all of them first; units of one shape come in their order."""
    shapes = _by_shape(units)
    if _variant_count(shapes) > _MOST_VARIANTS:
        for count in range(len(units), max(0, len(units) - _MOST_VARIANTS), -1):
            yield _colocated(units[:count])
        return
    for counts in product(*(range(len(own), -1, -1) for own in shapes)):
        chosen = [unit for own, count in zip(shapes, counts, strict=True) for unit in own[:count]]
        if chosen:
            yield _colocated(sorted(chosen, key=lambda unit: unit[0]))


def _by_shape(units: Iterable[SharingUnit]) -> list[list[SharingUnit]]:
    """Units of one shape together, in their order."""
    return group_equal(units, lambda unit: unit[1].unit_set.shape.signature)


def _variant_count(shapes: Sequence[Sequence[SharingUnit]]) -> int:
    """How many ways there are to choose some."""
    return prod(len(own) + 1 for own in shapes) - 1


def _colocated(units: Sequence[SharingUnit]) -> ColocatedUnits:
    return ColocatedUnits(tuple(position for position, _ in units), tuple(planned for _, planned in units))


@dataclass
class GangMembership:
    """Members of gangs, and choices that are ``free`` of any.

    Gangs some of whose members share a claim with units of other gangs, or of none, become one that is placed whole:
    then plans are left out, which ``is_narrowed`` says.
    """

    free: list[MemberAlternatives] = field(default_factory=list)
    is_narrowed: bool = False
    _choices: list[tuple[tuple[Gang, ...], MemberAlternatives]] = field(default_factory=list)

    def add(self, choice: MemberAlternatives) -> None:
        """Add a unit, or units that share a claim, with all ways to choose some of them."""
        gangs = [planned.unit_set.gang for planned in choice[0][1].units]
        own = tuple(dict.fromkeys(gang for gang in gangs if gang is not None))
        if not own:
            self.free.append(choice)
        elif len(own) == 1 and None not in gangs:
            self._choices.append((own, choice))
        else:
            self.is_narrowed = True
            self._choices.append(((*own, _WHOLE_GANG), choice[:1]))

    def gangs(self) -> Mapping[Gang, list[MemberAlternatives]]:
        """The members of each gang."""
        found: dict[Gang, list[MemberAlternatives]] = defaultdict(list)
        joined = self._joined()
        for own, choice in self._choices:
            gang = joined.get(own[0], own[0])
            found[gang].append(choice[:1] if gang.minimum is None else choice)
        return found

    def _joined(self) -> dict[Gang, Gang]:
        """For each gang that shares claims with others the gang that stands for all of them."""
        members = Counter(planned.unit_set.gang for _, choice in self._choices for planned in choice[0][1].units)
        tied = [[gang for gang in own if gang != _WHOLE_GANG] for own, _ in self._choices if len(own) > 1]
        found: dict[Gang, Gang] = {}
        for numbers in connected_groups(dict(enumerate(tied))):
            gangs = list(dict.fromkeys(gang for number in numbers for gang in tied[number]))
            found.update(dict.fromkeys(gangs, _merged_gang(gangs, members)))
        return found


# Stands beside a gang that must be placed whole for the sake of what it shares.
_WHOLE_GANG = Gang("Gang", "", "")


def _merged_gang(gangs: Sequence[Gang], members: Mapping[Gang | None, int]) -> Gang:
    """One gang in place of several: all members of all of them, on nodes that suit each."""
    domains = sorted({gang.domain for gang in gangs if gang.domain is not None})
    placed = tuple(sorted({name for gang in gangs for name in gang.running_nodes}))
    problem = next((said for gang in reversed(gangs) if (said := gang.too_small(members[gang]))), "")
    if len(domains) > 1:
        together = " and ".join(domains)
        problem = f"members share claims with a gang of another domain: {together} together are not planned"
    domain = domains[0] if domains else None
    return replace(gangs[0], minimum=None, domain=domain, running_nodes=placed, problem=problem)


Member = tuple[UnitClass, ColocatedUnits]
MemberAlternatives = Sequence[Member]
"""A member of a gang, or the ways to choose some of several that share a claim: all of them first."""
_GangSignature = tuple[str | None, tuple[str, ...] | None, tuple[tuple[int, int], ...]]
"""Equal for equal whole gangs: domain label, its values, and how many members of each unit class they have."""


GangSets = tuple[tuple[Member, ...], ...]
"""Sets of units that are placed together; each set has as many of each unit class as any other."""


@dataclass(frozen=True, slots=True, eq=False)
class GangAlternative:
    """A gang class of the instance: the sets of units it may stand for, and the role that each unit class plays.

    Several alternatives may be about the same sets, in one domain each. One without sets only says whether a gang with
    a minimum is placed.
    """

    gang_sets: GangSets | None
    roles: Mapping[int, int]
    unit_classes: tuple[UnitClass, ...] = ()


@dataclass
class GangBuilder:
    """Collects gang classes and their rows."""

    roles: GangRoles
    nodes: Sequence[Node]
    by_name: Mapping[str, Node]
    gangs: list[MasterGangClass] = field(default_factory=list)
    alternatives: list[GangAlternative] = field(default_factory=list)
    rows: list[CouplingRow] = field(default_factory=list)
    unplaceable: dict[int, str] = field(default_factory=dict)

    def build(self, gangs: Mapping[Gang, Sequence[MemberAlternatives]]) -> None:
        """Add all gangs of the queue with their members that are to be placed."""
        whole: dict[_GangSignature, list[tuple[Member, ...]]] = defaultdict(list)
        for gang, choices in gangs.items():
            members = tuple(choice[0] for choice in choices)
            domains = self._domains(gang)
            units = sum(unit_class.size for unit_class, _ in members)
            running = len(gang.running_nodes)
            problem = gang.problem or gang.too_small(units)
            if problem:
                self.unplaceable.update((position, problem) for _, entry in members for position in entry.positions)
            elif gang.minimum is None or gang.minimum == units + running:
                counts = tuple(sorted(Counter(unit_class.index for unit_class, _ in members).items()))
                whole[gang.domain, domains, counts].append(members)
            else:
                self._partial(gang, gang.minimum - running, domains, choices)
        for (label, domains, _), sets in whole.items():
            self._whole(label, domains, sets)

    def domains_of(self, gang: Gang | None) -> Iterator[Domain | None]:
        """The domains of which a gang has one; None alone where it asks for none."""
        return _domain_values(gang.domain, self._domains(gang)) if gang else iter([None])

    def _domains(self, gang: Gang) -> tuple[str, ...] | None:
        """The values of the label that all members may share; None where none is asked for."""
        if gang.domain is None:
            return None
        values = set(map(gang.domain_value, self.nodes))
        for name in gang.running_nodes:
            if name in self.by_name:
                values &= {gang.domain_value(self.by_name[name])}
        return tuple(sorted(value for value in values if value is not None))

    def _whole(self, label: str | None, domains: tuple[str, ...] | None, sets: Sequence[tuple[Member, ...]]) -> None:
        gang_sets = tuple(sets)
        unit_classes = list(dict.fromkeys(unit_class for unit_class, _ in sets[0]))
        sizes = Counter(unit_class.index for unit_class, _ in sets[0])
        positions = _domain_values(label, domains)
        numbers = [self._gang(gang_sets, unit_classes, sizes, domain, len(sets)) for domain in positions]
        if len(numbers) > 1:
            self.rows.append(CouplingRow(Terms(gangs=dict.fromkeys(numbers, 1)), upper=len(sets)))

    def _partial(
        self, gang: Gang, enough: int, domains: tuple[str, ...] | None, choices: Sequence[MemberAlternatives]
    ) -> None:
        """A switch says whether the gang is placed, and each of its members is a choice of its own."""
        singles: dict[UnitClass, list[tuple[Member, ...]]] = defaultdict(list)
        ways: list[list[tuple[UnitClass, GangSets]]] = []
        for choice in choices:
            if len(choice) == 1:
                singles[choice[0][0]].append((choice[0],))
            else:
                ways.append([(unit_class, (((unit_class, entry),),)) for unit_class, entry in choice])
        ways += [[(unit_class, tuple(sets))] for unit_class, sets in singles.items()]
        values = _domain_values(gang.domain, domains)
        switches = [self._switch(ways, enough, domain, gang.most) for domain in values]
        if len(switches) > 1:
            self.rows.append(CouplingRow(Terms(gangs=dict.fromkeys(switches, 1)), upper=1))

    def _switch(
        self,
        ways: Sequence[Sequence[tuple[UnitClass, GangSets]]],
        enough: int,
        domain: Domain | None,
        limit: int | None,
    ) -> int:
        """Post one gang in one domain; of several ways for the same units one is chosen at most."""
        switch = self.add(MasterGangClass((), 1), GangAlternative(None, {}))
        placed: dict[int, int] = {}
        for way in ways:
            own: dict[int, int] = {}
            for unit_class, gang_sets in way:
                number = self._gang(gang_sets, [unit_class], {unit_class.index: 1}, domain, len(gang_sets))
                placed[number] = unit_class.size
                own[number] = 1
            most = max(len(gang_sets) for _, gang_sets in way)
            self.rows.append(CouplingRow(Terms(gangs={**own, switch: -most}), upper=0))
        if enough > 0:
            self.rows.append(CouplingRow(Terms(gangs={**placed, switch: -enough}), lower=0))
        if limit is not None:
            self.rows.append(CouplingRow(Terms(gangs=placed), upper=limit))
        return switch

    def _gang(
        self,
        gang_sets: GangSets,
        unit_classes: Iterable[UnitClass],
        sizes: Mapping[int, int],
        domain: Domain | None,
        demand: int,
    ) -> int:
        played = {unit_class.index: self.roles.of(unit_class, domain).index for unit_class in unit_classes}
        members = tuple((played[unit_class], size) for unit_class, size in sorted(sizes.items()))
        return self.add(MasterGangClass(members, demand), GangAlternative(gang_sets, played, tuple(unit_classes)))

    def add(self, gang: MasterGangClass, choice: GangAlternative) -> int:
        """Add a gang class and return its number."""
        self.gangs.append(gang)
        self.alternatives.append(choice)
        return len(self.gangs) - 1


def _domain_values(label: str | None, domains: tuple[str, ...] | None) -> Iterator[Domain | None]:
    if label is None or domains is None:
        yield None
        return
    yield from ((label, value) for value in domains)


Domain = tuple[str, str]
"""A node label and one of its values."""
Cell = tuple[tuple[str, str | None], ...]
"""Node labels with values, None where a node has none."""


@dataclass(slots=True, eq=False)
class GangRole:
    """A unit class of the instance. ``ungrouped`` are the entries that no gang places.

    Roles of one class in a ``cell`` each have the same entries, of which rows allow each once. One with a
    ``move_cost`` is that of running pods that stay on their nodes, which cost so much to move. One with a
    ``disruption`` is about running pods for which that holds, whether they stay or go elsewhere.
    """

    index: int
    unit_class: UnitClass
    domain: Domain | None = None
    ungrouped: list[ColocatedUnits] = field(default_factory=list)
    move_cost: int | None = None
    disruption: DisruptionTerms | None = None
    cell: Cell = ()


class GangRoles:
    """All roles, numbered in the order of the first use."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Hashable], GangRole] = {}

    def of(self, unit_class: UnitClass, domain: Domain | None = None) -> GangRole:
        """Return the role of a unit class in a domain."""
        key = unit_class.index, domain
        role = self._known.get(key)
        if role is None:
            role = self._known[key] = GangRole(len(self._known), unit_class, domain)
        return role

    def in_cell(self, role: GangRole, cell: Cell) -> GangRole:
        """The role of the same units on nodes with these labels."""
        made = GangRole(len(self._known), role.unit_class, ungrouped=role.ungrouped, cell=cell)
        return self._known.setdefault((role.unit_class.index, cell), made)

    def at_home(self, unit_class: UnitClass, cost: int, slot: int, disruption: DisruptionTerms) -> GangRole:
        """The role of running pods that stay, by what it costs to move them; those of one node are in slots."""
        key = unit_class.index, (cost, slot, disruption)
        role = self._known.get(key)
        if role is None:
            role = GangRole(len(self._known), unit_class, move_cost=cost, disruption=disruption)
            self._known[key] = role
        return role

    def away(self, unit_class: UnitClass, disruption: DisruptionTerms) -> GangRole:
        """The role of running pods that go elsewhere, apart from those that wait."""
        key = unit_class.index, ("away", disruption)
        role = self._known.get(key)
        if role is None:
            role = self._known[key] = GangRole(len(self._known), unit_class, disruption=disruption)
        return role

    @property
    def all(self) -> Sequence[GangRole]:
        """All of them, by number."""
        return list(self._known.values())
