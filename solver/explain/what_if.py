"""Changed questions: the cluster and the unit as they would be after some changes, and whether the unit then fits.

``WhatIf`` is the question with its changes. ``WhatIfTrials`` asks it for real: the ordinary engine allocates, and the
verifier checks what it found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeVar

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import Misfit, node_matches, pod_fits
from ...models.kubernetes.claims import (
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    RequestSpec,
    ResourceClaim,
)
from ...models.kubernetes.core import Node, PodSpec
from ...models.kubernetes.extensions import CallerConstraint, Entry, annotated_entries, with_entries
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.results.common import Status
from ...models.workload.node_room import NodeRooms
from ...models.workload.units import Unit
from ...problem.messages import claim_text
from ...problem.node_state import AllocatedState
from ..allocate.check import check_allocations
from ..engines.engine import Engine, Session
from ..engines.outcome import UnitOutcome
from ..engines.registry import ENGINES
from ..verification.verify import VerificationTimeoutError


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """The cluster when the unit's turn comes, the unit, and the caller's constraints of all claims.

    ``rooms`` are what earlier units leave of the nodes; None: nodes have room for any pod.
    """

    cluster: Cluster
    unit: Unit
    gates: FeatureGates
    caller_constraints: tuple[CallerConstraint, ...] = ()
    rooms: NodeRooms | None = None

    @property
    def claims(self) -> tuple[ResourceClaim, ...]:
        """The claims to allocate, numbered as in a Problem."""
        return self.unit.claims_to_allocate

    def allocated_state(self) -> AllocatedState:
        """Return what is in use."""
        return AllocatedState(self.cluster.usage(self.gates))

    def without_entry(self, number: int, position: int) -> WhatIf:
        """Drop an entry of a claim by its number: of the spec, of the annotation, or of the caller.

        An entry of the caller is dropped for all claims.
        """
        own = count_entries(self.claims[number])
        if position >= own:
            left = tuple(one for place, one in enumerate(self.caller_constraints, own) if place != position)
            return dataclasses.replace(self, caller_constraints=left)
        return self._with_claim(number, lambda claim: _without_entry(claim, position))

    def without_request(self, number: int, name: str) -> WhatIf:
        """Drop a request of a claim, and its name from entries; entries for nothing else go with it."""
        return self._with_claim(number, lambda claim: _without_request(claim, name))

    def _with_claim(self, number: int, change: Callable[[ResourceClaim], ResourceClaim]) -> WhatIf:
        chosen = self.unit.requested_claims[number]
        refs = tuple(
            replace(ref, claim=change(ref.claim)) if ref is chosen and ref.claim else ref for ref in self.unit.claims
        )
        stored = [ref.claim for ref in refs if ref.claim is not None and ref.key in self.cluster.claims]
        unit = replace(self.unit, claims=refs)
        return dataclasses.replace(self, unit=unit, cluster=self.cluster.with_claims(stored))

    def with_request(self, number: int, name: str, change: Callable[[RequestSpec], RequestSpec]) -> WhatIf:
        """Change a request (``name``) or an alternative of it (``name/alternative``)."""
        request, _, alternative = name.partition("/")
        edit = partial(_with_request, name=request, alternative=alternative, change=change)
        return self._with_claim(number, lambda claim: _with_devices(claim, edit))

    def with_pod(self, change: Callable[[PodSpec], PodSpec]) -> WhatIf:
        """Change the unit's pod, if it has one."""
        pod = self.unit.pod
        if pod is None:
            return self
        changed = replace(pod, spec=change(pod.spec))
        return dataclasses.replace(self, unit=self.unit.with_pod(changed))

    def without_claims(self, keys: Collection[ObjectKey]) -> WhatIf:
        """Free what these claims hold."""
        return dataclasses.replace(self, cluster=self.cluster.without(claims=keys))

    def without_device(self, key: ObjectKey, device: DeviceId) -> WhatIf:
        """Free one device of a claim."""
        claim = self.cluster.claims[key]
        allocation = claim.status.allocation if claim.status else None
        if claim.status is None or allocation is None:
            return self
        kept = tuple(one for one in allocation.devices.results or () if (one.driver, one.pool, one.device) != device)
        left = replace(allocation, devices=replace(allocation.devices, results=kept))
        changed = replace(claim, status=replace(claim.status, allocation=left))
        return dataclasses.replace(self, cluster=self.cluster.with_claims([changed]))


WhatIfEdit = Callable[[WhatIf], WhatIf]
_Entry = TypeVar("_Entry", DeviceConstraint, DeviceClaimConfiguration, Entry)


def _with_devices(claim: ResourceClaim, change: Callable[[DeviceClaim], DeviceClaim]) -> ResourceClaim:
    return replace(claim, spec=replace(claim.spec, devices=change(claim.spec.devices)))


def _with_request(
    claim: DeviceClaim, name: str, alternative: str, change: Callable[[RequestSpec], RequestSpec]
) -> DeviceClaim:
    def changed(request: DeviceRequest) -> DeviceRequest:
        if request.name != name:
            return request
        if request.exactly is not None:
            return replace(request, exactly=change(request.exactly))
        options = request.first_available or ()
        return replace(
            request, first_available=tuple(change(one) if alternative in ("", one.name) else one for one in options)
        )

    return replace(claim, requests=tuple(map(changed, claim.requests or ())))


