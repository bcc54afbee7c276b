"""Planners that buy nodes, side by side: Karpenter itself, its round in Python, and ``plan`` (karpenter-dra 4.2, 5).

Every answer is replayed: its nodes are added to the cluster, and their pods placed one after the other by the rules of
kube-scheduler. What these refuse is told, for Karpenter knows neither taints of devices nor admin access.

Karpenter is asked for the nodes of a plan one by one. A plan decides everything at once, and Karpenter one pod after
the other: its first fit may find no devices for pods that fit together. What it refuses is told before a node is
launched.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import PeerError, plural
from ...models.kubernetes.core import Node
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.karpenter import CAPACITY_TYPE_LABEL, ZONE_LABEL
from ...models.kubernetes.node_templates import node_from_template, slices_from_template
from ...models.kubernetes.slices import ResourceSlice
from ...models.results.comparison import PurchasePlanner
from ...models.workload.expansion import QueuedUnit
from ...peers.answers import ProvisionAnswer
from ...peers.clients import Karpenter
from ...peers.requests import PeerInstanceType, PeerOffering, ProvisionRequest
from ...problem.messages import DeadlineExceededError
from ...solver.compare.figures import scheduling_input
from ...solver.engines.engine import Session
from ...solver.plan.first_fit import AssignedUnits, first_fit
from ...solver.plan.outcome import PlanOutcome
from ...solver.plan.plan import plan
from .candidates import NodeCandidate, NodeMarket, node_market
from .defects import DecidedAnswer, deciding_defects
from .greedy import greedy_round
from .overlays import OverlayEvaluation, evaluate
from .simulation import LaunchedNode, ProvisioningRound, provision_request, simulate_round, with_pending_units
from .starting_nodes import leaving_nodes, with_starting_nodes

KARPENTER: PurchasePlanner = "karpenter"
GREEDY: PurchasePlanner = "karpenter-like"
PLAN: PurchasePlanner = "plan"
PURCHASE_PLANNERS: tuple[PurchasePlanner, ...] = (KARPENTER, GREEDY, PLAN)
# Parts of the time: for each round, and for asking Karpenter about the nodes of a plan, which gets the rest.
_ROUND_SHARE, _REPLAY_SHARE = 0.25, 0.3
# So many pods are named in a line.
_NAMED = 3
_ELSEWHERE = "Karpenter launches another node for it"


@dataclass(frozen=True, slots=True)
class PurchaseRun:
    """A planner's answer. ``refused`` are pods that do not pass the replay.

    That is by the rules of kube-scheduler, and ``placed`` counts the others. Nodes of ``plan``, which keeps to these,
    are asked of Karpenter.
    """

    planner: PurchasePlanner
    round: ProvisioningRound
    placed: int
    bound: float | None
    proven: bool
    refused: tuple[str, ...]
    decided: bool
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PurchaseComparison:
    """All answers, and the planners that could not answer with the reason."""

    asked: int
    runs: tuple[PurchaseRun, ...]
    skipped: Mapping[str, str]

    @property
    def cheapest(self) -> tuple[str, ...]:
        """The planners of least cost among those that place most."""
        most = max((run.placed for run in self.runs), default=0)
        costs = {run.planner: round(run.round.cost, 9) for run in self.runs if run.placed == most}
        return tuple(planner for planner, cost in costs.items() if cost == min(costs.values()))

    def differing(self) -> Iterator[str]:
        """Pods that do not go to the same pool and instance type by all planners."""
        homes = [_homes(run) for run in self.runs]
        for pod in sorted({pod for found in homes for pod in found}):
            if len({found.get(pod) for found in homes}) > 1:
                yield pod


def _homes(run: PurchaseRun) -> dict[str, tuple[str, str]]:
    found = {pod: (node, "") for node, pods in run.round.existing.items() for pod in pods}
    found.update((pod, (node.pool, node.instance_type)) for node in run.round.nodes for pod in node.pods)
    return found


def compare_purchases(
    cluster: Cluster,
    planners: Sequence[str] | None = None,
    *,
    gates: FeatureGates,
    namespace: str | None = None,
    selector: str = "",
    gap: float = 0.001,
    time_limit: float | None = 60.0,
    seed: int = 0,
) -> PurchaseComparison:
    """Ask each planner what to buy for all that waits.

    Raises ``ValueError``, one line, for unknown planners, a bad instance type and where nothing can be bought, and
    ``PeerError`` if no planner could answer.
    """
    names = tuple(planners or PURCHASE_PLANNERS)
    if unknown := [name for name in names if name not in PURCHASE_PLANNERS]:
        raise ValueError(f"unknown planner {unknown[0]!r} of nodes to buy, known are: {', '.join(PURCHASE_PLANNERS)}")
    ends = None if time_limit is None else monotonic() + time_limit
    inputs = scheduling_input(
        cluster, gates=gates, cel_errors="kube", seed=seed, namespace=namespace, selector=selector
    )
    whole = _PurchaseQuestion(cluster, inputs.units, gates, namespace, selector, gap, ends, seed)
    runs: dict[str, PurchaseRun] = {}
    skipped: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name == PLAN):
        try:
            runs[name] = whole.ask(name, _REPLAY_SHARE if KARPENTER in runs else 0.0)
        except PeerError as error:
            skipped[name] = str(error)
        except DeadlineExceededError:
            skipped[name] = "the time limit left no time for an answer"
    if not runs:
        raise PeerError("; ".join(skipped.values()))
    if KARPENTER in runs and PLAN in runs:
        runs[PLAN] = whole.asked_of_karpenter(runs[PLAN])
    runs = {name: whole.with_defects(run, runs.get(PLAN)) for name, run in runs.items()}
    return PurchaseComparison(len(inputs.units), tuple(runs[name] for name in names if name in runs), skipped)


@dataclass(frozen=True)
class _PurchaseQuestion:
    """What all planners are asked."""

    cluster: Cluster
    units: Sequence[QueuedUnit]
    gates: FeatureGates
    namespace: str | None
    selector: str
    gap: float
    ends: float | None
    seed: int

    def ask(self, planner: str, spared: float) -> PurchaseRun:
        """Ask one planner; ``plan`` leaves this part of the time."""
        asked: dict[str, Callable[[], PurchaseRun]] = {
            KARPENTER: self._karpenter,
            GREEDY: self._greedy,
            PLAN: lambda: self._plan(1.0 - spared),
        }
        return asked[planner]()

    def asked_of_karpenter(self, run: PurchaseRun) -> PurchaseRun:
        """What Karpenter says of each node of a plan alone."""
        try:
            with Karpenter() as peer:
                replay = replay_nodes(self.cluster, self.units, run.round.nodes, peer, self.ends)
        except PeerError as error:
            return replace(run, notices=(*run.notices, f"Karpenter was not asked about single nodes: {error}"))
        told = [f"Karpenter refuses {pod}: {why}" for pod, why in islice(sorted(replay.refused.items()), _NAMED)]
        if replay.tried < replay.asked:
            told.append(f"the time limit left time to ask Karpenter about {replay.tried} of {replay.asked} nodes")
        return replace(run, refused=tuple(sorted(replay.refused)), notices=(*run.notices, *told))

    def with_defects(self, run: PurchaseRun, least: PurchaseRun | None) -> PurchaseRun:
        """Name the defects of Karpenter that decide its answer."""
        if run.planner == PLAN:
            return run
        possible = run.round.unplaced.keys() - least.round.unplaced.keys() if least else frozenset[str]()
        units = [one.unit for one in self.units]
        try:
            types = self._evaluation.types
            answer = DecidedAnswer(self._ready, units, types, run.round, possible, run.refused)
            told = list(map(str, deciding_defects(answer, self.ends)))
        except DeadlineExceededError:
            told = ["the time limit left no time to look for known defects of Karpenter"]
        return replace(run, notices=(*run.notices, *told))

    @cached_property
    def _evaluation(self) -> OverlayEvaluation:
        """Pools and types with overlays applied. Raises ``DeadlineExceededError``."""
        return evaluate(self.cluster, self.gates, self.ends)

    @cached_property
    def _ready(self) -> Cluster:
        """The cluster once nodes that start are ready."""
        return with_starting_nodes(self.cluster, self._evaluation.types)[0]

    def _market(self, only: Collection[tuple[str, str]] | None = None) -> NodeMarket:
        return node_market(self.cluster, self._evaluation, only=only, deadline=self.ends)

    def _left(self, share: float = 1.0) -> float | None:
        return None if self.ends is None else max(0.0, self.ends - monotonic()) * share

    def _karpenter(self) -> PurchaseRun:
        with Karpenter() as peer:
            limit = self._left(_ROUND_SHARE)
            leaving = len(leaving_nodes(self.cluster))
            told = (
                [f"{plural(leaving, 'node')} on their way out, and the pods there, are left aside"] if leaving else []
            )
            found = simulate_round(self.cluster, [one.unit for one in self.units], peer, limit)
            return self._replayed(KARPENTER, found, tuple(told))

    def _greedy(self) -> PurchaseRun:
        limit = self._left(_ROUND_SHARE)
        deadline = None if limit is None else monotonic() + limit
        units = [one.unit for one in self.units]
        seen, _ = with_starting_nodes(self.cluster, self._evaluation.types, trusted=False)
        found = greedy_round(seen, units, self._evaluation.types, deadline)
        notices = ("spread, affinity between pods and volumes do not count",)
        return self._replayed(GREEDY, found, notices)

    def _plan(self, share: float) -> PurchaseRun:
        market = self._market()
        began = monotonic()
        found = plan(
            market.cluster,
            gap=self.gap,
            namespace=self.namespace,
            selector=self.selector,
            feature_gates=self.gates,
            cel_errors="kube",
            time_limit=self._left(share),
            seed=self.seed,
            buy=True,
            purchase_limits=market.limits,
        )
        stage = next((one for one in found.objective if one.stage == "cost"), None)
        bound = None if stage is None or stage.bound is None else float(stage.bound)
        proven = all(one.proven for one in found.objective)
        made = _round_of_plan(found, market, monotonic() - began)
        return PurchaseRun(PLAN, made, found.placed, bound, proven, (), proven, (*found.notices, *market.notices))

    def _replayed(self, planner: PurchasePlanner, found: ProvisioningRound, notices: tuple[str, ...]) -> PurchaseRun:
        refused, whole = self._refused(found)
        placed = sum(len(node.pods) for node in found.nodes) + sum(map(len, found.existing.values())) - len(refused)
        told = notices if whole else (*notices, "the time limit left no time to replay all nodes")
        # What Karpenter has not tried when time is up it neither places nor refuses.
        pods = sum(one.unit.pod is not None for one in self.units)
        tried = placed + len(refused) + len(found.unplaced)
        told = told if tried == pods else (*told, f"the time limit left no time to try {pods - tried} of {pods} pods")
        return PurchaseRun(planner, found, placed, None, False, refused, whole and tried == pods, told)

    def _refused(self, found: ProvisioningRound) -> tuple[tuple[str, ...], bool]:
        """Pods that do not get their place when nodes are filled one by one, and whether all were tried."""
        market = self._market({(node.pool, node.instance_type) for node in found.nodes})
        cluster, homes = _with_launched(self._ready, found, market)
        session = Session(cluster, self.gates, "kube", self.seed)
        positions = {f"{one.unit.namespace}/{one.unit.name}": place for place, one in enumerate(self.units)}
        placed: AssignedUnits = {}
        refused: list[str] = []
        for node, pods in homes:
            if self.ends is not None and monotonic() > self.ends:
                return tuple(refused), False
            arriving = [positions[pod] for pod in pods if pod in positions]
            done = first_fit(session, self.units, arriving, self.ends, placed=placed, usable={node})
            placed = done.assigned
            refused += [pod for pod in pods if positions.get(pod) not in placed]
        return tuple(sorted(refused)), True


def _with_launched(
    cluster: Cluster, found: ProvisioningRound, market: NodeMarket
) -> tuple[Cluster, list[tuple[str, tuple[str, ...]]]]:
    """The cluster with the nodes that are launched; each node that gets pods, with these."""
    nodes: list[Node] = []
    slices: list[ResourceSlice] = []
    homes = list(found.existing.items())
    for one in found.nodes:
        candidate = _candidate_of(one, market)
        if candidate is None:
            continue
        template = market.cluster.node_templates[candidate.name]
        name = f"launched-{one.name}"
        nodes.append(node_from_template(template, name))
        slices += slices_from_template(template, name)
        homes.append((name, one.pods))
    return (cluster.with_nodes(nodes, slices) if nodes else cluster), homes


def _candidate_of(one: LaunchedNode, market: NodeMarket) -> NodeCandidate | None:
    wanted = one.pool, one.instance_type, one.zone, one.capacity_type
    return next(
        (
            found
            for found in market.candidates.values()
            if (found.pool, found.kind.type.name, found.zone, found.capacity_type) == wanted
        ),
        None,
    )


def _round_of_plan(found: PlanOutcome, market: NodeMarket, seconds: float) -> ProvisioningRound:
    """A plan in the form of a round."""
    by_node: dict[str, list[str]] = {}
    unplaced: dict[str, str] = {}
    for unit in found.units:
        name = f"{unit.unit.namespace}/{unit.unit.name}"
        if unit.node is None:
            unplaced[name] = "; ".join(dict.fromkeys(reason.message for reason in unit.reasons))
        else:
            by_node.setdefault(unit.node, []).append(name)
    templates = {node.name: node.template for node in found.nodes if node.new}
    nodes = []
    for name, template in templates.items():
        candidate = market.candidates.get(template)
        pods = tuple(sorted(by_node.pop(name, ())))
        if candidate is None:
            price = float(str(market.cluster.node_templates[template].spec.price or 0))
            nodes.append(LaunchedNode(name, "", template, "", "", price, pods, (template,)))
        else:
            price = candidate.priced.price.nano / 10**9
            kind = candidate.kind.type.name
            place = candidate.zone, candidate.capacity_type
            nodes.append(LaunchedNode(name, candidate.pool, kind, *place, price, pods, (kind,)))
    existing = {name: tuple(sorted(pods)) for name, pods in by_node.items()}
    return ProvisioningRound(tuple(nodes), existing, unplaced, seconds, "")


@dataclass(frozen=True, slots=True)
class KarpenterReplay:
    """Pods that Karpenter refuses, with its reason, and how many of the nodes were tried; equal nodes count as one."""

    refused: Mapping[str, str]
    tried: int
    asked: int


def replay_nodes(
    cluster: Cluster,
    queue: Sequence[QueuedUnit],
    nodes: Sequence[LaunchedNode],
    peer: Karpenter,
    deadline: float | None = None,
) -> KarpenterReplay:
    """Ask Karpenter for each node of a pool alone: its pods, its type, and the offering that is bought.

    Nothing else runs, and nothing else waits. ``minValues`` do not count, for there is one type only (R18).
    ``deadline`` is a reading of ``time.monotonic``. Raises ``PeerError`` if the program fails.
    """
    # Karpenter has no claims without pods.
    units = {name: one for one in queue if (name := one.unit.pod_label) is not None}
    whole = provision_request(cluster, ())
    refused: dict[str, str] = {}
    sound: set[Hashable] = set()
    listed = [node for node in nodes if node.pool]
    for number, node in enumerate(listed):
        pods = [pod for pod in node.pods if pod in units]
        shapes = Counter(id(units[pod].unit_set.shape) for pod in pods)
        likeness = node.pool, node.instance_type, node.zone, node.capacity_type, frozenset(shapes.items())
        if likeness in sound:
            continue
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            return KarpenterReplay(refused, number, len(listed))
        own = [units[pod].unit for pod in pods]
        question = with_pending_units(_alone(whole, node), cluster, own, left)
        found = dict(_refused(pods, peer.provision(question)))
        refused.update(found)
        if not found:
            sound.add(likeness)
    return KarpenterReplay(refused, len(listed), len(listed))


def _alone(whole: ProvisionRequest, node: LaunchedNode) -> ProvisionRequest:
    """The pool and the type of a node, with its offering and no other, and no node that is there."""
    pools = [pool for pool in whole.node_pools if pool["metadata"]["name"] == node.pool]
    types = [_with_one_offering(one, node) for one in whole.instance_types if one.name == node.instance_type]
    return structs.replace(
        whole, nodes=(), node_claims=(), node_pools=list(map(_without_min_values, pools)), instance_types=types
    )


def _without_min_values(pool: Mapping[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(dict(pool))
    for requirement in made["spec"].get("template", {}).get("spec", {}).get("requirements") or ():
        requirement.pop("minValues", None)
    return made


def _with_one_offering(one: PeerInstanceType, node: LaunchedNode) -> PeerInstanceType:
    return structs.replace(one, offerings=[offering for offering in one.offerings if _is_bought(offering, node)])


def _is_bought(offering: PeerOffering, node: LaunchedNode) -> bool:
    known = {asked.key: asked.values or () for asked in offering.requirements}
    return all(
        not place or not known.get(label) or place in known[label]
        for label, place in ((ZONE_LABEL, node.zone), (CAPACITY_TYPE_LABEL, node.capacity_type))
    )


def _refused(pods: Sequence[str], answer: ProvisionAnswer) -> Iterator[tuple[str, str]]:
    """Pods without a place, and those that go to a further node."""
    reasons = {one.pod: one.error for one in answer.errors or ()}
    largest = max(answer.nodes or (), key=lambda one: len(one.pods), default=None)
    together = set(largest.pods) if largest else set()
    for pod in pods:
        if pod not in together:
            yield pod, reasons.get(pod, _ELSEWHERE)
