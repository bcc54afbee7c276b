"""A proof for small gaps: all columns that a better plan could use are listed, and CP-SAT chooses among them.

A better plan has no column that loses more at the duals than bound and value are apart (as Baldacci and others list
routes). If the list is complete, the best plan over it, or the one at hand, is the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..cp_sat_run import Limits, Status
from .duals import Duals, Pricing
from .generation import Generator, step_of
from .instance import Column, Stage
from .integer_master import Choice, choose
from .plan import Plan
from .pricing import Effort, PricingLimits

# More columns than so many are not chosen from, and choosing may take so many deterministic units of work.
_COLUMNS = 3000
_WORK = 20.0


@dataclass(frozen=True, slots=True)
class Completed:
    """The best plan known, and whether it is proven to be the optimum."""

    plan: Plan
    proven: bool


def complete(generator: Generator, stage: Stage, duals: Duals, plan: Plan, deadline: float | None) -> Completed:
    """Prove that a plan is the optimum of a stage, or find the optimum; where that takes too long, neither."""
    columns = _listed(generator, stage, duals, plan, deadline)
    if columns is None:
        return Completed(plan, proven=False)
    for column in columns:
        generator.master.add(column)
    counts = {node.index: node.count for node in generator.instance.nodes}
    known = dict.fromkeys([*columns, *(column for column, _ in plan.columns)])
    choices = [Choice(column, 0, counts[column.node_class]) for column in known]
    chosen = choose(
        generator.instance, generator.master.rows, stage, choices, plan, Limits(deadline=deadline, work=_WORK)
    )
    sign = 1 if stage.maximise else -1
    if chosen.plan and sign * chosen.plan.value(stage.terms) > sign * plan.value(stage.terms):
        plan = chosen.plan
    return Completed(plan, chosen.status in (Status.OPTIMAL, Status.INFEASIBLE))


def _listed(
    generator: Generator, stage: Stage, duals: Duals, plan: Plan, deadline: float | None
) -> Sequence[Column] | None:
    """All columns that a better plan could use; None if they are too many, or rows look at what has no price."""
    instance, most = generator.instance, generator.instance.most()
    # Units that are worth nothing at the duals may still be needed, and rows matter that cost nothing.
    pricing = Pricing(instance, stage, generator.master.rows, duals, floor=1)
    forms = [stage.terms, *(row.terms for row in generator.master.rows)]
    if not all(pricing.prices.meters[meter] for terms in forms for meter in terms.usage):
        return None
    limits = PricingLimits(Effort.THOROUGH, deadline=deadline)
    classes = [node.index for node in instance.nodes]
    bounds = [priced.bound for priced in generator.price(pricing, classes, most, limits)]
    total = pricing.bound(bounds)
    if total is None:
        return None
    sign = 1 if stage.maximise else -1
    # The next better value is a step away.
    better = sign * plan.value(stage.terms) + step_of(instance, stage.terms)
    losable = total - better * pricing.scale
    found: list[Column] = []
    for node_class, bound in zip(classes, bounds, strict=True):
        if not instance.nodes[node_class].count:
            continue
        constant = pricing.constant(node_class)
        least = max(0, (bound or 0) + constant) - losable - constant
        columns = generator.pricer.enumerate(node_class, pricing.prices, most, least, limits)
        if columns is None or len(found) + len(columns) > _COLUMNS:
            return None
        found += columns
    return found
