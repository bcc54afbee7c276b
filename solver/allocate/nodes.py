"""The nodes to try for a unit: those that suit its pod, less those where an equal unit failed.

``SuitableNodes`` are the nodes that suit a pod, whatever they have (NODE-2, SCHED-2). ``OpenNodes`` are those of them
that have room for it and where no equal unit failed since their pools changed. ``FailedNodes`` groups the failures by
their reason.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import msgspec

from ...models.cluster.node_fit import Misfit, pod_fits, selector_test
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node, PodSpec
from ...models.kubernetes.meta import PoolId
from ...models.results.common import ProofKind, Reason, Status
from ...problem.messages import CountedSum, Justification
from ...problem.node_state import AllocatedState
from ..engines.engine import NodeResult
from ..engines.outcome import DemandTable, NodeClassFailure, misfit_reasons

encode_key = msgspec.msgpack.Encoder().encode


def pod_suitability_key(spec: PodSpec | None, earlier: Iterable[AllocationResult]) -> bytes:
    """Equal for pods, and claims that are allocated ``earlier``, that the same nodes suit."""
    affinity = spec.affinity.node_affinity if spec and spec.affinity else None
    required = affinity.required if affinity else None
    rules = spec and (spec.node_name, spec.node_selector, required, spec.tolerations)
    return encode_key((rules, [allocation.node_selector for allocation in earlier]))


class SuitableNodes:
    """Positions of the nodes that suit a pod and its claims that are allocated ``earlier``, in order.

    A node is tested when an iteration reaches it, once for all iterations. Raises ``SelectorError`` at once
    for a claim that is allocated with a node selector that cannot be parsed.
    """

    def __init__(self, nodes: Sequence[Node], spec: PodSpec | None, earlier: Sequence[AllocationResult]) -> None:
        self._nodes = nodes
        self._spec = spec
        selectors = (allocation.node_selector for allocation in earlier)
        self._tests = [selector_test(selector) for selector in selectors if selector is not None]
        self._tested = 0
        self._positions: list[int] = []
        self._misfits: list[Misfit] = []

    def __iter__(self) -> Iterator[int]:
        index = 0
        while index < len(self._positions) or self._find_one():
            yield self._positions[index]
            index += 1

    def _find_one(self) -> bool:
        """Test nodes until one more suits; False if there is none."""
        while self._tested < len(self._nodes):
            node = self._nodes[self._tested]
            self._tested += 1
            misfits = pod_fits(self._spec, node) if self._spec else []
            if not misfits and all(test(node) for test in self._tests):
                self._positions.append(self._tested - 1)
                return True
            allocated = Misfit("allocatedClaim", "a claim of the pod is allocated for other nodes")
            self._misfits.append(next(iter(misfits), allocated))
        return False

    @cached_property
    def misfits(self) -> tuple[tuple[int, Misfit], ...]:
        """Positions of the other nodes, with their misfits; complete after an iteration over all nodes."""
        suited = set(self._positions)
        others = (position for position in range(self._tested) if position not in suited)
        return tuple(zip(others, self._misfits, strict=True))

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """Why the other nodes do not suit; complete after an iteration over all nodes."""
        return misfit_reasons(self._misfits, len(self._nodes))


RoomTest = Callable[[int], Misfit | None]
"""Tells of a node, by position, what it has too little of for the pod; None: it has room."""


class OpenNodes:
    """Nodes in order, less those where an equal unit failed and no pool that the node sees has changed since.

    ``positions`` are ascending; they are read only as far as an iteration gets. Nodes that have no ``room`` are left
    out for good: others only take more of it.
    """

    def __init__(
        self,
        positions: Iterable[int],
        failed: FailedNodes,
        allocated_state: AllocatedState,
        room: RoomTest = lambda _: None,
    ) -> None:
        self.failed = failed
        self._ledger = allocated_state
        self._room = room
        self._crowded: dict[str, list[int]] = defaultdict(list)
        # Negative, so that the first nodes are last: those fail most, and the end of a list is where to take from.
        self._open: list[int] = []
        self._unread = iter(positions)
        self._watchers: dict[PoolId, set[int]] = defaultdict(set)
        self._seen = allocated_state.changes

    def __iter__(self) -> Iterator[int]:
        """Yield the nodes to try; ``fail`` may be called meanwhile for those that were yielded."""
        for pool in self._ledger.changed_since(self._seen):
            for position in self._watchers.pop(pool, ()):
                if position in self.failed:
                    self.failed.remove(position)
                    insort(self._open, -position)
        self._seen = self._ledger.changes
        index = len(self._open)
        while index:
            last = self._open[index - 1]
            if self._has_room(-last):
                yield -last
            else:
                del self._open[index - 1]
            index = bisect_left(self._open, last)
        for position in self._unread:
            if self._has_room(position):
                self._open.insert(0, -position)
                yield position

    def _has_room(self, position: int) -> bool:
        misfit = self._room(position)
        if misfit is not None:
            self._crowded[misfit.kind].append(position)
        return misfit is None

    @property
    def crowded(self) -> Iterator[Misfit]:
        """What the nodes left out for lack of room have too little of; equal lacks are told of the first of them."""
        for positions in self._crowded.values():
            first = self._room(positions[0])
            if first is not None:
                yield from repeat(first, len(positions))

    def fail(self, positions: Iterable[tuple[int, NodeResult, Iterable[PoolId]]]) -> None:
        """Leave nodes out until one of their pools changes."""
        for position, attempt, pools in positions:
            self.failed.add(position, attempt)
            for pool in pools:
                self._watchers[pool].add(position)
            del self._open[bisect_left(self._open, -position)]


@dataclass(frozen=True, slots=True)
class _FailureKey:
    """What equal failures have in common."""

    message: str
    tables: tuple[DemandTable, ...]
    witness: Justification | None
    proof_kind: ProofKind


@dataclass(slots=True)
class _FailureClass:
    """Nodes that fail alike, in order: their positions, names and counted sums side by side."""

    key: _FailureKey
    proof: str
    positions: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    counted: list[CountedSum | None] = field(default_factory=list)
    report: NodeClassFailure | None = None

    def add(self, position: int, name: str, counted: CountedSum | None) -> None:
        index = bisect_left(self.positions, position)
        self.positions.insert(index, position)
        self.names.insert(index, name)
        self.counted.insert(index, counted)
        self.report = None

    def remove(self, position: int) -> None:
        index = bisect_left(self.positions, position)
        del self.positions[index], self.names[index], self.counted[index]
        self.report = None

    def failure(self) -> NodeClassFailure:
        """What is reported; one object while the class does not change."""
        if self.report is None:
            key = self.key
            proof = Reason(key.witness.id, "", self.proof) if key.witness else None
            self.report = NodeClassFailure(
                tuple(self.names), key.message, key.tables, proof, key.proof_kind, self.counted[0]
            )
        return self.report


class FailedNodes:
    """Attempts that failed, by the node's position; ``names`` are those of all nodes.

    Many units may ask for the report while few nodes change in between, so that it is kept up to date instead of made
    anew.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._found: dict[int, tuple[NodeResult, _FailureClass]] = {}
        self._classes: dict[_FailureKey, _FailureClass] = {}
        self._erring: set[int] = set()
        self._undecided: set[int] = set()
        # Equal nodes, which come one after the other, share an attempt.
        self._latest: tuple[NodeResult, _FailureClass] | None = None

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __contains__(self, position: int) -> bool:
        return position in self._found

    def __getitem__(self, position: int) -> NodeResult:
        return self._found[position][0]

    def add(self, position: int, attempt: NodeResult) -> None:
        """Add a node that was not there."""
        latest = self._latest
        if latest is None or latest[0] is not attempt:
            key = _FailureKey(attempt.message, attempt.rejections, attempt.witness, attempt.proof_kind)
            own = self._classes.get(key)
            if own is None:
                own = self._classes[key] = _FailureClass(key, attempt.proof)
            latest = self._latest = attempt, own
        found = latest[1]
        found.add(position, self._names[position], attempt.counted)
        self._found[position] = attempt, found
        if attempt.error:
            self._erring.add(position)
        if attempt.status is Status.UNKNOWN:
            self._undecided.add(position)

    def remove(self, position: int) -> None:
        """Take a node away that is there."""
        self._latest = None
        _, found = self._found.pop(position)
        found.remove(position)
        if not found.positions:
            del self._classes[found.key]
        self._erring.discard(position)
        self._undecided.discard(position)

    @property
    def first_erring(self) -> int | None:
        """The first node on which an expression went wrong in a way that may be why it failed."""
        return min(self._erring, default=None)

    @property
    def undecided(self) -> bool:
        """Whether some node may fit after all."""
        return bool(self._undecided)

    def report(self) -> tuple[NodeClassFailure, ...]:
        """List the classes, the largest first, equal ones by node name."""
        found = [class_.failure() for class_ in self._classes.values()]
        return tuple(sorted(found, key=lambda failure: (-len(failure.nodes), failure.nodes)))
