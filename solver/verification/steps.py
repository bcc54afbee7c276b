"""The states between the steps of a plan, each checked by the rules of allocation (MOV-3 to MOV-5).

- STEP-POD: pods that move or are evicted run where the step says; what is placed waits, and runs nowhere.
- STEP-NODE: pods come to nodes that are there; a node joins once, and goes when nothing of the plan's is left on it.
- STEP-TOGETHER: of pods that a controller restarts together all leave their places, or none (MOV-7).
- STEP-BUDGET: no more pods of a PodDisruptionBudget are away at once than it allows, unless the step says so.
- STEP-GROUP: a member of a gang that moves stays in the domain of those that run, and enough of them run for the next
  pod to be placed, unless the step says so (WLG-6, WLG-13).
- STEP-RULES: what arrives keeps the rules of pods about one another (``pod_rules``) beside all that runs by then,
  unless the step says so.
- STEP-END: in the end every placed unit is on its node with its devices, and of what ran the victims alone are gone.

What a pod takes on its node is verified as in any plan, beside everything that runs by then. Moves that follow each
other are looked at together first: what has room beside all that runs before the first of them has room at its turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.node_templates import NODE_TEMPLATE_ANNOTATION
from ...models.kubernetes.workloads import PodDisruptionBudget
from ...models.results.plan import PlanStep, PlanVictim
from ...models.workload.node_room import running_pods
from ...models.workload.queue import GroupMembers, read_groups
from ...models.workload.running import RESTARTING_TOGETHER
from ...models.workload.units import is_deleting
from .payments import is_of_node
from .plan_replay import PlacedUnit
from .pod_amounts import DeviceDraws
from .pod_rules import PlacedPods, asks, keeps_off
from .preemption import ConsumedClaims, counts_loss, counts_move, preemption_violations
from .verify import Placement, Violation, verify

RULES_BROKEN = "its rules about other pods do not hold by then"
"""How the note of a step begins that says so."""


def step_violations(
    cluster: Cluster,
    steps: Sequence[PlanStep],
    units: Sequence[PlacedUnit],
    gates: FeatureGates,
    cel_errors: str,
    victims: Sequence[PlanVictim] = (),
) -> list[Violation]:
    """Replay steps on the cluster before the plan, in which the nodes that are bought are, too.

    ``units`` are those of the plan, of which some run in the cluster. ``victims`` lose their places: see
    ``preemption_violations``.
    """
    lost = frozenset((one.namespace, one.name) for one in victims)
    state = _State(cluster, gates, cel_errors, {_key(one): one for one in units}, lost)
    found = [violation for number, step in enumerate(steps, 1) for violation in state.step(number, step)]
    found += state.settle()
    found += _torn_sets(cluster, steps)
    if victims:
        found += preemption_violations(cluster, units, victims)
    return found or list(state.end())


def _torn_sets(cluster: Cluster, steps: Sequence[PlanStep]) -> Iterator[Violation]:
    """Yield the sets of pods that restart together of which some leave their places, and some stay."""
    leaving = {(one.namespace, one.name) for one in steps if one.kind == "Pod" and one.action in ("move", "evict")}
    sets: dict[tuple[str, ...], set[ObjectKey]] = defaultdict(set)
    for key, pod in running_pods(cluster).items():
        labels = {} if is_deleting(pod.metadata) else pod.metadata.labels or {}
        for title, names in RESTARTING_TOGETHER.items():
            if names[0] in labels:
                sets[title, key[0], *(labels.get(name, "") for name in names)].add(key)
    for (title, namespace, *values), members in sets.items():
        left = members - leaving
        if left and left != members:
            said = f"{len(left)} of its {len(members)} running pods are left, and all restart together"
            yield Violation("STEP-TOGETHER", "", f"{title} {namespace}/{' '.join(values)}: {said}")


_Key = tuple[bool, str, str]
"""Whether it is a pod, and its namespace and name."""


def _key(unit: PlacedUnit) -> _Key:
    return unit.unit.pod is not None, unit.unit.namespace, unit.unit.name


@dataclass
class _State:
    """What runs where after the steps so far."""

    cluster: Cluster
    gates: FeatureGates
    cel_errors: str
    units: Mapping[_Key, PlacedUnit]
    victims: frozenset[ObjectKey] = frozenset()
    _gone: set[str] = field(default_factory=set)
    _away: dict[ObjectKey, set[_Key]] = field(default_factory=lambda: defaultdict(set))
    _nodes: dict[_Key, str] = field(default_factory=dict)
    _lost: set[ObjectKey] = field(default_factory=set)
    _gone_pods: set[ObjectKey] = field(default_factory=set)
    _freed: dict[ObjectKey, ResourceClaim] = field(default_factory=dict)
    _arriving: list[tuple[str, Placement]] = field(default_factory=list)
    _made: dict[ObjectKey, ResourceClaim] = field(default_factory=dict)
    _came: list[Pod] = field(default_factory=list)
    _there: PlacedPods | None = None
    # Moves that wait to be looked at together, with the nodes that they leave; and whether that was done.
    _moving: dict[_Key, tuple[int, PlanStep]] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    _is_verified: bool = False

    def __post_init__(self) -> None:
        self._given = running_pods(self.cluster)
        self._draws = DeviceDraws(self.cluster, self.gates)
        self._consumers = ConsumedClaims.of(self.cluster) if self.victims else ConsumedClaims({}, {})
        self._nodes = {(True, *key): pod.spec.node_name or "" for key, pod in self._given.items()}
        self._before = self.cluster
        nodes = self.cluster.nodes.items()
        self._gone = {name for name, one in nodes if NODE_TEMPLATE_ANNOTATION in (one.metadata.annotations or {})}

    @cached_property
    def _has_rules(self) -> bool:
        """Whether some pod has rules about others, so that arrivals are to be looked at."""
        pods = (*self._before.pods.values(), *(one.unit.pod for one in self.units.values() if one.unit.pod is not None))
        return any(asks(pod) or keeps_off(pod) for pod in pods)

    def _broken_rules(self, label: str, step: PlanStep, pod: Pod) -> Iterator[Violation]:
        """Whether an arriving pod keeps the rules; it is counted from then on."""
        if self._there is None:
            self._there = PlacedPods(self.cluster)
            left = (one for key, one in running_pods(self.cluster).items() if key not in self._gone_pods)
            for one in (*left, *self._came):
                self._there.add(one, one.spec.node_name or "")
        if not step.note.startswith(RULES_BROKEN):
            for rule, said in self._there.broken(pod, self.cluster.nodes[step.node]):
                yield Violation("STEP-RULES", "", f"{label}: {step.name} on node {step.node}: {rule}: {said}")
        self._there.add(pod, step.node)

    @cached_property
    def _groups(self) -> Mapping[_Key, GroupMembers]:
        """The groups of the pods that run before the first step."""
        groups = read_groups(self._before, self.gates, natural_gangs=False)
        return {(True, *pod): one for one in groups.values() if not one.is_tree for pod in one.running}

    def settle(self) -> Iterator[Violation]:
        """Carry out what is left of steps that follow each other: moves, evictions, and arrivals one by one.

        The cluster is built anew for all of them together; arrivals are verified each beside those before it.
        """
        if self._moving:
            yield from self._move()
        if self._gone_pods:
            self.cluster = self.cluster.without(pods=self._gone_pods).with_claims(self._freed.values())
            self._gone_pods, self._freed = set(), {}
        if self._arriving:
            label = " to ".join(dict.fromkeys((self._arriving[0][0], self._arriving[-1][0])))
            placements = [placement for _, placement in self._arriving]
            violations = () if self._is_verified else self._verified(self.cluster, placements)
            for violation in violations:
                yield Violation(violation.rule, violation.claim, f"{label}: {violation.message}")
            self.cluster = self.cluster.with_pods(self._came).with_claims(self._made.values())
            self._arriving, self._made, self._came = [], {}, []

    def _verified(self, beside: Cluster, placements: Sequence[Placement]) -> Sequence[Violation]:
        return verify(beside, placements, self.gates, cel_errors=self.cel_errors)

    def step(self, number: int, step: PlanStep) -> Iterator[Violation]:
        """Carry out a step, and yield what is wrong with it."""
        key = step.kind == "Pod", step.namespace, step.name
        if step.action == "move" and key in self.units and not self._has_rules:
            if key in self._moving or step.node in self._left:
                yield from self.settle()
            self._moving[key] = number, step
            self._left.add(step.source)
            return
        if self._moving:
            yield from self.settle()
        yield from self._carry_out(number, step)

    def _move(self) -> Iterator[Violation]:
        """Carry out moves that follow each other: verified at once, or one by one if not all have room at once."""
        moving, self._moving, self._left = self._moving, {}, set()
        yield from self.settle()
        placements: list[Placement] = []
        for key, (_, step) in moving.items() if len(moving) > 1 else ():
            claims, wrong = _made_claims(step, self.units[key])
            if not wrong and step.node in self.cluster.nodes:
                placements.append(self._placement(step, self.units[key], claims))
        if len(placements) == len(moving):
            held = [claim for placement in placements for claim, _ in placement.claims]
            self._is_verified = not self._verified(_renamed(self.cluster, held), placements)
        for number, step in moving.values():
            yield from self._carry_out(number, step)
        if self._is_verified:
            yield from self.settle()
            self._is_verified = False

    def _carry_out(self, number: int, step: PlanStep) -> Iterator[Violation]:
        label = f"step {number}"
        is_loss = step.action == "evict" and step.kind == "Pod" and (step.namespace, step.name) in self.victims
        if not self._is_verified and (self._arriving if is_loss else self._gone_pods or step.action != "place"):
            yield from self.settle()
        if step.action == "add":
            if step.node not in self._gone:
                yield Violation("STEP-NODE", "", f"{label}: node {step.node} is there already")
            self._gone.discard(step.node)
        elif step.action == "remove":
            yield from self._remove(label, step)
        else:
            yield from self._pod(label, step)

    def _remove(self, label: str, step: PlanStep) -> Iterator[Violation]:
        left = [key for key, node in self._nodes.items() if node == step.source and not self._is_of_node(key)]
        if left or step.source in self._gone or step.source not in self.cluster.nodes:
            said = f"still has pod {'/'.join(left[0][1:])}" if left else "is not there"
            yield Violation("STEP-NODE", "", f"{label}: node {step.source} {said}")
        self._gone.add(step.source)

    def _is_of_node(self, key: _Key) -> bool:
        """A pod of a DaemonSet or a static one goes with its node."""
        return key[0] and key[1:] in self._given and is_of_node(self._given[key[1:]])

    def _pod(self, label: str, step: PlanStep) -> Iterator[Violation]:
        key = step.kind == "Pod", step.namespace, step.name
        unit, name = self.units.get(key), f"{step.kind} {step.namespace}/{step.name}"
        if unit is None and step.action == "evict" and key[0] and key[1:] in self.victims:
            if self._nodes.get(key) != step.source:
                yield Violation("STEP-POD", "", f"{label}: {name} does not run on node {step.source}")
            yield from self._lose(label, step, key)
            return
        if unit is None:
            yield Violation("STEP-POD", "", f"{label}: {name} is no unit of the plan")
            return
        leaves = step.action in ("move", "evict")
        if leaves and self._nodes.get(key) != step.source:
            yield Violation("STEP-POD", "", f"{label}: {name} does not run on node {step.source}")
        if not leaves and key in self._nodes:
            yield Violation("STEP-POD", "", f"{label}: {name} runs already")
        before = self.cluster
        if leaves:
            yield from self._leave(label, step, key, unit)
        # Without any node that is known, the one without a name stands for all that there could be.
        if step.action != "evict":
            yield from self._arrive(label, step, key, unit, before if step.overlap else self.cluster)

    def _lose(self, label: str, step: PlanStep, key: _Key) -> Iterator[Violation]:
        """Take a pod off its node for good; claims are empty once all that they are reserved for are gone (EVT-18)."""
        self._nodes.pop(key, None)
        self._there = None
        self._lost.add(key[1:])
        self._gone_pods.add(key[1:])
        for name in self._consumers.claims_of.get(key[1:], ()):
            claim = self.cluster.claims[name]
            if self._consumers.pods_of[name] <= self._lost and claim.status is not None:
                self._freed[name] = replace(claim, status=None)
        yield from self._count_away(label, step, key)

    def _leave(self, label: str, step: PlanStep, key: _Key, unit: PlacedUnit) -> Iterator[Violation]:
        """Take a pod off its node; its claims are its own, and are empty then."""
        self._nodes.pop(key, None)
        self._there = None
        claims = (self.cluster.claims.get(ref.key) for ref in unit.unit.claims)
        self._gone_pods.add(key[1:])
        self._freed.update({key_of(one.metadata): replace(one, status=None) for one in claims if one is not None})
        if not self._is_verified:
            yield from self.settle()
        yield from self._count_away(label, step, key)
        group = self._groups.get(key)
        if group is None or group.gang is None or "too few of its" in step.note:
            return
        there = 1 + sum((True, *other) in self._nodes for other in group.running)
        if group.gang.problem or there < (group.gang.minimum or 0):
            said = group.gang.problem or f"{there} with the next pod, {group.gang.minimum} are needed"
            yield Violation("STEP-GROUP", "", f"{label}: {group.gang.label}: {said}")

    def _in_its_domain(self, label: str, step: PlanStep, key: _Key) -> Iterator[Violation]:
        """Whether the next pod of a group is where its topology has it, beside the members that run."""
        group = self._groups.get(key)
        domain = group.gang.domain if group is not None and group.gang is not None else None
        if group is None or domain is None:
            return
        others = ((True, *other) for other in group.running)
        names = {step.node, *(self._nodes[other] for other in others if other in self._nodes)}
        values = {(self.cluster.nodes[name].metadata.labels or {}).get(domain) for name in names}
        if None in values or len(values) > 1:
            yield Violation("STEP-GROUP", "", f"{label}: members of one group are not in one domain of {domain}")

    def _count_away(self, label: str, step: PlanStep, key: _Key) -> Iterator[Violation]:
        pod = self._given.get(key[1:])
        for name, budget in self.cluster.objects(PodDisruptionBudget).items():
            counts = counts_loss if key[1:] in self.victims else counts_move
            if pod is not None and counts(budget, pod):
                self._away[name].add(key)
                allowed = budget.status.disruptions_allowed if budget.status else 0
                if len(self._away[name]) > allowed and "PodDisruptionBudget" not in step.note:
                    said = f"{len(self._away[name])} pods are away, {allowed} may be"
                    yield Violation("STEP-BUDGET", "", f"{label}: PodDisruptionBudget {'/'.join(name)}: {said}")

    def _arrive(self, label: str, step: PlanStep, key: _Key, unit: PlacedUnit, beside: Cluster) -> Iterator[Violation]:
        """Put a unit on its node; ``beside`` is what runs then."""
        if step.node in self._gone or step.node not in beside.nodes:
            yield Violation("STEP-NODE", "", f"{label}: node {step.node} is not there")
            return
        if key[0] and key[1:] in self._given:
            yield from self._in_its_domain(label, step, key)
        if self._has_rules and unit.unit.pod is not None:
            yield from self._broken_rules(label, step, unit.unit.pod)
        claims, wrong = _made_claims(step, unit)
        if wrong:
            yield Violation("STEP-POD", wrong, f"{label}: the claim is none of {step.name}")
            return
        if any(ref.key in self._made for ref in unit.unit.claims):
            yield from self.settle()
        placement = self._placement(step, unit, claims)
        if step.overlap and not self._is_verified:
            # The pod that leaves is another one, and so are its claims.
            for violation in self._verified(_renamed(beside, claims), [placement]):
                yield Violation(violation.rule, violation.claim, f"{label}: {violation.message}")
        else:
            self._arriving.append((label, placement))
        self._nodes[key] = step.node
        if unit.unit.pod is not None:
            pod = replace(unit.unit.pod, spec=replace(unit.unit.pod.spec, node_name=step.node))
            held = (*placement.claims, *((one, one.status.allocation) for one in placement.earlier if one.status))
            self._came.append(self._draws.recording(pod, [(one, own) for one, own in held if own is not None]))
        self._made.update({key_of(claim.metadata): claim for claim in claims})
        if step.overlap and not self._is_verified:
            self.cluster = self.cluster.with_pods(self._came).with_claims(self._made.values())
            self._made, self._came = {}, []
        for away in self._away.values():
            away.discard(key)

    def _placement(self, step: PlanStep, unit: PlacedUnit, claims: Sequence[ResourceClaim]) -> Placement:
        """A unit on its node with these claims, and with those that others have as well."""
        own = {key_of(one.metadata) for one in claims}
        known = ((ref, self.cluster.claims.get(ref.key, ref.claim)) for ref in unit.unit.claims if ref.claim)
        pairs = ((replace(one, status=None), one.status.allocation) for one in claims if one.status)
        return Placement(
            self.cluster.node(step.node),
            tuple((claim, allocation) for claim, allocation in pairs if allocation is not None),
            unit.unit.pod,
            tuple(one for ref, one in known if one is not None and ref.key not in own),
        )

    def end(self) -> Iterator[Violation]:
        """Yield what is not as the plan has it."""
        placed = {key: one for key, one in self.units.items() if one.node is not None}
        for key, one in placed.items():
            if self._nodes.get(key) != one.node:
                yield Violation("STEP-END", "", f"{'/'.join(key[1:])} is not on node {one.node} in the end")
            for ref, allocation in one.allocations:
                claim = self.cluster.claims.get(ref.key)
                if claim is None or claim.status is None or claim.status.allocation != allocation:
                    yield Violation("STEP-END", "/".join(ref.key), "the claim has other devices in the end")
        for name in self._given:
            if ((True, *name) in self._nodes) == (name in self.victims):
                said = "still runs" if name in self.victims else "is gone"
                yield Violation("STEP-END", "", f"pod {'/'.join(name)} {said} in the end")


def _made_claims(step: PlanStep, unit: PlacedUnit) -> tuple[list[ResourceClaim], str]:
    """The claims that a unit comes with, and the name of one that is not its own; empty if there is none."""
    own = {ref.key: ref.claim for ref in unit.unit.claims}
    found: list[ResourceClaim] = []
    for one in step.claims:
        claim = own.get((one.namespace, one.name))
        if claim is None or one.allocation is None:
            return found, f"{one.namespace}/{one.name}"
        found.append(replace(claim, status=ResourceClaimStatus(allocation=one.allocation)))
    return found, ""


def _renamed(cluster: Cluster, claims: Sequence[ResourceClaim]) -> Cluster:
    """The cluster in which claims have other names, so that what they hold is still there beside new ones."""
    mark = "-before"
    there = [(key_of(one.metadata), cluster.claims.get(key_of(one.metadata))) for one in claims]
    held = [one for _, one in there if one is not None]
    kept = [replace(one, metadata=replace(one.metadata, name=one.metadata.name + mark)) for one in held]
    emptied = [replace(one, status=None) for one in held]
    return cluster.with_claims([*kept, *emptied])
