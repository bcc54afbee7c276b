"""Nodes that could be bought: one of each NodeTemplate stands for all of them until it is known how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from ....models.cluster import Cluster
from ....models.core import Node
from ....models.node_templates import NodeTemplate, node_of, slices_of
from ....models.slices import ResourceSlice
from .new_names import new_names


@dataclass(frozen=True, slots=True)
class Offer:
    """A node that could be bought as a template says, after ``before`` others; the last stands for all that follow."""

    template: NodeTemplate
    before: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class Shop:
    """A cluster with nodes of each template in it: offers by the names of these nodes."""

    cluster: Cluster
    offers: Mapping[str, Offer]

    def limit(self, node: str, most: int) -> int:
        """How many could be bought in its place; more than ``most`` of a template are never of use."""
        offer = self.offers[node]
        limit = offer.template.spec.limit
        left = max(0, (most if limit is None else min(limit, most)) - offer.before)
        return left if offer.is_last else min(1, left)

    def price(self, node: str) -> Fraction:
        """The price of one; nothing where none is given."""
        return Fraction(str(self.offers[node].template.spec.price or 0))


def open_shop(cluster: Cluster, apart: int = 0) -> Shop:
    """Add a node of each template, beside ``apart`` that stand for themselves alone, so that a domain may be one node.

    Raises ``ValueError`` if there is no template.
    """
    if not cluster.node_templates:
        raise ValueError("there is no NodeTemplate to buy nodes from")
    offers: dict[str, Offer] = {}
    for name, template in cluster.node_templates.items():
        limit = template.spec.limit
        alone = apart if limit is None else min(apart, limit)
        names = new_names(cluster, name, alone + 1)
        offers.update((one, Offer(template, place, place == alone)) for place, one in enumerate(names))
    nodes = [node_of(offer.template, name) for name, offer in offers.items()]
    slices = [made for name, offer in offers.items() for made in slices_of(offer.template, name)]
    return Shop(_with(cluster, nodes, slices), offers)


def with_bought(cluster: Cluster, counts: Mapping[str, int]) -> tuple[Cluster, dict[str, tuple[Node, ...]]]:
    """Add so many nodes of each template; return them, too."""
    bought: dict[str, tuple[Node, ...]] = {}
    slices: list[ResourceSlice] = []
    for name, count in counts.items():
        template = cluster.node_templates[name]
        names = new_names(cluster, name, count)
        bought[name] = tuple(node_of(template, one) for one in names)
        slices += [made for one in names for made in slices_of(template, one)]
    return _with(cluster, [node for own in bought.values() for node in own], slices), bought


def _with(cluster: Cluster, nodes: list[Node], slices: list[ResourceSlice]) -> Cluster:
    return cluster.with_nodes(nodes, slices) if nodes else cluster
