"""From what the solver found to result documents.

From what ``plan`` found to its document.

From surveys of topologies to the document of ``topology``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from .models.cluster.cluster import Cluster
from .models.formats.errors import InputProblem, Source, has_errors
from .models.formats.model import api_name
from .models.kubernetes.claims import AllocationResult
from .models.kubernetes.core import Node
from .models.kubernetes.extensions import TopologyScope
from .models.kubernetes.meta import DeviceId, ObjectKey
from .models.manifests.reader import Manifest
from .models.manifests.writer import RESOURCE_API, claim_manifest
from .models.results.common import (
    NODES_NAMED,
    AllocationDocument,
    ClaimAnswer,
    RejectedNodes,
    RequestTable,
    StageAnswer,
    UnitAnswer,
    ValidationDocument,
    ValidationProblem,
    outcome_of,
)
from .models.results.plan import BoughtNodes, Number, PlanDocument, PlannedUnit, PlanVerdict
from .models.results.topology import (
    AxisAnswer,
    DeviceState,
    FreeShapeAnswer,
    InstanceAnswer,
    PlacedDevice,
    TopologyAnswer,
    TopologyDocument,
    UnplacedDevice,
)
from .models.topology.free_shapes import FreeShape
from .models.topology.places import PlacedDevices
from .models.workload.units import ClaimRef, Unit
from .solver.allocate.topology import InstanceSurvey, TopologyOutcome, TopologySurvey
from .solver.engines.outcome import UNALLOCATABLE, AllocationOutcome, DemandTable, NodeClassFailure, UnitOutcome
from .solver.plan.outcome import PlannedUnitOutcome, PlanOutcome


def allocation_document(found: AllocationOutcome, *, timings: bool = False) -> AllocationDocument:
    """The document of an ``allocate``."""
    return AllocationDocument(
        outcome=outcome_of(found.outcome),
        engine=found.engine,
        units=tuple(_unit_answer(unit) for unit in found.units),
        feature_gates=found.gates.to_dict(),
        verified=found.verified,
        certified=all(_is_certified(unit) for unit in found.units),
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.statistics).items()},
        notices=found.notices,
        timings=found.seconds if timings else msgspec.UNSET,
    )


def allocated_manifests(found: AllocationOutcome | PlanOutcome) -> list[dict[str, Any]]:
    """The claims that were allocated, as read (or as made from a template) plus ``status.allocation``."""
    return [_allocated_manifest(ref, allocation) for unit in found.units for ref, allocation in unit.allocations]


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


def _unit_answer(found: UnitOutcome) -> UnitAnswer:
    unit, got = found.unit, {ref.key: allocation for ref, allocation in found.allocations}
    names = [f"{ref.namespace}/{ref.name}" for ref in unit.requested_claims]
    return UnitAnswer(
        pod=unit.pod_label,
        node=found.node,
        outcome=outcome_of(found.outcome),
        reasons=found.reasons,
        claims=claim_answers(unit, got),
        failures=tuple(_rejected_nodes(failure, names) for failure in found.failures),
        objective=tuple(
            StageAnswer(stage=one.stage, value=one.value, bound=one.bound, proven=one.proven) for one in found.objective
        ),
        soft_entries=found.soft_entries,
    )


def _rejected_nodes(failure: NodeClassFailure, claims: Sequence[str]) -> RejectedNodes:
    return RejectedNodes(
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
        fallen=table.fallen,
    )


def claim_answers(unit: Unit, got: Mapping[ObjectKey, AllocationResult]) -> tuple[ClaimAnswer, ...]:
    """The documents of a unit's claims with what they got; those that had an allocation before are left out."""
    return tuple(
        ClaimAnswer(namespace=ref.namespace, name=ref.name, allocation=got.get(ref.key))
        for ref in unit.claims
        if ref.key in got or not ref.allocated
    )


def _is_certified(unit: UnitOutcome) -> bool:
    """Whether a no is sure: by a witness, by trying everything, or by two runs of the solver that agree."""
    return unit.outcome != UNALLOCATABLE or all(failure.certified for failure in unit.failures)


def _allocated_manifest(ref: ClaimRef, allocation: AllocationResult) -> dict[str, Any]:
    version = ref.manifest.api_version if ref.manifest else RESOURCE_API
    source = ref.manifest.source if ref.manifest else Source("", 0)
    return claim_manifest(Manifest("ResourceClaim", version, ref.claim, ref.raw, source), allocation)


