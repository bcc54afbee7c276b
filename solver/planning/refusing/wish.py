"""What a unit wants, in the state in which a plan leaves its claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec
from msgspec.structs import replace

from ....models.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from ....models.core import PodSpec
from ....models.entries import annotated_entries
from ....models.identity import ObjectKey
from ....models.pod_claims import ClaimRef
from ....models.pod_requests import Requests, effective_requests
from ....models.units import Unit
from ....problem.messages import claim_text
from ...suitable_nodes import place_key

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, eq=False)
class Wish:
    """A unit whose claims have what the plan gave to others that share them, and what it takes of a node."""

    unit: Unit
    requests: Requests

    @cached_property
    def claims(self) -> list[ResourceClaim]:
        """The claims that need devices."""
        return [ref.claim for ref in self.unit.asked if ref.claim is not None]

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [claim_text(ref.key) for ref in self.unit.asked]

    @property
    def spec(self) -> PodSpec | None:
        """What the pod says of nodes; None for a loose claim."""
        return self.unit.pod.spec if self.unit.pod else None

    @cached_property
    def earlier(self) -> list[AllocationResult]:
        """What its claims hold already, which ties it to nodes (SCHED-2)."""
        return list(self.unit.held())

    @cached_property
    def place(self) -> Hashable:
        """Equal for wishes that the same nodes suit."""
        return place_key(self.spec, self.earlier)

    @cached_property
    def key(self) -> Hashable:
        """Equal for wishes that fit the same nodes."""
        asked = [(claim.spec, annotated_entries(claim.metadata)) for claim in self.claims]
        return self.place, tuple(self.requests.items()), _encode(asked)

    def after(self, made: Mapping[ObjectKey, AllocationResult]) -> Wish:
        """The same once more was allocated, which matters to claims that others share."""
        if not any(ref.key in made for ref in self.unit.asked):
            return self
        refs = tuple(_current(ref, made.get(ref.key)) for ref in self.unit.claims)
        return dataclasses.replace(self, unit=dataclasses.replace(self.unit, claims=refs))


def wish_of(unit: Unit, made: Mapping[ObjectKey, AllocationResult], backing: Mapping[str, str]) -> Wish:
    """The wish of a unit; ``made`` is what the plan allocates, ``backing`` are resources that classes back."""
    return Wish(unit, effective_requests(unit.pod.spec, backing) if unit.pod else {}).after(made)


def _current(ref: ClaimRef, made: AllocationResult | None) -> ClaimRef:
    if made is None or ref.claim is None or ref.allocated:
        return ref
    return dataclasses.replace(ref, claim=replace(ref.claim, status=ResourceClaimStatus(allocation=made)))
