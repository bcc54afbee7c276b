"""Replays finished allocations unit by unit and names every rule they break."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import apply_taint_rules
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.workload.groups import group_members
from ...models.workload.units import Unit
from .claims import ClaimRules, FinalClaim, GroupRules, MemberClaims, is_usable_on
from .devices import ClaimContext, VerificationContext
from .nodes import NodeLoads, node_findings
from .published import Finding, Inventory, reaches
from .state import ExpressionTimeoutError, HeldDevices, UnitUsage, VerifierExpressions, device_id

if TYPE_CHECKING:
    from .equal_nodes import FaultlessSequences

# Fewer are judged one by one, which tells no nodes apart.
_FEW_PLACEMENTS = 200

_NO_COSTS: Mapping[ObjectKey, Sequence[int]] = MappingProxyType({})


class Placement(NamedTuple):
    """A unit on its node: the claims allocated for it now, and those that were allocated before (SCHED-2).

    ``costs`` is what is said of the soft entries of claims, in their order.
    """

    node: Node
    claims: tuple[tuple[ResourceClaim, AllocationResult], ...]
    pod: Pod | None = None
    earlier: tuple[ResourceClaim, ...] = ()
    costs: Mapping[ObjectKey, Sequence[int]] = _NO_COSTS


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its id, the claim (``namespace/name``, empty for a whole unit) and what is wrong."""

    rule: str
    claim: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: claim {self.claim}: {self.message}" if self.claim else f"{self.rule}: {self.message}"


class VerificationTimeoutError(Exception):
    """The deadline passed; ``verified``: so many placements, the first ones, break no rule of their own.

    Whether ConstraintGroups hold is not known then.
    """

    def __init__(self, verified: int) -> None:
        super().__init__(f"the time limit passed when {verified} placements were verified")
        self.verified = verified


def verify(
    cluster: Cluster,
    placements: Iterable[Placement],
    gates: FeatureGates,
    *,
    cel_errors: str = "strict",
    caller_constraints: Sequence[CallerConstraint] = (),
    groups: bool = False,
    requested: Sequence[Unit] | None = None,
    rooms: bool = True,
    extended: bool = True,
    deadline: float | None = None,
    clock: Callable[[], float] = monotonic,
) -> list[Violation]:
    """Check placements in the order in which they were made, each on top of those before.

    Parameters
    ----------
    cluster
        What is published, and the claims that hold devices already.
    placements
        Nodes, claims and allocations, in order.
    gates
        The features in force.
    cel_errors
        What an expression's error on a device does to a request for all devices: with ``skip`` the device may be
        left out, with ``kube`` and ``strict`` it may not.
    caller_constraints
        Entries of every claim, beside its own.
    groups
        Whether ConstraintGroups count. Raises ``GroupError`` for one that names what is not there.
    requested
        The units whose claims may be members of groups; None: those of the cluster.
    rooms
        Whether nodes must have room for pods beside those that run (POD-ROOM).
    extended
        Whether claims must have devices for all extended resources of pods (POD-DEVICES).
    deadline, clock
        When to give up, as a reading of ``clock``; expressions read ``time.monotonic``.

    Returns
    -------
    list of Violation
        Empty for a valid answer.

    Raises
    ------
    VerificationTimeoutError
        If nothing wrong was found until the deadline.

    """
    replay = Replay(cluster, gates, cel_errors, caller_constraints, rooms, extended)
    if isinstance(placements, Sequence) and len(placements) >= _FEW_PLACEMENTS:
        replay.expect(claim for placement in placements for claim, _ in placement.claims)
    finish = partial(replay.groups, cluster, requested) if groups and cluster.constraint_groups else None
    return replay.violations(placements, deadline, clock, finish)


def _held_devices(cluster: Cluster, gates: FeatureGates) -> HeldDevices:
    held_devices = HeldDevices(gates)
    for allocation in filter(None, map(_allocation_of_claim, cluster.claims.values())):
        held_devices.enter(allocation)
    return held_devices


def _allocation_of_claim(claim: ResourceClaim | None) -> AllocationResult | None:
    return claim.status.allocation if claim is not None and claim.status is not None else None