def plan_document(found: PlanOutcome, cluster: Cluster, *, timings: bool = False) -> PlanDocument:
    """The document of a ``plan``; the cluster knows what nodes cost."""
    got = {ref.key: allocation for unit in found.units for ref, allocation in unit.allocations}
    prices = {name: template.spec.price or 0 for name, template in cluster.node_templates.items()}
    return PlanDocument(
        outcome=plan_verdict(found.outcome),
        asked=found.asked,
        placed=found.placed,
        objective=found.objective,
        units=tuple(_planned_unit(unit, got) for unit in found.units),
        nodes=found.nodes,
        bought=tuple(_bought_nodes(name, nodes, prices[name]) for name, nodes in sorted(found.bought.items()) if nodes),
        gap=found.gap,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        verified=found.verified,
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.statistics).items()},
        notices=found.notices,
        timings=dict(found.seconds) if timings else msgspec.UNSET,
    )


def plan_verdict(text: str) -> PlanVerdict:
    """The solver's outcome as the documents' type."""
    verdict: PlanVerdict = msgspec.convert(text, PlanVerdict)
    return verdict


def _planned_unit(found: PlannedUnitOutcome, got: Mapping[ObjectKey, AllocationResult]) -> PlannedUnit:
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
        reasons=found.reasons,
        claims=claim_answers(found.unit, got if placed else {}),
    )


def _bought_nodes(template: str, nodes: Sequence[Node], price: str | float) -> BoughtNodes:
    each = Decimal(str(price))
    return BoughtNodes(
        template=template, count=len(nodes), price=_plain_number(each), cost=_plain_number(each * len(nodes))
    )


def _plain_number(amount: Decimal) -> Number:
    """A number as people write it: 12.5, and 25 for 25.0."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def topology_document(found: TopologyOutcome) -> TopologyDocument:
    """The document of a ``topology``."""
    answers = tuple(_topology_answer(survey) for survey in found.surveys)
    return TopologyDocument(topologies=answers, feature_gates=found.gates.to_dict())


def _topology_answer(survey: TopologySurvey) -> TopologyAnswer:
    spec = survey.topology.spec
    return TopologyAnswer(
        name=survey.topology.metadata.name,
        driver=spec.driver,
        device_class_name=spec.device_class_name,
        scope=msgspec.convert(spec.scope, TopologyScope),
        shape=survey.topology.known_shape,
        coordinates=spec.coordinates or ((spec.links.id,) if spec.links else ()),
        instances=tuple(_instance_answer(one) for one in survey.instances),
    )


def _instance_answer(found: InstanceSurvey) -> InstanceAnswer:
    places = found.places
    numbers = {device: number for number, device in enumerate(places.devices)}
    free = len(places.devices) - len(found.used) - len(found.chosen)
    return InstanceAnswer(
        name=found.instance.name,
        axes=tuple(
            AxisAnswer(attribute=axis.name, first=axis.first, size=axis.size, periodic=axis.periodic)
            for axis in places.axes
        ),
        levels=tuple(_free_shape_answer(shape, places, numbers) for shape in found.levels),
        levels_left=tuple(_free_shape_answer(shape, places, numbers) for shape in found.levels_left),
        free=free,
        used=len(found.used),
        chosen=len(found.chosen),
        largest=_free_shape_answer(found.largest, places, numbers),
        left=_free_shape_answer(found.left, places, numbers),
        devices=tuple(_placed_device(device, found) for device in places.devices),
        unplaced=tuple(
            UnplacedDevice(driver=driver, pool=pool, device=device) for driver, pool, device in places.unplaced
        ),
        links=tuple((numbers[one], numbers[other]) for one, other in places.links),
    )


def _placed_device(device: DeviceId, found: InstanceSurvey) -> PlacedDevice:
    state: DeviceState = "used" if device in found.used else "chosen" if device in found.chosen else "free"
    driver, pool, name = device
    coordinates = _published_coordinates(device, found.places)
    return PlacedDevice(driver=driver, pool=pool, device=name, coordinates=coordinates, state=state)


def _published_coordinates(device: DeviceId, places: PlacedDevices) -> tuple[int | str | bool, ...]:
    """What the device publishes of its place."""
    if device in places.cells:
        return tuple(axis.first + place for axis, place in zip(places.axes, places.cells[device], strict=True))
    scalars = places.paths.get(device) or (places.ids[device],)
    return tuple(scalar.value for scalar in scalars)


def _free_shape_answer(shape: FreeShape, places: PlacedDevices, numbers: Mapping[DeviceId, int]) -> FreeShapeAnswer:
    first = tuple(axis.first + place for axis, place in zip(places.axes, shape.first, strict=False))
    return FreeShapeAnswer(
        kind=shape.kind,
        count=len(shape.devices),
        size=shape.size,
        first=first,
        level=shape.level,
        devices=tuple(sorted(numbers[device] for device in shape.devices)),
    )
