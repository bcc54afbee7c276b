"""Kinds of Karpenter (``karpenter.sh``), its test provider's devices, and our own kind of instance type.

- NodePool: which nodes may be bought, and in which order pools are tried (karpenter-dra 4.1).
- NodeClaim: a node that is asked for.
- NodeOverlay: prices, extended resources and devices that a user sets for instance types (karpenter-dra 1 and 2).
- DRAConfig: the devices that Karpenter's test provider publishes on nodes.
- InstanceType: a machine that can be bought, with its offerings and the devices that its drivers would publish
  (karpenter-dra 3.1). Karpenter knows instance types from its provider only, so the kind is our own.
"""

from __future__ import annotations

from ..formats.decode import Int64, Model, QuantityText
from .core import NodeSelectorRequirement, NodeSelectorTerm, ResourceRequests, Taint
from .meta import KindReference, KubernetesObject, ObjectMeta
from .node_templates import PooledSlice
from .slices import Device

NODE_POOL_LABEL = "karpenter.sh/nodepool"
CAPACITY_TYPE_LABEL = "karpenter.sh/capacity-type"
# The capacity type of what is paid for already.
RESERVED = "reserved"
ZONE_LABEL = "topology.kubernetes.io/zone"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
ARCH_LABEL = "kubernetes.io/arch"
OS_LABEL = "kubernetes.io/os"
# What the provider says of a type; overlays may not set them.
RESTRICTED_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


class FlexibleRequirement(NodeSelectorRequirement):
    """A requirement of a NodePool; ``min_values`` is how many values the instance types must show (R18)."""

    min_values: Int64 | None = None


class NodeClaimTemplateSpec(Model):
    """``spec`` of the nodes of a pool."""

    requirements: tuple[FlexibleRequirement, ...] | None = None
    taints: tuple[Taint, ...] | None = None
    startup_taints: tuple[Taint, ...] | None = None
    # The provider's settings of nodes, which drasat does not read.
    node_class_ref: KindReference | None = None
    expire_after: str | None = None
    termination_grace_period: str | None = None


class NodeClaimTemplate(Model):
    """What nodes of a pool look like."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeClaimTemplateSpec = NodeClaimTemplateSpec()


class DisruptionBudget(Model):
    """How many nodes of a pool may be disrupted at once."""

    nodes: str = "10%"
    reasons: tuple[str, ...] | None = None
    schedule: str | None = None
    duration: str | None = None


class Disruption(Model):
    """When nodes of a pool may be replaced or removed."""

    consolidate_after: str | None = None
    consolidation_policy: str | None = None
    budgets: tuple[DisruptionBudget, ...] | None = None


class NodePoolSpec(Model):
    """``spec`` of a NodePool. Pools of greater ``weight`` are tried first; absent is 0."""

    template: NodeClaimTemplate = NodeClaimTemplate()
    disruption: Disruption | None = None
    limits: dict[str, QuantityText] | None = None
    weight: Int64 | None = None
    replicas: Int64 | None = None


class NodePool(KubernetesObject):
    """A kind of node that Karpenter may create."""

    spec: NodePoolSpec = NodePoolSpec()


class NodeClaimSpec(NodeClaimTemplateSpec):
    """``spec`` of a NodeClaim."""

    # What the pods of the node ask for.
    resources: ResourceRequests | None = None


class NodeClaimStatus(Model, rename={"node_name": "nodeName", "provider_id": "providerID"}):
    """``status`` of a NodeClaim."""

    node_name: str = ""
    provider_id: str = ""
    capacity: dict[str, QuantityText] | None = None
    allocatable: dict[str, QuantityText] | None = None


class NodeClaim(KubernetesObject):
    """A node that Karpenter asked its provider for."""

    spec: NodeClaimSpec = NodeClaimSpec()
    status: NodeClaimStatus | None = None


class ResourceSliceTemplate(PooledSlice):
    """A slice that a node will publish; ``metadata.name`` is what attribute bindings refer to (karpenter-dra 2.1)."""

    metadata: ObjectMeta = ObjectMeta()
    all_nodes: bool | None = None
    node_selector: TemplateNodeSelector | None = None


class TemplateNodeSelectorTerm(NodeSelectorTerm):
    """The nodes that reach a device: those with the host's values of ``match_label_keys`` (R15)."""

    match_label_keys: tuple[str, ...] | None = None


