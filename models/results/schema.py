"""The JSON Schemas of the result documents and of our own kinds of objects, for editors and for other programs.

``python -m drasat.models.results.schema results`` prints ``docs/reference/results.schema.json``, with ``objects``
``docs/reference/objects.schema.json``. What the schemas cannot say is in ``docs/reference/validation.md``.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from ..kubernetes.extensions import LATTICES, SCOPES, SHAPES, STRAIGHT
from ..kubernetes.kinds import KINDS, OWN_GROUP
from .capacity import CapacityDocument, QueueCapacityDocument
from .common import AllocationDocument, CheckDocument, ValidationDocument
from .comparison import (
    ComparisonDocument,
    PlanComparisonDocument,
    PurchaseComparisonDocument,
    SweepDocument,
    TuneDocument,
)
from .explanation import ExplanationDocument
from .inventory import InventoryDocument, TopologyDocument
from .overlay import OverlayDocument
from .plan import PlanDocument
from .provision import ProvisionDocument
from .quota import QuotaDocument
from .snapshot import SnapshotDocument
from .study import StudyDocument

DOCUMENTS = (
    AllocationDocument,
    ValidationDocument,
    ComparisonDocument,
    SweepDocument,
    CapacityDocument,
    QueueCapacityDocument,
    ExplanationDocument,
    SnapshotDocument,
    TopologyDocument,
    PlanDocument,
    PlanComparisonDocument,
    InventoryDocument,
    ProvisionDocument,
    OverlayDocument,
    PurchaseComparisonDocument,
    QuotaDocument,
    StudyDocument,
    CheckDocument,
    TuneDocument,
)


def results_schema() -> dict[str, Any]:
    """One schema for all documents, told apart by ``kind``."""
    references, definitions = msgspec.json.schema_components(DOCUMENTS, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result documents of drasat",
        "oneOf": list(references),
        "$defs": definitions,
    }


_METADATA_MODELS = ("ObjectMeta", "OwnerReference")


def objects_schema() -> dict[str, Any]:
    """One schema for all own kinds, told apart by ``kind``; fields that nobody knows are refused."""
    own = {known.name: known for known in KINDS.values() if known.group == OWN_GROUP}
    models = [known.model for known in own.values()]
    references, definitions = msgspec.json.schema_components(models, ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        if name not in _METADATA_MODELS and name not in own:
            definition["additionalProperties"] = False
    for kind, known in own.items():
        head = {"apiVersion": {"enum": list(known.api_versions())}, "kind": {"const": kind}}
        definitions[kind]["properties"] = {**head, **definitions[kind]["properties"]}
        definitions[kind]["required"] = ["apiVersion", "kind", "metadata", "spec"]
    _add_shape_rules(definitions["DeviceTopologySpec"])
    definitions["NodeTemplateSpec"]["required"] = ["price"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Objects of drasat",
        "oneOf": list(references),
        "$defs": definitions,
    }


def _add_shape_rules(spec: dict[str, Any]) -> None:
    """What each shape of a DeviceTopology needs and may not have."""
    spec["properties"]["scope"] = {"enum": list(SCOPES), "default": "Node"}
    spec["properties"]["shape"] = {"enum": list(SHAPES)}
    spec["required"] = ["shape"]
    spec["oneOf"] = [{"required": ["driver"]}, {"required": ["deviceClassName"]}]
    spec["allOf"] = [_shape_rule(shape) for shape in SHAPES]


def _shape_rule(shape: str) -> dict[str, Any]:
    forbidden = {
        "coordinates": shape == "Links",
        "size": shape not in LATTICES,
        "periodic": shape != "Grid",
        "links": shape != "Links",
    }
    rule: dict[str, Any] = {field: False for field, never in forbidden.items() if never}
    if shape != "Links":
        rule["coordinates"] = {"type": "array", "minItems": 1, **({"maxItems": 1} if shape in STRAIGHT else {})}
    needed = "links" if shape == "Links" else "coordinates"
    told = {"properties": {"shape": {"const": shape}}, "required": ["shape"]}
    return {"if": told, "then": {"properties": rule, "required": [needed]}}


if __name__ == "__main__":
    chosen = {"results": results_schema, "objects": objects_schema}[sys.argv[1]]
    print(msgspec.json.format(msgspec.json.encode(chosen()), indent=2).decode())
