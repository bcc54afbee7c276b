"""The question that is asked about each node class: which units its nodes may take, with their problems and limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ....models.results.common import Status
from ....problem.constraints import pools_with_negative_draws
from ....problem.messages import FatalError
from ....problem.node_state import AllocatedState, NodeContextBuilder
from ....problem.problem import Problem
from ....problem.shapes import NodeView
from ...engines.auto import SearchThenSolve
from ...engines.engine import Session
from ...engines.engines import NodeCompiler
from ...engines.result import has_uncombinable_selector
from ..pricing.bundle import BundleQuestion, BundleUnit, Picks
from .gangs import GangRole
from .nodes import PlanNodeClass, ScaledResources
from .shared_devices import NodeReach
from .units import UnitClass

# What the solver may do for one unit with admin access on one node class, in deterministic units.
_LOOKING_WORK = 1.0


@dataclass
class BundleQuestionBuilder:
    """Compiles questions.

    ``node_context_builder`` describes nodes for stages that look at them; ``residual_roles`` are the roles of the
    target workload, whose questions are needed though nothing of them is queued. Without ``looks``, units that have
    nothing but admin access are in the model with all that they have. With ``relaxed`` admin access takes nothing.
    ``is_narrowed``: it is not known whether a node takes some unit, so that it takes none.
    """

    compiler: NodeCompiler
    allocated_state: AllocatedState
    resources: ScaledResources
    session: Session
    node_context_builder: NodeContextBuilder | None = None
    residual_roles: Sequence[GangRole] = ()
    looks: bool = True
    relaxed: bool = False
    is_narrowed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._decider = SearchThenSolve(replace(self.session, work=_LOOKING_WORK))

    def view(self, unit_class: UnitClass, node: PlanNodeClass) -> NodeView:
        """Return what a unit class sees of a node."""
        return self.compiler.view(node.nodes[0], self.compiler.question(unit_class.claims))

    def reach(self, node: PlanNodeClass, unit_classes: Sequence[UnitClass], question: BundleQuestion) -> NodeReach:
        """Return what a node shares with others, and what each unit class sees of it."""
        looks = [self.view(unit_class, node).shape for unit_class in unit_classes] if node.shared else []
        return NodeReach(node, looks, question.in_use, [unit.problem for unit in question.units])

    def question(self, node: PlanNodeClass, roles: Sequence[GangRole], most: Sequence[int]) -> BundleQuestion:
        """Ask about a node: at most so many of each role."""
        problems: dict[int, tuple[Problem, Picks] | None] = {}
        units: list[BundleUnit] = []
        for role in roles:
            shared = role.unit_class.shared
            if not node.takes(role) or not (shared or most[role.index] or role in self.residual_roles):
                continue
            if role.unit_class.index not in problems:
                problems[role.unit_class.index] = self._looked_at(role.unit_class, node)
            found = problems[role.unit_class.index]
            if found is not None:
                needs, size = self.resources.needs(role.unit_class), role.unit_class.size
                limit, key = (1, shared.key) if shared else (most[role.index], None)
                names = role.unit_class.apart
                units.append(BundleUnit(role.index, found[0], limit, needs, True, size, found[1], key, names))
        return BundleQuestion(tuple(self._with_claims(units)), self.allocated_state.in_use(node.view), node.left)

    def _with_claims(self, units: Sequence[BundleUnit]) -> Iterator[BundleUnit]:
        """Yield the units all of whose claims may be had, and these claims before them."""
        # Where devices give counters the order decides, and a claim is allocated with the first unit that names it.
        apart = (unit for unit in units if unit.provides or unit.names)
        ordered = {unit.index for unit in apart if pools_with_negative_draws(unit.problem)}
        self.is_narrowed |= bool(ordered)
        there = frozenset(unit.provides for unit in units if unit.provides and unit.index not in ordered)
        listed = (replace(unit, names=unit.names & there) if self.relaxed else unit for unit in units)
        kept = [unit for unit in listed if unit.names <= there and unit.index not in ordered]
        named = {key for unit in kept for key in unit.names}
        yield from (unit for unit in kept if unit.provides and unit.provides in named)
        yield from (unit for unit in kept if not unit.provides)

    def _looked_at(self, unit_class: UnitClass, node: PlanNodeClass) -> tuple[Problem, Picks] | None:
        """Decide what a unit gets that has nothing but admin access: then nothing is left of its claims (IN-3)."""
        problem = self.problem(unit_class, node)
        if problem is None or not problem.has_admin:
            return None if problem is None else (problem, ())
        if unit_class.shared and self.relaxed:
            # It may be used from several nodes, whatever devices it gets.
            return None
        if unit_class.shared or unit_class.apart or not self.looks or not all(one.admin for one in problem.demands):
            return (problem.without_admin() if self.relaxed else problem), ()
        found = self._decider.decide(problem, self.allocated_state.in_use(node.view), None)
        # What others take may help where devices give counters.
        is_open = found.status is Status.UNKNOWN or bool(pools_with_negative_draws(problem))
        if found.status is not Status.ALLOCATED and not (self.relaxed and is_open):
            self.is_narrowed |= is_open
            return None
        return replace(problem, claims=(), demands=(), constraints=(), relations=()), found.picks

    def problem(self, unit_class: UnitClass, node: PlanNodeClass) -> Problem | None:
        """Compile the claims of a unit class on a node; None where that fails, so that the node takes none of it."""
        view = self.view(unit_class, node)
        question = self.compiler.question(unit_class.claims)
        try:
            problem = self.compiler.problem(question, view.shape).order_independent()
        except FatalError:
            return None
        awkward = {number for number, device in enumerate(view.devices) if has_uncombinable_selector(device)}
        problem = problem.without_devices(awkward) if awkward else problem
        if self.node_context_builder is not None:
            problem = replace(problem, node_context=self.node_context_builder.survey(view, question.visible))
        return problem
