"""How many copies of a unit fit together on one node, and what stops the next one.

``CopyEngine`` compiles the question of one copy and places copies one by one, as the scheduler would. The largest
number of copies lies between the copies that are found and the bound that is proven (``most_copies``). A number of
copies fits if they can be placed one after the other. What the first of them took does not depend on the last one, so
that one copy fewer fits as well, whatever rules there are: the search may halve the range.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, cycle, islice
from time import monotonic

from ...models.cluster.pools import Pool, merge_pool_views
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId, PoolId
from ...models.results.common import ProofKind, Reason, Status
from ...models.topology.places import Axis
from ...models.workload.units import Unit
from ...problem.compiler import Question
from ...problem.constraints import has_first_only_values, pools_with_negative_draws
from ...problem.filters import usable_devices
from ...problem.messages import CountedSum, DeadlineExceededError, Justification
from ...problem.node_state import AllocatedState
from ...problem.problem import InUse, Problem
from ...problem.shapes import NodeView, node_class_key
from ...problem.topology import TopologyCondition
from ..engines.auto import SearchThenSolve
from ..engines.copies import independent_parts, only_unlimited_devices, per_copy
from ..engines.engine import Decision, NodeResult, Pick, Session
from ..engines.engines import NodeEngine, display_message, problem_names
from ..engines.outcome import NodeClassFailure, UnitOutcome, class_reasons
from ..proofs import find_witness
from .records import CopySource, NodeRoom, Room

Picks = tuple[Pick, ...]
# Seconds: what is easy must not depend on how busy the machine is.
_LEAST_SLICE = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class CopyProblem:
    """The question of one copy on a node, or on a node that sees what several nodes see."""

    question: Question
    view: NodeView
    problem: Problem


@dataclass(frozen=True, slots=True)
class FirstFitCopies:
    """The picks of copies placed one by one; ``decided``: no more of them fit, rather than the time being over."""

    copies: tuple[Picks, ...]
    decided: bool


class FirstFitDecider(SearchThenSolve):
    """Finds what the scheduler's search finds first, however long that takes; only a no may come from the solver."""

    def _is_final(self, problem: Problem, decision: Decision) -> bool:
        # The search does not look at what devices take of the node.
        return decision.status is Status.UNALLOCATABLE or bool(problem.node_limits)


