"""What would have to change about a pod, or about its tolerations, for a node to suit it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from ...models.core import Node, PodSpec, Toleration
from ...models.selection import Misfit, pod_fits
from .offer import COSTS, Change
from .scene import Scene

Edit = Callable[[PodSpec], PodSpec]


def pod_changes(scene: Scene, node: Node) -> list[Change]:
    """List changes after which the pod itself fits the node; none if there is no pod, or nothing helps."""
    if scene.unit.pod is None:
        return []
    return [_change(misfit, node) for misfit in pod_fits(scene.unit.pod.spec, node)]


def _change(misfit: Misfit, node: Node) -> Change:
    text, edit = _EDITS[misfit.id](node)
    apply: Callable[[Scene], Scene] = partial(Scene.with_pod, change=edit)
    return Change(misfit.id, "", f"{text} ({misfit.message})", COSTS[misfit.id], apply)


def _other_node(_node: Node) -> tuple[str, Edit]:
    return "let the pod go to another node", lambda spec: replace(spec, node_name="")


def _any_labels(_node: Node) -> tuple[str, Edit]:
    return "drop the pod's node selector", lambda spec: replace(spec, node_selector=None)


def _no_affinity(_node: Node) -> tuple[str, Edit]:
    return "drop the pod's required node affinity", lambda spec: replace(spec, affinity=None)


def _tolerating(node: Node) -> tuple[str, Edit]:
    taints = (node.spec.taints if node.spec else None) or ()
    added = tuple(Toleration(key=one.key, operator="Exists", effect=one.effect) for one in taints)
    return "tolerate the node's taints", lambda spec: replace(spec, tolerations=(*(spec.tolerations or ()), *added))


def _cordoned(_node: Node) -> tuple[str, Edit]:
    added = Toleration(key="node.kubernetes.io/unschedulable", operator="Exists")
    return "make the node schedulable", lambda spec: replace(spec, tolerations=(*(spec.tolerations or ()), added))


_EDITS: dict[str, Callable[[Node], tuple[str, Edit]]] = {
    "nodeName": _other_node,
    "nodeSelector": _any_labels,
    "nodeAffinity": _no_affinity,
    "nodeUnschedulable": _cordoned,
    "nodeTaint": _tolerating,
}
