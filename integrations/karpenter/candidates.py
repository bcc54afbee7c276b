"""Nodes that Karpenter could launch, as NodeTemplates: one for each pool, instance type, zone and capacity type (R2).

Only what can matter is kept. Of candidates that look the same to everything in the input, the cheapest stays, and a
dearer one only behind a reservation or where limits of pools count it differently. One that is dearer and has less
room is never bought.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectMeta, parse_int64
from ...models.kubernetes.node_templates import NodeTemplate, NodeTemplateSpec, PooledSlice, PurchaseLimit
from ...models.kubernetes.quantity import Quantity
from ...models.workload.units import is_deleting
from ...problem.messages import until
from .instance_types import Amounts, CatalogueOffering, is_reached, price_text, with_unknown_values
from .overlays import (
    NOTHING_EVALUATED,
    OverlayEvaluation,
    PooledType,
    PricedOffering,
    has_min_values,
    pool_requirements,
)
from .requirements import WELL_KNOWN_LABELS, LabelValues, NodeRequirements
from .starting_nodes import claimed_node, with_starting_nodes

NODES_LIMIT = "nodes"
_VARIANTS_MAX, _CANDIDATES_MAX = 1000, 200_000
_OTHER_VALUE = "any"
_KARPENTER_KINDS = (
    karpenter.NodePool,
    karpenter.NodeClaim,
    karpenter.NodeOverlay,
    karpenter.InstanceType,
    karpenter.DRAConfig,
)
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class NodeCandidate:
    """A node that could be launched; ``labels`` are those that are known before it is there."""

    name: str
    kind: PooledType
    priced: PricedOffering
    labels: Mapping[str, str]
    allocatable: Amounts
    capacity: Amounts

    @property
    def pool(self) -> str:
        """The name of the NodePool."""
        return self.kind.pool.metadata.name

    @property
    def zone(self) -> str:
        """The zone, empty where none is known."""
        return self.labels.get(karpenter.ZONE_LABEL, "")

    @property
    def capacity_type(self) -> str:
        """``spot``, ``on-demand`` or ``reserved``; empty where none is known."""
        return self.labels.get(karpenter.CAPACITY_TYPE_LABEL, "")

    def counts(self, resource: str) -> int:
        """What the node counts against a limit of its pool (R16), in billionths; as a node, one."""
        if resource == NODES_LIMIT:
            return Quantity.parse("1").nano
        amount = self.capacity.get(resource)
        return 0 if amount is None else amount.nano

    def template(self, slices: Sequence[PooledSlice]) -> NodeTemplate:
        """The node as a NodeTemplate."""
        return NodeTemplate(
            metadata=ObjectMeta(name=self.name),
            spec=NodeTemplateSpec(
                price=price_text(self.priced.price),
                limit=self.priced.offering.reserved,
                labels=dict(self.labels),
                taints=self.kind.pool.spec.template.spec.taints,
                allocatable={name: str(amount) for name, amount in self.allocatable.items()},
                capacity={name: str(amount) for name, amount in self.capacity.items()},
                slices=tuple(slices) or None,
            ),
        )


@dataclass(frozen=True)
class NodeMarket:
    """What can be launched: candidates by name, as a cluster with their templates, with the limits that they share.

    ``complete``: all offerings were looked at. ``evaluation`` is what they were made of.
    """

    candidates: Mapping[str, NodeCandidate]
    cluster: Cluster
    limits: tuple[PurchaseLimit, ...]
    notices: tuple[str, ...]
    evaluation: OverlayEvaluation = NOTHING_EVALUATED
    complete: bool = True

    @property
    def is_flexible(self) -> bool:
        """A pool wants several types for a node (R18), which are looked for after the plan."""
        return any(has_min_values(kind.pool) for kind in self.evaluation.types)


def node_market(
    cluster: Cluster,
    evaluation: OverlayEvaluation,
    others: Iterable[Cluster] = (),
    *,
    only: Collection[tuple[str, str]] | None = None,
    alike: bool = True,
    deadline: float | None = None,
) -> NodeMarket:
    """Make NodeTemplates of a cluster's pools; those that it has stay beside them. Nodes that start count as ready.

    ``others`` hold more that will be placed. Of nodes that are equal for the question the cheapest are kept; with
    ``only``, pairs of a pool and a type, all nodes of these and no others, without ``alike`` one of those of a type
    that are equal for the question. Raises ``ValueError`` for a bad instance type, and where the labels of a pool may
    have too many values, and ``DeadlineExceededError``.
    """
    cluster, notices = with_starting_nodes(cluster, evaluation.types)
    made = _MarketBuilder(cluster, evaluation, ReadLabels.of([cluster, *others]), deadline).build(only, alike)
    return replace(made, notices=(*notices, *made.notices))


class _ReadCandidate(NamedTuple):
    """A candidate with those of its labels that something in the input reads."""

    candidate: NodeCandidate
    read: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _NodeLabels:
    """What is known of the labels of a type's nodes in a pool, before it is said how they are bought.

    ``single`` are labels of one value, ``named`` those among them that the input reads, ``several`` labels that it
    reads and that may have more values.
    """

    known: NodeRequirements
    single: Mapping[str, str]
    named: Mapping[str, str]
    several: Mapping[str, LabelValues]

    @classmethod
    def of(cls, known: NodeRequirements, read: ReadLabels) -> _NodeLabels:
        single = known.single_values()
        several = {label: known[label] for label in known if label in read and label not in single}
        return cls(known, single, {label: value for label, value in single.items() if label in read}, several)

    def takes(self, offering: CatalogueOffering) -> bool:
        """The offering is one of such nodes."""
        return self.known.accepts(offering.requirements, frozenset(offering.requirements))

    def variants(
        self, offering: CatalogueOffering, read: ReadLabels, pool: str
    ) -> Iterator[tuple[dict[str, str], tuple[tuple[str, str], ...]]]:
        """The labels of a node, and what is read of them: of what has several values, each that makes a difference."""
        labels, named, several = dict(self.single), dict(self.named), dict(self.several)
        for label, values in offering.requirements.by_label.items():
            both = self.known[label] & values
            for found in (labels, named, several):
                found.pop(label, None)
            if not both.excludes and len(both.values) == 1:
                (labels[label],) = both.values
                if label in read:
                    named[label] = labels[label]
            elif label in read:
                several[label] = both
        possible = {label: values for label, values in sorted(several.items()) if values.operator != "DoesNotExist"}
        chosen = {label: read.variants(label, values) for label, values in possible.items()}
        if prod(map(len, chosen.values())) > _VARIANTS_MAX:
            raise ValueError(
                f"NodePool {pool}: its labels {', '.join(sorted(chosen))} have more than {_VARIANTS_MAX} combinations "
                "of values that the input names"
            )
        for combination in product(*chosen.values()):
            more = dict(zip(chosen, combination, strict=True))
            yield {**labels, **more}, tuple(sorted({**named, **more}.items()))


@dataclass
class ReadLabels:
    """Labels that something in the input reads, with the values that it names."""

    values: dict[str, set[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, clusters: Iterable[Cluster]) -> ReadLabels:
        """Look at all that may have a selector, an affinity or a topology key."""
        found = cls()
        seen: set[bytes] = set()
        for cluster in clusters:
            for part in _reading_parts(cluster):
                text = _encode(part)
                if text not in seen:
                    seen.add(text)
                    found._read(msgspec.json.decode(text))
        return found

    def _read(self, part: Any) -> None:
        """Every string may be the key of a label, and every pair of strings a label with its value."""
        if isinstance(part, str):
            self.names.add(part)
        elif isinstance(part, list):
            for one in part:
                self._read(one)
        elif isinstance(part, dict):
            key, values = part.get("key"), part.get("values")
            if isinstance(key, str) and isinstance(values, list):
                self.values.setdefault(key, set()).update(value for value in values if isinstance(value, str))
            for name, value in part.items():
                self.names.add(name)
                if isinstance(value, str):
                    self.values.setdefault(name, set()).add(value)
                self._read(value)

    def __contains__(self, label: str) -> bool:
        return label in self.names

    def variants(self, label: str, possible: LabelValues) -> list[str]:
        """The possible values that are named, and one that is not, which stands for all others."""
        named = self.values.get(label, set())
        if not possible.excludes:
            others = sorted(possible.values - named)
            return [*sorted(possible.values & named), *others[:1]]
        numbers = [number for value in named if (number := parse_int64(value)) is not None]
        bounds = [bound for bound in (possible.least, possible.most) if bound is not None]
        around = {str(number + step) for number in (*numbers, *bounds) for step in (-1, 0, 1)}
        found = sorted(value for value in named | around if possible.has(value))
        other = _OTHER_VALUE
        while other in named or other in possible.values:
            other += "-any"
        return [*found, *([other] if possible.has(other) else [])]


def _reading_parts(cluster: Cluster) -> Iterator[object]:
    yield from ((pod.spec, pod.metadata.annotations) for pod in cluster.pods.values())
    yield from (maker for found in cluster.workload_objects.values() for maker in found.values())
    for model, found in cluster.integration_objects.items():
        if model not in _KARPENTER_KINDS:
            yield from found.values()
    for written in cluster.objects(karpenter.InstanceType).values():
        yield from filter(None, (one.node_selector for one in written.spec.slices or ()))
    for overlay in cluster.objects(karpenter.NodeOverlay).values():
        given = overlay.spec.dynamic_resources
        yield from filter(None, (one.node_selector for one in (given.resource_slice_templates or () if given else ())))
    for slice_ in cluster.slices:
        yield slice_.spec.node_selector
        if slice_.spec.per_device_node_selection:
            yield [device.node_selector for device in slice_.spec.devices or ()]
    for claim in cluster.claims.values():
        made = claim.status.allocation if claim.status is not None else None
        yield claim.metadata.annotations, made.node_selector if made is not None else None
    yield [list(found.values()) for found in (cluster.constraint_groups, cluster.workloads, cluster.pod_groups)]


class _MarketBuilder:
    def __init__(
        self, cluster: Cluster, evaluation: OverlayEvaluation, read: ReadLabels, deadline: float | None
    ) -> None:
        self._cluster = cluster
        self._evaluation = evaluation
        self._read = read
        self._notices: dict[str, None] = {}
        self._deadline = deadline
        # Parts of the catalogue stand by their identity; the evaluation holds them.
        self._slices: dict[Hashable, tuple[PooledSlice, ...]] = {}
        self._signatures: dict[Hashable, Hashable] = {}
        self._allowed: dict[tuple[int, int, frozenset[str]], bool] = {}
        # Models of candidates stand among the nodes (other_types).
        self._names: set[str] = {*cluster.node_templates, *cluster.nodes}

    def build(self, only: Collection[tuple[str, str]] | None, alike: bool) -> NodeMarket:
        """Take the cheapest first, then by pool's weight and name, as Karpenter tries them."""
        found: list[_ReadCandidate] = []
        for kind in until(self._kinds(), self._deadline):
            if only is None or (kind.pool.metadata.name, kind.type.name) in only:
                found += self._candidates(kind, every=only is not None and alike)
            if len(found) > _CANDIDATES_MAX:
                raise ValueError(f"pools, offerings and labels make more than {_CANDIDATES_MAX} kinds of nodes")
        found.sort(key=lambda one: _order(one.candidate))
        needed = self._needed(found) if only is None else (one.candidate for one in found)
        kept = [replace(one, name=self._unused(one.name)) for one in needed]
        templates = {
            one.name: one.template(self._slices_of(one.kind, one.labels)) for one in until(kept, self._deadline)
        }
        merged = dict(sorted({**self._cluster.node_templates, **templates}.items()))
        by_name = {one.name: one for one in kept}
        limits = (*self._pool_limits(kept), *_reservation_limits(kept))
        return NodeMarket(by_name, self._cluster.with_templates(merged), limits, tuple(self._notices), self._evaluation)

    def _unused(self, name: str) -> str:
        number, found = 1, name
        while found in self._names:
            number += 1
            found = f"{name}-{number}"
        self._names.add(found)
        return found

    def _kinds(self) -> Iterator[PooledType]:
        evaluation = self._evaluation
        for verdict in evaluation.verdicts:
            if verdict.reason:
                self._note(f"NodeOverlay {verdict.overlay.metadata.name} does not count: {verdict.message}")
        for kind in evaluation.types:
            if is_deleting(kind.pool.metadata):
                self._note(f"NodePool {kind.pool.metadata.name} is being deleted; none are bought from it")
            elif kind.pool.spec.replicas is None:
                yield kind
            else:
                self._note(f"NodePool {kind.pool.metadata.name} has a fixed number of nodes; none are bought from it")

    def _note(self, text: str) -> None:
        self._notices[text] = None

    @cached_property
    def _pools(self) -> Mapping[str, NodeRequirements]:
        """What is known of the labels of each pool's nodes."""
        pools = self._cluster.objects(karpenter.NodePool)
        return {name: pool_requirements(pool) for name, pool in pools.items()}

    def _candidates(self, kind: PooledType, every: bool) -> list[_ReadCandidate]:
        """The offerings of a type that the pool allows, with their labels (R2, R5).

        Of those with the same amounts that look the same, the cheapest alone, unless ``every``; a reservation stays.
        """
        pool, own = self._pools[kind.pool.metadata.name], kind.type.requirements
        if not pool.accepts(own, frozenset(own)):
            return []
        node = _NodeLabels.of(pool & own, self._read)
        found: dict[Hashable, _ReadCandidate] = {}
        for priced in kind.offerings:
            offering = priced.offering
            if not offering.launchable or not self._allows(pool, own, offering) or not node.takes(offering):
                continue
            capacity, allocatable = kind.capacity_of(offering), kind.allocatable_of(offering)
            reserved = offering.number if every or offering.reserved is not None else None
            for labels, read in node.variants(offering, self._read, kind.pool.metadata.name):
                name = _candidate_name(kind, labels)
                made = NodeCandidate(name, kind, priced, labels, allocatable, capacity)
                key = read, id(offering.allocatable), id(offering.capacity), reserved
                if key not in found or _order(made) < _order(found[key].candidate):
                    found[key] = _ReadCandidate(made, read)
        return list(found.values())

    def _allows(self, pool: NodeRequirements, own: NodeRequirements, offering: CatalogueOffering) -> bool:
        """The pool takes the offering; most types share the requirements of theirs, and then the answer."""
        asked = offering.requirements
        key = id(pool), id(asked), frozenset(label for label in asked if label in own)
        if key not in self._allowed:
            known = WELL_KNOWN_LABELS.union(key[2], filter(_is_providers, asked))
            self._allowed[key] = pool.accepts(asked, known)
        return self._allowed[key]

    def _slices_of(self, kind: PooledType, labels: Mapping[str, str]) -> tuple[PooledSlice, ...]:
        """The devices of a node for itself, with values that are equal but unknown (R6, R10, R15).

        Pools without overlays share those of the type.
        """
        key = id(kind.slices), id(kind.bindings), tuple(is_reached(one, labels) for one in kind.slices)
        if key not in self._slices:
            self._note_reach(kind)
            local = [one for one, reached in zip(kind.slices, key[2], strict=True) if reached]
            self._slices[key] = with_unknown_values(local, kind.bindings)
        return self._slices[key]

    def _note_reach(self, kind: PooledType) -> None:
        for one in kind.slices:
            if one.all_nodes or one.node_selector is not None:
                self._note(
                    f"InstanceType {kind.type.name}: devices of {one.driver} that other nodes could reach, by allNodes "
                    "or nodeSelector, are planned for their own node alone, as Karpenter has it"
                )

    def _signature(self, kind: PooledType, labels: Mapping[str, str]) -> Hashable:
        slices = self._slices_of(kind, labels)
        key = kind.pool.metadata.name, id(slices)
        if key not in self._signatures:
            self._signatures[key] = (
                _encode(slices),
                _encode(kind.pool.spec.template.spec.taints),
                # Devices may take resources that no pod names.
                any(device.node_resources for one in slices for device in one.devices or ()),
            )
        return self._signatures[key]

    def _needed(self, candidates: Sequence[_ReadCandidate]) -> Iterator[NodeCandidate]:
        """Leave out what is no cheaper and has no more than one that is there in any number."""
        kept: defaultdict[Hashable, list[NodeCandidate]] = defaultdict(list)
        for one, read in until(candidates, self._deadline):
            signature = self._signature(one.kind, one.labels)
            names = frozenset(name for name in one.allocatable if self._matters(name, signature))
            better = kept[read, signature, names]
            if not any(self._replaces(other, one, names) for other in better):
                if one.priced.offering.reserved is None:
                    better.append(one)
                yield one

    def _matters(self, resource: str, signature: Any) -> bool:
        return resource == "pods" or resource in self._read or signature[-1]

    def _replaces(self, other: NodeCandidate, one: NodeCandidate, names: Iterable[str]) -> bool:
        """Whether a candidate that is no dearer has as much room, and counts no more against limits."""
        limited = other.kind.pool.spec.limits or {}
        if limited and (other.pool != one.pool or any(other.counts(name) > one.counts(name) for name in limited)):
            return False
        return all(other.allocatable[name].nano >= one.allocatable[name].nano for name in names)

    def _pool_limits(self, kept: Sequence[NodeCandidate]) -> Iterator[PurchaseLimit]:
        """The limits of pools, less what their nodes have (R16)."""
        own: defaultdict[str, list[NodeCandidate]] = defaultdict(list)
        for one in kept:
            own[one.pool].append(one)
        for name, pool in self._cluster.objects(karpenter.NodePool).items():
            for resource, limit in sorted((pool.spec.limits or {}).items()):
                used = sum(_counted(node, resource) for node in self._nodes_of(name))
                amounts = {one.name: amount for one in own[name] if (amount := one.counts(resource))}
                left = Quantity.parse(limit).nano - used
                if amounts:
                    yield PurchaseLimit(f"limit {resource} of NodePool {name}", amounts, max(0, left))

    def _nodes_of(self, pool: str) -> Iterator[Node | karpenter.NodeClaim]:
        """Nodes of a pool, and claims for nodes that have not joined yet."""
        nodes = self._cluster.nodes
        claims = self._cluster.objects(karpenter.NodeClaim).values()
        # Without nodes in the input there is one without a name.
        joining = [one for one in claims if not (name := claimed_node(one)) or name not in nodes]
        own: list[Node | karpenter.NodeClaim] = [*nodes.values(), *joining]
        for one in own:
            if (one.metadata.labels or {}).get(karpenter.NODE_POOL_LABEL) == pool:
                yield one


