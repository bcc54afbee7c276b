"""Names for nodes that could be bought: none that anything in the input speaks of.

So no rule can tell one new node of a template from another, and none of them gets what is meant for a node that is not
there: slices, claims and pods of that name, or selectors that ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, islice

import msgspec

from ....models.cluster import Cluster
from ....models.core import PodSpec

_encode = msgspec.json.Encoder().encode
_texts = re.compile(rb'"([^"]*)"').findall


def new_names(cluster: Cluster, stem: str, number: int) -> list[str]:
    """So many names, ``STEM-1`` first; the same whenever they are asked for."""
    said = cluster.kept("names of nodes", lambda: frozenset(_said(cluster)))
    return list(islice((name for place in count(1) if (name := f"{stem}-{place}") not in said), number))


def _said(cluster: Cluster) -> Iterator[str]:
    yield from cluster.nodes
    for part in {_encode(part) for part in _parts(cluster)}:
        yield from (text.decode() for text in _texts(part))


def _parts(cluster: Cluster) -> Iterator[object]:
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
    yield from ((spec.node_name, spec.node_selector, spec.affinity) for spec in _pods(cluster))


def _pods(cluster: Cluster) -> Iterator[PodSpec]:
    yield from (pod.spec for pod in cluster.pods.values())
    for makers in (cluster.jobs, cluster.deployments, cluster.stateful_sets, cluster.replica_sets):
        yield from (maker.spec.template.spec for maker in makers.values())