class CopyEngine(NodeEngine):
    """Compiles ``CopyProblem``s, fills nodes copy by copy, and builds the allocations of copies."""

    def __init__(self, session: Session, source: CopySource) -> None:
        decider = FirstFitDecider(session)
        super().__init__(session, decider)
        self.source = source
        self.joint = SearchThenSolve(session)
        # All work is counted together.
        self.joint.counts = decider.counts
        self._numbers = count()

    def query(self, node: Node, deadline: float | None) -> CopyProblem:
        """Compile the question for a node. Raises ``FatalError``, ``SelectorError`` and ``DeadlineExceededError``."""
        self.compiler.limit(deadline)
        question = self.compiler.question(self.source.copy(0).claims_to_allocate)
        return self._seen(question, self.compiler.view(node, question))

    def keys(self, query: CopyProblem, in_use: InUse) -> tuple[DeviceId | PoolId, ...]:
        """Return what a copy may take there, in order: devices, and pools whose counters it may draw from.

        Places whose keys have nothing in common have nothing to do with each other; for equal questions about equal
        places with equal keys it is one place.
        """
        candidates = sorted({device for devices in usable_devices(query.problem, in_use) for device in devices})
        ids = [query.view.devices[device].id for device in candidates]
        drawing = query.problem.counters.consumption
        pools = (id_[:2] for device, id_ in zip(candidates, ids, strict=True) if device in drawing)
        return (*ids, *dict.fromkeys(pools))

    def merged_query(self, queries: Sequence[CopyProblem]) -> CopyProblem | None:
        """Return the question for a node that sees what all of these see; None where it would not bound what fits.

        What fits on them together fits there: a copy may even mix what no single node reaches. But a request for all
        devices means more there, where order decides, the order may be another one, and a ring may be larger. Raises
        ``FatalError``.
        """
        problem = queries[0].problem
        if pools_with_negative_draws(problem) or any(map(has_first_only_values, problem.constraints)):
            return None
        ordered = any(relation.condition.ordered for relation in problem.relations)
        if ordered or any(demand.all_devices for demand in problem.demands):
            return None
        seen: dict[PoolId, list[Pool]] = defaultdict(list)
        for pool in dict.fromkeys(pool for query in queries for pool in query.view.pools):
            seen[pool.id].append(pool)
        pools = [merge_pool_views(views) for views in seen.values()]
        able = next((query for query in queries if query.view.shape.node_skips), queries[0])
        whole = [pool for pool in pools if pool is not None]
        if len(whole) < len(pools):
            return None
        view = self.compiler.views.of_pools(able.view.node, whole, able.question.visible)
        found = self._seen(able.question, view)
        wrapping = _periodic_axes(found.problem)
        return found if all(_periodic_axes(query.problem) <= wrapping for query in queries) else None

    def state(self, query: CopyProblem, allocated_state: AllocatedState) -> tuple[InUse, Hashable]:
        """Return what is in use there, and a key that is equal for places where as many copies fit."""
        in_use = allocated_state.in_use(query.view)
        return in_use, node_class_key(query.view, in_use)

    def fill(
        self, query: CopyProblem, allocated_state: AllocatedState, most: int, deadline: float | None
    ) -> FirstFitCopies:
        """Place copies one after the other, as the scheduler would, and commit them."""
        copies: list[Picks] = []
        try:
            while len(copies) < most:
                decision = self.decider.decide(query.problem, allocated_state.in_use(query.view), deadline)
                if decision.status is not Status.ALLOCATED:
                    return FirstFitCopies(tuple(copies), decision.status is Status.UNALLOCATABLE)
                copies.append(decision.picks)
                self.commit(query, allocated_state, decision.picks)
        except DeadlineExceededError:
            return FirstFitCopies(tuple(copies), False)
        return FirstFitCopies(tuple(copies), True)

    def commit(self, query: CopyProblem, allocated_state: AllocatedState, picks: Picks) -> None:
        """Enter what a copy, one that is in no allocated state yet, takes."""
        unit = self.source.copy(next(self._numbers))
        allocated_state.commit(
            zip((ref.key for ref in unit.requested_claims), self.build(query, unit, picks), strict=True)
        )

    def build(self, query: CopyProblem, unit: Unit, picks: Picks) -> tuple[AllocationResult, ...]:
        """Build the allocations of a copy's claims. Raises ``FatalError`` (RES-7)."""
        asks = self.compiler.resolved_requests(query.question, query.view.shape)
        return self.builder.build(unit.claims_to_allocate, asks, picks, query.view)

    def outcome(self, number: int, query: CopyProblem, node: Node, picks: Picks) -> UnitOutcome:
        """A copy on a node with these devices, as an answer about a unit. Raises ``FatalError`` (RES-7)."""
        unit = self.source.copy(number)
        pairs = tuple(zip(unit.requested_claims, self.build(query, unit, picks), strict=True))
        return UnitOutcome(unit, Status.ALLOCATED, node.metadata.name, allocations=pairs)

    def display(self, query: CopyProblem, found: Justification, copies: int) -> str:
        """Write a justification about so many copies in words."""
        claims = [claim for number in range(copies) for claim in self.source.copy(number).claims_to_allocate]
        return display_message(found, problem_names(claims, query.view))

    def counted(self, query: CopyProblem, found: Justification, copies: int) -> CountedSum | None:
        """Return the sum of a justification about so many copies, in which all copies have the claims of one."""
        if found.counted is None:
            return None
        own = self.source.copy(0).claims_to_allocate
        return problem_names(own, query.view).name_devices(found.counted).of_copies(len(own))

    def one_more(self, node: Node, allocated_state: AllocatedState, deadline: float | None) -> NodeResult:
        """Try one more copy, for the reasons why it does not fit."""
        return self.allocate_on(node, self.source.copy(0).claims_to_allocate, allocated_state, deadline)

    def _seen(self, question: Question, view: NodeView) -> CopyProblem:
        problem = self.compiler.problem(question, view.shape)
        return CopyProblem(question, view, problem.order_independent().without_soft())


def _periodic_axes(problem: Problem) -> frozenset[Axis]:
    """Find the axes around which shapes may go: where one is longer, other devices are next to each other."""
    conditions = (relation.condition for relation in problem.relations)
    places = (one for found in conditions if isinstance(found, TopologyCondition) for one in found.places)
    return frozenset(axis for one in places for axis in one.axes if axis.periodic)


