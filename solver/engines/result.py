"""From picks to what the scheduler writes: one AllocationResult for each claim (section 15).

An allocation has the configuration of classes and claims (RES-3 to RES-6) and the selector of the nodes where it can be
used (RES-7). ``soft_entries`` says which soft entries the chosen devices keep (SOFT-1).
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...models.cluster.node_fit import Located, per_device
from ...models.cluster.pools import PoolDevice
from ...models.kubernetes import claims as claim_types
from ...models.kubernetes.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.kubernetes.slices import Device, ResourceSliceSpec
from ...models.results.common import SoftEntry
from ...problem.conditions import penalty
from ...problem.messages import FatalError, Placeholder, claim_text
from ...problem.problem import Problem
from ...problem.requests import ResolvedRequest, compute_capacity_draw
from ...problem.shapes import NodeView
from .engine import Pick


def consumed_capacity(device: Device, ask: ResolvedRequest, gates: FeatureGates) -> dict[str, str | int | float] | None:
    """What a request takes of every capacity of a shareable device, also none of it (CAP-8); None for other devices."""
    if not gates.consumable_capacity or not device.allow_multiple_allocations:
        return None
    drawn = compute_capacity_draw(device, ask.capacity, gates.fractional_capacity_range)
    return {name: str(amount) for name, amount in drawn.amounts.items()} or None


class TakenDevice(NamedTuple):
    """A device with what it was taken for."""

    ask: ResolvedRequest
    device: PoolDevice


class _Configuration(NamedTuple):
    """The configuration of claims with this very spec, whose requests are these."""

    spec: claim_types.ResourceClaimSpec
    asks: Sequence[ResolvedRequest]
    entries: tuple[claim_types.DeviceAllocationConfiguration, ...] | None


class ResultBuilder:
    """Builds allocations; ``seed`` decides the share ids."""

    def __init__(self, gates: FeatureGates, seed: int) -> None:
        self._gates = gates
        self._seed = seed
        # The stable variant has never heard of devices that bind to a node.
        self._binding = gates.variant != "stable"
        # Equal claims, and claims on one node, come one after another: they share what is made for them.
        self._latest_selector: tuple[str, NodeSelector | None] = "", None
        self._configurations: dict[tuple[int, int, tuple[int, ...]], _Configuration] = {}

    def build(
        self,
        claims: Sequence[claim_types.ResourceClaim],
        asks: Sequence[ResolvedRequest],
        picks: Sequence[Pick],
        view: NodeView,
    ) -> tuple[claim_types.AllocationResult, ...]:
        """Build the allocations of all claims, in their order. Raises ``FatalError`` (RES-7)."""
        taken = [TakenDevice(asks[pick.demand], view.devices[pick.device]) for pick in picks]
        if len(claims) == 1:
            return (self._claim(claims[0], 0, taken, asks, view),)
        return tuple(
            self._claim(claim, number, [device for device in taken if device.ask.claim == number], asks, view)
            for number, claim in enumerate(claims)
        )

    def _claim(
        self,
        claim: claim_types.ResourceClaim,
        number: int,
        taken: Sequence[TakenDevice],
        asks: Sequence[ResolvedRequest],
        view: NodeView,
    ) -> claim_types.AllocationResult:
        results = tuple([self._result(claim, position, device) for position, device in enumerate(taken)])
        return claim_types.AllocationResult(
            devices=claim_types.DeviceAllocationResult(
                results=results or None, config=self._configuration(claim, number, taken, asks)
            ),
            node_selector=self._node_selector(number, taken, view.node.metadata.name),
        )

    def _configuration(
        self,
        claim: claim_types.ResourceClaim,
        number: int,
        taken: Sequence[TakenDevice],
        asks: Sequence[ResolvedRequest],
    ) -> tuple[claim_types.DeviceAllocationConfiguration, ...] | None:
        """The entries of classes and the claim; it depends on nothing else of the claim than its spec."""
        key = id(claim.spec), number, tuple([id(ask) for ask, _ in taken])
        known = self._configurations.get(key)
        if known is None or known.spec is not claim.spec or known.asks is not asks:
            chosen = {device.ask for device in taken}
            selected = [
                SelectedRequest(ask.request, ask.subrequest, ask.device_class)
                for ask in asks
                if ask.claim == number and (ask in chosen or not ask.subrequest)
            ]
            known = _Configuration(claim.spec, asks, allocation_configuration(claim, selected) or None)
            self._configurations[key] = known
        return known.entries

    def _node_selector(self, number: int, taken: Sequence[TakenDevice], node: str) -> NodeSelector | None:
        """The nodes where the devices can be used: one object for all claims that are tied to one node."""
        tied = bool(taken) and bool(node_selection_of(taken[0].device).node_name)
        if tied and self._latest_selector[0] == node:
            return self._latest_selector[1]
        selector = combined_node_selector(number, [device.device for device in taken], node, self._binding)
        if tied:
            self._latest_selector = node, selector
        return selector

    def _result(
        self, claim: claim_types.ResourceClaim, position: int, taken: TakenDevice
    ) -> claim_types.DeviceRequestAllocationResult:
        ask, device = taken.ask, taken.device.device
        driver, pool, name = taken.device.id
        request = f"{ask.request}/{ask.subrequest}" if ask.subrequest else ask.request
        if _is_plain(ask.spec, device, taken.device.slice.spec):
            return claim_types.DeviceRequestAllocationResult(request=request, driver=driver, pool=pool, device=name)
        binding = self._gates.binding_conditions
        shared = self._gates.consumable_capacity and device.allow_multiple_allocations
        consumed = consumed_capacity(device, ask, self._gates)
        skipped = taken.device.slice.spec.skip_node_operations if self._gates.optional_node_operations else None
        return claim_types.DeviceRequestAllocationResult(
            request=request,
            driver=driver,
            pool=pool,
            device=name,
            admin_access=True if ask.admin else None,
            tolerations=ask.spec.tolerations or None,
            binding_conditions=(device.binding_conditions or None) if binding else None,
            binding_failure_conditions=(device.binding_failure_conditions or None) if binding else None,
            share_id=share_id(self._seed, claim, position, taken.device.id) if shared else None,
            consumed_capacity=consumed,
            skip_node_operations=skipped or None,
        )


def _is_plain(requested: claim_types.RequestSpec, device: Device, published: ResourceSliceSpec) -> bool:
    """Whether a result has nothing but the names of request and device, as nearly all have."""
    return not (
        requested.tolerations
        or device.binding_conditions
        or device.binding_failure_conditions
        or device.allow_multiple_allocations
        or published.skip_node_operations
        or (isinstance(requested, claim_types.ExactDeviceRequest) and requested.admin_access)
    )


def share_id(seed: int, claim: claim_types.ResourceClaim, position: int, device: DeviceId) -> str:
    """Make a UUID that is the same for the same seed, claim, position in its results, and device."""
    parts = (str(seed), *key_of(claim.metadata), str(position), *device)
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


@dataclass(frozen=True, slots=True)
class SelectedRequest:
    """A request, with the alternative that was selected if it is a list, and its class."""

    request: str
    subrequest: str
    device_class: claim_types.DeviceClass

    @property
    def label(self) -> str:
        """Name in the result's lists of requests."""
        return f"{self.request}/{self.subrequest}" if self.subrequest else self.request


