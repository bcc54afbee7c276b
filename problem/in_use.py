"""The allocated state by the numbers of a node's devices and rows (IN-2, CTR-1, GRP-2)."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from ..models.cluster.pools import Pool, PoolDevice
from ..models.cluster.usage import Hold, Usage
from ..models.kubernetes.claims import AllocationResult
from ..models.kubernetes.meta import ObjectKey, PoolId
from ..models.kubernetes.quantity import Quantity
from .problem import InUse, groups_after_joining
from .shapes import NodeView, group_set


class AllocatedState:
    """The usage while units are placed one after the other, and when each pool last changed.

    What is derived from it is kept until the pools concerned change.
    """

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._log: list[PoolId] = []
        self._changed: dict[PoolId, int] = {}
        self._in_use: dict[str, tuple[NodeView, int, InUse]] = {}
        self._baselines: dict[tuple[PoolId, int], tuple[int, tuple[int, ...]]] = {}

    def commit(self, allocations: Iterable[tuple[ObjectKey, AllocationResult]]) -> None:
        """Take what was allocated out of what is free."""
        made = list(allocations)
        self.usage = self.usage.plus(made)
        self._note({(result.driver, result.pool) for _, made_ in made for result in made_.devices.results or ()})

    def release(self, claims: Iterable[ObjectKey]) -> None:
        """Give what these claims hold back to what is free."""
        gone = list(claims)
        pools = {(driver, pool) for claim in gone for driver, pool, _ in self.usage.held_by(claim)}
        self.usage = self.usage.without(gone)
        self._note(pools)

    def _note(self, pools: AbstractSet[PoolId]) -> None:
        self._log += sorted(pools)
        self._changed.update(dict.fromkeys(pools, len(self._log)))

    @property
    def changes(self) -> int:
        """Count the changes of pools so far."""
        return len(self._log)

    def changed_since(self, changes: int) -> AbstractSet[PoolId]:
        """Find the pools that changed after so many changes."""
        return set(self._log[changes:])

    def stamp(self, view: NodeView) -> int:
        """Tell when anything that the node sees last changed; equal stamps mean equal usage."""
        return max((self._changed.get(pool.id, 0) for pool in view.pools), default=0)

    def in_use(self, view: NodeView) -> InUse:
        """Return what is in use on a node, by number."""
        stamp = self.stamp(view)
        known = self._in_use.get(view.node.metadata.name)
        # Views of a node differ in what questions see of its devices, never in their numbers.
        if known is None or known[0].devices is not view.devices or known[1] != stamp:
            known = view, stamp, self._number(view)
            self._in_use[view.node.metadata.name] = known
        return known[2]

    def _number(self, view: NodeView) -> InUse:
        holds = self.usage.holds
        held = [(number, found) for number, device in enumerate(view.devices) if (found := holds(device.id))]
        shares = {number: count for number, found in held if (count := _count_shares(found))}
        return InUse(
            frozenset(number for number, found in held if shares.get(number, 0) < len(found)),
            shares,
            {row: amount for number in shares for row, amount in self._consumed(view, number)},
            tuple(amount for pool in view.pools for amount in self._available(pool)),
            tuple(self._group_state(view, pool, name) for pool, name in view.shape.groups.sets),
        )

    def _consumed(self, view: NodeView, number: int) -> Iterable[tuple[int, int]]:
        """Only shares consume."""
        consumed = self.usage.consumed_on(view.devices[number].id)
        rows = view.shape.capacities.rows.get(number, ())
        names = view.shape.capacities.names
        return ((row, consumed[names[row]]) for row in rows if consumed.get(names[row]))

    def _available(self, pool: Pool) -> tuple[int, ...]:
        """Compute what is left of a pool's counters, the same for all nodes that see the pool (CTR-1, CTR-4)."""
        if not pool.counter_sets:
            return ()
        key, changed = (pool.id, pool.generation), self._changed.get(pool.id, 0)
        known = self._baselines.get(key)
        if known is None or known[0] != changed:
            known = self._baselines[key] = changed, self._remains(pool)
        return known[1]

    def _remains(self, pool: Pool) -> tuple[int, ...]:
        left = {
            (set_.name, name): Quantity.parse(counter.value).nano
            for set_ in pool.counter_sets
            for name, counter in (set_.counters or {}).items()
        }
        for device in self._holders(pool):
            for consumption in device.device.consumes_counters or ():
                for name, counter in (consumption.counters or {}).items():
                    left[consumption.counter_set, name] -= Quantity.parse(counter.value).nano
        return tuple(left.values())

    def _holders(self, pool: Pool) -> Iterable[PoolDevice]:
        """Find the allocated devices of a pool's generation, on any node."""
        return (device for device in (*pool.devices, *pool.other_devices) if self.usage.in_use(device.id))

    def _group_state(self, view: NodeView, pool_number: int, set_name: str) -> int | None:
        bits = view.shape.pools[pool_number].group_bits
        state: int | None = None
        for device in self._holders(view.pools[pool_number]):
            for consumption in device.device.consumes_counters or ():
                if consumption.counter_set == set_name:
                    state = groups_after_joining(state, group_set(consumption, bits))
        return state


def _count_shares(holds: Iterable[Hold]) -> int:
    return sum(hold.share_id is not None for hold in holds)
