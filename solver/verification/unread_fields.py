"""Fields of result documents that no line of ``check`` is about, by kind: what they say may be anything.

Most tell in words what other fields say in numbers, or how an answer was found. A field that is not here is checked, or
a line about it is ``unchecked``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

# How the answer was found, in documents of all kinds. Gates, and what errors of CEL do, are taken as they are said.
_FOUND = ("celErrors", "engine", "featureGates", "notices", "seed", "statistics", "timings", "verified")
_REASONS = ("units[].reasons",)
_REQUESTS = ("units[].failures[].requests",)
UNREAD_FIELDS: Mapping[str, Sequence[str]] = {
    "AllocationResult": (
        *_REASONS,
        *_REQUESTS,
        "units[].failures[].message",
        "units[].failures[].proof",
        "units[].softEntries[].id",
        "units[].softEntries[].name",
        "units[].softEntries[].weight",
    ),
    "CapacityResult": (
        "limit",
        "nodes[].each.firstFit",
        "nodes[].proof",
        "nodes[].reasons",
        "nodes[].requests",
        "nodes[].witness.devices",
        "total.firstFit",
        "total.proven",
        "total.unbounded",
    ),
    "ComparisonResult": (
        "decided",
        "engines[].left",
        "engines[].steps",
        "engines[].verified",
        "engines[].version",
        "identical",
        "sameVerdict",
        "units[].claim",
        "units[].claims",
        "units[].request",
    ),
    "ExplanationResult": (
        *_REQUESTS,
        "units[].complete",
        "units[].failures[].minimal",
        "units[].failures[].reasons",
        "units[].failures[].witness.devices",
        "units[].relaxations[].changes",
        "units[].relaxations[].cost",
    ),
    "InventoryResult": (
        "claims[].devices[].adminAccess",
        "claims[].devices[].consumed",
        "claims[].devices[].exists",
        "claims[].devices[].request",
        "claims[].devices[].shareID",
        "claims[].generated",
        "claims[].pods",
        "claims[].reservedFor",
        "classes[].amounts",
        "classes[].undecided",
        "complete",
        "devices[].capacity",
        "devices[].nodes",
        "devices[].reason",
        "devices[].shared",
        "devices[].taints",
        "nodes[].resources",
        "nodes[].unschedulable",
        "pools[].counters",
        "pools[].generation",
        "pools[].nodeNames",
        "pools[].nodes",
        "pools[].reason",
        "pools[].state",
    ),
    "OverlayResult": ("overlays[].message",),
    "PlanComparison": (
        "asked",
        "decided",
        "gangs",
        "gap",
        "planners[].decided",
        "planners[].devices",
        "planners[].fragmentation",
        "planners[].label",
        "planners[].objective[].stage",
        "planners[].planner",
        "planners[].verified",
        "planners[].version",
        "planners[].whole",
    ),
    "PlanResult": (
        *_REASONS,
        "gap",
        "duals[].rows[].names",
        "objective[].solverBound",
        "schedulerWould[].afterEvictions",
        "schedulerWould[].reason",
        "steps[].note",
        "victims[].reason",
    ),
    "ProvisionResult": (
        "answers[].conditions[].message",
        "answers[].conditions[].reason",
        "answers[].name",
        "answers[].namespace",
        "answers[].provisioningClassName",
        "answers[].reasons",
        "complete",
        "rounds[].objective",
        "rounds[].proven",
        "time",
        "timeline",
        "workloads",
    ),
    "QuotaResult": (
        "cycles[].waiting",
        "cyclesRun",
        "placement.units[].reasons",
        "placement.verified",
        "repeating",
        "settled",
        "workloads[].evictions[].message",
        "workloads[].message",
        "workloads[].place",
        "workloads[].reason",
    ),
    "TopologyResult": (
        "topologies[].coordinates",
        "topologies[].instances[].axes",
        "topologies[].instances[].largest",
        "topologies[].instances[].left",
        "topologies[].instances[].links",
    ),
    "TuneResult": ("after", "asked", "before", "bound", "choices", "decided", "orders[].objects", "trials"),
}


def unread_fields(kind: str, document: Any) -> tuple[str, ...]:
    """The fields that this document has, and no line is about."""
    return tuple(path for path in (*_FOUND, *UNREAD_FIELDS.get(kind, ())) if _has(document, path.split(".")))


def _has(found: Any, path: Sequence[str]) -> bool:
    """Whether there is something under a path, for some member of each list on the way."""
    if not path:
        return found not in (UNSET, None, (), "") and found != {}
    name, is_list = path[0].removesuffix("[]"), path[0].endswith("[]")
    value = getattr(found, re.sub("[A-Z]+", lambda one: f"_{one[0].lower()}", name), UNSET)
    return any(_has(one, path[1:]) for one in _members(value, is_list))


def _members(value: Any, is_list: bool) -> Iterator[Any]:
    if not is_list:
        yield value
    elif value is not UNSET:
        yield from value or ()
