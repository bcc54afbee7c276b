"""A plan over classes, unit by unit: which party of the queue goes to which node, and which devices it gets there."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..bundles.question import Bundle, Picks
from ..plan import Plan
from ..posing.ask import Posed
from ..posing.node_kinds import NodeKind
from ..posing.unit_kinds import Entry, UnitKind


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A party on a node of a kind: the number of the node there, and the picks of its claims."""

    entry: Entry
    kind: UnitKind
    node_kind: NodeKind
    number: int
    picks: Picks


def seats(posed: Posed, plan: Plan) -> list[Seat]:
    """Seat the parties that a plan places: by node, and there in the order in which they can be allocated."""
    waiting = _waiting(posed, plan)
    found: list[Seat] = []
    numbers: Counter[int] = Counter()
    for column, times in plan.columns:
        node = posed.nodes[column.node_class]
        bundle = posed.pricer.bundle(column)
        for _ in range(times):
            seated = list(_seated(posed, node, numbers[node.index], bundle, waiting))
            if seated:
                numbers[node.index] += 1
                found += seated
    return found


def _waiting(posed: Posed, plan: Plan) -> Mapping[int, deque[Entry]]:
    """The parties that are placed, by role: those of gangs first."""
    waiting: dict[int, deque[Entry]] = {role.index: deque() for role in posed.roles}
    taken: Counter[int] = Counter()
    for choice, number in zip(posed.choices, plan.gangs, strict=True):
        if choice.flock is None:
            continue
        first = taken[id(choice.flock)]
        taken[id(choice.flock)] += number
        for members in choice.flock.sets[first : first + number]:
            for kind, entry in members:
                waiting[choice.roles[kind.index]].append(entry)
    for role, number in zip(posed.roles, plan.units, strict=False):
        waiting[role.index].extend(role.singles[:number])
    return waiting


def _seated(
    posed: Posed, node: NodeKind, number: int, bundle: Bundle, waiting: Mapping[int, deque[Entry]]
) -> Iterator[Seat]:
    question = posed.questions[node.index]
    for unit, copies in zip(question.units, bundle.copies, strict=True):
        if unit.index not in waiting:
            continue
        for picks in copies:
            if waiting[unit.index]:
                entry = waiting[unit.index].popleft()
                yield Seat(entry, posed.roles[unit.index].kind, node, number, picks)
