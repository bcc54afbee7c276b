"""Choosing a flavor for each resource of a pod set, with modes, borrow levels and reasons (kueue-dra 4.3 to 4.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Protocol

from ...models.cluster.node_fit import pod_fits, tolerates
from ...models.kubernetes.core import Affinity, Node, NodeAffinity, NodeSelector, NodeSelectorTerm, PodSpec
from ...models.kubernetes.kueue import KueuePodSet, ResourceFlavor
from ...models.kubernetes.meta import ObjectMeta
from .amounts import visiting_order, written_amount
from .counting import PodSetCharge
from .queues import ClusterQueueState, ResourceGroup
from .quota_tree import FlavorResource
from .workload_state import TriedFlavors, WorkloadState

PODS = "pods"
_TAINT_EFFECTS = ("NoSchedule", "NoExecute")
TRY_NEXT = "TryNextFlavor"


class FlavorMode(IntEnum):
    """What quota of a flavor does for a request, from worst to best."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


_MODE_WORDS = {
    FlavorMode.NO_FIT: "NoFit",
    FlavorMode.NO_CANDIDATES: "preemptionMode=NoCandidates",
    FlavorMode.PREEMPT: "preemptionMode=Preempt",
    FlavorMode.RECLAIM: "preemptionMode=Reclaim",
    FlavorMode.FIT: "Fit",
}


class AssignmentMode(IntEnum):
    """What a workload needs: more than there is, victims, or nothing."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2


class Blocker(IntEnum):
    """Why there is no quota, from mild to severe; the names are the reasons of QuotaReserved=False."""

    NONE = 0
    TopologyPlacementFailed = 1
    WaitingForQuota = 2
    ExceedsMaxQuota = 3
    NoMatchingFlavor = 4

    @property
    def reason(self) -> str:
        """The reason as Kueue writes it; it is empty where Kueue computes none (corrections 4)."""
        return "" if self is Blocker.NONE else self.name


class PreemptionOracle(Protocol):
    """Who could be preempted for an amount of one pair."""

    def simulate(
        self, workload: WorkloadState, queue: ClusterQueueState, pair: FlavorResource, amount: int
    ) -> tuple[FlavorMode, int]:
        """The mode, and the borrow level after the preemption."""


@dataclass(slots=True)
class FlavorChoice:
    """The flavor of one resource of a pod set; ``tried`` is the index of the last one looked at."""

    flavor: str
    mode: FlavorMode
    borrow_level: int
    tried: int = -1


class FlavorAttempt(NamedTuple):
    """A flavor that was looked at and does not just fit, with the reasons."""

    flavor: str
    mode: FlavorMode
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        mode = _MODE_WORDS[self.mode]
        return f"{self.flavor}({';'.join((mode, *self.reasons))})"


@dataclass(slots=True)
class PodSetChoice:
    """The flavors of a pod set, or why it has none; ``attempts`` are those that were passed over."""

    name: str
    count: int
    requests: Mapping[str, int]
    flavors: dict[str, FlavorChoice] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    attempts: Sequence[FlavorAttempt] = ()

    @property
    def mode(self) -> AssignmentMode:
        """The worst mode of its resources."""
        if not self.reasons:
            return AssignmentMode.FIT
        if not self.flavors:
            return AssignmentMode.NO_FIT
        for choice in self.flavors.values():
            if choice.mode is not FlavorMode.FIT:
                return AssignmentMode.PREEMPT
        return AssignmentMode.FIT


@dataclass(slots=True)
class Assignment:
    """The flavors of all pod sets that were looked at, what they use together, and their worst mode."""

    pod_sets: list[PodSetChoice] = field(default_factory=list)
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    borrow_level: int = 0
    blocker: Blocker = Blocker.NONE
    tried: list[dict[str, int]] = field(default_factory=list)
    mode: AssignmentMode = AssignmentMode.NO_FIT

    @property
    def message(self) -> str:
        """Why pod sets have no flavor, or none without a preemption, in Kueue's words."""
        return "; ".join(
            f"couldn't assign flavors to pod set {one.name}: {', '.join(sorted(one.reasons))}"
            for one in self.pod_sets
            if one.reasons
        )

    @property
    def considered(self) -> str:
        """The flavors that were passed over for others, as the event of a reservation names them; empty if none was."""
        passed = [f"{one.name}: {', '.join(map(str, one.attempts))}" for one in self.pod_sets if one.attempts]
        return f"; Flavors considered: {'; '.join(passed)}" if passed else ""

    @property
    def contested(self) -> set[FlavorResource]:
        """The pairs for which someone has to be preempted."""
        return {
            (choice.flavor, resource)
            for one in self.pod_sets
            for resource, choice in one.flavors.items()
            if choice.mode is not FlavorMode.FIT
        }

    @property
    def nominated(self) -> list[dict[str, str]]:
        """The flavor of each resource, by pod set."""
        return [{name: choice.flavor for name, choice in one.flavors.items()} for one in self.pod_sets]


