"""What is read strictly: entries in annotations, and the kinds and fields that are our own."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .claims import ResourceClaim, ResourceClaimTemplate
from .constraint_groups import ConstraintGroup, ConstraintGroupSpec
from .entries import entry_problems
from .kinds import ApiObject
from .node_templates import NodeTemplate, NodeTemplateSpec
from .strict import unknown_fields
from .structure import FieldProblem
from .topologies import DeviceTopology, DeviceTopologySpec


def own_problems(read: ApiObject, mapping: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Yield what is wrong with our own part of an object that was read from a mapping."""
    find = _FINDERS.get(type(read))
    return find(read, mapping) if find else iter(())


def _of_claim(claim: ResourceClaim, _mapping: Mapping[str, Any]) -> Iterator[FieldProblem]:
    return entry_problems(claim.metadata, "metadata")


def _of_template(template: ResourceClaimTemplate, _mapping: Mapping[str, Any]) -> Iterator[FieldProblem]:
    yield from entry_problems(template.metadata, "metadata")
    if template.spec.metadata is not None:
        yield from entry_problems(template.spec.metadata, "spec.metadata")


def _of_group(_group: ConstraintGroup, mapping: Mapping[str, Any]) -> Iterator[FieldProblem]:
    return unknown_fields(mapping.get("spec"), ConstraintGroupSpec, "spec")


def _of_topology(_topology: DeviceTopology, mapping: Mapping[str, Any]) -> Iterator[FieldProblem]:
    return unknown_fields(mapping.get("spec"), DeviceTopologySpec, "spec")


def _of_node_template(_template: NodeTemplate, mapping: Mapping[str, Any]) -> Iterator[FieldProblem]:
    return unknown_fields(mapping.get("spec"), NodeTemplateSpec, "spec")


_FINDERS: dict[type, Callable[[Any, Mapping[str, Any]], Iterator[FieldProblem]]] = {
    ResourceClaim: _of_claim,
    ResourceClaimTemplate: _of_template,
    ConstraintGroup: _of_group,
    DeviceTopology: _of_topology,
    NodeTemplate: _of_node_template,
}
