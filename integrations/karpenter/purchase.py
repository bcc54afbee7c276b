"""What a plan buys of NodePools: the market within the time limit, and bought nodes in Karpenter's words.

NodeClaims are what Karpenter would ask its provider for (karpenter-dra 3.9, 4.1). A plan buys one type for a node.
Pools with ``minValues`` want several to choose from (R18): other types serve the same pods if they have room there and
their own devices suffice, one pod after the other as the scheduler takes them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node, NodeSelectorRequirement, Pod, ResourceRequests
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.node_templates import is_pool_of_node, node_from_template, slices_from_template
from ...models.kubernetes.slices import ResourceSlice
from ...models.results.plan import PlanDocument, PlanVerdict
from ...models.workload.controller_kinds import daemon_specs
from ...models.workload.requests import effective_requests, format_amount, integer_amounts, sum_requests
from ...problem.messages import DeadlineExceededError, check_deadline, until
from ...solver.compare.figures import scheduling_input
from ...solver.engines.engine import Session
from ...solver.plan.first_fit import first_fit
from ...solver.plan.outcome import PlanOutcome
from .candidates import NodeCandidate, NodeMarket, ReadLabels, node_market
from .overlays import NO_OTHER_TYPES, OtherTypes, evaluate, has_min_values, pool_requirements, too_few_values
from .starting_nodes import DRIVERS_ANNOTATION

PRICE_ANNOTATION = "karpenter.sh/price-overlay-applied"
CAPACITY_ANNOTATION = "karpenter.sh/capacity-overlay-applied"
_NO_TIME = "the time limit left no time to look at all offerings of the NodePools; none is bought"


def market_in_time(
    cluster: Cluster, gates: FeatureGates, others: Iterable[Cluster], deadline: float | None
) -> NodeMarket:
    """What can be launched, as ``node_market``; if the time passes, nothing but the cluster's own NodeTemplates."""
    try:
        return node_market(cluster, evaluate(cluster, gates, deadline), others, deadline=deadline)
    except DeadlineExceededError:
        return NodeMarket({}, cluster, (), (_NO_TIME,), complete=False)


def with_offerings(document: PlanDocument, market: NodeMarket, found: OtherTypes) -> PlanDocument:
    """Say of bought nodes what they are in Karpenter's words; where not all offerings were seen nothing is proven."""
    pairs = [(one, market.candidates.get(one.template)) for one in document.bought]
    bought = tuple(
        one
        if made is None
        else structs.replace(
            one,
            pool=made.pool,
            instance_type=made.kind.type.name,
            zone=made.zone,
            capacity_type=made.capacity_type,
            overlay=made.priced.overlay,
            other_types=found.by_template.get(one.template, ()),
            labels=dict(sorted(made.labels.items())),
        )
        for one, made in pairs
    )
    document = structs.replace(document, bought=bought, notices=(*market.notices, *found.notices, *document.notices))
    if market.complete:
        return document
    stages = tuple(structs.replace(one, bound=None, gap=None, proven=False, proof=None) for one in document.objective)
    outcome: PlanVerdict = "Feasible" if document.placed else "Unknown"
    return structs.replace(document, outcome=outcome, objective=stages, certified=False, proof=None)


def types_beside(
    cluster: Cluster, market: NodeMarket, answer: PlanOutcome, gates: FeatureGates, deadline: float | None
) -> OtherTypes:
    """Other types for the nodes of a plan, where pools want several (R18); most do not."""
    if not market.is_flexible:
        return NO_OTHER_TYPES
    pods: dict[str, list[str]] = defaultdict(list)
    for unit in answer.units:
        if unit.node is not None:
            pods[unit.node].append(f"{unit.unit.namespace}/{unit.unit.name}")
    return other_types(cluster, market, answer.bought, pods, gates, deadline)


def node_claims_of_plan(market: NodeMarket, answer: PlanOutcome) -> Iterator[dict[str, Any]]:
    """Yield a NodeClaim for each node that a plan buys of a pool."""
    pods: dict[str, list[Pod]] = defaultdict(list)
    drivers: dict[str, set[str]] = defaultdict(set)
    for unit in answer.units:
        if unit.node is not None:
            pods[unit.node] += [unit.unit.pod] if unit.unit.pod is not None else []
            results = (result for _, allocation in unit.allocations for result in allocation.devices.results or ())
            drivers[unit.node] |= {result.driver for result in results if is_pool_of_node(result.pool, unit.node)}
    return node_claim_manifests(market, answer.bought, pods, drivers)


