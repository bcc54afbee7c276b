"""Reasons for all units that a plan leaves out, found once for equal units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ....models.claims import AllocationResult
from ....models.cluster import Cluster
from ....models.core import Node
from ....models.gates import FeatureGates
from ....models.planned_sets import Gang
from ....models.planned_units import PlannedUnit
from ....models.pod_claims import ClaimRef
from ....models.running_pods import running, take
from ....models.units import Unit
from ....problem.in_use import Ledger
from ....problem.messages import claim_text
from ...outcome import Reason
from .refusals import Refusals

# Classes of equal units that are looked into, the largest first.
MOST_CLASSES = 64

Where: TypeAlias = Mapping[int, tuple[Node, tuple[tuple[ClaimRef, AllocationResult], ...]]]
"""By place in the queue: the node, and what the unit's claims get."""


def left_out(
    cluster: Cluster,
    queue: Sequence[PlannedUnit],
    where: Where,
    gates: FeatureGates,
    cel_errors: str = "strict",
    seed: int = 0,
    usable: Container[str] | None = None,
    alike: Mapping[str, Hashable] | None = None,
    known: Container[int] = (),
) -> dict[int, tuple[Reason, ...]]:
    """Say of each place in the queue that has no node why.

    ``cluster`` has the nodes that are to be bought; ``usable`` names those that the plan may use, None: all.
    ``alike`` is as for ``Refusals``; of places that are ``known`` it is said elsewhere.
    """
    classes: dict[bytes, list[int]] = defaultdict(list)
    for place, one in enumerate(queue):
        if place not in where and place not in known:
            classes[one.set.signature].append(place)
    listed = sorted(classes.values(), key=lambda places: (-len(places), places[0]))
    found: dict[int, tuple[Reason, ...]] = {}
    if listed:
        asking = _Asking(cluster, queue, where, Refusals(cluster, gates, cel_errors, seed, usable, alike), gates)
        for places in listed[:MOST_CLASSES]:
            found.update(asking.reasons(places))
    unknown = Reason("unexplained", "", f"{len(listed)} kinds of units are left out, the largest are looked into")
    found.update((place, (unknown,)) for places in listed[MOST_CLASSES:] for place in places)
    return found


class _Asking:
    """What a plan leaves, and who is in which gang."""

    def __init__(
        self, cluster: Cluster, queue: Sequence[PlannedUnit], where: Where, refusals: Refusals, gates: FeatureGates
    ) -> None:
        self._queue = queue
        self._refusals = refusals
        self._made = {ref.key: allocation for _, pairs in where.values() for ref, allocation in pairs}
        self._ledger = Ledger(cluster.usage(gates))
        self._ledger.commit(self._made.items())
        self._rooms = running(cluster, gates)
        for place, (node, _) in where.items():
            take(self._rooms.get(node.metadata.name), queue[place].set.shape.requests)
        self._members: dict[Gang, list[Unit]] = defaultdict(list)
        self._nodes: dict[Gang, list[str]] = defaultdict(list)
        for place, one in enumerate(queue):
            gang = one.set.gang
            if gang is not None and place in where:
                self._nodes[gang].append(where[place][0].metadata.name)
            elif gang is not None:
                self._members[gang].append(one.unit)

    def reasons(self, places: Sequence[int]) -> Iterator[tuple[int, tuple[Reason, ...]]]:
        """The reasons of equal units, each with the names of its own claims."""
        one = self._queue[places[0]]
        gang, members = self._gang(one)
        found = self._refusals.reasons(one.unit, gang, self._ledger, self._rooms, members=members, made=self._made)
        for place in places:
            own = self._queue[place].unit.claims
            pairs = zip(one.unit.claims, own, strict=True)
            names = {claim_text(first.key): claim_text(ref.key) for first, ref in pairs}
            yield place, tuple(replace(reason, claim=names.get(reason.claim, reason.claim)) for reason in found)

    def _gang(self, one: PlannedUnit) -> tuple[Gang | None, Sequence[Unit]]:
        """The gang as the plan leaves it, and its members that are left out: those that are placed run then."""
        gang = one.set.gang
        if gang is None:
            return None, ()
        return replace(gang, placed=tuple(sorted((*gang.placed, *self._nodes[gang])))), self._members[gang]
