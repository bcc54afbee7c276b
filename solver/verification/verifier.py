"""Replays finished allocations unit by unit and names every rule they break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...models.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from ...models.cluster import Cluster
from ...models.core import Node, Pod
from ...models.device_taints import with_rules
from ...models.gates import FeatureGates
from ...models.quantity import Quantity
from ...models.selection import node_matches, pod_fits
from .capacity import PolicyError, amounts, nano
from .constraints import Member, covers, violations
from .devices import DeviceRules, is_admin
from .expressions import Expressions
from .ledger import Attempt, Ledger, device_id
from .published import Inventory, PoolView, Published
from .requests import Asked, selected, shape, switched_off
from .results import configs, copies, node_selector


@dataclass(frozen=True, slots=True)
class Placement:
    """A unit on its node: the claims allocated for it now, and those that were allocated before (SCHED-2)."""

    node: Node
    claims: tuple[tuple[ResourceClaim, AllocationResult], ...]
    pod: Pod | None = None
    earlier: tuple[ResourceClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its id, the claim (``namespace/name``) and what is wrong."""

    rule: str
    claim: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: claim {self.claim}: {self.message}"


def verify(cluster: Cluster, placements: Iterable[Placement], gates: FeatureGates) -> list[Violation]:
    """Check placements in the order in which they were made, each on top of those before.

    Parameters
    ----------
    cluster
        What is published, and the claims that hold devices already.
    placements
        Nodes, claims and allocations, in order.
    gates
        The features in force.

    Returns
    -------
    list of Violation
        Empty for a valid answer.
    """
    replay = _Replay(cluster, gates)
    return [found for placement in placements for found in replay.unit(placement)]


