"""Who may lose the place for a pod of higher priority, who goes together, and which claims are free then (groups 5.3).

A claim that several pods have is free once all of them are gone, and one of a PodGroup once the group is deleted
(EVT-18, PGC-8). A gang goes whole or down to its minimum; a group that is disrupted whole, and pods that a controller
restarts together, go together (EVT-8, MOV-7). Admin access takes nothing, so that nothing is free without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..kubernetes.claims import ResourceClaim
from ..kubernetes.core import Pod, PodStatus
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey, OwnerReference, key_of
from ..kubernetes.workloads import may_preempt
from .gangs import GangCollector, GangKey
from .node_room import running_pods
from .queue import read_queue
from .running import RESTARTING_TOGETHER, RunningPod, goes_with_its_node, home_of_pools
from .unit_classes import UnitSet
from .units import ClaimRef, PodClaims, allocation_of, has_finished, is_deleting


class DisruptionTerms(NamedTuple):
    """What may become of a running unit, what a move costs, and what its loss counts.

    ``capacity`` is that of the devices that it holds, in thousandths of the largest one of their driver. ``ties`` are
    the numbers of those that it is in; a claim that several pods have is no victim itself. ``budgets`` count its loss,
    and its move as well unless it ``moves_uncounted``.
    """

    movable: bool = True
    evictable: bool = False
    priority: int = 0
    budgets: tuple[ObjectKey, ...] = ()
    ties: tuple[int, ...] = ()
    cost: int = 0
    devices: int = 0
    capacity: int = 0
    is_claim: bool = False
    moves_uncounted: bool = False

    @property
    def counted(self) -> tuple[ObjectKey, ...]:
        """The budgets that count its move."""
        return () if self.moves_uncounted else self.budgets


MOVES_FREELY = DisruptionTerms()
"""What holds of running pods where none may be lost: they may move, alone."""


@dataclass(frozen=True, slots=True)
class PodTie:
    """Pods that go together: all or none, or down to ``least`` of them; ``label`` names what ties them."""

    label: str
    members: frozenset[ObjectKey]
    least: int | None = None
    may_go: bool = True


@dataclass(frozen=True, slots=True)
class SharedClaim:
    """A claim that is free once all ``users`` are gone. ``group``: its PodGroup has to be deleted, too."""

    ref: ClaimRef
    claim: ResourceClaim
    node: str
    users: frozenset[ObjectKey]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Evictions:
    """Running pods that may lose their places by namespace and name, with the claims that go with each alone.

    ``pod_ties`` say who goes together, ``shared`` are claims that several of them have.
    """

    pods: Mapping[ObjectKey, RunningPod] = field(default_factory=dict)
    own: Mapping[ObjectKey, frozenset[ObjectKey]] = field(default_factory=dict)
    pod_ties: tuple[PodTie, ...] = ()
    shared: Mapping[ObjectKey, SharedClaim] = field(default_factory=dict)

    def without(self, pods: Collection[ObjectKey], claims: Collection[ObjectKey]) -> Evictions:
        """Without these pods and shared claims, which stay, and all that goes with them alone."""
        left = self
        while pods:
            there = {key: one for key, one in left.pods.items() if key not in pods}
            ties = tuple(tie for tie in left.pod_ties if tie.members <= there.keys())
            shared = {key: one for key, one in left.shared.items() if one.users <= there.keys()}
            torn = {key for tie in left.pod_ties if not tie.members <= there.keys() for key in tie.members}
            left, pods = Evictions(there, left.own, ties, shared), torn & there.keys()
        kept = {key: one for key, one in left.shared.items() if key not in claims}
        return Evictions(left.pods, left.own, left.pod_ties, kept)


def preempting_units(cluster: Cluster, gates: FeatureGates, **narrowed: Any) -> tuple[int | None, frozenset[GangKey]]:
    """The highest priority of what waits and may take others' places, None if nothing does, and the gangs that wait.

    ``narrowed`` are arguments of ``read_queue``.
    """
    sets = [one for one in read_queue(cluster, gates=gates, **narrowed) if one.numbers]
    gangs = {(one.gang.kind, one.gang.namespace, one.gang.name) for one in sets if one.gang is not None}
    highest = max((one.shape.priority for one in sets if preempts(cluster, gates, one)), default=None)
    return highest, frozenset(gangs)


def preempts(cluster: Cluster, gates: FeatureGates, one: UnitSet) -> bool:
    """Whether others may lose their places for these units; a PodGroup says so for its members (EVT-1, EVT-13)."""
    if one.pod is None:
        return False
    named, group = one.pod.spec.scheduling_group, None
    if named is not None and gates.pod_groups:
        group = cluster.pod_groups.get((one.namespace, named.pod_group_name or ""))
    if group is not None and group.spec.preemption_policy:
        return may_preempt(group.spec, cluster.priority_classes)
    return may_preempt(one.pod.spec, cluster.priority_classes)


def read_evictions(
    cluster: Cluster,
    gates: FeatureGates,
    running: Mapping[ObjectKey, RunningPod],
    below: int,
    waiting: Collection[GangKey] = (),
) -> Evictions:
    """Find the running pods of a priority below this one that may lose their places (EVT-17).

    Members of gangs that have others ``waiting`` stay: what waits counts on them.
    """
    there = {key: one for key, one in running.items() if not one.kept and one.priority < below}
    there = {key: one for key, one in there.items() if one.gang not in waiting}
    return _EvictionReader(cluster, gates, running, there).read()


class _EvictionReader:
    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        running: Mapping[ObjectKey, RunningPod],
        there: dict[ObjectKey, RunningPod],
    ) -> None:
        self._cluster = cluster
        self._running = running
        self._gangs = GangCollector(cluster, gates)
        self._usage = cluster.usage(gates)
        self._pods = there
        self._homes = home_of_pools(cluster)
        self._group_members: dict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        for key, pod in cluster.pods.items():
            named = pod.spec.scheduling_group
            if named is not None and named.pod_group_name and not has_finished(pod):
                self._group_members[key[0], named.pod_group_name].add(key)

    def read(self) -> Evictions:
        ties = list(self._pod_ties())
        claims = PodClaims(self._cluster)
        refs = {
            key: (*claims.claims_of(pod), *claims.extended_claim_of(pod)) for key, pod in self._cluster.pods.items()
        }
        users: dict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        for key, own in refs.items():
            for ref in own if not has_finished(self._cluster.pods[key]) else ():
                users[ref.key].add(key)
        alone: dict[ObjectKey, frozenset[ObjectKey]] = {}
        shared: dict[ObjectKey, SharedClaim] = {}
        for key, one in self._pods.items():
            mine = set[ObjectKey]()
            for ref in refs[key]:
                known = shared.get(ref.key) or self._freed(ref, one, users[ref.key])
                if known is None:
                    continue
                if known.users == {key} and not known.group:
                    mine.add(ref.key)
                else:
                    shared[ref.key] = known
            alone[key] = frozenset(mine)
        return Evictions(self._pods, alone, tuple(ties), shared)

    def _freed(self, ref: ClaimRef, one: RunningPod, users: Collection[ObjectKey]) -> SharedClaim | None:
        """The claim with all who have to go before its devices are free; None if not all of them may go."""
        claim, made = ref.claim, allocation_of(ref)
        results = (made.devices.results if made else None) or ()
        if claim is None or not results or ref.problem:
            return None
        needed = set(users)
        group = ref.group
        for consumer in (claim.status.reserved_for if claim.status else None) or ():
            if consumer.resource == "podgroups":
                group = consumer.name
            else:
                key = ref.namespace, consumer.name
                pod = self._cluster.pods.get(key)
                if pod is None or not has_finished(pod):
                    needed.add(key)
        if group:
            members = self._group_members.get((ref.namespace, group))
            if not members:
                # A group that has no pods here is not known to end.
                return None
            needed |= members
        if not needed <= self._pods.keys():
            return None
        for result in results:
            device = result.driver, result.pool, result.device
            holds = self._usage.holds(device)
            twice = len(holds) > 1 and any(hold.share_id is None for hold in holds)
            if result.admin_access or self._homes.get(device[:2]) != one.node or twice:
                return None
        return SharedClaim(ref, claim, one.node, frozenset(needed), group)

    def _pod_ties(self) -> Iterator[PodTie]:
        """Yield what ties pods together. Those that would be torn may not go."""
        members: dict[Hashable, set[ObjectKey]] = defaultdict(set)
        for key, pod in running_pods(self._cluster).items():
            one = self._running.get(key)
            if one is not None and one.gang is not None:
                members[one.gang].add(key)
            labels = pod.metadata.labels or {}
            for names in RESTARTING_TOGETHER.values():
                if names[0] in labels:
                    members[key[0], *(labels.get(name, "") for name in names)].add(key)
        terms: dict[Hashable, tuple[str, int | None]] = dict.fromkeys(members, ("pods that restart together", None))
        gangs = dict.fromkeys(one.gang for one in self._running.values() if one.gang is not None)
        terms.update((gang, self._terms(gang)) for gang in gangs if gang in members)
        while torn := [
            key
            for tie, own in members.items()
            if terms[tie][1] is None and not own <= self._pods.keys()
            for key in own & self._pods.keys()
        ]:
            for key in torn:
                self._pods.pop(key, None)
        for tie, own in members.items():
            (label, least), there = terms[tie], own & self._pods.keys()
            if there and least != 0:
                fixed = len(own) - len(there)
                # A gang that lost members runs on; it is as large as it is.
                left = None if least is None else max(0, min(least, len(own)) - fixed)
                yield PodTie(label, frozenset(there), left, not fixed)

    def _terms(self, key: GangKey) -> tuple[str, int | None]:
        """How messages name a gang, and how many have to stay unless all go; None: all."""
        group = self._cluster.pod_groups.get(key[1:]) if key[0] == "PodGroup" else None
        gang = self._gangs.gang(key)
        least = gang.minimum if gang is not None else 0
        if group is not None and (group.is_disrupted_whole or group.spec.parent_composite_pod_group_name):
            least = None
        return f"{key[0]} {key[1]}/{key[2]}", least


def waiting_again(pod: Pod) -> Pod:
    """A pod that runs, as one that waits: it keeps the names of the claims that were made for it."""
    status = pod.status or PodStatus()
    kept = PodStatus(
        phase="Pending",
        resource_claim_statuses=status.resource_claim_statuses,
        extended_resource_claim_status=status.extended_resource_claim_status,
    )
    return replace(pod, spec=replace(pod.spec, node_name=None), status=kept)


def emptied_cluster(cluster: Cluster, members: Collection[ObjectKey]) -> Cluster:
    """The cluster without running pods, but for those that are parts of their nodes; the ``members`` among them wait.

    Claims that no pod left has are free, unless something other than pods and PodGroups has reserved them.
    """
    running = running_pods(cluster)
    kept = {key for key, pod in running.items() if goes_with_its_node(pod) and not is_deleting(pod.metadata)}
    claims = PodClaims(cluster)
    held = {ref.key for key in kept for ref in claims.claims_of(running[key])}
    held.update(ref.key for key in kept for ref in claims.extended_claim_of(running[key]))
    emptied: list[ResourceClaim] = []
    for key, claim in cluster.claims.items():
        if claim.status is None or key in held:
            continue
        consumers = claim.status.reserved_for or ()
        if all(
            one.resource == "podgroups" or (one.resource == "pods" and (key[0], one.name) not in kept)
            for one in consumers
        ):
            emptied.append(replace(claim, status=None))
    again = [waiting_again(running[key]) for key in members if key in running and key not in kept]
    waiting = {key_of(pod.metadata) for pod in again if not is_deleting(pod.metadata)}
    return (
        cluster.without(pods=running.keys() - kept - waiting)
        .with_pods(pod for pod in again if key_of(pod.metadata) in waiting)
        .with_claims(emptied)
    )


class ClaimHolders:
    """Who has each claim of a cluster, so that it is known which are free once pods are gone (EVT-18)."""

    def __init__(self, cluster: Cluster) -> None:
        self._claims = cluster.claims
        self._finished = {key for key, pod in cluster.pods.items() if has_finished(pod)}
        self._users: dict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        self._own: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
        claims = PodClaims(cluster)
        for key, pod in cluster.pods.items():
            refs = *claims.claims_of(pod), *claims.extended_claim_of(pod)
            self._own[key] = tuple(ref.key for ref in refs)
            for ref in refs if key not in self._finished else ():
                self._users[ref.key].add(key)

    def claims_of(self, pod: ObjectKey) -> tuple[ObjectKey, ...]:
        """The claims of a pod, by its namespace and name."""
        return self._own[pod]

    def freed(self, leaving: Iterable[ObjectKey], gone: Collection[ObjectKey]) -> list[ObjectKey]:
        """The claims of pods that are leaving which nobody has once these pods are gone; those of PodGroups stay."""
        return [
            key for key in dict.fromkeys(key for pod in leaving for key in self._own[pod]) if self._is_freed(key, gone)
        ]

    def _is_freed(self, key: ObjectKey, gone: Collection[ObjectKey]) -> bool:
        claim = self._claims.get(key)
        if claim is None or claim.status is None or any(user not in gone for user in self._users[key]):
            return False
        named = [(one.resource, (key[0], one.name)) for one in claim.status.reserved_for or ()]
        return all(kind == "pods" and (pod in gone or pod in self._finished) for kind, pod in named)


def leaving_pods(cluster: Cluster) -> Cluster:
    """The cluster once the pods that are being deleted are gone, with the claims that nobody else has."""
    gone = {key for key, pod in running_pods(cluster).items() if is_deleting(pod.metadata)}
    if not gone:
        return cluster
    freed = [cluster.claims[key] for key in ClaimHolders(cluster).freed(gone, gone)]
    made = [claim for claim in freed if any(_makes(owner) for owner in claim.metadata.owner_references or ())]
    emptied = [replace(claim, status=None) for claim in freed if claim not in made]
    return cluster.without(pods=gone, claims=[key_of(claim.metadata) for claim in made]).with_claims(emptied)


def _makes(owner: OwnerReference) -> bool:
    return bool(owner.controller) and owner.kind == "Pod"
