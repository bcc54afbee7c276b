"""Nodes that could be bought: one of each NodeTemplate stands for all of them until it is known how many there are.

Names for nodes that could be bought: none that anything in the input speaks of.

So no rule can tell one new node of a template from another, and none of them gets what is meant for a node that is not
there: slices, claims and pods of that name, or selectors that ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice

import msgspec

from ....models.cluster.cluster import Cluster
from ....models.kubernetes.core import Node, PodSpec
from ....models.kubernetes.extensions import NodeTemplate, node_from_template, slices_from_template
from ....models.kubernetes.slices import ResourceSlice


@dataclass(frozen=True, slots=True)
class NodeTemplateOffer:
    """A node that could be bought as a template says, after ``before`` others; the last stands for all that follow."""

    template: NodeTemplate
    before: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class NodeCatalogue:
    """A cluster with nodes of each template in it: offers by the names of these nodes."""

    cluster: Cluster
    offers: Mapping[str, NodeTemplateOffer]

    def limit(self, node: str, most: int) -> int:
        """How many could be bought in its place; more than ``most`` of a template are never of use."""
        offer = self.offers[node]
        limit = offer.template.spec.limit
        left = max(0, (most if limit is None else min(limit, most)) - offer.before)
        return left if offer.is_last else min(1, left)

    def price(self, node: str) -> Fraction:
        """The price of one; nothing where none is given."""
        return Fraction(str(self.offers[node].template.spec.price or 0))


def build_node_catalogue(cluster: Cluster, apart: int = 0) -> NodeCatalogue:
    """Add a node of each template, beside ``apart`` that stand for themselves alone, so that a domain may be one node.

    Raises ``ValueError`` if there is no template.
    """
    if not cluster.node_templates:
        raise ValueError("there is no NodeTemplate to buy nodes from")
    offers: dict[str, NodeTemplateOffer] = {}
    for name, template in cluster.node_templates.items():
        limit = template.spec.limit
        alone = apart if limit is None else min(apart, limit)
        names = new_names(cluster, name, alone + 1)
        offers.update((one, NodeTemplateOffer(template, place, place == alone)) for place, one in enumerate(names))
    nodes = [node_from_template(offer.template, name) for name, offer in offers.items()]
    slices = [made for name, offer in offers.items() for made in slices_from_template(offer.template, name)]
    return NodeCatalogue(_with_new_nodes(cluster, nodes, slices), offers)


def with_bought_nodes(cluster: Cluster, counts: Mapping[str, int]) -> tuple[Cluster, dict[str, tuple[Node, ...]]]:
    """Add so many nodes of each template; return them, too."""
    bought: dict[str, tuple[Node, ...]] = {}
    slices: list[ResourceSlice] = []
    for name, number in counts.items():
        template = cluster.node_templates[name]
        names = new_names(cluster, name, number)
        bought[name] = tuple(node_from_template(template, one) for one in names)
        slices += [made for one in names for made in slices_from_template(template, one)]
    return _with_new_nodes(cluster, [node for own in bought.values() for node in own], slices), bought


def _with_new_nodes(cluster: Cluster, nodes: list[Node], slices: list[ResourceSlice]) -> Cluster:
    return cluster.with_nodes(nodes, slices) if nodes else cluster


_encode = msgspec.json.Encoder().encode
_json_strings = re.compile(rb'"([^"]*)"').findall


def new_names(cluster: Cluster, stem: str, number: int) -> list[str]:
    """So many names, ``STEM-1`` first; the same whenever they are asked for."""
    said = cluster.memo("names of nodes", lambda: frozenset(_mentioned_names(cluster)))
    return list(islice((name for place in count(1) if (name := f"{stem}-{place}") not in said), number))


def _mentioned_names(cluster: Cluster) -> Iterator[str]:
    yield from cluster.nodes
    for part in {_encode(part) for part in _naming_parts(cluster)}:
        yield from (text.decode() for text in _json_strings(part))


def _naming_parts(cluster: Cluster) -> Iterator[object]:
    """What may name nodes, or pools, which are named as their nodes."""
    for slice_ in cluster.slices:
        spec = slice_.spec
        yield spec.node_name, spec.pool.name, spec.node_selector
        for device in spec.devices or () if spec.per_device_node_selection else ():
            yield device.node_name, device.node_selector
    for claim in cluster.claims.values():
        made = claim.status.allocation if claim.status else None
        if made is not None:
            yield made.node_selector, [result.pool for result in made.devices.results or ()]
    yield from (rule.spec for rule in cluster.taint_rules)
    yield from ((spec.node_name, spec.node_selector, spec.affinity) for spec in _pod_specs(cluster))


def _pod_specs(cluster: Cluster) -> Iterator[PodSpec]:
    yield from (pod.spec for pod in cluster.pods.values())
    for makers in (cluster.jobs, cluster.deployments, cluster.stateful_sets, cluster.replica_sets):
        yield from (maker.spec.template.spec for maker in makers.values())
