"""Nodes that are in use whatever is planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ....models.cluster import Cluster
from ....models.core import Node
from ....models.gates import FeatureGates
from ....models.identity import DeviceId
from ....models.running_pods import running_pods


def busy_nodes(cluster: Cluster, gates: FeatureGates, nodes: Iterable[Node]) -> frozenset[str]:
    """Names of nodes where a pod runs, or a device is held that none other of these nodes reaches.

    Raises ``SelectorError`` (NODE-2).
    """
    usage, pools = cluster.usage(gates), cluster.pools(gates)
    seen = {node.metadata.name: pools.pools_for(node) for node in nodes}
    views = Counter(pool for own in seen.values() for pool in own)
    held = {pool: [one.id for one in pool.devices if one.reachable and usage.in_use(one.id)] for pool in views}
    reaching: Counter[DeviceId] = Counter()
    for pool, number in views.items():
        reaching.update(dict.fromkeys(held[pool], number))
    holding = {name for name, own in seen.items() if any(reaching[id_] == 1 for pool in own for id_ in held[pool])}
    return frozenset(holding.union(pod.spec.node_name or "" for pod in running_pods(cluster).values()))