def deadline_slice(deadline: float | None, parts: int) -> float | None:
    """Return the deadline for the first of so many equal parts of the time that is left, each of a second at least."""
    if deadline is None:
        return None
    now = monotonic()
    return min(deadline, now + max(_LEAST_SLICE, (deadline - now) / parts))


_UNDECIDED = Decision(Status.UNKNOWN, message="not decided within the limit")


@dataclass(frozen=True, slots=True)
class MostCopies:
    """The copies that fit, with the picks of each, and the proven bound; None: there is no finite one.

    ``refuted`` is the decision against one copy more than the bound.
    """

    copies: tuple[Picks, ...]
    bound: int | None = None
    refuted: Decision | None = None


class CopyFeasibility:
    """Decides whether a number of copies fit together beside what is in use."""

    def __init__(self, problem: Problem, in_use: InUse, decider: SearchThenSolve) -> None:
        self._problem = problem
        self._in_use = in_use
        self._decider = decider
        self._candidates = usable_devices(problem, in_use)
        self._admin = problem.has_admin
        # What copies before the last must fit at least, if they are to fit one after the other.
        self._least = problem.without_admin() if self._admin else problem
        self._least_candidates = usable_devices(self._least, in_use)
        # Picks with admin access may make room for later copies, which copies asked about together do not show.
        self._opaque = self._admin and bool(pools_with_negative_draws(problem))

    def endless(self, deadline: float | None) -> Decision:
        """Decide whether any number of copies fits; a yes has the picks of each."""
        return self._decide(only_unlimited_devices(self._problem), deadline)

    def decide(self, copies: int, deadline: float | None) -> Decision:
        """Decide whether so many copies fit; a yes has the picks of all of them."""
        if copies > 1 and self._opaque:
            return _UNDECIDED
        decision = self._decide(self._at_least(copies), deadline)
        if decision.status is not Status.ALLOCATED or copies == 1 or not self._admin:
            return decision
        together = self._decide(Problem.side_by_side([self._problem] * copies), deadline)
        return together if together.status is Status.ALLOCATED else _UNDECIDED

    def witness(self, copies: int) -> Justification | None:
        """Return a proof by counting that so many copies do not fit."""
        if copies > 1 and self._opaque:
            return None
        candidates = (*self._least_candidates * (copies - 1), *self._candidates)
        return find_witness(self._at_least(copies), self._in_use, candidates)

    def _at_least(self, copies: int) -> Problem:
        return Problem.side_by_side([*[self._least] * (copies - 1), self._problem])

    def apart(self) -> list[CopyFeasibility]:
        """Return the parts of this place that copies never cross; none if there is but one."""
        found = independent_parts(self._problem, self._candidates)
        return [self._only(devices) for devices in found] if len(found) > 1 else []

    def _only(self, devices: frozenset[int]) -> CopyFeasibility:
        problem = self._problem.restricted(lambda _, device: device in devices)
        return CopyFeasibility(problem, self._in_use, self._decider)

    def picks_per_copy(self, picks: Picks, copies: int) -> list[Picks]:
        """Return the picks of each copy."""
        return per_copy(self._problem, picks, copies)

    def _decide(self, problem: Problem, deadline: float | None) -> Decision:
        try:
            return self._decider.decide(problem, self._in_use, deadline)
        except DeadlineExceededError:
            return _UNDECIDED


def most_copies(together: CopyFeasibility, known: Sequence[Picks], limit: int, deadline: float | None) -> MostCopies:
    """Find how many copies fit, at least the known ones and at most the limit, where counting ends without a bound."""
    found = MostCopies(tuple(known))
    refuted = _first_refuted_count(together, len(known), limit)
    top = limit
    if refuted is not None:
        copies, justification = refuted
        top = copies - 1
        found = replace(
            found,
            bound=top,
            refuted=Decision(Status.UNALLOCATABLE, proof_kind=ProofKind.WITNESS, witness=justification),
        )
    apart = together.apart() if len(found.copies) < top else []
    if apart:
        return _most_copies_by_part(apart, found, limit, deadline)
    requested = _next_count(found, top)
    while len(found.copies) < top:
        decision = together.decide(requested, deadline_slice(deadline, 2))
        if decision.status is Status.ALLOCATED:
            found = replace(found, copies=tuple(together.picks_per_copy(decision.picks, requested)))
            requested = _next_count(found, top)
        else:
            top = requested - 1
            if decision.status is Status.UNALLOCATABLE:
                found = replace(found, bound=top, refuted=decision)
            requested = (len(found.copies) + top + 1) // 2
    return found


