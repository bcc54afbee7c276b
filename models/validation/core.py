"""Light checks of Node, Pod and Namespace: what allocation reads of them."""

from ..base import QuantityText
from ..core import Namespace, Node, Pod, PodResourceClaim, Taint
from . import names
from .amounts import check_quantity
from .checked_names import check_label, check_subdomain
from .findings import STRUCTURE, Findings, Key, Path
from .metadata import check_label_map, check_metadata
from .node_selectors import check_node_selector

_NODE_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")


def check_namespace(found: Findings, namespace: Namespace) -> None:
    """Check a Namespace: its name is a label."""
    check_metadata(found, namespace.metadata, namespaced=False, name_rule=names.label)


def check_node(found: Findings, node: Node) -> None:
    """Check a Node: taints and amounts."""
    check_metadata(found, node.metadata, namespaced=False)
    for index, taint in enumerate((node.spec and node.spec.taints) or ()):
        _check_taint(found, ("spec", "taints", index), taint)
    if node.status is not None:
        _check_amounts(found, ("status", "allocatable"), node.status.allocatable)
        _check_amounts(found, ("status", "capacity"), node.status.capacity)


def _check_taint(found: Findings, path: Path, taint: Taint) -> None:
    found.each_invalid((*path, "key"), taint.key, names.label_key(taint.key))
    found.each_invalid((*path, "value"), taint.value, names.label_value(taint.value))
    if taint.effect not in _NODE_EFFECTS:
        found.unsupported((*path, "effect"), taint.effect, _NODE_EFFECTS)


def _check_amounts(found: Findings, path: Path, amounts: dict[str, QuantityText] | None) -> None:
    for name, text in (amounts or {}).items():
        check_quantity(found, (*path, Key(name)), text)


def check_pod(found: Findings, pod: Pod) -> None:
    """Check a Pod: the nodes it may run on and the claims it names."""
    check_metadata(found, pod.metadata, namespaced=True)
    path: Path = ("spec",)
    spec = pod.spec
    if spec.node_selector:
        check_label_map(found, (*path, "nodeSelector"), spec.node_selector)
    if spec.affinity and spec.affinity.node_affinity and (required := spec.affinity.node_affinity.required):
        where = (*path, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        check_node_selector(found, where, required)
    claims = spec.resource_claims or ()
    # Generated claims are told apart by the entry's name.
    found.unique((*path, "resourceClaims"), (claim.name for claim in claims), ("name",), STRUCTURE)
    for index, claim in enumerate(claims):
        _check_pod_claim(found, (*path, "resourceClaims", index), claim)


def _check_pod_claim(found: Findings, path: Path, claim: PodResourceClaim) -> None:
    check_label(found, (*path, "name"), claim.name)
    named = {
        "resourceClaimName": claim.resource_claim_name,
        "resourceClaimTemplateName": claim.resource_claim_template_name,
    }
    given = {field: name for field, name in named.items() if name is not None}
    if len(given) != 1:
        detail = "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"
        found.invalid(path, claim.name, detail, STRUCTURE)
    for field, name in given.items():
        check_subdomain(found, (*path, field), name)
