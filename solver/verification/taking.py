"""One device taken for one request, on top of all that is in use (section 7, read anew)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...models.claims import DeviceRequestAllocationResult
from .capacity import nano, overfull
from .counters import Stock
from .findings import Finding
from .inventory import PoolView
from .ledger import Attempt
from .published import Generation, Published
from .requests import Asked, is_admin
from .results import copies, has_copies
from .scene import Scene, Seat

_SHARE_ID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


class Taking(NamedTuple):
    """A result with the device it names, the pool as the node sees it, and what asked for it."""

    result: DeviceRequestAllocationResult
    entry: Published
    view: PoolView
    asked: Asked


class TakingRules:
    """The rules of one device, joint ones with earlier results included, but for constraints."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._devices = scene.devices
        self._sharing, self._partitioning = scene.gates.consumable_capacity, scene.gates.partitionable_devices
        self._stocks: dict[Generation, Stock] = {}
        self._share_ids: set[str] = set()

    def broken(self, taking: Taking, seat: Seat) -> Iterator[Finding]:
        """Say what DEV-1 to DEV-10 and DEV-12 have against the device, which then counts as taken by the attempt."""
        result, entry, _, asked = taking
        taken = self._devices.amounts(entry, asked)
        unselected = self._devices.unmatched(entry, asked, seat.node) or (taken if isinstance(taken, Finding) else None)
        yield from filter(None, (self._in_use(taking, seat), unselected))
        yield from self._devices.unusable(entry, asked, seat.node)
        if self._partitioning and entry.device.consumes_counters:
            yield from self._counters(taking, seat.attempt)
        if not isinstance(taken, Finding):
            yield from self._capacity(taking, taken, seat.attempt)
        if has_copies(result, asked, entry):
            yield from copies(result, asked, entry, self._scene.gates)
        seat.attempt.take(entry, seat.number, self._is_shared(entry))

    def _is_shared(self, entry: Published) -> bool:
        return self._sharing and bool(entry.device.allow_multiple_allocations)

    def _in_use(self, taking: Taking, seat: Seat) -> Finding | None:
        """DEV-1, CAP-10."""
        takers = seat.attempt.picked.get(taking.entry.id, ())
        if is_admin(taking.asked):
            twice = seat.number in takers
            return Finding("DEV-1", "admin access to a device that the claim has already") if twice else None
        if self._scene.ledger.dedicates(taking.entry.id):
            return Finding("DEV-1", "the device is in use")
        return Finding("DEV-1", "the device is taken twice") if takers else None

    def _counters(self, taking: Taking, attempt: Attempt) -> Iterator[Finding]:
        """DEV-8; another share of a device is free (CTR-3, GRP-4)."""
        entry = taking.entry
        if self._is_shared(entry) and attempt.shared_already(entry.id):
            return
        generation = taking.view.generation
        stock = self._stocks.get(generation)
        if stock is None:
            stock = self._stocks[generation] = Stock(taking.view.id, generation, self._scene.ledger)
        yield from stock.overdrawn(entry, attempt)
        yield from stock.incompatible(entry, attempt)

    def _capacity(self, taking: Taking, taken: Mapping[str, int], attempt: Attempt) -> Iterator[Finding]:
        """CAP-6 to CAP-8: whether the amounts fit beside all others, and are recorded with a share id."""
        entry, result = taking.entry, taking.result
        if attempt.shared_already(entry.id):
            # Alone it takes no more than there is: that is what amounts are.
            used = {name: attempt.used(entry.id, name) for name in taken}
            yield from overfull(entry.device, taken, used)
        if self._is_shared(entry):
            yield from self._share(result, taken)
            attempt.consumed[entry.id].update(taken)
        elif result.share_id is not None or result.consumed_capacity is not None:
            yield Finding("CAP-7", "a device that is not shared has no share id and no consumed capacity")

    def _share(self, result: DeviceRequestAllocationResult, taken: Mapping[str, int]) -> Iterator[Finding]:
        """CAP-8."""
        share = result.share_id or ""
        if not _SHARE_ID.fullmatch(share):
            yield Finding("CAP-8", f"share id {share!r} is no lower-case UUID")
        elif share in self._share_ids or self._scene.ledger.knows_share(share):
            yield Finding("CAP-8", f"share id {share} is not fresh")
        self._share_ids.add(share)
        recorded = {name: nano(amount) for name, amount in (result.consumed_capacity or {}).items()}
        if recorded != taken:
            yield Finding("CAP-8", f"consumed capacity {recorded} is recorded, not {taken} (in billionths)")
