"""How many more copies of a claim, a template or a pod fit, and what stops the next one.

Nodes of one class are looked at once (``CapacityEvaluation``). Nodes that reach the same devices or counters are looked
at together (``count_on_shared_nodes``), as the sum of what fits on each of them alone is too much.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, repeat
from time import monotonic
from typing import Any, TypeAlias

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.formats.runtime import gc_young_only
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import Predicate
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.results.common import ProofKind, Reason
from ...models.validation.entries import read_caller_constraints
from ...models.workload.node_room import ROOM, NodeRooms, unknown_room_notices
from ...problem.constraints import pools_with_negative_draws
from ...problem.messages import STRICT, DeadlineExceededError, FatalError
from ...problem.node_state import AllocatedState
from ...problem.shapes import group_equal
from ..allocate.allocate import TIME_LIMIT, search_seconds
from ..allocate.check import LATE_VERIFICATION, check_allocations, verification_ends
from ..allocate.nodes import SuitableNodes
from ..engines.copies import connected_groups
from ..engines.engine import Session, work_for_time_limit
from ..engines.outcome import SearchInterrupted, misfit_reasons, missing_reference_reasons
from ..verification.verify import VerificationTimeoutError
from .audit import CapacityAudit
from .node import (
    CopyEngine,
    CopyFeasibility,
    CopyProblem,
    CountedCopies,
    Picks,
    count_copies,
    count_on_node,
    deadline_slice,
    example_copies,
    failed_room,
    tighten_upper_bound,
)
from .records import CapacityOutcome, NodeRoom, Room, SharedRoom, find_copy_source, ignored_group_notices, total_room

LIMIT = 1000
# Equal nodes get equal answers; beyond so many copies in all, those of the nodes that come last are not verified.
_MOST_VERIFIED = 20_000


@gc_young_only()
def capacity(
    cluster: Cluster,
    *,
    claim: str | None = None,
    template: str | None = None,
    pod: str | None = None,
    node: str | None = None,
    limit: int = LIMIT,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
) -> CapacityOutcome:
    """Answer ``drasat.capacity``, which describes the arguments.

    Raises
    ------
    ValueError
        As ``drasat.capacity`` says; one line.
    VerificationError
        If copies that were said to fit do not pass the independent check; that is a defect of drasat.
    SearchInterrupted
        For a KeyboardInterrupt during the search, with what was known by then.

    """
    if limit < 1:
        raise ValueError(f"the limit of copies must be above zero, not {limit}")
    gates, started = gates_of(feature_gates), monotonic()
    cluster = cluster.with_gates(gates)
    source = find_copy_source(cluster, claim=claim, template=template, pod=pod, gates=gates)
    given = read_caller_constraints(constraints)
    session = Session(cluster, gates, STRICT, seed, work=work_for_time_limit(time_limit), caller_constraints=given)
    engine = CopyEngine(session, source)
    nodes = list(cluster.nodes.values()) if node is None else [cluster.node(node)]
    most = min(_MOST_VERIFIED, limit * len(nodes))
    deadline = None if time_limit is None else started + search_seconds(time_limit, most)
    rooms = NodeRooms(cluster, gates)
    evaluation = CapacityEvaluation(cluster, engine, AllocatedState(cluster.usage(gates)), rooms, limit, deadline)
    evaluation.run(nodes)
    searched = monotonic()
    ends = verification_ends(started, time_limit)

    def check(copies: Sequence[PlacedCopy]) -> None:
        made = [engine.outcome(n, place.query, place.node, picks) for n, (place, picks) in enumerate(copies)]
        check_allocations(cluster, made, gates, STRICT, given, deadline=ends)

    evaluation.verify(check)
    answer = CapacityOutcome(
        source.kind,
        source.namespace,
        source.name,
        total_room(evaluation.rooms),
        evaluation.answers,
        tuple(evaluation.shared),
        limit,
        source.claims,
        gates,
        STRICT,
        True,
        replace(engine.counts, devices=cluster.device_count),
        {"search": searched - started, "verify": monotonic() - searched},
        (*ignored_group_notices(cluster, source), *unknown_room_notices(nodes, [source.copy(0)])),
        example_copies(engine, evaluation.answers, evaluation.alone()),
    )
    interrupted = evaluation.interrupted
    judge = CapacityAudit(cluster, gates, given, started, time_limit)
    answer, audit = judge.derived(answer, source, ends, audit)
    if audit is not None and not interrupted:
        answer, interrupted = judge.audited(answer, source, audit)
    if interrupted:
        raise SearchInterrupted(answer)
    return answer


NO_ROOM = Room(0, 0, 0)
_TIME_LIMIT_REASON = Reason("timeLimit", "", "the time limit passed before this was tried")
_LATE_REASON = Reason("timeLimit", "", LATE_VERIFICATION)
INTERRUPTED_REASON = Reason("interrupted", "", "interrupted before this was decided")
_CopiedKind: TypeAlias = "CountedCopies | SharedRoom"
"""A kind of node alone, or nodes that share something."""
QueryOnNode: TypeAlias = tuple[Node, CopyProblem]
"""A node with the question of one copy on it."""


class CapacityEvaluation:
    """Looks at nodes, and keeps what it has found by then; ``interrupted``: it was stopped before its end.

    ``rooms`` add up to the room on all nodes.
    """

    def __init__(
        self,
        cluster: Cluster,
        engine: CopyEngine,
        allocated_state: AllocatedState,
        rooms: NodeRooms,
        limit: int,
        deadline: float | None,
    ) -> None:
        self._answers: dict[NodeRoom, list[str]] = {}
        self.shared: list[SharedRoom] = []
        self.rooms: list[Room] = []
        self._placed: list[tuple[_CopiedKind, list[PlacedCopy]]] = []
        self._alone: list[tuple[_CopiedKind, list[PlacedCopy]]] = []
        self.interrupted = False
        self._cluster = cluster
        self._engine = engine
        self._ledger = allocated_state
        self._limit = limit
        self._deadline = deadline
        self._rooms = rooms
        pod = engine.source.copy(0).pod
        self._demand = rooms.demand(pod.spec if pod else None)

    def run(self, nodes: Sequence[Node]) -> None:
        """Look at nodes, which are by name."""
        questions = self._queries(list(self._suitable(nodes)))
        classes = group_equal(questions, lambda one: self._engine.state(one[1], self._ledger)[1])
        measured = list(self._measured(classes))
        places = [place for one, alone in measured for place in self._places(one, alone)]
        found = {place.node.metadata.name: place for place in places}
        by_name = {name: found[name] for node in nodes if (name := node.metadata.name) in found}
        for group in connected_groups({name: place.keys for name, place in by_name.items()}):
            self._join([by_name[name] for name in group])

    def verify(self, check: Callable[[Sequence[PlacedCopy]], None]) -> None:
        """Check all copies that fit at the same time, and those that fit on one of the nodes that share something.

        Each kind of node is looked at before any is looked at again. A kind that ``check`` has no time for has no
        copies that fit, as far as is known.
        """
        met: Counter[_CopiedKind] = Counter()
        turns: dict[int, list[tuple[_CopiedKind, list[PlacedCopy]]]] = defaultdict(list)
        for kind, own in self._placed:
            turns[met[kind]].append((kind, own))
            met[kind] += 1
        ordered = list(chain.from_iterable(turns.values()))
        late = set[_CopiedKind]()
        for parts in (ordered, *([one] for one in self._alone)):
            try:
                check([placed for _, own in parts for placed in own][:_MOST_VERIFIED])
            except VerificationTimeoutError as error:
                ends = accumulate(len(own) for _, own in parts)
                verified = {kind for (kind, _), end in zip(parts, ends, strict=True) if end <= error.verified}
                late.update(kind for kind, own in parts if own and kind not in verified)
        if late:
            self._forget(late)

    def alone(self) -> Iterator[tuple[str, CopyProblem, Picks]]:
        """The copies that fit on a node alone: its name, the question there, and what a copy takes."""
        placed = (own for kind, own in (*self._alone, *self._placed) if isinstance(kind, CountedCopies))
        return ((place.node.metadata.name, place.query, picks) for own in placed for place, picks in own)

    def _forget(self, kinds: Collection[_CopiedKind]) -> None:
        """Take back what was not verified; bounds rest on proofs, and stay."""
        first = len(self.rooms) - len(self._placed)
        for number, (kind, _) in enumerate(self._placed, first):
            if kind in kinds:
                self.rooms[number] = self.rooms[number].unverified
        self.shared = [replace(one, room=one.room.unverified) if one in kinds else one for one in self.shared]
        for answer in dict.fromkeys(kind.answer for kind in kinds if isinstance(kind, CountedCopies)):
            names = self._answers.pop(replace(answer, nodes=()), [])
            self._note(NodeRoom(tuple(names), answer.room.unverified, (_LATE_REASON,)))

    def _suitable(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Yield the nodes that a copy may be on, whatever devices they have; say of the others why not."""
        unit = self._engine.source.copy(0)
        names = tuple(node.metadata.name for node in nodes)
        refused = missing_reference_reasons(unit, self._cluster.classes)
        if refused:
            self._reject(names, refused)
            return
        try:
            found = SuitableNodes(nodes, unit.pod.spec if unit.pod else None, list(unit.existing_allocations()))
        except SelectorError as error:
            self._reject(names, [Reason("nodeSelector", "", str(error))])
            return
        positions = frozenset(found)
        lacking = {at: self._rooms.misfit(self._demand, names[at]) for at in sorted(positions)}
        yield from (nodes[at] for at, misfit in lacking.items() if misfit is None)
        crowded = {names[at]: misfit for at, misfit in lacking.items() if misfit is not None}
        self._reject(tuple(crowded), misfit_reasons(crowded.values(), len(nodes)))
        self._reject(tuple(name for at, name in enumerate(names) if at not in positions), found.reasons)

    @property
    def answers(self) -> tuple[NodeRoom, ...]:
        """Nodes with equal answers together, those with the most room first."""
        found = [replace(answer, nodes=tuple(sorted(names))) for answer, names in self._answers.items()]
        return tuple(sorted(found, key=lambda one: (not one.room.unbounded, -one.room.fits, one.nodes)))

    def _reject(self, names: tuple[str, ...], reasons: Iterable[Reason]) -> None:
        if names:
            self._answer(NodeRoom(names, NO_ROOM, tuple(reasons), proof_kind=ProofKind.WITNESS))

    def _answer(self, answer: NodeRoom) -> None:
        """Note the answer for nodes where no copy is."""
        self._note(answer)
        self.rooms += [answer.room] * len(answer.nodes)

    def _note(self, answer: NodeRoom) -> None:
        self._answers.setdefault(replace(answer, nodes=()), []).extend(answer.nodes)

    def _queries(self, nodes: Iterable[Node]) -> Iterator[QueryOnNode]:
        """Compile the question for each node; those for which that fails get their answers."""
        for node in nodes:
            try:
                yield node, self._engine.query(node, self._deadline)
            except DeadlineExceededError:
                self._answer(NodeRoom((node.metadata.name,), Room(), (_TIME_LIMIT_REASON,)))
            except (FatalError, SelectorError):
                self._answer(self._error(node))

    def _error(self, node: Node) -> NodeRoom:
        attempt = self._engine.one_more(node, self._ledger, self._deadline)
        return failed_room(self._engine, node, attempt, NO_ROOM)

    def _measured(
        self, classes: Sequence[Sequence[QueryOnNode]]
    ) -> Iterator[tuple[Sequence[QueryOnNode], CountedCopies]]:
        """Measure class after class, each in its share of the time; what an interrupt leaves out is not known."""
        for number, one in enumerate(classes):
            alone = CountedCopies(NodeRoom((), Room(), (INTERRUPTED_REASON,)))
            if not self.interrupted:
                try:
                    until = deadline_slice(self._deadline, len(classes) - number + 1)
                    alone = self._measure(*one[0], self._limit_of(one), until)
                except KeyboardInterrupt:
                    self.interrupted = True
            yield one, alone

    def _limit_of(self, one: Sequence[QueryOnNode]) -> int:
        """No more copies need be looked for than these nodes have room for together."""
        copies = [self._rooms.copies(self._demand, node.metadata.name) for node, _ in one]
        return min(self._limit, sum(filter(None, copies)) or 1) if None not in copies else self._limit

    def _measure(self, node: Node, query: CopyProblem, limit: int, deadline: float | None) -> CountedCopies:
        try:
            return count_on_node(self._engine, node, query, self._ledger, limit, deadline)
        except FatalError:
            return CountedCopies(self._error(node))

    def _places(self, one: Sequence[QueryOnNode], alone: CountedCopies) -> Iterator[SharedNode]:
        """Yield nodes with what copies may take there: nothing where it is known that none fits."""
        first = one[0][1]
        in_use, same = self._engine.state(first, self._ledger)
        fits = alone.answer.room.bound != 0 or bool(pools_with_negative_draws(first.problem))
        limited: dict[int | None, CountedCopies] = {}
        names: dict[int | None, list[str]] = defaultdict(list)
        for node, query in one:
            name = node.metadata.name
            copies = self._rooms.copies(self._demand, name)
            # Nodes whose devices are used up before their room are alike.
            limit = copies if alone.stopped_by(copies) else None
            if limit not in limited:
                limited[limit] = alone if limit is None else self._limited(alone, node, limit)
            names[limit].append(name)
            keys = self._engine.keys(query, in_use) if fits else ()
            yield SharedNode(node, query, limited[limit], keys, (same, keys), alone, copies)
        for limit, own in names.items():
            self._note(replace(limited[limit].answer, nodes=tuple(own)))

    def _limited(self, alone: CountedCopies, node: Node, copies: int) -> CountedCopies:
        """Return what fits on a node that has the devices, and room for so many copies."""
        lacking = self._rooms.misfit(self._demand, node.metadata.name, copies)
        return alone.limited(copies, [Reason(ROOM, "", lacking.message)] if lacking else [])

    def _join(self, places: Sequence[SharedNode]) -> None:
        """Add nodes that share something, or a node that shares nothing."""
        alone = places[0].alone
        if len(places) == 1:
            self.rooms.append(alone.answer.room)
            self._placed.append((alone, [(places[0], picks) for picks in alone.copies]))
            return
        best = max(places, key=lambda place: len(place.alone.copies))
        placed = [(best, picks) for picks in best.alone.copies]
        room = Room(len(placed), total_room([place.alone.answer.room for place in places]).bound)
        if not self.interrupted:
            try:
                room, placed = count_on_shared_nodes(self._engine, places, self._ledger, self._limit, self._deadline)
            except KeyboardInterrupt:
                self.interrupted = True
        self.rooms.append(room)
        shared = SharedRoom(tuple(place.node.metadata.name for place in places), room)
        self._placed.append((shared, placed))
        kinds = {place.alone: place for place in places}
        self._alone += [(kind, [(place, picks) for picks in kind.copies]) for kind, place in kinds.items()]
        self.shared.append(shared)