class _Replay:
    """The allocated state, moved on from unit to unit."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._gates = gates
        self._cluster = cluster
        slices = with_rules(cluster.slices, cluster.taint_rules, gates)
        self._inventory = Inventory(slices, gates)
        self._expressions = Expressions()
        self._rules = DeviceRules(cluster.classes, gates, self._expressions)
        self._ledger = Ledger(gates)
        self._share_ids: set[str] = set()
        for claim in cluster.claims.values():
            if claim.status is not None and claim.status.allocation is not None:
                self._ledger.enter(claim.status.allocation)

    def unit(self, placement: Placement) -> Iterator[Violation]:
        """Everything wrong with one unit; then its devices count as held."""
        attempt = Attempt(self._ledger)
        for text in self._node(placement):
            yield _violation(text, placement.pod.metadata.name if placement.pod else "")
        for number, (claim, allocation) in enumerate(placement.claims):
            name = f"{claim.metadata.namespace}/{claim.metadata.name}"
            for text in self._claim(claim, allocation, placement.node, attempt, number):
                yield _violation(text, name)
        for _, allocation in placement.claims:
            self._ledger.enter(allocation)

    def _node(self, placement: Placement) -> Iterator[str]:
        """Node fit of the pod, and of what its claims hold already (SCHED-2)."""
        if placement.pod is not None:
            for reason in pod_fits(placement.pod.spec, placement.node):
                yield f"NODE-2: the pod does not fit node {placement.node.metadata.name}: {reason.message}"
        for claim in placement.earlier:
            allocation = claim.status.allocation if claim.status else None
            if allocation and allocation.node_selector and not node_matches(allocation.node_selector, placement.node):
                yield f"SCHED-2: claim {claim.metadata.name} is allocated where this node cannot use it"

    def _claim(
        self, claim: ResourceClaim, allocation: AllocationResult, node: Node, attempt: Attempt, number: int
    ) -> Iterator[str]:
        results = allocation.devices.results or ()
        chosen = selected(claim, results)
        yield from switched_off(claim, self._gates)
        yield from shape(claim, results, chosen)
        found: list[tuple[DeviceRequestAllocationResult, Published]] = []
        for result in results:
            entry, view, trouble = self._find(result, node)
            if entry is None or view is None or result.request not in chosen:
                yield f"POOL-4: device {result.device} of request {result.request} {trouble}"
                continue
            found.append((result, entry))
            for text in self._device(result, entry, view, chosen[result.request], node, attempt, number):
                yield f"{text} (request {result.request}, device {result.device})"
        yield from self._all_requests(chosen, results, node)
        yield from self._constraints(claim, found, chosen)
        yield from configs(claim, chosen, self._cluster.classes, allocation)
        yield from node_selector([entry for _, entry in found], node, allocation)

    def _find(
        self, result: DeviceRequestAllocationResult, node: Node
    ) -> tuple[Published | None, PoolView | None, str]:
        view = self._inventory.view((result.driver, result.pool), node)
        if view is None:
            return None, None, f"is in a pool {result.pool} that node {node.metadata.name} does not see"
        if view.trouble is not None:
            return None, None, f"is in pool {result.pool}, which {view.trouble}"
        return view.devices.get(result.device), view, "is not published for this node"

    def _device(
        self,
        result: DeviceRequestAllocationResult,
        entry: Published,
        view: PoolView,
        asked: Asked,
        node: Node,
        attempt: Attempt,
        number: int,
    ) -> Iterator[str]:
        """DEV-1 to DEV-12 for one result, which is then taken."""
        shared = bool(entry.device.allow_multiple_allocations) and self._gates.consumable_capacity
        yield from self._in_use(entry, asked, attempt, number)
        yield from self._rules.selectable(entry, asked, node)
        yield from self._rules.usable(entry, asked, node)
        yield from copies(result, asked, entry, self._gates)
        again = shared and (attempt.before.holds(entry.id) or entry.id in attempt.shared)
        if not self._gates.compatibility_groups and attempt.declared_groups(view, entry.device.consumes_counters or ()):
            yield "GRP-5: compatibility groups are declared, and that feature is off"
        attempt.take(entry, number, shared)
        yield from self._share(result, entry, asked, attempt, shared)
        if entry.device.consumes_counters and not again:
            for name, counter in attempt.overdrawn(view):
                yield f"CTR-2: counter {counter} of set {name} is overdrawn"
            if self._gates.compatibility_groups:
                for name in attempt.groups_clash(view):
                    yield f"GRP-3: the devices on counter set {name} have no compatibility group in common"

    def _in_use(self, entry: Published, asked: Asked, attempt: Attempt, number: int) -> Iterator[str]:
        """DEV-1."""
        takers = attempt.picked.get(entry.id, set())
        if is_admin(asked):
            if number in takers:
                yield "DEV-1: admin access to a device that the same claim holds"
        elif entry.id in self._ledger.dedicated:
            yield "DEV-1: the device is held by another claim"
        elif takers:
            yield "DEV-1: the device was taken twice"

    def _share(
        self, result: DeviceRequestAllocationResult, entry: Published, asked: Asked, attempt: Attempt, shared: bool
    ) -> Iterator[str]:
        """CAP-6 to CAP-8: share id, recorded amounts, and whether they fit beside all others."""
        if not shared:
            if result.share_id is not None or result.consumed_capacity is not None:
                yield "CAP-7: a dedicated device has no share"
            return
        if result.share_id is None or result.share_id in self._share_ids:
            yield f"CAP-8: share id {result.share_id} is missing or not fresh"
        self._share_ids.add(result.share_id or "")
        try:
            taken = amounts(entry.device, (asked.capacity.requests if asked.capacity else None) or {}, self._gates)
        except PolicyError:
            return  # named by DeviceRules already
        recorded = {name: nano(amount) for name, amount in (result.consumed_capacity or {}).items()}
        if recorded != taken:
            yield f"CAP-8: consumed capacity {recorded} differs from what the policy makes of the request, {taken}"
        attempt.consumed[entry.id].update(taken)
        yield from self._room(entry, attempt)

    def _room(self, entry: Published, attempt: Attempt) -> Iterator[str]:
        before = self._ledger.consumed.get(entry.id, {})
        for name, capacity in (entry.device.capacity or {}).items():
            used = before.get(name, 0) + attempt.consumed[entry.id][name]
            if used > nano(capacity.value):
                yield f"CAP-6: {Quantity.from_nano(used)} of {name} are used of {capacity.value}"

    def _all_requests(
        self, chosen: dict[str, Asked], results: Sequence[DeviceRequestAllocationResult], node: Node
    ) -> Iterator[str]:
        """PRE-8: All means every selectable device of pools that are all complete."""
        for name, asked in chosen.items():
            if asked.allocation_mode != "All":
                continue
            held = {device_id(result) for result in results if result.request == name}
            for view in self._inventory.views(node):
                if view.trouble is not None:
                    yield f"PRE-8: request {name} asks for all devices, but pool {view.id[1]} {view.trouble}"
                for entry in view.devices.values():
                    if entry.id not in held and not any(self._rules.selectable(entry, asked, node)):
                        yield f"PRE-8: request {name} asks for all devices, but does not hold {entry.device.name}"

    def _constraints(
        self,
        claim: ResourceClaim,
        found: Sequence[tuple[DeviceRequestAllocationResult, Published]],
        chosen: dict[str, Asked],
    ) -> Iterator[str]:
        for constraint in claim.spec.devices.constraints or ():
            members: list[Member] = [
                (entry, self._expressions.derived(chosen[result.request], entry))
                for result, entry in found
                if covers(constraint, result.request)
            ]
            yield from violations(constraint, members, self._gates)


def _violation(text: str, claim: str) -> Violation:
    rule, _, message = text.partition(": ")
    return Violation(rule, claim, message)
