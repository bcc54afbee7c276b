"""Nodes as they fill up: those of one kind in equal states are together."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ....models.claims import AllocationResult
from ....models.core import Node
from ....models.identity import ObjectKey, PoolId
from ....models.pod_requests import Requests
from ....models.running_pods import less
from ....problem.in_use import Ledger
from ....problem.shapes import NodeView
from .device_states import DeviceState, DeviceStates


@dataclass(frozen=True, slots=True, eq=False)
class NodeState:
    """What a node still has. ``takes`` says which places of the queue it suits, by their numbers.

    ``room`` is what pods leave of the resources that the queue asks for; None: nothing is known, it takes anything.
    """

    takes: tuple[bool, ...]
    room: Requests | None
    devices: DeviceState


@dataclass(frozen=True, slots=True)
class Site:
    """A node: its room at the start, the places of the queue that it suits, and the pools it sees."""

    node: Node
    room: Requests | None
    takes: tuple[bool, ...]
    pools: tuple[PoolId, ...]


class Floor:
    """All nodes by position, and the positions in each state, ascending."""

    def __init__(self, sites: Sequence[Site], devices: DeviceStates, ledger: Ledger) -> None:
        self.ledger = ledger
        self.groups: dict[NodeState, list[int]] = {}
        self._sites = sites
        self._positions = {site.node.metadata.name: position for position, site in enumerate(sites)}
        self._devices = devices
        self._rooms = [site.room for site in sites]
        self._known: dict[Hashable, NodeState] = {}
        self._watchers: dict[PoolId, list[int]] = defaultdict(list)
        self._seen = ledger.changes
        self._states: list[NodeState] = []
        for position, site in enumerate(sites):
            for pool in site.pools:
                self._watchers[pool].append(position)
            state = self._find(position)
            self._states.append(state)
            self.groups.setdefault(state, []).append(position)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self._sites)

    def node(self, position: int) -> Node:
        """The node there."""
        return self._sites[position].node

    def position(self, name: str) -> int:
        """Where the node of this name is."""
        return self._positions[name]

    def view(self, position: int) -> NodeView:
        """What it sees, by the numbers of its state."""
        return self._devices.view(self._sites[position].node)

    def take(
        self, position: int, requests: Mapping[str, int], made: Iterable[tuple[ObjectKey, AllocationResult]]
    ) -> None:
        """Put a pod with these requests there, and commit allocations."""
        self.ledger.commit(made)
        self._change(position, requests, 1)

    def give_back(self, position: int, requests: Mapping[str, int], claims: Iterable[ObjectKey]) -> None:
        """Take a pod away again, and the allocations of these claims."""
        self.ledger.release(claims)
        self._change(position, requests, -1)

    def imagined(self, state: NodeState, requests: Mapping[str, int], made: Iterable[AllocationResult]) -> NodeState:
        """What a state would become with a pod with these requests, and these allocations."""
        made = list(made)
        devices = self._devices.after(state.devices, made) if made else state.devices
        return self._state(state.takes, less(state.room, requests), devices)

    def _change(self, position: int, requests: Mapping[str, int], sign: int) -> None:
        self._rooms[position] = less(self._rooms[position], requests, sign)
        pools = self.ledger.changed_since(self._seen)
        self._seen = self.ledger.changes
        for other in {position}.union(*(self._watchers.get(pool, ()) for pool in pools)):
            self._move(other)

    def _move(self, position: int) -> None:
        before, after = self._states[position], self._find(position)
        if after is before:
            return
        there = self.groups[before]
        del there[bisect_left(there, position)]
        if not there:
            del self.groups[before]
        insort(self.groups.setdefault(after, []), position)
        self._states[position] = after

    def _find(self, position: int) -> NodeState:
        site = self._sites[position]
        return self._state(site.takes, self._rooms[position], self._devices.of(site.node, self.ledger))

    def _state(self, takes: tuple[bool, ...], room: Requests | None, devices: DeviceState) -> NodeState:
        key = takes, None if room is None else tuple(room.items()), devices
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = NodeState(takes, None if room is None else dict(room), devices)
        return found
