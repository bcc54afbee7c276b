"""Counters of partitionable devices and their compatibility groups (sections 11 and 12, read anew)."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence

from ...models.identity import PoolId
from .findings import Finding
from .ledger import Attempt, Ledger
from .published import CounterKey, Generation, Published


class Stock:
    """The counters of one generation of a pool, less what is in use (CTR-1).

    Kept up to date with the ledger by what came into use since the last question, so that many units may ask.
    """

    def __init__(self, pool: PoolId, generation: Generation, ledger: Ledger) -> None:
        self._pool = pool
        self._generation = generation
        self._ledger = ledger
        self._read = 0
        self._drawn: Tally[CounterKey] = Tally()
        self._overdrawn: set[CounterKey] = set()

    def overdrawn(self, entry: Published, attempt: Attempt) -> Iterator[Finding]:
        """CTR-2: the counters of the pool that are exceeded once the attempt takes this device too."""
        self._catch_up()
        taken: dict[CounterKey, int] = {}
        for other in (*attempt.drawing[self._pool], entry):
            for key, amount in other.consumption:
                taken[key] = taken.get(key, 0) + amount
        declared = self._generation.counters
        exceeded = {key for key, amount in taken.items() if self._drawn.get(key, 0) + amount > declared[key]}
        for name, counter in sorted(exceeded | self._overdrawn):
            yield Finding("CTR-2", f"counter {counter} of set {name} is overdrawn")

    def _catch_up(self) -> None:
        new = self._ledger.held_since(self._pool, self._read)
        for device in new:
            for entry in self._generation.consumers_by_name.get(device[2], ()):
                self._draw(entry)
        self._read += len(new)

    def _draw(self, entry: Published) -> None:
        for key, amount in entry.consumption:
            self._drawn[key] += amount
            if self._drawn[key] > self._generation.counters[key]:
                self._overdrawn.add(key)

    def incompatible(self, entry: Published, attempt: Attempt) -> Iterator[Finding]:
        """GRP-2, GRP-3: the counter sets whose devices have no compatibility group in common with this one."""
        for taken in entry.device.consumes_counters or ():
            name = taken.counter_set
            everywhere = self._generation.consumers_by_set[name]
            held = [other for other in everywhere if self._ledger.holds(other.id)]
            common = _common_groups(_groups(name, [*held, *attempt.drawing[self._pool]]))
            groups = frozenset(taken.compatibility_groups or ())
            if common is not None and not _compatible(common, groups):
                yield Finding("GRP-3", f"no compatibility group in common with the devices on counter set {name}")


_UNGROUPED: frozenset[str] = frozenset({""})
"""Stands for devices without groups, which get along with each other only."""


def _groups(name: str, entries: Iterable[Published]) -> list[frozenset[str]]:
    return [
        frozenset(taken.compatibility_groups or ())
        for entry in entries
        for taken in entry.device.consumes_counters or ()
        if taken.counter_set == name
    ]


def _common_groups(members: Sequence[frozenset[str]]) -> frozenset[str] | None:
    """GRP-2: the running state over members in their order; None for no members.

    The first one decides whether groups count; where allocations have mixed both, the others are overlooked.
    """
    if not members:
        return None
    if not members[0]:
        return _UNGROUPED
    return members[0].intersection(*filter(None, members[1:]))


def _compatible(common: frozenset[str], groups: frozenset[str]) -> bool:
    """GRP-3."""
    return bool(common & (groups or _UNGROUPED))
