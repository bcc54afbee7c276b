"""What a plan is about: every unit of the queue once, as the queue has it (PLAN-ONCE, PLAN-CLAIM)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ...models.cluster import Cluster
from ...models.gates import FeatureGates
from ...models.planned_sets import PlannedSet
from ...models.planned_units import PlannedUnit, expanded
from ...models.pod_claims import ClaimRef
from ...models.queue import planned
from ...models.units import Unit
from .findings import Finding
from .placed_unit import PlacedUnit, label

_Key: TypeAlias = tuple[str, str, str, int]
_Claims: TypeAlias = tuple[ClaimRef, ...]


class Queue:
    """The queue, read anew; ``namespace`` and ``selector`` narrow it as in ``models.queue.planned``."""

    def __init__(self, cluster: Cluster, gates: FeatureGates, namespace: str | None, selector: str) -> None:
        sets = planned(cluster, namespace=namespace, selector=selector, gates=gates)
        self._asked: Mapping[_Key, PlannedUnit] = {
            (one.set.kind, one.set.namespace, one.set.name, one.number): one for one in expanded(cluster, sets, gates)
        }
        self.known: list[tuple[PlacedUnit, PlannedSet]] = []

    def compare(self, units: Sequence[PlacedUnit]) -> Iterator[Finding]:
        """Everything that the plan has too much, too little or otherwise; ``known`` gets its units with their sets."""
        seen: set[_Key] = set()
        for unit in units:
            key = unit.kind, unit.namespace, unit.name, unit.replica
            asked = self._asked.get(key)
            if asked is None:
                yield Finding("PLAN-ONCE", f"{label(unit)} is not in the queue")
            elif key in seen:
                yield Finding("PLAN-ONCE", f"{label(unit)} is in the plan twice")
            else:
                seen.add(key)
                self.known.append((unit, asked.set))
                yield from _differences(unit, asked.unit)
        missing = [one.unit for key, one in self._asked.items() if key not in seen]
        if missing:
            such = f"such as {missing[0].namespace}/{missing[0].name}"
            yield Finding("PLAN-ONCE", f"{len(missing)} units of the queue are not in the plan, {such}")


def order_findings(units: Sequence[PlacedUnit], order: Sequence[int]) -> Iterator[Finding]:
    """PLAN-ONCE: an order that does not have every placed unit once."""
    if sorted(order) != [number for number, unit in enumerate(units) if unit.node is not None]:
        yield Finding("PLAN-ONCE", "the order does not have every placed unit once")


def all_asked(units: Iterable[Unit], plan: Iterable[PlacedUnit]) -> list[Unit]:
    """Units of a cluster with those of a plan in their place."""
    given = [one.unit for one in plan]
    replaced = {(unit.pod is None, unit.namespace, unit.name) for unit in given}
    kept = [unit for unit in units if (unit.pod is None, unit.namespace, unit.name) not in replaced]
    return [*kept, *given]


def _differences(unit: PlacedUnit, asked: Unit) -> Iterator[Finding]:
    given = unit.unit
    if (given.namespace, given.name) != (asked.namespace, asked.name) or given.pod != asked.pod:
        yield Finding("PLAN-ONCE", f"{label(unit)} is another in the queue")
    if not _same_claims(given.claims, asked.claims):
        yield Finding("PLAN-CLAIM", f"{label(unit)} has other claims in the queue")


def _same_claims(given: _Claims, asked: _Claims) -> bool:
    return len(given) == len(asked) and all(map(_same_claim, given, asked))


def _same_claim(given: ClaimRef, asked: ClaimRef) -> bool:
    """Made claims may have other names: where names clash they depend on what else is asked about."""
    if (given.namespace, given.entry, given.generated) != (asked.namespace, asked.entry, asked.generated):
        return False
    if given.name == asked.name or not given.generated or given.claim is None:
        return given.name == asked.name and given.claim == asked.claim
    return replace(given.claim, metadata=replace(given.claim.metadata, name=asked.name)) == asked.claim
