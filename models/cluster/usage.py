"""The allocated state: which claim holds which device, and how much of it (IN-2 to IN-4).

It rests on a mapping that never changes, from which other mappings derive cheaply.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from ..kubernetes.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import DeviceId, ObjectKey, key_of
from ..kubernetes.quantity import Quantity


class Hold(msgspec.Struct, frozen=True):
    """A claim's hold on a device: the whole device, or (with a share id) a share of it."""

    claim: ObjectKey
    share_id: str | None = None
    # Capacity name to billionths, as the allocation recorded it; None if it recorded nothing.
    consumed: Mapping[str, int] | None = None


class Usage:
    """Allocated devices; immutable, cheap to derive from. Keys of claims are (namespace, name).

    Results with admin access are not in use (IN-3). With ConsumableCapacity off every hold is a whole device.
    """

    __slots__ = ("_by_claim", "_by_device", "_sharing")

    def __init__(
        self, by_device: PersistentMap[DeviceId, Hold], by_claim: PersistentMap[ObjectKey, DeviceId], sharing: bool
    ) -> None:
        self._by_device = by_device
        self._by_claim = by_claim
        self._sharing = sharing

    @classmethod
    def empty(cls, gates: FeatureGates) -> Usage:
        """Nothing in use."""
        return cls(PersistentMap({}), PersistentMap({}), gates.consumable_capacity)

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], gates: FeatureGates) -> Usage:
        """The state that the claims' ``status.allocation`` make (IN-3). Raises ``ValueError`` on a bad quantity."""
        return cls.empty(gates)._added(_allocations_by_claim(claims))  # noqa: SLF001 - the class's own

    def with_claims(self, claims: Iterable[ResourceClaim]) -> Usage:
        """With these claims holding what their status says, and nothing else of what they held before."""
        now = list(claims)
        return self.without(key_of(claim.metadata) for claim in now)._added(_allocations_by_claim(now))  # noqa: SLF001 - the class's own

    def plus(self, allocations: Iterable[tuple[ObjectKey, AllocationResult]]) -> Usage:
        """With these claims' allocations added; what they held before is given up."""
        added = dict(allocations)
        return self.without(added)._added(added)  # noqa: SLF001 - the class's own

    def _added(self, allocations: Mapping[ObjectKey, AllocationResult]) -> Usage:
        devices: dict[DeviceId, tuple[Hold, ...]] = {}
        claims: dict[ObjectKey, tuple[DeviceId, ...]] = {}
        for key, allocation in allocations.items():
            held = [result for result in allocation.devices.results or () if not result.admin_access]
            own = claims[key] = tuple([(result.driver, result.pool, result.device) for result in held])
            whole = Hold(key)
            for device, result in zip(own, held, strict=True):
                hold = whole if result.share_id is None else self._hold(key, result)
                before = devices.get(device) or self.holds(device)
                devices[device] = (*before, hold) if before else (hold,)
        return Usage(self._by_device.updated(devices), self._by_claim.updated(claims), self._sharing)

    def _hold(self, claim: ObjectKey, result: DeviceRequestAllocationResult) -> Hold:
        if not self._sharing or result.share_id is None:
            return Hold(claim)
        if result.consumed_capacity is None:
            return Hold(claim, result.share_id)
        consumed = {name: Quantity.parse(amount).nano for name, amount in result.consumed_capacity.items()}
        return Hold(claim, result.share_id, consumed)

    def without(self, claims: Iterable[ObjectKey]) -> Usage:
        """With these claims unpinned: what they hold is free again."""
        gone = () if self._by_claim.is_empty else {claim for claim in claims if self._by_claim.get(claim)}
        if not gone:
            return self
        freed = {device for claim in gone for device in self._by_claim.get(claim)}
        devices = {device: tuple(hold for hold in self.holds(device) if hold.claim not in gone) for device in freed}
        return Usage(self._by_device.updated(devices), self._by_claim.updated(dict.fromkeys(gone, ())), self._sharing)

    @property
    def is_empty(self) -> bool:
        """Whether surely no device is held."""
        return self._by_device.is_empty

    def holds(self, device: DeviceId) -> tuple[Hold, ...]:
        """All holds on the device, in the order they were added."""
        return self._by_device.get(device)

    def held_by(self, claim: ObjectKey) -> tuple[DeviceId, ...]:
        """The devices a claim holds, in the order of its allocation."""
        return self._by_claim.get(claim)

    def in_use(self, device: DeviceId) -> bool:
        """Dedicated, or shared in any way: the device counts for counters (IN-4)."""
        return bool(self._by_device.get(device))

    def consumed_on(self, device: DeviceId) -> Mapping[str, int]:
        """Capacity already consumed on the device, in billionths; empty if none (IN-2)."""
        total: dict[str, int] = defaultdict(int)
        for hold in self._by_device.get(device):
            for name, amount in (hold.consumed or {}).items():
                total[name] += amount
        return dict(total)

    @property
    def dedicated(self) -> frozenset[DeviceId]:
        """First part of IN-2: devices that a claim holds as a whole. Made at each call, like the other two parts."""
        return frozenset(device for device, hold in self._all() if hold.share_id is None)

    @property
    def shares(self) -> frozenset[tuple[DeviceId, str]]:
        """Second part of IN-2: device and share id."""
        return frozenset((device, hold.share_id) for device, hold in self._all() if hold.share_id is not None)

    @property
    def consumed(self) -> dict[DeviceId, Mapping[str, int]]:
        """Third part of IN-2: capacity consumed on each device, in billionths."""
        recorded = {device for device, hold in self._all() if hold.consumed is not None}
        return {device: self.consumed_on(device) for device in sorted(recorded)}

    def _all(self) -> Iterator[tuple[DeviceId, Hold]]:
        return ((device, hold) for device, holds in self._by_device.items() for hold in holds)