def node_claim_manifests(
    market: NodeMarket,
    bought: Mapping[str, Sequence[Node]],
    pods: Mapping[str, Sequence[Pod]],
    drivers: Mapping[str, Iterable[str]],
) -> Iterator[dict[str, Any]]:
    """Yield a NodeClaim for each node that is bought of a pool, by the name of its template.

    ``pods`` and ``drivers`` are by node: what goes there, and the drivers of the node's devices that are allocated.
    """
    for name, nodes in sorted(bought.items()):
        candidate = market.candidates.get(name)
        for node in nodes if candidate else ():
            key = node.metadata.name
            if candidate is not None:
                yield _manifest(market, candidate, node, pods.get(key, ()), sorted(set(drivers.get(key, ()))))


def _manifest(
    market: NodeMarket, candidate: NodeCandidate, node: Node, pods: Sequence[Pod], drivers: Sequence[str]
) -> dict[str, Any]:
    template = candidate.kind.pool.spec.template
    requests = sum_requests(map(effective_requests, (*daemon_specs(market.cluster, node), *(pod.spec for pod in pods))))
    annotations = {
        **(template.metadata.annotations or {}),
        **({DRIVERS_ANNOTATION: ",".join(drivers)} if drivers else {}),
        **({PRICE_ANNOTATION: "true"} if candidate.priced.overlay else {}),
        **({CAPACITY_ANNOTATION: "true"} if candidate.kind.capacity_sources else {}),
    }
    labels = {**(template.metadata.labels or {}), karpenter.NODE_POOL_LABEL: candidate.pool}
    spec = karpenter.NodeClaimSpec(
        requirements=tuple(_requirements(candidate)),
        taints=template.spec.taints,
        startup_taints=template.spec.startup_taints,
        node_class_ref=template.spec.node_class_ref,
        expire_after=template.spec.expire_after,
        termination_grace_period=template.spec.termination_grace_period,
        resources=ResourceRequests(
            requests={resource: format_amount(resource, amount) for resource, amount in sorted(requests.items())}
        ),
    )
    metadata = {"name": node.metadata.name, "labels": labels, **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": metadata,
        "spec": msgspec.json.decode(msgspec.json.encode(spec)),
    }


def _requirements(candidate: NodeCandidate) -> Iterator[karpenter.FlexibleRequirement]:
    """The labels of the node, and what the pool says of labels that are still open."""
    for label, value in sorted(candidate.labels.items()):
        yield karpenter.FlexibleRequirement(key=label, operator="In", values=(value,))
    for written in candidate.kind.pool.spec.template.spec.requirements or ():
        if written.key not in candidate.labels:
            yield _without_min_values(written)


def _without_min_values(written: NodeSelectorRequirement) -> karpenter.FlexibleRequirement:
    """A node of one type shows no choice of values (R18)."""
    return karpenter.FlexibleRequirement(key=written.key, operator=written.operator, values=written.values)


_encode = msgspec.json.Encoder(order="deterministic").encode


def other_types(
    cluster: Cluster,
    market: NodeMarket,
    bought: Mapping[str, Sequence[Node]],
    pods: Mapping[str, Sequence[str]],
    gates: FeatureGates,
    deadline: float | None = None,
) -> OtherTypes:
    """Find other types for bought nodes of pools with ``minValues``, and say where there are too few.

    ``cluster`` is that before anything is bought, ``pods`` are the names of pods by node. ``deadline`` is a reading of
    ``time.monotonic``.
    """
    flexible = {kind.pool.metadata.name for kind in market.evaluation.types if has_min_values(kind.pool)}
    own = {name: market.candidates[name] for name in bought if name in market.candidates}
    pools = flexible & {one.pool for one in own.values()}
    if not pools:
        return NO_OTHER_TYPES
    found: dict[str, tuple[str, ...]] = {}
    notices: dict[str, None] = {}
    try:
        search = _OtherTypeSearch(cluster, market, pools, gates, deadline)
        for name, candidate in sorted(own.items()):
            if candidate.pool in pools:
                serving = [search.serving(candidate.pool, pods.get(node.metadata.name, ())) for node in bought[name]]
                kept = [kind for kind in serving[0] if all(kind in kinds for kinds in serving)] if serving else []
                found[name] = tuple(kind for kind in kept if kind != candidate.kind.type.name)
                notices.update(dict.fromkeys(search.unmet(candidate, found[name])))
    except DeadlineExceededError:
        notices["the time limit left no time to look for other instance types of all nodes"] = None
    return OtherTypes(found, tuple(notices))


