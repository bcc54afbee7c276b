"""Other instance types for nodes that are bought: those that serve the same pods (R18).

A plan buys one type for a node. Pools with ``minValues`` want several to choose from. A type serves the pods of a node
if they have room there and its own devices suffice, one pod after the other as the scheduler takes them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.core import Node
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.node_templates import is_pool_of_node, node_from_template, slices_from_template
from ...models.kubernetes.slices import ResourceSlice
from ...models.workload.controller_kinds import daemon_specs
from ...models.workload.requests import effective_requests, integer_amounts, sum_requests
from ...problem.messages import DeadlineExceededError, check_deadline, until
from ...solver.compare.figures import scheduling_input
from ...solver.engines.engine import Session
from ...solver.plan.first_fit import first_fit
from .candidates import NodeCandidate, NodeMarket, ReadLabels, node_market
from .overlays import NO_OTHER_TYPES, OtherTypes, has_min_values, pool_requirements, too_few_values

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