@dataclass(frozen=True, slots=True, eq=False)
class SharedNode:
    """A node with its question, and the room on it alone; places with equal ``same`` have the same devices.

    ``devices`` is what fits by devices alone, ``copies`` the number of copies that the node has room for; None: any.
    """

    node: Node
    query: CopyProblem
    alone: CountedCopies
    keys: tuple[Hashable, ...]
    same: Hashable
    devices: CountedCopies
    copies: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SameDevices:
    """Nodes that reach the very same: a copy on one of them could as well be on another that has room for it."""

    places: tuple[SharedNode, ...]

    @property
    def first(self) -> SharedNode:
        """The node whose question stands for all."""
        return self.places[0]

    @property
    def copies(self) -> int | None:
        """How many copies they have room for; None: any number."""
        known = [place.copies for place in self.places]
        return None if None in known else sum(filter(None, known))

    @property
    def alone(self) -> CountedCopies:
        """What fits on them if there is nothing on others."""
        copies, devices = self.copies, self.first.devices
        return devices.limited(copies, ()) if copies is not None and devices.stopped_by(copies) else devices

    def limit(self, most: int, placed: int = 0) -> int:
        """How many more copies may go there, beside so many."""
        return most if self.copies is None else max(0, min(most, self.copies - placed))

    def distributed(self, copies: Iterable[Picks]) -> list[PlacedCopy]:
        """Put each copy on the first of the nodes that has room for it."""
        seats = (repeat(place) if place.copies is None else repeat(place, place.copies) for place in self.places)
        return list(zip(chain.from_iterable(seats), copies, strict=False))


