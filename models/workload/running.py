"""Which running pods may be moved or lose their place, and what a move costs (groups 5.3 and 6).

A move is an eviction: a controller makes another pod, which the scheduler places. So only pods move that somebody makes
again, and only where nobody asked to leave them alone. A pod that stays keeps its devices. For one of a higher priority
a pod may lose its place even if nobody makes it again, but not where somebody asked to leave it alone (EVT-17).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..cluster.cluster import Cluster
from ..kubernetes.claims import AllocationResult
from ..kubernetes.core import Pod, PodSpec
from ..kubernetes.extensions import MOVE_COST_ANNOTATION, REPLICAS_ANNOTATION, read_annotations
from ..kubernetes.gates import FeatureGates
from ..kubernetes.kinds import WORKLOAD_MODELS, kind_of
from ..kubernetes.meta import (
    KubernetesObject,
    LabelError,
    ObjectKey,
    OwnerReference,
    PoolId,
    Requirement,
    key_of,
    matches_labels,
)
from ..kubernetes.workloads import Job, PodDisruptionBudget, default_priority, priority_of
from .gangs import GangCollector, GangKey
from .member_moves import GroupPlace, MemberMoves
from .node_resources import NodeResourceError
from .node_room import DeviceBudgets, recorded_requests, remaining_allocatable, running_pods
from .pod_sets import Look, looking
from .requests import Requests, backed_resources
from .units import ClaimRef, PodClaims, Unit, allocation_of, is_deleting, is_reserved_for_others, made_extended_claim

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
SOURCE_ANNOTATION = "kubernetes.io/config.source"
SAFE_TO_EVICT_ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES_ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
DO_NOT_DISRUPT_ANNOTATION = "karpenter.sh/do-not-disrupt"
_EVICT_ANNOTATION = "descheduler.alpha.kubernetes.io/evict"
_PREFER_ANNOTATION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
_PREFERENCE_COST = 100
SYSTEM_PRIORITY = 2_000_000_000
_SYSTEM_NAMESPACE = "kube-system"
RESTARTING_TOGETHER: Mapping[str, tuple[str, ...]] = {
    "LeaderWorkerSet group": ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"),
    "JobSet": ("jobset.sigs.k8s.io/jobset-name",),
}
"""Labels of pods that a controller restarts together, by what it calls them (MOV-7).

A pod with the first one is in such a set, and the values of all tell one set from others.
"""
_LONGEST_CHAIN = 8


class OwnedClaim(NamedTuple):
    """A claim of a running pod, with what it holds."""

    ref: ClaimRef
    allocation: AllocationResult


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod that runs: its node, its claims, and what a move costs.

    ``stays`` says why it cannot be moved; empty if it can. ``kept`` says why it cannot lose its place either.
    ``budgets`` are the PodDisruptionBudgets that count its loss; ``budget`` is the one that counts its move.
    ``priority`` is that of its PodGroup, else its own; ``gang`` is the group of pods that it is in, and ``group`` says
    what that means for moves of it alone. ``draws`` is what its devices take of the node, as its status says.
    ``goes_with_node``: it is a part of its node, and nothing is lost with it when the node goes. It got devices in
    place of the extended resources ``backed``.
    """

    pod: Pod
    node: str
    held: tuple[OwnedClaim, ...] = ()
    cost: int = 0
    stays: str = ""
    budget: ObjectKey | None = None
    goes_with_node: bool = False
    backed: frozenset[str] = frozenset()
    kept: str = ""
    budgets: tuple[ObjectKey, ...] = ()
    priority: int = 0
    gang: GangKey | None = None
    group: GroupPlace | None = None
    draws: Requests = field(default_factory=dict)

    @property
    def prefers_to_stay(self) -> bool:
        """Whether it asks to be the last choice (MOV-1)."""
        return _prefers_to_stay(self.pod)

    @property
    def is_made_again(self) -> bool:
        """Whether a controller makes another pod in its place."""
        return _controller_of(self.pod) is not None

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return key_of(self.pod.metadata)


