"""Known defects of Karpenter v1.15.0 that decide an answer, by name (karpenter-dra 9, karpenter-peer).

Some are tried: the round in Python is run again without the defect, and what comes of a pod is compared. Others are
read off the answer. Two cannot decide: types get pools of their own, so that devices of equal names are not mixed up
(correction 1), and slices whose selector has several terms are no valid objects (correction 6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.karpenter import NODE_POOL_LABEL, NodeOverlay, NodePool
from ...models.kubernetes.quantity import Quantity
from ...models.workload.requests import effective_requests
from ...models.workload.units import Unit
from .greedy import Mended, greedy_round, has_room
from .overlays import PooledType
from .simulation import ProvisioningRound

# More are not named one by one.
_NAMED = 3


class Defect(NamedTuple):
    """A defect, and the pods, pools or types that it is about."""

    name: str
    about: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.about) - _NAMED} more" if len(self.about) > _NAMED else ""
        return f"a known defect of Karpenter decides about {', '.join(self.about[:_NAMED])}{more}: {self.name}"


@dataclass(frozen=True)
class DecidedAnswer:
    """An answer of Karpenter, or of its round in Python.

    ``possible`` are pods that it leaves without a place although another planner places them. ``refused`` are those
    that kube-scheduler's rules refuse on its nodes.
    """

    cluster: Cluster
    units: Sequence[Unit]
    types: Sequence[PooledType]
    found: ProvisioningRound
    possible: Collection[str]
    refused: Collection[str]

    @property
    def left(self) -> dict[str, Unit]:
        """Units of pods that could have a place."""
        return {name: unit for unit in self.units if (name := f"{unit.namespace}/{unit.name}") in self.possible}


def deciding_defects(answer: DecidedAnswer, deadline: float | None = None) -> Iterator[Defect]:
    """Yield the defects that decide what becomes of pods or limits. Raises ``DeadlineExceededError``."""
    for name, pods in _MENDABLE.items():
        if about := tuple(_helped(answer, pods, deadline)):
            yield Defect(name, about)
    for name, found in _READ_OFF.items():
        if about := tuple(found(answer)):
            yield Defect(name, about)


_MENDABLE: Mapping[str, Mended] = {
    "the device search sees the requirements of the node, not those of the pod": "pod-requirements",
    "types into which the pod does not fit take part in the device search": "fitting-types",
    "pods that contend for a reservation wait for the next round": "reservations",
}


def _helped(answer: DecidedAnswer, mended: Mended, deadline: float | None) -> Iterator[str]:
    """Pods that get a place without the defect, and have none with it in the same round in Python."""
    if answer.left:
        plain = greedy_round(answer.cluster, answer.units, answer.types, deadline)
        better = greedy_round(answer.cluster, answer.units, answer.types, deadline, frozenset({mended}))
        yield from sorted(answer.left.keys() & plain.unplaced.keys() - better.unplaced.keys())


def _late(answer: DecidedAnswer) -> Iterator[str]:
    for name in sorted(answer.left):
        reason = answer.found.unplaced.get(name, "")
        if "deadline" in reason or "timed out" in reason or "timeout" in reason:
            yield name


def _named_twice(answer: DecidedAnswer) -> Iterator[str]:
    for name, unit in sorted(answer.left.items()):
        entries = unit.pod.spec.resource_claims or () if unit.pod else ()
        claims = Counter(entry.resource_claim_name for entry in entries if entry.resource_claim_name)
        if max(claims.values(), default=0) > 1:
            yield name


def _without_min_values(answer: DecidedAnswer) -> Iterator[str]:
    yield from (name for name in sorted(answer.left) if "minValues" in answer.found.unplaced.get(name, ""))


def _beyond_node_limits(answer: DecidedAnswer) -> Iterator[str]:
    launched = Counter(node.pool for node in answer.found.nodes)
    there = Counter((node.metadata.labels or {}).get(NODE_POOL_LABEL) for node in answer.cluster.nodes.values())
    for name, pool in sorted(answer.cluster.objects(NodePool).items()):
        limit = (pool.spec.limits or {}).get("nodes")
        if limit is not None and Quantity.from_nano((launched[name] + there[name]) * 10**9) > Quantity.parse(limit):
            yield f"NodePool {name}"


def _of_overlays(answer: DecidedAnswer) -> Iterator[str]:
    """Pods that ask for devices which only the RFC's overlays give."""
    if any(one.spec.dynamic_resources for one in answer.cluster.objects(NodeOverlay).values()):
        yield from sorted(name for name, unit in answer.left.items() if unit.claims)


def _repriced(answer: DecidedAnswer) -> Iterator[str]:
    """Launched types whose own capacity of an offering is lost by a change of its price, and pods that need it."""
    launched = {(node.pool, node.instance_type) for node in answer.found.nodes}
    asked = {name: effective_requests(unit.pod.spec) for name, unit in answer.left.items() if unit.pod is not None}
    needing: set[str] = set()
    for one in answer.types:
        lost = [way for way in one.offerings if way.overlay and dict(way.offering.capacity) != dict(one.type.capacity)]
        if lost and (one.pool.metadata.name, one.type.name) in launched:
            yield f"InstanceType {one.type.name}"
        for way in lost:
            room = one.counted_allocatable[way.offering.number]
            needing |= {
                name
                for name, requests in asked.items()
                if has_room(requests, room) and not has_room(requests, one.counted_capacity)
            }
    yield from sorted(needing)


def _refused(answer: DecidedAnswer) -> Iterator[str]:
    yield from sorted(answer.refused)


_READ_OFF: Mapping[str, Callable[[DecidedAnswer], Iterator[str]]] = {
    "one time limit holds for the device search of all types together": _late,
    "a claim that a pod names twice is searched twice": _named_twice,
    "minValues are looked at again after the device search, and no other pool is tried": _without_min_values,
    "a limit of nodes is not counted down within a round": _beyond_node_limits,
    "devices of NodeOverlays are not known": _of_overlays,
    "offerings with another price lose the capacity that is their own": _repriced,
    "taints of devices are ignored, admin access takes devices, and one shareable device may fill two places of a "
    "request": _refused,
}
