"""The page of all checks, made of the rows that test them."""

from collections.abc import Iterator
from pathlib import Path

from support.validation import ALLOCATED, COUNTERS, problems

from drasat.models.gates import FeatureGates

from . import (
    test_allocations,
    test_claims,
    test_constraint_groups,
    test_constraints,
    test_devices,
    test_entries,
    test_node_templates,
    test_other_kinds,
    test_policies,
    test_slices,
    test_topologies,
    test_workloads,
)

PAGE = Path(__file__).parents[3] / "docs" / "validation.md"
LONGEST = 160

# Heading, kind, what is edited (None: the kind's usual object), gates, tables of rows.
SECTIONS = [
    ("ResourceSlice", "ResourceSlice", None, None, [test_slices.FIELDS, test_slices.NODES]),
    ("Shared counters", "ResourceSlice", COUNTERS, None, [test_slices.SETS]),
    (
        "Devices",
        "ResourceSlice",
        None,
        None,
        [test_devices.NAMES, test_devices.VALUES, test_devices.LIMITS, test_devices.TAINTS, test_devices.BINDING],
    ),
    (
        "Request policies",
        "ResourceSlice",
        None,
        None,
        [test_policies.FORMS, test_policies.VALUES, test_policies.RANGES],
    ),
    ("Ranges in fractions", "ResourceSlice", None, None, [test_policies.FRACTIONS]),
    (
        "Ranges without DRAFractionalCapacityRange",
        "ResourceSlice",
        None,
        test_policies.INTEGERS,
        [test_policies.WHOLE],
    ),
    (
        "ResourceClaim and ResourceClaimTemplate",
        "ResourceClaim",
        None,
        None,
        [
            test_claims.FORM_ROWS,
            test_claims.WISHES,
            test_claims.TOLERATIONS,
            test_claims.CONSTRAINTS,
            test_constraints.EXPRESSIONS,
            test_constraints.SEMANTICS,
            test_claims.DERIVED,
            test_claims.CONFIGS,
        ],
    ),
    ("Status of a ResourceClaim", "ResourceClaim", ALLOCATED, None, [test_allocations.ROWS]),
    (
        "The annotation drasat.dev/constraints, on a ResourceClaim",
        "ResourceClaim",
        None,
        None,
        [test_entries.ENTRIES, test_entries.TOPOLOGIES],
    ),
    ("ConstraintGroup", "ConstraintGroup", None, None, [test_constraint_groups.GROUPS]),
    ("DeviceTopology", "DeviceTopology", None, None, [test_topologies.SUBJECTS, test_topologies.SHAPES]),
    ("NodeTemplate", "NodeTemplate", None, None, [test_node_templates.TEMPLATES]),
    ("DeviceClass", "DeviceClass", None, None, [test_other_kinds.CLASSES]),
    ("DeviceTaintRule", "DeviceTaintRule", None, None, [test_other_kinds.RULES]),
    ("Node", "Node", None, None, [test_other_kinds.NODES]),
    ("Pod", "Pod", None, None, [test_other_kinds.PODS]),
    ("Amounts of resources, on a Pod", "Pod", None, None, [test_workloads.AMOUNTS]),
    ("Annotations for plans, on a Pod", "Pod", None, None, [test_workloads.ANNOTATIONS]),
    ("Job", "Job", None, None, [test_workloads.JOBS]),
    ("Deployment and ReplicaSet", "Deployment", None, None, [test_workloads.DEPLOYMENTS]),
    ("StatefulSet", "StatefulSet", None, None, [test_workloads.STATEFUL_SETS]),
    ("PriorityClass", "PriorityClass", None, None, [test_workloads.PRIORITY_CLASSES]),
    ("Workload", "Workload", None, None, [test_workloads.WORKLOADS]),
    ("PodGroup", "PodGroup", None, None, [test_workloads.POD_GROUPS]),
    ("Node selectors, on a Pod", "Pod", None, None, [test_other_kinds.SELECTORS]),
    ("Namespace", "Namespace", None, None, [test_other_kinds.NAMESPACES]),
    ("Metadata, on a ResourceClaim", "ResourceClaim", None, None, [test_other_kinds.META]),
]
INTRODUCTION = """# What validation says

Every row is a test: it breaks one rule (the first column names it, with its number where it has one) of an
object that is fine otherwise. The message is what the API server would say, or nearly so.

- **error**: the API server refuses the object; `--skip-validation` lifts it.
- **structure**: an error that is never lifted, because nothing can be computed from such an object.
- **warning**: accepted, but it hardly does what was meant.

Beside these, fields whose feature gate is off are warned of (a server would drop them on write), and there are
checks across objects: the same object twice (structure); `adminAccess` in a namespace without the label
`resource.kubernetes.io/admin-access: "true"` (error, or a warning if the namespace is not in the input; CLM-5);
claims naming a DeviceClass, and pods and pod templates naming a claim, template or PriorityClass, that are not in
the input (warning); allocated devices that no ResourceSlice publishes (warning); claims and pods that a
ConstraintGroup names and that are not in the input (structure); a DeviceTopology naming a DeviceClass that is not
in the input (warning); devices on one coordinate of a DeviceTopology, or beyond its size (structure; TOPO-3); kinds
and fields that later versions dropped from v1alpha3 (warning).
CEL expressions are checked where they are compiled.

This page is written by `UPDATE_DOCS=1 pytest tests/models/validation/test_page.py`.
"""


def section(heading, kind, base, gates: FeatureGates | None, tables) -> Iterator[str]:
    yield from ("", f"## {heading}", "", "| rule | | field | message |", "|---|---|---|---|")
    for table in tables:
        for row in table:
            for problem in problems(kind, row.values[0], base, gates):
                yield line(row.id, problem)


def line(rule: str, problem: str) -> str:
    severity, text = "error", problem
    for mark in ("warning", "structure"):
        if text.startswith(f"{mark} "):
            severity, text = mark, text.removeprefix(f"{mark} ")
    field, message = text.split(": ", 1)
    return f"| {cell(rule)} | {severity} | `{field[:LONGEST]}` | {cell(message)} |"


_MARKUP = str.maketrans({"`": "'"} | {character: f"\\{character}" for character in "\\|*_<"})


def cell(text: str) -> str:
    """Text that is one cell of a table: no bars, no markup, not too long."""
    return (text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " ...").translate(_MARKUP)


def page() -> str:
    lines = [line for entry in SECTIONS for line in section(*entry)]
    return "\n".join([INTRODUCTION.rstrip("\n"), *lines, ""])
