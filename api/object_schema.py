"""The JSON Schema of our own kinds of objects, for editors and for other programs that write them.

``python -m drasat.object_schema`` prints it for ``docs/reference/objects.schema.json``. What it cannot say is in
``docs/reference/validation.md``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .models.kinds import KINDS, OWN_GROUP
from .models.topologies import LATTICES, SCOPES, SHAPES, STRAIGHT

_METADATA = ("ObjectMeta", "OwnerReference")


def schema() -> dict[str, Any]:
    """One schema for all own kinds, told apart by ``kind``; fields that nobody knows are refused."""
    own = {kind: known for kind, known in KINDS.items() if known.group == OWN_GROUP}
    models = [known.model for known in own.values()]
    references, definitions = msgspec.json.schema_components(models, ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        if name not in _METADATA and name not in own:
            definition["additionalProperties"] = False
    for kind, known in own.items():
        _headed(definitions[kind], kind, known.api_versions())
    _shaped(definitions["DeviceTopologySpec"])
    definitions["NodeTemplateSpec"]["required"] = ["price"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Objects of drasat",
        "oneOf": list(references),
        "$defs": definitions,
    }


def _headed(definition: dict[str, Any], kind: str, versions: tuple[str, ...]) -> None:
    head = {"apiVersion": {"enum": list(versions)}, "kind": {"const": kind}}
    definition["properties"] = {**head, **definition["properties"]}
    definition["required"] = ["apiVersion", "kind", "metadata", "spec"]


def _shaped(spec: dict[str, Any]) -> None:
    """What each shape of a DeviceTopology needs and may not have."""
    spec["properties"]["scope"] = {"enum": list(SCOPES), "default": "Node"}
    spec["properties"]["shape"] = {"enum": list(SHAPES)}
    spec["required"] = ["shape"]
    spec["oneOf"] = [{"required": ["driver"]}, {"required": ["deviceClassName"]}]
    spec["allOf"] = [_rule(shape) for shape in SHAPES]


def _rule(shape: str) -> dict[str, Any]:
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
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
