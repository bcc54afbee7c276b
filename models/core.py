"""The core/v1 objects beside the claims: Node, Pod, Namespace, and node selectors."""

from .base import Int64, Model, QuantityText
from .meta import ObjectMeta


class NodeSelectorRequirement(Model):
    """One test of a node label (or, in ``match_fields``, of ``metadata.name``)."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(Model):
    """Requirements that must hold together (NODE-2)."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(Model):
    """Terms of which one must hold (NODE-2)."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeAffinity(Model, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    """A pod's wishes about nodes; only the required part restricts."""

    required: NodeSelector | None = None


class Affinity(Model):
    """A pod's affinities."""

    node_affinity: NodeAffinity | None = None


class Taint(Model):
    """A node taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(Model):
    """A pod's toleration of node taints."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class NodeSpec(Model):
    """``spec`` of a Node."""

    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class NodeStatus(Model):
    """``status`` of a Node; ``declared_features`` serves DEV-9."""

    allocatable: dict[str, QuantityText] | None = None
    capacity: dict[str, QuantityText] | None = None
    declared_features: tuple[str, ...] | None = None


class Node(Model):
    """A node of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class PodResourceClaim(Model):
    """An entry of ``spec.resourceClaims``: a claim, or a template to make one from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Model):
    """Which claim was made for an entry of ``spec.resourceClaims``; None: none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class PodSpec(Model):
    """``spec`` of a Pod, as far as node fit and claims go."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class PodStatus(Model):
    """``status`` of a Pod."""

    phase: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None


class Pod(Model):
    """A pod: the unit that takes all its claims on one node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus | None = None


class Namespace(Model):
    """A namespace; its labels allow admin access (CLM-5)."""

    metadata: ObjectMeta = ObjectMeta()