def count_entries(claim: ResourceClaim) -> int:
    """Count the entries of a claim: those of the spec, and those of the annotation."""
    return len(claim.spec.devices.constraints or ()) + len(annotated_entries(claim.metadata))


def _without_request(claim: ResourceClaim, name: str) -> ResourceClaim:
    def changed(devices: DeviceClaim) -> DeviceClaim:
        return replace(
            devices,
            requests=tuple(one for one in devices.requests or () if one.name != name),
            constraints=_without_name(devices.constraints, name) or None,
            config=_without_name(devices.config, name) or None,
        )

    entries = annotated_entries(claim.metadata)
    left = with_entries(claim.metadata, _without_name(entries, name)) if entries else claim.metadata
    return replace(_with_devices(claim, changed), metadata=left)


def _without_name(entries: Iterable[_Entry] | None, gone: str) -> tuple[_Entry, ...]:
    """Drop a request from entries, and those for nothing else; one without names is about all, whichever there are."""
    names = ((one, [name for name in one.requests or () if name.split("/")[0] != gone]) for one in entries or ())
    return tuple(replace(one, requests=tuple(left) or None) for one, left in names if left or not one.requests)


def _without_entry(claim: ResourceClaim, position: int) -> ResourceClaim:
    constraints = claim.spec.devices.constraints or ()
    if position >= len(constraints):
        kept = [one for n, one in enumerate(annotated_entries(claim.metadata), len(constraints)) if n != position]
        return replace(claim, metadata=with_entries(claim.metadata, kept))
    left = tuple(one for number, one in enumerate(constraints) if number != position)
    return _with_devices(claim, lambda devices: replace(devices, constraints=left or None))


# Attempts for one unit.
MAX_TRIALS = 300


class TrialLimitError(Exception):
    """The search ends: the attempts or the time are used up."""


class WhatIfTrials:
    """Allocates for changed questions, within limits; the engine is kept while classes and gates are the same."""

    def __init__(self, session: Session, deadline: float | None, most: int = MAX_TRIALS) -> None:
        self._session = session
        self._deadline = deadline
        self._engine: Engine = ENGINES["cp-sat"](session)
        self._most = self._left = most

    def renew(self) -> None:
        """Allow so many attempts for the next unit again."""
        self._left = self._most

    def fits(self, what_if: WhatIf, node: Node) -> bool:
        """Tell whether the unit fits on the node. Raises ``TrialLimitError``, and ``VerificationError`` on a defect."""
        if not self._left or (self._deadline is not None and monotonic() >= self._deadline):
            raise TrialLimitError
        self._left -= 1
        if node_misfit(what_if.unit, node, what_if.rooms) is not None:
            return False
        attempt = self._engine_for(what_if).allocate_on(node, what_if.claims, what_if.allocated_state(), self._deadline)
        if attempt.timed_out:
            raise TrialLimitError
        if attempt.status is not Status.ALLOCATED:
            return False
        pairs = tuple(zip(what_if.unit.requested_claims, attempt.allocations, strict=True))
        answer = UnitOutcome(what_if.unit, Status.ALLOCATED, node.metadata.name, allocations=pairs)
        given = what_if.caller_constraints
        # A changed claim may ask for less than the pod.
        check = partial(check_allocations, what_if.cluster, [answer], what_if.gates, self._session.policy, given)
        try:
            check(extended=False, deadline=self._deadline)
        except VerificationTimeoutError:
            raise TrialLimitError from None
        return True

    def _engine_for(self, what_if: WhatIf) -> Engine:
        same = what_if.cluster.classes is self._session.cluster.classes and what_if.gates == self._session.gates
        if same and what_if.caller_constraints == self._session.caller_constraints:
            return self._engine
        given = what_if.caller_constraints
        changed = dataclasses.replace(
            self._session, cluster=what_if.cluster, gates=what_if.gates, caller_constraints=given
        )
        return ENGINES["cp-sat"](changed)


def node_misfit(unit: Unit, node: Node, rooms: NodeRooms | None) -> Misfit | None:
    """Find why the node does not suit, whatever devices it has, or has no room (NODE-2, SCHED-2).

    Raises ``SelectorError``.
    """
    misfits = pod_misfits(unit, node, rooms)
    if misfits:
        return misfits[0]
    for ref in unit.claims:
        status = ref.claim.status if ref.claim else None
        if status and status.allocation and not node_matches(status.allocation.node_selector, node):
            return Misfit("allocatedClaim", f"claim {claim_text(ref.key)} is allocated for other nodes")
    return None


def pod_misfits(unit: Unit, node: Node, rooms: NodeRooms | None) -> list[Misfit]:
    """List why the pod itself does not fit the node: rules for nodes, and then the room."""
    if unit.pod is None:
        return []
    lacking = rooms and rooms.misfit(rooms.demand(unit.pod.spec), node.metadata.name)
    return [*pod_fits(unit.pod.spec, node), *([lacking] if lacking else [])]