def _most_copies_by_part(
    apart: Sequence[CopyFeasibility], found: MostCopies, limit: int, deadline: float | None
) -> MostCopies:
    """Add up what fits on each part; each gets its share of the time."""
    shares = range(len(apart), 0, -1)
    each = [most_copies(part, (), limit, deadline_slice(deadline, n)) for part, n in zip(apart, shares, strict=True)]
    copies = tuple(chain.from_iterable(one.copies for one in each))[:limit]
    bounds = [one.bound for one in each if one.bound is not None]
    if len(bounds) == len(each) and (found.bound is None or sum(bounds) < found.bound):
        rooms = ", ".join(f"{number} times {room}" for room, number in sorted(Counter(bounds).items(), reverse=True))
        text = f"{len(each)} groups of devices that have no counters in common have room for {rooms}"
        rests_on = ProofKind.weakest(one.refuted.proof_kind if one.refuted else ProofKind.SOLVER for one in each)
        # That the parts are independent is in no sum that the verifier derives.
        rests_on = ProofKind.SOLVER if rests_on is ProofKind.WITNESS else rests_on
        against = Decision(
            Status.UNALLOCATABLE, proof_kind=rests_on or ProofKind.SOLVER, witness=Justification("parts", (text,))
        )
        found = replace(found, bound=sum(bounds), refuted=against)
    return replace(found, copies=max(copies, found.copies, key=len))


def tighten_upper_bound(together: CopyFeasibility, fitting: int, bound: int, deadline: float | None) -> int:
    """Lower a bound where copies together are refuted; as many as fit are not asked about."""
    refuted = _first_refuted_count(together, fitting, bound)
    if refuted is not None:
        bound = min(bound, refuted[0] - 1)
    low, requested = fitting, fitting + 1
    while low < bound:
        decision = together.decide(requested, deadline_slice(deadline, 2))
        if decision.status is Status.UNALLOCATABLE:
            bound = requested - 1
        else:
            low = requested
        requested = (low + bound + 1) // 2
    return bound


def _next_count(found: MostCopies, top: int) -> int:
    """Ask for all that counting allows, as that is often what fits; where it does not end, go up in strides."""
    return top if found.bound is not None else min(top, 2 * len(found.copies) + 1)


def _first_refuted_count(together: CopyFeasibility, fitting: int, limit: int) -> tuple[int, Justification] | None:
    """Find the least number of copies that counting refutes, beyond those that fit; None up to one above the limit."""
    low, step = fitting, 1
    while low <= limit:
        high = min(low + step, limit + 1)
        found = together.witness(high)
        if found is not None:
            return _least_refuted(together, low, high, found)
        low, step = high, 2 * step
    return None


def _least_refuted(together: CopyFeasibility, low: int, high: int, found: Justification) -> tuple[int, Justification]:
    """Halve the range between a number that is not refuted and one that is."""
    while high - low > 1:
        middle = (low + high) // 2
        less = together.witness(middle)
        if less is None:
            low = middle
        else:
            high, found = middle, less
    return high, found


_UNBOUNDED = Reason("unbounded", "", "a copy leaves nothing in use that the next one needs: any number fit")


@dataclass(frozen=True, slots=True, eq=False)
class CountedCopies:
    """The room on a node; ``copies`` are the picks of those that fit, of two of them where any number does."""

    answer: NodeRoom
    copies: tuple[Picks, ...] = ()

    def stopped_by(self, copies: int | None) -> bool:
        """Tell whether room for so many copies is used up before the devices are, or may be."""
        room = self.answer.room
        return copies is not None and (room.unbounded or room.bound is None or copies < room.bound)

    def limited(self, copies: int, reasons: Sequence[Reason]) -> CountedCopies:
        """Return what fits where there is room for so many copies, with the reasons why no more do.

        Any number that fits one after another does so without the last ones.
        """
        room, answer = self.answer.room, self.answer
        kept = tuple(islice(cycle(self.copies), copies)) if room.unbounded else self.copies[:copies]
        first = copies if room.unbounded else room.first_fit and min(room.first_fit, copies)
        bounded = Room(len(kept), copies, first)
        if not bounded.proven:
            return replace(self, answer=replace(answer, room=bounded), copies=kept)
        return CountedCopies(NodeRoom(answer.nodes, bounded, tuple(reasons), proof_kind=ProofKind.WITNESS), kept)