PlacedCopy = tuple[SharedNode, Picks]
"""A copy: where it is, and what it takes."""


def count_on_shared_nodes(
    engine: CopyEngine,
    places: Sequence[SharedNode],
    allocated_state: AllocatedState,
    limit: int,
    deadline: float | None,
) -> tuple[Room, list[PlacedCopy]]:
    """Find how many copies fit on all these nodes together.

    Where several nodes reach the very same, they are one place with room for the copies of all of them, and one is
    enough on which any number fits. Otherwise nodes are filled one after the other, and what fits on each alone, or on
    one node that reaches what all of them reach, is more than fits together.
    """
    distinct = [SameDevices(tuple(own)) for own in group_equal(places, lambda place: place.same)]
    rooms = [one.alone.answer.room for one in distinct]
    alone = total_room(rooms)
    if len(distinct) == 1 or alone.unbounded:
        enough = next((one for one, room in zip(distinct, rooms, strict=True) if room.unbounded), distinct[0])
        return alone, enough.distributed(enough.alone.copies)
    firsts, first_fit = _first_fit_in_turn(engine, places, allocated_state, limit, deadline_slice(deadline, 4))
    best = _most_in_turn(engine, distinct, allocated_state, limit, deadline_slice(deadline, 3))
    placed = max(best, firsts, key=len)
    # A copy on one node that gives counters back may make room on another, which neither has alone.
    giving = any(pools_with_negative_draws(one.first.query.problem) for one in distinct)
    bound = None if giving else _joint_bound(engine, distinct, allocated_state, len(placed), alone.bound, deadline)
    return Room(len(placed), bound, first_fit), placed


