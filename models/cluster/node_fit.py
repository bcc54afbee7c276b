"""Which nodes a node selector means, and whether a pod fits a node (NODE-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from ..kubernetes.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration
from ..kubernetes.meta import LabelError, Requirement

NAME_FIELD = "metadata.name"
_UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class SelectorError(ValueError):
    """A node selector that cannot be parsed; fatal for the allocation (NODE-2)."""


class Misfit(NamedTuple):
    """Why a pod does not fit a node: a filter's stable id, and the details."""

    id: str
    message: str


NodeTest = Callable[[Node], bool]


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """All requirements of the term hold; an empty term matches nothing. Raises ``SelectorError``."""
    return _term_test(term)(node)


def node_matches(selector: NodeSelector | None, node: Node) -> bool:
    """One of the selector's terms holds (NODE-2); no selector at all restricts nothing.

    Raises ``SelectorError`` if any term cannot be parsed, whether or not another one holds.
    """
    return selector is None or selector_test(selector)(node)


@lru_cache(maxsize=4096)
def selector_test(selector: NodeSelector) -> NodeTest:
    """Compile the selector, for many nodes. Raises ``SelectorError`` if any term cannot be parsed."""
    tests = [_term_test(term) for term in selector.node_selector_terms or ()]
    return lambda node: any(test(node) for test in tests)


@lru_cache(maxsize=4096)
def _term_test(term: NodeSelectorTerm) -> NodeTest:
    labels = [_label_requirement(requirement) for requirement in term.match_expressions or ()]
    fields = [_field_test(requirement) for requirement in term.match_fields or ()]

    def test(node: Node) -> bool:
        values = node.metadata.labels or {}
        return all(item.matches(values) for item in labels) and all(holds(node) for holds in fields)

    return test if labels or fields else lambda _: False


def _label_requirement(written: NodeSelectorRequirement) -> Requirement:
    requirement = Requirement(written.key, written.operator, written.values or ())
    try:
        requirement.check()
    except LabelError as error:
        raise SelectorError(f"node selector: {error}") from None
    return requirement


def _field_test(written: NodeSelectorRequirement) -> NodeTest:
    """Compile a requirement on a field; a node's only field is its name, every other one is empty."""
    if written.operator not in ("In", "NotIn") or len(written.values or ()) != 1:
        raise SelectorError(f"node selector: field {written.key} needs In or NotIn with exactly one value")
    (value,) = written.values or ()
    equal = written.operator == "In"

    def test(node: Node) -> bool:
        found = node.metadata.name if written.key == NAME_FIELD else ""
        return (found == value) is equal

    return test


def pod_fits(spec: PodSpec, node: Node) -> list[Misfit]:
    """Every reason why the pod cannot be on the node; none: it fits. All of NODE_FILTERS are asked, in order."""
    return [Misfit(id_, message) for id_, test in NODE_FILTERS if (message := test(spec, node)) is not None]


def _other_node_named(spec: PodSpec, node: Node) -> str | None:
    if spec.node_name and spec.node_name != node.metadata.name:
        return f"the pod is on node {spec.node_name}"
    return None


def _selector_label_missing(spec: PodSpec, node: Node) -> str | None:
    if not spec.node_selector:
        return None
    labels = node.metadata.labels or {}
    missing = [f"{key}={value}" for key, value in spec.node_selector.items() if labels.get(key) != value]
    return f"the node has no label {', '.join(missing)}" if missing else None


def _affinity_mismatch(spec: PodSpec, node: Node) -> str | None:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return None
    if any(_term_holds(term, node) for term in affinity.required.node_selector_terms or ()):
        return None
    return "the node does not match the pod's required node affinity"


def _term_holds(term: NodeSelectorTerm, node: Node) -> bool:
    """Like the scheduler on pods, where a term that cannot be parsed just does not hold."""
    try:
        return term_matches(term, node)
    except SelectorError:
        return False


def _node_unschedulable(spec: PodSpec, node: Node) -> str | None:
    if not node.spec or not node.spec.unschedulable or spec.node_name:
        return None
    return None if _tolerated(_UNSCHEDULABLE_TAINT, spec.tolerations or ()) else "the node is unschedulable"


def _untolerated_taint(spec: PodSpec, node: Node) -> str | None:
    if not node.spec or not node.spec.taints:
        return None
    # NoSchedule, like an unschedulable node, stops the scheduler; it does not drive away a pod that is there.
    effects = ("NoExecute",) if spec.node_name else ("NoSchedule", "NoExecute")
    taints = (taint for taint in node.spec.taints if taint.effect in effects)
    kept = [_taint_text(taint) for taint in taints if not _tolerated(taint, spec.tolerations or ())]
    return f"the pod does not tolerate taint {', '.join(kept)}" if kept else None


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    same_value = toleration.operator in ("", "Equal") and toleration.value == taint.value
    return same_value or toleration.operator == "Exists"


def _taint_text(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


# Stable ids, in the order of their reasons.
NODE_FILTERS: tuple[tuple[str, Callable[[PodSpec, Node], str | None]], ...] = (
    ("nodeName", _other_node_named),
    ("nodeSelector", _selector_label_missing),
    ("nodeAffinity", _affinity_mismatch),
    ("nodeUnschedulable", _node_unschedulable),
    ("nodeTaint", _untolerated_taint),
)
