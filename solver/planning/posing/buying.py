"""Nodes that could be bought: one of each NodeTemplate stands for all of them until it is known how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ....models.cluster import Cluster
from ....models.core import Node
from ....models.node_templates import NodeTemplate, node_of, slices_of
from ....models.slices import ResourceSlice


@dataclass(frozen=True, slots=True)
class Shop:
    """A cluster with a node of each template in it: templates by the name of that node."""

    cluster: Cluster
    offers: Mapping[str, NodeTemplate]

    def limit(self, node: str, most: int) -> int:
        """How many could be bought; more than ``most`` are never of use."""
        limit = self.offers[node].spec.limit
        return most if limit is None else max(0, min(limit, most))

    def price(self, node: str) -> Fraction:
        """The price of one; nothing where none is given."""
        return Fraction(str(self.offers[node].spec.price or 0))


def open_shop(cluster: Cluster) -> Shop:
    """Add a node of each template. Raises ``ValueError`` if there is none."""
    if not cluster.node_templates:
        raise ValueError("there is no NodeTemplate to buy nodes from")
    offers = {_names(cluster, name, 1)[0]: template for name, template in cluster.node_templates.items()}
    nodes = [node_of(template, name) for name, template in offers.items()]
    slices = [made for name, template in offers.items() for made in slices_of(template, name)]
    return Shop(_with(cluster, nodes, slices), offers)


def with_bought(cluster: Cluster, counts: Mapping[str, int]) -> tuple[Cluster, dict[str, tuple[Node, ...]]]:
    """Add so many nodes of each template; return them, too."""
    bought: dict[str, tuple[Node, ...]] = {}
    slices: list[ResourceSlice] = []
    for name, count in counts.items():
        template = cluster.node_templates[name]
        names = _names(cluster, name, count)
        bought[name] = tuple(node_of(template, one) for one in names)
        slices += [made for one in names for made in slices_of(template, one)]
    return _with(cluster, [node for own in bought.values() for node in own], slices), bought


def _with(cluster: Cluster, nodes: list[Node], slices: list[ResourceSlice]) -> Cluster:
    return cluster.with_nodes(nodes, slices) if nodes else cluster


def _names(cluster: Cluster, stem: str, count: int) -> list[str]:
    """Names for new nodes, and those of nodes that are there are left out."""

    def free() -> Iterator[str]:
        number = 0
        while True:
            number += 1
            name = f"{stem}-{number}"
            if name not in cluster.nodes:
                yield name

    found = free()
    return [next(found) for _ in range(count)]