def _first_fit_in_turn(
    engine: CopyEngine,
    places: Sequence[SharedNode],
    allocated_state: AllocatedState,
    limit: int,
    deadline: float | None,
) -> tuple[list[PlacedCopy], int | None]:
    """Fill node after node as the scheduler would; the number is None where that was not decided."""
    running, placed, decided = AllocatedState(allocated_state.usage), list[PlacedCopy](), True
    used_up: set[Hashable] = set()
    for number, place in enumerate(places):
        if place.same in used_up:
            continue
        most = limit if place.copies is None else min(limit, place.copies)
        filled = engine.fill(place.query, running, most, deadline_slice(deadline, len(places) - number))
        placed += [(place, picks) for picks in filled.copies]
        decided = decided and filled.decided
        if len(filled.copies) < most:
            # Nothing is left for other nodes that reach the very same.
            used_up.add(place.same)
    return placed, len(placed) if decided else None


def _most_in_turn(
    engine: CopyEngine,
    distinct: Sequence[SameDevices],
    allocated_state: AllocatedState,
    limit: int,
    deadline: float | None,
) -> list[PlacedCopy]:
    """Fill place after place with as many copies as fit beside those before: first with what only it reaches."""
    running = AllocatedState(allocated_state.usage)
    reached = Counter(key for one in distinct for key in one.first.keys)
    turns = [(one, _exclusive_problem(one.first, reached)) for one in distinct]
    turns += [(one, one.first.query) for one in distinct]
    found: dict[SameDevices, list[Picks]] = {one: [] for one in distinct}
    for number, (one, query) in enumerate(turns):
        until = deadline_slice(deadline, len(turns) - number)
        most = one.limit(limit, len(found[one]))
        for picks in count_copies(engine, query, running, most, until)[1].copies if most else ():
            engine.commit(one.first.query, running, picks)
            found[one].append(picks)
    return [placed for one, copies in found.items() for placed in one.distributed(copies)]


def _exclusive_problem(place: SharedNode, reached: Mapping[Hashable, int]) -> CopyProblem:
    """Return the question about those devices that no other of these nodes reaches."""
    devices = place.query.view.devices
    problem = place.query.problem.restricted(lambda _, device: reached[devices[device].id] < 2)
    return replace(place.query, problem=problem)


def _joint_bound(
    engine: CopyEngine,
    distinct: Sequence[SameDevices],
    allocated_state: AllocatedState,
    fitting: int,
    bound: int | None,
    deadline: float | None,
) -> int | None:
    """Ask a node that reaches everything; what does not fit there does not fit anywhere."""
    if bound is None or bound == fitting:
        return bound
    try:
        query = engine.merged_query([one.first.query for one in distinct])
    except (FatalError, DeadlineExceededError):
        return bound
    if query is None:
        return bound
    # An allocated state of its own: this one knows the node by its name.
    in_use, _ = engine.state(query, AllocatedState(allocated_state.usage))
    return tighten_upper_bound(CopyFeasibility(query.problem, in_use, engine.joint), fitting, bound, deadline)
