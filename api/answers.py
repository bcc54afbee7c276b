"""From what the solver found to result documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .documents import (
    AllocationDocument,
    ClaimAnswer,
    FallenDevices,
    NodeClass,
    Reason,
    RequestTable,
    SoftEntryAnswer,
    StageAnswer,
    UnitAnswer,
    ValidationDocument,
    ValidationProblem,
    outcome_of,
)
from .models.base import api_name
from .models.claims import AllocationResult
from .models.identity import ObjectKey
from .models.manifests import Manifest
from .models.pod_claims import ClaimRef
from .models.problems import InputProblem, Source, has_errors
from .models.rendering import RESOURCE_API
from .models.units import Unit
from .models.writing import claim_manifest
from .solver.outcome import UNALLOCATABLE, AllocationOutcome, NodeClassFailure, UnitOutcome
from .solver.outcome import Reason as FoundReason
from .solver.plan_outcome import PlanOutcome
from .solver.tables import DemandTable, Fallen

# A cluster has too many nodes to name them all for every unit.
NODES_NAMED = 5


def allocation_document(found: AllocationOutcome, *, timings: bool = False) -> AllocationDocument:
    """The document of an ``allocate``."""
    return AllocationDocument(
        outcome=outcome_of(found.outcome),
        engine=found.engine,
        units=tuple(_unit(unit) for unit in found.units),
        feature_gates=found.gates.to_dict(),
        verified=found.verified,
        certified=all(_certified(unit) for unit in found.units),
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.statistics).items()},
        notices=found.notices,
        timings=found.seconds if timings else msgspec.UNSET,
    )


def allocated_manifests(found: AllocationOutcome | PlanOutcome) -> list[dict[str, Any]]:
    """The claims that were allocated, as read (or as made from a template) plus ``status.allocation``."""
    return [_manifest(ref, allocation) for unit in found.units for ref, allocation in unit.allocations]


def validation_document(problems: Sequence[InputProblem]) -> ValidationDocument:
    """The document of a ``validate``."""
    return ValidationDocument(
        valid=not has_errors(problems),
        problems=tuple(
            ValidationProblem(
                severity=problem.severity,
                source=str(problem.source),
                kind=problem.kind,
                name=problem.name,
                field=problem.field,
                message=problem.message,
            )
            for problem in problems
        ),
    )


def _unit(found: UnitOutcome) -> UnitAnswer:
    unit, got = found.unit, {ref.key: allocation for ref, allocation in found.allocations}
    names = [f"{ref.namespace}/{ref.name}" for ref in unit.asked]
    return UnitAnswer(
        pod=f"{unit.namespace}/{unit.name}" if unit.pod else None,
        node=found.node,
        outcome=outcome_of(found.outcome),
        reasons=reasons_told(found.reasons),
        claims=claims_told(unit, got),
        failures=tuple(_node_class(failure, names) for failure in found.failures),
        objective=tuple(
            StageAnswer(stage=one.stage, value=one.value, bound=one.bound, proven=one.proven) for one in found.objective
        ),
        soft_entries=tuple(SoftEntryAnswer(**dataclasses.asdict(one)) for one in found.soft),
    )


def _node_class(failure: NodeClassFailure, claims: Sequence[str]) -> NodeClass:
    return NodeClass(
        nodes=len(failure.nodes),
        names=failure.nodes[:NODES_NAMED],
        message=failure.message,
        proof=failure.proof.message if failure.proof else "",
        certified=failure.certified,
        requests=tuple(request_table(table, claims) for table in failure.tables),
    )


def request_table(table: DemandTable, claims: Sequence[str]) -> RequestTable:
    """The document of a table; ``claims`` are the names by number."""
    return RequestTable(
        claim=claims[table.claim],
        request=table.label,
        needed=table.needed,
        devices=table.devices,
        fitting=table.fitting,
        fallen=fallen_told(table.fallen),
    )


def claims_told(unit: Unit, got: Mapping[ObjectKey, AllocationResult]) -> tuple[ClaimAnswer, ...]:
    """The documents of a unit's claims with what they got; those that had an allocation before are left out."""
    return tuple(
        ClaimAnswer(namespace=ref.namespace, name=ref.name, allocation=got.get(ref.key))
        for ref in unit.claims
        if ref.key in got or not ref.allocated
    )


def fallen_told(found: Sequence[Fallen]) -> tuple[FallenDevices, ...]:
    """The documents of the rows of a table."""
    return tuple(FallenDevices(filter=row.filter, detail=row.detail, devices=row.devices) for row in found)


def reasons_told(found: Sequence[FoundReason]) -> tuple[Reason, ...]:
    """The documents of reasons."""
    return tuple(Reason(id=one.id, claim=one.claim, message=one.message) for one in found)


def _certified(unit: UnitOutcome) -> bool:
    """Whether a no is sure: by a witness, by trying everything, or by two runs of the solver that agree."""
    return unit.outcome != UNALLOCATABLE or all(failure.certified for failure in unit.failures)


def _manifest(ref: ClaimRef, allocation: AllocationResult) -> dict[str, Any]:
    version = ref.manifest.api_version if ref.manifest else RESOURCE_API
    source = ref.manifest.source if ref.manifest else Source("", 0)
    return claim_manifest(Manifest("ResourceClaim", version, ref.claim, ref.raw, source), allocation)