def read_running_pods(
    cluster: Cluster,
    gates: FeatureGates,
    *,
    move_bare: bool = False,
    allowed: Collection[ObjectKey] | None = None,
    look: Look | None = None,
) -> Mapping[ObjectKey, RunningPod]:
    """Return all running pods by namespace and name; only those ``allowed`` may move, None: all.

    ``move_bare``: pods without a controller may move as well. ``look`` is called after every few pods. Raises
    ``ValueError`` for a move cost that cannot be read (objects made in Python), or a budget with a bad selector.
    """
    return _RunningPodReader(cluster, gates, move_bare, allowed).read(look)


class _RunningPodReader:
    def __init__(
        self, cluster: Cluster, gates: FeatureGates, move_bare: bool, allowed: Collection[ObjectKey] | None
    ) -> None:
        self._cluster = cluster
        self._gates = gates
        self._move_bare = move_bare
        self._allowed = allowed
        self._claims = PodClaims(cluster)
        self._usage = cluster.usage(gates)
        self._default_priority = default_priority(cluster.priority_classes)
        self._gangs = GangCollector(cluster, gates)
        self._members = MemberMoves(cluster, gates)
        self._controllers = _controllers_by_name(cluster)
        self._budgets = DisruptionBudgets(cluster)
        self._homes = home_of_pools(cluster)
        self._backed = frozenset(backed_resources(cluster, gates))
        self._devices = DeviceBudgets(cluster, gates)
        left = remaining_allocatable(cluster, gates)
        self._crowded = {name for name, free in left.items() if free and min(free.values()) < 0}

    def read(self, look: Look | None) -> dict[ObjectKey, RunningPod]:
        running = running_pods(self._cluster)
        claims = {key: self._claims_of(pod) for key, pod in looking(self._cluster.pods.items(), look)}
        users = Counter(ref.key for refs in claims.values() for ref in refs)
        return {key: self._pod(pod, claims[key], users) for key, pod in looking(running.items(), look)}

    def _claims_of(self, pod: Pod) -> tuple[ClaimRef, ...]:
        return (*self._claims.claims_of(pod), *self._claims.extended_claim_of(pod))

    def _pod(self, pod: Pod, refs: tuple[ClaimRef, ...], users: Mapping[ObjectKey, int]) -> RunningPod:
        held = tuple(OwnedClaim(ref, made) for ref in refs if (made := allocation_of(ref)) is not None)
        budgets, moving = self._budgets.of(pod), self._budgets.moving(pod)
        draws = recorded_requests(pod, self._gates)
        kept = (
            *self._of_the_pod(pod),
            *self._of_its_namespace(pod, bool(budgets)),
            *self._of_its_devices(pod, refs, users, draws),
        )
        gang = self._gangs.join(key_of(pod.metadata)[0], read_annotations(pod.metadata.annotations), pod)
        grouped = pod.spec.grouped or gang is not None
        place = self._members.place(pod, gang) if grouped else None
        reasons = (
            *kept,
            *_of_its_storage(pod),
            *([place] if isinstance(place, str) else ()),
            *self._of_its_controller(pod),
            *self._of_budgets(budgets, moving),
            *self._of_claims(pod, refs, users),
        )
        return RunningPod(
            pod,
            pod.spec.node_name or "",
            held,
            self._cost(pod, held) + _PREFERENCE_COST * _prefers_to_stay(pod),
            next(iter(reasons), ""),
            moving[0] if len(budgets) == len(moving) == 1 else None,
            goes_with_its_node(pod),
            self._backed if made_extended_claim(self._cluster, pod) is not None else frozenset(),
            next(iter(kept), ""),
            self._budgets.losing(pod),
            self._gangs.priority(key_of(pod.metadata)[0], pod.spec),
            gang,
            place if isinstance(place, GroupPlace) else None,
            draws,
        )

    def _priority(self, pod: Pod) -> int:
        return priority_of(pod.spec, self._cluster.priority_classes, self._default_priority)

    def _of_the_pod(self, pod: Pod) -> Iterator[str]:
        """What of the pod itself keeps it where it is, whatever it is for."""
        annotations = pod.metadata.annotations or {}
        node = pod.spec.node_name or ""
        if _is_mirror(pod):
            yield "it is a static pod of its node"
        if _controller_of(pod) is not None and goes_with_its_node(pod):
            yield "a DaemonSet makes it for its node"
        if is_deleting(pod.metadata):
            yield "it is being deleted"
        if self._priority(pod) >= SYSTEM_PRIORITY:
            yield "it has the priority of system pods"
        if annotations.get(SAFE_TO_EVICT_ANNOTATION) == "false":
            yield f"its annotation {SAFE_TO_EVICT_ANNOTATION} is false"
        if annotations.get(DO_NOT_DISRUPT_ANNOTATION) == "true":
            yield f"its annotation {DO_NOT_DISRUPT_ANNOTATION} is true"
        if REPLICAS_ANNOTATION in annotations:
            yield f"its annotation {REPLICAS_ANNOTATION} makes it several pods"
        if node not in self._cluster.nodes:
            yield "its node is not there"
        elif node in self._crowded:
            yield "the pods on its node ask for more than it has"
        if self._allowed is not None and key_of(pod.metadata) not in self._allowed:
            yield "it is not among the pods that may move"

    def _of_its_namespace(self, pod: Pod, has_budget: bool) -> Iterator[str]:
        if key_of(pod.metadata)[0] == _SYSTEM_NAMESPACE and not has_budget and not _may_be_evicted(pod):
            yield f"it is in {_SYSTEM_NAMESPACE} and no PodDisruptionBudget is about it"

    def _of_its_devices(
        self, pod: Pod, refs: tuple[ClaimRef, ...], users: Mapping[ObjectKey, int], draws: Requests
    ) -> Iterator[str]:
        """What its devices take of the node goes with it only if that is known, and nobody else has them."""
        unit = Unit(pod, refs, *key_of(pod.metadata))
        try:
            taken = self._devices.taken(unit, {})
        except NodeResourceError as error:
            yield str(error)
            return
        if {name: amount for name, amount in taken.items() if amount} != {n: one for n, one in draws.items() if one}:
            yield "its devices take other amounts of the node's resources than its status says"
        for ref in refs if taken else ():
            if ref.group or users[ref.key] > 1 or is_reserved_for_others(ref, unit):
                yield f"its devices take resources of the node, and it shares its claim {'/'.join(ref.key)}"

    def _of_budgets(self, budgets: Sequence[ObjectKey], moving: Sequence[ObjectKey]) -> Iterator[str]:
        """A pod of two budgets cannot be evicted, and one of a budget only while that allows it (MOV-3)."""
        if len(budgets) > 1:
            yield f"two PodDisruptionBudgets are about it, {budgets[0][1]} and {budgets[1][1]}"
        elif moving and self._budgets.allowed[moving[0]] < 1:
            yield f"PodDisruptionBudget {moving[0][1]} allows no eviction"

    def _of_its_controller(self, pod: Pod) -> Iterator[str]:
        """What only a permission lifts (MOV-1)."""
        annotations = pod.metadata.annotations or {}
        if _may_be_evicted(pod):
            return
        if _controller_of(pod) is None and not self._move_bare:
            yield "no controller makes it again"
        spared = annotations.get(SAFE_VOLUMES_ANNOTATION, "").split(",")
        if local := [name for name in _local_volumes(pod.spec) if name not in spared]:
            yield f"it has local storage in its volume {local[0]}"

    def _of_claims(self, pod: Pod, refs: tuple[ClaimRef, ...], users: Mapping[ObjectKey, int]) -> Iterator[str]:
        """What it holds moves with it only if nobody else uses it, and no other node could (MOV-6)."""
        unit = Unit(pod, refs, *key_of(pod.metadata))
        for ref in refs:
            label = "/".join(ref.key)
            made = allocation_of(ref)
            if ref.problem or made is None:
                yield ref.problem or f"its claim {label} has no devices"
                continue
            if ref.group or users[ref.key] > 1 or is_reserved_for_others(ref, unit):
                yield f"it shares its claim {label}"
            for result in made.devices.results or ():
                device = result.driver, result.pool, result.device
                if result.admin_access:
                    yield f"its claim {label} has admin access"
                elif self._homes.get(device[:2]) != pod.spec.node_name:
                    yield f"other nodes reach device {result.device} of its claim {label}, or none does"
                holds = self._usage.holds(device)
                if len(holds) > 1 and any(hold.share_id is None for hold in holds):
                    yield f"device {result.device} of its claim {label} is held twice"

    def _cost(self, pod: Pod, held: tuple[OwnedClaim, ...]) -> int:
        """What its annotation says, or that of a controller, or as many as it has devices, and at least 1."""
        for one in (pod, *self._makers(pod)):
            text = (one.metadata.annotations or {}).get(MOVE_COST_ANNOTATION)
            if text is not None:
                if not text.isascii() or not text.isdecimal():
                    kind, name = kind_of(type(one)).name, "/".join(key_of(one.metadata))
                    raise ValueError(f"{kind} {name}: annotation {MOVE_COST_ANNOTATION} is no whole number: {text!r}")
                return int(text)
        return max(1, sum(len(one.allocation.devices.results or ()) for one in held))

    def _makers(self, pod: Pod) -> Iterator[KubernetesObject]:
        """The controllers of a pod that the input has, from the nearest one up."""
        owner = _controller_of(pod)
        for _ in range(_LONGEST_CHAIN):
            if owner is None:
                return
            found: KubernetesObject | None = self._controllers.get((owner.kind, (key_of(pod.metadata)[0], owner.name)))
            if found is None:
                return
            yield found
            owner = _controller_of(found)


