"""Requests to the peers, as JSON: structs around the models (protocol 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from ..models.formats.decode import Model, QuantityText
from ..models.kubernetes.claims import DeviceClass, DeviceTaintRule, ResourceClaim
from ..models.kubernetes.core import Node, NodeSelectorRequirement
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.karpenter import FlexibleRequirement
from ..models.kubernetes.slices import CounterSet, Device, ResourceSlice

PROTOCOL = 1
# Which implementation of the allocator answers; empty: the first one that supports the features (FEAT-3).
Variant: TypeAlias = Literal["", "stable", "incubating", "experimental"]


class Features(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """The allocator's switches under upstream's names, and the gate of the taint rules (FEAT-1)."""

    admin_access: bool = False
    compatibility_groups: bool = False
    consumable_capacity: bool = False
    derived_attributes: bool = False
    device_binding_and_status: bool = False
    device_taints: bool = False
    fractional_capacity_range: bool = False
    list_type_attributes: bool = False
    optional_node_operations: bool = False
    partitionable_devices: bool = False
    prioritized_list: bool = False
    device_taint_rules: bool = False


# Ours to upstream's, where the names differ.
_RENAMED = {"device_binding_and_status": "binding_conditions", "list_type_attributes": "list_attributes"}


def features_of_gates(gates: FeatureGates) -> Features:
    """Translate gates to the allocator's switches."""
    return Features(**{name: getattr(gates, _RENAMED.get(name, name)) for name in Features.__struct_fields__})


class Supply(Model, frozen=True, kw_only=True):
    """What is offered and in use, and under which rules: the part common to all requests.

    ``allocated`` are the claims in use; ``claims`` have the API server's defaults filled in (CLM-1).
    """

    classes: Sequence[DeviceClass] = ()
    slices: Sequence[ResourceSlice] = ()
    taint_rules: Sequence[DeviceTaintRule] = ()
    allocated: Sequence[ResourceClaim] = ()
    features: Features = Features()
    variant: Variant = ""


class AllocateRequest(Supply, frozen=True, kw_only=True, tag_field="kind", tag="allocate"):
    """The claims of one pod, in order, on one node. ``time_limit_seconds`` 0 is none."""

    id: int = 0
    node: Node
    claims: Sequence[ResourceClaim] = ()
    time_limit_seconds: float = 0.0


class PodRequest(Model, frozen=True, kw_only=True):
    """A pod to schedule: names of claims in its namespace, and the nodes it may be on (None: all)."""

    namespace: str
    name: str
    claims: Sequence[str] = ()
    nodes: Sequence[str] | None = None


class ScheduleRequest(Supply, frozen=True, kw_only=True, tag_field="kind", tag="schedule"):
    """Pods one by one, each on the first node that fits, in the order given; ``claims`` is what pods name.

    ``time_limit_seconds`` bounds the whole, ``call_limit_seconds`` each call of the allocator; 0 is none.
    """

    id: int = 0
    nodes: Sequence[Node] = ()
    pods: Sequence[PodRequest] = ()
    claims: Sequence[ResourceClaim] = ()
    time_limit_seconds: float = 0.0
    call_limit_seconds: float = 0.0


class PeerOffering(Model, frozen=True, kw_only=True):
    """A way to buy an instance type; ``reservation_id`` is empty where it is no reservation."""

    requirements: Sequence[NodeSelectorRequirement] = ()
    price: float
    available: bool
    reservation_id: str = ""
    reservation_capacity: int = 0
    capacity: Mapping[str, QuantityText] = {}
    overhead: Mapping[str, QuantityText] = {}


class PeerDeviceName(Model, frozen=True, kw_only=True):
    """A device by driver, pool and name."""

    driver: str
    pool: str
    device: str


class PeerBinding(Model, frozen=True, kw_only=True):
    """Devices with one common, unknown value of an attribute."""

    devices: Sequence[PeerDeviceName]
    attribute: str


class PeerSliceTemplate(Model, frozen=True, kw_only=True):
    """The devices or counter sets of a slice that a node will publish."""

    driver: str
    pool: str
    devices: Sequence[Device] = ()
    shared_counters: Sequence[CounterSet] = ()


class PeerInstanceType(Model, frozen=True, kw_only=True):
    """What Karpenter's provider would say of a machine."""

    name: str
    requirements: Sequence[NodeSelectorRequirement] = ()
    capacity: Mapping[str, QuantityText] = {}
    overhead: Mapping[str, QuantityText] = {}
    offerings: Sequence[PeerOffering] = ()
    slices: Sequence[PeerSliceTemplate] = ()
    bindings: Sequence[PeerBinding] = ()


class ProvisionRequest(Model, frozen=True, kw_only=True, tag_field="kind", tag="provision"):
    """The objects of a cluster, as JSON of Kubernetes, and what can be bought; pods without a node are pending.

    ``ignore_claims``: pods with claims are refused, which is Karpenter's default.
    """

    id: int = 0
    nodes: Sequence[Mapping[str, Any]] = ()
    node_claims: Sequence[Mapping[str, Any]] = ()
    pods: Sequence[Mapping[str, Any]] = ()
    daemon_sets: Sequence[Mapping[str, Any]] = ()
    node_pools: Sequence[Mapping[str, Any]] = ()
    node_overlays: Sequence[Mapping[str, Any]] = ()
    classes: Sequence[DeviceClass] = ()
    slices: Sequence[ResourceSlice] = ()
    claims: Sequence[ResourceClaim] = ()
    instance_types: Sequence[PeerInstanceType] = ()
    ignore_claims: bool = False
    best_effort_values: bool = False
    time_limit_seconds: float = 0.0


class RequirementPair(Model, frozen=True, kw_only=True):
    """What is known of a node's labels, and what is asked for."""

    known: Sequence[FlexibleRequirement] = ()
    asked: Sequence[FlexibleRequirement] = ()


class CompatibleRequest(Model, frozen=True, kw_only=True, tag_field="kind", tag="compatible"):
    """Pairs of requirements to judge."""

    id: int = 0
    pairs: Sequence[RequirementPair] = ()
    time_limit_seconds: float = 0.0


Request: TypeAlias = AllocateRequest | ScheduleRequest | ProvisionRequest | CompatibleRequest


def encode_request(request: Request, number: int) -> bytes:
    """Write the request as a line of JSON (without line end), numbered."""
    return msgspec.json.encode(msgspec.structs.replace(request, id=number))