class _OtherTypeSearch:
    """Nodes of these pools that look the same to pods are tried once, as a model whose room has no limit."""

    def __init__(
        self, cluster: Cluster, market: NodeMarket, pools: Collection[str], gates: FeatureGates, deadline: float | None
    ) -> None:
        self._cluster, self._gates, self._deadline = cluster, gates, deadline
        self._types = {
            (kind.pool.metadata.name, kind.type.name): kind
            for kind in market.evaluation.types
            if kind.pool.metadata.name in pools
        }
        whole = node_market(cluster, market.evaluation, only=self._types.keys(), alike=False, deadline=deadline)
        self._offered: defaultdict[str, list[tuple[NodeCandidate, str]]] = defaultdict(list)
        self._found: dict[Hashable, tuple[str, ...]] = {}
        read = ReadLabels.of([cluster])
        models: dict[Hashable, str] = {}
        nodes: list[Node] = []
        slices: list[ResourceSlice] = []
        for candidate in until(whole.candidates.values(), deadline):
            template = whole.cluster.node_templates[candidate.name]
            labels = tuple((label, value) for label, value in sorted(candidate.labels.items()) if label in read)
            look = candidate.pool, labels, _encode(template.spec.slices)
            if look not in models:
                models[look] = candidate.name
                spec = structs.replace(template.spec, allocatable=None, capacity=None)
                unlimited = structs.replace(template, spec=spec)
                nodes.append(node_from_template(unlimited, candidate.name))
                slices += slices_from_template(unlimited, candidate.name)
            self._offered[candidate.pool].append((candidate, models[look]))
        inputs = scheduling_input(cluster, gates=gates, cel_errors="kube", seed=0, namespace=None, selector="")
        self._session = Session(inputs.cluster.with_nodes(nodes, slices), gates, "kube", 0)
        self._queue = inputs.units
        self._positions = {f"{one.unit.namespace}/{one.unit.name}": place for place, one in enumerate(self._queue)}

    def serving(self, pool: str, pods: Sequence[str]) -> tuple[str, ...]:
        """The types of the pool that serve these pods, cheapest first; none if one of the pods does not wait."""
        if any(pod not in self._positions for pod in pods):
            return ()
        places = sorted(self._positions[pod] for pod in pods)
        shapes = Counter(id(self._queue[place].unit_set.shape) for place in places)
        key = pool, frozenset(shapes.items())
        if key not in self._found:
            self._found[key] = tuple(dict.fromkeys(self._suited(pool, places)))
        return self._found[key]

    def _suited(self, pool: str, places: Sequence[int]) -> Iterator[str]:
        specs = [unit.pod.spec for place in places if (unit := self._queue[place].unit).pod is not None]
        asked = sum_requests(map(effective_requests, specs))
        served: dict[str, bool] = {}
        for candidate, model in self._offered[pool]:
            node = self._session.cluster.nodes[model]
            total = sum_requests((asked, *map(effective_requests, daemon_specs(self._cluster, node))))
            room = integer_amounts({name: str(amount) for name, amount in candidate.allocatable.items()})
            if all(amount <= room.get(resource, 0) for resource, amount in total.items()):
                if model not in served:
                    served[model] = self._serves(model, places)
                if served[model]:
                    yield candidate.kind.type.name

    def _serves(self, model: str, places: Sequence[int]) -> bool:
        """All get a place and devices of the node itself, for others may be taken elsewhere in the plan."""
        check_deadline(self._deadline)
        done = first_fit(self._session, self._queue, places, self._deadline, usable={model})
        check_deadline(self._deadline)
        results = (
            result
            for _, own in done.assigned.values()
            for _, allocation in own
            for result in allocation.devices.results or ()
        )
        return len(done.assigned) == len(places) and all(is_pool_of_node(one.pool, model) for one in results)

    def unmet(self, candidate: NodeCandidate, others: Sequence[str]) -> Iterator[str]:
        """Say which minValues of the pool these types do not show."""
        types = [self._types[candidate.pool, name] for name in (candidate.kind.type.name, *others)]
        for label, shown, wanted in too_few_values(types, pool_requirements(candidate.kind.pool)):
            yield (
                f"NodePool {candidate.pool}: {candidate.kind.type.name} and the types that serve the same pods show "
                f"{plural(shown, 'value')} of {label} where minValues ask for {wanted}; Karpenter would not launch the "
                "node"
            )
