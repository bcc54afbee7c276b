"""The feature gates that change what the allocator does (dra-semantics section 17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple


class GateStage(Enum):
    """How far a gate has come in a release."""

    ABSENT = "absent"
    ALPHA = "alpha"
    BETA = "beta"
    GA = "GA"


class GateRelease(NamedTuple):
    """What one release makes of a gate: its stage, and whether it is on by default."""

    stage: GateStage
    default: bool


_ABSENT = GateRelease(GateStage.ABSENT, False)
_ALPHA = GateRelease(GateStage.ALPHA, False)
_BETA = GateRelease(GateStage.BETA, True)
_BETA_OFF = GateRelease(GateStage.BETA, False)
_GA = GateRelease(GateStage.GA, True)
VERSIONS = ("1.36", "1.37")
# Gate name to its state in each of VERSIONS.
GATES: dict[str, tuple[GateRelease, ...]] = {
    "DynamicResourceAllocation": (_GA, _GA),
    "DRAAdminAccess": (_GA, _GA),
    # Proposed by KEP-5254, in no release.
    "DRACELDeviceConstraint": (_ABSENT, _ABSENT),
    "DRAConsumableCapacity": (_BETA, _BETA),
    "DRADerivedAttributes": (_ABSENT, _ALPHA),
    "DRADeviceBindingConditions": (_BETA, _BETA),
    "DRADeviceCompatibilityGroups": (_ABSENT, _ALPHA),
    "DRADeviceTaintRules": (_BETA_OFF, _GA),
    "DRADeviceTaints": (_BETA, _GA),
    "DRAExtendedResource": (_BETA, _GA),
    "DRAFractionalCapacityRange": (_ABSENT, _BETA),
    "DRAListTypeAttributes": (_ALPHA, _ALPHA),
    "DRANodeAllocatableResources": (_ALPHA, _ALPHA),
    "DRAOptionalNodeOperations": (_ABSENT, _ALPHA),
    "DRAPartitionableDevices": (_BETA, _BETA),
    "DRAPartitionableDevicesType": (_ABSENT, _ALPHA),
    "DRAPrioritizedList": (_GA, _GA),
    "DRAResourceClaimDeviceStatus": (_BETA, _GA),
    "DRASchedulerFilterTimeout": (_BETA, _BETA),
    "DRAWorkloadResourceClaims": (_ALPHA, _BETA_OFF),
    "CompositePodGroup": (_ABSENT, _ALPHA),
    # In Kubernetes 1.37 gangs are a part of GenericWorkload.
    "GangScheduling": (_ALPHA, _ABSENT),
    "GenericWorkload": (_ALPHA, _BETA_OFF),
    "TopologyAwareWorkloadScheduling": (_ALPHA, _ALPHA),
    # Proposed for Karpenter, in no release.
    "NodeOverlayDynamicResources": (_ABSENT, _ABSENT),
}
_GROUPS = {"AllAlpha": GateStage.ALPHA, "AllBeta": GateStage.BETA}
_BOOLEANS = {word: value for value, words in ((True, "1 t true"), (False, "0 f false")) for word in words.split()}


class _Gate(property):
    """Whether all of these gates are on."""

    def __init__(self, doc: str, *names: str) -> None:
        needed = frozenset(names)
        super().__init__(lambda gates: needed <= gates.enabled, doc=doc)

    if TYPE_CHECKING:  # typed, as a property made by hand is not

        def __get__(self, gates: Any, owner: type | None = None) -> bool: ...  # type: ignore[override]


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """Which gates are on; immutable and hashable.

    ``version`` says whose stages ``AllAlpha`` and ``AllBeta`` mean. Gates that a release locks may
    still be switched here: older schedulers had them off, and what-if questions ask for it.
    """

    enabled: frozenset[str]
    version: str = VERSIONS[-1]

    @classmethod
    @cache
    def all_on(cls) -> FeatureGates:
        """Every gate on, alpha ones too: the default of all questions."""
        return cls(frozenset(GATES))

    @classmethod
    def for_version(cls, version: str) -> FeatureGates:
        """The defaults of a Kubernetes release, ``"1.36"`` or ``"1.37"`` (a leading v and a patch number may be given).

        Raises ``ValueError`` for any other release.
        """
        minor = ".".join(version.strip().removeprefix("v").split(".")[:2])
        if minor not in VERSIONS:
            raise ValueError(f"unknown Kubernetes version {version[:60]!r}, known are: {', '.join(VERSIONS)}")
        column = VERSIONS.index(minor)
        return cls(frozenset(name for name, releases in GATES.items() if releases[column].default), minor)

    @classmethod
    def parse(cls, text: str, base: FeatureGates | None = None) -> FeatureGates:
        """Switch gates as in ``--feature-gates A=true,B=false``, starting from ``base`` (default: all on).

        ``AllAlpha`` and ``AllBeta`` switch the gates of that stage which are not named themselves, wherever
        they stand in the list. Raises ``ValueError``, one line, for unknown names and bad values.
        """
        pairs = [part.strip() for part in text.split(",")]
        return (base or cls.all_on()).with_(dict(_parse_pair(pair) for pair in pairs if pair))

    def with_(self, switches: Mapping[str, bool]) -> FeatureGates:
        """Switch the named gates; group names as in ``parse``.

        Raises ``ValueError`` for unknown names and values that are no booleans.
        """
        unknown = [name for name in switches if name not in GATES and name not in _GROUPS]
        if unknown:
            known = ", ".join([*_GROUPS, *GATES])
            raise ValueError(f"unknown feature gate {unknown[0]!r}, known are: {known}")
        vague = [name for name, value in switches.items() if not isinstance(value, bool)]
        if vague:
            raise ValueError(f"bad value {switches[vague[0]]!r} of feature gate {vague[0]!r}, expected True or False")
        state = {name: name in self.enabled for name in GATES}
        for group, stage in _GROUPS.items():
            if group in switches:
                column = VERSIONS.index(self.version)
                members = (name for name, releases in GATES.items() if releases[column].stage is stage)
                state.update(dict.fromkeys(members, switches[group]))
        state.update((name, value) for name, value in switches.items() if name in GATES)
        return FeatureGates(frozenset(name for name, on in state.items() if on), self.version)

    def to_dict(self) -> dict[str, bool]:
        """Every known gate by name, as results list them."""
        return {name: name in self.enabled for name in sorted(GATES)}

    def __contains__(self, gate: str) -> bool:
        return gate in self.enabled

    admin_access = _Gate("Requests may ask for admin access (PRE-5).", "DRAAdminAccess")
    prioritized_list = _Gate("Requests may list alternatives (PRE-1).", "DRAPrioritizedList")
    partitionable_devices = _Gate(
        "Counter sets and per-device node selection count (POOL-2, DEV-7).", "DRAPartitionableDevices"
    )
    device_taints = _Gate("Taints keep claims away (TNT-4).", "DRADeviceTaints")
    device_taint_rules = _Gate(
        "DeviceTaintRules are merged into the slices (TNT-5); nothing without ``device_taints``.",
        "DRADeviceTaints",
        "DRADeviceTaintRules",
    )
    binding_conditions = _Gate(
        "Devices with binding conditions may be used (DEV-2); takes two gates (FEAT-1).",
        "DRADeviceBindingConditions",
        "DRAResourceClaimDeviceStatus",
    )
    consumable_capacity = _Gate(
        "Devices may be shared and capacity be requested (section 10).", "DRAConsumableCapacity"
    )
    fractional_capacity_range = _Gate(
        "Ranges of request policies work in thousandths (CAP-4).", "DRAFractionalCapacityRange"
    )
    list_attributes = _Gate("Constraints see attribute values as sets (CON-7).", "DRAListTypeAttributes")
    optional_node_operations = _Gate(
        "Devices that skip node operations may be used (DEV-9).", "DRAOptionalNodeOperations"
    )
    derived_attributes = _Gate("Requests may derive attributes (CON-12).", "DRADerivedAttributes")
    cel_device_constraint = _Gate(
        "Constraints may be expressions over all devices of a claim (CELC-1).", "DRACELDeviceConstraint"
    )
    pod_groups = _Gate("Pods may belong to PodGroups and groups of Workloads (groups 0).", "GenericWorkload")
    pod_group_topology = _Gate(
        "PodGroups may ask for one domain of a node label (WLG-12).",
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
    )
    pod_group_claims = _Gate("PodGroups may have claims (PGC-9).", "GenericWorkload", "DRAWorkloadResourceClaims")
    composite_pod_groups = _Gate("PodGroups may have a parent (WLG-16).", "GenericWorkload", "CompositePodGroup")
    node_allocatable_resources = _Gate("Devices take resources of their node (NAR-1).", "DRANodeAllocatableResources")
    compatibility_groups = _Gate("Devices may declare compatibility groups (GRP-5).", "DRADeviceCompatibilityGroups")

    node_overlay_devices = _Gate("NodeOverlays may have devices (karpenter-dra 2).", "NodeOverlayDynamicResources")

    @property
    def gangs(self) -> bool:
        """PodGroups and Workloads may have a ``minCount``; from Kubernetes 1.37 on wherever there are groups."""
        return self.pod_groups and (self.version != VERSIONS[0] or "GangScheduling" in self.enabled)

    @property
    def variant(self) -> str:
        """The allocator a scheduler with these gates runs: ``stable``, ``incubating`` or ``experimental`` (FEAT-3)."""
        lists, operations = self.list_attributes, self.optional_node_operations
        if lists or operations or self.derived_attributes or self.compatibility_groups:
            return "experimental"
        incubating = self.binding_conditions or self.consumable_capacity or self.fractional_capacity_range
        return "incubating" if incubating else "stable"


def gates_of(given: FeatureGates | Mapping[str, bool] | None) -> FeatureGates:
    """Complete what a caller says about gates: what is not named is on. Raises ``ValueError`` as ``with_``."""
    if isinstance(given, FeatureGates):
        return given
    return FeatureGates.all_on().with_(given) if given else FeatureGates.all_on()


def _parse_pair(pair: str) -> tuple[str, bool]:
    name, separator, value = (part.strip() for part in pair.partition("="))
    if not separator:
        raise ValueError(f"missing value of feature gate {name!r}, expected {name}=true or {name}=false")
    if value.lower() not in _BOOLEANS:
        raise ValueError(f"bad value {value!r} of feature gate {name!r}, expected true or false")
    return name, _BOOLEANS[value.lower()]