def allocation_configuration(
    claim: claim_types.ResourceClaim, selected: Sequence[SelectedRequest]
) -> tuple[claim_types.DeviceAllocationConfiguration, ...]:
    """List each class's entries once (RES-3), then the claim's that mean something which was selected (RES-4)."""
    users: dict[str, list[SelectedRequest]] = {}
    for request in selected:
        users.setdefault(request.device_class.metadata.name, []).append(request)
    found: list[tuple[str, Sequence[str], claim_types.OpaqueDeviceConfiguration | None]] = []
    for requests in users.values():
        labels = [request.label for request in requests]
        found += [(FROM_CLASS, labels, entry.opaque) for entry in requests[0].device_class.spec.config or ()]
    known = {request.request for request in selected} | {request.label for request in selected}
    for entry in claim.spec.devices.config or ():
        names = entry.requests or ()
        if not names or known.intersection(names):
            found.append((FROM_CLAIM, names, entry.opaque))
    return tuple(
        claim_types.DeviceAllocationConfiguration(
            source=source, requests=_covered_requests(names, selected), opaque=opaque
        )
        for source, names, opaque in found
    )


def _covered_requests(names: Sequence[str], selected: Sequence[SelectedRequest]) -> tuple[str, ...] | None:
    """Drop a list of names that covers every request of the claim: no list means all (RES-5)."""
    covered = all(request.request in names or request.label in names for request in selected)
    return None if covered else tuple(names) or None