class _GroupChoice(NamedTuple):
    """What came of the flavors of one resource group."""

    flavors: dict[str, FlavorChoice] | None
    reasons: list[str]
    blocker: Blocker
    attempts: Sequence[FlavorAttempt] = ()


class FlavorAssigner:
    """Assigns flavors against the usage at the moment."""

    def __init__(
        self,
        flavors: Mapping[str, ResourceFlavor],
        oracle: PreemptionOracle,
        *,
        fair_sharing: bool = False,
        ignore_undeclared: bool = False,
    ) -> None:
        self._flavors = flavors
        self._oracle = oracle
        self._fair_sharing = fair_sharing
        self._ignore_undeclared = ignore_undeclared

    def assign(
        self,
        workload: WorkloadState,
        queue: ClusterQueueState,
        counts: Sequence[int] | None = None,
        nominated: Sequence[Mapping[str, str]] | None = None,
    ) -> Assignment:
        """Choose flavors for all pod sets, in order, until one gets none.

        ``counts`` are the pods of each set, for a partial admission. With ``nominated`` each resource can only have
        the flavor that it has there.
        """
        choice = Assignment()
        charges = workload.charged if counts is None else _scaled(workload.charged, counts)
        for members in _groups(workload.pod_sets):
            if not self._assign_group(workload, queue, charges, members, nominated, choice):
                break
        return choice

    def _assign_group(
        self,
        workload: WorkloadState,
        queue: ClusterQueueState,
        charges: Sequence[PodSetCharge],
        members: Sequence[int],
        nominated: Sequence[Mapping[str, str]] | None,
        choice: Assignment,
    ) -> bool:
        """Choose flavors for pod sets that are decided together; False if there is none for a resource."""
        requests = {index: charges[index].requests for index in members}
        if PODS in queue.group_of:
            requests = {index: {**one, PODS: charges[index].count} for index, one in requests.items()}
        total = requests[members[0]]
        if len(members) > 1:
            total = Counter[str]()
            for one in requests.values():
                total.update(one)
        flavors: dict[str, FlavorChoice] = {}
        reasons: list[str] = []
        attempts: list[FlavorAttempt] = []
        failed, blocker = False, Blocker.NONE
        order = visiting_order(tuple(total))
        for resource in order:
            group = queue.group_of.get(resource)
            if resource in flavors or (group is None and (total[resource] == 0 or self._ignore_undeclared)):
                continue
            if group is None:
                if not flavors:
                    blocker = Blocker.NoMatchingFlavor
                flavors, reasons, failed = {}, [f"resource {resource} unavailable in ClusterQueue"], True
                break
            wanted = [name for name in order if name in group.resources]
            found = self._try_flavors(workload, queue, group, wanted, resource, members, total, nominated, choice.usage)
            blocker = max(blocker, found.blocker)
            if found.flavors is None:
                flavors, reasons, failed = {}, found.reasons, True
                break
            flavors.update(found.flavors)
            reasons.extend(found.reasons)
            attempts.extend(found.attempts)
        if reasons:
            choice.blocker = max(choice.blocker, blocker)
        for index in members:
            self._append(choice, charges[index], requests[index], flavors, reasons)
            choice.pod_sets[-1].attempts = attempts
        return not failed

    @staticmethod
    def _append(
        choice: Assignment,
        charge: PodSetCharge,
        requests: Mapping[str, int],
        flavors: Mapping[str, FlavorChoice],
        reasons: list[str],
    ) -> None:
        own = {resource: flavors[resource] for resource in requests if resource in flavors}
        found = PodSetChoice(charge.name, charge.count, requests, own, list(reasons))
        choice.mode = min(choice.mode, found.mode) if choice.pod_sets else found.mode
        choice.pod_sets.append(found)
        for resource, chosen in own.items():
            pair = chosen.flavor, resource
            choice.usage[pair] = choice.usage.get(pair, 0) + requests[resource]
            choice.borrow_level = max(choice.borrow_level, chosen.borrow_level)
        choice.tried.append({resource: chosen.tried for resource, chosen in own.items()})

    def _try_flavors(
        self,
        workload: WorkloadState,
        queue: ClusterQueueState,
        group: ResourceGroup,
        wanted: Sequence[str],
        resource: str,
        members: Sequence[int],
        total: Mapping[str, int],
        nominated: Sequence[Mapping[str, str]] | None,
        used: Mapping[FlavorResource, int],
    ) -> _GroupChoice:
        """Walk the flavors of the group, from the one after that tried last."""
        start = workload.tried.next_index(members[0], resource) if workload.tried is not None else 0
        best: dict[str, FlavorChoice] | None = None
        best_mode = (FlavorMode.NO_FIT, 0)
        reasons: list[str] = []
        attempts: list[FlavorAttempt] = []
        mildest: Blocker | None = None
        last = -1
        for last in range(start, len(group.flavors)):
            flavor = group.flavors[last]
            misfit = self._misfit(workload, members, flavor, resource, nominated)
            if misfit is not None:
                reasons.append(misfit)
                attempts.append(FlavorAttempt(flavor, FlavorMode.NO_FIT, (misfit,)))
                mildest = _milder(mildest, Blocker.NoMatchingFlavor)
                continue
            choices: dict[str, FlavorChoice] = {}
            mode, blocker, said = (FlavorMode.FIT, 0), Blocker.NONE, len(reasons)
            for name in wanted:
                pair = flavor, name
                one, level, text, blocks = self._fit(workload, queue, pair, used.get(pair, 0), total[name])
                blocker = max(blocker, blocks)
                if text:
                    reasons.append(text)
                if one is FlavorMode.FIT and mode[0] is FlavorMode.FIT:
                    if level > mode[1]:
                        mode = one, level
                elif _better(mode, (one, level), queue):
                    mode = one, level
                choices[name] = FlavorChoice(flavor, one, level)
            if mode[0] is not FlavorMode.FIT:
                attempts.append(FlavorAttempt(flavor, mode[0], tuple(reasons[said:])))
            if blocker is not Blocker.NONE:
                mildest = _milder(mildest, blocker)
            if not _goes_on(mode, queue):
                best, best_mode = choices, mode
                break
            if _better(mode, best_mode, queue):
                best, best_mode = choices, mode
        for chosen in (best or {}).values():
            chosen.tried = -1 if last == len(group.flavors) - 1 else last
        if best is not None and best_mode[0] is FlavorMode.FIT:
            return _GroupChoice(best, [], mildest or Blocker.NONE, attempts)
        # The server refuses groups without flavors, and Kueue has no words for them.
        texts = reasons or [f"no flavor for resource {resource}"]
        return _GroupChoice(best, texts, Blocker.NoMatchingFlavor if mildest is None else mildest)

    def _misfit(
        self,
        workload: WorkloadState,
        members: Sequence[int],
        flavor: str,
        resource: str,
        nominated: Sequence[Mapping[str, str]] | None,
    ) -> str | None:
        if nominated is not None:
            fixed = nominated[members[0]] if members[0] < len(nominated) else {}
            if fixed.get(resource) != flavor:
                return f"skipping flavor {flavor} as it is not found in the nomination mapping for resource {resource}"
        for index in members:
            place = index, flavor
            if place not in workload.misfits:
                workload.misfits[place] = flavor_misfit(workload.pod_sets[index], flavor, self._flavors.get(flavor))
            if workload.misfits[place] is not None:
                return workload.misfits[place]
        return None

    def _fit(
        self, workload: WorkloadState, queue: ClusterQueueState, pair: FlavorResource, used: int, asked: int
    ) -> tuple[FlavorMode, int, str, Blocker]:
        """The mode, borrow level, reason and blocker of one pair."""
        flavor, resource = pair
        amount = used + asked
        quota = queue.node.by_pair[pair]
        most = queue.node.potential(pair) if quota.potential is None else quota.potential
        if amount > most:
            before, now, limit = [written_amount(resource, one) for one in (used, asked, most)]
            text = (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({before}) + current podset request ({now}) > maximum capacity ({limit})"
            )
            return FlavorMode.NO_FIT, 0, text, Blocker.ExceedsMaxQuota
        level, may_reclaim = quota.height_that_holds(amount)
        available = max(0, quota.available())
        if amount <= available:
            return FlavorMode.FIT, level, "", Blocker.NONE
        more = written_amount(resource, amount - available)
        text = f"insufficient unused quota for {resource} in flavor {flavor}, {more} more needed"
        preemption = queue.spec.preemption
        while_borrowing = preemption.borrow_within_cohort.policy != "Never" or (
            self._fair_sharing and preemption.reclaim_within_cohort != "Never"
        )
        if amount <= quota.nominal or may_reclaim or while_borrowing:
            mode, level = self._oracle.simulate(workload, queue, pair, amount)
            return mode, level, text, Blocker.WaitingForQuota
        return FlavorMode.NO_FIT, level, text, Blocker.WaitingForQuota


