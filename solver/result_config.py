"""Configuration that goes with an allocation (RES-3 to RES-6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..models.claims import DeviceAllocationConfiguration, DeviceClass, ResourceClaim

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


@dataclass(frozen=True, slots=True)
class Selected:
    """A request, with the alternative that was selected if it is a list, and its class."""

    request: str
    subrequest: str
    device_class: DeviceClass

    @property
    def label(self) -> str:
        """Name in the result's lists of requests."""
        return f"{self.request}/{self.subrequest}" if self.subrequest else self.request


def configuration(claim: ResourceClaim, selected: Sequence[Selected]) -> tuple[DeviceAllocationConfiguration, ...]:
    """List the entries of the classes, then those of the claim."""
    return (*_from_classes(selected), *_from_claim(claim, selected))


def _from_classes(selected: Sequence[Selected]) -> Iterator[DeviceAllocationConfiguration]:
    """Yield each class's entries once, for all requests that use the class (RES-3)."""
    users: dict[str, list[Selected]] = {}
    for request in selected:
        users.setdefault(request.device_class.metadata.name, []).append(request)
    for requests in users.values():
        labels = tuple(request.label for request in requests)
        for entry in requests[0].device_class.spec.config or ():
            covered = _requests(labels, selected)
            yield DeviceAllocationConfiguration(source=FROM_CLASS, requests=covered, opaque=entry.opaque)


def _from_claim(claim: ResourceClaim, selected: Sequence[Selected]) -> Iterator[DeviceAllocationConfiguration]:
    """Yield the claim's entries that mean something which was selected (RES-4)."""
    known = {request.request for request in selected} | {request.label for request in selected}
    for entry in claim.spec.devices.config or ():
        names = entry.requests or ()
        if not names or known.intersection(names):
            yield DeviceAllocationConfiguration(
                source=FROM_CLAIM, requests=_requests(names, selected), opaque=entry.opaque
            )


def _requests(names: Sequence[str], selected: Sequence[Selected]) -> tuple[str, ...] | None:
    """Drop a list of names that covers every request of the claim: no list means all (RES-5)."""
    covered = all(request.request in names or request.label in names for request in selected)
    return None if covered else tuple(names) or None
