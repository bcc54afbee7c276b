"""What equal units ask for: their claims, their requests, and the nodes that suit them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ....models.claims import AllocationResult, ResourceClaim
from ....models.cluster import Cluster
from ....models.core import Node
from ....models.identity import ObjectKey
from ....models.planned_units import PlannedUnit
from ....models.pod_claims import ClaimRef
from ....models.selection import SelectorError
from ....models.units import Unit
from ....problem.compile import Compiler, Question
from ...outcome import Reason
from ...refusals import refusals
from ...suitable_nodes import SuitableNodes, place_key

_encode = msgspec.msgpack.Encoder().encode
Made = Mapping[ObjectKey, AllocationResult]


@dataclass(frozen=True, slots=True)
class Place:
    """The positions of the nodes that suit a pod and its claims that are allocated; ``number`` is the place's own.

    ``problem`` says why none can be told.
    """

    number: int
    members: frozenset[int]
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What a unit asks for as things are; ``claims`` are those of one of its equals. ``refused``: it must wait."""

    requests: Mapping[str, int]
    claims: tuple[ResourceClaim, ...]
    question: Question
    place: Place
    refused: tuple[Reason, ...] = ()


class Cases:
    """Finds the case of a unit. Units that are alike are of different ones where claims that they share differ."""

    def __init__(self, cluster: Cluster, nodes: Sequence[Node], compiler: Compiler) -> None:
        self._classes = cluster.classes
        self._nodes = nodes
        self._compiler = compiler
        self._known: dict[Hashable, Case] = {}
        self._places: dict[bytes, Place] = {}

    @property
    def places(self) -> Sequence[Place]:
        """All places met so far, by number."""
        return list(self._places.values())

    def of(self, planned: PlannedUnit, made: Made) -> Case:
        """Find the case while these allocations of the queue's claims are there."""
        shape = planned.set.shape
        shared = tuple(claim.key for claim in shape.claims if claim.key in made)
        key = shape.signature, tuple((key, _encode(made[key].node_selector)) for key in shared if key is not None)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._case(planned, made)
        return found

    def _case(self, planned: PlannedUnit, made: Made) -> Case:
        unit = planned.unit
        claims = tuple(ref.claim for ref in still_asked(unit, made) if ref.claim is not None)
        place = self._place(unit, made)
        refused = refusals(unit, self._classes) or (
            [Reason("nodeSelector", "", place.problem)] if place.problem else ()
        )
        return Case(planned.set.shape.requests, claims, self._compiler.question(claims), place, tuple(refused))

    def _place(self, unit: Unit, made: Made) -> Place:
        earlier = list(unit.held(made))
        spec = unit.pod.spec if unit.pod else None
        key = place_key(spec, earlier)
        if key not in self._places:
            try:
                found = frozenset(SuitableNodes(self._nodes, spec, earlier))
                self._places[key] = Place(len(self._places), found)
            except SelectorError as error:
                self._places[key] = Place(len(self._places), frozenset(), str(error))
        return self._places[key]


def still_asked(unit: Unit, made: Made) -> list[ClaimRef]:
    """The claims of a unit that have no allocation yet."""
    return [ref for ref in unit.asked if ref.key not in made]