class Replay:
    """The allocated state, moved on from unit to unit; the other arguments are as ``verify`` says."""

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        cel_errors: str = "strict",
        caller_constraints: Sequence[CallerConstraint] = (),
        counts_rooms: bool = True,
        counts_extended: bool = True,
        deadline: float | None = None,
    ) -> None:
        # The cluster keeps what every verification starts from.
        self._inventory = cluster.slice_memo(
            ("verification.inventory", gates),
            lambda: Inventory(apply_taint_rules(cluster.slices, cluster.taint_rules, gates), gates),
        )
        held_key = "verification.held", gates.consumable_capacity
        self._ledger = HeldDevices(gates, cluster.memo(held_key, lambda: _held_devices(cluster, gates)))
        self._claims = cluster.claims
        self.loads = NodeLoads(cluster, gates)
        # What devices take is known only as units are placed one by one.
        self._counts_rooms = counts_rooms or self.loads.has_drawing_devices
        self._counts_extended = counts_extended
        self._made: dict[ObjectKey, AllocationResult] = {}
        context = VerificationContext(
            cluster.classes,
            tuple(cluster.nodes.values()),
            cluster.topologies,
            gates,
            self._inventory,
            self._ledger,
            VerifierExpressions(gates, deadline),
            cel_errors == "skip",
        )
        self.context = context
        self._rules = ClaimRules(context, caller_constraints)
        self._members = MemberClaims(cluster.with_gates(gates).pod_groups)
        self._has_groups = bool(cluster.constraint_groups)
        self._finals: dict[ObjectKey, FinalClaim] = {}
        self._is_constrained = bool(caller_constraints)
        self._sequences: FaultlessSequences | None = None

    def expect(self, claims: Iterable[ResourceClaim]) -> FaultlessSequences | None:
        """Judge placements of such claims by classes of nodes from now on, before which nothing may be placed.

        None: entries of every claim may read more of devices than the claims do, so that each placement is judged.
        """
        if self._is_constrained:
            return None
        # Only large plans have use for it.
        from .equal_nodes import FaultlessSequences

        self._sequences = FaultlessSequences(self.context, claims)
        return self._sequences

    def busy_nodes(self, nodes: Sequence[Node]) -> frozenset[str]:
        """Nodes where a pod of the cluster runs, or a device is held that none other of these nodes reaches."""
        reached, holding = Counter[DeviceId](), defaultdict[str, set[DeviceId]](set)
        for node in nodes:
            for view in self.context.inventory.views(node):
                # A view has all devices of its slices, also those that are elsewhere.
                held = (entry for entry in view.devices.values() if self._ledger.holds(entry.id))
                ids = {entry.id for entry in held if reaches(entry.place, node)}
                reached.update(ids)
                holding[node.metadata.name] |= ids
        alone = {name for name, ids in holding.items() if any(reached[id_] == 1 for id_ in ids)}
        return frozenset(alone.union(node.metadata.name for node in nodes if self.loads.has_pods(node)))

    def allocation(self, claim: ObjectKey) -> AllocationResult | None:
        """Return what a claim holds by now."""
        return self._made.get(claim) or _allocation_of_claim(self._claims.get(claim))

    def holders(self) -> Mapping[DeviceId, Collection[str]]:
        """The claims that have devices alone by now, by device (DEV-1)."""
        stored = ((key, _allocation_of_claim(claim)) for key, claim in self._claims.items())
        found: dict[DeviceId, dict[str, None]] = defaultdict(dict)
        for key, allocation in {**dict(stored), **self._made}.items():
            for result in (allocation.devices.results if allocation else None) or ():
                shared = result.share_id is not None and self.context.gates.consumable_capacity
                if not result.admin_access and not shared:
                    found[device_id(result)]["/".join(part for part in key if part)] = None
        return found

    def violations(
        self,
        placements: Iterable[Placement],
        deadline: float | None = None,
        clock: Callable[[], float] = monotonic,
        finish: Callable[[], Iterable[Violation]] | None = None,
    ) -> list[Violation]:
        """Judge placements in their order, and then what ``finish`` finds; raises as ``verify`` does."""
        self.context.expressions.deadline = deadline
        found: list[Violation] = []
        verified = 0
        try:
            for placement in placements:
                if deadline is not None and clock() > deadline:
                    break
                found += self.unit(placement)
                verified += 1
            else:
                found += finish() if finish else ()
                return found
        except ExpressionTimeoutError:
            pass
        if found:
            return found
        raise VerificationTimeoutError(verified)

    def unit(self, placement: Placement) -> Iterator[Violation]:
        """Yield what is wrong with one unit; its devices count as held afterwards."""
        for finding in self._place(placement):
            yield Violation(finding.rule, "", finding.message)
        for claim, _ in placement.claims:
            if self.allocation(key_of(claim.metadata)) is not None:
                yield Violation("SCHED-2", "/".join(key_of(claim.metadata)), "the claim is allocated already")
        known, node = self._sequences, placement.node
        step = known.step(node, placement.claims, has_costs=bool(placement.costs)) if known else None
        if step is None or known is None:
            yield from self._claim_violations(placement)
        elif not known.follows(step):
            found = list(self._claim_violations(placement))
            if not found:
                known.add(step)
            yield from found
        self._hold(placement)

    def _claim_violations(self, placement: Placement) -> Iterator[Violation]:
        """Yield what is wrong with the allocations of one unit."""
        usage = UnitUsage(self._ledger)
        for number, (claim, allocation) in enumerate(placement.claims):
            key, context = key_of(claim.metadata), ClaimContext(placement.node, usage, number)
            asked = self.loads.claim_on(claim, placement.node)
            for finding in self._rules.findings(asked, allocation, context, placement.costs.get(key)):
                yield Violation(finding.rule, "/".join(key), finding.message)

    def enter(self, placement: Placement) -> None:
        """Count a unit as placed without judging it: it was verified before."""
        deque(self._room_findings(placement), maxlen=0)
        self._hold(placement)

    def _hold(self, placement: Placement) -> None:
        """Count the devices of a unit as held."""
        for claim, allocation in placement.claims:
            key = key_of(claim.metadata)
            self._made[key] = allocation
            if self._has_groups:
                self._finals[key] = FinalClaim(claim, allocation, placement.node)
            self._ledger.enter(allocation)

    def _room_findings(self, placement: Placement) -> Iterator[Finding]:
        """What the node has too little of for a pod, which counts as placed then."""
        if placement.pod is not None and self._counts_rooms:
            earlier = ((claim, self.allocation(key_of(claim.metadata))) for claim in placement.earlier)
            held = (*placement.claims, *((claim, made) for claim, made in earlier if made is not None))
            yield from self.loads.enter(placement.pod, placement.node, held)

    def groups(self, cluster: Cluster, requested: Sequence[Unit] | None) -> Iterator[Violation]:
        """Yield what is wrong with groups once all units are placed."""
        rules = GroupRules(self.context, cluster.slices)
        claims = ((key, claim, _allocation_of_claim(claim)) for key, claim in cluster.claims.items())
        finals = {key: FinalClaim(claim, found) for key, claim, found in claims if found} | self._finals
        for group in cluster.constraint_groups.values():
            for finding in rules.findings(group, group_members(group, cluster, requested), finals):
                yield Violation(finding.rule, "", finding.message)

    def _place(self, placement: Placement) -> Iterator[Finding]:
        """Whether the node is one for the pod and has room, and for what its claims hold already (NODE-2, SCHED-2)."""
        node, pod = placement.node, placement.pod
        if self._inventory.unreadable and placement.claims:
            yield Finding("NODE-2", self._inventory.unreadable)
        if pod is not None:
            yield from node_findings(pod, node)
            if self._members.has_groups:
                yield from self._members.findings(pod, (*(claim for claim, _ in placement.claims), *placement.earlier))
            yield from self._room_findings(placement)
            if self._counts_extended and self.loads.asks_for_devices(pod):
                claims = chain((self.loads.claim_on(claim, node) for claim, _ in placement.claims), placement.earlier)
                yield from self.loads.device_findings(pod, claims, node)
        for claim in placement.earlier:
            key = key_of(claim.metadata)
            allocation = self.allocation(key)
            if allocation is None:
                yield Finding("SCHED-2", f"claim {'/'.join(key)} is not allocated yet")
            elif not is_usable_on(allocation, node):
                yield Finding("SCHED-2", f"claim {'/'.join(key)} is allocated where node {node.metadata.name} is not")
