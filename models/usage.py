"""What is in use: the allocated state, and which claim holds which device (IN-2 to IN-4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .claims import AllocationResult, ResourceClaim
from .gates import FeatureGates
from .identity import DeviceId, ObjectKey


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim's hold on a device: the whole device, or (with a share id) a share of it."""

    claim: ObjectKey
    share_id: str | None = None
    # Capacity name to billionths, as the allocation recorded it; None if it recorded nothing.
    consumed: Mapping[str, int] | None = None


class Usage:
    """Allocated devices; immutable, cheap to derive from. Keys of claims are (namespace, name).

    Results with admin access are not in use (IN-3). With ConsumableCapacity off every hold is a whole device.
    """

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], gates: FeatureGates) -> "Usage":
        """The state that the claims' ``status.allocation`` make (IN-3). Raises ``ValueError`` on a bad quantity."""
        raise NotImplementedError

    def plus(self, allocations: Iterable[tuple[ObjectKey, AllocationResult]]) -> "Usage":
        """With these claims' allocations added; what they held before is given up."""
        raise NotImplementedError

    def without(self, claims: Iterable[ObjectKey]) -> "Usage":
        """With these claims unpinned: what they hold is free again."""
        raise NotImplementedError

    def holds(self, device: DeviceId) -> tuple[Hold, ...]:
        """All holds on the device, in the order they were added."""
        raise NotImplementedError

    def holder(self, device: DeviceId) -> ObjectKey | None:
        """The claim that holds the device (of a shared device: the first one)."""
        raise NotImplementedError

    def held_by(self, claim: ObjectKey) -> tuple[DeviceId, ...]:
        """The devices a claim holds, in the order of its allocation."""
        raise NotImplementedError

    def in_use(self, device: DeviceId) -> bool:
        """Dedicated, or shared in any way: the device counts for counters (IN-4)."""
        raise NotImplementedError

    def is_dedicated(self, device: DeviceId) -> bool:
        """The device is in the dedicated set (IN-2, DEV-1)."""
        raise NotImplementedError

    def consumed_on(self, device: DeviceId) -> Mapping[str, int]:
        """Capacity already consumed on the device, in billionths; empty if none (IN-2)."""
        raise NotImplementedError

    @property
    def dedicated(self) -> frozenset[DeviceId]:
        """First part of IN-2: devices that somebody holds as a whole."""
        raise NotImplementedError

    @property
    def shares(self) -> frozenset[tuple[DeviceId, str]]:
        """Second part of IN-2: device and share id."""
        raise NotImplementedError

    @property
    def consumed(self) -> Mapping[DeviceId, Mapping[str, int]]:
        """Third part of IN-2: capacity consumed on each device, in billionths."""
        raise NotImplementedError
