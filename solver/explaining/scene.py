"""What a unit is asked in: the cluster and the unit itself, each of which a relaxation may change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass

from msgspec.structs import replace

from ...models.claims import DeviceClaim, DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaim
from ...models.cluster import Cluster
from ...models.core import PodSpec
from ...models.entries import annotated_entries, with_entries
from ...models.gates import FeatureGates
from ...models.given import Given
from ...models.identity import DeviceId, ObjectKey
from ...models.units import Unit
from ...problem.in_use import Ledger

Spec = ExactDeviceRequest | DeviceSubRequest


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The cluster as it is when the unit's turn comes, the unit, and entries given beside those of its claims."""

    cluster: Cluster
    unit: Unit
    gates: FeatureGates
    given: tuple[Given, ...] = ()

    @property
    def claims(self) -> tuple[ResourceClaim, ...]:
        """The claims to allocate, numbered as in a Problem."""
        return tuple(ref.claim for ref in self.unit.asked if ref.claim is not None)

    def ledger(self) -> Ledger:
        """What is in use."""
        return Ledger(self.cluster.usage(self.gates))

    def with_claim(self, number: int, change: Callable[[DeviceClaim], DeviceClaim]) -> Scene:
        """Change what a claim asks for."""
        return self._with_claim(number, lambda claim: _changed(claim, change))

    def without_entry(self, number: int, position: int) -> Scene:
        """Drop an entry of a claim by its number: those of the spec come first, then the annotation's, then the given.

        What is given is so for all claims.
        """
        own = entries_in(self.claims[number])
        if position >= own:
            left = tuple(one for place, one in enumerate(self.given, own) if place != position)
            return dataclasses.replace(self, given=left)
        return self._with_claim(number, lambda claim: _without_entry(claim, position))

    def without_request(self, number: int, name: str) -> Scene:
        """Drop a request of a claim, and its name from entries; entries for nothing else go with it."""
        return self._with_claim(number, lambda claim: _without_request(claim, name))

    def _with_claim(self, number: int, change: Callable[[ResourceClaim], ResourceClaim]) -> Scene:
        chosen = self.unit.asked[number]
        refs = tuple(
            dataclasses.replace(ref, claim=change(ref.claim)) if ref is chosen and ref.claim else ref
            for ref in self.unit.claims
        )
        stored = [ref.claim for ref in refs if ref.claim is not None and ref.key in self.cluster.claims]
        unit = dataclasses.replace(self.unit, claims=refs)
        return dataclasses.replace(self, unit=unit, cluster=self.cluster.with_claims(stored))

    def with_request(self, number: int, name: str, change: Callable[[Spec], Spec]) -> Scene:
        """Change a request (``name``) or an alternative of it (``name/alternative``)."""
        request, _, alternative = name.partition("/")
        return self.with_claim(number, lambda claim: _with_request(claim, request, alternative, change))

    def with_pod(self, change: Callable[[PodSpec], PodSpec]) -> Scene:
        """Change the unit's pod, if it has one."""
        pod = self.unit.pod
        if pod is None:
            return self
        changed = replace(pod, spec=change(pod.spec))
        return dataclasses.replace(self, unit=dataclasses.replace(self.unit, pod=changed))

    def without_claims(self, keys: Collection[ObjectKey]) -> Scene:
        """Free what these claims hold."""
        return dataclasses.replace(self, cluster=self.cluster.without(claims=keys))

    def without_device(self, key: ObjectKey, device: DeviceId) -> Scene:
        """Free one device of a claim."""
        claim = self.cluster.claims[key]
        allocation = claim.status.allocation if claim.status else None
        if claim.status is None or allocation is None:
            return self
        kept = tuple(one for one in allocation.devices.results or () if (one.driver, one.pool, one.device) != device)
        left = replace(allocation, devices=replace(allocation.devices, results=kept))
        changed = replace(claim, status=replace(claim.status, allocation=left))
        return dataclasses.replace(self, cluster=self.cluster.with_claims([changed]))


def _changed(claim: ResourceClaim, change: Callable[[DeviceClaim], DeviceClaim]) -> ResourceClaim:
    return replace(claim, spec=replace(claim.spec, devices=change(claim.spec.devices)))


def _with_request(claim: DeviceClaim, name: str, alternative: str, change: Callable[[Spec], Spec]) -> DeviceClaim:
    def changed(request: DeviceRequest) -> DeviceRequest:
        if request.name != name:
            return request
        if request.exactly is not None:
            return replace(request, exactly=change(request.exactly))
        options = request.first_available or ()
        return replace(
            request,
            first_available=tuple(change(one) if alternative in ("", one.name) else one for one in options),
        )

    return replace(claim, requests=tuple(map(changed, claim.requests or ())))


def entries_in(claim: ResourceClaim) -> int:
    """Count the entries of a claim: those of the spec, and those of the annotation."""
    return len(claim.spec.devices.constraints or ()) + len(annotated_entries(claim.metadata))


def _without_request(claim: ResourceClaim, name: str) -> ResourceClaim:
    entries = [(one, _names_left(one.requests, name)) for one in annotated_entries(claim.metadata)]
    changed = _changed(claim, lambda devices: _without_request_in(devices, name))
    if not entries:
        return changed
    kept = [replace(one, requests=left) for one, left in entries if left != ()]
    return replace(changed, metadata=with_entries(claim.metadata, kept))


def _without_request_in(claim: DeviceClaim, name: str) -> DeviceClaim:
    entries = [(one, _names_left(one.requests, name)) for one in claim.constraints or ()]
    configs = [(one, _names_left(one.requests, name)) for one in claim.config or ()]
    return replace(
        claim,
        requests=tuple(one for one in claim.requests or () if one.name != name),
        constraints=tuple(replace(one, requests=left) for one, left in entries if left != ()) or None,
        config=tuple(replace(one, requests=left) for one, left in configs if left != ()) or None,
    )


def _names_left(names: tuple[str, ...] | None, gone: str) -> tuple[str, ...] | None:
    """None: the entry is about all requests, whichever there are."""
    return tuple(name for name in names if name.split("/")[0] != gone) if names else None


def _without_entry(claim: ResourceClaim, position: int) -> ResourceClaim:
    constraints = claim.spec.devices.constraints or ()
    if position >= len(constraints):
        kept = [one for n, one in enumerate(annotated_entries(claim.metadata), len(constraints)) if n != position]
        return replace(claim, metadata=with_entries(claim.metadata, kept))
    left = tuple(one for number, one in enumerate(constraints) if number != position)
    return _changed(claim, lambda devices: replace(devices, constraints=left or None))
