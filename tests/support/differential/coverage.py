"""Which features a case of the differential tests has, and which pairs of features cases have met.

Features are seen in the objects and gates of a case, not asked of the generator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from support.differential.sources import gates_of, named, objects_of

from drasat.models.kubernetes.gates import FeatureGates
from drasat.scenarios.objects import Mapped

# A number of cases that has to meet all pairs.
BLOCK = 10_000
# The property of a test that is printed at the end of a run of pytest.
TABLE = "table of pairs of features"
# Features that fields of slices, requests, claims, pods, nodes and classes show.
_FIELDS = {
    "ResourceSlice": {
        "consumesCounters": "counters",
        "compatibilityGroups": "compatibility groups",
        "allowMultipleAllocations": "shared devices",
        "requestPolicy": "request policies",
        "validRange": "ranges of capacity",
        "validValues": "values of capacity",
        "taints": "device taints",
        "bindingConditions": "binding conditions",
        "bindsToNode": "binding to a node",
        "skipNodeOperations": "skipped operations",
        "nodeSelector": "devices by node selector",
        "allNodes": "devices of all nodes",
        "perDeviceNodeSelection": "nodes by device",
        "strings": "lists",
        "ints": "lists",
    },
    "claims": {
        "selectors": "selectors",
        "matchAttribute": "matchAttribute",
        "distinctAttribute": "distinctAttribute",
        "firstAvailable": "alternatives",
        "tolerations": "tolerations",
        "adminAccess": "admin access",
        "derivedAttributes": "derived attributes",
        "capacity": "capacity requests",
        "config": "configuration",
        "allocation": "devices in use",
        "shareID": "shares in use",
    },
    "Pod": {"nodeSelector": "pods that choose nodes", "affinity": "pods that choose nodes"},
    "Node": {"taints": "node taints", "unschedulable": "cordoned nodes", "declaredFeatures": "declared features"},
    "DeviceClass": {"config": "class configuration"},
    "DeviceTaintRule": {"deviceSelector": "taint rules"},
}
_GROUP = {"ResourceClaim": "claims", "ResourceClaimTemplate": "claims"}
_GATES = (
    "DRAAdminAccess",
    "DRAPrioritizedList",
    "DRAPartitionableDevices",
    "DRADeviceTaints",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRAOptionalNodeOperations",
)
# Pairs that no case can have, with the reason.
_PODS = ("several pods", "pods that choose nodes", "templates")
IMPOSSIBLE = {frozenset(("loose claims", name)): "claims are loose where there are no pods" for name in _PODS}


def features_of(objects: Sequence[Mapped], gates: FeatureGates) -> frozenset[str]:
    """The features of a case."""
    found = {f"without {gate}" for gate in _GATES if gate not in gates.enabled}
    drivers, pools, claims, pods = set(), Counter(), 0, 0
    for one in objects:
        kind = one["kind"]
        names = _FIELDS.get(_GROUP.get(kind, kind), {})
        found |= {names[key] for key in _keys(one) if key in names}
        if kind == "ResourceSlice":
            spec = one["spec"]
            drivers.add(spec["driver"])
            pools[spec["driver"], spec["pool"]["name"]] += 1
        elif kind == "ResourceClaim":
            claims += "status" not in one
        elif kind == "Pod":
            pods += 1
        found |= {"templates"} if kind == "ResourceClaimTemplate" else set()
    counted = {
        "several drivers": len(drivers) > 1,
        "several slices": any(count > 1 for count in pools.values()),
        "several claims": claims > 1,
        "several pods": pods > 1,
        "loose claims": pods == 0,
        "all devices": any(body.get("allocationMode") == "All" for body in _bodies(objects)),
        "several devices": any(body.get("count", 1) > 1 for body in _bodies(objects)),
    }
    return frozenset(found | {name for name, there in counted.items() if there})


def _keys(value: object) -> Iterator[str]:
    """The fields of an object at any depth that hold something."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield from (key for key, inner in part.items() if inner not in (None, [], {}, False))
            stack += part.values()
        elif isinstance(part, list | tuple):
            stack += part


def _bodies(objects: Iterable[Mapped]) -> Iterator[Mapped]:
    for one in objects:
        if one["kind"] in _GROUP:
            spec = one["spec"].get("spec", one["spec"])
            for request in spec["devices"].get("requests", ()):
                yield from [request["exactly"]] if "exactly" in request else request.get("firstAvailable", ())


ALL_FEATURES = tuple(
    sorted(
        {name for names in _FIELDS.values() for name in names.values()}
        | {f"without {gate}" for gate in _GATES}
        | {"templates", "several drivers", "several slices", "several claims", "several pods", "loose claims"}
        | {"all devices", "several devices"}
    )
)


@dataclass
class PairCoverage:
    """How many cases had each feature, and each pair of them."""

    cases: int = 0
    features: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, features: Iterable[str]) -> None:
        """Count one case."""
        ordered = sorted(features)
        self.cases += 1
        self.features.update(ordered)
        self.pairs.update(combinations(ordered, 2))

    def never_met(self) -> list[tuple[str, str]]:
        """The pairs that could meet and never did."""
        every = combinations(ALL_FEATURES, 2)
        return [pair for pair in every if not self.pairs[pair] and frozenset(pair) not in IMPOSSIBLE]

    def table(self) -> list[str]:
        """Lines for people: each feature with its cases and the rarest of its pairs, and the pairs that never met."""
        possible = len(ALL_FEATURES) * (len(ALL_FEATURES) - 1) // 2 - len(IMPOSSIBLE)
        missing = self.never_met()
        lines = [f"{self.cases:,} cases met {possible - len(missing):,} of {possible:,} pairs of features"]
        lines.append(f"{'feature':34} {'cases':>7} {'pairs':>6}  rarest pair")
        for name in ALL_FEATURES:
            own = {other: self.pairs[min(name, other), max(name, other)] for other in ALL_FEATURES if other != name}
            own = {other: met for other, met in own.items() if frozenset((name, other)) not in IMPOSSIBLE}
            rarest = min(own, key=lambda other: (own[other], other))
            met = sum(count > 0 for count in own.values())
            lines.append(f"{name:34} {self.features[name]:>7,} {met:>6}  {rarest} ({own[rarest]:,})")
        return [*lines, *(f"never met: {one} and {other}" for one, other in missing)]


def coverage_of(numbers: Iterable[int]) -> PairCoverage:
    """The pairs that the cases of these numbers meet."""
    found = PairCoverage()
    for number in numbers:
        found.add(features_of(objects_of(*named(number)), gates_of(*named(number))))
    return found
