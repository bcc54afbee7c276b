"""Light checks of Node, Pod and Namespace: what allocation reads of them."""

from ..core import Namespace, Node, Pod, Taint
from . import names
from .findings import Findings, Path
from .metadata import check_metadata
from .plan_annotations import check_gang, check_plan_annotations
from .pod_specs import check_amounts, check_pod_spec

_NODE_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")


def check_namespace(found: Findings, namespace: Namespace) -> None:
    """Check a Namespace: its name is a label."""
    check_metadata(found, namespace.metadata, namespaced=False, name_rule=names.label)


def check_node(found: Findings, node: Node) -> None:
    """Check a Node: taints and amounts."""
    check_metadata(found, node.metadata, namespaced=False)
    check_node_taints(found, ("spec", "taints"), node.spec.taints if node.spec else None)
    if node.status is not None:
        check_amounts(found, ("status", "allocatable"), node.status.allocatable)
        check_amounts(found, ("status", "capacity"), node.status.capacity)


def check_node_taints(found: Findings, path: Path, taints: tuple[Taint, ...] | None) -> None:
    """Check the taints of a node."""
    for index, taint in enumerate(taints or ()):
        _check_taint(found, (*path, index), taint)


def _check_taint(found: Findings, path: Path, taint: Taint) -> None:
    found.each_invalid((*path, "key"), taint.key, names.label_key(taint.key))
    found.each_invalid((*path, "value"), taint.value, names.label_value(taint.value))
    if taint.effect not in _NODE_EFFECTS:
        found.unsupported((*path, "effect"), taint.effect, _NODE_EFFECTS)


def check_pod(found: Findings, pod: Pod) -> None:
    """Check a Pod: the nodes it may run on, what it takes there, and the claims it names."""
    check_metadata(found, pod.metadata, namespaced=True)
    check_plan_annotations(found, pod.metadata)
    check_gang(found, ("metadata",), pod.spec.grouped, pod.metadata)
    check_pod_spec(found, ("spec",), pod.spec)
