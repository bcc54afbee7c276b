"""Nodes that the rules cannot tell apart but by names, and what was found to be faultless on such nodes.

Two nodes are equal to some claims if they see equal devices, in one order, with the same in use. Where a node sees
pools of its own alone, whether a claim's allocation is right depends on the node's class and on what was placed there
before. So a sequence of placements that broke no rule on one node breaks none on any node of its class: devices are
known by their positions, claims by their specs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ...models.kubernetes.claims import AllocationResult, DeviceClass, ResourceClaim
from ...models.kubernetes.core import Node, NodeSelector
from ...models.kubernetes.extensions import CONSTRAINTS_ANNOTATION
from ...models.kubernetes.meta import PoolId
from .devices import VerificationContext
from .equal_devices import equal_to_claims, is_plain_result
from .nodes import is_extended_claim
from .offers import NodeOffers
from .published import PoolView, PublishedDevice
from .requests import ClaimReadings, node_selector_findings

_encode = msgspec.msgpack.Encoder().encode


class EqualNodes:
    """Tells which nodes offer some claims the same, beside what is held, but for names of devices and pools.

    Nothing is known where devices of one slice are for several nodes, or claims may read more than their texts tell.
    """

    def __init__(self, claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> None:
        self._equal = None if any(map(_has_own_entries, claims)) else equal_to_claims(claims, classes)
        self._kinds: dict[Hashable, int] = {}

    def class_of(self, offers: NodeOffers) -> Hashable | None:
        """Equal for nodes of which the claims can take the same; None where nothing is known."""
        found = [self._pool(view, offers) for view in offers.views]
        return None if None in found else tuple(found)

    def _pool(self, view: PoolView, offers: NodeOffers) -> Hashable | None:
        if view.trouble is not None:
            return view.stops_all
        is_in_use = offers.is_in_use(view)
        devices = [self._device(entry, offers, is_in_use) for entry in view.devices.values()]
        stock: Hashable = None
        if view.generation.counter_sets:
            counters, left = offers.stock(view), offers.stock(view).left()
            groups = tuple((one.name, counters.common_groups(one.name)) for one in view.generation.counter_sets)
            stock = offers.gives(view), groups, None if left is None else tuple(left.items())
        return None if None in devices else (tuple(devices), stock)

    def _device(self, entry: PublishedDevice, offers: NodeOffers, is_in_use: bool) -> int | None:
        """A number for all that is read of a device, with what others hold of it."""
        device, spec = entry.device, entry.slice.spec
        key: Hashable = None if self._equal is None else self._equal.key(entry)
        if key is None or spec.per_device_node_selection or spec.skip_node_operations:
            return None
        if device.taints or device.consumes_counters or device.binding_failure_conditions:
            key = key, _encode((device.taints, device.consumes_counters, device.binding_failure_conditions))
        key = key, offers.held_part(entry) if is_in_use else None
        return self._kinds.setdefault(key, len(self._kinds))


def _has_own_entries(claim: ResourceClaim) -> bool:
    return CONSTRAINTS_ANNOTATION in (claim.metadata.annotations or {})


class PlacementStep(NamedTuple):
    """A placement on a node: the sequence that is there before, and all that rules of allocation read but for names."""

    node: str
    before: int
    placed: Hashable


class _OwnPools(NamedTuple):
    """What a node sees where all of it is its own: pools in order, and the positions of their devices."""

    node: Node
    pools: Mapping[PoolId, tuple[int, PoolView, Mapping[str, int]]]


class FaultlessSequences:
    """Sequences of placements that were found to break no rule of allocation, for ``claims`` as these are.

    A node has none from its first placement on that breaks a rule, or of which not all is known that rules read.
    """

    def __init__(self, context: VerificationContext, claims: Iterable[ResourceClaim]) -> None:
        self._context = context
        # Copies share their spec.
        different = list({id(claim.spec): claim for claim in claims}.values())
        self._equal = EqualNodes(different, context.classes)
        self._readings = ClaimReadings(context.classes, context.gates)
        self._known = {id(self._readings.of(claim)) for claim in different}
        self._positions: dict[tuple[str, ...], Mapping[str, int]] = {}
        self._nodes: dict[str, _OwnPools | None] = {}
        self._ends: dict[str, int | None] = {}
        self._numbers: dict[Hashable, int] = {}
        # Of claims on one node it is mostly the same.
        self._selector: tuple[Node | None, NodeSelector | None] = None, None

    def read(self, node: Node) -> _OwnPools | None:
        """Look at what a node sees, as long as nothing is placed there; None where not all of it is its own."""
        name = node.metadata.name
        if name in self._nodes:
            return self._nodes[name]
        offers, pools = NodeOffers(self._context, node), dict[PoolId, tuple[int, PoolView, Mapping[str, int]]]()
        for number, view in enumerate(offers.views):
            devices = tuple(view.devices)
            if devices not in self._positions:
                self._positions[devices] = {device: place for place, device in enumerate(devices)}
            pools[view.id] = number, view, self._positions[devices]
        pieces = (piece.spec for view in offers.views for piece in view.generation.slices)
        is_own = all(spec.node_name == name and not spec.per_device_node_selection for spec in pieces)
        found = self._equal.class_of(offers) if is_own else None
        self._ends[name] = None if found is None else self._numbers.setdefault(found, len(self._numbers))
        own = self._nodes[name] = None if found is None else _OwnPools(node, pools)
        return own

    def step(
        self, node: Node, claims: Sequence[tuple[ResourceClaim, AllocationResult]], *, has_costs: bool = False
    ) -> PlacementStep | None:
        """What the placement of some claims is on their node; None where not all is known, as with costs of entries.

        The node has no sequence until the placement follows what is there, or is added.
        """
        own = self.read(node)
        name = node.metadata.name
        before, self._ends[name] = self._ends[name], None
        if own is None or before is None or has_costs:
            return None
        placed: list[Hashable] = []
        for claim, allocation in claims:
            reading = id(self._readings.of(claim))
            placed.append(reading)
            if reading not in self._known or is_extended_claim(claim) or _has_own_entries(claim):
                return None
            if not self._place(allocation, own, placed):
                return None
        return PlacementStep(name, before, tuple(placed))

    def follows(self, step: PlacementStep) -> bool:
        """Whether a placement is known to break no rule, after what is there; the node has the longer sequence then."""
        after = self._numbers.get(step[1:])
        self._ends[step.node] = after
        return after is not None

    def add(self, step: PlacementStep) -> None:
        """Say that a placement breaks no rule, after what is there."""
        self._ends[step.node] = self._numbers.setdefault(step[1:], len(self._numbers))

    def _place(self, allocation: AllocationResult, own: _OwnPools, placed: list[Hashable]) -> bool:
        """Add an allocation to what is ``placed``, and say whether all is known that rules read of it."""
        entries: list[PublishedDevice] = []
        for result in allocation.devices.results or ():
            number, view, positions = own.pools.get((result.driver, result.pool)) or (0, None, {})
            position = positions.get(result.device)
            if view is None or position is None or not is_plain_result(result):
                return False
            entries.append(view.devices[result.device])
            placed += result.request, number, position
        placed.append(_encode(allocation.devices.config) if allocation.devices.config else None)
        node, found = own.node, allocation.node_selector
        latest, selector = self._selector
        if not entries or latest is not node or (selector is not found and selector != found):
            if any(node_selector_findings(entries, node, found, self._context.gates)):
                return False
            self._selector = (node, found) if entries else self._selector
        return True
