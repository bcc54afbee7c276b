"""Which nodes a node selector means, and whether a pod fits a node (NODE-2)."""

from collections.abc import Callable
from typing import NamedTuple

from .core import Node, NodeSelector, NodeSelectorTerm, PodSpec


class SelectorError(ValueError):
    """A node selector that cannot be parsed; fatal for the allocation (NODE-2)."""


class Misfit(NamedTuple):
    """Why a pod does not fit a node: a filter's stable id, and the details."""

    id: str
    message: str


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """All requirements of the term hold; an empty term matches nothing. Raises ``SelectorError``."""
    raise NotImplementedError


def node_matches(selector: NodeSelector | None, node: Node) -> bool:
    """One of the selector's terms holds (NODE-2); no selector at all restricts nothing.

    Raises ``SelectorError`` if any term cannot be parsed, whether or not another one holds.
    """
    raise NotImplementedError


def pod_fits(spec: PodSpec, node: Node) -> list[Misfit]:
    """Every reason why the pod cannot be on the node; empty: it fits. All filters are asked, in the order of their table."""
    raise NotImplementedError


# Stable ids, in this order: nodeName, nodeSelector, nodeAffinity, nodeUnschedulable, nodeTaint.
NODE_FILTERS: tuple[tuple[str, Callable[[PodSpec, Node], str | None]], ...] = ()
