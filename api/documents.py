"""Result documents: their shapes, and the JSON Schema made of them (DESIGN section 5).

Shapes only grow within ``v1alpha1``. Field names are those of the documents, so the schema can be read off here.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .models.base import Model
from .models.claims import AllocationResult as ClaimAllocation

API_VERSION = "drasat.dev/v1alpha1"
Outcome = Literal["Allocated", "Unallocatable", "Error", "Unknown"]


class Reason(Model, omit_defaults=False):
    """Why something could not be allocated: a stable id, the claim (``namespace/name``) and a sentence."""

    id: str
    claim: str
    message: str


class ClaimAnswer(Model, omit_defaults=False):
    """A claim with what it got; ``allocation`` is null where the unit got nothing."""

    namespace: str
    name: str
    allocation: ClaimAllocation | None


class UnitAnswer(Model, omit_defaults=False):
    """A pod, or a loose claim (``pod`` is null), with its node and its claims."""

    pod: str | None
    node: str | None
    outcome: Outcome
    reasons: tuple[Reason, ...]
    claims: tuple[ClaimAnswer, ...]


class AllocationDocument(Model, kw_only=True, omit_defaults=False):
    """What ``allocate -o json`` prints."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["AllocationResult"] = "AllocationResult"
    outcome: Outcome
    engine: str
    units: tuple[UnitAnswer, ...]
    feature_gates: dict[str, bool]
    verified: bool
    certified: bool
    statistics: dict[str, int]
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


class ValidationProblem(Model, omit_defaults=False):
    """One thing the API server, or drasat, would refuse or warn about."""

    severity: Literal["error", "warning"]
    source: str
    kind: str
    name: str
    field: str
    message: str


class ValidationDocument(Model, kw_only=True, omit_defaults=False):
    """What ``validate -o json`` prints."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ValidationResult"] = "ValidationResult"
    valid: bool
    problems: tuple[ValidationProblem, ...]


def schema() -> dict[str, Any]:
    """The JSON Schema of every result document (published as ``docs/results.schema.json``)."""
    references, definitions = msgspec.json.schema_components(
        [AllocationDocument, ValidationDocument], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result documents of drasat",
        "oneOf": list(references),
        "$defs": definitions,
    }
