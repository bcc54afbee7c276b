"""How copies of a unit are asked about on one node: the engine behind ``capacity``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import count
from time import monotonic

from ..models.claims import AllocationResult
from ..models.core import Node
from ..models.identity import DeviceId, PoolId
from ..models.placed_devices import Axis
from ..models.pools import Pool, united
from ..models.units import Unit
from ..problem.compile import Question
from ..problem.in_use import Ledger
from ..problem.justification import Justification
from ..problem.lenient import lenient
from ..problem.order import giving_pools, has_odd_firsts
from ..problem.outcomes import DeadlineExceededError
from ..problem.records import InUse, Problem
from ..problem.shapes import NodeView
from ..problem.soft import without_soft
from ..problem.topology import TopologyCondition
from ..problem.usable import usable
from .attempts import Attempt, Session
from .auto import Escalating
from .capacity_ask import Original
from .decision import Answer, Decision
from .node_engine import NodeEngine, names_of
from .search import Pick

Picks = tuple[Pick, ...]

# Seconds: what is easy must not depend on how busy the machine is.
_PART = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A node, or a place that sees what several nodes see, and the question of one copy there."""

    question: Question
    view: NodeView
    problem: Problem


@dataclass(frozen=True, slots=True)
class Filled:
    """What each copy got that was placed after the others; ``decided``: not for lack of time it is no more."""

    copies: tuple[Picks, ...]
    decided: bool


class InOrder(Escalating):
    """Finds what the scheduler's search finds first, however long that takes; only a no may come from the solver."""

    def _settles(self, decision: Decision) -> bool:
        return decision.answer is Answer.NO


class CopyEngine(NodeEngine):
    """Knows nodes as ``Scene``s, fills them copy by copy, and builds what copies get."""

    def __init__(self, session: Session, asked: Original) -> None:
        decider = InOrder(session)
        super().__init__(session, decider)
        self.asked = asked
        self.joint = Escalating(session)
        # All work is counted together.
        self.joint.counts = decider.counts
        self._numbers = count()

    def scene(self, node: Node, deadline: float | None) -> Scene:
        """Compile the question for a node. Raises ``FatalError``, ``SelectorError`` and ``DeadlineExceededError``."""
        question = self._question(deadline)
        return self._seen(question, self.views.of(node, question.visible))

    def keys(self, scene: Scene, in_use: InUse) -> tuple[DeviceId | PoolId, ...]:
        """Return what a copy may take there, in order: devices, and pools whose counters it may draw from.

        Places whose keys have nothing in common have nothing to do with each other; for equal questions about equal
        places with equal keys it is one place.
        """
        candidates = sorted({device for devices in usable(scene.problem, in_use) for device in devices})
        ids = [scene.view.devices[device].id for device in candidates]
        drawing = (id_[:2] for device, id_ in zip(candidates, ids, strict=True) if _draws(scene.problem, device))
        return (*ids, *dict.fromkeys(drawing))

    def united(self, scenes: Sequence[Scene]) -> Scene | None:
        """Return the question for a node that sees what all of these see; None where that cannot be said.

        What fits on them together fits there: a copy may even mix what no single node reaches. But a request for all
        devices means more there, where order decides, the order may be another one, and a ring may be larger. Raises
        ``FatalError``.
        """
        problem = scenes[0].problem
        if giving_pools(problem) or any(map(has_odd_firsts, problem.constraints)):
            return None
        if any(relation.condition.ordered for relation in problem.relations):
            return None
        if any(demand.all_devices for demand in problem.demands):
            return None
        seen: dict[PoolId, list[Pool]] = defaultdict(list)
        for pool in dict.fromkeys(pool for scene in scenes for pool in scene.view.pools):
            seen[pool.id].append(pool)
        pools = [united(views) for views in seen.values()]
        able = next((scene for scene in scenes if scene.view.shape.node_skips), scenes[0])
        question = able.question
        whole = [pool for pool in pools if pool is not None]
        if len(whole) < len(pools):
            return None
        found = self._seen(question, self.views.of_pools(able.view.node, whole, question.visible))
        wrapping = _wrapping(found.problem)
        return found if all(_wrapping(scene.problem) <= wrapping for scene in scenes) else None

    def state(self, scene: Scene, ledger: Ledger) -> tuple[InUse, Hashable]:
        """Return what is in use there, and a key that is equal for places where as many copies fit."""
        in_use = ledger.in_use(scene.view)
        return in_use, (scene.view.shape.index, in_use.key)

    def fill(self, scene: Scene, ledger: Ledger, most: int, deadline: float | None) -> Filled:
        """Place copies one after the other, as the scheduler would, and commit them."""
        copies: list[Picks] = []
        try:
            while len(copies) < most:
                decision = self.decider.decide(scene.problem, ledger.in_use(scene.view), deadline)
                if decision.answer is not Answer.YES:
                    return Filled(tuple(copies), decision.answer is Answer.NO)
                copies.append(decision.picks)
                self.commit(scene, ledger, decision.picks)
        except DeadlineExceededError:
            return Filled(tuple(copies), False)
        return Filled(tuple(copies), True)

    def commit(self, scene: Scene, ledger: Ledger, picks: Picks) -> None:
        """Enter what a copy, one that is in no ledger yet, takes into a ledger."""
        unit = self.asked.copy(next(self._numbers))
        ledger.commit(zip((ref.key for ref in unit.asked), self.build(scene, unit, picks), strict=True))

    def build(self, scene: Scene, unit: Unit, picks: Picks) -> tuple[AllocationResult, ...]:
        """Build the allocations of a copy's claims. Raises ``FatalError`` (RES-7)."""
        claims = [ref.claim for ref in unit.asked if ref.claim is not None]
        return self.builder.build(claims, self.compiler.asks(scene.question), picks, scene.view)

    def tell(self, scene: Scene, found: Justification, copies: int) -> str:
        """Write down a justification about so many copies there."""
        claims = [ref.claim for number in range(copies) for ref in self.asked.copy(number).asked if ref.claim]
        names = names_of(claims, scene.view)
        return names.fill(found.message, claim=found.claim, device=found.device, pool=found.pool)

    def one_more(self, node: Node, ledger: Ledger, deadline: float | None) -> Attempt:
        """Try one more copy, for the reasons why it does not fit."""
        claims = [ref.claim for ref in self.asked.copy(0).asked if ref.claim is not None]
        return self.attempt(node, claims, ledger, deadline)

    def _question(self, deadline: float | None) -> Question:
        self.expressions.deadline = self.compiler.deadline = deadline
        return self.compiler.question([ref.claim for ref in self.asked.copy(0).asked if ref.claim is not None])

    def _seen(self, question: Question, view: NodeView) -> Scene:
        return Scene(question, view, without_soft(lenient(self.compiler.problem(question, view.shape))))


def _wrapping(problem: Problem) -> frozenset[Axis]:
    """Find the axes around which shapes may go: where one is longer, other devices are next to each other."""
    conditions = (relation.condition for relation in problem.relations)
    places = (one for found in conditions if isinstance(found, TopologyCondition) for one in found.places)
    return frozenset(axis for one in places for axis in one.axes if axis.periodic)


def _draws(problem: Problem, device: int) -> bool:
    return device in problem.counters.consumption


def slice_of(deadline: float | None, parts: int) -> float | None:
    """Return the deadline for the first of so many equal parts of the time that is left, each of a second at least."""
    if deadline is None:
        return None
    now = monotonic()
    return min(deadline, now + max(_PART, (deadline - now) / parts))
