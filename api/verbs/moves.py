"""What a call of ``plan`` says about running pods that may move, and about nodes that may go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ..integrations.karpenter.consolidation import RemovableNodes, purchase_limits, removable_nodes
from ..models.kubernetes.karpenter import NodePool
from ..models.results.plan import Number, PlanDocument, RemovedNode
from ..problem.messages import KUBE
from ..solver.compare.figures import scheduling_input
from ..solver.compare.preemption import scheduler_decisions
from ..solver.plan.lifted import MoveOptions
from ..solver.plan.moves import plan_with_moves

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.node_templates import PurchaseLimit
    from ..solver.plan.outcome import PlanOutcome

REPLACEMENTS = ("none", "one", "any")


def move_options(moves: int | str | None, bare: bool) -> MoveOptions:
    """Which pods may move. Raises ``ValueError`` if ``moves`` is missing, or no number and not ``any``."""
    if moves is None:
        raise ValueError("pods without a controller move only where moves says how many pods may")
    text = str(moves)
    if text != "any" and not (text.isascii() and text.isdecimal()):
        raise ValueError(f"moves {moves!r} is neither a number of at least 0 nor any")
    return MoveOptions(None if text == "any" else int(text), bare)


@dataclass(frozen=True, slots=True)
class MovingPods:
    """At ``most`` so many pods move, None for any number; ``nodes`` that may go, where the cost of what runs counts."""

    most: int | None
    bare: bool
    replacement: str
    buys: bool
    nodes: RemovableNodes | None
    preempts: bool = False
    moves: bool = True

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        moves: int | str | None,
        bare: bool,
        consolidate: bool,
        replacement: str,
        preempt: bool = False,
    ) -> MovingPods:
        """Read the arguments. Raises ``ValueError`` for bad ones, and where no price of a node is known."""
        if preempt and consolidate:
            raise ValueError("preempt and consolidate make no sense together: nodes go where nothing is lost")
        if replacement not in REPLACEMENTS:
            raise ValueError(f"replacement {replacement!r} is none of: {', '.join(REPLACEMENTS)}")
        if replacement != "any" and not consolidate:
            raise ValueError("a replacement makes sense to consolidate alone")
        any_number = moves is None and (consolidate or (preempt and not bare))
        most = move_options("any" if any_number else moves, bare).most
        sold = bool(cluster.node_templates or cluster.objects(NodePool))
        nodes = removable_nodes(cluster) if consolidate else None
        buys = consolidate and replacement != "none" and sold
        return cls(most, bare, replacement, buys, nodes, preempt, moves is not None or consolidate)

    def purchase_limits(self, limits: Sequence[PurchaseLimit], cluster: Cluster) -> Sequence[PurchaseLimit]:
        """The limits of what may be bought."""
        return purchase_limits(limits, cluster, self.replacement) if self.nodes else limits

    def asked(self, cluster: Cluster, ask: partial[PlanOutcome]) -> Callable[..., PlanOutcome]:
        """The call of the solver that moves pods, in place of one that does not."""
        options = MoveOptions(self.most, self.bare, preempts=self.preempts, moves=self.moves)
        if self.nodes:
            options = replace(options, prices=self.nodes.prices, kept=self.nodes.kept)
        return partial(plan_with_moves, cluster, options, **ask.keywords)

    def with_scheduler(
        self, document: PlanDocument, cluster: Cluster, answer: PlanOutcome, limit: float | None, **narrowed: Any
    ) -> PlanDocument:
        """The document with what kube-scheduler would do; ``narrowed`` are a namespace, a selector and a seed."""
        inputs = scheduling_input(cluster, gates=answer.gates, cel_errors=KUBE, **narrowed)
        found = scheduler_decisions(inputs, answer.victims, limit)
        return msgspec.structs.replace(document, scheduler_would=found)

    def with_steps(self, document: PlanDocument, answer: PlanOutcome) -> PlanDocument:
        """The document with the steps, and with the nodes that go."""
        if self.preempts:
            return msgspec.structs.replace(document, steps=answer.steps, victims=answer.victims)
        if self.nodes is None:
            return msgspec.structs.replace(document, steps=answer.steps)
        removed = tuple(RemovedNode(name=name, price=_plain(price)) for name, price in answer.removed)
        notices = (*self.nodes.notices, *document.notices)
        return msgspec.structs.replace(document, steps=answer.steps, removed=removed, notices=notices)


def _plain(price: Fraction) -> Number:
    return price.numerator if price.denominator == 1 else float(price)
