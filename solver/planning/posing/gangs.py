"""Gangs of the queue as gangs and rows of an instance.

Equal gangs that are placed whole are one class. A gang of which some are enough, or whose running members count, has a
choice of its own whether it is placed, and each of its members one. With a domain all of this is there once for each
value of the label, and one value is chosen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....models.core import Node
from ....models.planned_sets import Gang as QueueGang
from ..instance import Gang, Row, Terms
from .roles import Domain, Roles
from .unit_kinds import Entry, UnitKind

Member = tuple[UnitKind, Entry]
Choice = Sequence[Member]
"""A member of a gang, or the ways to choose some of several that share a claim: all of them first."""


_Likeness = tuple[str | None, tuple[str, ...] | None, tuple[tuple[int, int], ...]]
"""What makes whole gangs alike: domain label and its values, and how many members of each kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Flock:
    """Parties that are placed together, set by set; each set has as many of each kind as any other."""

    sets: tuple[tuple[Member, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class GangChoice:
    """A gang class of the instance: the sets of parties it may stand for, and the role that each kind plays.

    Several choices may be about one flock, in one domain each. A choice without a flock is a switch only.
    """

    flock: Flock | None
    roles: Mapping[int, int]
    kinds: tuple[UnitKind, ...] = ()


@dataclass
class GangPosing:
    """Collects gang classes and their rows."""

    roles: Roles
    nodes: Sequence[Node]
    by_name: Mapping[str, Node]
    gangs: list[Gang] = field(default_factory=list)
    choices: list[GangChoice] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    hopeless: dict[int, str] = field(default_factory=dict)

    def pose(self, gangs: Mapping[QueueGang, Sequence[Choice]]) -> None:
        """Pose all gangs of the queue with their members that are to be placed."""
        whole: dict[_Likeness, list[tuple[Member, ...]]] = defaultdict(list)
        for gang, choices in gangs.items():
            members = tuple(choice[0] for choice in choices)
            domains = self._domains(gang)
            units = sum(kind.size for kind, _ in members)
            running = len(gang.placed)
            problem = gang.problem or gang.too_small(units)
            if problem:
                self.hopeless.update((place, problem) for _, entry in members for place in entry.places)
            elif gang.minimum is None or gang.minimum == units + running:
                counts = tuple(sorted(Counter(kind.index for kind, _ in members).items()))
                whole[gang.domain, domains, counts].append(members)
            else:
                self._partial(gang, gang.minimum - running, domains, choices)
        for (label, domains, _), sets in whole.items():
            self._whole(label, domains, sets)

    def _domains(self, gang: QueueGang) -> tuple[str, ...] | None:
        """The values of the label that all members may share; None where none is asked for."""
        if gang.domain is None:
            return None
        running = [(self.by_name[name].metadata.labels or {}) for name in gang.placed if name in self.by_name]
        values = {(node.metadata.labels or {}).get(gang.domain) for node in self.nodes}
        for labels in running:
            values &= {labels.get(gang.domain)}
        return tuple(sorted(value for value in values if value is not None))

    def _whole(self, label: str | None, domains: tuple[str, ...] | None, sets: Sequence[tuple[Member, ...]]) -> None:
        flock = Flock(tuple(sets))
        kinds = list(dict.fromkeys(kind for kind, _ in sets[0]))
        sizes = Counter(kind.index for kind, _ in sets[0])
        places = _places(label, domains)
        posed = [self._gang(flock, kinds, sizes, domain, len(sets)) for domain in places]
        if len(posed) > 1:
            self.rows.append(Row(Terms(gangs=dict.fromkeys(posed, 1)), upper=len(sets)))

    def _partial(
        self, gang: QueueGang, enough: int, domains: tuple[str, ...] | None, choices: Sequence[Choice]
    ) -> None:
        """A switch says whether the gang is placed, and each of its members is a choice of its own."""
        alike: dict[UnitKind, list[tuple[Member, ...]]] = defaultdict(list)
        ways: list[list[tuple[UnitKind, Flock]]] = []
        for choice in choices:
            if len(choice) == 1:
                alike[choice[0][0]].append((choice[0],))
            else:
                ways.append([(kind, Flock((((kind, entry),),))) for kind, entry in choice])
        ways += [[(kind, Flock(tuple(sets)))] for kind, sets in alike.items()]
        switches = [self._switch(ways, enough, domain) for domain in _places(gang.domain, domains)]
        if len(switches) > 1:
            self.rows.append(Row(Terms(gangs=dict.fromkeys(switches, 1)), upper=1))

    def _switch(self, ways: Sequence[Sequence[tuple[UnitKind, Flock]]], enough: int, domain: Domain | None) -> int:
        """Post one gang in one domain; of several ways for the same units one is chosen at most."""
        switch = self._add(Gang((), 1), GangChoice(None, {}))
        placed: dict[int, int] = {}
        for way in ways:
            own: dict[int, int] = {}
            for kind, flock in way:
                number = self._gang(flock, [kind], {kind.index: 1}, domain, len(flock.sets))
                placed[number] = kind.size
                own[number] = 1
            self.rows.append(Row(Terms(gangs={**own, switch: -max(len(flock.sets) for _, flock in way)}), upper=0))
        if enough > 0:
            self.rows.append(Row(Terms(gangs={**placed, switch: -enough}), lower=0))
        return switch

    def _gang(
        self, flock: Flock, kinds: Iterable[UnitKind], sizes: Mapping[int, int], domain: Domain | None, demand: int
    ) -> int:
        played = {kind.index: self.roles.of(kind, domain).index for kind in kinds}
        members = tuple((played[kind], size) for kind, size in sorted(sizes.items()))
        return self._add(Gang(members, demand), GangChoice(flock, played, tuple(kinds)))

    def _add(self, gang: Gang, choice: GangChoice) -> int:
        self.gangs.append(gang)
        self.choices.append(choice)
        return len(self.gangs) - 1


def _places(label: str | None, domains: tuple[str, ...] | None) -> Iterator[Domain | None]:
    if label is None or domains is None:
        yield None
        return
    yield from ((label, value) for value in domains)