def combined_node_selector(
    claim: int, devices: Sequence[PoolDevice], node_name: str, binding: bool
) -> NodeSelector | None:
    """Combine the devices' node selections in one term; None: usable everywhere.

    A single device that belongs to a node, or (unless not ``binding``) binds to it, ties the whole allocation to it.
    Raises ``FatalError`` for a selector with several terms, which cannot be combined.
    """
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for device in devices:
        located = node_selection_of(device)
        if located.node_name or (binding and device.device.binds_to_node):
            field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
        if located.node_selector is None or located.all_nodes:
            continue
        terms = located.node_selector.node_selector_terms or ()
        if len(terms) != 1:
            problem = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            message = ("create NodeSelector for claim ", Placeholder.CLAIM_NAME, f": {problem}")
            raise FatalError("nodeSelector", message, claim=claim)
        term = terms[0]
        _append_requirements(expressions, term.match_expressions or ())
        _append_requirements(fields, term.match_fields or ())
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions) or None, match_fields=tuple(fields) or None)
    return NodeSelector(node_selector_terms=(term,))


def has_uncombinable_selector(device: PoolDevice) -> bool:
    """Tell whether a device's selector has several terms, which only a device before it makes superfluous (RES-7)."""
    located = node_selection_of(device)
    if located.node_name or located.all_nodes or located.node_selector is None:
        return False
    return len(located.node_selector.node_selector_terms or ()) != 1


def node_selection_of(device: PoolDevice) -> Located:
    """Return what says on which nodes a device is: the device itself, or its slice."""
    return device.device if per_device(device.slice) else device.slice.spec


def _append_requirements(known: list[NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]) -> None:
    """Add the requirements that are not there already, whatever the order of their values."""
    seen = {_requirement_key(requirement) for requirement in known}
    for requirement in added:
        if _requirement_key(requirement) not in seen:
            seen.add(_requirement_key(requirement))
            known.append(requirement)


def _requirement_key(requirement: NodeSelectorRequirement) -> tuple[str, str, frozenset[str]]:
    return requirement.key, requirement.operator, frozenset(requirement.values or ())


def soft_entries(problem: Problem, picks: Sequence[Pick], claims: Sequence[ObjectKey]) -> tuple[SoftEntry, ...]:
    """List the soft entries of a problem about these claims, judged by the final choice."""
    picked = [(pick.demand, pick.device) for pick in picks]
    found = []
    for relation in problem.soft_relations:
        cost = penalty(relation, picked)
        # Those of groups are named by their group first, however many claims they reach.
        name = relation.label.removeprefix("entry ")
        claim = claim_text(claims[relation.claims[0]]) if name != relation.label else ""
        found.append(SoftEntry(claim, name, relation.id, relation.weight or 0, not cost, cost))
    return tuple(found)
