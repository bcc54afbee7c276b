"""Whether running pods may lose their places for others, read from the manifests anew (EVT-1, EVT-17, EVT-8).

- PREEMPT-PRIORITY: a victim has a lower priority than something that is placed and whose policy is not Never.
- PREEMPT-KEPT: no victim is a part of its node, a system pod, or one that asks to be left alone.
- PREEMPT-GROUP: a group that is disrupted whole goes whole, and a gang whole or down to its minimum.
- PREEMPT-BUDGET: the PodDisruptionBudgets that allow less are named.

Bounds of plans ask who might leave at all (``LeavingPods``): the more they are, the less a bound says, and it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from msgspec import UNSET
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import GANG_ANNOTATION
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of, matches_labels
from ...models.kubernetes.workloads import BUILT_IN_PRIORITIES, PodDisruptionBudget, default_priority, priority_of
from ...models.results.plan import PlanDocument, PlanVictim
from ...models.workload.node_room import running_pods
from ...models.workload.running import home_of_pools, read_running_pods
from ...models.workload.unit_classes import UnitSet
from ...models.workload.units import is_deleting
from .nodes import NodeLoads
from .payments import is_of_node
from .plan_replay import PlacedUnit
from .verify import Violation

_SYSTEM = 2_000_000_000
_LEAVE_ALONE = (("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"), ("karpenter.sh/do-not-disrupt", "true"))


def preemption_violations(
    cluster: Cluster, units: Sequence[PlacedUnit], victims: Sequence[PlanVictim], *, by_scheduler: bool = False
) -> list[Violation]:
    """Check who loses the place in a plan; ``cluster`` is the one before it, ``units`` are those of the plan.

    What is done ``by_scheduler`` spares nobody but by priority, and may be done in vain (EVT-2).
    """
    reader = _PreemptionReader(cluster, spares=not by_scheduler)
    there = [one for one in units if by_scheduler or one.node is not None]
    placed = [one.unit.pod for one in there if one.unit.pod is not None]
    running = {key for key, pod in cluster.pods.items() if pod.spec.node_name}
    waiting = [pod for pod in placed if key_of(pod.metadata) not in running]
    highest = max((reader.priority(pod) for pod in waiting if reader.may_preempt(pod)), default=None)
    lost = {(one.namespace, one.name) for one in victims}
    found = [violation for one in victims for violation in reader.of_victim(one, highest)]
    return [*found, *(() if by_scheduler else reader.of_groups(lost)), *reader.of_budgets(victims)]


class _PreemptionReader:
    def __init__(self, cluster: Cluster, *, spares: bool) -> None:
        self._cluster = cluster
        self._spares = spares
        defaults = [one.value for one in cluster.priority_classes.values() if one.global_default]
        self._default = min(defaults, default=0)

    def _group(self, pod: Pod) -> ObjectKey | None:
        named = pod.spec.scheduling_group
        key = key_of(pod.metadata)[0], (named.pod_group_name or "") if named else ""
        return key if key in self._cluster.pod_groups else None

    def priority(self, pod: Pod) -> int:
        """The priority of the pod's group, else its own (WLG-10)."""
        group = self._group(pod)
        spec = pod.spec if group is None else self._cluster.pod_groups[group].spec
        if spec.priority is not None:
            return spec.priority
        if not spec.priority_class_name:
            return self._default
        known = self._cluster.priority_classes.get(spec.priority_class_name)
        return known.value if known else BUILT_IN_PRIORITIES.get(spec.priority_class_name, 0)

    def may_preempt(self, pod: Pod) -> bool:
        """Whether its policy, that of its group, or that of their class is another one than Never."""
        group = self._group(pod)
        policies = [self._cluster.pod_groups[group].spec.preemption_policy] if group else []
        policies.append(pod.spec.preemption_policy)
        known = self._cluster.priority_classes.get(pod.spec.priority_class_name)
        policies.append(known.preemption_policy if known else "")
        return next((one for one in policies if one), "") != "Never"

    def of_victim(self, victim: PlanVictim, highest: int | None) -> Iterator[Violation]:
        """Yield why one may not lose its place."""
        label, pod = f"pod {victim.namespace}/{victim.name}", self._cluster.pods.get((victim.namespace, victim.name))
        if pod is None or pod.spec.node_name != victim.node:
            yield Violation("STEP-POD", "", f"{label} does not run on node {victim.node}")
            return
        priority = self.priority(pod)
        if highest is None or priority >= highest or victim.priority != priority:
            said = "nothing placed may take places" if highest is None else f"the highest that is placed is {highest}"
            yield Violation("PREEMPT-PRIORITY", "", f"{label} has priority {priority}, and {said}")
        if self._spares and (self.has_to_stay(pod) or priority >= _SYSTEM):
            yield Violation("PREEMPT-KEPT", "", f"{label} has to stay")

    @staticmethod
    def has_to_stay(pod: Pod) -> bool:
        """Whether it is a part of its node, or asks to be left alone."""
        annotations = pod.metadata.annotations or {}
        return is_of_node(pod) or any(annotations.get(key) == value for key, value in _LEAVE_ALONE)

    def of_groups(self, lost: set[ObjectKey]) -> Iterator[Violation]:
        """Yield groups of which more or fewer go than may."""
        groups: dict[tuple[str, ...], set[ObjectKey]] = defaultdict(set)
        for key, pod in self._cluster.pods.items():
            if not pod.spec.node_name or (pod.status and pod.status.phase in ("Succeeded", "Failed")):
                continue
            gang, group = (pod.metadata.annotations or {}).get(GANG_ANNOTATION), self._group(pod)
            if gang is not None:
                groups["Gang", key[0], gang].add(key)
            elif group is not None:
                groups["PodGroup", *group].add(key)
        for name, members in groups.items():
            left, least = members - lost, len(members)
            if name[0] == "PodGroup" and not self._cluster.pod_groups[name[1], name[2]].is_disrupted_whole:
                policy = self._cluster.pod_groups[name[1], name[2]].spec.scheduling_policy.gang
                least = (policy.min_count or 0) if policy else 0
            if left and left != members and len(left) < least:
                said = f"{len(left)} of its {len(members)} running pods are left, {least} have to be"
                yield Violation("PREEMPT-GROUP", "", f"{name[0]} {name[1]}/{name[2]}: {said}")

    def of_budgets(self, victims: Sequence[PlanVictim]) -> Iterator[Violation]:
        """Yield budgets that allow less and are not named, or are named and allow it."""
        for name, budget in self._cluster.objects(PodDisruptionBudget).items():
            label = "/".join(name)
            # Of victims that are not there ``of_victim`` tells.
            there = ((one, self._cluster.pods.get((one.namespace, one.name))) for one in victims)
            own = [one for one, pod in there if pod is not None and counts_loss(budget, pod)]
            exceeded = len(own) > (budget.status.disruptions_allowed if budget.status else 0)
            if any((label in one.budgets) != exceeded for one in own):
                yield Violation("PREEMPT-BUDGET", "", f"PodDisruptionBudget {label}: {len(own)} of its pods go")