def _groups(pod_sets: Sequence[KueuePodSet]) -> list[list[int]]:
    """The indices of pod sets that are decided together, in order."""
    if len(pod_sets) == 1:
        return [[0]]
    found: dict[object, list[int]] = {}
    for index, one in enumerate(pod_sets):
        name = one.topology_request.pod_set_group_name if one.topology_request else None
        found.setdefault(index if name is None else name, []).append(index)
    return list(found.values())


def _scaled(charges: Sequence[PodSetCharge], counts: Sequence[int]) -> list[PodSetCharge]:
    return [scaled_charge(charge, count) for charge, count in zip(charges, counts, strict=True)]


def scaled_charge(charge: PodSetCharge, count: int) -> PodSetCharge:
    """What fewer pods of the set are charged as."""
    if charge.count in (0, count):
        return charge
    requests = {name: amount // charge.count * count for name, amount in charge.requests.items()}
    return PodSetCharge(charge.name, count, requests)


def tried_flavors(choice: Assignment, queue: ClusterQueueState, cycle: int) -> TriedFlavors:
    """What is remembered of an attempt."""
    return TriedFlavors(choice.tried, queue.generation, cycle)


def _milder(one: Blocker | None, other: Blocker) -> Blocker:
    return other if one is None else min(one, other)


def _better(one: tuple[FlavorMode, int], other: tuple[FlavorMode, int], queue: ClusterQueueState) -> bool:
    """Whether the first mode and borrow level are preferred to the second."""
    if one[0] is FlavorMode.NO_FIT or other[0] is FlavorMode.NO_FIT:
        return one[0] > other[0]
    if (one[0] is FlavorMode.NO_CANDIDATES) is not (other[0] is FlavorMode.NO_CANDIDATES):
        return one[0] > other[0]
    if queue.spec.flavor_fungibility.preference == "PreemptionOverBorrowing":
        return (-one[1], one[0]) > (-other[1], other[0])
    return (one[0], -one[1]) > (other[0], -other[1])


def _goes_on(mode: tuple[FlavorMode, int], queue: ClusterQueueState) -> bool:
    """Whether the next flavor is tried after one of this mode and borrow level."""
    rules = queue.spec.flavor_fungibility
    if mode[0] <= FlavorMode.NO_CANDIDATES:
        return True
    if mode[0] is not FlavorMode.FIT and rules.when_can_preempt == TRY_NEXT:
        return True
    return mode[1] > 0 and rules.when_can_borrow == TRY_NEXT


def flavor_misfit(pod_set: KueuePodSet, name: str, flavor: ResourceFlavor | None) -> str | None:
    """Why pods of the set cannot be on nodes of the flavor (kueue-dra 4.3, step 2); None if they can."""
    if flavor is None:
        return f"flavor {name} not found"
    spec, pods = flavor.spec, pod_set.template.spec
    if pod_set.topology_request is not None and spec.topology_name is None:
        return f'Flavor "{name}" does not support TopologyAwareScheduling'
    tolerations = [*(pods.tolerations or ()), *(spec.tolerations or ())]
    for taint in spec.node_taints or ():
        if taint.effect in _TAINT_EFFECTS and not any(tolerates(one, taint) for one in tolerations):
            return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {name}"
    labels = spec.node_labels or {}
    if not pods.node_selector and pods.affinity is None:
        return None
    if pod_fits(_restricted(pods, labels), Node(metadata=ObjectMeta(labels=labels))):
        return f"flavor {name} doesn't match node affinity"
    return None


def _restricted(pods: PodSpec, labels: Mapping[str, str]) -> PodSpec:
    """What the pods ask of labels that the flavor has; a term that asks nothing of them makes all terms vacuous."""
    selector = {key: value for key, value in (pods.node_selector or {}).items() if key in labels}
    affinity = pods.affinity.node_affinity if pods.affinity else None
    terms = []
    for term in (affinity.required.node_selector_terms or ()) if affinity and affinity.required else ():
        kept = tuple(one for one in term.match_expressions or () if one.key in labels)
        if not kept:
            return PodSpec(node_selector=selector)
        terms.append(NodeSelectorTerm(match_expressions=kept))
    if not terms:
        return PodSpec(node_selector=selector)
    required = NodeSelector(node_selector_terms=tuple(terms))
    return PodSpec(node_selector=selector, affinity=Affinity(node_affinity=NodeAffinity(required=required)))
