"""What one device must be for a request, whatever else is taken (section 7, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...models.claims import DeviceClass, ExactDeviceRequest
from ...models.core import Node
from ...models.device_taints import untolerated
from ...models.gates import FeatureGates
from .capacity import PolicyError, amounts
from .expressions import Expressions
from .published import Published, reachable
from .results import Asked

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


class DeviceRules:
    """The unary rules, for one set of classes and gates."""

    def __init__(self, classes: Mapping[str, DeviceClass], gates: FeatureGates, expressions: Expressions) -> None:
        self._classes = classes
        self._gates = gates
        self._expressions = expressions

    def selectable(self, entry: Published, asked: Asked, node: Node) -> Iterator[str]:
        """DEV-2 to DEV-4 and static capacity: what decides whether All must include the device (PRE-8, PRE-9)."""
        gates = self._gates
        if entry.device.binding_conditions is not None and not gates.binding_conditions:
            yield "DEV-2: the device has binding conditions, and that feature is off"
        yield from self._selectors(entry, asked)
        if entry.slice.spec.per_device_node_selection and not reachable(entry.device, node):
            yield f"DEV-4: the device cannot be reached from node {node.metadata.name}"
        if gates.consumable_capacity:
            yield from self._capacity(entry, asked)

    def _selectors(self, entry: Published, asked: Asked) -> Iterator[str]:
        known = self._classes.get(asked.device_class_name)
        if known is None:
            yield f"PRE-6: there is no device class {asked.device_class_name}"
        for selector in (*((known.spec.selectors if known else None) or ()), *(asked.selectors or ())):
            if selector.cel is None:
                yield "PRE-4: a selector without CEL"
                continue
            trouble = self._expressions.refuses(selector.cel.expression, entry)
            if trouble is not None:
                yield f"DEV-3: {trouble}"
                return

    def _capacity(self, entry: Published, asked: Asked) -> Iterator[str]:
        wanted = asked.capacity.requests if asked.capacity else None
        limits = entry.device.capacity or {}
        try:
            taken = amounts(entry.device, wanted or {}, self._gates)
        except PolicyError as problem:
            yield str(problem)
            return
        for name, amount in taken.items():
            if not 0 <= amount <= self._expressions.nano(limits[name].value):
                yield f"CAP-6: the request takes more {name} than the device has"

    def usable(self, entry: Published, asked: Asked, node: Node) -> Iterator[str]:
        """DEV-7, DEV-9, DEV-10: what fails an All request instead of leaving the device out."""
        gates = self._gates
        if entry.device.consumes_counters and not gates.partitionable_devices:
            yield "DEV-7: the device consumes counters, and partitionable devices are off"
        if entry.slice.spec.skip_node_operations and not self._node_skips(node):
            yield "DEV-9: the slice skips node operations, and the node does not declare that it can"
        if gates.device_taints:
            for taint in untolerated(entry.device.taints or (), asked.tolerations or ()):
                yield f"DEV-10: taint {taint.key}={taint.value}:{taint.effect} is not tolerated"

    def _node_skips(self, node: Node) -> bool:
        declared = (node.status.declared_features if node.status else None) or ()
        return self._gates.optional_node_operations and OPTIONAL_NODE_OPERATIONS in declared


def is_admin(asked: Asked) -> bool:
    """Whether the request is for admin access (DEV-1, DEV-15)."""
    return isinstance(asked, ExactDeviceRequest) and bool(asked.admin_access)