def _allocations_by_claim(claims: Iterable[ResourceClaim]) -> dict[ObjectKey, AllocationResult]:
    """The allocations that claims have; of several claims with one key the last one counts."""
    found = {key_of(claim.metadata): claim.status.allocation if claim.status else None for claim in claims}
    return {key: allocation for key, allocation in found.items() if allocation}


K = TypeVar("K")
V = TypeVar("V")
_SMALL_LAYER = 64


class PersistentMap(Generic[K, V]):
    """An immutable mapping to tuples; an empty tuple stands for a missing key.

    A large base is shared between a mapping and those derived from it. What differs is in two layers above: a small
    one, copied at each update, which is merged into the middle one when it is full; and that one into a new base when
    it exceeds the base's size to the power of 2/3. So n updates of a mapping of size m cost about n * m ** (1/3).
    """

    __slots__ = ("_base", "_middle", "_recent")

    def __init__(
        self,
        base: Mapping[K, tuple[V, ...]],
        middle: Mapping[K, tuple[V, ...]] | None = None,
        recent: Mapping[K, tuple[V, ...]] | None = None,
    ) -> None:
        self._base = base
        self._middle = middle or {}
        self._recent = recent or {}

    @property
    def is_empty(self) -> bool:
        """Whether no key was ever there."""
        return not (self._base or self._middle or self._recent)

    def get(self, key: K) -> tuple[V, ...]:
        """The key's tuple, empty if the key is missing."""
        found = self._recent.get(key)
        if found is None:
            found = self._middle.get(key)
        return self._base.get(key, ()) if found is None else found

    def updated(self, changes: Mapping[K, tuple[V, ...]]) -> PersistentMap[K, V]:
        """A mapping with these keys changed; an empty tuple removes its key."""
        if len(changes) > _SMALL_LAYER and self.is_empty:
            return PersistentMap(_merge_layers({}, changes))
        recent = {**self._recent, **changes}
        if len(recent) <= _SMALL_LAYER:
            return PersistentMap(self._base, self._middle, recent)
        middle = {**self._middle, **recent}
        if len(middle) <= max(_SMALL_LAYER, len(self._base) ** (2 / 3)):
            return PersistentMap(self._base, middle)
        return PersistentMap(_merge_layers(self._base, middle))

    def items(self) -> Iterator[tuple[K, tuple[V, ...]]]:
        """All keys that are there, with their tuples."""
        merged = {**self._base, **self._middle, **self._recent}
        return ((key, values) for key, values in merged.items() if values)


def _merge_layers(base: Mapping[K, tuple[V, ...]], changes: Mapping[K, tuple[V, ...]]) -> dict[K, tuple[V, ...]]:
    """The base with changes. Keys are copied with their hashes, which takes a fraction of hashing them again."""
    merged = {**base, **changes}
    for key, values in changes.items():
        if not values:
            del merged[key]
    return merged
