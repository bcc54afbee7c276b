"""DeviceClass, ResourceClaim, ResourceClaimTemplate, device taints and DeviceTaintRule (dra-semantics 2.2 to 2.4, 9).

The modes of match and distinct entries are a table: which attribute and which options each mode goes with (SEM-1).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ..formats.decode import Int64, Model, QuantityText
from .core import NodeSelector, Taint, Toleration
from .meta import KubernetesObject, ObjectMeta


class CELDeviceSelector(Model):
    """A CEL expression over ``device``."""

    expression: str = ""


class DeviceSelector(Model):
    """A test a device must pass; only CEL exists (PRE-4)."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(Model):
    """Parameters that only the named driver understands."""

    driver: str = ""
    parameters: Any = None


class DeviceClassConfiguration(Model):
    """A config entry of a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Model):
    """``spec`` of a DeviceClass."""

    selectors: tuple[DeviceSelector, ...] | None = None
    config: tuple[DeviceClassConfiguration, ...] | None = None
    extended_resource_name: str | None = None


class DeviceClass(KubernetesObject):
    """A kind of device that requests name; without selectors it admits everything."""

    spec: DeviceClassSpec = DeviceClassSpec()


class CapacityRequirements(Model):
    """How much of a device's capacities a request needs (CAP-1)."""

    requests: dict[str, QuantityText] | None = None


class DeviceDerivedAttribute(Model):
    """An attribute computed by CEL on each candidate, for constraints only (CON-12)."""

    name: str = ""
    expression: str = ""


class ExactDeviceRequest(Model):
    """``exactly``: devices of one class. ``count`` is None under allocationMode All (CLM-1)."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 | None = None
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] | None = None


class DeviceSubRequest(Model):
    """One alternative of ``firstAvailable``; admin access does not exist here."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] | None = None


RequestSpec: TypeAlias = ExactDeviceRequest | DeviceSubRequest
"""What a request or an alternative of it asks for."""


class DeviceRequest(Model):
    """A request: exact, or a list of alternatives."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] | None = None


class CELDeviceConstraint(Model):
    """A CEL expression over ``devices``, all that the entry applies to (CELC-1, CELC-2)."""

    expression: str = ""


class SemanticsOptions(Model):
    """Options of one mode; each mode knows some of them (SEM-1)."""

    coerce_scalar_to_list: bool | None = None
    list_mode: str | None = None
    min_size: Int64 | None = None


class SemanticsOptionsByMode(Model):
    """Options under the name of their mode (SEM-1)."""

    identical: SemanticsOptions | None = None
    non_empty_intersection: SemanticsOptions | None = None
    all_distinct: SemanticsOptions | None = None
    empty_intersection: SemanticsOptions | None = None
    pairwise_disjoint: SemanticsOptions | None = None


class ConstraintSemantics(Model):
    """What "match" or "distinct" means for an entry (KEP-5491, alternatives; SEM-1)."""

    mode: str = ""
    options: SemanticsOptionsByMode | None = None


class DeviceConstraint(Model):
    """A condition on the devices of some requests together (section 13, CLM-2)."""

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None
    cel: CELDeviceConstraint | None = None
    match_semantics: ConstraintSemantics | None = None
    distinct_semantics: ConstraintSemantics | None = None
    semantics: ConstraintSemantics | None = None


class DeviceClaimConfiguration(Model):
    """A config entry of a claim."""

    requests: tuple[str, ...] | None = None
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Model):
    """``spec.devices`` of a claim."""

    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None
    config: tuple[DeviceClaimConfiguration, ...] | None = None


class ResourceClaimSpec(Model):
    """``spec`` of a ResourceClaim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Model):
    """One allocated device (RES-1, RES-2)."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    share_id: str | None = None
    consumed_capacity: dict[str, QuantityText] | None = None
    skip_node_operations: tuple[str, ...] | None = None


class DeviceAllocationConfiguration(Model):
    """A config entry of an allocation, ``FromClass`` or ``FromClaim`` (RES-3 to RES-5)."""

    source: str = ""
    requests: tuple[str, ...] | None = None
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Model):
    """The devices of an allocation and their configuration."""

    results: tuple[DeviceRequestAllocationResult, ...] | None = None
    config: tuple[DeviceAllocationConfiguration, ...] | None = None


class AllocationResult(Model):
    """``status.allocation`` (section 15); no node selector means usable everywhere (RES-7)."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Model):
    """Who has reserved a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


CONSUMERS_MAX = 256
"""How many entries ``reservedFor`` of a claim may have."""


class ResourceClaimStatus(Model):
    """``status`` of a ResourceClaim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] | None = None


class ResourceClaim(KubernetesObject):
    """What a pod asks for, and what it got."""

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus | None = None


class ResourceClaimTemplateSpec(Model):
    """``spec`` of a template: metadata to copy and the claim's spec."""

    metadata: ObjectMeta | None = None
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubernetesObject):
    """A claim to be made anew for each pod that names it."""

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceTaint(Taint):
    """A taint of a device; ``NoSchedule`` and ``NoExecute`` keep claims away (TNT-1)."""

    time_added: str | None = None


class DeviceToleration(Toleration):
    """A request's toleration of device taints (CLM-3, TNT-2)."""


class DeviceTaintSelector(Model):
    """Which devices a rule taints; what is absent matches everything (TNT-5)."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Model):
    """``spec`` of a DeviceTaintRule; an empty selector taints every device, none taints nothing (TNT-6)."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubernetesObject):
    """An administrator's taint on many devices."""

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class SemanticsMode(NamedTuple):
    """A mode: the attribute field it needs, its field among the options, and the options it has, by field names."""

    attribute: str
    options: str
    supported_options: tuple[str, ...]


_COERCE, _LIST_MODE, _MIN_SIZE = "coerce_scalar_to_list", "list_mode", "min_size"
SEMANTICS_MODES = {
    "Identical": SemanticsMode("match_attribute", "identical", (_COERCE, _LIST_MODE)),
    "NonEmptyIntersection": SemanticsMode("match_attribute", "non_empty_intersection", (_COERCE, _MIN_SIZE)),
    "AllDistinct": SemanticsMode("distinct_attribute", "all_distinct", (_COERCE, _LIST_MODE)),
    "EmptyIntersection": SemanticsMode("distinct_attribute", "empty_intersection", (_COERCE,)),
    "PairwiseDisjoint": SemanticsMode("distinct_attribute", "pairwise_disjoint", (_COERCE,)),
}
LIST_MODES = ("List", "Set")
# Each spelling of the semantics, and the attribute field beside which it may stand; the last goes with both.
SEMANTICS_FIELDS = {
    "match_semantics": ("match_attribute",),
    "distinct_semantics": ("distinct_attribute",),
    "semantics": ("match_attribute", "distinct_attribute"),
}


def semantics_of(entry: DeviceConstraint) -> ConstraintSemantics | None:
    """Return what an entry says about its semantics, in whichever spelling; None: nothing."""
    return entry.match_semantics or entry.distinct_semantics or entry.semantics


def mode_options(semantics: ConstraintSemantics) -> SemanticsOptions:
    """Return the options of the chosen mode, which must be a known one; what is not given is None."""
    given = getattr(semantics.options, SEMANTICS_MODES[semantics.mode].options, None)
    return given or SemanticsOptions()
