"""PLAN-GANG and PLAN-DOMAIN: gangs are placed whole or not at all, and in one domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...models.cluster import Cluster
from ...models.planned_sets import Gang
from .findings import Finding

Members = Iterable[tuple[Gang, str | None]]
"""The gang of each member of the queue, and the member's node if it is placed."""


def gang_findings(cluster: Cluster, members: Members) -> Iterator[Finding]:
    """Everything wrong with gangs; those of which nothing is placed are in order."""
    gangs: dict[tuple[str, str, str], tuple[Gang, list[str | None]]] = {}
    for gang, node in members:
        gangs.setdefault((gang.kind, gang.namespace, gang.name), (gang, []))[1].append(node)
    for gang, nodes in gangs.values():
        placed = [node for node in nodes if node is not None]
        if placed:
            yield from _incomplete(gang, len(placed), len(nodes))
            yield from _torn(cluster, gang, placed)


def _incomplete(gang: Gang, placed: int, asked: int) -> Iterator[Finding]:
    if gang.problem:
        yield Finding("PLAN-GANG", f"{gang.label} has members placed, but {gang.problem}")
    elif gang.minimum is None and placed < asked:
        yield Finding("PLAN-GANG", f"{gang.label}: {placed} of {asked} members are placed")
    elif gang.minimum is not None and placed + len(gang.placed) < gang.minimum:
        there = f"{placed} are placed and {len(gang.placed)} run already"
        yield Finding("PLAN-GANG", f"{gang.label} is of at least {gang.minimum} members, {there}")


def _torn(cluster: Cluster, gang: Gang, placed: Sequence[str]) -> Iterator[Finding]:
    """Whether members, those that run included, are in several domains; a node without the label is in none.

    Nothing is known of nodes that are not in the cluster.
    """
    if gang.domain is None:
        return
    domains: set[str] = set()
    for name in dict.fromkeys((*placed, *(name for name in gang.placed if name in cluster.nodes))):
        value = (cluster.node(name).metadata.labels or {}).get(gang.domain)
        if value is None:
            yield Finding("PLAN-DOMAIN", f"{gang.label}: node {name} has no label {gang.domain}")
        else:
            domains.add(value)
    if len(domains) > 1:
        values = ", ".join(sorted(domains))
        yield Finding("PLAN-DOMAIN", f"{gang.label} is in several domains of {gang.domain}: {values}")
