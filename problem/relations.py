"""Relations: conditions on the complete set of devices that an entry covers (CELC-3).

What is monotonic and inside one claim is a ``records.Constraint``, with which a search prunes. All else is judged when
every request that it covers has its devices: expressions over ``devices``, topologies, predicates, entries that span
claims, and soft entries, which only cost something.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from .messages import Message

if TYPE_CHECKING:
    from .records import Problem

Member = tuple[int, int]
"""A demand and a device taken for it, by their numbers in the Problem."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A condition could not be judged: the text of a run-time error (CELC-4)."""

    message: Message


class Condition(Protocol):
    """What must hold of a set of devices; plain data of numbers, or a text with what it is asked about."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the devices can matter (CELC-7)."""
        raise NotImplementedError

    def sight(self, device: int) -> Hashable:
        """Return what it sees of a device: devices with equal sights are interchangeable for it."""
        raise NotImplementedError

    def role(self, demand: int) -> Hashable:
        """Return what tells demands apart that take the same device."""
        raise NotImplementedError

    def judge(self, members: Sequence[Member]) -> bool | Trouble:
        """Judge a complete set, in result order: by demand, then by device (CELC-2)."""
        raise NotImplementedError

    def renumbered(self, demands: Mapping[int, int]) -> Condition:
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
    condition: Condition
    weight: int | None = None
    per_pair: bool = False
    fatal: bool = False
    """Trouble aborts the allocation when a search meets it: policy ``kube`` (CELC-4)."""
    tolerant: bool = False
    """Trouble counts as true: to find out whether errors alone stand in the way (CELC-4)."""

    @property
    def hard(self) -> bool:
        """It must hold."""
        return self.weight is None

    def verdict(self, members: Sequence[Member]) -> bool | Trouble:
        """Judge all members that it covers; it holds if there are none (SEM-0)."""
        covered = sorted(member for member in members if member[0] in self.demands)
        if not covered:
            return True
        found = self.condition.judge(covered)
        return True if self.tolerant and isinstance(found, Trouble) else found

    def renumbered(self, claims: int, demands: Mapping[int, int]) -> Relation:
        """Return the relation after its claims moved by so many, and its demands got new numbers."""
        return replace(
            self,
            claims=tuple(claim + claims for claim in self.claims),
            demands=frozenset(demands[demand] for demand in self.demands),
            condition=self.condition.renumbered(demands),
        )


def tolerant(problem: Problem) -> Problem:
    """Let errors count as true; the problem itself if no relation must hold."""
    if not any(relation.hard for relation in problem.relations):
        return problem
    relations = tuple(replace(one, tolerant=True) if one.hard else one for one in problem.relations)
    return replace(problem, relations=relations)
