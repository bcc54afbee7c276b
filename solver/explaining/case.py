"""One question on one node, with every obstacle in sight: what a conflict is looked for in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ...encoders.composition import ENCODERS
from ...encoders.eligibility import eligibility
from ...encoders.lots import collapse
from ...encoders.merging import merge
from ...encoders.model import AllocationModel, build
from ...encoders.rows import CoefficientError
from ...models.claims import ResourceClaim
from ...models.core import Node
from ...problem.asks import Ask
from ...problem.compile import Compiler, Question
from ...problem.expressions import CelExpressions
from ...problem.in_use import Ledger
from ...problem.messages import Names, claim_text
from ...problem.obstacles import Obstacles, find_obstacles, opened
from ...problem.outcomes import FatalError
from ...problem.records import InUse, Problem
from ...problem.selector_table import SelectorTable
from ...problem.shapes import NodeView, Views
from ...problem.soft import without_soft
from ..attempts import Session
from ..node_engine import names_of
from ..outcome import Reason
from ..topology_axes import cluster_axes


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """The claims of a unit on a node. ``problem`` is as compiled; in that of the model every device is a candidate."""

    claims: tuple[ResourceClaim, ...]
    asks: tuple[Ask, ...]
    view: NodeView
    problem: Problem
    in_use: InUse
    ledger: Ledger
    obstacles: Obstacles
    model: AllocationModel

    @property
    def names(self) -> Names:
        """Names for the numbers."""
        return names_of(self.claims, self.view)


class UnaskableError(Exception):
    """The question ends before devices are chosen; ``reason`` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class Workbench:
    """Compiles questions about the nodes of one cluster, for explanations."""

    def __init__(self, session: Session) -> None:
        self.session = session
        gates = session.gates
        self._expressions = CelExpressions()
        self._selectors = SelectorTable(self._expressions)
        self._views = Views(session.cluster.pools(gates), gates)
        cluster = session.cluster
        self._compiler = Compiler(
            cluster.classes,
            gates,
            self._expressions,
            session.policy,
            session.cel_road,
            cluster.topologies,
            session.given,
            cluster_axes(cluster, gates),
        )

    def limit(self, deadline: float | None) -> None:
        """Stop at this reading of ``time.monotonic``, with ``DeadlineExceededError``."""
        self._expressions.deadline = self._compiler.deadline = deadline

    def key(self, node: Node, claims: Sequence[ResourceClaim], ledger: Ledger) -> Hashable:
        """Equal for nodes on which the claims meet the same. Raises ``SelectorError``."""
        question = self._compiler.question(claims)
        view = self._views.of(node, question.visible)
        return view.shape.index, ledger.in_use(view).key

    def case(self, node: Node, claims: Sequence[ResourceClaim], ledger: Ledger) -> Case:
        """Compile. Raises ``UnaskableError``, ``SelectorError`` and ``DeadlineExceededError``."""
        question = self._compiler.question(claims)
        view = self._views.of(node, question.visible)
        try:
            return self._case(question, claims, view, ledger)
        except FatalError as error:
            names, number = names_of(claims, view), error.claim
            claim = "" if number is None else claim_text(names.claims[number])
            message = names.fill(error.message, claim=number, device=error.device, pool=error.pool)
            raise UnaskableError(Reason(error.rule, claim, message)) from None
        except CoefficientError as error:
            raise UnaskableError(Reason("combination", "", f"the solver cannot be asked: {error}")) from None

    def _case(self, question: Question, claims: Sequence[ResourceClaim], view: NodeView, ledger: Ledger) -> Case:
        problem = self._compiler.problem(question, view.shape)
        asks = tuple(self._compiler.asks(question))
        holders = _holders(view, ledger)
        gates = self.session.gates
        obstacles = find_obstacles(problem, asks, view.shape, holders, self._selectors, gates)
        in_use = ledger.in_use(view)
        whole = without_soft(opened(problem, asks, view.shape, gates))
        encoders = (eligibility(obstacles), *ENCODERS)
        merged = merge(whole, in_use, [demand.candidates for demand in whole.demands], marks=obstacles.of)
        model = build(collapse(merged, encoders), encoders, guarded=True)
        return Case(tuple(claims), asks, view, problem, in_use, ledger, obstacles, model)


def _holders(view: NodeView, ledger: Ledger) -> dict[int, list[str]]:
    """Find which claims have which dedicated devices (DEV-1)."""
    found: dict[int, list[str]] = {}
    for number, device in enumerate(view.devices):
        whole = [claim_text(hold.claim) for hold in ledger.usage.holds(device.id) if hold.share_id is None]
        if whole:
            found[number] = list(dict.fromkeys(whole))
    return found