class TemplateNodeSelector(Model):
    """Exactly one term (karpenter-dra 2.1)."""

    node_selector_terms: tuple[TemplateNodeSelectorTerm, ...] | None = None


class BoundDevice(Model):
    """A device of a template: by the template's name, or by driver and pool, and its own name."""

    template: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""


class AttributeBinding(Model):
    """Devices that have one common, unknown value of each of the attributes (karpenter-dra 2.3, 3.6)."""

    device_selectors: tuple[BoundDevice, ...] | None = None
    devices: tuple[BoundDevice, ...] | None = None
    attributes: tuple[str, ...] | None = None
    attribute: str = ""


class DynamicResources(Model):
    """The devices of nodes to be."""

    resource_slice_templates: tuple[ResourceSliceTemplate, ...] | None = None
    attribute_bindings: tuple[AttributeBinding, ...] | None = None


class NodeOverlaySpec(Model):
    """``spec`` of a NodeOverlay. ``price`` and ``price_adjustment`` exclude each other."""

    requirements: tuple[NodeSelectorRequirement, ...] | None = None
    price: str | None = None
    price_adjustment: str | None = None
    capacity: dict[str, QuantityText] | None = None
    weight: Int64 | None = None
    dynamic_resources: DynamicResources | None = None


class NodeOverlay(KubernetesObject):
    """What a user says about instance types that the provider does not."""

    spec: NodeOverlaySpec = NodeOverlaySpec()


class DRAConfigSlice(Model):
    """The devices of one ResourceSlice."""

    devices: tuple[Device, ...] | None = None


class DRAConfigPool(Model):
    """Slices for the nodes that one of the terms selects."""

    name: str = ""
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None
    resource_slices: tuple[DRAConfigSlice, ...] | None = None


class DRAConfigSpec(Model):
    """``spec`` of a DRAConfig."""

    driver: str = ""
    pools: tuple[DRAConfigPool, ...] | None = None


class DRAConfig(KubernetesObject):
    """The devices that a driver of Karpenter's test provider publishes."""

    spec: DRAConfigSpec = DRAConfigSpec()


class Overhead(Model):
    """What a node keeps for itself."""

    kube_reserved: dict[str, QuantityText] | None = None
    system_reserved: dict[str, QuantityText] | None = None
    eviction_threshold: dict[str, QuantityText] | None = None


class Offering(Model):
    """One way to buy an instance type: usually a zone and a capacity type.

    ``price`` is for one node, in any unit. ``reservation_capacity`` is how many nodes a reservation has left. Capacity
    and overhead, where given, replace those of the instance type.
    """

    requirements: tuple[NodeSelectorRequirement, ...] | None = None
    price: QuantityText | None = None
    available: bool = True
    reservation_capacity: Int64 | None = None
    capacity: dict[str, QuantityText] | None = None
    overhead: Overhead | None = None


class InstanceTypeSpec(Model):
    """``spec`` of an InstanceType; its name is the value of the label ``node.kubernetes.io/instance-type``."""

    requirements: tuple[NodeSelectorRequirement, ...] | None = None
    capacity: dict[str, QuantityText] | None = None
    overhead: Overhead | None = None
    offerings: tuple[Offering, ...] | None = None
    slices: tuple[ResourceSliceTemplate, ...] | None = None
    attribute_bindings: tuple[AttributeBinding, ...] | None = None


class InstanceType(KubernetesObject):
    """A machine that can be bought."""

    spec: InstanceTypeSpec = InstanceTypeSpec()
