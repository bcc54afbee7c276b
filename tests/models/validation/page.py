"""The page of all checks, made of the rows that test them."""

from collections.abc import Iterator
from pathlib import Path

from support.validation import ALLOCATED, COUNTERS, problems

from drasat.models.kubernetes.gates import FeatureGates

from . import (
    test_claims,
    test_devices,
    test_devices_policies,
    test_entries,
    test_extensions_groups,
    test_extensions_node_templates,
    test_extensions_topologies,
    test_nodes,
    test_nodes_workloads,
    test_slices,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "validation.md"
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
        [test_devices_policies.FORMS, test_devices_policies.VALUES, test_devices_policies.RANGES],
    ),
    ("Ranges in fractions", "ResourceSlice", None, None, [test_devices_policies.FRACTIONS]),
    (
        "Ranges without DRAFractionalCapacityRange",
        "ResourceSlice",
        None,
        test_devices_policies.INTEGERS,
        [test_devices_policies.WHOLE],
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
            test_claims.EXPRESSIONS,
            test_claims.SEMANTICS,
            test_claims.DERIVED,
            test_claims.CONFIGS,
        ],
    ),
    ("Status of a ResourceClaim", "ResourceClaim", ALLOCATED, None, [test_claims.ALLOCATIONS]),
    (
        "The annotation drasat.dev/constraints, on a ResourceClaim",
        "ResourceClaim",
        None,
        None,
        [test_entries.ENTRIES, test_entries.TOPOLOGIES],
    ),
    ("ConstraintGroup", "ConstraintGroup", None, None, [test_extensions_groups.GROUPS]),
    (
        "DeviceTopology",
        "DeviceTopology",
        None,
        None,
        [test_extensions_topologies.SUBJECTS, test_extensions_topologies.SHAPES],
    ),
    ("NodeTemplate", "NodeTemplate", None, None, [test_extensions_node_templates.TEMPLATES]),
    ("DeviceClass", "DeviceClass", None, None, [test_nodes.CLASSES]),
    ("DeviceTaintRule", "DeviceTaintRule", None, None, [test_nodes.RULES]),
    ("Node", "Node", None, None, [test_nodes.NODES]),
    ("Pod", "Pod", None, None, [test_nodes.PODS]),
    ("Amounts of resources, on a Pod", "Pod", None, None, [test_nodes_workloads.AMOUNTS]),
    ("Annotations for plans, on a Pod", "Pod", None, None, [test_nodes_workloads.ANNOTATIONS]),
    ("Job", "Job", None, None, [test_nodes_workloads.JOBS]),
    ("Deployment and ReplicaSet", "Deployment", None, None, [test_nodes_workloads.DEPLOYMENTS]),
    ("StatefulSet", "StatefulSet", None, None, [test_nodes_workloads.STATEFUL_SETS]),
    ("PriorityClass", "PriorityClass", None, None, [test_nodes_workloads.PRIORITY_CLASSES]),
    ("Workload", "Workload", None, None, [test_nodes_workloads.WORKLOADS]),
    ("PodGroup", "PodGroup", None, None, [test_nodes_workloads.POD_GROUPS]),
    ("Node selectors, on a Pod", "Pod", None, None, [test_nodes.SELECTORS]),
    ("Namespace", "Namespace", None, None, [test_nodes.NAMESPACES]),
    ("Metadata, on a ResourceClaim", "ResourceClaim", None, None, [test_nodes.META]),
]
INTRODUCTION = """# Validation

Every row is a test. It breaks one rule of an object that is otherwise valid. The first column names the rule, with its
number where it has one. The message is the one of the API server, or close to it. The guide
[validate](../guides/validate.md) explains the command.

- **error**: the API server refuses the object. `--skip-validation` lifts the check.
- **structure**: an error that is never lifted, because nothing can be computed from such an object.
- **warning**: the object is accepted, but it probably does not do what its author meant.

A field whose feature gate is off gives a warning, because a server would drop it on write. These checks span objects:

- two different objects of one kind and name (structure; the same object twice is one object);
- an attribute or capacity that a claim asks for and that no device of its class publishes (warning);
- `adminAccess` in a namespace without the label `resource.kubernetes.io/admin-access: "true"` (error, or a warning if
  the namespace is not in the input; CLM-5);
- a claim that names a DeviceClass that is not in the input (warning);
- a pod or pod template that names a claim, template or PriorityClass that is not in the input (warning);
- an allocated device that no ResourceSlice publishes (warning);
- a ConstraintGroup that names a claim or pod that is not in the input (structure);
- a DeviceTopology that names a DeviceClass that is not in the input (warning);
- two devices on one coordinate of a DeviceTopology, or a coordinate beyond its size (structure; TOPO-3);
- kinds and fields that later versions dropped from v1alpha3 (warning).

Fields that a kind does not have, and kinds that are probably misspelt, are warnings, and errors with `--strict`
([unknown fields](../guides/validate.md#unknown-fields)). CEL expressions are checked when they are compiled.

`UPDATE_DOCS=1 pytest tests/models/validation/test_page.py` writes this page.
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
