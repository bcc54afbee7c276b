"""Entries of any kind, judged on the devices that they cover; what is said of soft ones is looked at again (SOFT-1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from ...models.claims import DeviceConstraint
from ...models.core import Node
from ...models.entries import Entry
from ...models.given import Given
from ...models.predicates import Predicate, chosen_device
from .constraints import ConstraintRules, covers
from .findings import Finding
from .published import Published
from .scene import Scene
from .taking import Taking
from .topologies import TopologyRules

_PAIR = "Pair"


class EntryRules:
    """Judges entries of claims, of annotations and those given in Python."""

    def __init__(self, scene: Scene) -> None:
        self._expressions = scene.expressions
        self._constraints = ConstraintRules(scene.gates, scene.expressions)
        self._topologies = TopologyRules(scene)

    def broken(self, entry: DeviceConstraint | Predicate, members: Sequence[Taking], node: Node) -> Iterator[Finding]:
        """Judge an entry on all that it covers; an empty one is reported as unsupported."""
        devices = [taking.entry for taking in members]
        if isinstance(entry, Predicate):
            yield from _by_predicate(entry, devices)
        elif entry.match_attribute is not None or entry.distinct_attribute is not None:
            yield from self._constraints.broken(entry, [(taking.entry, taking.asked) for taking in members])
        elif entry.cel is not None:
            finding = self._expressions.refuses_together(entry.cel.expression, devices)
            if finding is not None:
                yield finding
        elif isinstance(entry, Entry) and entry.topology is not None:
            yield from self._topologies.broken(entry.topology, devices, node)

    def misjudged(
        self, entries: Sequence[Given], found: Sequence[Taking], node: Node, told: Sequence[int]
    ) -> Iterator[Finding]:
        """SOFT-1, SOFT-2: soft entries cost what is said of them, in their order."""
        soft = [entry for entry in entries if entry.weight is not None]
        costs = [self._cost(entry, found, node) for entry in soft]
        if list(told) != costs:
            yield Finding("SOFT-1", f"soft entries are said to cost {list(told)}, and cost {costs}")

    def _cost(self, entry: Given, found: Sequence[Taking], node: Node) -> int:
        members = [taking for taking in found if covers(entry, taking.result.request)]
        sets = [*combinations(members, 2)] if entry.per == _PAIR else [members] if members else []
        return (entry.weight or 0) * sum(any(self.broken(entry, one, node)) for one in sets)


def _by_predicate(predicate: Predicate, devices: Sequence[Published]) -> Iterator[Finding]:
    """CELC-10: a function in Python accepts the devices."""
    if not predicate.function([chosen_device(entry.driver, entry.device) for entry in devices]):
        yield Finding("CELC-10", f"predicate {predicate.name} refuses the devices")