def _order(one: NodeCandidate) -> tuple[object, ...]:
    weight = one.kind.pool.spec.weight or 0
    return one.priced.price.nano, -weight, one.name


def _is_providers(label: str) -> bool:
    """Labels of Karpenter and its providers, such as the name of a reservation, are known to every pool."""
    return "karpenter" in label.partition("/")[0]


def _candidate_name(kind: PooledType, labels: Mapping[str, str]) -> str:
    parts = [kind.pool.metadata.name, kind.type.name]
    parts += [labels[label] for label in (karpenter.ZONE_LABEL, karpenter.CAPACITY_TYPE_LABEL) if label in labels]
    return "-".join(parts).lower().replace("_", "-")


def _counted(node: Node | karpenter.NodeClaim, resource: str) -> int:
    if resource == NODES_LIMIT:
        return Quantity.parse("1").nano
    status = node.status
    amounts = (status.capacity or status.allocatable or {}) if status is not None else {}
    return Quantity.parse(amounts.get(resource, "0")).nano


def _reservation_limits(kept: Sequence[NodeCandidate]) -> Iterator[PurchaseLimit]:
    """A reservation is one for all pools and labels (R17)."""
    sharing: defaultdict[tuple[str, int], list[NodeCandidate]] = defaultdict(list)
    for one in kept:
        if one.priced.offering.reserved is not None:
            sharing[one.kind.type.name, one.priced.offering.number].append(one)
    for (name, number), own in sorted(sharing.items()):
        left = own[0].priced.offering.reserved
        if len(own) > 1 and left is not None:
            yield PurchaseLimit(f"reservation of offering {number} of {name}", {one.name: 1 for one in own}, left)
