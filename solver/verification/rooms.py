"""PLAN-ROOM: what pods take of nodes, beside those that run already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...models.cluster import Cluster
from ...models.gates import FeatureGates
from ...models.pod_requests import add, written
from ...models.running_pods import lacking, running
from .findings import Finding


def room_findings(
    cluster: Cluster, gates: FeatureGates, taken: Iterable[tuple[str, Mapping[str, int]]]
) -> Iterator[Finding]:
    """Nodes of which planned units take more than running pods leave; ``taken`` are nodes with requests of units.

    A node of which no amounts are known takes anything; resources that device classes back are no matter of rooms.
    """
    sums: dict[str, dict[str, int]] = {}
    for node, requests in taken:
        add(sums.setdefault(node, {}), requests)
    rooms = running(cluster, gates)
    for node, total in sums.items():
        for resource, amount in lacking(total, rooms.get(node)).items():
            more = written(resource, amount)
            yield Finding("PLAN-ROOM", f"node {node}: planned units take {more} of {resource} more than is left")
