"""Domains of a node label without a node in use: racks, islands, NVLink domains (the stage ``free-domains=LABEL``).

Each value of the label has a choice whether its domain is free. A row for each class of its nodes keeps it from being
so while one of them has a column. Nodes without the label are in no domain, and pods of DaemonSets and static pods do
not count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....models.cluster.cluster import Cluster
from ....models.cluster.pools import Pool
from ....models.kubernetes.core import Node
from ....models.kubernetes.gates import FeatureGates
from ....models.kubernetes.meta import DeviceId, ObjectKey
from ....models.workload.node_room import running_pods
from ....models.workload.running import goes_with_its_node
from ..master_problem import CouplingRow, FreeDomain, MasterGangClass, ObjectiveStage, Terms
from .gangs import GangAlternative, GangBuilder
from .nodes import PlanNodeClass
from .objectives import FREE_DOMAINS


def domain_labels(objective: Iterable[str]) -> dict[str, str]:
    """The labels that stages name, by the name of the stage."""
    parts = ((name, name.partition("=")) for name in objective)
    return {name: label for name, (head, _, label) in parts if head == FREE_DOMAINS}


@dataclass(frozen=True, slots=True)
class DomainChoices:
    """For each stage its label, and the gang class that says of a value of the label that no node of it is in use."""

    labels: Mapping[str, str]
    choices: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(
        cls,
        objective: Iterable[str],
        cluster: Cluster,
        gates: FeatureGates,
        nodes: Sequence[Node],
        used: Collection[str],
        gangs: GangBuilder,
    ) -> DomainChoices:
        """Make the choices for nodes of which some are ``used`` whatever is planned. Raises ``ValueError``."""
        labels = domain_labels(objective)
        choices: dict[str, dict[str, int]] = {}
        busy: set[str] | None = None
        for name, label in labels.items():
            if busy is None:
                parts = [key for key, pod in running_pods(cluster).items() if goes_with_its_node(pod)]
                busy = {*busy_nodes(cluster, gates, nodes, parts), *used}
            values: dict[str, bool] = defaultdict(bool)
            for node in nodes:
                value = (node.metadata.labels or {}).get(label)
                if value is not None:
                    values[value] |= node.metadata.name in busy
            if not values:
                raise ValueError(f"the stage {name} makes no sense: no node has the label {label}")
            choices[name] = {
                value: gangs.add(MasterGangClass((), 1), GangAlternative(None, {}))
                for value, is_used in sorted(values.items())
                if not is_used
            }
        return cls(labels, choices)

    def domains(self, nodes: Iterable[PlanNodeClass]) -> Iterator[FreeDomain]:
        """Yield the choices with the node classes of their domains."""
        listed = list(nodes)
        for name, label in self.labels.items():
            classes: dict[str, set[int]] = defaultdict(set)
            for node in listed:
                classes[(node.nodes[0].metadata.labels or {}).get(label, "")].add(node.index)
            for value, choice in self.choices[name].items():
                yield FreeDomain(choice, frozenset(classes[value]))

    def rows(self, nodes: Sequence[PlanNodeClass]) -> Iterator[CouplingRow]:
        """Yield the rows: a domain is free only if none of its nodes is in use."""
        for domain in self.domains(nodes):
            for index in sorted(domain.node_classes):
                count = nodes[index].count
                yield CouplingRow(Terms(nodes={index: 1}, gangs={domain.choice: count}), upper=count)

    def stage(self, name: str) -> ObjectiveStage:
        """The stage that counts free domains."""
        return ObjectiveStage(name, Terms(gangs=dict.fromkeys(self.choices[name].values(), 1)))


def busy_nodes(
    cluster: Cluster, gates: FeatureGates, nodes: Iterable[Node], parts: Collection[ObjectKey] = ()
) -> frozenset[str]:
    """Names of nodes where a pod runs, or a device is held that none other of these nodes reaches.

    The pods ``parts`` are a part of their nodes, and do not count. Raises ``SelectorError`` (NODE-2).
    """
    usage, pools = cluster.usage(gates), cluster.pools(gates)
    if parts:
        usage = usage.without(_claims_of_parts(cluster, parts))
    seen = {node.metadata.name: pools.pools_for(node) for node in nodes}
    views = Counter(pool for own in seen.values() for pool in own) if not usage.is_empty else Counter[Pool]()
    held = {pool: [one.id for one in pool.devices if one.reachable and usage.in_use(one.id)] for pool in views}
    reaching: Counter[DeviceId] = Counter()
    for pool, number in views.items():
        reaching.update(dict.fromkeys(held[pool], number))
    there = seen.items() if held else ()
    holding = {name for name, own in there if any(reaching[id_] == 1 for pool in own for id_ in held[pool])}
    running = running_pods(cluster).items()
    return frozenset(holding.union(pod.spec.node_name or "" for key, pod in running if key not in parts))


def _claims_of_parts(cluster: Cluster, parts: Collection[ObjectKey]) -> Iterator[ObjectKey]:
    """The claims that are reserved for these pods alone."""
    for key, claim in cluster.claims.items():
        users = (claim.status.reserved_for if claim.status else None) or ()
        if users and all(one.resource == "pods" and (key[0], one.name) in parts for one in users):
            yield key