def _controller_of(made: KubernetesObject) -> OwnerReference | None:
    return next((one for one in made.metadata.owner_references or () if one.controller), None)


def eviction_notices(cluster: Cluster, leaving: Iterable[RunningPod]) -> Iterator[str]:
    """Say which controllers of pods that leave may not make them again, and which Jobs fail then (MOV-8)."""
    known, jobs = {kind_of(model).name for model in WORKLOAD_MODELS}, cluster.objects(Job)
    first: dict[tuple[str, str, str], str] = {}
    for one in leaving:
        owner = _controller_of(one.pod)
        if owner is not None:
            first.setdefault((owner.kind, one.key[0], owner.name), "/".join(one.key))
    for (kind, namespace, name), pod in sorted(first.items()):
        job = jobs.get((namespace, name)) if kind == "Job" else None
        if kind not in known:
            yield f"whether {kind} {namespace}/{name} makes pod {pod} again is not known"
        elif job is not None and job.spec.backoff_limit == 0 and not _ignores_evictions(job):
            yield f"Job {namespace}/{name} has a backoffLimit of 0: it fails once pod {pod} is evicted"


def _ignores_evictions(job: Job) -> bool:
    """Whether the first rule about disruptions leaves them out."""
    policy = job.spec.pod_failure_policy
    for rule in (policy.rules or ()) if policy is not None else ():
        if any(one.type == "DisruptionTarget" and one.status != "False" for one in rule.on_pod_conditions or ()):
            return rule.action == "Ignore"
    return False


