"""Which replicas of Jobs, Deployments, StatefulSets and ReplicaSets are still to be made."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .identity import ObjectKey
from .meta import OwnerReference
from .planned_sets import MakerKind
from .units import is_over
from .workloads import Job, ReplicaSet, StatefulSet

if TYPE_CHECKING:
    from .cluster import Cluster

OwnerId = tuple[MakerKind, ObjectKey]

_DIRECT: dict[str, MakerKind] = {"Job": "Job", "StatefulSet": "StatefulSet"}
_ENDED = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")


def open_replicas(cluster: "Cluster") -> dict[OwnerId, Sequence[int]]:
    """The numbers of the replicas that have no pod in the input, by kind and key of what makes them.

    Pods that are there, waiting or running, are among the replicas of their owner, also where only the ReplicaSet
    between a Deployment and its pods is missing. A ReplicaSet of a Deployment in the input is left to that. A Job makes
    ``parallelism`` pods at once, but no more than completions are missing; none while suspended, or when it has ended.
    """
    there = _there(cluster)
    found: dict[OwnerId, Sequence[int]] = {}
    for key, job in cluster.jobs.items():
        found["Job", key] = range(len(there["Job", key]), _parallel(job))
    for key, deployment in cluster.deployments.items():
        found["Deployment", key] = range(len(there["Deployment", key]), _number(deployment.spec.replicas))
    for key, replica_set in cluster.replica_sets.items():
        if _deployment_of(cluster, key, replica_set) is None:
            found["ReplicaSet", key] = range(len(there["ReplicaSet", key]), _number(replica_set.spec.replicas))
    for key, stateful_set in cluster.stateful_sets.items():
        found["StatefulSet", key] = _ordinals(key[1], stateful_set, there["StatefulSet", key])
    return found


def _number(given: int | None) -> int:
    return 1 if given is None else given


def _parallel(job: Job) -> int:
    status = job.status
    ended = any(one.type in _ENDED and one.status == "True" for one in (status.conditions if status else None) or ())
    if job.spec.suspend or ended:
        return 0
    wanted = _number(job.spec.parallelism)
    if job.spec.completions is None:
        return wanted
    return min(wanted, job.spec.completions - ((status.succeeded if status else None) or 0))


def _ordinals(name: str, made: StatefulSet, there: set[str]) -> Sequence[int]:
    start = made.spec.ordinals.start if made.spec.ordinals else 0
    every = range(start, start + _number(made.spec.replicas))
    return tuple(number for number in every if f"{name}-{number}" not in there) if there else every


def _there(cluster: "Cluster") -> dict[OwnerId, set[str]]:
    """The names of the pods that are there, by what makes them, as far as that is in the input."""
    found: dict[OwnerId, set[str]] = defaultdict(set)
    for (namespace, name), pod in cluster.pods.items():
        owners = pod.metadata.owner_references
        if not owners or is_over(pod):
            continue
        for maker in (_maker(cluster, namespace, reference) for reference in owners):
            if maker is not None:
                found[maker].add(name)
    return found


def _maker(cluster: "Cluster", namespace: str, reference: OwnerReference) -> OwnerId | None:
    key = namespace, reference.name
    if reference.kind != "ReplicaSet":
        kind = _DIRECT.get(reference.kind)
        return (kind, key) if kind else None
    replica_set = cluster.replica_sets.get(key)
    if replica_set is None:
        # A Deployment's ReplicaSet has the name of it and a hash behind.
        return "Deployment", (namespace, reference.name.rpartition("-")[0])
    above = _deployment_of(cluster, key, replica_set)
    return ("Deployment", above) if above else ("ReplicaSet", key)


def _deployment_of(cluster: "Cluster", key: ObjectKey, replica_set: ReplicaSet) -> ObjectKey | None:
    """The Deployment that made a ReplicaSet, if it is in the input."""
    for reference in replica_set.metadata.owner_references or ():
        if reference.kind == "Deployment" and (key[0], reference.name) in cluster.deployments:
            return key[0], reference.name
    return None
