"""Gangs and coverage groups of a plan as gang classes and roles.

Equal gangs that are placed whole are one gang class. A gang that may be placed in part, or whose running members count,
has a gang class for whether it is placed, and one for each of its members. So has a coverage group, of which members
are placed until their values add up to its demand. A gang that is bound to a domain of a node label has all of these
once for each value of the label, and one value is chosen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING

from ....models.kubernetes.core import Node
from ....models.workload.expansion import QueuedUnit
from ....models.workload.group_trees import GroupKey, ParentGroup
from ....models.workload.unit_classes import Gang
from ...engines.copies import connected_groups
from ..master_problem import (
    CouplingRow,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    PlanCompletion,
    Terms,
)
from .units import ColocatedUnits, UnitClass

if TYPE_CHECKING:
    from ....models.workload.evictions import DisruptionTerms


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
    if any(gang.parents for gang in gangs):
        problem = "members share claims with others, and are in a group of groups: both together are not planned"
    if len(domains) > 1:
        together = " and ".join(domains)
        problem = f"members share claims with a gang of another domain: {together} together are not planned"
    domain = domains[0] if domains else None
    return replace(gangs[0], minimum=None, domain=domain, running_nodes=placed, problem=problem, parents=())


Member = tuple[UnitClass, ColocatedUnits]
MemberAlternatives = Sequence[Member]
"""A member of a gang, or the ways to choose some of several that share a claim: all of them first."""
_GangSignature = tuple[str | None, tuple[str, ...] | None, tuple[tuple[int, int], ...]]
"""Equal for equal whole gangs: domain label, its values, and how many members of each unit class they have."""


GangSets = tuple[tuple[Member, ...], ...]
"""Sets of units that are placed together; each set has as many of each unit class as any other."""


_Way = tuple[UnitClass, GangSets, int]
"""Sets of units that may be placed for a gang, and what one set counts: members, or what they cover."""


@dataclass(frozen=True, slots=True, eq=False)
class GangAlternative:
    """A gang class of the instance: the sets of units it may stand for, and the role that each unit class plays.

    Several alternatives may be about the same sets, in one domain each. One without sets only says whether a gang with
    a minimum is placed, or whether a coverage group is ``covered``.
    """

    gang_sets: GangSets | None
    roles: Mapping[int, int]
    unit_classes: tuple[UnitClass, ...] = ()
    covered: Gang | None = None


@dataclass
class _TreeLevel:
    """A group of groups with its switches by domain, and those of the groups right below it."""

    parent: ParentGroup
    switches: Sequence[tuple[Domain | None, int]]
    children: dict[GroupKey, Sequence[tuple[Domain | None, int]]] = field(default_factory=dict)

    def rows(self) -> Iterator[CouplingRow]:
        """Groups are placed with the one above them, in a part of its domain, and enough of them at once (WLG-16)."""
        if len(self.switches) > 1:
            yield CouplingRow(Terms(gangs={number: 1 for _, number in self.switches}), upper=1)
        for place, switch in self.switches:
            wanted, counted = frozenset(place or ()), list[int]()
            for key, own in self.children.items():
                near = [number for domain, number in own if wanted <= frozenset(domain or ())]
                if near:
                    yield CouplingRow(Terms(gangs={**dict.fromkeys(near, 1), switch: -1}), upper=0)
                counted += [] if key in self.parent.satisfied else near
            if self.parent.needed > 0:
                yield CouplingRow(Terms(gangs={**dict.fromkeys(counted, 1), switch: -self.parent.needed}), lower=0)


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
    _trees: dict[GroupKey, _TreeLevel] = field(default_factory=dict)

    def build(self, gangs: Mapping[Gang, Sequence[MemberAlternatives]]) -> None:
        """Add all gangs of the queue with their members that are to be placed."""
        whole: dict[_GangSignature, list[tuple[Member, ...]]] = defaultdict(list)
        for gang, choices in gangs.items():
            members = tuple(choice[0] for choice in choices)
            domains = self._domains(gang)
            units = sum(unit_class.size for unit_class, _ in members)
            running = len(gang.running_nodes)
            problem = gang.problem or gang.too_small(units) or _covers_too_little(gang, choices)
            if problem:
                self.unplaceable.update((position, problem) for _, entry in members for position in entry.positions)
            elif gang.parents:
                places = self._places(gang.domain, gang.running_nodes, gang.parents)
                switches = self._partial(gang, (gang.minimum or units) - running, {}, places, choices)
                self._below(gang.parents, gang.key, list(zip(places, switches, strict=True)))
            elif gang.minimum is None or (gang.minimum == units + running and gang.demand is None):
                counts = tuple(sorted(Counter(unit_class.index for unit_class, _ in members).items()))
                whole[gang.domain, domains, counts].append(members)
            else:
                enough, values = _missing_coverage(gang, choices) if gang.demand else (gang.minimum - running, {})
                self._partial(gang, enough, values, list(_domain_values(gang.domain, domains)), choices)
        for level in self._trees.values():
            self.rows += level.rows()
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

    def _places(self, label: str | None, running: Sequence[str], parents: Sequence[ParentGroup]) -> list[Domain | None]:
        """The values of the labels of a group and of all above it that nodes have together; None alone for no label."""
        levels = [(label, running), *((one.domain, one.running_nodes) for one in parents)]
        labels = sorted({own for own, _ in levels if own is not None})
        if not labels:
            return [None]
        fixed = {
            own: (self.by_name[name].metadata.labels or {}).get(own)
            for own, names in levels
            for name in names
            if own is not None and name in self.by_name
        }
        found: set[Domain] = set()
        for node in self.nodes:
            values = {own: (node.metadata.labels or {}).get(own) for own in labels}
            if all(value is not None and fixed.get(own, value) == value for own, value in values.items()):
                found.add(tuple((own, value) for own, value in values.items() if value is not None))
        return list[Domain | None](sorted(found))

    def _below(
        self, parents: Sequence[ParentGroup], child: GroupKey, switches: Sequence[tuple[Domain | None, int]]
    ) -> None:
        """Tie a group to the one above it, which gets switches of its own at the first group."""
        parent, above = parents[0], parents[1:]
        level = self._trees.get(parent.key)
        if level is None:
            places = self._places(parent.domain, parent.running_nodes, above)
            own = [(place, self.add(MasterGangClass((), 1), GangAlternative(None, {}))) for place in places]
            level = self._trees[parent.key] = _TreeLevel(parent, own)
            if above:
                self._below(above, parent.key, own)
        level.children[child] = switches

    def _partial(
        self,
        gang: Gang,
        enough: int,
        values: Mapping[int, int],
        places: Sequence[Domain | None],
        choices: Sequence[MemberAlternatives],
    ) -> list[int]:
        """A switch says whether the gang is placed, and each of its members is a choice of its own.

        There is one for each of the ``places``, in their order. ``values`` are those of the members of a coverage
        group, by position in the queue; others count 1 each.
        """
        singles: dict[tuple[UnitClass, int], list[tuple[Member, ...]]] = defaultdict(list)
        ways: list[list[_Way]] = []
        for choice in choices:
            valued = [(kind, entry, sum(values.get(place, 1) for place in entry.positions)) for kind, entry in choice]
            if len(valued) == 1:
                unit_class, entry, value = valued[0]
                singles[unit_class, value].append(((unit_class, entry),))
            else:
                ways.append([(unit_class, (((unit_class, entry),),), value) for unit_class, entry, value in valued])
        ways += [[(unit_class, tuple(sets), value)] for (unit_class, value), sets in singles.items()]
        switches = [self._switch(gang, ways, enough, domain) for domain in places]
        if len(switches) > 1:
            self.rows.append(CouplingRow(Terms(gangs=dict.fromkeys(switches, 1)), upper=1))
        return switches

    def _switch(self, gang: Gang, ways: Sequence[Sequence[_Way]], enough: int, domain: Domain | None) -> int:
        """Post one gang in one domain; of several ways for the same units one is chosen at most."""
        covered = gang if gang.demand is not None else None
        switch = self.add(MasterGangClass((), 1), GangAlternative(None, {}, covered=covered))
        placed: dict[int, int] = {}
        for way in ways:
            own: dict[int, int] = {}
            for unit_class, gang_sets, value in way:
                number = self._gang(gang_sets, [unit_class], {unit_class.index: 1}, domain, len(gang_sets))
                placed[number] = value
                own[number] = 1
            most = max(len(gang_sets) for _, gang_sets, _ in way)
            self.rows.append(CouplingRow(Terms(gangs={**own, switch: -most}), upper=0))
        if enough > 0:
            self.rows.append(CouplingRow(Terms(gangs={**placed, switch: -enough}), lower=0))
        if gang.most is not None:
            self.rows.append(CouplingRow(Terms(gangs=placed), upper=gang.most))
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


def forbid_coverage(units: Iterable[QueuedUnit], beside: str) -> None:
    """Raise ``ValueError`` for a member of a coverage group among these units."""
    for gang in (planned.unit_set.gang for planned in units):
        if gang is not None and gang.demand is not None:
            raise ValueError(f"{gang.label}: coverage groups are not planned beside {beside}")


def _values(choices: Sequence[MemberAlternatives]) -> dict[int, Decimal]:
    """What each member adds to its coverage group, by position in the queue."""
    wholes = (choice[0][1] for choice in choices)
    return {
        place: planned.unit_set.coverage
        for whole in wholes
        for place, planned in zip(whole.positions, whole.units, strict=True)
    }


def _covers_too_little(gang: Gang, choices: Sequence[MemberAlternatives]) -> str:
    """Say that all members together do not cover the demand of their group; nothing if they do."""
    most = gang.served + sum(_values(choices).values())
    return gang.falls_short(most) if gang.demand is not None and most < gang.demand else ""


def _missing_coverage(gang: Gang, choices: Sequence[MemberAlternatives]) -> tuple[int, dict[int, int]]:
    """What is missing beside the members that run, and the value of each member, in whole numbers.

    A member that covers more than is missing covers all of it: that makes the linear relaxation tighter.
    """
    missing = max(Fraction(0), Fraction(gang.demand or 0) - Fraction(gang.served))
    values = {place: min(missing, Fraction(value)) for place, value in _values(choices).items()}
    scale = lcm(*(amount.denominator for amount in (missing, *values.values())))
    divisor = gcd(*(int(amount * scale) for amount in (missing, *values.values()))) or 1
    return int(missing * scale) // divisor, {place: int(value * scale) // divisor for place, value in values.items()}


def _domain_values(label: str | None, domains: tuple[str, ...] | None) -> Iterator[Domain | None]:
    if label is None or domains is None:
        yield None
        return
    yield from (((label, value),) for value in domains)


Domain = tuple[tuple[str, str], ...]
"""Node labels, each with one of its values."""
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
    ungrouped: Sequence[ColocatedUnits] = ()
    move_cost: int | None = None
    disruption: DisruptionTerms | None = None
    cell: Cell = ()

    @property
    def may_go(self) -> bool:
        """Whether it is that of running pods at home that may lose their places."""
        return self.move_cost is not None and self.disruption is not None and self.disruption.evictable


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


def master_problem(
    roles: Sequence[GangRole], nodes: Iterable[int], gangs: GangBuilder, completion: PlanCompletion | None
) -> MasterProblem:
    """Units, numbers of nodes of each class, and gangs, without rows."""
    return MasterProblem(
        tuple(MasterUnitClass(role.index, len(role.ungrouped), role.unit_class.size, role.may_go) for role in roles),
        tuple(MasterNodeClass(index, count) for index, count in enumerate(nodes)),
        tuple(gangs.gangs),
        completion=completion,
    )