def goes_with_its_node(pod: Pod) -> bool:
    """Whether a pod is a part of its node: DaemonSets make one for each, and static pods are read from its disk."""
    owner = _controller_of(pod)
    return _is_mirror(pod) or (owner is not None and owner.kind in ("DaemonSet", "Node"))


def _is_mirror(pod: Pod) -> bool:
    annotations = pod.metadata.annotations or {}
    return MIRROR_ANNOTATION in annotations or annotations.get(SOURCE_ANNOTATION, "api") != "api"


def _local_volumes(spec: PodSpec) -> Iterator[str]:
    """Volumes whose data is on the node: paths of it, and empty directories that are not in memory."""
    for volume in spec.volumes or ():
        if volume.host_path or (volume.empty_dir is not None and volume.empty_dir.medium != "Memory"):
            yield volume.name


def _may_be_evicted(pod: Pod) -> bool:
    annotations = pod.metadata.annotations or {}
    return annotations.get(SAFE_TO_EVICT_ANNOTATION) == "true" or _EVICT_ANNOTATION in annotations


def _of_its_storage(pod: Pod) -> Iterator[str]:
    """What another place would not have, or others would have to leave with it."""
    if any(volume.persistent_volume_claim for volume in pod.spec.volumes or ()):
        yield "where its PersistentVolumeClaims can be used is not known"
    for name, labels in RESTARTING_TOGETHER.items():
        if labels[0] in (pod.metadata.labels or {}):
            yield f"all pods of its {name} restart with it"


