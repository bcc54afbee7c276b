"""What one device must be for a request, whatever else is taken (section 7, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...models.claims import DeviceClass
from ...models.core import Node
from ...models.device_taints import untolerated
from ...models.gates import FeatureGates
from .capacity import CapacityRefusedError, amounts
from .expressions import Expressions
from .findings import Finding
from .places import reaches
from .published import Published
from .requests import Asked

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


class DeviceRules:
    """The unary rules, for one set of classes and gates."""

    def __init__(self, classes: Mapping[str, DeviceClass], gates: FeatureGates, expressions: Expressions) -> None:
        self._classes = classes
        self._gates = gates
        self._expressions = expressions
        self._sizing, self._fractional = gates.consumable_capacity, gates.fractional_capacity_range
        self._tainting = gates.device_taints

    def unselected(self, entry: Published, asked: Asked, node: Node) -> Finding | None:
        """DEV-2 to DEV-6: why a request for all devices need not have this one (PRE-8, PRE-9)."""
        return self.unmatched(entry, asked, node) or self._too_small(entry, asked)

    def unmatched(self, entry: Published, asked: Asked, node: Node) -> Finding | None:
        """DEV-2 to DEV-5: as ``unselected``, but for the size."""
        if entry.device.binding_conditions and not self._gates.binding_conditions:
            return Finding("DEV-2", "the device has binding conditions, and that feature is off")
        return self._deselected(entry, asked) or self._unreachable(entry, node)

    def _deselected(self, entry: Published, asked: Asked) -> Finding | None:
        """DEV-3: the first selector that does not hold, those of the class before the others."""
        known = self._classes.get(asked.device_class_name)
        for selector in (*((known.spec.selectors if known else None) or ()), *(asked.selectors or ())):
            if selector.cel is None:
                return Finding("PRE-4", "a selector without expression", fatal=True)
            refusal = self._expressions.refuses(selector.cel.expression, entry)
            if refusal is not None:
                return refusal
        return None

    @staticmethod
    def _unreachable(entry: Published, node: Node) -> Finding | None:
        """DEV-4; where the slice chooses the nodes, its pool is not seen from others."""
        if reaches(entry.place, node):
            return None
        return Finding("DEV-4", f"the device is not for node {node.metadata.name}")

    def _too_small(self, entry: Published, asked: Asked) -> Finding | None:
        """DEV-6, as far as others do not matter."""
        taken = self.amounts(entry, asked)
        return taken if isinstance(taken, Finding) else None

    def amounts(self, entry: Published, asked: Asked) -> dict[str, int] | Finding:
        """Compute what is taken of each capacity, in billionths, or why it cannot; nothing with the feature off."""
        if not self._sizing:
            return {}
        wanted = (asked.capacity.requests if asked.capacity else None) or {}
        if not wanted and not entry.device.capacity:
            return {}
        try:
            return amounts(entry.device, wanted, fractional=self._fractional)
        except CapacityRefusedError as refused:
            return refused.finding

    def unusable(self, entry: Published, asked: Asked, node: Node) -> Iterator[Finding]:
        """DEV-7, DEV-9, DEV-10: what fails a request for all devices instead of leaving the device out."""
        if entry.device.consumes_counters and not self._gates.partitionable_devices:
            yield Finding("DEV-7", "the device consumes counters, and that feature is off")
        if entry.slice.spec.skip_node_operations and not self._may_skip(node):
            yield Finding("DEV-9", "the slice skips node operations, and the node does not declare that it can")
        if self._tainting and entry.device.taints:
            for taint in untolerated(entry.device.taints, asked.tolerations):
                yield Finding("DEV-10", f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated")

    def _may_skip(self, node: Node) -> bool:
        """DEV-9; the other variants of the allocator do not look at it."""
        if self._gates.variant != "experimental":
            return True
        declared = (node.status.declared_features if node.status else None) or ()
        return self._gates.optional_node_operations and OPTIONAL_NODE_OPERATIONS in declared
