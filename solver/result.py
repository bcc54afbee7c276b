"""From picks to what the scheduler writes: one AllocationResult a claim (section 15)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from ..models.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult, ResourceClaim
from ..models.gates import FeatureGates
from ..models.identity import DeviceId, key_of
from ..models.pools import PoolDevice
from ..problem.asks import Ask
from ..problem.capacity import draw
from ..problem.shapes import NodeView
from .result_config import Selected, configuration
from .result_nodes import node_selector
from .search import Pick


@dataclass(frozen=True, slots=True)
class Taken:
    """A device with what it was taken for."""

    ask: Ask
    device: PoolDevice


class ResultBuilder:
    """Builds allocations; ``seed`` decides the share ids."""

    def __init__(self, gates: FeatureGates, seed: int) -> None:
        self._gates = gates
        self._seed = seed

    def build(
        self, claims: Sequence[ResourceClaim], asks: Sequence[Ask], picks: Sequence[Pick], view: NodeView
    ) -> tuple[AllocationResult, ...]:
        """Build the allocations of all claims, in their order. Raises ``FatalError`` (RES-7)."""
        taken = [Taken(asks[pick.demand], view.devices[pick.device]) for pick in picks]
        return tuple(
            self._claim(claim, number, [device for device in taken if device.ask.claim == number], asks, view)
            for number, claim in enumerate(claims)
        )

    def _claim(
        self, claim: ResourceClaim, number: int, taken: Sequence[Taken], asks: Sequence[Ask], view: NodeView
    ) -> AllocationResult:
        results = tuple(self._result(claim, position, device) for position, device in enumerate(taken))
        chosen = {device.ask for device in taken}
        selected = [
            Selected(ask.request, ask.subrequest, ask.device_class)
            for ask in asks
            if ask.claim == number and (ask in chosen or not ask.subrequest)
        ]
        # The stable variant has never heard of devices that bind to a node.
        binding = self._gates.variant != "stable"
        devices = [device.device for device in taken]
        return AllocationResult(
            devices=DeviceAllocationResult(results=results or None, config=configuration(claim, selected) or None),
            node_selector=node_selector(number, devices, view.node.metadata.name, binding),
        )

    def _result(self, claim: ResourceClaim, position: int, taken: Taken) -> DeviceRequestAllocationResult:
        ask, device = taken.ask, taken.device.device
        binding = self._gates.binding_conditions
        shared = self._gates.consumable_capacity and device.allow_multiple_allocations
        driver, pool, name = taken.device.id
        return DeviceRequestAllocationResult(
            request=f"{ask.request}/{ask.subrequest}" if ask.subrequest else ask.request,
            driver=driver,
            pool=pool,
            device=name,
            admin_access=True if ask.admin else None,
            tolerations=ask.spec.tolerations or None,
            binding_conditions=(device.binding_conditions or None) if binding else None,
            binding_failure_conditions=(device.binding_failure_conditions or None) if binding else None,
            share_id=share_id(self._seed, claim, position, taken.device.id) if shared else None,
            consumed_capacity=(self._consumed(taken) or None) if shared else None,
            skip_node_operations=self._skipped(taken.device),
        )

    def _skipped(self, device: PoolDevice) -> tuple[str, ...] | None:
        """Copy what the slice says; only the experimental variant does."""
        return (device.slice.spec.skip_node_operations or None) if self._gates.optional_node_operations else None

    def _consumed(self, taken: Taken) -> dict[str, str | int | float]:
        """List what is taken of every capacity, also none of it (CAP-8)."""
        drawn = draw(taken.device.device, taken.ask.capacity, self._gates.fractional_capacity_range)
        return {name: str(amount) for name, amount in drawn.amounts.items()}


def share_id(seed: int, claim: ResourceClaim, position: int, device: DeviceId) -> str:
    """Make a UUID that is the same for the same seed, claim, position in its results, and device."""
    parts = (str(seed), *key_of(claim.metadata), str(position), *device)
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