class DisruptionBudgets:
    """The PodDisruptionBudgets of a cluster: which of them are about a pod, and how many pods each allows to go.

    Of policy/v1 a budget without a selector is about no pod, and one with an empty selector about all of its namespace.
    Raises ``ValueError`` for a bad selector.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.allowed: dict[ObjectKey, int] = {}
        self._known = cluster.objects(PodDisruptionBudget)
        self._by_namespace: dict[str, list[tuple[ObjectKey, tuple[Requirement, ...]]]] = defaultdict(list)
        for key, budget in sorted(self._known.items()):
            # One without a status is taken to allow none (MOV-3).
            self.allowed[key] = budget.status.disruptions_allowed if budget.status is not None else 0
            if budget.spec.selector is None:
                continue
            for requirement in budget.spec.selector.requirements:
                try:
                    requirement.check()
                except LabelError as error:
                    raise ValueError(f"PodDisruptionBudget {'/'.join(key)}: spec.selector: {error}") from None
            self._by_namespace[key[0]].append((key, budget.spec.selector.requirements))

    def of(self, pod: Pod) -> tuple[ObjectKey, ...]:
        """Those that are about a pod, by name."""
        own = self._by_namespace.get(key_of(pod.metadata)[0], ())
        return tuple(key for key, requirements in own if matches_labels(requirements, pod.metadata.labels))

    def losing(self, pod: Pod) -> tuple[ObjectKey, ...]:
        """Those that count its loss: all but those in whose status it is on its way out already (EVT-5)."""
        return tuple(key for key in self.of(pod) if pod.metadata.name not in self._disrupted(key))

    def moving(self, pod: Pod) -> tuple[ObjectKey, ...]:
        """Those that count its eviction: not those that let a pod go that is not ready (MOV-3)."""
        return tuple(key for key in self.losing(pod) if not (_is_unready(pod) and self._lets_unready_go(key)))

    def _disrupted(self, key: ObjectKey) -> Collection[str]:
        status = self._known[key].status
        return (status and status.disrupted_pods) or ()

    def _lets_unready_go(self, key: ObjectKey) -> bool:
        budget = self._known[key]
        is_healthy = budget.status is not None and budget.status.current_healthy >= budget.status.desired_healthy > 0
        return budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" or is_healthy


def _prefers_to_stay(pod: Pod) -> bool:
    return _PREFER_ANNOTATION in (pod.metadata.annotations or {})


def _is_unready(pod: Pod) -> bool:
    """Whether its status says that it is not ready; one whose status does not tell is taken as ready."""
    conditions = (pod.status.conditions if pod.status is not None else None) or ()
    return any(one.type == "Ready" and one.status != "True" for one in conditions)


def _controllers_by_name(cluster: Cluster) -> Mapping[tuple[str, ObjectKey], Any]:
    return {
        (kind_of(model).name, key): made
        for model in WORKLOAD_MODELS
        if model is not PodDisruptionBudget
        for key, made in cluster.objects(model).items()
    }


def home_of_pools(cluster: Cluster) -> dict[PoolId, str]:
    """The node that alone has the devices of each pool; empty for others."""
    found: dict[PoolId, str] = {}
    for slice_ in cluster.slices:
        pool, node = (slice_.spec.driver, slice_.spec.pool.name), slice_.spec.node_name or ""
        found[pool] = node if found.get(pool, node) == node else ""
    return found
