"""Whether running pods may lose their places for others, read from the manifests anew (EVT-1, EVT-17, EVT-8).

- PREEMPT-PRIORITY: a victim has a lower priority than something that is placed and whose policy is not Never.
- PREEMPT-KEPT: no victim is a part of its node, a system pod, or one that asks to be left alone.
- PREEMPT-GROUP: a group that is disrupted whole goes whole, and a gang whole or down to its minimum.
- PREEMPT-BUDGET: the PodDisruptionBudgets that allow less are named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import GANG_ANNOTATION
from ...models.kubernetes.meta import ObjectKey, key_of, matches_labels
from ...models.kubernetes.workloads import BUILT_IN_PRIORITIES, PodDisruptionBudget
from ...models.results.plan import PlanVictim
from .plans import PlacedUnit
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
        annotations = pod.metadata.annotations or {}
        owners = [one.kind for one in pod.metadata.owner_references or () if one.controller]
        is_static = "kubernetes.io/config.mirror" in annotations
        asked = any(annotations.get(key) == value for key, value in _LEAVE_ALONE)
        if self._spares and (is_static or asked or priority >= _SYSTEM or {"DaemonSet", "Node"} & set(owners)):
            yield Violation("PREEMPT-KEPT", "", f"{label} has to stay")

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
            selector, label = budget.spec.selector, "/".join(name)
            # Of victims that are not there ``of_victim`` tells.
            there = ((one, self._cluster.pods.get((one.namespace, one.name))) for one in victims)
            own = [
                one
                for one, pod in there
                if pod is not None
                and one.namespace == name[0]
                and (selector is not None and matches_labels(selector.requirements, pod.metadata.labels))
            ]
            exceeded = len(own) > (budget.status.disruptions_allowed if budget.status else 0)
            if any((label in one.budgets) != exceeded for one in own):
                yield Violation("PREEMPT-BUDGET", "", f"PodDisruptionBudget {label}: {len(own)} of its pods go")
