"""From what ``plan`` found to its document."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from .answers import claims_told, reasons_told
from .models.base import api_name
from .models.claims import AllocationResult
from .models.cluster import Cluster
from .models.core import Node
from .models.identity import ObjectKey
from .plan_documents import BoughtNodes, Number, PlanDocument, PlannedNode, PlannedUnit, PlanStage, PlanVerdict
from .solver.plan_outcome import NodeOutcome, PlannedUnitOutcome, PlanOutcome, StageOutcome


def plan_document(found: PlanOutcome, cluster: Cluster, *, timings: bool = False) -> PlanDocument:
    """The document of a ``plan``; the cluster knows what nodes cost."""
    got = {ref.key: allocation for unit in found.units for ref, allocation in unit.allocations}
    prices = {name: template.spec.price or 0 for name, template in cluster.node_templates.items()}
    return PlanDocument(
        outcome=verdict_told(found.outcome),
        asked=found.asked,
        placed=found.placed,
        objective=tuple(map(stage_told, found.objective)),
        units=tuple(_unit(unit, got) for unit in found.units),
        nodes=tuple(map(_node, found.nodes)),
        bought=tuple(_bought(name, nodes, prices[name]) for name, nodes in sorted(found.bought.items()) if nodes),
        gap=found.gap,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        verified=found.verified,
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.statistics).items()},
        notices=found.notices,
        timings=dict(found.seconds) if timings else msgspec.UNSET,
    )


def relative_gap(value: Number, bound: Number | None) -> float | None:
    """The distance of value and bound, relative to the bound; None where there is no bound, or nothing to relate to."""
    if value == bound:
        return 0.0
    return abs(bound - value) / abs(bound) if bound else None


def verdict_told(text: str) -> PlanVerdict:
    """The solver's outcome as the documents' type."""
    verdict: PlanVerdict = msgspec.convert(text, PlanVerdict)
    return verdict


def stage_told(found: StageOutcome) -> PlanStage:
    """A stage as documents have it."""
    return PlanStage(
        stage=found.stage,
        value=found.value,
        bound=found.bound,
        proven=found.proven,
        gap=relative_gap(found.value, found.bound),
        sense="max" if found.maximised else "min",
    )


def _unit(found: PlannedUnitOutcome, got: Mapping[ObjectKey, AllocationResult]) -> PlannedUnit:
    placed = found.node is not None
    return PlannedUnit(
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        replica=found.replica,
        unit=found.unit.name,
        gang=found.gang,
        node=found.node,
        outcome="Placed" if placed else "NotPlaced",
        reasons=reasons_told(found.reasons),
        claims=claims_told(found.unit, got if placed else {}),
    )


def _node(found: NodeOutcome) -> PlannedNode:
    return PlannedNode(
        name=found.name,
        new=found.is_new,
        template=found.template,
        devices=found.devices,
        used=found.used,
        units=found.units,
    )


def _bought(template: str, nodes: Sequence[Node], price: str | float) -> BoughtNodes:
    each = Decimal(str(price))
    return BoughtNodes(template=template, count=len(nodes), price=_number(each), cost=_number(each * len(nodes)))


def _number(amount: Decimal) -> Number:
    """A number as people write it: 12.5, and 25 for 25.0."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)
