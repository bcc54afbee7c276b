"""Proofs by enumeration: all columns that a better plan could use are listed, and CP-SAT chooses among them.

A better plan has no column that loses more at the duals than bound and value are apart (as Baldacci and others list
routes). If the list is complete, the best plan over it, or the one at hand, is the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..engines.cp_sat import Limits, SolverStatus
from . import column_generation, master_problem
from .master import open_choices, solve_restricted_master

# More columns than so many are not chosen from, and choosing may take so many deterministic units of work.
_MOST_ENUMERATED_COLUMNS = 3000
_ENUMERATION_WORK = 20.0


@dataclass(frozen=True, slots=True)
class EnumerationProof:
    """The best plan known, and whether it is proven to be the optimum."""

    plan: master_problem.IntegerPlan
    proven: bool


def prove_by_enumeration(
    generator: column_generation.ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    duals: master_problem.Duals,
    plan: master_problem.IntegerPlan,
    deadline: float | None,
) -> EnumerationProof:
    """Prove that a plan is the optimum of a stage, or find the optimum; where that takes too long, neither."""
    columns = _enumerate_columns(generator, stage, duals, plan, deadline)
    if columns is None and generator.instance.followers:
        columns = _all_columns(generator, stage, deadline)
    if columns is None:
        return EnumerationProof(plan, proven=False)
    for column in columns:
        generator.master.add(column)
    known = dict.fromkeys([*columns, *(column for column, _ in plan.columns)])
    choices = open_choices(generator.instance, known)
    limits = Limits(deadline=deadline, work=_ENUMERATION_WORK)
    chosen = solve_restricted_master(generator.instance, generator.master.rows, stage, choices, plan, limits)
    if chosen.plan and stage.gain(chosen.plan, plan) > 0:
        plan = chosen.plan
    return EnumerationProof(plan, chosen.status in (SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE))


def _enumerate_columns(
    generator: column_generation.ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    duals: master_problem.Duals,
    plan: master_problem.IntegerPlan,
    deadline: float | None,
) -> Sequence[master_problem.Column] | None:
    """List columns that a better plan could use; None if there are too many, or rows count meters without a price."""
    instance, most = generator.instance, generator.instance.demands()
    # Units that are worth nothing at the duals may still be needed, and rows matter that cost nothing.
    pricing = generator.stage_pricing(stage, duals, floor=1)
    forms = [stage.terms, *(row.terms for row in generator.master.rows)]
    if not all(pricing.prices.meters[meter] for terms in forms for meter in terms.usage):
        return None
    limits = column_generation.PricingLimits(column_generation.Effort.THOROUGH, deadline=deadline)
    classes = [node.index for node in instance.nodes]
    bounds = [priced.bound for priced in generator.price(pricing, classes, most, limits)]
    total = pricing.bound(bounds)
    if total is None:
        return None
    sign = 1 if stage.maximise else -1
    # The next better value is a step away.
    better = sign * plan.value(stage.terms) + column_generation.value_step(instance, stage.terms)
    losable = total - better * pricing.scale
    found: list[master_problem.Column] = []
    for node_class, bound in zip(classes, bounds, strict=True):
        if not instance.nodes[node_class].count:
            continue
        constant = pricing.constant(node_class)
        least = max(0, (bound or 0) + constant) - losable - constant
        columns = generator.pricer.enumerate(node_class, pricing.prices, most, least, limits)
        if columns is None or len(found) + len(columns) > _MOST_ENUMERATED_COLUMNS:
            return None
        found += columns
    return found


def _all_columns(
    generator: column_generation.ColumnGenerator, stage: master_problem.ObjectiveStage, deadline: float | None
) -> Sequence[master_problem.Column] | None:
    """List all columns but for those that use no less than one with more units; None if there are too many.

    Gangs that follow from what is placed make bounds weak, so that duals rule out little.
    """
    instance, most = generator.instance, generator.instance.demands()
    forms = [stage.terms, *(row.terms for row in generator.master.rows)]
    used = {meter for terms in forms for meter in terms.usage}
    # More than a unit costs: the most that it counts, and what it may count below zero.
    worth = 1 + sum(instance.sizes) + sum(abs(value) for terms in forms for value in terms.units.values())
    meters = tuple(-1 if meter in used else 0 for meter in range(instance.meters))
    prices = column_generation.Prices((worth,) * len(instance.units), meters)
    limits = column_generation.PricingLimits(column_generation.Effort.THOROUGH, deadline=deadline)
    found: list[master_problem.Column] = []
    for node in instance.nodes:
        columns = generator.pricer.enumerate(node.index, prices, most, 1, limits) if node.count else ()
        if columns is None or len(found) + len(columns) > _MOST_ENUMERATED_COLUMNS:
            return None
        found += columns
    return found
