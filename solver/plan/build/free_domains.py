"""Domains of a node label without a node in use: racks, islands, NVLink domains (the stage ``free-domains=LABEL``).

Each value of the label has a choice whether its domain is free. A row for each class of its nodes keeps it from being
so while one of them has a column. Nodes without the label are in no domain, and pods of DaemonSets and static pods do
not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....models.cluster.cluster import Cluster
from ....models.kubernetes.core import Node
from ....models.kubernetes.gates import FeatureGates
from ....models.workload.node_room import running_pods
from ....models.workload.running import goes_with_its_node
from ..master_problem import CouplingRow, FreeDomain, MasterGangClass, ObjectiveStage, Terms
from .gangs import GangAlternative, GangBuilder
from .nodes import PlanNodeClass, busy_nodes
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