def count_on_node(
    engine: CopyEngine,
    node: Node,
    query: CopyProblem,
    allocated_state: AllocatedState,
    limit: int,
    deadline: float | None,
) -> CountedCopies:
    """Find how many copies fit on the node beside what the allocated state, which is not changed, says is in use."""
    endless = CopyFeasibility(query.problem, allocated_state.in_use(query.view), engine.joint).endless(
        deadline_slice(deadline, 4)
    )
    if endless.status is Status.ALLOCATED:
        return CountedCopies(_node_room(node, Room(unbounded=True), [_UNBOUNDED]), (endless.picks, endless.picks))
    first, found = count_copies(engine, query, allocated_state, limit, deadline)
    room = Room(len(found.copies), found.bound, len(first.copies) if first.decided else None)
    if room.fits >= limit and not room.proven:
        text = f"{limit} {'copy fits' if limit == 1 else 'copies fit'}, which is as far as counting goes"
        return CountedCopies(_node_room(node, room, [Reason("limit", "", text)]), found.copies)
    return CountedCopies(_explained_room(engine, node, query, allocated_state, room, found, deadline), found.copies)


def count_copies(
    engine: CopyEngine, query: CopyProblem, allocated_state: AllocatedState, limit: int, deadline: float | None
) -> tuple[FirstFitCopies, MostCopies]:
    """Find what first fit reaches, and then how many copies fit, where the number is finite."""
    first = engine.fill(query, AllocatedState(allocated_state.usage), limit, deadline_slice(deadline, 3))
    together = CopyFeasibility(query.problem, allocated_state.in_use(query.view), engine.joint)
    return first, most_copies(together, first.copies, limit, deadline)


def _node_room(node: Node, room: Room, reasons: Sequence[Reason]) -> NodeRoom:
    return NodeRoom((node.metadata.name,), room, tuple(reasons))


def _explained_room(
    engine: CopyEngine,
    node: Node,
    query: CopyProblem,
    allocated_state: AllocatedState,
    room: Room,
    found: MostCopies,
    deadline: float | None,
) -> NodeRoom:
    """Try one more copy beside those that fit, for the reasons why it does not."""
    full = AllocatedState(allocated_state.usage)
    for picks in found.copies:
        engine.commit(query, full, picks)
    attempt = engine.one_more(node, full, deadline)
    answer = failed_room(engine, node, attempt, room)
    if not room.proven:
        reasons = (Reason("undecided", "", "it is not decided whether more fit"), *answer.reasons)
        return replace(answer, reasons=reasons)
    against = found.refuted
    proof = engine.display(query, against.witness, room.fits + 1) if against and against.witness else ""
    counted = engine.counted(query, against.witness, room.fits + 1) if against and against.witness else None
    return replace(answer, proof=proof, counted=counted, proof_kind=against.proof_kind if against else ProofKind.SOLVER)


def failed_room(engine: CopyEngine, node: Node, attempt: NodeResult, room: Room) -> NodeRoom:
    """Return the room with the reasons why one more copy failed."""
    names = engine.source.claims
    if attempt.status is Status.ALLOCATED:
        return _node_room(node, room, [])
    if attempt.status is Status.ERROR or attempt.error:
        claim = "" if attempt.claim is None else names[attempt.claim]
        return _node_room(node, room, [Reason(attempt.rule or "expression", claim, attempt.error or attempt.message)])
    if attempt.timed_out:
        return _node_room(node, room, [])
    name = (node.metadata.name,)
    proof = Reason(attempt.witness.id, "", attempt.proof) if attempt.witness else None
    failure = NodeClassFailure(name, attempt.message, attempt.rejections, proof, attempt.proof_kind)
    return NodeRoom(name, room, class_reasons(failure, names), attempt.rejections)


def example_copies(
    engine: CopyEngine, answers: Iterable[NodeRoom], placed: Iterable[tuple[str, CopyProblem, Picks]]
) -> dict[str, list[tuple[AllocationResult, ...]]]:
    """Return what the claims of copies get that fit on the first node of each answer."""
    fits = {one.nodes[0]: one.room.fits for one in answers if one.room.fits and not one.room.unbounded}
    found: dict[str, list[tuple[AllocationResult, ...]]] = {}
    for name, query, picks in placed:
        own = found.setdefault(name, []) if name in fits else None
        if own is not None and len(own) < fits[name]:
            own.append(engine.build(query, engine.source.copy(len(own)), picks))
    return found
