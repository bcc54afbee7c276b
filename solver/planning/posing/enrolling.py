"""Which gang each unit of the queue belongs to, also where units of several gangs share a claim."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....models.planned_sets import Gang
from ...capacity_parts import linked
from .gangs import Choice


@dataclass
class Enrolled:
    """Members of gangs, and choices that are ``free`` of any.

    Gangs some of whose members share a claim with units of other gangs, or of none, become one that is placed whole:
    then plans are left out, which ``is_narrowed`` says.
    """

    free: list[Choice] = field(default_factory=list)
    is_narrowed: bool = False
    _choices: list[tuple[tuple[Gang, ...], Choice]] = field(default_factory=list)

    def enrol(self, choice: Choice) -> None:
        """Take a unit, or units that share a claim, with all ways to choose some of them."""
        gangs = [planned.set.gang for planned in choice[0][1].party]
        own = tuple(dict.fromkeys(gang for gang in gangs if gang is not None))
        if not own:
            self.free.append(choice)
        elif len(own) == 1 and None not in gangs:
            self._choices.append((own, choice))
        else:
            self.is_narrowed = True
            self._choices.append(((*own, _ALL), choice[:1]))

    def gangs(self) -> Mapping[Gang, list[Choice]]:
        """The members of each gang."""
        found: dict[Gang, list[Choice]] = defaultdict(list)
        joined = self._joined()
        for own, choice in self._choices:
            gang = joined.get(own[0], own[0])
            found[gang].append(choice[:1] if gang.minimum is None else choice)
        return found

    def _joined(self) -> dict[Gang, Gang]:
        """For each gang that is tied to others what stands for all of them."""
        members = Counter(
            planned.set.gang for _, choice in self._choices for planned in choice[0][1].party if planned.set.gang
        )
        tied = [own for own, _ in self._choices if len(own) > 1]
        found: dict[Gang, Gang] = {}
        for numbers in linked({number: [one for one in own if one != _ALL] for number, own in enumerate(tied)}):
            gangs = [gang for gang in dict.fromkeys(one for number in numbers for one in tied[number]) if gang != _ALL]
            found.update(dict.fromkeys(gangs, _united(gangs, members)))
        return found


# Stands beside a gang that must be placed whole for the sake of what it shares.
_ALL = Gang("Gang", "", "")


def _united(gangs: Sequence[Gang], members: Mapping[Gang, int]) -> Gang:
    """One gang in place of several: all members of all of them, on nodes that suit each."""
    domains = sorted({gang.domain for gang in gangs if gang.domain is not None})
    placed = tuple(sorted({name for gang in gangs for name in gang.placed}))
    problem = next((said for gang in reversed(gangs) if (said := gang.too_small(members[gang]))), "")
    if len(domains) > 1:
        problem = (
            f"members share claims with a gang of another domain: {' and '.join(domains)} together are not planned"
        )
    domain = domains[0] if domains else None
    return replace(gangs[0], minimum=None, domain=domain, placed=placed, problem=problem)
