"""What each kind of node is asked: which units it may take, as a question about bundles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....problem.in_use import Ledger
from ....problem.landscape import Surveyor
from ....problem.lenient import lenient, without
from ....problem.outcomes import FatalError
from ....problem.records import Problem
from ....problem.shapes import NodeView
from ...node_engine import NodeEngine
from ...result_nodes import cannot_be_combined
from ..bundles.question import BundleQuestion, BundleUnit
from .node_kinds import NodeKind, Resources
from .roles import Role
from .shared_devices import Reach
from .unit_kinds import UnitKind


@dataclass
class Questions:
    """Compiles questions.

    ``surveyor`` describes nodes where goals look at them; ``hosts`` are roles that nobody plays, and that guests are
    like.
    """

    engine: NodeEngine
    ledger: Ledger
    resources: Resources
    surveyor: Surveyor | None = None
    hosts: Sequence[Role] = ()

    def view(self, kind: UnitKind, node: NodeKind) -> NodeView:
        """See a node with the eyes of a kind of unit."""
        return self.engine.views.of(node.nodes[0], self.engine.compiler.question(kind.claims).visible)

    def reach(self, node: NodeKind, kinds: Sequence[UnitKind], question: BundleQuestion) -> Reach:
        """See a node, and what it shares with others with the eyes of each kind of unit."""
        looks = [self.view(kind, node).shape for kind in kinds] if node.shared else []
        return Reach(node, looks, question.in_use, [unit.problem for unit in question.units])

    def question(self, node: NodeKind, roles: Sequence[Role], most: Sequence[int]) -> BundleQuestion:
        """Ask about a node: at most so many of each role."""
        problems: dict[int, Problem | None] = {}
        units: list[BundleUnit] = []
        for role in roles:
            if not role.suits(node) or not (most[role.index] or role in self.hosts):
                continue
            if role.kind.index not in problems:
                problems[role.kind.index] = self._problem(role.kind, node)
            problem = problems[role.kind.index]
            if problem is not None:
                needs = self.resources.needs(role.kind.requests)
                units.append(BundleUnit(role.index, problem, most[role.index], needs, size=role.kind.size))
        return BundleQuestion(tuple(units), self.ledger.in_use(node.view), node.left)

    def _problem(self, kind: UnitKind, node: NodeKind) -> Problem | None:
        """Compile the claims of a kind on a node; None where that goes wrong, so that none of it can be there."""
        view = self.view(kind, node)
        question = self.engine.compiler.question(kind.claims)
        try:
            problem = lenient(self.engine.compiler.problem(question, view.shape))
        except FatalError:
            return None
        awkward = {number for number, device in enumerate(view.devices) if cannot_be_combined(device)}
        problem = without(problem, awkward) if awkward else problem
        if self.surveyor is not None:
            problem = replace(problem, landscape=self.surveyor.survey(view, question.visible))
        return problem
