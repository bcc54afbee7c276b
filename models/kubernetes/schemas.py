"""The fields of Kueue's and Karpenter's kinds and of ProvisioningRequest, with what their schemas demand of each.

``kueue_api.txt`` and ``karpenter_api.txt`` have them: a line for each field with its path and type, of Kueue also with
limits, default and rules. Names ending in ``[]`` are lists, and in ``{}`` maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

_LIMIT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^]]*\]|\{[^}]*\}|[^\s;]+)')
_RULE = " rule "
_MARKS = ("[]", "{}")


@dataclass(slots=True)
class FieldSchema:
    """A field: its type in the words of the schema, and what a value must fulfil.

    ``limits`` has the words of OpenAPI (``maxLength``, ``pattern``, ``enum``, ...), and ``keys`` of a list with unique
    keys. ``items`` are the values of a list or map, ``fields`` those of an object. ``rules`` are CEL over ``self``.
    """

    type: str = "object"
    required: bool = False
    unique: bool = False
    limits: dict[str, Any] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    fields: dict[str, FieldSchema] = field(default_factory=dict)
    items: FieldSchema | None = None


def kueue_schemas() -> dict[str, FieldSchema]:
    """The schema of each kind of Kueue, and of ProvisioningRequest, by ``apiVersion/kind``."""
    return _schemas("kueue_api.txt")


def karpenter_schemas() -> dict[str, FieldSchema]:
    """The schema of each kind of Karpenter, by ``apiVersion/kind``; ``models/validation/karpenter`` has its limits."""
    return _schemas("karpenter_api.txt")


@cache
def _schemas(file: str) -> dict[str, FieldSchema]:
    found: dict[str, FieldSchema] = {}
    root = FieldSchema()
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            api_version, kind = line.split()[1:3]
            root = found[f"{api_version}/{kind}"] = FieldSchema()
        elif found and ": " in line:
            path, _, text = line.partition(": ")
            _describe(_place(root, path.split(".")), text)
    return found


def _place(schema: FieldSchema, path: Iterable[str]) -> FieldSchema:
    """The field at a path; a list or map where the path ends in its mark, what it holds where the path goes on."""
    here = schema
    for step in path:
        if here.items is not None:
            here = here.items
        name = step[:-2] if step.endswith(_MARKS) else step
        here = here.fields.setdefault(name, FieldSchema())
        if step.endswith(_MARKS) and here.items is None:
            here.items = FieldSchema()
    return here


def _describe(schema: FieldSchema, text: str) -> None:
    own, separator, inner = text.partition("; items " if schema.type == "array" or "; items " in text else "; values ")
    _fill(schema, own)
    if separator and schema.items is not None:
        _fill(schema.items, inner)
        # The number of entries stands behind the values of a map.
        if schema.type == "map" and "maxProperties" in schema.items.limits:
            schema.limits["maxProperties"] = schema.items.limits.pop("maxProperties")


def _fill(schema: FieldSchema, text: str) -> None:
    text = text.strip()
    schema.required = text == "required" or text.endswith(" required")
    head, *rules = text.removesuffix(" required").split(_RULE)
    schema.rules = tuple(rules)
    schema.limits = {name: _value(value) for name, value in _LIMIT.findall(head)}
    words = _LIMIT.sub("", head).split()
    schema.unique = "set" in words
    schema.type = " ".join(word for word in words if word not in ("set", "required"))


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
