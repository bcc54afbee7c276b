"""The JSON Schema of every result document.

``python -m drasat.schema`` prints it for ``docs/reference/results.schema.json``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .capacity_documents import CapacityDocument
from .comparison_documents import ComparisonDocument, SweepDocument
from .documents import AllocationDocument, ValidationDocument
from .explanation_documents import ExplanationDocument
from .plan_comparison_documents import PlanComparisonDocument
from .plan_documents import PlanDocument
from .topology_documents import TopologyDocument

DOCUMENTS = (
    AllocationDocument,
    ValidationDocument,
    ComparisonDocument,
    SweepDocument,
    CapacityDocument,
    ExplanationDocument,
    TopologyDocument,
    PlanDocument,
    PlanComparisonDocument,
)


def schema() -> dict[str, Any]:
    """One schema for all documents, told apart by ``kind``."""
    references, definitions = msgspec.json.schema_components(DOCUMENTS, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result documents of drasat",
        "oneOf": list(references),
        "$defs": definitions,
    }


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
