"""The replay of a plan: its placed units in their order, judged here or in a process that began with the plan.

Such a process has read the queue and the inventory for itself by the time that units are placed. Only these are sent to
it, in parts: owners, numbers, nodes and allocations.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, chain, islice
from operator import is_
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.formats.runtime import gc_paused, is_safe_to_fork
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.workload.expansion import OwnAllocations, QueuedUnit, expand_units, single_units
from ...models.workload.queue import GroupSelection, read_queue
from ...models.workload.requested import all_units
from ...models.workload.unit_classes import UnitSet
from ...models.workload.units import Allocations, ClaimRef, Unit
from .nodes import NodeLoads, room_findings
from .verify import Placement, Replay, VerificationTimeoutError, Violation, verify

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Plans on fewer nodes are verified soon without another process.
_MANY_NODES = 2_000
# So many placed units go to another process at once.
UNITS_AT_ONCE = 5_000
# So many nodes are read before it is looked whether units are there.
_NODES_AT_ONCE = 64


class PlacedUnit(Protocol):
    """A unit in a plan; ``kind``, ``namespace`` and ``name`` are its owner's, ``replica`` is its number there.

    ``node`` is None for one that is not placed; ``allocations`` are those that the plan makes.
    """

    @property
    def kind(self) -> str:
        """The kind of the owner."""

    @property
    def namespace(self) -> str:
        """The namespace of the owner."""

    @property
    def name(self) -> str:
        """The name of the owner."""

    @property
    def replica(self) -> int:
        """The number of the unit among those of its owner."""

    @property
    def unit(self) -> Unit:
        """The pod or the loose claim, with all claims."""

    @property
    def node(self) -> str | None:
        """The node of the unit."""

    @property
    def allocations(self) -> Allocations:
        """The allocations of its claims that the plan makes."""


def placement_order(units: Sequence[PlacedUnit], order: Sequence[int] | None) -> list[int]:
    """Positions of the placed units: in the order given, each once, and then those that it leaves out."""
    placed = [number for number, unit in single_units(units) if unit.node is not None]
    there = set(placed)
    return list(dict.fromkeys((*(number for number in order or () if number in there), *placed)))


def plan_placements(
    cluster: Cluster, units: Sequence[PlacedUnit], order: Sequence[int] | None = None
) -> list[tuple[PlacedUnit, Placement]]:
    """The placed units in the order in which they were placed, with what the verifier replays of them."""
    return [(units[number], _placement_of_unit(cluster, units[number])) for number in placement_order(units, order)]


def _placement_of_unit(cluster: Cluster, unit: PlacedUnit) -> Placement:
    return _placement(cluster.node(unit.node or ""), unit.unit, unit.allocations)


def _placement(node: Node, unit: Unit, made: Sequence[tuple[ClaimRef, AllocationResult]]) -> Placement:
    pairs = tuple([(ref.claim, allocation) for ref, allocation in made if ref.claim is not None])
    earlier: tuple[ResourceClaim, ...] = ()
    if not allocates_all(unit, made):
        new = {ref.key for ref, _ in made}
        earlier = tuple(ref.claim for ref in unit.claims if ref.claim is not None and ref.key not in new)
    return Placement(node, pairs, unit.pod, earlier)


def allocates_all(unit: Unit, made: Sequence[tuple[ClaimRef, AllocationResult]]) -> bool:
    """Whether these allocations are surely of each claim of a unit, once."""
    if len(unit.claims) != 1 or len(made) != 1:
        return not unit.claims and not made
    return unit.claims[0] is made[0][0]


Verdict: TypeAlias = tuple[list[Violation], int | None]
"""What is wrong with placements, and how many of them were verified when time was over, if it was."""


PlanRules: TypeAlias = tuple[Cluster, FeatureGates, str, Sequence[CallerConstraint]]
"""By what a plan is judged: the cluster and the features, what errors of expressions do, and entries of all claims."""


class QueueSelection(NamedTuple):
    """Which units of a cluster are planned, and what is a gang, as ``read_queue`` has it."""

    namespace: str | None = None
    selector: str = ""
    natural_gangs: bool = False
    group: GroupSelection | None = None


@contextmanager
def verifier_of_plans(about: PlanRules, selection: QueueSelection) -> Iterator[PlanVerifier | None]:
    """Yield a process that verifies a plan, and is gone at the end; None where none is needed, or none can be had.

    It is a fork of this one: it sees what was read by now.
    """
    cluster = about[0]
    if len(cluster.nodes) < _MANY_NODES or cluster.constraint_groups or cluster.pod_groups or not is_safe_to_fork():
        yield None
        return
    forks, memory = multiprocessing.get_context("fork"), os.memfd_create("plan")
    here, there = forks.Pipe()

    def serve() -> None:
        # Who waits for the answer is told of Ctrl-C.
        signal(SIGINT, SIG_IGN)
        here.close()
        # Where nothing is answered the plan is replayed there, and what is wrong with the input is told there.
        with gc_paused(), suppress(Exception):
            there.send(_verdict_on_sent_plan(about, selection, there, memory))

    process = forks.Process(target=serve, daemon=True)
    process.start()
    there.close()
    try:
        yield PlanVerifier(about, here, memory)
    finally:
        here.close()
        os.close(memory)
        process.kill()
        process.join()


# The position of a claim that is not the unit's.
_NO_CLAIM = 2**31


class _SentUnit(NamedTuple):
    """A placed unit as another process reads it: its owner and number, its node, allocations by positions of claims."""

    kind: str
    namespace: str
    name: str
    replica: int
    node: str
    made: tuple[tuple[int, AllocationResult], ...]

    @staticmethod
    def of(unit: PlacedUnit) -> _SentUnit:
        """Write down a unit."""
        if isinstance(unit.allocations, OwnAllocations):
            made = tuple(enumerate(unit.allocations.results))
        elif allocates_all(unit.unit, unit.allocations):
            made = tuple([(0, allocation) for _, allocation in unit.allocations])
        else:
            places = {id(ref): place for place, ref in enumerate(unit.unit.claims)}
            made = tuple([(places.get(id(ref), _NO_CLAIM), allocation) for ref, allocation in unit.allocations])
        return _SentUnit(unit.kind, unit.namespace, unit.name, unit.replica, unit.node or "", made)

    def on(self, cluster: Cluster, unit: Unit) -> Placement:
        """What the verifier replays of it; ``unit`` is what the queue says. Raises ``LookupError`` for other claims."""
        made = [(unit.claims[place], allocation) for place, allocation in self.made]
        return _placement(cluster.node(self.node), unit, made)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_SentUnit]).decode
# When to give up, and how many bytes of units follow; none at the end.
_decode_notice = msgspec.msgpack.Decoder(tuple[float | None, int]).decode


class PlanVerifier:
    """A process that reads a cluster and its queue for itself while a plan is made, and replays it unit by unit.

    Units are in a ``memory`` that both have, so that neither waits for the other. Groups are not among what it judges.
    """

    def __init__(self, about: PlanRules, connection: Connection, memory: int) -> None:
        self.about, self.connection, self._memory = about, connection, memory
        self._sent: list[PlacedUnit] = []
        self._size, self._is_broken = 0, False

    def place(self, units: Sequence[PlacedUnit], deadline: float | None) -> None:
        """Let it replay units that are placed after those that it has; the plan may turn out to be another one."""
        self._sent += units
        try:
            written = _encode([_SentUnit.of(unit) for unit in units]) if units else b""
            self._is_broken |= os.pwrite(self._memory, written, self._size) < len(written)
            self._size += len(written)
            self.connection.send_bytes(_encode((deadline, len(written))))
        except (OSError, TypeError, ValueError, OverflowError):
            self._is_broken = True

    def send(self, units: Sequence[PlacedUnit], deadline: float | None) -> bool:
        """Let it replay the placed units of a plan, in this order; it may have the first of them.

        False: they cannot be sent, it has others, or it has not read the queue. Then it has no processor of its own,
        and nobody waits for it.
        """
        there = len(self._sent)
        try:
            if there > len(units) or not all(map(is_, self._sent, units)) or not self.connection.poll():
                return False
            self.connection.recv_bytes()
        except (EOFError, OSError):
            return False
        for first in range(there, len(units), UNITS_AT_ONCE):
            self.place(units[first : first + UNITS_AT_ONCE], deadline)
        self.place((), deadline)
        return not self._is_broken

    def verdict(self) -> Verdict | None:
        """What it says of the plan; None: nothing."""
        try:
            told: Verdict = self.connection.recv()
        except (EOFError, OSError):
            return None
        return told


def _verdict_on_sent_plan(about: PlanRules, selection: QueueSelection, there: Connection, memory: int) -> Verdict:
    """Read all that can be read before the plan is there, and then the plan, part by part."""
    cluster, gates, cel_errors, caller_constraints = about
    replay = Replay(cluster, gates, cel_errors, caller_constraints, counts_rooms=False)
    queue = _OwnedUnits(cluster, gates, read_queue(cluster, gates=gates, **selection._asdict()))
    sequences = replay.expect(queue.claims())
    nodes = iter(cluster.nodes.values() if sequences else ())
    there.send_bytes(b"the queue is read")
    loads, found, verified, first, is_late = NodeLoads(cluster, gates), list[Violation](), 0, 0, False
    while True:
        # As long as there is nothing to be judged, what nodes offer is read.
        while not there.poll() and sequences and (part := tuple(islice(nodes, _NODES_AT_ONCE))):
            for node in part:
                sequences.read(node)
        deadline, size = _decode_notice(there.recv_bytes())
        if not size:
            return found, verified if is_late and not found else None
        if is_late:
            # The plan is told what was verified when all of it is there.
            continue
        placements = [one.on(cluster, queue.unit(one)) for one in _decode(os.pread(memory, size, first))]
        try:
            found += replay.violations(placements, deadline)
        except VerificationTimeoutError as error:
            verified, is_late = verified + error.verified, True
            continue
        rooms = room_findings(cluster, loads, ((one.node.metadata.name, one.pod) for one in placements))
        found += [Violation(one.rule, "", one.message) for one in rooms]
        verified, first = verified + len(placements), first + size


class _OwnedUnits:
    """The units of a queue by their owners and numbers."""

    def __init__(self, cluster: Cluster, gates: FeatureGates, sets: Iterable[UnitSet]) -> None:
        listed = list(sets)
        self._queue = expand_units(cluster, listed, gates)
        self._sets: dict[tuple[str, ...], list[tuple[Sequence[int], int]]] = defaultdict(list)
        for one, first in zip(listed, accumulate((one.replicas for one in listed), initial=0), strict=False):
            self._sets[one.kind, one.namespace, one.name].append((one.numbers, first))

    def claims(self) -> Iterator[ResourceClaim]:
        """Claims with all specs of the queue."""
        kinds: set[Hashable] = set()
        for _, first in chain.from_iterable(self._sets.values()):
            planned = self._queue[first]
            kind = planned.expander.claim_kind(planned.unit_set) if planned.expander else None
            if kind is None or kind not in kinds:
                kinds.add(kind)
                yield from (ref.claim for ref in _passing_unit(planned).claims if ref.claim is not None)

    def unit(self, sent: _SentUnit) -> Unit:
        """What the queue says of a unit that is sent. Raises ``LookupError`` if it has none."""
        for numbers, first in self._sets[sent.kind, sent.namespace, sent.name]:
            if sent.replica in numbers:
                return _passing_unit(self._queue[first + numbers.index(sent.replica)])
        raise LookupError(sent.name)


def _passing_unit(planned: QueuedUnit) -> Unit:
    """What is queued; what is made for that is not kept."""
    expander = planned.expander
    return expander.unit(planned.unit_set, planned.number) if expander else planned.unit


class PlanReplay:
    """The replay of the placed units of a plan, in ``order``; a ``verifier`` begins with it at once."""

    def __init__(
        self,
        units: Sequence[PlacedUnit],
        about: PlanRules,
        order: Sequence[int] | None,
        deadline: float | None,
        verifier: PlanVerifier | None = None,
    ) -> None:
        self._about, self._units = about, [units[number] for number in placement_order(units, order)]
        self._deadline = deadline
        # Groups may be about claims of pods that are still to be made.
        groups = about[0].constraint_groups
        self._requested = _units_with_plan(all_units(about[0]), units) if groups else None
        self.has_work = bool(self._units or self._requested)
        is_sent = verifier is not None and verifier.send(self._units, deadline)
        self._verifier = verifier if is_sent else None

    @property
    def has_rooms(self) -> bool:
        """Whether the result is that of another process, which judges rooms of nodes as well (PLAN-ROOM)."""
        return self._verifier is not None

    def result(self) -> list[Violation]:
        """Return what is wrong with the placements; raises as ``verify`` does.

        What another process finds to be wrong is found again here.
        """
        told = self._verifier.verdict() if self._verifier else None
        if told == ([], None):
            return []
        self._verifier = None
        if told is not None and told[1] is not None:
            raise VerificationTimeoutError(told[1])
        cluster, gates, cel_errors, caller_constraints = self._about
        try:
            return verify(
                cluster,
                [_placement_of_unit(cluster, unit) for unit in self._units],
                gates,
                cel_errors=cel_errors,
                caller_constraints=caller_constraints,
                groups=True,
                requested=self._requested,
                rooms=False,
                deadline=self._deadline,
            )
        except VerificationTimeoutError:
            if told is not None:
                return told[0]
            raise

    def is_of(self, units: Sequence[PlacedUnit], about: PlanRules) -> bool:
        """Whether it is about these very units in this order; units that are not placed count where groups do."""
        same = len(units) == len(self._units) and all(map(is_, units, self._units))
        return same and about[0] is self._about[0] and about[1:] == self._about[1:] and not about[0].constraint_groups


def _units_with_plan(units: Iterable[Unit], plan: Iterable[PlacedUnit]) -> list[Unit]:
    """Units of a cluster with those of a plan in their place."""
    given = [one.unit for one in plan]
    replaced = {(unit.pod is None, unit.namespace, unit.name) for unit in given}
    kept = [unit for unit in units if (unit.pod is None, unit.namespace, unit.name) not in replaced]
    return [*kept, *given]
