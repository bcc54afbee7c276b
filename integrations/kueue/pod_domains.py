"""Admission checks and topology requests of Kueue's workloads, as far as a plan knows them.

A check in state Rejected keeps a workload from being admitted, and one that is not Ready yet is taken as passed: quota
is reserved before (kueue-dra 4.9). Of topology requests a plan knows one: all pods of a workload are in one domain of a
level, which is one value of a node label. What asks for more than that is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.kueue import KueuePodSet, KueueTopology, ResourceFlavor
from .queues import ClusterQueueState
from .workload_state import WorkloadState

_REJECTED = "Rejected"
_READY = "Ready"


class UnplannedTopologyError(Exception):
    """A topology request that a plan does not know; the message says which."""


class PodDomains:
    """The levels of flavors, and the domains that pods of workloads must share."""

    def __init__(self, cluster: Cluster, flavors: Mapping[str, ResourceFlavor]) -> None:
        self._nodes = [node.metadata.labels or {} for node in cluster.nodes.values()]
        self._names = list(cluster.nodes)
        self._flavors = flavors
        self._levels = {
            one.metadata.name: [level.node_label for level in one.spec.levels or ()]
            for one in cluster.objects(KueueTopology).values()
        }
        self._problems: dict[tuple[str, str], str] = {}

    def domain(self, pod_sets: Sequence[KueuePodSet]) -> str | None:
        """The label of which all pods of a workload must have one value; None: none.

        Raises ``UnplannedTopologyError`` where some pods must be together and others need not, and for slices.
        """
        asked: dict[str, list[str]] = {}
        together = set[str]()
        for one in pod_sets:
            request = one.topology_request
            if request is None:
                continue
            if request.pod_set_slice_required_topology or request.podset_slice_required_topology_constraints:
                raise UnplannedTopologyError(f"pod set {one.name} asks for slices of a topology: that is not planned")
            group = request.pod_set_group_name or f"/{one.name}"
            if request.required and (one.count > 1 or request.pod_set_group_name):
                asked.setdefault(request.required, []).append(one.name)
                together.add(group)
        if not asked:
            return None
        names = [name for own in asked.values() for name in own]
        if len(together) == 1 and len(asked) == 1 and len(names) == sum(one.count > 0 for one in pod_sets):
            return next(iter(asked))
        said = f"pod set{'s' if len(names) > 1 else ''} {' and '.join(names)}"
        where = f"one domain of {' and '.join(asked)}"
        raise UnplannedTopologyError(
            f"{said} must be in {where}: that is planned for all pods of a workload together only"
        )

    def misfit(self, pod_set: KueuePodSet, name: str) -> str | None:
        """Why a flavor does not do for the topology request of a pod set; None if it does."""
        request, flavor = pod_set.topology_request, self._flavors.get(name)
        if request is None or flavor is None or flavor.spec.topology_name is None:
            return None
        levels = self._levels.get(flavor.spec.topology_name)
        if levels is None:
            return f"Topology {flavor.spec.topology_name} of flavor {name} not found"
        for label in (request.required, request.preferred):
            if label and label not in levels:
                return f"Topology {flavor.spec.topology_name} of flavor {name} has no level {label}"
        if request.required and (pod_set.count > 1 or request.pod_set_group_name):
            return self._ambiguous(request.required, name, flavor, levels)
        return None

    def _ambiguous(self, label: str, name: str, flavor: ResourceFlavor, levels: Sequence[str]) -> str | None:
        """Whether a value of a level names several domains: then the label alone does not say where pods are."""
        if (name, label) not in self._problems:
            above = levels[: levels.index(label)]
            parents: dict[str, tuple[str, ...]] = {}
            self._problems[name, label] = ""
            for labels in self._nodes_of(flavor):
                if all(level in labels for level in levels):
                    own = tuple(labels[level] for level in above)
                    if parents.setdefault(labels[label], own) != own:
                        text = f"several domains are called {labels[label]} at level {label}: that is not planned"
                        self._problems[name, label] = f"flavor {name}: {text}"
        return self._problems[name, label] or None

    def _nodes_of(self, flavor: ResourceFlavor) -> Iterator[Mapping[str, str]]:
        """The labels of the nodes of a flavor."""
        wanted = (flavor.spec.node_labels or {}).items()
        return (labels for labels in self._nodes if wanted <= labels.items())

    def notices(self, waiting: Sequence[WorkloadState]) -> Iterator[str]:
        """Say which requests are left aside, and which nodes are planned that Kueue does not use for them."""
        preferred, held = [], []
        for one in waiting:
            requests = [pods.topology_request for pods in one.pod_sets if pods.topology_request]
            if one.reserved and requests:
                held.append(one)
            elif any(request.preferred for request in requests):
                preferred.append(one)
        if preferred:
            yield f"topologies that {_listed(preferred)} would prefer are not planned"
        if held:
            yield f"topology assignments of admitted workloads are not planned: {_listed(held)}"
        if not any(pods.topology_request for one in waiting for pods in one.pod_sets):
            return
        lacking = dict.fromkeys(
            node
            for flavor in self._flavors.values()
            for levels in [self._levels.get(flavor.spec.topology_name or "", [])]
            for node, labels in zip(self._names, self._nodes, strict=True)
            if (flavor.spec.node_labels or {}).items() <= labels.items()
            if not all(level in labels for level in levels)
        )
        if lacking:
            said = f"{plural(len(lacking), 'node')} without the labels of a Topology, such as {next(iter(lacking))}"
            yield f"{said}: Kueue does not use them for topology requests, and the plan may"


def rejected_check(workload: WorkloadState, queue: ClusterQueueState) -> str:
    """Which admission checks of its queue a workload failed, in Kueue's words; empty for none."""
    found = [
        f'"{one.name}" ({one.message})'
        for one in workload.object.status.admission_checks or ()
        if one.state == _REJECTED and one.name in queue.checks
    ]
    return f"AdmissionCheck{'s' if len(found) > 1 else ''} in {_REJECTED} state: {'; '.join(found)}" if found else ""


def check_notices(waiting: Iterable[tuple[WorkloadState, ClusterQueueState | None]]) -> Iterator[str]:
    """Say which checks of the queues of workloads are taken as passed."""
    found: dict[str, None] = {}
    for one, queue in waiting:
        states = {check.name: check.state for check in one.object.status.admission_checks or ()}
        names = queue.checks if queue is not None else ()
        found.update((name, None) for name in names if states.get(name) not in (_READY, _REJECTED))
    if found:
        yield f"admission checks that are not decided are taken as passed: {', '.join(found)}"


def _listed(workloads: Sequence[WorkloadState]) -> str:
    first = workloads[0]
    more = f" and {len(workloads) - 1} more" if len(workloads) > 1 else ""
    return f"workload {first.namespace}/{first.name}{more}"