def counts_loss(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the loss of a pod uses one of those that a budget allows; not if it is on its way out by then (EVT-5)."""
    (namespace, name), selector = key_of(pod.metadata), budget.spec.selector
    if namespace != key_of(budget.metadata)[0] or selector is None:
        return False
    gone = (budget.status.disrupted_pods if budget.status else None) or {}
    return name not in gone and matches_labels(selector.requirements, pod.metadata.labels)


def counts_move(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether an eviction uses one: not of a pod that is not ready, if the budget is healthy or says so (MOV-3)."""
    conditions = (pod.status.conditions if pod.status else None) or ()
    if all(one.status == "True" for one in conditions if one.type == "Ready"):
        return counts_loss(budget, pod)
    status = budget.status
    lets_go = budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
    lets_go |= status is not None and 0 < status.desired_healthy <= status.current_healthy
    return not lets_go and counts_loss(budget, pod)


@dataclass(frozen=True, slots=True)
class ConsumedClaims:
    """Who has to go before a claim is free, and the claims that wait for each pod: those reserved for it (EVT-18)."""

    pods_of: Mapping[ObjectKey, frozenset[ObjectKey]]
    claims_of: Mapping[ObjectKey, Sequence[ObjectKey]]

    @classmethod
    def of(cls, cluster: Cluster) -> ConsumedClaims:
        """Read what claims are reserved for, and which pods name them; a PodGroup goes with the last of its pods."""
        users: dict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        members: dict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        for key, pod in cluster.pods.items():
            if pod.status is not None and pod.status.phase in ("Succeeded", "Failed"):
                continue
            statuses = (pod.status.resource_claim_statuses if pod.status is not None else None) or ()
            made = {entry.resource_claim_name or "" for entry in statuses}
            for entry_name in {entry.resource_claim_name or "" for entry in pod.spec.resource_claims or ()} | made:
                users[key[0], entry_name].add(key)
            if pod.spec.scheduling_group is not None:
                members[key[0], pod.spec.scheduling_group.pod_group_name or ""].add(key)
        pods_of: dict[ObjectKey, frozenset[ObjectKey]] = {}
        claims_of: dict[ObjectKey, list[ObjectKey]] = defaultdict(list)
        for name, claim in cluster.claims.items():
            own = set(users.get(name, ()))
            for one in (claim.status.reserved_for if claim.status else None) or ():
                key = name[0], one.name
                # A group that has no pods here is not known to end.
                own |= (members.get(key) or {key}) if one.resource == "podgroups" else {key}
            pods_of[name] = frozenset(own)
            for key in own:
                claims_of[key].append(name)
        return cls(pods_of, claims_of)


@dataclass(frozen=True, slots=True, eq=False)
class LeavingPod:
    """A running pod that may lose its place, or move; ``devices`` are in use as long as it stays on its node.

    ``freed`` of them nobody else keeps; ``taken`` is what it takes of the node beside devices.
    """

    key: ObjectKey
    node: str
    may_be_lost: bool
    may_move: bool
    priority: int
    devices: tuple[DeviceId, ...]
    freed: int
    taken: Mapping[str, int]


class LeavingPods:
    """The running pods that may leave their nodes in a plan, or more than these, and what is free once all have left.

    Those of a lower priority than one of those ``waiting`` may lose their places; budgets, groups, storage, owners and
    what the plan is narrowed to keep none of them here.
    """

    def __init__(
        self, cluster: Cluster, gates: FeatureGates, waiting: Iterable[UnitSet], *, moves: bool, preempts: bool
    ) -> None:
        self._cluster, self._gates = cluster, gates
        reader = _PreemptionReader(cluster, spares=True)
        # What a group says of its members is not looked into, and the lower of two readings of a priority counts.
        pods = ((one.pod, one.shape.priority) for one in waiting if one.pod is not None and preempts)
        asking = ((pod, level) for pod, level in pods if pod.spec.scheduling_group or reader.may_preempt(pod))
        highest = max((max(level, reader.priority(pod)) for pod, level in asking), default=None)
        usual = default_priority(cluster.priority_classes)
        running = running_pods(cluster)
        terms: dict[ObjectKey, tuple[bool, bool]] = {}
        for key, pod in running.items():
            own = min(priority_of(pod.spec, cluster.priority_classes, usual), reader.priority(pod))
            lost, away = highest is not None and own < highest, moves and not is_deleting(pod.metadata)
            if (lost or away) and not reader.has_to_stay(pod):
                terms[key] = lost, away
        self.freed, held = self._read_claims(terms, running)
        loads = NodeLoads(cluster, gates)
        there = ((key, running[key], *held.get(key, ((), 0))) for key in sorted(terms))
        self.pods = tuple(
            LeavingPod(
                key, pod.spec.node_name or "", *terms[key], reader.priority(pod), devices, freed, loads.taken_by(pod)
            )
            for key, pod, devices, freed in there
        )

    def _read_claims(
        self, gone: Collection[ObjectKey], running: Collection[ObjectKey]
    ) -> tuple[frozenset[ObjectKey], Mapping[ObjectKey, tuple[tuple[DeviceId, ...], int]]]:
        """The claims that may be free, and for each pod the devices that one of them has while the pod stays.

        With these comes how many are lost with it: those of claims that nobody else has, on its node alone (EVT-18).
        """
        consumers = ConsumedClaims.of(self._cluster).pods_of
        homes, held = home_of_pools(self._cluster), Counter[DeviceId]()
        freed = set[ObjectKey]()
        found: dict[ObjectKey, tuple[tuple[DeviceId, ...], int]] = {}
        for name, claim in sorted(self._cluster.claims.items()):
            results = (
                claim.status.allocation.devices.results if claim.status and claim.status.allocation else None
            ) or ()
            held.update((one.driver, one.pool, one.device) for one in results)
            own = consumers[name]
            if own.isdisjoint(gone) or any(key in running and key not in gone for key in own):
                continue
            freed.add(name)
            pods = sorted(own.intersection(gone))
            alone = [one for one in results if not one.admin_access and one.share_id is None]
            devices = tuple((one.driver, one.pool, one.device) for one in alone)
            node = self._cluster.pods[pods[0]].spec.node_name
            reserved = (claim.status.reserved_for if claim.status else None) or ()
            is_own = len(own) == 1 and all(one.resource == "pods" for one in reserved)
            is_own = is_own and all(not one.admin_access and homes[one.driver, one.pool] == node for one in results)
            before = found.get(pods[0], ((), 0))
            found[pods[0]] = (*before[0], *devices), before[1] + (len(devices) if is_own else 0)
        # What two have at once is nobody's alone.
        twice = {device for device, number in held.items() if number > 1}
        return frozenset(freed), {
            key: (tuple(one for one in devices if one not in twice), 0 if twice.intersection(devices) else number)
            for key, (devices, number) in found.items()
        }

    def without(self) -> Cluster:
        """The cluster once all of them have left."""
        emptied = [replace(self._cluster.claims[key], status=None) for key in sorted(self.freed)]
        return self._cluster.without(pods=[one.key for one in self.pods]).with_claims(emptied)

    def weights(self, stage: str) -> Mapping[ObjectKey, tuple[Fraction, Fraction]] | None:
        """What a pod counts in a stage, at least, if it is lost and if it moves; None for one that is not read here."""
        lost: Mapping[ObjectKey, int] = {}
        moved: Mapping[ObjectKey, int] = {}
        head, _, level = stage.partition("=")
        if head == "victims":
            lost = {one.key: 1 for one in self.pods if level in ("", str(one.priority))}
        elif stage == "devices-lost":
            lost = {one.key: one.freed for one in self.pods}
        elif stage == "moves":
            moved = {one.key: 1 for one in self.pods}
        elif stage == "move-cost":
            moved = {key: one.cost for key, one in read_running_pods(self._cluster, self._gates).items()}
        else:
            return None
        return {key: (Fraction(lost.get(key, 0)), Fraction(moved.get(key, 0))) for key in {**lost, **moved}}

    def worth(
        self, leaving: Mapping[ObjectKey, tuple[Fraction, Fraction]]
    ) -> tuple[Fraction, Mapping[ObjectKey, Fraction]]:
        """What they are worth if all that may leave do, in the better way, and what each is worth more if it stays.

        ``leaving`` is what a pod is worth if it is lost, and if it moves.
        """
        total, staying = Fraction(0), {}
        for one in self.pods:
            lost, moved = leaving.get(one.key, (Fraction(0), Fraction(0)))
            best = max([lost] * one.may_be_lost + [moved] * one.may_move)
            total += best
            if best < 0:
                staying[one.key] = -best
        return total, staying


def leaving_asked(document: PlanDocument) -> tuple[bool, bool]:
    """Whether running pods might move in a plan, and whether they might lose their places, as its document tells."""
    heads = {stage.stage.partition("=")[0] for stage in document.objective}
    preempts = document.victims is not UNSET or not heads.isdisjoint(("budgets", "victims"))
    # A plan that was not ended may lack the stages that say so.
    is_whole = preempts and document.outcome == "Optimal"
    leaving = preempts or document.steps is not UNSET
    return not heads.isdisjoint(("moves", "move-cost")) or (leaving and not is_whole), preempts
